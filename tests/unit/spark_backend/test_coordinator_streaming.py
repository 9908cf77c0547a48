"""`readStream` of coordinators' tables, step by step as Spark drives it; no session."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from metashell.errors import SourceError, UsageError
from metashell.schema.coordinators import CoordinatorLog
from metashell.spark_backend import streaming
from support.fixtures import copy_of, fixture_dir
from support.keyed_logs import End, Put, commit, encode, types_of
from support.kraft import read, rows, source
from support.s3 import S3Server

FLEET = "broker*/d*"


class Query:
    """A streaming query; `restart` leaves only the checkpoint."""

    def __init__(self, table: str, *paths: str | Path, **options: Any) -> None:
        self._made = source(table, *paths, **options)
        self.checkpoint: str | None = None
        self.restart()

    def restart(self) -> None:
        """Begin anew from the checkpoint."""
        self.reader = self._made.streamReader(self._made.schema())

    def poll(self) -> pa.Table | None:
        """One micro-batch; None where there is nothing new."""
        start = json.loads(self.checkpoint or json.dumps(self.reader.initialOffset()))
        limit = self.reader.getDefaultReadLimit()
        end = json.loads(json.dumps(self.reader.latestOffset(start, limit)))
        if start == end:
            return None
        self.checkpoint = json.dumps(end)
        return self.between(start, end)

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> pa.Table:
        """The rows between two offsets; tasks are pickled as on their way to executors."""
        reader = pickle.loads(pickle.dumps(self.reader))
        parts = pickle.loads(pickle.dumps(self.reader.partitions(start, end)))
        found = [batch for part in parts for batch in reader.read(part)]
        wanted = reader._wanted
        return pa.Table.from_batches(found, schema=wanted)

    def offsets(self) -> list[int]:
        """The committed offsets of a micro-batch."""
        found = self.poll()
        return [] if found is None else found["offset"].to_pylist()


class Broker:
    """A broker's log directory, with a partition of ``__consumer_offsets``."""

    def __init__(self, path: Path, node_id: int, number: int = 0) -> None:
        self.path, self.log = path, path / f"__consumer_offsets-{number}"
        self.log.mkdir(parents=True)
        meta = f"version=1\ncluster.id=of-test\nnode.id={node_id}\n"
        (path / "meta.properties").write_text(meta)

    def write(self, *entries: Put | End, base: int = 0) -> None:
        """Write a segment anew."""
        batches = [
            encode(types_of(CoordinatorLog.GROUPS), e, i) for i, e in enumerate(entries, base)
        ]
        (self.log / f"{base:020d}.log").write_bytes(b"".join(batches))

    def marks(self, end: int) -> None:
        """Write its high watermark."""
        text = f"0\n1\n__consumer_offsets 0 {end}\n"
        (self.path / "replication-offset-checkpoint").write_text(text)


def commits(*offsets: int) -> list[Put | End]:
    """Commits of one group."""
    return [commit("g", "t", offset) for offset in offsets]


@pytest.mark.parametrize("table", ["OffsetCommit", "TransactionLog", "ShareSnapshot"])
def test_a_fleet_gives_each_record_once(table: str) -> None:
    """The same rows as the table that is read at once, also in small micro-batches."""
    pattern = str(fixture_dir("node-44") / FLEET)
    wanted = rows(read(table, pattern))
    assert wanted
    for limit in ({}, {"maxBytesPerTrigger": 8000, "splitBytes": 4096}):
        query = Query(table, pattern, **limit)
        found = []
        while (batch := query.poll()) is not None:
            found += rows(batch)
            query.restart()
        assert wanted == sorted(found)


def test_commits_of_offsets(tmp_path: Path) -> None:
    """A row for each commit, those of transactions as pending; none for tombstones and markers."""
    broker = Broker(tmp_path, 1)
    broker.write(
        commit("g", "t", 7),
        commit("g", "t", 8, producer_id=3),
        End(3, is_commit=False),
        commit("g", "t", None),
        commit("g", "t", 9, 4, expire_timestamp=1_790_000_000_000),
    )
    found = Query("offsets", tmp_path).poll()
    assert found is not None
    columns = ("node_id", "group", "topic", "partition", "offset", "pending", "expire_source")
    assert [
        (1, "g", "t", 0, 7, False, None),
        (1, "g", "t", 0, 8, True, None),
        (1, "g", "t", 4, 9, False, "COMMIT"),
    ] == [tuple(row[name] for name in columns) for row in found.to_pylist()]
    assert [None] * 3 == found["log_end_offset"].to_pylist()


def test_partitions_and_brokers_that_come_and_go(tmp_path: Path) -> None:
    """New ones are followed, and a partition that moved goes on where it is now."""
    query = Query("offsets", tmp_path / "*")
    assert query.poll() is None
    one = Broker(tmp_path / "a", 1)
    assert query.poll() is None
    one.write(*commits(10, 11))
    assert [10, 11] == query.offsets()
    assert query.poll() is None
    other = Broker(tmp_path / "b", 2)
    other.write(*commits(10), base=0)
    assert query.poll() is None
    other.write(*commits(10, 11, 12), base=0)
    shutil.rmtree(one.log)
    query.restart()
    found = query.poll()
    assert found is not None
    assert [(2, 12)] == [(row["node_id"], row["offset"]) for row in found.to_pylist()]
    Broker(tmp_path / "c", 3, number=1).write(*commits(50))
    assert [50] == query.offsets()
    shutil.rmtree(other.log)
    with pytest.raises(SourceError, match="of-test/__consumer_offsets-0: it was followed and is"):
        query.poll()
    lax = Query("offsets", tmp_path / "*", failOnDataLoss=False)
    lax.checkpoint = query.checkpoint
    assert lax.poll() is None


def test_the_replica_that_reaches_furthest_is_read(tmp_path: Path) -> None:
    """In the newest leader epoch."""
    ahead, behind = Broker(tmp_path / "a", 1), Broker(tmp_path / "b", 2)
    ahead.write(*commits(1, 2))
    behind.write(*commits(1))
    query = Query("offsets", tmp_path / "*")
    assert [1, 2] == query.offsets()
    behind.write(*commits(1, 2, 3))
    found = query.poll()
    assert found is not None
    assert [(2, 3)] == [(row["node_id"], row["offset"]) for row in found.to_pylist()]
    # The longer one was not in the newest epoch: what was read of it is lost.
    (ahead.log / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n5 2\n")
    with pytest.raises(SourceError, match="leader epoch 5 begins at offset 2"):
        query.poll()


def test_of_equal_replicas_one_is_read(tmp_path: Path) -> None:
    """The one of the lowest node, as elsewhere, in whatever order they are named."""
    brokers = [Broker(tmp_path / name, node) for name, node in (("a", 7), ("b", 3), ("c", 5))]
    for broker in brokers:
        broker.write(*commits(1, 2))
    for paths in (brokers, brokers[::-1]):
        found = Query("offsets", *(broker.path for broker in paths)).poll()
        assert found is not None
        assert {3} == set(found["node_id"].to_pylist())


def test_a_query_that_ends_with_what_is_there(tmp_path: Path) -> None:
    """Trigger availableNow; and the high watermark with option committedOnly."""
    broker = Broker(tmp_path, 1)
    broker.write(*commits(1, 2))
    query = Query("offsets", tmp_path, maxBytesPerTrigger=1)
    query.reader.prepareForTriggerAvailableNow()
    broker.write(*commits(1, 2, 3))
    assert [[1], [2], []] == [query.offsets() for _ in range(3)]
    query.restart()
    assert [3] == query.offsets()
    committed = Query("offsets", tmp_path, committedOnly=True)
    assert committed.poll() is None
    (tmp_path / "replication-offset-checkpoint").write_bytes(b"garbage")
    assert committed.poll() is None
    broker.marks(2)
    assert [1, 2] == committed.offsets()
    broker.marks(3)
    assert [3] == committed.offsets()


def test_what_is_damaged_or_truncated_ends_the_query(tmp_path: Path) -> None:
    """With an error that says what to do; or it goes on."""
    broker = Broker(tmp_path, 1)
    broker.write(*commits(1))
    strict = Query("offsets", tmp_path)
    lax = Query("offsets", tmp_path, failOnDataLoss=False)
    assert strict.offsets() == lax.offsets() == [1]
    broker.write(*commits(1, 2, 3))
    segment = broker.log / f"{0:020d}.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    with pytest.raises(SourceError, match=r"CRC mismatch.*failOnDataLoss=false"):
        strict.poll()
    assert [3] == lax.offsets()
    segment.write_bytes(b"")
    with pytest.raises(SourceError, match="the log ends at offset -1"):
        strict.poll()
    assert [] == lax.offsets()


def test_a_micro_batch_that_was_planned_is_read_after_a_restart(tmp_path: Path) -> None:
    """Whatever came meanwhile; a partition that is gone is an error."""
    broker = Broker(tmp_path, 1)
    broker.write(*commits(1, 2))
    query = Query("offsets", tmp_path)
    start = query.reader.initialOffset()
    end = query.reader.latestOffset(start, query.reader.getDefaultReadLimit())
    broker.write(*commits(1, 2, 3))
    query.restart()
    assert [1, 2] == query.between(start, end)["offset"].to_pylist()
    shutil.rmtree(broker.log)
    with pytest.raises(SourceError, match="it was followed and is gone"):
        query.between(start, end)


def test_a_partition_alone_and_some_columns(tmp_path: Path) -> None:
    """As `-d` takes it; the checkpoint holds the cluster and the partition."""
    node = copy_of("node-44/broker102/d1", tmp_path)
    query = Query("OffsetCommit", node / "__consumer_offsets-2")
    found = query.poll()
    assert found is not None
    assert {2} == set(found["coordinator_partition"].to_pylist())
    assert query.checkpoint is not None
    (name,) = json.loads(query.checkpoint)["partitions"]
    assert "72HgMVPyQUSIB9AHQB3hhg/__consumer_offsets-2" == name
    made = source("OffsetCommit", node)
    fields = [f for f in made.schema() if f.name in ("group", "directory")]
    few = made.streamReader(type(made.schema())(fields))
    end = few.latestOffset(few.initialOffset(), few.getDefaultReadLimit())
    parts = few.partitions(few.initialOffset(), end)
    some = pa.Table.from_batches([batch for part in parts for batch in few.read(part)])
    assert ["directory", "group"] == some.column_names
    assert rows(read("OffsetCommit", node).select(["group"])) == rows(some)
    with pytest.raises(SourceError, match="is of another table"):
        few.latestOffset({"version": 1, "directories": {}}, few.getDefaultReadLimit())


def test_brokers_in_a_store(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trigger without news lists directories and opens no segment."""
    s3.give_credentials(monkeypatch)
    monkeypatch.setattr(streaming, "_SETTLED_S", 0.0)
    prefix, broker = f"stream-{uuid4().hex}", Broker(tmp_path, 1)
    segment = f"{prefix}/d1/__consumer_offsets-0/{0:020d}.log"

    def put(*entries: Put | End) -> None:
        broker.write(*entries)
        s3.put(segment, (broker.log / f"{0:020d}.log").read_bytes())

    s3.put(f"{prefix}/d1/meta.properties", (tmp_path / "meta.properties").read_bytes())
    query = Query("offsets", s3.uri(f"{prefix}/*"))
    put(*commits(1, 2))
    assert [1, 2] == query.offsets()
    assert [] == query.offsets()
    before = len(s3.requests())
    assert [] == query.offsets()
    assert not [request for request in s3.requests()[before:] if segment in request]
    put(*commits(1, 2, 3))
    assert [3] == query.offsets()


def test_what_has_no_stream(tmp_path: Path) -> None:
    """States but for commits, and points in time."""
    made = source("groups", tmp_path)
    with pytest.raises(UsageError, match="no stream; use offsets or a record type"):
        made.streamReader(made.schema())
    made = source("offsets", tmp_path, at="4111")
    with pytest.raises(UsageError, match="at: a stream has every commit"):
        made.streamReader(made.schema())
