"""DuckDB over the tables: what it may do, what it says, and how it is ended."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.errors import MetashellError, SourceError, UsageError
from metashell.sources.source import Source
from metashell.sql.catalog import ClusterCatalog
from metashell.sql.dataset import RowBatches
from metashell.sql.duck import Database
from support.fixtures import SAMPLE, fixture
from support.statements import ENDLESS


def database(source: Source | None = None) -> Database:
    """A database over a source, the sample at first."""
    opened = source or metashell.open(SAMPLE)
    return Database(ClusterCatalog(opened, lambda: opened.image))


def rows(db: Database, statement: str) -> list[dict[str, Any]]:
    """What a statement gives."""
    found = db.run(statement, lambda: False)
    return [row for batch in found.batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "statement",
    [
        "copy topics to '{file}'",
        "copy (select 1) to '{file}' (format parquet)",
        "export database '{dir}'",
        "import database '{dir}'",
        "attach '{file}'",
        "attach ':memory:' as other",
        "install httpfs",
        "load httpfs",
        "pragma version",
        "pragma enable_profiling",
        "pragma profiling_output='{file}'",
        "set threads = 1",
        "set enable_external_access = true",
        "reset lock_configuration",
        "use memory",
        "call enable_logging()",
        "checkpoint",
        "vacuum",
        "create secret s (type http)",
        "create persistent secret s (type http)",
        "create or replace persistent secret s (type http)",
        "select * from '{here}'",
        "select * from read_csv('{here}')",
        "select * from read_text('{here}')",
        "select * from read_blob('{here}')",
        "select * from read_json('{here}')",
        "select * from read_parquet('https://example.com/a.parquet')",
        "select * from glob('/*')",
        "select * from sniff_csv('{here}')",
        "explain analyze copy topics to '{file}'",
        "create temp table t as from read_csv('{here}')",
    ],
)
def test_statements_reach_nothing_outside(statement: str, tmp_path: Path) -> None:
    """No file, network, extension or setting; and nothing is left behind."""
    here = tmp_path / "here.csv"
    here.write_text("a\n1\n")
    text = statement.format(file=tmp_path / "made", dir=tmp_path / "directory", here=here)
    with pytest.raises(UsageError) as error:
        rows(database(), text)
    assert "\n" not in error.value.message
    assert [here] == list(tmp_path.iterdir())


def test_variables_of_the_program_are_no_tables() -> None:
    """Python's own are hidden from statements."""
    import pyarrow as pa

    mine = pa.table({"a": [1]})
    with pytest.raises(UsageError, match="there is no table mine"):
        rows(database(), "select * from mine")
    assert 1 == len(mine)


@pytest.mark.parametrize(
    ("statement", "message", "hint"),
    [
        ("select 1 +", 'line 1, column 10: syntax error at or near "+"', None),
        (
            "select\n  'x'::int",
            "line 2, column 6: Could not convert string 'x' to INT32",
            None,
        ),
        ("select * from Partitons", "there is no table Partitons", "did you mean partitions?"),
        ("from nosuchthing", "there is no table nosuchthing", "`sql .tables` lists them"),
        (
            "select ledaer from partitions",
            'Referenced column "ledaer" not found in FROM clause',
            "did you mean one of",
        ),
        ("select cuont(*) from topics", "Scalar Function with name cuont does not exist", "mean"),
    ],
)
def test_errors_are_one_sentence(statement: str, message: str, hint: str | None) -> None:
    """With the place, and what may have been meant."""
    with pytest.raises(MetashellError) as error:
        rows(database(), statement)
    assert message in error.value.message
    assert (hint or "") in (error.value.hint or "")


def test_what_a_session_makes_stays_while_tables_follow(tmp_path: Path) -> None:
    """A view sees the new source's table; a table keeps what it was made of."""
    first = metashell.open(SAMPLE)
    second = metashell.open(fixture("real-40-static").input)
    db = database(first)
    rows(db, "create temp view names as select topic from topics")
    rows(db, "create temp table copied as from topics")
    assert len(first.table("topics")) == len(rows(db, "from names"))
    db.use(ClusterCatalog(second, lambda: second.image))
    # The view's own text names the table, the statement does not.
    rows(db, "select 1 from topics")
    assert len(second.table("topics")) == len(rows(db, "from names"))
    assert len(first.table("topics")) == len(rows(db, "from copied"))


def test_a_dropped_table_comes_back() -> None:
    """The next statement that names it has it."""
    db = database()
    rows(db, "drop view topics")
    assert 59 == rows(db, "select count(*) as n from topics")[0]["n"]


def test_lists_of_tables_have_all_of_the_image() -> None:
    """Also those that no statement named yet."""
    found = {row["name"] for row in rows(database(), "show tables")}
    assert {*metashell.open(SAMPLE).tables, "records", "files", "faults"} == found


def test_only_columns_that_are_asked_for_are_made() -> None:
    """Of the tables named, with those of conditions."""
    asked: list[tuple[str, tuple[str, ...]]] = []

    class Noting(ClusterCatalog):
        def read(self, name: str, columns: Sequence[str], poll: Any, unread: Any) -> RowBatches:
            asked.append((name, tuple(columns)))
            return super().read(name, columns, poll, unread)

    source = metashell.open(SAMPLE)
    db = Database(Noting(source, lambda: source.image))
    rows(db, "select topic from partitions where leader = -1 and partition < 2 -- brokers")
    assert [("partitions", ("topic", "partition", "leader"))] == asked


def test_a_source_that_fails_says_why() -> None:
    """Its own error, not DuckDB's quotation of it."""

    class Failing(ClusterCatalog):
        def read(self, name: str, columns: Sequence[str], poll: Any, unread: Any) -> RowBatches:
            raise SourceError("the disk is gone")

    source = metashell.open(SAMPLE)
    with pytest.raises(SourceError, match=r"^the disk is gone$"):
        rows(Database(Failing(source, lambda: source.image)), "from topics")


def test_a_statement_is_ended_and_the_session_goes_on() -> None:
    """The front end's wish is heard while it runs."""
    db = database()
    stop = threading.Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        db.run(ENDLESS, stop.is_set)
    assert [{"n": 1}] == rows(db, "select 1 as n")


def test_reading_of_rows_is_ended_too() -> None:
    """They come as they are asked for, so the first are there before the last are made."""
    db = database()
    found = db.run("select * from range(100000000000000)", lambda: False)
    assert 0 == next(found.batches).column(0)[0].as_py()
    found.batches.close()  # type: ignore[attr-defined]
    assert [{"n": 1}] == rows(db, "select 1 as n")


@pytest.mark.parametrize("n_read", [0, 1])
def test_a_statement_ends_the_one_before(n_read: int) -> None:
    """Its rows that nobody read are dropped."""
    db = database()
    before = db.run("select * from range(100000000000000)", lambda: False)
    for _ in range(n_read):
        next(before.batches)
    assert [{"n": 1}] == rows(db, "select 1 as n")
    with pytest.raises(MetashellError):
        next(before.batches)


def test_memory_is_bounded() -> None:
    """What does not fit is an error, and nothing is written to a disk."""
    db = database()
    setting = "select current_setting('temp_directory') as d, current_setting('threads') as n"
    assert "" == rows(db, setting)[0]["d"]
    with pytest.raises(MetashellError, match=r"(?i)out of range|memory|maximum"):
        rows(db, "select length(repeat('a', 100000000000))")
