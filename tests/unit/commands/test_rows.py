"""Rows in every format, their columns and order, the terminal's width, fleets, exit statuses."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

import metashell
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.completion import complete_line
from metashell.commands.rows import drawn_column, drawn_table, output
from metashell.commands.rows.columns import AnswerTable, Column
from metashell.commands.rows.command import RowsCommand, manual_with_rows
from metashell.commands.rows.query import FORMATS, METRICS, RowsQuery
from metashell.commands.shared.columns import display_width
from metashell.errors import UsageError
from metashell.schema.timestamps import iso_time
from metashell.sources.opening import open_fleet
from support.fixtures import copy_of, fixture
from support.fleets import SAMPLE, backups
from support.live import Cluster
from support.logs import topic_log
from support.shell import Captured, Ran, run, run_on

TIME = pa.timestamp("ms", tz="UTC")
OF_ROWS = [form for form in FORMATS if form != METRICS]
"""Forms of any rows; metrics are in test_monitoring.py."""
ODD_TEXTS = [
    'a "quoted" one',
    "a,comma",
    "tab\tline\nreturn\r",
    "back\\slash \\t",
    "",
    " spaces ",
    None,
    "\x1b[31mred\x07\x00\x7f\x9b",
    "日本語テキスト",
    "e\u0301\u0301 combining",
    "👩‍👩‍👧 😀",
    "\ufffd\u202e\u2028",
    "null",
    "~",
    "yes",
    "1",
    "- a: b",
    "#x",
    "2026-01-01",
    "\ufeff\ud7ff\ue000\uffff",
]
ODD_TIMES = [
    0,
    -1,
    -(2**63),
    2**63 - 1,
    253_402_300_799_999,
    253_402_300_800_000,
    None,
    1_795_250_896_820,
]


class Made(RowsCommand):
    """A command that answers with a table that a test made."""

    name = "made"
    summary = "Answer."
    of_each_cluster = True

    def __init__(self, table: pa.Table, hidden: Sequence[str] = ()) -> None:
        self.table = table
        columns = tuple(
            Column(name, "Of a test.", shown=name not in hidden) for name in table.column_names
        )
        self.tables = (AnswerTable("", columns),)
        self.manual = manual_with_rows(Manual("made", "Answers."), self.tables)
        self.queries: list[RowsQuery] = []

    def answer(self, query: RowsQuery) -> None:
        """The table."""
        self.queries.append(query)
        query.add(self.table)


@pytest.fixture(scope="module")
def sample() -> metashell.Source:
    """A source that nothing is asked of."""
    return metashell.open(SAMPLE)


class Answer:
    """Runs a command on a source, as a pipe or as a terminal."""

    def __init__(self, source: metashell.Source, width: int | None = None) -> None:
        self.out = Captured(is_terminal=width is not None, width=width or 80)
        self.warnings: list[str] = []
        self.context = Context(
            root=source.root, source=source, out=self.out, warn=self.warnings.append
        )

    def of(self, table: pa.Table | Made, *args: str) -> str:
        """What is written."""
        self.out.parts.clear()
        command = table if isinstance(table, Made) else Made(table)
        self.status = command.run(self.context, args)
        return "".join(self.out.parts)


@pytest.fixture
def answer(sample: metashell.Source) -> Answer:
    """In a pipe."""
    return Answer(sample)


def odd() -> pa.Table:
    """Every type with its oddest values."""
    n = len(ODD_TEXTS)

    def filled(values: list[Any]) -> list[Any]:
        return (values * n)[:n]

    return pa.table(
        {
            "text": pa.array(ODD_TEXTS, pa.string()),
            "time": pa.array(filled(ODD_TIMES), TIME),
            "small": pa.array(filled([0, -(2**31), 2**31 - 1, None]), pa.int32()),
            "large": pa.array(filled([2**63 - 1, -(2**63), None]), pa.int64()),
            "share": pa.array(
                filled([1.5, math.nan, math.inf, -math.inf, None, 1e300, -0.0, 0.1]), pa.float64()
            ),
            "flag": pa.array(filled([True, False, None]), pa.bool_()),
            "brokers": pa.array(filled([[1, 2], [], None, [-1]]), pa.list_(pa.int32())),
            "names": pa.array(
                filled([["a"], [], None, ['q"\n', "b,c", "", None]]), pa.list_(pa.string())
            ),
        }
    )


def plain(value: Any) -> Any:
    """A value as CSV and TSV have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(plain, value))
    return str(value)


def values(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of plain values, times as texts."""
    columns: dict[str, list[Any]] = {}
    for name in table.column_names:
        column = table.column(name)
        if column.type == TIME:
            ms = column.cast(pa.int64()).to_pylist()
            columns[name] = [None if v is None else iso_time(v) for v in ms]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def without_nan(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As JSON has numbers that are none: null."""
    return [
        {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        for row in rows
    ]


# Formats.


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json(form: str, answer: Answer) -> None:
    """Every value comes back; NaN and infinities, which JSON has not, are null."""
    text = answer.of(odd(), "-o", form)
    assert text.isascii()
    found = json.loads(text) if form == "json" else list(map(json.loads, text.splitlines()))
    assert without_nan(values(odd())) == found


def test_csv(answer: Answer) -> None:
    """Every text comes back; a null is an empty cell without quotes, an empty text has quotes."""
    table = odd().drop_columns(["share", "names"])
    text = answer.of(table, "-o", "csv")
    header, *found = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert table.column_names == header
    assert [[plain(v) for v in row.values()] for row in values(table)] == found
    assert '\n"",' in text
    assert "\r\n" not in text.replace("return\r", "")


def test_csv_of_one_column(answer: Answer) -> None:
    """No row is an empty line, which readers leave out."""
    table = pa.table({"a": pa.array([None, "", "x", None], pa.string())})
    text = answer.of(table, "-o", "csv")
    assert ["a", "", "", "x", ""] == [row[0] for row in csv.reader(io.StringIO(text))]
    assert all(text.splitlines())


@pytest.mark.parametrize("form", ["csv", "table"])
def test_lists_of_texts_come_back(form: str, answer: Answer) -> None:
    """Elements that hold commas or quotes, or are empty, are in quotes of their own."""
    lists = [["cleanup.policy=compact,delete", "retention.ms=1"], ["a"], ['q"', ""], [""], [None]]
    texts = ['"cleanup.policy=compact,delete",retention.ms=1', "a", '"q""",""', '""', ""]
    table = pa.table({"n": range(5), "configs": pa.array(lists, pa.list_(pa.string()))})
    text = answer.of(table, "-o", form)
    if form == "csv":
        found = [cell for _, cell in csv.reader(io.StringIO(text, newline=""), strict=True)]
    else:
        found = [line[3:].rstrip() for line in text.splitlines()]
    assert texts == found[1:]
    again = [next(csv.reader([cell], strict=True)) for cell in texts[:4]]
    assert lists[:4] == again


def test_tsv(answer: Answer) -> None:
    """Each line is a row, each tab ends a cell, and the escapes give back every text."""
    table = odd().drop_columns(["share", "names"])
    header, *lines = answer.of(table, "-o", "tsv").removesuffix("\n").split("\n")
    assert table.column_names == header.split("\t")

    def unescaped(cell: str) -> str:
        parts = cell.split("\\\\")
        for letter, character in (("t", "\t"), ("n", "\n"), ("r", "\r")):
            parts = [part.replace(f"\\{letter}", character) for part in parts]
        return "\\".join(parts)

    found = [[unescaped(cell) for cell in line.split("\t")] for line in lines]
    assert [[plain(v) for v in row.values()] for row in values(table)] == found


def test_yaml(answer: Answer) -> None:
    """A document that gives back every value, texts that look like others included."""
    text = answer.of(odd(), "-o", "yaml")
    assert repr(values(odd())) == repr(yaml.safe_load(text))


@pytest.mark.parametrize("form", OF_ROWS)
def test_no_rows(form: str, answer: Answer) -> None:
    """An empty table is a header, an empty list, or nothing."""
    text = answer.of(odd().slice(0, 0), "-o", form)
    match form:
        case "json" | "yaml":
            assert [] == yaml.safe_load(text)
        case "jsonl" | "name":
            assert "" == text
        case _:
            assert (2 if form == "markdown" else 1) == text.count("\n")


@pytest.mark.parametrize("form", OF_ROWS)
def test_no_control_character_reaches_a_terminal(form: str, sample: metashell.Source) -> None:
    """Escapes stand in their place."""
    text = Answer(sample, 200).of(odd().select(["text", "flag"]), "-o", form)
    unsafe = {c for c in text if (ord(c) < 32 or 127 <= ord(c) < 160 or ord(c) == 0x202E)}
    assert unsafe <= {"\n", "\t"}


def test_tables_of_a_pipe_have_no_control_characters_either(answer: Answer) -> None:
    """A table is for people: a line is a row."""
    text = answer.of(odd().select(["text"]))
    assert len(ODD_TEXTS) + 1 == text.count("\n") == len(text.splitlines())
    assert "\\x1b[31mred" in text


def test_nothing_is_cut_in_a_pipe(answer: Answer) -> None:
    """However long a text is."""
    table = pa.table({"a": ["x" * 1_000], "b": ["日" * 500]})
    assert {"x" * 1_000, "日" * 500} <= set(answer.of(table).split())
    assert [] == answer.warnings


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rows written in pieces of 1,000."""
    monkeypatch.setattr(output, "_CHUNK_ROWS", 1_000)
    for drawing in (drawn_table, drawn_column):
        monkeypatch.setattr(drawing, "CHUNK_ROWS", 1_000)


def test_many_rows(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than one piece has come out whole, in pieces."""
    cut_small(monkeypatch)
    n = 4_321
    table = pa.table({"i": range(n), "name": [f"topic-{i % 977}" for i in range(n)]})
    for form in OF_ROWS:
        text = answer.of(table, "-o", form)
        assert len(answer.out.parts) > 3, form
        if form == "json":
            assert table.to_pylist() == json.loads(text)
        elif form == "yaml":
            assert n == text.count("- i: ")
        else:
            heads = {"jsonl": 0, "name": 0, "markdown": 2}
            assert n + heads.get(form, 1) == text.count("\n")
    assert table.equals(pa.table(table.to_pydict()))


# The terminal.


def wide_table() -> pa.Table:
    """Texts, wide ones too, between numbers."""
    return pa.table(
        {
            "topic": ["orders", "x" * 60, "日本語" * 9, "e\u0301" * 40],
            "partition": pa.array([0, 7, 1_000_000, -1], pa.int32()),
            "replicas": pa.array([[1, 2, 3], list(range(40)), [], None]),
            "offset": pa.array([2**62, 1, None, 3], pa.int64()),
            "why": ["waits for 1 or 2 of the ISR to be live", None, "", "short"],
            "since_time": pa.array([0, None, 1, 2], TIME),
        }
    )


@pytest.mark.cases(61)
@pytest.mark.parametrize("width", range(20, 201))
def test_a_table_fits_the_terminal(width: int, sample: metashell.Source) -> None:
    """No line is wider; numbers are whole; what is cut says so, and so do columns left out."""
    terminal = Answer(sample, width)
    text = terminal.of(wide_table())
    header, *lines = text.splitlines()
    assert all(display_width(line) <= width for line in (header, *lines)), text
    titles, note = header.split(), " ".join(text[text.index("…") :].split())
    left_out = [name for name in wide_table().column_names if name.upper() not in titles]
    if left_out:
        assert note.endswith(f"more columns (--columns, -o json): {', '.join(left_out)}")
    assert bool(left_out) == ("more columns" in note)
    if "SINCE_TIME" in titles:
        assert "00:00:00" in text
        assert "… times of 1970-01-01 UTC" in " ".join(text.split())
    if "PARTITION" in titles:
        assert "1000000" in text
    if "OFFSET" in titles:
        assert str(2**62) in text
    if "REPLICAS" in titles and width < 120:
        assert "…" in text
    assert [] == terminal.warnings


@pytest.mark.parametrize("width", [1, 5, 19])
def test_a_terminal_too_narrow_for_anything(width: int, sample: metashell.Source) -> None:
    """The first column is shown all the same."""
    assert Answer(sample, width).of(wide_table()).startswith("TOPIC")


@pytest.mark.parametrize(
    "text", ["日本語" * 100_000, "e" + "\u0301" * 300_000, "a" * 500_000 + "é"]
)
def test_long_texts_are_cut_at_once(text: str, sample: metashell.Source) -> None:
    """However long a wide text is, and where its accents take no room at all."""
    shown = Answer(sample, 40).of(pa.table({"a": [text], "b": [1]}))
    assert len(shown) < 1_000
    assert "…" in shown
    assert all(display_width(line) <= 40 for line in shown.splitlines())


def test_numbers_stand_to_the_right(answer: Answer) -> None:
    """Texts to the left; null is a dash, yes and no are words."""
    table = pa.table(
        {
            "name": ["a", "bcd"],
            "n": pa.array([5, None], pa.int64()),
            "is": [True, False],
            "l": [[1, 2], []],
        }
    )
    assert answer.of(table).splitlines() == ["NAME  N  IS   L", "a     5  yes  1,2", "bcd   -  no"]


# Columns, order, numbers.


def sortable() -> pa.Table:
    """Rows that are equal in some columns."""
    return pa.table(
        {
            "name": ["b", "a", None, "b", "a"],
            "n": pa.array([2, None, 1, 1, 3], pa.int64()),
            "at": range(5),
            "l": pa.array([[2], [1, 5], None, [1], []], pa.list_(pa.int32())),
        }
    )


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", [1, 4, 0, 3, 2]),
        ("-name", [0, 3, 1, 4, 2]),
        ("n", [2, 3, 0, 4, 1]),
        ("-n", [4, 0, 2, 3, 1]),
        ("name,-n", [4, 1, 0, 3, 2]),
        ("-name,n", [3, 0, 4, 1, 2]),
        ("l", [4, 3, 1, 0, 2]),
        ("-at", [4, 3, 2, 1, 0]),
        ("name,name", [1, 4, 0, 3, 2]),
    ],
)
def test_sort(sort: str, expected: list[int], answer: Answer) -> None:
    """Stable, nulls last, several columns, and by columns that are not shown."""
    text = answer.of(sortable(), "--sort", sort, "--columns", "at", "-o", "csv")
    assert expected == [int(line) for line in text.split()[1:]]


def test_sort_is_stable_for_many(answer: Answer) -> None:
    """Rows that are equal stay as they were, however many there are."""
    n = 5_000
    table = pa.table({"a": [i % 3 for i in range(n)], "b": range(n)})
    found = json.loads(answer.of(table, "--sort", "-a", "-o", "json"))
    assert sorted(table.to_pylist(), key=lambda row: -row["a"]) == found


def test_columns(answer: Answer) -> None:
    """Chosen in the order given, once each; ``all`` stands for every one."""
    assert "n,name\n" == answer.of(sortable().slice(0, 0), "--columns", "n,name,n", "-o", "csv")
    text = answer.of(sortable().slice(0, 0), "--columns", "l,all", "-o", "csv")
    assert "l,name,n,at\n" == text


def test_hidden_columns(answer: Answer) -> None:
    """Are not in the table unless they are asked for, and in every other format."""
    made = Made(sortable(), hidden=["n"])
    assert ["NAME", "AT", "L"] == answer.of(made).split()[:3]
    assert ["NAME", "N", "AT", "L"] == answer.of(made, "--columns", "all").split()[:4]
    assert "name,n,at,l" == answer.of(made, "-o", "csv").splitlines()[0]


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["--columns", "nmae"], "--columns: there is no column nmae", "did you mean name?"),
        (["--sort", "-zzz"], "--sort: there is no column zzz", "the columns are name, n, at, l"),
        (["--sort", "all"], "--sort: there is no column all", None),
        (["--columns", "a,,b"], "--columns a,,b: names separated by commas are wanted", None),
        (["--columns", ""], "--columns : names separated by commas are wanted", None),
        (["-o", "xml"], "-o xml: not one of table, wide, json", None),
        (["--output=JSON"], "-o JSON: not one of", None),
        (["--wrong"], "--wrong", None),
    ],
)
def test_usage_errors(args: list[str], message: str, hint: str | None, answer: Answer) -> None:
    """Name what is wrong, before anything is asked."""
    made = Made(sortable())
    with pytest.raises(UsageError) as caught:
        answer.of(made, *args)
    assert message in str(caught.value)
    assert hint is None or hint == caught.value.hint
    assert [] == made.queries


def test_count(answer: Answer) -> None:
    """The number of rows, whatever the format; no column has to be made for it."""
    made = Made(sortable())
    assert "5\n" == answer.of(made, "--count")
    assert "5\n" == answer.of(made, "--count", "-o", "json", "--sort", "n")
    assert frozenset() == made.queries[-1].columns
    answer.of(made, "--columns", "n", "--sort", "-at")
    assert frozenset({"n", "at"}) == made.queries[-1].columns


def test_exit_code(answer: Answer) -> None:
    """1 where there is a row, 0 where there is none, 0 without the option."""
    made = Made(sortable())
    assert (5, 1) == (len(json.loads(answer.of(made, "--exit-code", "-o", "json"))), answer.status)
    answer.of(Made(sortable().slice(0, 0)), "--exit-code")
    assert 0 == answer.status
    assert ("5\n", 1) == (answer.of(made, "--exit-code", "--count"), answer.status)
    answer.of(made)
    assert 0 == answer.status


# Ends before the end.


def has_several(parts: list[str]) -> bool:
    """Whether something has been written for some time."""
    return len(parts) > 1


def test_interrupt_between_pieces(
    sample: metashell.Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """^C ends a long answer at the next piece."""
    cut_small(monkeypatch)
    n = 3_000
    for form in OF_ROWS:
        interrupted = Answer(sample)
        parts = interrupted.out.parts
        interrupted.context.cancelled = partial(has_several, parts)
        with pytest.raises(KeyboardInterrupt):
            interrupted.of(pa.table({"i": range(n)}), "-o", form)
        assert len(interrupted.out.parts) <= 4


def test_broken_pipe(sample: metashell.Source) -> None:
    """Who reads no further ends the command: the front end sees it."""
    broken = Answer(sample)

    def refuse(text: str) -> None:
        raise BrokenPipeError

    broken.out.write = refuse  # type: ignore[method-assign]
    with pytest.raises(BrokenPipeError):
        broken.of(sortable())


# Fleets.


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """Two nodes of one cluster and one of another."""
    return backups(tmp_path / "backups")


def on_fleet(parent: Path, line: str, cwd: str = "/") -> Ran:
    """Run a line on the directories of a directory."""
    fleet = open_fleet(sorted(map(str, parent.iterdir())))
    return run(fleet.root, line, cwd=cwd, source=fleet)


@pytest.mark.cases(7)
@pytest.mark.parametrize("command", ["partitions", "topics", "brokers", "brokers --without 101"])
@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_fleet(command: str, form: str, parent: Path) -> None:
    """A column of clusters stands in front, and the rows are those of each."""
    ran = on_fleet(parent, f"{command} -o {form}")
    assert (0, ()) == (ran.status, ran.err)
    if form == "json":
        rows = json.loads(ran.out)
        assert "cluster" == next(iter(rows[0]))
        for name in dict.fromkeys(row["cluster"] for row in rows):
            cwd = f"/clusters/{name}"
            alone = json.loads(on_fleet(parent, f"{command} -o json", cwd).out)
            assert [row for row in rows if row["cluster"] == name] == alone
    else:
        assert ran.out.lower().startswith("cluster")


def test_fleet_counts_all(parent: Path) -> None:
    """--count and --sort are about all clusters together."""
    rows = json.loads(on_fleet(parent, "topics -o json --sort topic").out)
    assert sorted(row["topic"] for row in rows) == [row["topic"] for row in rows]
    assert f"{len(rows)}\n" == on_fleet(parent, "topics --count").out


def test_fleet_with_an_unreadable_directory(parent: Path) -> None:
    """The others answer; the status is 1, and a diagnostic names the directory."""
    (parent / "empty" / "__cluster_metadata-0").mkdir(parents=True)
    ran = on_fleet(parent, "brokers -o json")
    assert 1 == ran.status
    assert json.loads(ran.out)
    assert any("empty" in line for line in ran.err)


def test_columns_that_nobody_looks_at_are_not_made() -> None:
    """To count and name topics no partition is decoded."""
    source = metashell.open(SAMPLE)
    names = run_on(source, "topics --columns topic,topic_id -o tsv").out.splitlines()[1:]
    assert f"{len(names)}\n" == run_on(source, "topics --count").out
    decoded = {name for name, _ in source.image.records._columns}
    assert "TopicRecord" in decoded
    assert "PartitionRecord" not in decoded
    run_on(source, "topics --columns topic --sort partitions")
    assert "PartitionRecord" in {name for name, _ in source.image.records._columns}


# Moments and live quorums.


def test_at_a_moment() -> None:
    """Rows are of the state at that offset."""
    source = metashell.open(SAMPLE)
    last = source.image.provenance.offset
    now = json.loads(run_on(source, "partitions -o json").out)
    then = json.loads(run_on(source.at(str(last - 600)), "partitions -o json").out)
    assert now != then


def test_a_live_quorum() -> None:
    """What is fetched answers, and what comes later too."""
    first, *rest = topic_log(3)
    cluster = Cluster(first)
    assert "2\n" == run_on(cluster.source(), "topics --count").out
    cluster.batches += rest
    cluster.generation += 1
    source = cluster.source()
    assert "6\n" == run_on(source, "topics --count").out
    assert "0\n" == run_on(source, "partitions --count").out


# The commands.


def test_globs_choose(sample: metashell.Source) -> None:
    """Names of topics, of partitions, and globs of them."""

    def count(words: str) -> int:
        return int(run_on(sample, f"partitions --count {words}").out)

    assert count("orders") == count("--topic orders") == count("--topic 'order[s]'")
    assert 1 == count("orders-0")
    assert count("orders-0 orders-1") == 2
    assert count("'*'") == count("")
    assert count("orders orders-0") == count("orders")


def test_summaries_agree_with_lists(sample: metashell.Source) -> None:
    """The counts by topic add up to the lists."""
    rows = json.loads(run_on(sample, "partitions --summary topic -o json").out)
    for state in ("offline", "under-replicated", "under-min-isr", "at-min-isr", "reassigning"):
        listed = int(run_on(sample, f"partitions --{state} --count").out)
        assert listed == sum(row[state.replace("-", "_")] for row in rows)


def completed(source: metashell.Source, line: str) -> list[str]:
    """What is proposed at the end of a line."""
    context = Context(
        root=source.root, source=source, out=Captured(), warn=lambda _: None, interactive=True
    )
    found: list[Completion] = complete_line(context, line, len(line))
    return [one.text for one in found]


def test_completion(sample: metashell.Source) -> None:
    """Topics, brokers, columns, values of options."""
    assert "orders" in " ".join(completed(sample, "partitions ord"))
    assert "orders" in " ".join(completed(sample, "topics ord"))
    assert "101" in " ".join(completed(sample, "partitions --leader 10"))
    assert "102" in " ".join(completed(sample, "brokers --without 101,10"))
    assert "-under_replicated" in completed(sample, "topics --sort -under")
    assert any("min_isr" in t for t in completed(sample, "partitions --columns topic,min_"))
    assert any("rack" in t for t in completed(sample, "brokers --by r"))
    assert any("json" in t for t in completed(sample, "brokers -o js"))


def test_completion_opens_no_directory(parent: Path) -> None:
    """Of a fleet topics are proposed of what was looked at, and in a cluster's directory of it."""
    fleet = open_fleet(sorted(map(str, parent.iterdir())))
    context = Context(root=fleet.root, fleet=fleet, out=Captured(), warn=lambda _: None)
    assert [] == complete_line(context, "topics ord")
    assert all(member.opened is None for member in fleet.members.values())
    context.cwd = "/clusters/controller-1"
    assert ["orders"] == [one.text for one in complete_line(context, "topics ord")]
    context.cwd = "/"
    assert ["orders"] == [one.text for one in complete_line(context, "topics ord")]
    assert ["cluster"] == [one.text for one in complete_line(context, "topics --sort clu")]
    names = [one.text for one in complete_line(context, "partitions --summary topic --sort ")]
    assert ["cluster", "topic", "partitions"] == names[:3]


def test_secrets_of_topics_are_redacted(tmp_path: Path) -> None:
    """A topic's config whose key is unknown shows no value."""
    source = metashell.open(copy_of("real-44-admin", tmp_path))
    text = run_on(source, "topics -o json").out
    secret = [
        row
        for row in source.table("configs").to_pylist()
        if row["resource_type"] == "TOPIC" and row["value"] == "[redacted]"
    ]
    assert all(f"{row['key']}=[redacted]" in text for row in secret)


@pytest.mark.parametrize(
    "words",
    [
        "clicks",
        "clicks-1",
        "clicks/1 clicks-3",
        "clicks 1 3",
        "--topic clicks",
        "--topic clicks --offline",
        "clicks --replica 1 --under-replicated",
        "clicks orders",
        "click* 1",
        "{clicks,orders}",
        "--topic click* clicks",
        "clicks-9",
        "clicks 9 nothing",
        "--topic nothing",
        "clicks --summary topic",
        "clicks --leader 99",
    ],
)
def test_partitions_of_one_topic_are_those_among_all(words: str) -> None:
    """They are found without those of the others; what is told is the same."""
    alone, whole = (metashell.open(fixture("real-44-broker-down").input) for _ in range(2))
    assert len(whole.image.partitions)
    for columns in ("topic,partition,leader,isr,state,why", "all"):
        shape = "" if "--summary" in words else f" -o json --columns {columns}"
        expected, found = (run_on(of, f"partitions {words}{shape}") for of in (whole, alone))
        assert (expected.status, expected.out, expected.err) == (found.status, found.out, found.err)
        if columns != "all":
            others = ("click* 1", "{", "clicks orders", "--replica", "--leader", "nothing")
            is_one = not any(text in words for text in others)
            assert is_one is not alone.image.has_folded("partitions")
