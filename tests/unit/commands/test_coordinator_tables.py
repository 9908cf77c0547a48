"""Tables of coordinators' logs: in SQL, as files, and in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metashell
from metashell.commands import groups, members, share
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.commands.offsets import command as offsets
from metashell.commands.producers import command as producers
from metashell.commands.replicas import command as replicas
from metashell.commands.transactions import command as transactions
from metashell.parts.known import coordinator_parts
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import DEMO, copy_of, fixture_dir
from support.shell import Captured, Ran, run_on

ONE = "node-44/broker102/d1"
HERE = "partitions of __consumer_offsets here: 2 of 4"
COLUMNS = {
    "groups": groups.COLUMNS,
    "members": members.COLUMNS,
    "offsets": offsets.COLUMNS,
    "producers": producers.COLUMNS,
    "replicas": replicas.COLUMNS,
    "share_partitions": share.COLUMNS,
    "transactions": transactions.COLUMNS,
}


@pytest.fixture(scope="module")
def node() -> Source:
    """One log directory of a broker, with the metadata log."""
    return metashell.open(fixture_dir(ONE))


def lines(ran: Ran) -> list[dict[str, Any]]:
    """JSON lines of rows that are complete."""
    assert 0 == ran.status, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def sql(source: Any, statement: str) -> list[dict[str, Any]]:
    """The rows of a statement."""
    return lines(run_on(source, f"sql -o jsonl '{statement}'"))


@pytest.mark.parametrize("table", coordinator_parts())
def test_a_table_is_its_command(node: Source, table: str) -> None:
    """The rows of SQL, of a file and of Python are those of the command, with its columns."""
    assert [column.name for column in COLUMNS[table]] == node.table(table).schema.names
    command = {"share_partitions": "share", "offsets": "offsets --lag"}.get(table, table)
    wanted = lines(run_on(node, f"{command} -o jsonl"))
    assert wanted
    by = [json.dumps(row, sort_keys=True) for row in wanted]
    for got in (sql(node, f"select * from {table}"), lines(run_on(node, f"export {table}"))):
        assert sorted(by) == sorted(json.dumps(row, sort_keys=True) for row in got)
    order = [(name, "ascending") for name in coordinator_parts()[table].rows_by]
    rows = node.table(table)
    assert len(wanted) == rows.num_rows
    assert rows.equals(rows.sort_by(order))


def test_tables_join_the_image(node: Source) -> None:
    """Offsets with topics, of one pass each; how many partitions are here is said once."""
    ran = run_on(
        node,
        "sql -o jsonl 'select topic, partitions, count(*) n from offsets join topics using (topic)"
        ' join "groups" using ("group") group by all order by all\'',
    )
    assert (f"sql: {HERE}",) == ran.err
    assert [
        {"topic": "clicks", "partitions": 4, "n": 9},
        {"topic": "orders", "partitions": 6, "n": 17},
        {"topic": "payments", "partitions": 3, "n": 1},
    ] == lines(ran)


def test_columns_that_need_other_logs_are_made_when_asked_for(tmp_path: Path) -> None:
    """A topic's log that can't be read concerns who asks for lag alone."""
    node = copy_of(ONE, tmp_path)
    for segment in (node / "clicks-0").glob("*.log"):
        segment.write_bytes(b"\xff" * 100)
    source = metashell.open(node)
    ran = run_on(source, "sql 'select count(*) as n from offsets' -o jsonl")
    assert (0, (f"sql: {HERE}",)) == (ran.status, ran.err)
    ran = run_on(source, "sql 'select max(lag) as lag from offsets' -o jsonl")
    assert "partitions whose logs are not here" not in ran.out


def test_a_query_about_topics_reads_no_coordinators_log(
    node: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the list of tables, or that of columns."""

    def refuse(*_: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("metashell.sources.coordinator_logs.read_partition", refuse)
    assert [{"n": 17}] == sql(node, "select count(*) as n from topics")
    assert "offsets" in [row["table"] for row in lines(run_on(node, "sql -o jsonl .tables"))]
    assert run_on(node, "sql .schema offsets").out


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    """A partition that can't be read, and damage in one: status 1, whoever asks."""
    node = copy_of(ONE, tmp_path)
    for segment in (node / "__consumer_offsets-2").glob("*.log"):
        segment.unlink()
    segment = min((node / "__consumer_offsets-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    source = metashell.open(node)
    for command in ("sql 'select * from offsets'", "sql 'select * from OffsetCommit'"):
        ran = run_on(source, command)
        told = "\n".join(ran.err)
        assert 1 == ran.status
        assert "__consumer_offsets-2" in told
        assert "__consumer_offsets-0: " in told
    ran = run_on(source, "export offsets --format csv")
    assert 1 == ran.status
    assert "export: __consumer_offsets-0: " in "\n".join(ran.err)
    source.table("groups")
    assert "__consumer_offsets-2" in "\n".join(source.warnings)


def test_records_by_type(node: Source) -> None:
    """Key and value as columns behind where a record is; a tombstone's value is null."""
    rows = sql(
        node,
        'select coordinator_partition as p, "offset", record_offset, metadata, is_tombstone,'
        ' transaction_producer_id as producer from OffsetCommit where "group" = $$c-offdel$$'
        " order by all",
    )
    assert [0, 1, 2, 3, 8, 9] == [row["offset"] for row in rows]
    assert [1, 1, 2, 3, None, None] == [row["record_offset"] for row in rows]
    assert ["", "", "", "three", None, None] == [row["metadata"] for row in rows]
    assert [False] * 4 + [True] * 2 == [row["is_tombstone"] for row in rows]
    assert {2} == {row["p"] for row in rows}
    table = node.records("OffsetCommit")
    assert 42 == table.num_rows == sql(node, "select count(*) as n from offsetcommit")[0]["n"]
    assert {2, 0} == set(table["coordinator_partition"].to_pylist())
    assert 0 < table.num_rows - table["transaction_producer_id"].null_count
    with pytest.raises(KeyError):
        node.records("NoSuchRecord")


@pytest.mark.long
def test_every_type_has_its_table(node: Source) -> None:
    """Each with the columns that it is listed with."""
    tables = node.coordinator_tables
    assert tables is not None
    for log in CoordinatorLog:
        for name in load_record_types(log).by_name:
            table = node.records(name)
            assert tables.schema(name) == table.schema
            assert len(set(table.schema.names)) == len(table.schema.names)


@pytest.mark.long
def test_files_of_tables(node: Source, tmp_path: Path) -> None:
    """One each, types kept; the remark about partitions comes once."""
    ran = run_on(node, f"export offsets groups --to {tmp_path}/out/")
    assert (0, (f"export: {HERE}",)) == (ran.status, ran.err)
    table = pq.read_table(tmp_path / "out" / "offsets.parquet")
    assert pa.timestamp("ms", tz="UTC") == table.schema.field("committed_time").type
    assert 27 == table.num_rows
    ran = run_on(node, f"export --all --to {tmp_path}/all/")
    assert {f"{name}.parquet" for name in node.tables} == {
        path.name for path in (tmp_path / "all").iterdir()
    }


def test_without_such_logs_tables_stay_as_they_are() -> None:
    """The name of such a table is answered with what it needs."""
    demo = metashell.open(DEMO)
    assert "offsets" not in demo.tables
    assert "offsets" not in run_on(demo, "sql .tables").out
    for command in ("sql 'select * from offsets'", "sql .schema OffsetCommit", "export producers"):
        ran = run_on(demo, command)
        assert 2 == ran.status
        assert "it is made of a broker's logs" in "\n".join(ran.err)
    assert "there is no table offsetz" in "\n".join(run_on(demo, "sql 'from offsetz'").err)


def test_without_a_metadata_log(tmp_path: Path) -> None:
    """The tables of the logs are there, and the others say what is missing."""
    source = metashell.open(fixture_dir("node-44/broker102/d2"))
    assert set(coordinator_parts()) == set(source.tables)
    listed = [row["table"] for row in lines(run_on(source, "sql -o jsonl .tables"))]
    assert "offsets" in listed
    assert "topics" not in listed
    ran = run_on(source, "sql 'select count(*) as n from groups' -o jsonl")
    assert "here: 2; how many there are is not known" in "\n".join(ran.err)
    for table in ("topics", "records", "TopicRecord"):
        ran = run_on(source, f"sql 'select * from {table}'")
        assert 3 == ran.status
        assert "needs a metadata log" in "\n".join(ran.err)


def test_a_fleet_has_the_rows_of_all() -> None:
    """With the cluster in front; a member without such logs has none."""
    names = [f"broker{n}/d1" for n in (101, 102)]
    fleet = open_fleet([str(fixture_dir(f"node-44/{name}")) for name in (*names, "controller1")])
    assert "offsets" in run_on(fleet, "sql .tables").out
    ran = run_on(
        fleet, "sql -o csv 'select cluster, count(*) as n from offsets group by all order by all'"
    )
    assert 0 == ran.status
    rows = [line.split(",") for line in ran.out.splitlines()[1:]]
    assert 2 == len(rows)
    assert ["27"] == [n for name, n in rows if "102" in name]
    assert all(HERE in line for line in ran.err)
    controllers = open_fleet([str(fixture_dir("node-44/controller1")), str(DEMO)])
    assert "offsets" not in run_on(controllers, "sql .tables").out


def test_names_and_columns_are_completed(node: Source) -> None:
    """Behind `from`, and the columns of a table that is named."""
    context = Context(node.root, Captured(), lambda _: None, source=node)
    assert "offsets" in [one.text for one in complete_line(context, "sql from off")]
    assert "committed_time" in [
        one.text for one in complete_line(context, "sql 'from offsets select com")
    ]
    assert "offsets" in [one.text for one in complete_line(context, "export off")]
