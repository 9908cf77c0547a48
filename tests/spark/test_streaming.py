"""`readStream`: every record of growing directories once, over restarts of the query."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from metashell.errors import SourceError, UsageError
from metashell.spark_backend import streaming
from support.kraft import source
from support.logs import topic_batch
from support.s3 import S3Server

pytest.importorskip("pyspark")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Query:
    """A streaming query, as Spark drives its reader; `restart` leaves only the checkpoint."""

    def __init__(self, *paths: str | Path, **options: Any) -> None:
        self._paths, self._options = paths, options
        self.checkpoint: str | None = None
        self.read: list[tuple[str, int]] = []
        self.restart()

    def restart(self) -> None:
        """Begin anew from the checkpoint."""
        made = source("TopicRecord", *self._paths, **self._options)
        self.reader = made.streamReader(made.schema())

    def plan(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The offsets of the next micro-batch."""
        if self.checkpoint is None:
            self.checkpoint = json.dumps(self.reader.initialOffset())
        start = json.loads(self.checkpoint)
        limit = self.reader.getDefaultReadLimit()
        return start, json.loads(json.dumps(self.reader.latestOffset(start, limit)))

    def run(self, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[str, int]]:
        """The rows between two offsets: directory and offset."""
        found = []
        for part in self.reader.partitions(start, end):
            for batch in self.reader.read(part):
                found += list(
                    zip(
                        [Path(d).parent.name for d in batch["directory"].to_pylist()],
                        batch["offset"].to_pylist(),
                        strict=True,
                    )
                )
        return found

    def poll(self) -> list[tuple[str, int]]:
        """One micro-batch."""
        start, end = self.plan()
        if start == end:
            return []
        found = self.run(start, end)
        self.reader.commit(end)
        self.checkpoint = json.dumps(end)
        self.read += found
        return found


def append(directory: Path, base: int, data: bytes) -> None:
    """Add bytes to a segment of a node's metadata directory."""
    log = directory / "__cluster_metadata-0"
    log.mkdir(parents=True, exist_ok=True)
    with (log / f"{base:020d}.log").open("ab") as file:
        file.write(data)


def test_growing_directories_are_followed_over_restarts(tmp_path: Path) -> None:
    """New batches, segments and directories come once each; a torn tail when it is whole."""
    query = Query(tmp_path / "*" / "__cluster_metadata-0")
    assert [] == query.poll()
    append(tmp_path / "a", 0, topic_batch(0, 3))
    assert [("a", 0), ("a", 1), ("a", 2)] == query.poll()
    torn = topic_batch(3, 2)
    append(tmp_path / "a", 0, torn[:80])
    append(tmp_path / "b", 0, topic_batch(0, 1))
    query.restart()
    assert [("b", 0)] == query.poll()
    append(tmp_path / "a", 0, torn[80:])
    append(tmp_path / "a", 5, topic_batch(5, 1))
    query.restart()
    assert [("a", 3), ("a", 4), ("a", 5)] == query.poll()
    assert [] == query.poll()
    assert len(query.read) == len(set(query.read)) == 7


def test_a_member_whose_ids_can_not_be_read_is_followed(tmp_path: Path) -> None:
    """Its rows lack them, and the others' do not."""
    for name, text in (("a", ""), ("b", "version=1\ncluster.id=b\n")):
        append(tmp_path / name, 0, topic_batch(0, 1))
        (tmp_path / name / "meta.properties").write_text(text)
    query = Query(tmp_path / "*")
    assert [("a", 0), ("b", 0)] == query.poll()
    append(tmp_path / "a", 0, topic_batch(1, 1))
    assert [("a", 1)] == query.poll()


@pytest.fixture
def clusters(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three clusters in a store, by the prefix that they have there."""
    s3.give_credentials(monkeypatch)
    prefix = f"stream-{uuid4().hex}"
    for name in "abc":
        s3.put(f"{prefix}/{name}/meta.properties", f"version=1\ncluster.id={name * 22}".encode())
        s3.put(f"{prefix}/{name}/__cluster_metadata-0/{0:020d}.log", topic_batch(0, 2))
    return prefix


@pytest.mark.parametrize("pattern", ["*/__cluster_metadata-0", "*", "{a,b,c}"])
def test_quiet_clusters_in_a_store_cost_a_request(
    s3: S3Server, clusters: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trigger without news lists each directory once, and what they are is not asked again."""
    monkeypatch.setattr(streaming, "_SETTLED_S", 0.0)
    query = Query(s3.uri(f"{clusters}/{pattern}"))
    every = [(name, offset) for name in "abc" for offset in (0, 1)]
    assert every == query.poll()
    assert [] == query.poll()  # looks into each once more
    before = len(s3.requests())
    for _ in range(3):
        assert [] == query.poll()
    quiet = s3.requests()[before:]
    # One more finds what the pattern means.
    assert len(quiet) <= 3 * (3 + 1)
    assert not [request for request in quiet if "meta.properties" in request]
    log = f"{clusters}/b/__cluster_metadata-0/{0:020d}.log"
    s3.put(log, topic_batch(0, 2) + topic_batch(2, 1))
    assert [("b", 2)] == query.poll()
    properties = [r for r in s3.requests() if f"{clusters}/" in r and "meta.properties" in r]
    assert len({r for r in properties if r.startswith("GET")}) == 3
    assert len([r for r in properties if r.startswith("GET")]) == 3


def test_clusters_in_a_store_that_change(s3: S3Server, clusters: str) -> None:
    """One that is quiet and then replaced, gone or new is noticed as any other."""
    query = Query(s3.uri(f"{clusters}/*"))
    query.poll()
    assert [] == query.poll()
    s3.put(f"{clusters}/d/__cluster_metadata-0/{0:020d}.log", topic_batch(0, 1))
    assert [("d", 0)] == query.poll()
    s3.put(f"{clusters}/a/__cluster_metadata-0/{0:020d}.log", topic_batch(7, 2))
    with pytest.raises(SourceError, match="truncated or replaced"):
        query.poll()
    s3.put(f"{clusters}/a/__cluster_metadata-0/{0:020d}.log", topic_batch(0, 2))
    assert [] == query.poll()
    s3.delete(f"{clusters}/c/__cluster_metadata-0/{0:020d}.log")
    with pytest.raises(SourceError, match="it was followed and is gone"):
        query.poll()


def test_limited_triggers_over_a_store(s3: S3Server, clusters: str) -> None:
    """A cluster of which a trigger left some is not taken for quiet."""
    log = f"{clusters}/a/__cluster_metadata-0/{0:020d}.log"
    s3.put(log, b"".join(topic_batch(i, 1) for i in range(5)))
    query = Query(s3.uri(f"{clusters}/a"), maxBytesPerTrigger=1)
    found = [query.poll() for _ in range(6)]
    assert [[("a", i)] for i in range(5)] == found[:5]
    assert [] == found[5]


def test_micro_batch_that_was_planned_is_the_same_after_a_restart(tmp_path: Path) -> None:
    """Whatever came meanwhile."""
    append(tmp_path / "a", 0, topic_batch(0, 3))
    query = Query(tmp_path / "*")
    start, end = query.plan()
    before = query.run(start, end)
    append(tmp_path / "a", 0, topic_batch(3, 2))
    append(tmp_path / "a", 5, topic_batch(5, 2))
    query.restart()
    assert before == query.run(start, end)
    query.checkpoint = json.dumps(end)
    assert [("a", offset) for offset in range(3, 7)] == query.poll()


def test_bytes_per_trigger_are_bounded(tmp_path: Path) -> None:
    """And shared by the directories."""
    for name in "ab":
        for offset in range(20):
            append(tmp_path / name, 0 if offset < 10 else 10, topic_batch(offset))
    query = Query(tmp_path / "*", maxBytesPerTrigger=4 * len(topic_batch(0)))
    counts = []
    while found := query.poll():
        counts.append(len(found))
        query.restart()
    assert 40 == sum(counts) == len(set(query.read))
    assert max(counts) <= 5
    assert {"a", "b"} == {name for name, _ in query.read[:5]}


def test_large_batches_are_read_by_several_tasks(tmp_path: Path) -> None:
    """Cut where batches end."""
    append(tmp_path / "a", 0, b"".join(topic_batch(i) for i in range(500)))
    query = Query(tmp_path / "a", splitBytes=4096)
    start, end = query.plan()
    assert len(query.reader.partitions(start, end)) > 5
    assert [("a", offset) for offset in range(500)] == query.poll()


def test_data_loss_is_told_or_skipped(tmp_path: Path) -> None:
    """Segments deleted unread, a log truncated, a directory gone."""
    append(tmp_path / "a", 0, topic_batch(0, 3))
    strict, lax = Query(tmp_path / "*"), Query(tmp_path / "*", failOnDataLoss=False)
    strict.poll()
    lax.poll()
    log = tmp_path / "a" / "__cluster_metadata-0"
    append(tmp_path / "a", 3, topic_batch(3, 3))
    append(tmp_path / "a", 6, topic_batch(6, 1))
    for base in (0, 3):
        (log / f"{base:020d}.log").unlink()
    with pytest.raises(SourceError, match="offsets 3 to 5 were deleted"):
        strict.poll()
    assert [("a", 6)] == lax.poll()
    (log / f"{6:020d}.log").write_bytes(topic_batch(6, 1, leader_epoch=2)[:-1] + b"")
    with pytest.raises(SourceError):
        Query.poll(strict)
    append(tmp_path / "b", 0, topic_batch(0, 1))
    assert [("b", 0)] == lax.poll()
    shutil.rmtree(tmp_path / "b")
    assert [] == lax.poll()
    fresh = Query(tmp_path / "*")
    append(tmp_path / "c", 0, topic_batch(0, 1))
    fresh.poll()
    shutil.rmtree(tmp_path / "c")
    with pytest.raises(SourceError, match="c/__cluster_metadata-0: it was followed and is gone"):
        fresh.poll()


def test_query_for_what_is_there_now_ends_there(tmp_path: Path) -> None:
    """Trigger availableNow, with a bound on the bytes of a micro-batch."""
    for offset in range(5):
        append(tmp_path / "a", 0, topic_batch(offset))
    query = Query(tmp_path / "a", maxBytesPerTrigger=1)
    query.reader.prepareForTriggerAvailableNow()
    append(tmp_path / "a", 0, topic_batch(5))
    append(tmp_path / "a", 6, topic_batch(6))
    while query.poll():
        pass
    assert [("a", offset) for offset in range(5)] == query.read


def test_checkpoint_holds_no_password(tmp_path: Path) -> None:
    """Its keys are the directories as rows name them, and it is plain JSON."""
    append(tmp_path / "a", 0, topic_batch(0))
    query = Query(f"file://{tmp_path}/a")
    query.poll()
    assert query.checkpoint is not None
    assert [f"{tmp_path}/a/__cluster_metadata-0"] == list(
        json.loads(query.checkpoint)["directories"]
    )
    query.checkpoint = '{"version": 99, "directories": {}}'
    with pytest.raises(SourceError, match="offsets of version 99"):
        query.poll()


@pytest.mark.parametrize("table", ["topics", "nodes", "files", "faults"])
def test_tables_that_do_not_grow_are_refused(table: str, tmp_path: Path) -> None:
    """A state is no stream."""
    made = source(table, tmp_path)
    with pytest.raises(UsageError, match=f"{table}: this table has no stream"):
        made.streamReader(made.schema())


@pytest.mark.spark
def test_query_stopped_and_started_again_loses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """With Spark's own checkpoint and a table of its own."""
    from metashell.spark_backend import KRaftDataSource

    spark.dataSource.register(KRaftDataSource)
    logs, out = tmp_path / "logs", str(tmp_path / "out")

    def run() -> list[tuple[str, int]]:
        stream = (
            spark.readStream.format("kraft")
            .option("table", "records")
            .option("maxBytesPerTrigger", "200")
            .load(f"{logs}/*")
        )
        query = (
            stream.select("directory", "offset", "type")
            .writeStream.format("parquet")
            .option("path", out)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        rows = spark.read.parquet(out).collect()
        return sorted((Path(row.directory).parent.name, row.offset) for row in rows)

    append(logs / "a", 0, topic_batch(0, 2) + topic_batch(2, 2) + topic_batch(4, 2)[:70])
    assert [("a", offset) for offset in range(4)] == run()
    append(logs / "a", 0, topic_batch(4, 2)[70:])
    append(logs / "a", 6, topic_batch(6, 2))
    append(logs / "b", 0, topic_batch(0, 2))
    wanted = [("a", offset) for offset in range(8)] + [("b", 0), ("b", 1)]
    assert wanted == run()
    assert wanted == run()
