"""Tables as a person sees them: what fits, and the sentences about them.

The lines of the groups ``drawn`` and ``widths`` in tests/approved draw whole tables.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import metashell
from kraftgen.files import checkpoint_bytes, checkpoint_name
from metashell.commands import all_names, get
from metashell.commands.framework.command import Context
from metashell.commands.rows.columns import Column, Shrink
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.drawn_table import Table, write_table
from metashell.commands.shared.columns import display_width
from metashell.sources.source import Source
from support.approved_lines import LINES
from support.fixtures import DEMO, fixture
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster, config
from support.terminals import Drawable, see

SGR = re.compile(r"\x1b\[[0-9;]*m")
TOPIC_ID = (1).to_bytes(16, "big")


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(scope="module")
def demo() -> Source:
    """The bundled directory."""
    return metashell.open(DEMO)


# Columns.


@pytest.mark.parametrize("width", range(40, 200, 7))
def test_no_time_and_no_number_is_ever_cut(width: int, demo: Source) -> None:
    """They are whole, or their column is not there."""
    lines = SGR.sub("", see(demo, "partitions", width).text).splitlines()
    header, rows = lines[0], lines[1:-1]
    if "SINCE_TIME" in header:
        assert all(re.search(r"( |\d\d:\d\d:\d\d|-)$", row) for row in rows)
    assert not [row for row in rows if re.search(r"\d…", row) and "REPLICAS" not in header]


def test_times_that_a_checkpoint_hides(tmp_path: Path) -> None:
    """It was at or before the checkpoint's time, for people; programs have a column of its own."""
    values = [
        broker(1, fenced=True),
        record("TopicRecord", name="t", topic_id=TOPIC_ID),
        record(
            "PartitionRecord", partition_id=0, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=-1
        ),
    ]
    path = tmp_path / checkpoint_name(10, 1)
    path.write_bytes(checkpoint_bytes(values))
    with metashell.open_file(path) as source:
        told = "at or before 2026-09-21T14:13:20.000Z"
        assert told in run_on(source, "partitions --offline").out
        assert "at or before 14:13:20" in see(source, "partitions --offline", 200).text
        health = " ".join(run_on(source, "health -v").out.split())
        assert "critical 1 partition of t is offline since at or before 14:13:20; " in health
        assert "broker 1 is fenced since at or before 14:13:20 " in health
        assert 2 <= health.count(told)
        assert "at or before" not in run_on(source, "partitions --offline -o json").out
        assert told not in run_on(source, "partitions --offline --columns topic").out


def test_sentences_are_wrapped(demo: Source) -> None:
    """Each word is there, at the place of its column."""
    out = Drawable(60)
    columns = {
        "id": Column("id", ""),
        "why": Column("why", "", shrink=Shrink.WRAP),
    }
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    table = pa.table({"id": [1, 2], "why": [words, "short"]})
    context = Context(demo.root, out, out.parts.append)
    write_table(context, Table.of(table, columns, short=True))
    expected = [
        "ID  WHY",
        " 1  one two three four five six seven eight nine ten eleven",
        "    twelve thirteen fourteen",
        " 2  short",
    ]
    assert expected == out.text.splitlines()


def drawn(
    demo: Source, table: pa.Table, *columns: Column, width: int, named: tuple[str, ...] = ()
) -> list[str]:
    """The lines of a table on a terminal."""
    out = Drawable(width)
    declared = {column.name: column for column in columns}
    context = Context(demo.root, out, out.parts.append)
    write_table(context, Table.of(table, declared, short=True, named=named))
    return out.text.splitlines()


def test_needed_columns_take_more_lines_before_they_go(demo: Source) -> None:
    """Headers and cells break behind signs; of two narrowings that with fewer lines is taken."""
    table = pa.table(
        {
            "resource_type": ["TOPIC", "TOPIC"],
            "key": ["min.insync.replicas", "retention.ms"],
            "value": ["2", "1"],
            "other": ["x" * 9, "y" * 9],
        }
    )
    columns = [Column(name, "", priority=8) for name in ("resource_type", "key", "value")]
    expected = [
        "RESOURCE_  KEY           VALUE",
        "TYPE",
        "TOPIC      min.insync.   2",
        "           replicas",
        "TOPIC      retention.ms  1",
        "… more columns (--columns, -o",
        "  json): other",
    ]
    assert expected == drawn(demo, table, *columns, Column("other", ""), width=30)
    assert "OTHER" in drawn(demo, table, *columns, Column("other", ""), width=70)[0]


def test_named_columns_come_on_pages_and_no_cell_of_them_is_cut(demo: Source) -> None:
    """Each page begins with the columns that identify a row."""
    table = pa.table({"id": [7], "a": [10**12], "b": [10**13], "c": [["x" * 12, "y" * 12]]})
    columns = [Column("id", "", priority=9), Column("a", ""), Column("b", ""), Column("c", "")]
    expected = [
        "ID              A",
        " 7  1000000000000",
        "",
        "ID               B",
        " 7  10000000000000",
        "",
        "ID  C",
        " 7  xxxxxxxxxxxx,",
        "    yyyyyyyyyyyy",
    ]
    assert expected == drawn(demo, table, *columns, width=24, named=("id", "a", "b", "c"))
    assert "more columns" in " ".join(drawn(demo, table, *columns, width=24))


@pytest.mark.parametrize("line", ["topics --columns all", "topics --sort=-history_records"])
def test_columns_that_the_user_named_are_all_there(line: str, demo: Source) -> None:
    """Whether they are to be shown or to be sorted by."""
    text = see(demo, line, 60).text
    assert "HISTORY_" in text
    if "all" in line:
        columns = run_on(demo, "topics -o csv").out.split("\n")[0].upper().split(",")
        # Without the disks of a broker nobody is shown their bytes.
        assert {*columns} - {*text.split()} == {"DISK_BYTES"}
        assert "more columns" not in text


def test_a_column_that_says_what_is_usual_is_not_there(demo: Source) -> None:
    """Unless one row says something else, or the user named it."""
    column = Column("known", "", usual=("yes",))
    rows = pa.table({"key": ["a", "b"], "known": [True, True]})
    assert ["KEY", "a", "b"] == drawn(demo, rows, Column("key", ""), column, width=200)
    named = drawn(demo, rows, Column("key", ""), column, width=200, named=("known",))
    assert "KEY  KNOWN" == named[0]
    rows = pa.table({"key": ["a", "b"], "known": [True, False]})
    assert "KEY  KNOWN" == drawn(demo, rows, Column("key", ""), column, width=200)[0]


def test_the_line_below_a_table_is_whole(demo: Source) -> None:
    """It takes more lines: the date and each name are there."""
    for width in range(40, 120, 9):
        seen = see(demo, "partitions --under-replicated", width, height=10)
        note = SGR.sub("", seen.text).split("…", 1)[1]
        note = " ".join(note.split())
        assert "-n 20 shows the first 20" in note
        if "SINCE_TIME" in seen.text:
            assert "times of 2026-11-22 UTC" in note
        left_out = note.partition("-o json): ")[2].split(", ")
        shown = run_on(demo, "partitions --under-replicated").out.split("\n")[0].lower().split()
        assert set(left_out) <= {*shown, ""}


def test_no_word_breaks(demo: Source) -> None:
    """Nor a path, in a column of sentences, while the terminal has room for it."""
    path = "/image/topics/byName/orders/0/leader"
    table = pa.table({"a": ["x" * 20], "why": [f"since 12:39 it waits, see {path} there"]})
    why = Column("why", "", shrink=Shrink.WRAP)
    words = " ".join(drawn(demo, table, Column("a", "", priority=1), why, width=60)).split()
    assert path in words


def offline_topic(*leaders: int) -> list[bytes]:
    """The records of a topic whose partitions have two replicas each, in an order of their own."""
    values = [broker(1, fenced=True), broker(2, fenced=True)]
    values.append(record("TopicRecord", name="t", topic_id=TOPIC_ID))
    return values + [
        record(
            "PartitionRecord",
            partition_id=i,
            topic_id=TOPIC_ID,
            replicas=[1, 2] if i % 2 else [2, 1],
            isr=[1, 2],
            leader=leader,
        )
        for i, leader in enumerate(leaders)
    ]


def test_runs_of_partitions_are_one_line() -> None:
    """Replicas give way where that halves the lines; -v, a pipe and a format have each row."""
    with cluster(*offline_topic(*[-1] * 6)) as source:
        lines = [line.split()[:3] for line in see(source, "partitions --offline").lines]
        assert lines[:2] == [["TOPIC", "PARTITION", "WHY"], ["t", "0-5", "waits"]]
        assert lines[2][0] == "…"
        assert 6 == see(source, "partitions --offline -v").text.count("waits")
        assert 6 == run_on(source, "partitions --offline").out.count("waits")
        assert "6\n" == run_on(source, "partitions --offline --count").out
        assert 6 == see(source, "partitions --offline -o csv").text.count("waits")
        assert 6 == see(source, "partitions").text.count("offline")


def test_a_run_has_a_gap(demo: Source) -> None:
    """Numbers that do not follow, and rows that differ, are lines of their own."""
    columns = [Column("topic", ""), Column("partition", "", runs=True), Column("why", "")]
    table = pa.table(
        {
            "topic": ["a", "a", "a", "a", "b", "b"],
            "partition": [0, 1, 3, 4, 5, 6],
            "why": ["x", "x", "x", "y", "y", "y"],
        }
    )
    rows = [line.split() for line in drawn(demo, table, *columns, width=80)[1:]]
    assert rows == [["a", "0-1", "x"], ["a", "3", "x"], ["a", "4", "y"], ["b", "5-6", "y"]]


@pytest.mark.parametrize(
    "line",
    [
        *("nodes", "brokers", "partitions --under-min-isr", "config retention.bytes topic:orders"),
        *("brokers --without 101,102", "users", "tokens", "topics", "quorum -o table"),
        *("quorum --epochs -o table", "stat -o table /image /local", "ls -o table /log"),
    ],
)
def test_a_dash_says_why(line: str, demo: Source) -> None:
    """Below the table, for -v on a terminal: what null means in each column that has one."""
    told = see(demo, f"{line} -v", 400).text.partition("\n- in ")[2]
    assert all("null" in one.casefold() for one in told.splitlines())
    assert told or " - " not in see(demo, f"{line} -v", 400).text
    assert "\n- in " not in see(demo, line, 400).text + run_on(demo, f"{line} -v").out


# Times.


def test_times_have_a_date_where_it_is_another_one() -> None:
    """Than that of the newest time shown, which is named below."""
    day = 86_400_000
    table = pa.table(
        {"at": pa.array([0, day - 1, None, day + 3_723_004], pa.timestamp("ms", tz="UTC"))}
    )
    drawn = Table.of(table, short=True)
    (column,) = drawn.columns
    expected = ["1970-01-01 00:00:00", "1970-01-01 23:59:59", "-", "01:02:03"]
    assert expected == column.texts.to_pylist()
    assert "1970-01-02" == drawn.day


@pytest.mark.parametrize("ms", [-1, 253_402_300_800_000, 2**62])
def test_times_of_no_usual_year_are_whole(ms: int) -> None:
    """However damaged they are."""
    drawn = Table.of(pa.table({"at": pa.array([0, ms], pa.timestamp("ms", tz="UTC"))}), short=True)
    assert drawn.day is None
    assert all("T" in text or text == "-" for text in drawn.columns[0].texts.to_pylist())


# Colours.


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_no_colour_where_none_is_wanted(
    name: str, demo: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR, a dumb terminal, and a pipe; the words are the same."""
    coloured = see(demo, "brokers").text
    monkeypatch.setenv(name, "dumb")
    plain = see(demo, "brokers").text
    assert "\x1b" not in plain
    assert SGR.sub("", coloured) == plain
    assert "\x1b" not in run_on(demo, "brokers").out


def test_hostile_names_never_steer_a_terminal() -> None:
    """Coloured tables escape them too, and so does a summary."""
    name = "\x1b]0;title\x07\u202egnp\x9b31m\n"
    values = [broker(1, fenced=True, rack=name)]
    values.append(record("TopicRecord", name=name, topic_id=TOPIC_ID))
    values += [
        record(
            "PartitionRecord", partition_id=i, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=-1
        )
        for i in range(3)
    ]
    with cluster(*values) as source:
        for line in ("partitions --offline", "brokers", "nodes", "topics", "quorum"):
            text = SGR.sub("", see(source, line, 120, height=3).text)
            assert not [c for c in text if c != "\n" and (c < " " or c in "\x07\x1b\x9b\u202e")]


# Some rows, none, many.


@pytest.mark.parametrize("options", ["-n 3", "-n3", "--limit 3", "--limit=3", "-3"])
def test_limit(options: str, demo: Source) -> None:
    """The first rows, in the order asked for."""
    for sort in ("", "--sort=-partition,topic "):
        every = run_on(demo, f"partitions {sort}-o csv").out.splitlines()
        assert every[:4] == run_on(demo, f"partitions {sort}{options} -o csv").out.splitlines()
        assert every[:4] == run_on(demo, f"partitions -o csv {options} {sort}").out.splitlines()
    assert "3\n" == run_on(demo, f"partitions {options} --count").out
    assert 5 == len(see(demo, f"partitions {options}", 100).lines)


WITH_ROWS = [c for c in map(get, all_names()) if isinstance(c, RowsCommand)]


@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda c: c.name)
def test_every_command_with_rows_has_a_limit(command: RowsCommand) -> None:
    """By its long name at least: -n is a line's number for grep."""
    flags = {flag for option in command.manual.options for flag in option.flags}
    assert "--limit" in flags
    assert "-n" in flags or command.name in ("find",)


def test_digits_that_are_options_stay_so(demo: Source) -> None:
    """``ls -1`` is one name a line."""
    assert len(run_on(demo, "ls -1 /image/topics/byName").out.splitlines()) > 20


def test_a_summary_leads_where_the_screen_is_too_small(demo: Source) -> None:
    """How many of what, since when, and why; it stands below the rows again."""
    lines = see(demo, "partitions --under-replicated", 200, height=10).lines
    lead = "13 partitions of 6 topics are under-replicated, since 12:39:49"
    assert f"{lead}; cause: broker 104 is fenced" == lines[0]
    assert lines[-1].startswith(f"… {lead}; cause: broker 104 is fenced; -n 20 shows the first 20")
    assert 13 + 4 == len(lines)


def test_no_summary_where_nobody_needs_it(demo: Source) -> None:
    """Rows that fit the screen, a pager, a pipe, a number of rows, another format."""
    line = "partitions --under-replicated"
    for seen in (
        see(demo, line, height=40),
        see(demo, line, height=10, has_pager=True),
        see(demo, f"{line} -n 12", height=10),
    ):
        assert seen.text.startswith("TOPIC")
    assert "partitions of" not in run_on(demo, line).out
    assert see(demo, f"{line} -o csv", height=10).text.startswith("topic,")


def test_a_summary_of_all_brokers() -> None:
    """Both of two brokers are fenced."""
    values = [broker(1, fenced=True), broker(2, fenced=True)]
    values.append(record("TopicRecord", name="t", topic_id=TOPIC_ID))
    values += [
        record(
            "PartitionRecord",
            partition_id=i,
            topic_id=TOPIC_ID,
            replicas=[1 + i % 2],
            isr=[1 + i % 2],
            leader=-1,
        )
        for i in range(30)
    ]
    with cluster(*values) as source:
        (lead, *_) = see(source, "partitions --offline", height=24).lines
    assert re.fullmatch(
        r"30 partitions of 1 topic are offline(, since [0-9 :.-]+)?; cause: "
        r"both brokers are fenced",
        lead,
    )


def test_long_lists_in_a_pipe() -> None:
    """They are cut in the table of `topics` alone, and a long value widens no row but its own."""
    value = ",".join(f"{i}:{i}" for i in range(600))
    key = "leader.replication.throttled.replicas"
    topics = [record("TopicRecord", name=name, topic_id=name.encode() * 16) for name in "tu"]
    values = (*topics, config(2, "t", key, value), config(2, "u", key, "0:1"))
    with cluster(broker(1), *values) as source:
        lines = run_on(source, "topics").out.splitlines()
        assert max(map(len, lines)) < 300
        assert ":" in lines[1]
        assert "…" in lines[1]
        whole = ["--columns configs", "-o wide", "-o csv", "-o json", "-o tsv", "-o yaml"]
        for options in whole:
            text = run_on(source, f"topics {options}").out
            assert value.replace(",", "") in re.sub(r"[,\s-]", "", text), options
        _, long, short = run_on(source, "config").out.splitlines()
    assert value in long
    assert len(short) < 300


@pytest.mark.long
def test_tables_fit_the_terminal(demo: Source) -> None:
    """Each line of a table does, whatever the directory holds; commands to copy stay whole."""
    for source in (demo, metashell.open(fixture("real-44-broker-down").directory)):
        for width in (80, 120, 200):
            for line in LINES["widths"]:
                text = see(source, line.partition(" ")[2], width).text if line[0] == "@" else ""
                rows = SGR.sub("", text).splitlines()
                drawn = (row for row in rows if not row.startswith("     kafka-"))
                assert all(display_width(row) <= width for row in drawn), text
