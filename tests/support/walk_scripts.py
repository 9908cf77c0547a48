"""The walks: what is opened, and what is pressed there.

The scripts stand in tests/tui/walks.txt, each below its name, what it opens, and ``wide`` where
the screen is. ``METASHELL_UPDATE_SNAPSHOTS=1 pytest tests/tui/test_walks.py -k NAME`` keeps a note.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import metashell
from kraftgen.batch import encode_batch
from metashell.sources.opening import open_fleet
from metashell.tui.session import ExplorerSession
from support.approved_places import PLACES
from support.fixtures import DEMO, SAMPLE, fixture
from support.fleets import backups, torn
from support.hostile import NAMES, write_cluster
from support.logs import make_directory, record, topic_batch, topic_log
from support.node_sources import D1, D2, on
from support.pilot import SMALL, WIDE, session_on
from support.small_cluster import TIME, broker, config
from support.walks import Walk

_Opening = Callable[[Path], ExplorerSession]
_FILE: Final = Path(__file__).parents[1] / "tui" / "walks.txt"


def _on(source: Path) -> _Opening:
    return lambda _: session_on(source)


def _file(name: str) -> _Opening:
    return lambda _: session_on(lambda: metashell.open_file(fixture(name).input))


def _copied(parent: Path) -> ExplorerSession:
    return on(*(shutil.copytree(one, parent / one.name) for one in (D1, D2)))


def _fleet(parent: Path) -> ExplorerSession:
    directory = backups(parent / "fleet")
    (directory / "[b]broken").mkdir()
    paths = [str(path) for path in sorted(directory.iterdir())]
    return session_on(lambda: open_fleet(paths))  # type: ignore[arg-type,return-value]


def _torn(parent: Path) -> ExplorerSession:
    return session_on(torn("real-44-broker-down", parent, 13))


def _log(*batches: list[bytes]) -> _Opening:
    """A log of batches, ten seconds apart."""

    def opened(parent: Path) -> ExplorerSession:
        data, offset = b"", 0
        for i, values in enumerate(batches):
            data += encode_batch(
                values, base_offset=offset, timestamp=TIME + i * 10_000, leader_epoch=1
            )
            offset += len(values)
        return session_on(make_directory(parent, (0, data)))

    return opened


def _damaged(parent: Path) -> ExplorerSession:
    """The middle batch has a wrong CRC, and behind it is a record that nobody knows."""
    first, second, third = topic_log(3)
    strange = encode_batch([bytes([1, 120, 0]) + b"\x1b[31m"], base_offset=6, leader_epoch=1)
    log = first + second[:-1] + bytes([second[-1] ^ 1]) + third + strange + topic_batch(7)
    return session_on(make_directory(parent, (0, log)))


def _topic(number: int, name: str) -> bytes:
    return record("TopicRecord", name=name, topic_id=number.to_bytes(16, "big"))


def _partition(topic: int, number: int, *replicas: int) -> bytes:
    """A partition, led by its first replica."""
    return record(
        "PartitionRecord",
        partition_id=number,
        topic_id=topic.to_bytes(16, "big"),
        replicas=list(replicas),
        isr=list(replicas),
        leader=replicas[0],
    )


def _change(topic: int, number: int, **fields: object) -> bytes:
    return record(
        "PartitionChangeRecord",
        partition_id=number,
        topic_id=topic.to_bytes(16, "big"),
        **fields,
    )


_LINES: Final = (
    [_topic(1, "0123456789" * 20 + "-end")],
    [_topic(i, f"topic-{i}") for i in (2, 3, 4)],
    [_topic(5, "topic-5")],
    [_topic(i, name) for i, name in enumerate("abac", 6)],
)
"""Records that are short and long, alone and together in a batch."""
_RACKS: Final = (
    [broker(1, rack="east")],
    [broker(2, rack="east")],
    [broker(3, rack="[bold]r[/]\x1b[31m\n\u202e")],
    [_topic(7, "or ders")],
    [_partition(7, 0, 1, 2)],
    [_partition(7, 1, 1, 3)],
    [_partition(7, 2, 1)],
    [_partition(7, 3, 2, 3)],
    [_partition(7, 4, 1, 9)],
)
"""Three brokers in two racks, one name of which means harm, and five partitions."""
_CHANGES: Final = (
    [_topic(1, "[bold]x[/]"), _topic(2, "orders")],
    [_partition(2, 0, 101, 102), _partition(2, 1, 101, 102), _partition(1, 0, 101, 102)],
    [config(2, "orders", "retention.ms", "1000")],
    [config(2, "orders", "retention.ms", "2000")],
    [_change(1, 0, leader=102)],
    [_change(2, 0, isr=[101])],
    [_change(2, 0, leader=-1), _change(2, 1, isr=[101])],
    [_change(2, 0, leader=102, isr=[101, 102])],
    [_change(2, 0, leader=-1)],
    [_change(2, 0, leader=101)],
    [record("NoOpRecord")],
)
"""Topics are made, one is configured, and loses replicas and leaders again and again."""
_OPENINGS: Final[Mapping[str, _Opening]] = {
    "sample": _on(SAMPLE),
    "demo": _on(DEMO),
    "old": _on(fixture("real-40-static").directory),
    "live": _on(fixture("real-44-live").directory),
    "down": _on(fixture("real-44-broker-down").directory),
    "checkpoint": _file("all-records-checkpoint"),
    "segment": _file("all-records-segment"),
    "fleet": _fleet,
    "node": lambda _: on(D1, D2),
    "disks": _copied,
    "partition": lambda _: on(D1 / "__consumer_offsets-2"),
    "directory": lambda _: on(D2),
    "transactions": lambda _: on(D2 / "__transaction_state-0"),
    "empty": lambda parent: session_on(make_directory(parent, (0, b""))),
    "few": lambda parent: session_on(make_directory(parent, (0, b"".join(topic_log(3))))),
    "hostile": lambda parent: session_on(write_cluster(parent, NAMES)),
    "sick": lambda parent: session_on(parent / PLACES["sick"].lay(parent)[0]),
    "torn": _torn,
    "damaged": _damaged,
    "records": _log(*_LINES),
    "racks": _log(*_RACKS),
    "changes": _log(*_CHANGES),
}
"""What is opened, below a directory that is the test's own."""


def _walks() -> Iterator[Walk]:
    for part in _FILE.read_text("utf-8").split("\n\n"):
        head, *lines = part.strip().split("\n")
        name, opening, *size = head.split()
        script = " ".join(lines)
        yield Walk(name.strip("[]"), _OPENINGS[opening], script, WIDE if size else SMALL)


WALKS: Final = tuple(_walks())
"""All of them."""
