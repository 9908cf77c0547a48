"""The parts of ``/quorum`` that a live quorum's leader tells: replicas, lag, the high watermark.

Asked for anew each time: what the leader says does not wait for the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from metashell.fs.java import java_time
from metashell.fs.node import Directory, JsonValue, Node
from metashell.fs.nodes.quorum import fields_text, number, voters_row
from metashell.fs.nodes.tables import RowLeaf
from metashell.fs.touch_times import Times, changed_at
from metashell.image.quorum_members import QuorumMember, by_name, observers_of, voters_of

if TYPE_CHECKING:
    from metashell.image.image import Image
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
            told = now.description.high_watermark
            return told if told >= 0 else None
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
