"""Tables as a person sees them: what fits, in which colours, and the sentences about them.

``METASHELL_UPDATE_SNAPSHOTS=1`` writes the goldens in tests/data/tables anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

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
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import DATA, DEMO, copy_of, fixture
from support.logs import record
from support.shell import run_on
from support.small_cluster import broker, cluster
from support.snapshots import is_updating
from support.terminals import Drawable, see

GOLDENS = DATA / "tables"
WIDTHS = (80, 120, 200)
SGR = re.compile(r"\x1b\[[0-9;]*m")
RED, YELLOW, PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[0m"
TOPIC_ID = (1).to_bytes(16, "big")
LONG = "a-topic-of-249-characters-" + "x" * 216 + "-orders"


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(scope="module")
def demo() -> Source:
    """The bundled directory."""
    return metashell.open(DEMO)


def with_long_name() -> Any:
    """A cluster with a topic whose name is as long as Kafka allows, among short ones."""
    names = [*(f"t{i:02}" for i in range(19)), LONG]
    values = [broker(1), broker(2, fenced=True)]
    for i, name in enumerate(names, 1):
        topic_id = i.to_bytes(16, "big")
        values.append(record("TopicRecord", name=name, topic_id=topic_id))
        values.append(
            record(
                "PartitionRecord",
                partition_id=0,
                topic_id=topic_id,
                replicas=[2],
                isr=[2],
                leader=-1,
            )
        )
    return cluster(*values)


# Goldens.


LINES = (
    "partitions --offline",
    "partitions --under-replicated",
    "partitions --limit 5",
    "partitions --summary broker",
    "can-upgrade 4.4",
    "quorum",
    "quorum --epochs",
    "brokers",
    "brokers --without 102 -4",
    "nodes",
    "topics --limit 5",
)


def shown(source: Any, line: str) -> str:
    """What a person sees at each width."""
    parts = []
    for width in WIDTHS:
        seen = see(source, line, width)
        text = SGR.sub("", seen.text)
        # Commands to copy stay whole.
        lines = (part for part in text.splitlines() if not part.startswith("     kafka-"))
        assert all(display_width(part) <= width for part in lines), text
        parts.append(f"== {width} columns\n{text}" + "".join(f"! {said}\n" for said in seen.err))
    return "\n".join(parts)


def compare(name: str, text: str) -> None:
    """Compare with a golden, or write it."""
    path = GOLDENS / f"{re.sub('[^a-z0-9]+', '-', name).strip('-')}.txt"
    if is_updating():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("line", LINES)
def test_at_80_120_and_200_columns(line: str, demo: Source) -> None:
    """No line is wider than the terminal, and the tables are those that were looked at."""
    compare(line, shown(demo, line))


def test_fleet_at_80_120_and_200_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories of several clusters; what can't be read says why."""
    (tmp_path / "not-readable" / "__cluster_metadata-0").mkdir(parents=True)
    for name in ("real-44-live", "real-44-broker-down"):
        copy_of(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    compare("fleet", shown(open_fleet(sorted(os.listdir())), "fleet"))


def test_a_long_name_at_80_120_and_200_columns() -> None:
    """It costs its own row an ellipsis in the middle, and the others nothing."""
    with with_long_name() as source:
        compare("long-name", shown(source, "partitions --offline"))


# Columns.


def test_offline_partitions_have_what_matters_at_80_columns(demo: Source) -> None:
    """Topic, partition, leader, why and since when."""
    header, first, *_ = see(demo, "partitions --offline").lines
    assert {"TOPIC", "PARTITION", "LEADER", "WHY", "SINCE_TIME"} <= {*header.split()}
    assert "waits for 104 (ELR)" in first
    assert re.search(r"\b\d\d:\d\d:\d\d$", first)


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
        health = run_on(source, "health").out
        assert f"broker 1 is fenced since {told}: 1 partition offline" in health
        assert 3 <= health.count(told)
        assert "at or before" not in run_on(source, "partitions --offline -o json").out
        assert told not in run_on(source, "partitions --offline --columns topic").out


def test_a_pipe_gets_all(demo: Source) -> None:
    """Every column that a table has, every state, and whole times."""
    text = run_on(demo, "partitions --offline csv-imports").out
    assert "offline,under-min-isr,under-replicated" in text
    assert "2026-11-22T12:39:49.172Z" in text
    assert "…" not in text
    with with_long_name() as source:
        assert LONG in run_on(source, "partitions").out


def test_a_long_name_costs_its_own_row_an_ellipsis() -> None:
    """Its ends are shown; the other rows have no 250 spaces."""
    with with_long_name() as source:
        lines = see(source, "partitions --offline", 80).lines
    (long,) = [line for line in lines if "…" in line.split("  ")[0] and line[0] != "…"]
    assert long.startswith("a-topic")
    assert "orders" in long.split("  ")[0]
    assert all(line.split()[1] == "0" for line in lines[1:20])
    with with_long_name() as source:
        wide = see(source, "partitions --offline", 200).lines
    assert wide[2].index("0") < 60


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


def test_verbose_has_whole_times_and_every_state(demo: Source) -> None:
    """As --columns has every state."""
    line = "partitions --offline csv-imports-1"
    assert "under-replicated" not in see(demo, line, 200).text
    verbose = see(demo, f"{line} -v", 200).text
    assert "2026-11-22T12:39:49.172Z" in verbose
    assert "offline,under-min-isr,under-replicated" in SGR.sub("", verbose)
    chosen = see(demo, f"{line} --columns topic,state,since_time", 200).text
    assert "offline,under-min-isr,under-replicated" in SGR.sub("", chosen)
    assert " 12:39:49" in chosen


# Colours.


def test_colours_by_state(demo: Source) -> None:
    """What is offline is red, what is under-replicated yellow; the words say the same."""
    text = see(demo, "partitions --under-replicated --columns topic,state", 120).text
    assert f"{RED}offline" in text
    assert f"{YELLOW}under-replicated" in text
    assert "carts" not in text
    brokers = see(demo, "brokers", 120).text
    assert f"{RED}fenced" in brokers
    assert f"{RED}active" not in brokers
    assert f"{PLAIN}" in see(demo, "topics", 120).text


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


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("partitions --offline orders", "no partition of orders is offline"),
        ("partitions --directory LOST", "no partition is stored in directory LOST"),
        (
            "partitions --offline --leader 101",
            "no partition is offline and led by broker 101",
        ),
        ("partitions --topic orders --reassigning", "no partition of orders is being reassigned"),
        ("nodes --ghosts --controllers", "no node is a ghost and a controller"),
        ("topics --config retention.ms=7", "no topic is configured with retention.ms=7"),
        ("acls --principal User:nobody", "no ACL matches --principal User:nobody"),
    ],
)
@pytest.mark.parametrize("is_terminal", [False, True])
def test_no_rows(line: str, said: str, is_terminal: bool, demo: Source) -> None:
    """A sentence on stderr names what was asked for; a terminal gets no head either."""
    ran: Any = see(demo, line) if is_terminal else run_on(demo, line)
    assert (0, (f"{line.split(maxsplit=1)[0]}: {said}",)) == (ran.status, ran.err)
    if is_terminal:
        assert "" == ran.text
    assert () == run_on(demo, f"{line} -o json").err
    assert () == run_on(demo, f"{line} --count").err


@pytest.mark.parametrize("options", ["-n 3", "-n3", "--limit 3", "--limit=3", "-3"])
def test_limit(options: str, demo: Source) -> None:
    """The first rows, in the order asked for."""
    for sort in ("", "--sort=-partition,topic "):
        every = run_on(demo, f"partitions {sort}-o csv").out.splitlines()
        assert every[:4] == run_on(demo, f"partitions {sort}{options} -o csv").out.splitlines()
        assert every[:4] == run_on(demo, f"partitions -o csv {options} {sort}").out.splitlines()
    assert "3\n" == run_on(demo, f"partitions {options} --count").out
    assert 5 == len(see(demo, f"partitions {options}").lines)


@pytest.mark.parametrize("options", ["-n 0", "-0", "--limit x", "-n -1"])
def test_a_limit_is_a_number(options: str, demo: Source) -> None:
    """Above 0."""
    seen = see(demo, f"partitions {options}")
    assert 2 == seen.status
    assert "a whole number above 0" in seen.err[0]


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


@pytest.mark.long
def test_fixtures_of_older_releases() -> None:
    """Tables of any directory fit."""
    source = metashell.open(fixture("real-44-broker-down").directory)
    for line in LINES:
        shown(source, line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("find /image -name nosuch --output table", "find: no path matches"),
        ("sql 'SELECT 1 WHERE false'", "sql: the statement gives no rows"),
    ],
)
def test_no_rows_of_commands_with_a_language_of_their_own(
    line: str, said: str, demo: Source
) -> None:
    """They say so too."""
    assert (said,) == see(demo, line).err


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("acls", ("RESOURCE", "PRINCIPAL", "OPERATION", "PERMISSION")),
        ("tokens", ("OWNER", "EXPIRY_TIME", "EXPIRED")),
        ("config min.insync.replicas", ("RESOURCE_TYPE", "RESOURCE_NAME", "KEY", "VALUE")),
        ("brokers", ("BROKER", "STATE", "LEADERS", "REPLICAS")),
        ("topics", ("TOPIC", "OFFLINE", "UNDER_REPLICATED")),
    ],
)
def test_columns_that_matter_have_room_at_80_columns(
    line: str, columns: tuple[str, ...], demo: Source
) -> None:
    """An ACL without its permission, or a token without its expiry, says nothing."""
    header = see(demo, line).lines[0].split()
    assert {*columns} <= {*header}
