"""The data source in a real session: what pickles, schemas and filters of Spark make of it."""

from __future__ import annotations

import shutil
from itertools import groupby
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metashell
from metashell.image.arrow import table_names
from support.fixtures import copy_of, differing_directories, fixture
from support.kraft import as_spark, read, rows

pytest.importorskip("pyspark")

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from support.s3 import S3Server

pytestmark = pytest.mark.spark

LIVE = "real-44-live"
DIRECTORIES = [str(fixture(name).input) for name in differing_directories()]


def kraft(spark: SparkSession, table: str) -> DataFrameReader:
    """A reader of a table."""
    from metashell.spark_backend import KRaftDataSource

    spark.dataSource.register(KRaftDataSource)
    return spark.read.format("kraft").option("table", table)


def fetched(spark: SparkSession, table: str, *paths: str) -> pa.Table:
    """A table through Spark."""
    return kraft(spark, table).load(list(paths)).toArrow()


@pytest.mark.cases(2)
@pytest.mark.parametrize("table", [*table_names(), "nodes"])
def test_states_of_all_fixtures_in_one_job(spark: SparkSession, table: str) -> None:
    """Each directory's rows are the local engine's."""
    found = fetched(spark, table, *DIRECTORIES)
    for path in DIRECTORIES:
        own = found.filter(pa_equal(found, "directory", path))
        if table == "nodes":
            assert metashell.open(path).find("/") == own["path"].to_pylist()
        else:
            wanted = as_spark(metashell.open(path).table(table))
            assert rows(wanted) == rows(own.select(wanted.column_names))


@pytest.mark.parametrize("table", ["records", "PartitionRecord", "ConfigRecord"])
def test_rows_are_in_the_order_of_the_log(spark: SparkSession, table: str) -> None:
    """File after file, where each is read whole."""
    (path,) = DIRECTORIES[:1]
    found = fetched(spark, table, path).select(["file", "offset"]).to_pylist()
    files = [file for file, _ in groupby(row["file"] for row in found)]
    assert sorted(set(files)) == sorted(files)
    for file in files:
        offsets = [row["offset"] for row in found if row["file"] == file]
        assert offsets == sorted(offsets), file


def pa_equal(table: pa.Table, column: str, value: str) -> pa.Array:
    """Which rows have a value in a column."""
    import pyarrow.compute as pc

    return pc.equal(table[column], value)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "table", ["records", "PartitionRecord", "RegisterBrokerRecord", "files", "faults"]
)
def test_logs_of_all_fixtures_in_one_job(spark: SparkSession, table: str) -> None:
    """The rows are those that the reader gives by itself, which other tests look at."""
    assert rows(read(table, *DIRECTORIES), without=()) == rows(
        fetched(spark, table, *DIRECTORIES), without=()
    )


@pytest.mark.slow
def test_filters_reach_the_reader_and_change_nothing(spark: SparkSession) -> None:
    """Pushed down, and where a session does not push down."""
    path = str(fixture(LIVE).input)
    query = "type = 'TOPIC_RECORD' and offset > 10 and timestamp > '2020-01-01' and node_id = 1"
    counts = []
    for is_on in ("true", "false"):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", is_on)
        try:
            counts.append(kraft(spark, "records").load(path).where(query).count())
        finally:
            spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    every = read("records", path).to_pylist()
    wanted = [
        r for r in every if r["type"] == "TOPIC_RECORD" and r["offset"] > 10 and r["node_id"] == 1
    ]
    assert [len(wanted)] * 2 == counts
    assert 0 == kraft(spark, "records").load(path).where("node_id = 12345").count()


def test_errors_name_what_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    """As Spark shows them."""
    with pytest.raises(Exception, match="topcs: not a table of the data source kraft"):
        kraft(spark, "topcs").load(str(tmp_path))
    with pytest.raises(Exception, match="no segment or checkpoint there"):
        kraft(spark, "topics").load(str(tmp_path)).collect()


def test_one_bad_directory_fails_no_job(spark: SparkSession, tmp_path: Path) -> None:
    """It is a row of `faults`."""
    good = copy_of(LIVE, tmp_path)
    (tmp_path / "bad").mkdir()
    n = len(metashell.open(good).table("partitions"))
    assert n == kraft(spark, "partitions").load(f"{tmp_path}/*").count()
    bad = kraft(spark, "faults").load(f"{tmp_path}/*").where("kind = 'unreadable'").collect()
    assert [str(tmp_path / "bad")] == [row.directory for row in bad]


def test_many_paths(spark: SparkSession, tmp_path: Path) -> None:
    """Wildcards, a list, and a list in an option, as for streams and SQL: each directory once."""
    for name in ("east", "west"):
        shutil.copytree(fixture(LIVE).directory, tmp_path / name)
    here = str(tmp_path)
    both = [f"{here}/east", f"{here}/west"]
    wanted = [f"{path}/__cluster_metadata-0" for path in both]
    table = spark.createDataFrame([(path,) for path in both], "path string")
    collected = [row.path for row in table.collect()]
    for given in (f"file://{here}/{{east,?[e]st}}", [*both, f"{here}/**"], collected):
        assert wanted == directories(kraft(spark, "topics").load(given)), given
    spark.sql(
        f"CREATE TEMPORARY VIEW m USING kraft OPTIONS (table 'topics', paths '{dumps(both)}')"
    )
    try:
        assert wanted == directories(spark.table("m"))
    finally:
        spark.catalog.dropTempView("m")
    with pytest.raises(Exception, match="no directory matches"):
        kraft(spark, "topics").load(f"{here}/nope*").collect()


def directories(frame: DataFrame) -> list[str]:
    """The directories that rows are from."""
    return sorted(row.directory for row in frame.select("directory").distinct().collect())


@pytest.mark.slow
def test_directories_in_a_store(
    spark: SparkSession, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A glob over a bucket; the rows name the directory without what the URI says besides."""
    from support.s3 import ACCESS_KEY, SECRET_KEY

    both = (LIVE, "real-44-broker-down")
    s3.upload(fixture(LIVE).directory, "fleet/c1")
    s3.upload(fixture("real-44-broker-down").directory, "fleet/c2")
    key = {"access_key": ACCESS_KEY, "secret_key": SECRET_KEY}
    uri = s3.uri("fleet/*/__cluster_metadata-0", **key)
    found = fetched(spark, "topics", uri)
    wanted = [fetched(spark, "topics", str(fixture(n).input)) for n in both]
    assert sorted(r for t in wanted for r in rows(t)) == rows(found)
    directories = set(found["directory"].to_pylist())
    assert {"s3://bucket/fleet/c1/__cluster_metadata-0"} <= directories
    assert SECRET_KEY not in repr(found.to_pylist())
    records = fetched(spark, "records", uri)
    assert len(records) == sum(
        fetched(spark, "records", str(fixture(n).input)).num_rows for n in both
    )
