"""Both engines on directories that are hard to read: the same tables, outputs and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest

import metashell as local
from metashell.errors import SourceError
from metashell.log.unread import Unread, UnreadReport
from metashell.sql.tables import (
    FAULTS,
    RECORDS,
    TOPIC,
    image_names,
    read_table,
    table_info,
    with_sql_times,
)
from spark.conftest import Metashell, missing
from support.damaged import DAMAGED, damaged
from support.kraft import as_spark, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

SPARK = ("--engine", "spark", "--master", "local[2]", "--no-cache")
LOCAL = ("--engine", "local")

DIFFERENCES: Final[Mapping[str, str]] = {
    "faults-of-every-file": "The data source reads each file, this process those that it replays.",
    "topic-of-a-record": "A task reads one file, and another one may name the topic.",
    "unreadable-file": "A query over a fleet does not end because of one file of a member.",
}
"""Deliberate ones, as docs/design/differences.md has them."""

MESSAGES: Final = (
    *("AccessControlEntryRecord", "ConfigRecord", "FeatureLevelRecord", "PartitionRecord"),
    *("RegisterBrokerRecord", "TopicRecord", "UserScramCredentialRecord"),
    *("SnapshotHeaderRecord", "VotersRecord"),
)
"""Those of which most directories have some, and one of each form."""
TABLES: Final = (*image_names(), *MESSAGES)
SEARCH: Final = ("find", "/")
"""What executors answer; the other lines have the image brought here first."""
LINES: Final = (
    "find /nowhere /quorum -name '*1*' -count",
    "grep -c . /image /log /quorum /bootstrap",
    "ls -lR /image /quorum",
    "cat /image/provenance /log/faults",
    "stat /image/topics /quorum/voters /quorum/epochs",
    "check",
    "checksum",
    "health -o json",
    "quorum -o json",
    "partitions -o json",
    "topics -o json",
    "nodes -o json",
    "config -o json",
    "can-upgrade 4.4",
    "du",
    "stats",
    "log --offset 0-5",
    "changes /image --records 3",
    "diff 1 3",
    "export voters --format jsonl",
)
STATEMENTS: Final = (
    'sql -o jsonl "select * from records order by 1, 3"',
    'sql -o jsonl "select * from files order by 1"',
    'sql -o jsonl "select * from faults order by 3, 4, 2"',
    'sql -o jsonl "select * from partitions order by topic_id, partition"',
)
"""A directory takes every other one: `test_tables` has every table of each."""


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All of them, by their names."""
    parent = tmp_path_factory.mktemp("damaged")
    return {name: damaged(name, parent) for name in DAMAGED}


def local_rows(path: Path, table: str) -> list[str]:
    """A table as this process makes it, with the types of Spark."""
    source, unread = local.open(path), Unread()
    schema = table_info(source.registry, table).schema
    report = UnreadReport(unread)
    read = read_table(
        source, None, lambda: source.image, table, schema.names, lambda: None, unread.add, report
    )
    found = read if isinstance(read, pa.Table) else pa.Table.from_batches(list(read), schema)
    if table == RECORDS:  # topic-of-a-record
        found = found.drop_columns(TOPIC.name)
    return rows(as_spark(with_sql_times(found, unread.tell)))


@pytest.mark.cases(2)
@pytest.mark.parametrize("table", TABLES)
def test_tables(spark: SparkSession, directories: dict[str, Path], table: str) -> None:
    """Of all directories in one query, each has the rows that this process makes of it."""
    from metashell.spark_backend import KRaftDataSource

    spark.dataSource.register(KRaftDataSource)
    reader = spark.read.format("kraft").option("table", table)
    every = reader.load([str(path) for path in directories.values()]).toArrow()
    for name, path in directories.items():
        of_it = every.filter(pa.compute.equal(every["directory"], str(path)))
        found = rows(of_it)
        try:
            wanted = local_rows(path, table)
        except SourceError:
            assert name == "no-file"  # unreadable-file
            continue
        if table == FAULTS:  # faults-of-every-file
            assert not Counter(wanted) - Counter(found), name
        else:
            assert wanted == found, name


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", DAMAGED)
def test_commands(metashell: Metashell, directories: dict[str, Path], name: str) -> None:
    """Standard output, status and the set of warnings of commands, statements and a search."""
    some = STATEMENTS[list(DAMAGED).index(name) % 2 :: 2]
    lines = ([word for line in group for word in ("-c", line)] for group in (LINES, some))
    for words in (SEARCH, *(("--keep-going", *group) for group in lines)):
        status, out, err = metashell(*LOCAL, "-d", str(directories[name]), *words)
        found = metashell(*SPARK, "-d", str(directories[name]), *words)
        assert (status, out) == found[:2]
        assert set(err.splitlines()) == set(found[2].splitlines())


def test_differences_are_documented() -> None:
    """Each has its name in the list of differences."""
    page = Path(__file__).parents[2] / "docs" / "design" / "differences.md"
    text = page.read_text(encoding="utf-8")
    assert [] == [name for name in DIFFERENCES if f"`{name}`" not in text]
