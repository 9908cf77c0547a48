"""``/quorum``: what a node's files say of the quorum.

The control records of the log tell the voters, kraft.version and who led when; ``quorum-state`` and
``meta.properties`` are the node's own word. Lag and observers only a live quorum knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from metashell.fs.java import java_list, java_time
from metashell.fs.node import Directory, FixedDirectory, JsonValue, Leaf, Node, TextLeaf
from metashell.fs.nodes.tables import RowDirectory, RowLeaf
from metashell.fs.times import TableTimes, Times, changed_at
from metashell.schema.uuids import uuid_text

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.image.voters import Leadership

UNKNOWN = "unknown"
"""Text of what the files do not tell."""


def quorum_node(
    load: Callable[[], Image],
    epochs: Callable[[], Mapping[int, int]],
    files: Mapping[str, Callable[[], Mapping[str, JsonValue] | None]],
) -> Directory:
    """The directory ``/quorum``.

    Args:
        load: Gives the image.
        epochs: Start offset of each leader epoch, as ``leader-epoch-checkpoint`` has them.
        files: The node's own files by name: each gives its keys and values, or None without one.
    """

    def number(read: Callable[[], int | None]) -> Leaf:
        def text() -> str:
            value = read()
            return UNKNOWN if value is None else str(value)

        return TextLeaf(text, read)

    def leaders() -> Sequence[Leadership]:
        return load().quorum.leaders

    def last_of(message: str) -> Callable[[], Times | None]:
        return lambda: changed_at(load().touched.first_and_last(message)[1])

    def leader() -> int | None:
        return leaders()[-1].leader if leaders() else None

    elected, set_version = last_of("LeaderChangeMessage"), last_of("KRaftVersionRecord")
    return FixedDirectory(
        {
            "leader": lambda: number(leader).timed(elected),
            "leaderEpoch": lambda: number(lambda: load().provenance.epoch).timed(elected),
            "kraft.version": lambda: number(lambda: load().quorum.kraft_version).timed(set_version),
            "epochs": lambda: _epochs(load, leaders, epochs),
            "voters": lambda: _voters(load),
            **{name: _file(read) for name, read in files.items()},
        }
    )


def _file(read: Callable[[], Mapping[str, JsonValue] | None]) -> Callable[[], Node]:
    """A directory with a leaf for each key of a file."""

    def make() -> Directory:
        values = read() or {}
        return FixedDirectory({name: _value_leaf(value) for name, value in values.items()})

    return make


def _value_leaf(value: JsonValue) -> Callable[[], Node]:
    text = UNKNOWN if value is None else java_list(value) if isinstance(value, list) else str(value)
    return lambda: TextLeaf(text, lambda: value)


def _epochs(
    load: Callable[[], Image],
    leaders: Callable[[], Sequence[Leadership]],
    epochs: Callable[[], Mapping[int, int]],
) -> Directory:
    """A leaf for each leader epoch that the files know of."""

    def values() -> dict[int, dict[str, JsonValue]]:
        known: dict[int, dict[str, JsonValue]] = {
            epoch: {"startOffset": start, "leader": None, "time": None}
            for epoch, start in epochs().items()
        }
        for leader in leaders():
            known[leader.epoch] = {
                "startOffset": leader.offset,
                "leader": leader.leader,
                "time": java_time(leader.timestamp_ms),
            }
        return known

    def text(value: Mapping[str, JsonValue]) -> str:
        fields = (f"{name}={UNKNOWN if part is None else part}" for name, part in value.items())
        return f"LeaderEpoch({', '.join(fields)})"

    def times(epoch: int) -> Times | None:
        rows, _ = load().records.columns("LeaderChangeMessage")
        for row, leader in zip(rows[::-1].tolist(), leaders()[::-1], strict=True):
            if leader.epoch == epoch:
                return Times(row, row)
        return None

    return RowDirectory(
        lambda: {str(epoch): epoch for epoch in values()},
        lambda _, epoch: RowLeaf(lambda: values()[epoch], text).timed(lambda: times(epoch)),
        TableTimes(lambda: load().touched.first_and_last("LeaderChangeMessage")[1]),
    )


def _voters(load: Callable[[], Image]) -> Directory:
    """A leaf for each voter of the newest VotersRecord, else of the last leader change."""

    def rows() -> dict[str, int]:
        quorum = load().quorum
        if quorum.voters is not None:
            ids: Sequence[int] = quorum.voters.fixed("voter_id").tolist()
        else:
            ids = quorum.leaders[-1].voters if quorum.leaders else ()
        return {str(voter): row for row, voter in enumerate(ids)}

    def value(voter: str, row: int) -> dict[str, JsonValue]:
        voters = load().quorum.voters
        if voters is None:
            return {"id": int(voter)}
        endpoints = voters.structs("endpoints").take([row]).items  # type: ignore[arg-type]
        listeners = zip(
            endpoints.span("name").texts(),
            endpoints.span("host").texts(),
            endpoints.fixed("port").tolist(),
            strict=True,
        )
        return {
            "id": int(voter),
            "directoryId": uuid_text(voters.fixed("voter_directory_id")[row].tobytes()),
            "endpoints": [f"{name}://{host}:{port}" for name, host, port in listeners],
        }

    def text(fields: Mapping[str, JsonValue]) -> str:
        parts = (
            f"{name}={java_list(part) if isinstance(part, list) else part}"
            for name, part in fields.items()
        )
        return f"Voter({', '.join(parts)})"

    def newest() -> int:
        row = load().quorum.voters_row
        return load().touched.first_and_last("LeaderChangeMessage")[1] if row is None else row

    return RowDirectory(
        rows,
        lambda voter, row: RowLeaf(lambda: value(voter, row), text).timed(
            lambda: changed_at(newest())
        ),
        TableTimes(newest),
    )
