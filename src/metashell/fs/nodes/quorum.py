"""``/quorum``: what a node's files, or a live quorum, say of the quorum.

The control records of the log tell the voters, kraft.version and who led when; ``quorum-state`` and
``meta.properties`` are the node's own word, and what of all that does not fit together stands under
``disagreements``. Lag and observers only a live quorum knows: `live_parts`.

The parts of ``/quorum`` that a live quorum's leader tells: replicas, lag, the high watermark.

Asked for anew each time: what the leader says does not wait for the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING

from metashell.errors import SourceError
from metashell.fs.java import java_list, java_time
from metashell.fs.node import Directory, FixedDirectory, JsonValue, Leaf, Node, TextLeaf
from metashell.fs.nodes.tables import RowDirectory, RowLeaf
from metashell.fs.touch_times import TableTimes, Times, changed_at
from metashell.image.quorum_members import (
    Epoch,
    Leading,
    QuorumMember,
    by_name,
    observers_of,
    voters_of,
)

if TYPE_CHECKING:
    from metashell.checks.finding import Finding
    from metashell.image.image import Image
    from metashell.places.bounded_file import AnyPlace
    from metashell.quorum.description import LiveStatus, QuorumDescription


def live_parts(
    load: Callable[[], Image],
    status: Callable[[], LiveStatus],
    elected: Callable[[], Times | None],
) -> dict[str, Callable[[], Node]]:
    """Children of ``/quorum`` by name.

    Args:
        load: Gives the image.
        status: Gives what is known now.
        elected: Tells the last leader change in the log.
    """

    def epoch() -> int | None:
        known, logged = status().epoch, load().provenance.epoch
        return known if known is not None else logged if logged >= 0 else None

    def high_watermark() -> int | None:
        now = status()
        if now.high_watermark is None and now.description is not None:
            offset = now.description.high_watermark
            return offset if offset >= 0 else None
        return now.high_watermark

    def voters(description: QuorumDescription | None) -> list[QuorumMember]:
        return voters_of(load().quorum, description)

    def replicas(
        kind: str,
        members: Callable[[QuorumDescription | None], list[QuorumMember]],
        times: Callable[[], Times | None],
    ) -> Callable[[], Node]:
        return lambda: _Replicas(kind, lambda: status().description, members, times)

    return {
        "leader": lambda: number(lambda: status().leader_now).timed(elected),
        "leaderEpoch": lambda: number(epoch).timed(elected),
        "highWatermark": lambda: number(high_watermark),
        "voters": replicas("Voter", voters, lambda: changed_at(voters_row(load))),
        "observers": replicas("Observer", observers_of, lambda: None),
    }


class _Replicas(Directory):
    """A leaf for each voter or observer that there is at the moment."""

    def __init__(
        self,
        kind: str,
        describe: Callable[[], QuorumDescription | None],
        members: Callable[[QuorumDescription | None], list[QuorumMember]],
        times: Callable[[], Times | None],
    ) -> None:
        self._kind, self._describe, self._members, self._changed = kind, describe, members, times
        self._newest: tuple[QuorumDescription | None, Mapping[str, QuorumMember]] | None = None

    def _by_name(self) -> Mapping[str, QuorumMember]:
        description, newest = self._describe(), self._newest
        if newest is None or newest[0] is not description:
            newest = self._newest = (description, by_name(self._members(description)))
        return newest[1]

    def names(self) -> Sequence[str]:
        return sorted(self._by_name())

    def child(self, name: str) -> Node | None:
        member = self._by_name().get(name)
        if member is None:
            return None
        fields = member_value(member)
        leaf = RowLeaf(lambda: fields, lambda fields: fields_text(self._kind, fields))
        return leaf.timed(self._changed)

    def times(self) -> Times | None:
        return self._changed()


def member_value(member: QuorumMember) -> dict[str, JsonValue]:
    """The fields of a voter or observer; unknown ones are None."""
    fetch, caught_up = member.last_fetch_ms, member.last_caught_up_ms
    value: dict[str, JsonValue] = {
        "id": member.id,
        "directoryId": member.directory_id,
        "endpoints": None if member.endpoints is None else list(member.endpoints),
        "logEndOffset": member.log_end_offset,
        "lag": member.lag,
        "lastFetchTimestamp": None if fetch is None else java_time(fetch),
        "lastCaughtUpTimestamp": None if caught_up is None else java_time(caught_up),
    }
    if member.only_in is not None:
        value["onlyIn"] = member.only_in
    return value


UNKNOWN = "unknown"
"""Text of what the source does not tell."""


def quorum_node(
    load: Callable[[], Image],
    epochs: Callable[[], Mapping[int, int]],
    files: Mapping[str, Callable[[], Mapping[str, JsonValue] | None]],
    live: Callable[[], LiveStatus] | None = None,
    *,
    directory: AnyPlace | None = None,
) -> Directory:
    """The directory ``/quorum``.

    Args:
        load: Gives the image.
        epochs: Start offset of each leader epoch, as ``leader-epoch-checkpoint`` has them.
        files: The node's own files by name: each gives its keys and values, or None without one.
        live: Gives what a live quorum says now; None where there is none. There are no files then.
        directory: The metadata directory whose files are compared; None where nothing is compared.
    """

    def last_of(message: str) -> Callable[[], Times | None]:
        return lambda: changed_at(load().touched.first_and_last(message)[1])

    def state() -> Mapping[str, JsonValue] | None:
        # The file describes no earlier state. An unusable file is a disagreement.
        if directory is not None:
            with suppress(SourceError):
                return files["quorum-state"]()
        return None

    def leading() -> Leading:
        from metashell.image.quorum_members import who_leads

        return who_leads(load().quorum, load().provenance.epoch, state())

    def leader_epoch() -> int | None:
        epoch = leading().epoch
        return epoch if epoch >= 0 else None

    elected, set_version = last_of("LeaderChangeMessage"), last_of("KRaftVersionRecord")
    parts: dict[str, Callable[[], Node]] = {
        "kraft.version": lambda: number(lambda: load().quorum.kraft_version).timed(set_version),
        "epochs": lambda: _epochs(load, epochs, live, leading),
    }
    if live is not None:
        return FixedDirectory({**parts, **live_parts(load, live, elected)})
    parts |= {
        "leader": lambda: number(lambda: leading().leader).timed(elected),
        "leaderEpoch": lambda: number(leader_epoch).timed(elected),
        "voters": lambda: _voters(load, state),
        **{name: _file(read) for name, read in files.items()},
    }
    if directory is not None:
        parts["disagreements"] = lambda: _Disagreements(directory, load)
    return FixedDirectory(parts)


def number(read: Callable[[], int | None]) -> Leaf:
    """A leaf with a number, or `UNKNOWN`."""

    def text() -> str:
        value = read()
        return UNKNOWN if value is None else str(value)

    return TextLeaf(text, read)


def fields_text(kind: str, fields: Mapping[str, JsonValue]) -> str:
    """``Kind(name=value, ...)`` as Java's classes print themselves."""
    parts = (
        f"{name}={UNKNOWN if part is None else java_list(part) if isinstance(part, list) else part}"
        for name, part in fields.items()
    )
    return f"{kind}({', '.join(parts)})"


def _file(read: Callable[[], Mapping[str, JsonValue] | None]) -> Callable[[], Node]:
    return lambda: _FileDirectory(read)


class _FileDirectory(Directory):
    """A directory with a leaf for each key of a file, which is read when they are asked for."""

    def __init__(self, read: Callable[[], Mapping[str, JsonValue] | None]) -> None:
        self._read = read

    @cached_property
    def _leaves(self) -> Directory:
        values = self._read() or {}
        return FixedDirectory({name: _value_leaf(value) for name, value in values.items()})

    def names(self) -> Sequence[str]:
        return self._leaves.names()

    def child(self, name: str) -> Node | None:
        return self._leaves.child(name)


def _value_leaf(value: JsonValue) -> Callable[[], Node]:
    text = UNKNOWN if value is None else java_list(value) if isinstance(value, list) else str(value)
    return lambda: TextLeaf(text, lambda: value)


def _epochs(
    load: Callable[[], Image],
    starts: Callable[[], Mapping[int, int]],
    live: Callable[[], LiveStatus] | None,
    leading: Callable[[], Leading],
) -> Directory:
    """A leaf for each leader epoch that the source knows of."""

    @cache
    def known() -> Mapping[int, Epoch]:
        from metashell.image.quorum_members import known_epochs

        image = load()
        return known_epochs(image.records, image.quorum.leaders, starts(), image.provenance.epoch)

    def value(number: int) -> dict[str, JsonValue]:
        epoch = known()[number]
        leader, status = epoch.leader, None if live is None else live()
        if leader is None and status is not None and status.epoch == number:
            leader = status.leader_id
        elif leader is None and live is None and leading().epoch == number:
            leader = leading().leader
        time = epoch.timestamp_ms
        return {
            "startOffset": epoch.start_offset,
            "leader": leader,
            "time": None if time is None else java_time(time),
        }

    def times(epoch: int) -> Times | None:
        rows, _ = load().records.columns("LeaderChangeMessage")
        leaders = load().quorum.leaders
        for row, leader in zip(rows[::-1].tolist(), leaders[::-1], strict=True):
            if leader.epoch == epoch:
                return Times(row, row)
        return None

    return RowDirectory(
        lambda: {str(epoch): epoch for epoch in known()},
        lambda _, epoch: RowLeaf(
            lambda: value(epoch), lambda fields: fields_text("LeaderEpoch", fields)
        ).timed(lambda: times(epoch)),
        TableTimes(lambda: load().touched.first_and_last("LeaderChangeMessage")[1]),
    )


def voters_row(load: Callable[[], Image]) -> int:
    """Row of the record that the voters of the log are from; -1 for none."""
    row = load().quorum.voters_row
    return load().touched.first_and_last("LeaderChangeMessage")[1] if row is None else row


def _voters(
    load: Callable[[], Image], state: Callable[[], Mapping[str, JsonValue] | None]
) -> Directory:
    """A leaf for each voter that the log or the node's own ``quorum-state`` names."""

    @cache
    def values() -> list[dict[str, JsonValue]]:
        from metashell.image.quorum_members import known_voters, static_voters

        return [
            {
                "id": voter.id,
                **({} if voter.directory_id is None else {"directoryId": voter.directory_id}),
                **({} if voter.endpoints is None else {"endpoints": list(voter.endpoints)}),
            }
            for voter in known_voters(load(), static_voters(state()))
        ]

    return RowDirectory(
        lambda: {str(value["id"]): row for row, value in enumerate(values())},
        lambda _, row: RowLeaf(
            lambda: values()[row], lambda fields: fields_text("Voter", fields)
        ).timed(lambda: changed_at(voters_row(load))),
        TableTimes(lambda: voters_row(load)),
    )


class _Disagreements(Directory):
    """A leaf for each thing that the node's files and the log say differently, by its code.

    They are looked for only when they are asked for; no record is about them.
    """

    def __init__(self, directory: AnyPlace, load: Callable[[], Image]) -> None:
        self._directory, self._load = directory, load

    @cached_property
    def _found(self) -> Directory:
        from metashell.checks.quorum_findings import disagreements

        makers: dict[str, Callable[[], Node]] = {}
        times: dict[str, int] = {}
        for finding in disagreements(self._directory, self._load()):
            n = times[finding.code] = times.get(finding.code, 0) + 1
            name = finding.code if n == 1 else f"{finding.code}-{n}"
            makers[name] = _finding(finding)
        return FixedDirectory(makers)

    def names(self) -> Sequence[str]:
        return self._found.names()

    def child(self, name: str) -> Node | None:
        return self._found.child(name)


def _finding(finding: Finding) -> Callable[[], Node]:
    value: dict[str, JsonValue] = {
        "severity": str(finding.severity),
        "code": finding.code,
        "file": finding.file,
        "message": finding.meaning,
        "action": finding.what_to_do,
    }
    return lambda: TextLeaf(f"{finding.file}: {finding.meaning}", lambda: value)
