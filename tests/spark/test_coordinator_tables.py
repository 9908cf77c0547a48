"""Tables of coordinators' logs in Spark: those of the local engine, a task a partition."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from metashell.errors import SourceError, UsageError
from metashell.parts.known import coordinator_parts
from support.fixtures import copy_of, fixture_dir
from support.kraft import as_spark, plan, read, rows

pytest.importorskip("pyspark")

ONE = "node-44/broker102/d1"


@pytest.mark.parametrize("table", [*coordinator_parts(), "OffsetCommit", "TransactionLog"])
def test_a_directory_has_the_tables_of_the_local_engine(table: str) -> None:
    """In every column and row."""
    local = metashell.open(fixture_dir(ONE))
    wanted = local.table(table) if table in coordinator_parts() else local.records(table)
    found = read(table, fixture_dir(ONE))
    # A row's origin has the name.
    names = ["record_directory" if n == "directory" else n for n in wanted.column_names]
    assert rows(as_spark(wanted.rename_columns(names))) == rows(found)
    assert {102} == set(found["node_id"].to_pylist())
    assert {str(fixture_dir(ONE))} == set(found["directory"].to_pylist())


def test_a_fleet_is_folded_by_partition() -> None:
    """One task a partition; each is read from one replica, and the row says from which."""
    pattern = str(fixture_dir("node-44")) + "/broker*/d*"
    tasks, _, _ = plan("groups", pattern)
    assert 4 == len(tasks)
    found = read("groups", pattern)
    assert 28 == len(set(found["group"].to_pylist())) == len(found)
    assert 1 == len(set(found["cluster_id"].to_pylist()))
    assert {101, 102, 103} >= set(found["node_id"].to_pylist())
    everywhere = read("producers", pattern)
    assert {101, 102, 103} == set(everywhere["node_id"].to_pylist())


def test_a_partition_alone_and_a_metadata_directory() -> None:
    """As `-d` takes them."""
    node = fixture_dir(ONE)
    one = read("offsets", node / "__consumer_offsets-2")
    assert {str(node)} == set(one["directory"].to_pylist())
    whole = read("offsets", node / "__cluster_metadata-0")
    assert 27 == len(whole) > len(one) > 0
    assert 0 == len(read("offsets", fixture_dir("node-44/controller1")))


def test_filters_leave_out_clusters() -> None:
    """A filter by cluster plans no task for another."""
    from pyspark.sql.datasource import EqualTo

    tasks, _, _ = plan("groups", fixture_dir(ONE), filters=[EqualTo(("cluster_id",), "another")])
    assert [()] == [task.pieces for task in tasks]
    found = read("groups", fixture_dir(ONE), filters=[EqualTo(("group",), "k-uniform")])
    assert ["k-uniform"] == found["group"].to_pylist()


def test_what_can_not_be_read_fails_a_query_about_one_cluster(tmp_path: Path) -> None:
    """Among several it is left out."""
    node = copy_of(ONE, tmp_path)
    for segment in (node / "__consumer_offsets-2").glob("*.log"):
        segment.unlink()
    with pytest.raises(SourceError, match="__consumer_offsets-2"):
        read("offsets", node)
    (node / "meta.properties").write_text("version=1\ncluster.id=another\nnode.id=1\n")
    found = read("offsets", node, fixture_dir(ONE))
    assert {1, 102} == set(found["node_id"].to_pylist())


def test_faults_tell_of_them(tmp_path: Path) -> None:
    """A damaged batch, and a partition that can't be read."""
    node = copy_of(ONE, tmp_path)
    for segment in (node / "__consumer_offsets-2").glob("*.log"):
        segment.unlink()
    segment = min((node / "__consumer_offsets-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    before = read("faults", fixture_dir(ONE)).to_pylist()
    found = [row for row in read("faults", node).to_pylist() if row["file"] is not None]
    files = {row["file"]: row["kind"] for row in found}
    assert "unreadable" == files["__consumer_offsets-2"]
    assert f"__consumer_offsets-0/{segment.name}" in files
    assert not any("consumer_offsets" in str(row["file"]) for row in before)


def test_earlier_states() -> None:
    """Option at moves these logs to the same time."""
    time = "2026-11-22T11:56:02Z"
    wanted = metashell.open(fixture_dir(ONE)).at(time).table("offsets")
    found = read("offsets", fixture_dir(ONE), at=time)
    assert rows(as_spark(wanted)) == rows(found)
    assert 0 < len(found) < 27


def test_what_is_refused() -> None:
    """Strict replay; an unknown table is told with what there is."""
    with pytest.raises(UsageError, match="strict"):
        read("offsets", fixture_dir(ONE), strict=True)
    with pytest.raises(UsageError, match="did you mean offsets"):
        read("offset", fixture_dir(ONE))


def test_a_session_reads_them(spark: object) -> None:
    """A query of Spark's own."""
    from metashell.spark_backend import KRaftDataSource

    spark.dataSource.register(KRaftDataSource)  # type: ignore[attr-defined]
    pattern = str(fixture_dir("node-44")) + "/broker*/d*"
    reader = spark.read.format("kraft").option("table", "offsets")  # type: ignore[attr-defined]
    assert 80 == reader.load(pattern).count()


def test_sql_of_spark_says_where_they_are() -> None:
    """Before a session is started; a column of such a name is nothing to refuse."""
    from metashell.read_settings import READ_DEFAULTS
    from metashell.spark_backend.sql import SparkTables

    class NoSession:
        def run(self, _job: object) -> object:
            raise SourceError("a session")

    tables = SparkTables(NoSession(), (), READ_DEFAULTS)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is no table offsets here"):
        tables.run("select * from Offsets", lambda: False)
    with pytest.raises(SourceError, match="a session"):
        tables.run("select members from topics", lambda: False)
