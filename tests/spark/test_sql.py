"""`sql` by Spark and by DuckDB: the same statements give the same rows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import metashell
from metashell.commands.sql.cells import as_cells, column_names
from metashell.errors import SourceError, UsageError
from metashell.read_settings import ReadSettings
from metashell.schema.model import load_registry
from metashell.sources.coordinator_tables import CoordinatorTables
from metashell.sources.delegate import Result
from metashell.sources.node_places import NodePlaces
from metashell.sources.opening import open_fleet
from metashell.sources.without_image import SourceWithoutImage
from metashell.spark_backend.opening import DelegatedLogs
from metashell.spark_backend.sites import Site, absolute
from metashell.spark_backend.sql import SparkTables
from metashell.sql.catalog import ClusterCatalog, FleetCatalog
from metashell.sql.duck import Database
from support.fixtures import copy_of, fixture, fixture_dir
from support.fleets import backups
from support.node_sources import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = (
    "select * from topics order by topic",
    "select topic, partition, leader, replicas, isr, created_offset, changed_time "
    "from partitions where leader <> 1 order by topic, partition",
    "select broker, fenced, rack, end_points from brokers order by broker",
    "select resource_type, resource_name, key, value from configs order by 1, 2, 3, 4",
    "select leader, count(*) as n, sum(leader_epoch) as s from partitions group by leader "
    "order by leader",
    "select type, count(*) as n, min(`offset`) as a, max(`offset`) as b from records "
    "group by type order by type",
    "select * from records order by file, pos, `offset`",
    "select type, topic, count(*) as n from records group by type, topic order by type, topic",
    "select * from PartitionChangeRecord order by file, `offset`",
    "select file, kind, size, batches, records, faults from files order by file",
    "with led as (select leader, count(*) as n from partitions group by leader) "
    "select b.broker, l.n from brokers b left join led l on l.leader = b.broker order by 1",
    "select * from voters order by voter_id",
    "select * from scram_credentials order by user, mechanism",
)


class Session:
    """Runs jobs in the session of all tests."""

    def __init__(self, spark: SparkSession) -> None:
        self.session = spark

    def run(self, job: Callable[[SparkSession], Any]) -> Any:
        """Run it."""
        return job(self.session)

    def quiet(self) -> None:
        """Nothing was drawn."""


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[Callable[..., SparkTables]]:
    """Makes tables of directories; afterwards the session is as it was before."""
    made: list[SparkTables] = []
    key = "spark.sql.session.timeZone"
    zone = spark.conf.get(key)
    spark.conf.set(key, "UTC")

    def make(*paths: Path, clusters: Mapping[str, str] | None = None) -> SparkTables:
        sites = [Site(str(path), opened_by=absolute(str(path))) for path in paths]
        made.append(SparkTables(Session(spark), sites, ReadSettings(), clusters))
        return made[-1]

    yield make
    for one in made:
        if one._folded is not None:
            one._folded[1].unpersist()
    for table in spark.catalog.listTables():
        spark.catalog.dropTempView(table.name)
    spark.conf.set(key, str(zone))
    spark.conf.unset("spark.sql.runSQLOnFiles")


def cells(result: Result) -> list[dict[str, Any]]:
    """Rows as they are written."""
    names = column_names(result.schema)
    return [row for batch in result.batches for row in as_cells(batch, names).to_pylist()]


def in_duckdb(statement: str) -> str:
    """The same in DuckDB's dialect: names are quoted otherwise."""
    return statement.replace("`", '"')


def never() -> bool:
    """Nobody wants it to end."""
    return False


@pytest.mark.slow
def test_the_same_rows_on_both_engines(tables: Callable[..., SparkTables]) -> None:
    """Of every kind of table, names of columns included."""
    path = fixture("real-44-admin").input
    source = metashell.open(path)
    local = Database(ClusterCatalog(source, lambda: source.image))
    by_spark = tables(path)
    for statement in STATEMENTS:
        wanted = cells(local.run(in_duckdb(statement), never))
        assert wanted == cells(by_spark.run(statement, never)), statement
        assert wanted or "voters" in statement or "scram" in statement


@pytest.mark.slow
def test_a_fleet_has_the_same_column_in_front(
    tables: Callable[..., SparkTables], tmp_path: Path
) -> None:
    """The cluster's name, for tables of the image and of the log."""
    backups(tmp_path)
    paths = sorted(tmp_path.iterdir())
    fleet = open_fleet([str(path) for path in paths])
    members = list(fleet.members.values())
    registry = members[0].source().registry
    local = Database(
        FleetCatalog(
            lambda: iter([(member.name, member.source()) for member in members]),
            registry,
            lambda source: source.image,
        )
    )
    by_spark = tables(*paths, clusters={member.path: member.name for member in members})
    for statement in (
        "select cluster, count(*) as n from partitions group by cluster order by cluster",
        "select cluster, type, count(*) as n from records group by 1, 2 order by 1, 2",
    ):
        wanted = cells(local.run(statement, never))
        assert wanted
        assert wanted == cells(by_spark.run(statement, never))


@pytest.mark.usefixtures("tables")
def test_coordinators_tables_on_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of each broker of a fleet, also by a view, and what is not read or not here."""
    nodes = [copy_of(f"node-44/broker{n}/d1", tmp_path) for n in (101, 102)]
    segment = min((nodes[1] / "__consumer_offsets-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    fleet = open_fleet([str(node) for node in nodes])
    members = list(fleet.members.values())
    local = Database(
        FleetCatalog(
            lambda: iter([(member.name, member.source()) for member in members]),
            members[0].source().registry,
            lambda source: source.image,
            lambda: fleet.coordinator_tables,
        )
    )
    by_spark = SparkTables(
        Session(spark),
        [Site(member.path, opened_by=member.path) for member in members],
        ReadSettings(),
        {member.path: member.name for member in members},
        nodes=[NodePlaces(path=member.path) for member in members],
        more=lambda: fleet.coordinator_tables,
    )
    for statement in (
        "select * from offsets order by cluster, `group`, topic, partition",
        "select o.cluster, o.topic, t.partitions, count(*) as n from offsets o join topics t "
        "on o.topic = t.topic and o.cluster = t.cluster group by 1, 2, 3 order by 1, 2",
    ):
        there, found = (
            local.run(in_duckdb(statement), never),
            by_spark.run(statement, never),
        )
        wanted = cells(there)
        assert wanted
        assert wanted == cells(found)
        assert (there.unread.faults, there.unread.remarks) == (
            found.unread.faults,
            found.unread.remarks,
        )
        assert "CRC mismatch" in str(found.unread.faults)
        assert "here: 2 of 4" in str(found.unread.remarks)
    by_spark.run("create temp view of_g as select * from offsets where topic = 'orders'", never)
    assert "CRC mismatch" in str(by_spark.run("select * from of_g", never).unread.faults)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("select nosuch from topics", "line 1, column 8: "),
        ("select 1 +", "line 1, column 11: Syntax error at or near end of input"),
        ("select * from nowhere", "nowhere"),
        ("insert into topics select 1", "INSERT is not possible here"),
        ("from topics insert overwrite directory '{dir}' select *", "INSERT is not possible here"),
        ("create table t as select 1", "CREATE is not possible here"),
        ("create temporary view t using csv options (path '{here}')", "is not possible here"),
        ("set spark.sql.runSQLOnFiles = true", "SET is not possible here"),
        ("select * from csv.`{here}`", "csv"),
        ("select transform(topic) using 'cat' from topics", "TRANSFORM is not possible here"),
        ("select reflect('java.lang.System', 'getenv')", "REFLECT is not possible here"),
        ("add jar '{here}'", "ADD is not possible here"),
    ],
)
def test_slips_are_one_sentence_and_nothing_is_reached(
    tables: Callable[..., SparkTables], tmp_path: Path, statement: str, message: str
) -> None:
    """The session goes on."""
    here = tmp_path / "here.csv"
    here.write_text("a\n")
    made = tables(fixture("real-40-static").input)
    with pytest.raises(UsageError) as error:
        made.run(statement.format(here=here, dir=tmp_path / "out"), never)
    assert message in error.value.message
    assert "\n" not in error.value.message
    assert [here] == list(tmp_path.iterdir())
    assert [{"a": 1}] == cells(made.run("select 1 as a", never))


@pytest.mark.slow
def test_what_could_not_be_read_is_told(tables: Callable[..., SparkTables], tmp_path: Path) -> None:
    """Rows of what is there, and in the local engine's words what is not, of each cluster."""
    old = "00000000000000000862.log"
    for name in ("a", "b"):
        directory = copy_of("real-44-live", tmp_path / name) / "__cluster_metadata-0"
        if name == "a":
            (directory / old).unlink()
            os.mkfifo(directory / old)
    places = [tmp_path / name / "real-44-live" / "__cluster_metadata-0" for name in "ab"]
    sound, torn = tables(places[1]), tables(places[0])
    source = metashell.open(places[0])
    local = Database(ClusterCatalog(source, lambda: source.image))
    for statement in (
        "select count(*) as n from records",
        "select count(*) as n from TopicRecord",
        "select count(*) as n from files",
    ):
        there = local.run(statement, never)
        wanted = cells(there)
        found = torn.run(statement, never)
        assert (wanted, list(there.unread.faults)) == (cells(found), list(found.unread.faults))
        assert wanted
        assert not found.unread.is_none
        assert sound.run(statement, never).unread.is_none
    fleet = tables(*places, clusters={str(place): place.parts[-3] for place in places})
    told = fleet.run("select count(*) as n from files", never).unread.news
    assert [f"a: {old}, offset 862: it can't be read: not a regular file"] == told


def test_directories_that_can_not_be_read_are_told(
    tables: Callable[..., SparkTables], tmp_path: Path
) -> None:
    """A table of the image has the others' rows."""
    good = copy_of("real-44-live", tmp_path / "a") / "__cluster_metadata-0"
    bad = copy_of("real-44-live", tmp_path / "b") / "__cluster_metadata-0"
    (bad / "00000000000000003389.log").unlink()
    os.mkfifo(bad / "00000000000000003389.log")
    made = tables(good, bad, clusters={str(good): "a", str(bad): "b"})
    failed: list[tuple[str, str]] = []
    made.failed = lambda name, reason: failed.append((name, reason))
    for _ in range(2):
        rows = cells(made.run("select distinct cluster from topics", never))
        assert [{"cluster": "a"}] == rows
    assert [("b", f"{bad}/00000000000000003389.log: not a regular file")] * 2 == failed


@pytest.mark.usefixtures("tables")
def test_logs_without_a_metadata_log_on_both_engines(spark: SparkSession) -> None:
    """A broker's directory, a partition's: rows, remarks and errors are those of this process."""
    for name in ("node-44/broker102/d2", "node-44/broker102/d2/__consumer_offsets-1"):
        source = opened(fixture_dir(name))
        assert isinstance(source, SourceWithoutImage)
        image, every = partial(getattr, source, "image"), CoordinatorTables(())
        local = Database(ClusterCatalog(source, image, partial(_of, every)))
        delegated = DelegatedLogs(Session(spark), source, str(fixture_dir(name)))
        by_spark = delegated.statements("/")
        for statement in (
            "select `group`, topic, partition, `offset`, lag from offsets order by 1, 2, 3",
            "select count(*) as n from OffsetCommit",
        ):
            wanted, found = local.run(in_duckdb(statement), never), by_spark.run(statement, never)
            assert cells(wanted) == cells(found) != []
            assert list(wanted.unread.remarks) == list(found.unread.remarks)
        for statement in ("select * from topics", "select * from records", "select * from faults"):
            for engine in (local, by_spark):
                with pytest.raises(SourceError, match=re.escape(source.no_image.message)):
                    cells(engine.run(statement, never))
        columns = by_spark.run("describe topics", never)
        assert "topic_id" == cells(columns)[0]["col_name"]
        is_node = "producers" in local_tables(source)
        for engine in (local, by_spark):
            if is_node:
                assert cells(engine.run("select count(*) as n from producers", never))
                continue
            with pytest.raises(UsageError, match="there is no table producers here"):
                engine.run("select * from producers", never)


def _of(tables: CoordinatorTables) -> CoordinatorTables:
    return tables


def local_tables(source: SourceWithoutImage) -> tuple[str, ...]:
    """Tables of coordinators' logs that a source has."""
    assert source.coordinator_tables is not None
    return source.coordinator_tables.states


@pytest.mark.usefixtures("tables")
def test_a_fleet_of_brokers_without_a_metadata_log(spark: SparkSession, tmp_path: Path) -> None:
    """Each one's rows; tables of the image say that there is no metadata log."""
    paths = [copy_of(f"node-44/broker{n}/d2", tmp_path / f"b{n}") for n in (101, 102)]
    fleet = open_fleet([str(path) for path in paths])
    members = list(fleet.members.values())
    local = Database(
        FleetCatalog(
            lambda: iter([(member.name, member.source()) for member in members]),
            load_registry(()),
            lambda source: source.image,
            lambda: fleet.coordinator_tables,
        )
    )
    by_spark = SparkTables(
        Session(spark),
        [Site(member.path, opened_by=member.path) for member in members],
        ReadSettings(),
        {member.path: member.name for member in members},
        nodes=[NodePlaces(path=member.path) for member in members],
        more=lambda: fleet.coordinator_tables,
    )
    failed: list[str] = []
    warned: list[str] = []
    by_spark.failed = lambda name, reason: failed.append(reason)
    by_spark.warned = lambda name, warning: warned.append(warning)
    for statement in (
        "select cluster, count(*) as n from offsets group by cluster order by cluster",
        "select * from topics",
        "select count(*) as n from TopicRecord",
    ):
        wanted, found = local.run(statement, never), by_spark.run(statement, never)
        assert cells(wanted) == cells(found)
        assert list(wanted.unread.remarks) == list(found.unread.remarks)
        assert sorted(wanted.unread.news) == sorted(found.unread.news)
    assert failed == []
    known = [warning for member in members for warning in member.source().warnings]
    assert {text for text in known if "no metadata log there" in text} == set(warned)
