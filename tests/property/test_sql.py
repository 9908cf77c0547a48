"""SQL against Arrow and Python: the same rows, whatever columns and conditions."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metashell
from metashell.log.unread import Unread, UnreadReport
from metashell.sources.source import Source
from metashell.sql.catalog import ClusterCatalog
from metashell.sql.duck import Database
from metashell.sql.tables import read_table
from support.fixtures import differing_directories, fixture
from support.shell import run_on

DIRECTORIES = differing_directories()


@cache
def opened(name: str) -> tuple[Source, Database]:
    """A fixture, and a database over it."""
    source = metashell.open(fixture(name).input)
    return source, Database(ClusterCatalog(source, lambda: source.image))


def rows(db: Database, statement: str) -> list[dict[str, Any]]:
    """What a statement gives."""
    found = db.run(statement, lambda: False)
    return [row for batch in found.batches for row in batch.to_pylist()]


def plain(value: Any) -> Any:
    """Times as numbers, DuckDB has them in µs; and what is no number, as it equals itself."""
    if isinstance(value, float) and isnan(value):
        return "nan"
    return value.timestamp() if hasattr(value, "timestamp") else value


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_every_table_is_as_arrow_has_it(name: str) -> None:
    """All rows and columns, of the image and of each record type."""
    source, db = opened(name)
    for table in source.tables:
        wanted = source.table(table).to_pylist()
        found = rows(db, f"select * from {table}")
        assert len(wanted) == len(found)
        for mine, theirs in zip(wanted, found, strict=True):
            # The voters of an old quorum are ids alone.
            assert {k: plain(v) for k, v in mine.items()} == {k: plain(theirs[k]) for k in mine}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_records_are_those_of_their_types(name: str) -> None:
    """What the table of all has of a type is what the type's own table has, where it decodes."""
    source, db = opened(name)
    by_type = Counter(row["type"] for row in rows(db, "select type from records"))
    assert sum(by_type.values()) == rows(db, "select sum(records)::int as n from files")[0]["n"]
    for spec in source.registry.by_name.values():
        mine = rows(db, f'select file, "offset" from {spec.name}')
        assert len(mine) == len({(row["file"], row["offset"]) for row in mine})
    of_partitions = rows(db, 'select "offset" from PartitionRecord')
    assert len(of_partitions) <= by_type["PARTITION_RECORD"]


@st.composite
def selections(draw: st.DrawFn) -> tuple[str, str, list[str], str, str, int]:
    """A fixture, a table, columns, and a condition on a number."""
    name = draw(st.sampled_from(DIRECTORIES))
    table = draw(st.sampled_from(["partitions", "topics", "brokers", "configs", "features"]))
    schema = opened(name)[0].table(table).schema
    columns = draw(st.lists(st.sampled_from(schema.names), min_size=1, unique=True))
    numbers = [f.name for f in schema if str(f.type).startswith(("int", "uint"))]
    condition = draw(st.sampled_from(numbers))
    operator = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    return name, table, columns, condition, operator, draw(st.integers(-2, 4000))


_HOLDS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@given(selections())
def test_conditions_leave_the_rows_that_python_leaves(
    asked: tuple[str, str, list[str], str, str, int],
) -> None:
    """Columns that only a condition needs are made as well; null passes none."""
    name, table, columns, condition, operator, bound = asked
    source, db = opened(name)
    wanted = [
        {column: plain(row[column]) for column in columns}
        for row in source.table(table).to_pylist()
        if row[condition] is not None and _HOLDS[operator](row[condition], bound)
    ]
    shown = ", ".join(f'"{column}"' for column in columns)
    found = rows(db, f'select {shown} from {table} where "{condition}" {operator} {bound}')
    assert wanted == [{column: plain(row[column]) for column in columns} for row in found]


@given(st.sampled_from(DIRECTORIES), st.data())
def test_some_columns_are_those_of_the_whole(name: str, data: st.DataObject) -> None:
    """Whichever, in any order."""
    source, _ = opened(name)
    table = data.draw(st.sampled_from(source.tables))
    whole = source.table(table)
    columns = data.draw(st.lists(st.sampled_from(whole.column_names), min_size=1, unique=True))
    unread = Unread()
    found = read_table(
        source,
        None,
        lambda: source.image,
        table,
        columns,
        lambda: None,
        unread.add,
        UnreadReport(unread),
    )
    assert whole.select(columns).schema == found.schema
    # As text, in which NaN is what it is.
    assert str(whole.select(columns).to_pylist()) == str(found.to_pylist())
    assert unread.is_none


@pytest.mark.parametrize("name", DIRECTORIES)
def test_leaders_are_counted_as_python_counts(name: str) -> None:
    """A join over a list, and groups."""
    source, db = opened(name)
    partitions = source.table("partitions").to_pylist()
    brokers = {row["broker"] for row in source.table("brokers").to_pylist()}
    held = Counter(r for p in partitions for r in p["replicas"] if r in brokers)
    led = Counter(p["leader"] for p in partitions)
    found = rows(
        db,
        "select broker, count(*) as holds, count_if(leader = broker) as leads "
        "from brokers join partitions on list_contains(replicas, broker) group by all",
    )
    assert {b: (held[b], led[b]) for b in held} == {
        row["broker"]: (row["holds"], row["leads"]) for row in found
    }


@pytest.mark.parametrize("name", DIRECTORIES)
def test_records_have_the_topics_that_the_log_tells(name: str) -> None:
    """The column `topic` of each record is what `log` says of it."""
    source, db = opened(name)
    found = rows(db, "select file, topic from records where file like '%.log'")
    ran = run_on(source, "log --all -o jsonl --columns topic")
    assert [row["topic"] for row in found] == [
        json.loads(line)["topic"] for line in ran.out.splitlines()
    ]
