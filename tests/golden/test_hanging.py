"""What hangs is what Kafka's own tool reported of a real cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from metashell.answers.coordinator_tables import TRANSACTION
from metashell.answers.hanging import open_producers, open_table, producers_table, with_hanging
from metashell.answers.transactions import TRANSACTION_SCHEMA, transactions_table
from metashell.image.coordinators.producers import fold_producers
from metashell.node_files.log_directory import LogDirectory, read_log_directory
from metashell.read_settings import READ_DEFAULTS
from metashell.sources.coordinator_logs import NodeCoordinatorLogs
from metashell.sources.partition_logs import PartitionLogs
from support.fixtures import fixture_dir

_NODE: Final = "node-44"
_BROKERS: Final = ("broker101", "broker102", "broker103")
_PARTITIONS: Final = 4


def _directories(brokers: Iterable[str]) -> list[LogDirectory]:
    node = fixture_dir(_NODE)
    return [read_log_directory(str(node / broker / d)) for broker in brokers for d in ("d1", "d2")]


def _opened(here: Sequence[str], known: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """What is open in some brokers' partitions, and the transactions that others' logs tell of."""
    logs = NodeCoordinatorLogs(TRANSACTION.log, _directories(known), READ_DEFAULTS)
    tables = [
        transactions_table(logs.read(partition).records, partition.number)
        for partition in logs.partitions
    ]
    transactions = pa.concat_tables([TRANSACTION_SCHEMA.empty_table(), *tables])
    producers = [
        open_producers(producers_table(fold_producers(tail.producers()), *partition))
        for partition, tail in PartitionLogs(_directories(here)).tails()
    ]
    complete = len(tables) == _PARTITIONS
    opened = open_table(
        pa.concat_tables(producers), transactions, is_complete=complete, end_ms=1795348624212
    )
    return opened, transactions


def _reported() -> dict[str, list[list[str]]]:
    """The lines of kafka-transactions find-hanging, by broker."""
    text = (fixture_dir(_NODE) / "captured" / "kafka-transactions-find-hanging.txt").read_text()
    found: dict[str, list[list[str]]] = {}
    for part in text.split("$ ")[1:]:
        command, _, *lines = part.splitlines()
        broker = command.split("--broker-id ")[1].split()[0]
        found[f"broker{broker}"] = [line.split() for line in lines]
    return found


def _line(row: dict[str, Any]) -> list[str]:
    epoch = -1 if row["coordinator_epoch"] is None else row["coordinator_epoch"]
    numbers = (row["partition"], row["producer_id"], row["producer_epoch"], epoch)
    return [row["topic"], *map(str, (*numbers, row["start_offset"]))]


def test_find_hanging() -> None:
    """From the coordinators' logs of the whole cluster each broker's partitions tell the same."""
    compared = 0
    for broker, lines in _reported().items():
        opened, _ = _opened([broker], _BROKERS)
        rows = opened.to_pylist()
        assert {row["hanging"] for row in rows} <= {"yes", "no"}
        hanging = [row for row in rows if row["hanging"] == "yes"]
        assert [line[:6] for line in lines] == [_line(row) for row in hanging]
        for line, row in zip(lines, hanging, strict=True):
            compared += 1
            assert int(line[6]) == round(row["last_time"].timestamp() * 1000)
            assert row["holds"]
            assert 0 == row["age_ms"]
            assert row["command"] == (
                'kafka-transactions.sh --bootstrap-server "$BOOTSTRAP_SERVER" abort'
                " --topic streams-in --partition 1 --start-offset 4"
            )
    assert compared == 2


def test_nobody_knows_without_the_log() -> None:
    """Without a partition of the coordinators' topic what it could have is undecided."""
    opened, _ = _opened(["broker102"], [])
    assert {"undecided"} == set(opened.column("hanging").to_pylist())
    assert {None} == set(opened.column("command").to_pylist())
    some, _ = _opened(["broker102"], ["broker101"])
    for row in some.to_pylist():
        assert row["hanging"] == ("undecided" if row["transactional_id"] is None else "no")


def test_which_transactions_hang() -> None:
    """That of a transactional id which does not name the partition does."""
    opened, transactions = _opened(["broker102"], _BROKERS)
    ids = transactions.column("producer_id").to_pylist()
    assert not any(with_hanging(transactions, opened).column("hanging").to_pylist())
    at = transactions.column("transactional_id").to_pylist().index("tx-hang")
    lists = transactions.column("partitions").to_pylist()
    lists[at] = ["audit-0", "clicks-2", "clicks-00"]
    number = TRANSACTION_SCHEMA.get_field_index("partitions")
    without = transactions.set_column(number, "partitions", pa.array(lists))
    producers = opened.rename_columns(
        [
            {"start_offset": "current_txn_start_offset", "last_time": "last_timestamp"}.get(n, n)
            for n in opened.column_names
        ]
    )
    opened = open_table(producers, without, is_complete=False, end_ms=None)
    found = [row for row in opened.to_pylist() if row["hanging"] == "yes"]
    assert [("clicks", 0, "tx-hang", None)] == [
        (row["topic"], row["partition"], row["transactional_id"], row["age_ms"]) for row in found
    ]
    flags = with_hanging(without, opened).column("hanging").to_pylist()
    assert [ids[at]] == [producer for producer, is_so in zip(ids, flags, strict=True) if is_so]


def test_of_several_replicas_the_longest_counts(tmp_path: Path) -> None:
    """A replica that fell behind, or lost its files, tells nothing."""
    places = []
    for replica in ("broker102/d2", "broker103/d1"):
        place = tmp_path / replica
        shutil.copytree(fixture_dir(_NODE) / replica / "streams-in-1", place / "streams-in-1")
        places.append(place)
    (behind,) = (places[0] / "streams-in-1").glob("*.log")
    (tmp_path / "third" / "streams-in-1").mkdir(parents=True)
    places.append(tmp_path / "third")
    behind.write_bytes(behind.read_bytes()[:-1])
    logs = PartitionLogs([read_log_directory(str(place)) for place in places])
    ((_, tail),) = logs.tails()
    assert 5 == tail.end().end_offset
    assert 777000 in fold_producers(tail.producers()).producer_id
