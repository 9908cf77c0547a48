"""Commands by the kernel and by numpy: the same rows in the same order, ties by name."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

from kraftgen.batch import Record, encode_batch
from metashell.cli import main
from metashell.schema.coordinators import CoordinatorLog
from support.coordinators import NODE, RECORDS
from support.fixtures import DEMO, fixture_dir
from support.implementations import IMPLEMENTATIONS, implemented_by
from support.keyed_logs import Put, commit, write_log
from support.logs import make_directory, record

NAMES: Final = ("zz", "b2", "yy", "ü", "b1", "cc", "aa", "xx")
"""Of things that are equal in all but their names; each has two bytes."""


def _groups(directory: Path) -> Path:
    """Groups, each with a commit of its own topic."""
    return _log(directory, CoordinatorLog.GROUPS, [commit(n, f"t{n}", 1) for n in NAMES])


def _transactions(directory: Path) -> Path:
    fields = {"transaction_status": 0, "transaction_partitions": None}
    puts = [
        Put(name="TransactionLog", key={"transactional_id": name}, value=fields) for name in NAMES
    ]
    return _log(directory, CoordinatorLog.TRANSACTIONS, puts)


def _share(directory: Path) -> Path:
    key = {"topic_id": UUID(int=7).bytes, "partition": 0}
    value = {"state_batches": []}
    puts = [Put(name="ShareSnapshot", key=key | {"group_id": name}, value=value) for name in NAMES]
    return _log(directory, CoordinatorLog.SHARE, puts)


def _log(directory: Path, log: CoordinatorLog, puts: list[Put]) -> Path:
    path = directory / f"{log}-0"
    path.mkdir()
    write_log(path / f"{0:020}.log", log, puts)
    return path


def _topics(directory: Path) -> Path:
    """Topics of two partitions each, and the brokers that have them."""
    records = [
        record("RegisterBrokerRecord", broker_id=i, broker_epoch=i, incarnation_id=bytes(16))
        for i in (3, 1, 2)
    ]
    for i, name in enumerate(NAMES):
        topic_id = UUID(int=(37 * i) % 101 + 1).bytes
        records.append(record("TopicRecord", name=name, topic_id=topic_id))
        records += [
            record(
                "PartitionRecord",
                partition_id=partition,
                topic_id=topic_id,
                replicas=[1, 2],
                isr=[1, 2],
                leader=1,
            )
            for partition in (1, 0)
        ]
    data = encode_batch([Record(value=each) for each in records], base_offset=0)
    return make_directory(directory, (0, data))


MADE: Final[dict[str, Callable[[Path], Path]]] = {
    "groups": _groups,
    "transactions": _transactions,
    "share": _share,
    "topics": _topics,
}


def printed(directory: Path, line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command; its status, and what it prints."""
    status = main(["--no-config", "-d", str(directory), *line.split(" ")])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    ("what", "line", "column"),
    [
        ("groups", "du --by group", "group"),
        ("groups", "du --by topic", "topic"),
        ("groups", "stats --section groups", "group"),
        ("groups", "groups", "group"),
        ("groups", "groups --sort state", "group"),
        ("transactions", "du --by transaction", "transaction"),
        ("transactions", "stats --section transactions", "transactional_id"),
        ("transactions", "transactions --sort state", "transactional_id"),
        ("share", "du --by group", "group"),
        ("topics", "du --by topic", "topic"),
        ("topics", "du --by partition", "partition"),
        ("topics", "stats --section partitions", "partition"),
        ("topics", "topics --sort partitions", "topic"),
    ],
)
def test_ties(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    what: str,
    line: str,
    column: str,
    implementation: str,
) -> None:
    """Rows that are equal come by name, and a limit takes the first of them."""
    directory = MADE[what](tmp_path)
    with implemented_by(implementation):
        _, whole = printed(directory, f"{line} -o csv", capsys)
        _, some = printed(directory, f"{line} --limit 3 -o csv", capsys)
    rows = list(csv.DictReader(io.StringIO(whole)))
    # The row of what is of no topic has another size.
    names = [(row.get("topic"), row[column]) for row in rows if row[column]]

    assert len(NAMES) <= len(names)
    assert sorted(names) == names
    assert rows[:3] == list(csv.DictReader(io.StringIO(some)))


LINES: Final = {
    "metadata": (
        "topics",
        "topics --sort partitions --limit 3",
        "brokers",
        "partitions",
        "check",
        "health",
        "quotas",
        "stats",
        "stats --section partitions",
        "du --by topic",
        "du --by partition",
        "du --by broker",
        "find /",
        "log --json",
    ),
    "coordinator": (
        "groups",
        "members",
        "offsets --sort offset",
        "transactions",
        "share",
        "check",
        "stats",
        "du --by group",
        "du --by topic",
        "du --by transaction",
        "find /",
        "log --json",
    ),
}
PLACES: Final[dict[str, tuple[Callable[[], Path], str]]] = {
    "demo": (lambda: DEMO, "metadata"),
    "all-records": (lambda: fixture_dir("all-records-dir") / "input", "metadata"),
    "groups": (lambda: fixture_dir(RECORDS) / "__consumer_offsets-0", "coordinator"),
    "transactions": (lambda: fixture_dir(RECORDS) / "__transaction_state-0", "coordinator"),
    "share": (lambda: fixture_dir(RECORDS) / "__share_group_state-0", "coordinator"),
    "broker": (lambda: fixture_dir(NODE) / "broker101" / "d1", "coordinator"),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "place",
    [
        *(place for place in PLACES if place != "groups"),
        pytest.param("groups", marks=pytest.mark.slow),
    ],
)
def test_same_output(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command prints the same, whatever decodes."""
    find, kind = PLACES[place]
    for line in LINES[kind]:
        found = []
        for implementation in IMPLEMENTATIONS:
            with implemented_by(implementation):
                found.append((line, *printed(find(), line, capsys)))

        assert found[0] == found[1]
