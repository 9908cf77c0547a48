"""``-o`` on commands that have an output of their own: the same facts, under documented names."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import metashell
from metashell.cli import main
from metashell.commands import all_names, get
from metashell.commands.framework.command import Command, Context
from metashell.commands.framework.command_line import split
from metashell.commands.framework.completion import complete_line
from metashell.commands.rows import stream
from metashell.commands.rows.columns import (
    Column,
    flag,
    integer,
    integers,
    json_value,
    number,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.from_python import keywords_of
from metashell.commands.rows.output import Shape
from metashell.commands.rows.query import FORMATS, RowsQuery
from metashell.commands.rows.stream import RowWriter, cells, table_of_mappings
from metashell.errors import UsageError
from metashell.findings.kind import SEVERITIES
from metashell.fs.escape import escape
from metashell.sources.opening import open_fleet, open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from support.fixtures import DEMO, differing, fixture, fixture_dir, fixture_names
from support.fleets import backups
from support.shell import Captured, Ran, from_yaml, ms_of, run, run_on

COMMANDS = [command for name in all_names() if (command := get(name)) is not None]
WITH_ROWS = [command for command in COMMANDS if isinstance(command, RowsCommand)]
WITH_COLUMNS = [command for command in COMMANDS if command.manual.columns]
PATHS = "/image/configs/* /image/topics/byName/orders /image/topics/byName/orders/*"

Row = dict[str, Any]


def sample(line: str = "") -> Source:
    """The bundled directory; a broker's, or a partition's, for a line about such logs."""
    topic = next((topic for words, topic in _OF_PARTITIONS.items() if words in line), None)
    if topic is not None:
        return _partition_of(topic)
    command = get(line.split(maxsplit=1)[0]) if line else None
    return _opened_here(is_broker=command is not None and command.group == "groups")


_OF_PARTITIONS = {
    "du --by group": "__consumer_offsets-2",
    "du --by transaction": "__transaction_state-1",
    "stats --section groups": "__consumer_offsets-2",
    "stats --section transactions": "__transaction_state-1",
    "stats --section codecs": "orders-0",
    "stats --section epochs": "orders-0",
    "stats --section producers": "orders-0",
}
"""Lines about the log of one partition, and which one has it."""


@cache
def _partition_of(name: str) -> Source:
    path = fixture_dir("node-44") / "broker102" / "d1" / name
    request = OpenRequest(choice=Choice(str(path)))
    opened = open_request(request)
    assert isinstance(opened, Source)
    return opened


@cache
def _opened_here(*, is_broker: bool) -> Source:
    return metashell.open(fixture_dir("node-44") / "broker102" / "d1" if is_broker else DEMO)


@cache
def opened(name: str, **options: bool) -> Source:
    """A fixture."""
    found = fixture(name)
    opener = metashell.open if found.kind == "directory" else metashell.open_file
    return opener(found.input, **options)


def rows(line: str, source: Source | None = None, form: str = "--output json") -> list[Row]:
    """Run a command and read the rows that it writes as JSON."""
    found: list[Row] = json.loads(run_on(source or sample(line), f"{line} {form}").out)
    return found


def tables() -> Iterator[tuple[str, list[str]]]:
    """A line for each table of each command, and the columns that its manual lists."""
    for command in WITH_COLUMNS:
        manual = command.manual
        first = manual.examples[0][0]
        yield first, [name for name, _ in manual.columns]
        for asked_by, columns in manual.other_columns:
            # Of several, separated by commas, the last is enough.
            words = asked_by.rpartition(", ")[2]
            yield f"{first} {words}", [name for name, _ in columns]


# All commands that have columns.


@pytest.mark.parametrize(("line", "columns"), [*tables()])
def test_columns_are_those_of_the_manual(line: str, columns: list[str]) -> None:
    """In every format, in the manual's order, in snake_case, each once."""
    ran = run_on(sample(line), f"{line} --output csv")
    assert (columns, ()) == (next(csv.reader(io.StringIO(ran.out))), errors(ran))
    for row in rows(line):
        assert columns == list(row)
    assert [] == [name for name in columns if not re.fullmatch("[a-z]+(_[a-z]+)*", name)]
    assert len(columns) == len(set(columns))


@pytest.mark.parametrize(("line", "columns"), [*tables()])
def test_rows_have_the_schema_that_is_printed(line: str, columns: list[str]) -> None:
    """Each row of a table is valid, and one without a column or with another kind is not."""
    printed = run_on(sample(line), f"{line} --schema")
    schema = json.loads(printed.out)
    assert (0, columns) == (printed.status, [*schema["properties"]])
    Draft202012Validator.check_schema(schema)
    valid = Draft202012Validator(schema)
    for row in rows(line):
        valid.validate(row)
        assert not valid.is_valid({})
        for name in columns:
            is_any = "type" not in schema["properties"][name]
            assert is_any == valid.is_valid({**row, name: {"odd": 1}})


def test_a_schema_has_the_columns_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """No source is needed; a fleet's rows have their cluster in front."""
    assert 0 == main(["--no-config", "partitions", "--columns", "isr,topic", "--schema"])
    assert ["isr", "topic"] == json.loads(capsys.readouterr().out)["required"]
    assert 2 == main(["--no-config", "partitions", "--columns", "nosuch", "--schema"])
    places = ["-d", str(DEMO), "-d", str(fixture("real-44-live").input)]
    assert 0 == main(["--no-config", *places, "brokers", "--schema"])
    assert ["cluster", "broker"] == json.loads(capsys.readouterr().out)["required"][:2]


def errors(ran: Ran) -> tuple[str, ...]:
    """Diagnostics of a command that failed."""
    return ran.err if ran.status > 1 else ()


def takes(command: RowsCommand, option: str) -> bool:
    """Whether a command has that option of rows in the sense of all."""
    return option not in command.own_options


@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda command: command.name)
def test_every_form_and_option(command: RowsCommand) -> None:
    """Every form, --columns, --sort and --count go with each command."""
    line = command.manual.examples[0][0]
    found = rows(line)
    last = command.tables[0].columns[-1].name
    whole = [
        json.loads(one) for one in run_on(sample(line), f"{line} --output jsonl").out.splitlines()
    ]
    as_yaml = from_yaml(run_on(sample(line), f"{line} --output yaml").out)
    table = run_on(sample(line), f"{line} --output table").out.splitlines()
    names = run_on(sample(line), f"{line} --output tsv --columns {last}").out.splitlines()

    assert found == whole == as_yaml
    if takes(command, "--count"):
        assert f"{len(found)}\n" == run_on(sample(line), f"{line} --count").out
    head = next(column.name for column in command.tables[0].columns if column.shown).upper()
    assert len(found) + 1 == len(names)
    if found:
        # A verdict may stand before the head, and says all where there is no row.
        n_before = next(i for i, one in enumerate(table) if one.split()[:1] == [head])
        assert len(found) + 1 == len(table) - n_before
    assert last == names[0]
    back = rows(f"{line} --sort -{last}")
    assert sorted(map(repr, found)) == sorted(map(repr, back))
    unknown = [row[last] is None for row in back]
    assert sorted(unknown) == unknown


@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda command: command.name)
def test_cells_are_of_the_kind_that_their_column_declares(command: RowsCommand) -> None:
    """Whether rows come as Arrow tables or as mappings, of every table of a command."""
    line = command.manual.examples[0][0]
    for asked_by in ["", *(table.asked_by.rpartition(", ")[2] for table in command.tables[1:])]:
        parsed = command.parse(split(f"{line} {asked_by} --output json")[1:])
        columns = {column.name: column for column in command.columns_of(parsed)}
        taken: list[pa.Table] = []

        def add(rows: Any, columns: Any = columns, taken: list[pa.Table] = taken) -> None:
            is_table = isinstance(rows, pa.Table)
            taken.append(rows if is_table else table_of_mappings(columns.values(), [*rows]))

        source = sample(f"{line} {asked_by}")
        context = Context(root=source.root, out=Captured(), warn=lambda _: None, source=source)
        command.answer(RowsQuery(context=context, parsed=parsed, add=add, warn=lambda _: None))
        assert taken
        for table in taken:
            for field in table.schema:
                declared = cells(columns[field.name].kind, []).type
                assert _family(declared) == _family(field.type), (asked_by, field.name)


@pytest.mark.cases(12)
@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda command: command.name)
def test_python_has_the_same_rows(command: RowsCommand) -> None:
    """Of each example, by keyword arguments; also the same columns and diagnostics."""
    n = 0
    for line, _ in command.manual.examples:
        asked = _asked_in_python(command, split(line)[1:])
        if asked is None:
            continue
        n += 1
        arguments, options, words = asked
        line = f"{command.name} {words}"  # noqa: PLW2901
        if not _WITHOUT_ROWS.isdisjoint(words.split()):
            with pytest.raises(UsageError):
                sample(line).rows(command.name, *arguments, **options)
            continue
        ran = run_on(sample(line), f"{line} --output csv")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            table = sample(line).rows(command.name, *arguments, **options)
        assert next(csv.reader(io.StringIO(ran.out))) == table.column_names
        assert rows(line) == json_rows(table)
        texts = [str(one.message) for one in told if one.category is metashell.MetashellWarning]
        known = dict.fromkeys([*ran.err, *sample(line).warnings])
        assert [one for one in known if not one.startswith(" ")] == texts
    assert n


_WITHOUT_ROWS = {"--plugin", "--follow", "-f", "-count", "-exec", "-printf", "-print0"}
"""Options that ask for other things than rows, or for rows without an end."""


def _asked_in_python(
    command: RowsCommand, words: Sequence[str]
) -> tuple[list[str], dict[str, object], str] | None:
    """A line's arguments and options in Python, and its words; None if it asks for no rows."""
    keywords = {flag: (name, option) for name, (flag, option) in keywords_of(command).items()}
    arguments, options, taken = list[str](), dict[str, object](), list[str]()
    left = iter(words)
    for word in left:
        flag, equals, value = word.partition("=")
        if not flag.startswith("-") or re.match("-[0-9]+[smhd]", flag):
            arguments.append(word)
        elif flag in keywords:
            name, option = keywords[flag]
            if option.metavar is not None and not equals:
                value = next(left)
            options[name] = True if option.metavar is None else value
            taken += [word] if option.metavar is None or equals else [word, value]
            continue
        elif flag in ("-o", "--output"):
            _ = equals or next(left)
            continue
        elif flag != "--json":
            return None
        else:
            continue
        taken.append(word)
    return arguments, options, " ".join(getattr(word, "raw", word) for word in taken)


def json_rows(table: pa.Table) -> list[Row]:
    """The rows of a table with the values that JSON has for them."""
    found: dict[str, list[Any]] = {}
    for field in table.schema:
        values = table.column(field.name).to_pylist()
        if pa.types.is_timestamp(field.type):
            found[field.name] = [None if v is None else _iso(v) for v in values]
        elif field.type == pa.json_():
            found[field.name] = [None if v is None else json.loads(v) for v in values]
        else:
            found[field.name] = values
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def _iso(moment: datetime) -> str:
    """A time as JSON has it: in ms, in UTC."""
    assert moment.utcoffset() == timedelta()
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _family(kind: pa.DataType) -> str:
    """What tells kinds of cells apart: integers of any width are integers."""
    if pa.types.is_dictionary(kind):
        return _family(kind.value_type)
    if pa.types.is_list(kind):
        return f"list of {_family(kind.value_type)}"
    return "integer" if pa.types.is_integer(kind) else str(kind)


@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda command: command.name)
def test_unknown_columns_and_formats(command: RowsCommand) -> None:
    """They are refused, with what was probably meant."""
    line = command.manual.examples[0][0]
    first = command.tables[0].columns[0].name
    ran = run_on(sample(line), f"{line} --output csv --columns {first}x")
    assert (2, "") == (ran.status, ran.out)
    assert f"did you mean {first}?" in ran.err[-1]
    ran = run_on(sample(line), f"{line} --output xml")
    assert (2, "") == (ran.status, ran.out)
    assert ", ".join(FORMATS) in ran.err[0]


@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda command: command.name)
def test_json_is_short_for_a_form(command: RowsCommand) -> None:
    """--json is -o json, alone and beside it; another form is refused."""
    line = command.manual.examples[0][0]
    if not takes(command, "--json"):
        ran = run_on(sample(line), f"{line} --json --output csv")
        assert (2, "") == (ran.status, ran.out)
        assert "-o and --json exclude each other" in ran.err[0]
        return
    expected = run_on(sample(line), f"{line} --output json")
    assert expected == run_on(sample(line), f"{line} --json")
    assert expected == run_on(sample(line), f"{line} --json --output json")
    ran = run_on(sample(line), f"{line} --json --output csv")
    assert (2, "") == (ran.status, ran.out)
    assert "-o csv and --json exclude each other" in ran.err[0]


@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda command: command.name)
def test_exit_code(command: RowsCommand) -> None:
    """--exit-code is 1 for any row."""
    if not takes(command, "--exit-code"):
        pytest.skip("its status tells that anyway")
    line = command.manual.examples[0][0]
    expected = 1 if rows(line) else 0
    assert expected == run_on(sample(line), f"{line} --output csv --exit-code").status


@pytest.mark.parametrize("command", WITH_ROWS, ids=lambda command: command.name)
def test_completion(command: Command) -> None:
    """Formats, columns, and columns to sort by."""
    context = Context(root=sample().root, out=Captured(), warn=lambda _: None, source=sample())

    def proposed(line: str) -> list[str]:
        return [completion.text for completion in complete_line(context, line)]

    name, first = command.name, command.manual.columns[0][0]
    assert ["json", "jsonl"] == proposed(f"{name} --output js")
    assert first in proposed(f"{name} --output csv --columns ")
    assert f"-{first}" in proposed(f"{name} --output csv --sort -{first[:2]}")
    for asked_by, columns in command.manual.other_columns:
        asking = asked_by.rpartition(", ")[2]
        assert [c for c, _ in columns] == proposed(f"{name} {asking} --columns ")


# What each command has.


def log_lines(options: str, source: Source | None = None) -> list[Row]:
    """Run log with --json, which is Kafka's own form there, and read its lines."""
    out = run_on(source or sample(), f"log {options} --json").out
    return [json.loads(one) for one in out.split("\n")[:-1]]


@pytest.mark.cases(11)
@pytest.mark.parametrize("name", differing(fixture_names()))
def test_log(name: str) -> None:
    """Every record of every fixture, those that can't be decoded too."""
    source = opened(name)
    theirs, ours = log_lines("--all", source), rows("log --all", source)
    assert len(theirs) == len(ours)
    for their, our in zip(theirs, ours, strict=True):
        same = ("offset", "epoch", "version", "topic", "data", "file", "pos", "error", "raw")
        assert {key: their.get(key) for key in same} == {key: our[key] for key in same}
        assert their.get("control", their.get("type")) == our["type"]
        assert ("control" in their) is our["control"]
        assert their["timestamp"] == (-1 if our["time"] is None else ms_of(our["time"]))


@pytest.mark.parametrize(
    "options",
    [
        "--tail 5",
        "--limit 7 --type PartitionChange",
        "--grep leader=-1",
        "--checkpoints",
        "--topic orders --tail 3",
        "--offset 1891 --context 3",
    ],
)
def test_log_options(options: str) -> None:
    """They choose the same records, and the same diagnostics come."""
    theirs, ours = log_lines(options), rows(f"log {options}")
    assert [their["offset"] for their in theirs] == [our["offset"] for our in ours]
    assert theirs
    assert run_on(sample(), f"log {options}").err == run_on(sample(), f"log {options} -o csv").err


def test_log_reads_only_the_columns_asked_for() -> None:
    """Each column alone is what it is beside all others."""
    whole = rows("log --all --limit 300")
    for name in whole[0]:
        alone = rows(f"log --all --limit 300 --columns {name}")
        assert [{name: row[name]} for row in whole] == alone


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv"])
def test_log_follow(form: str) -> None:
    """The names of columns come once, the rows as without --follow."""
    followed = run_on(sample(), f"log -f --limit 5 -o {form}")
    assert run_on(sample(), f"log --limit 5 -o {form}").out == followed.out
    assert 0 == followed.status


@pytest.mark.parametrize("options", ["", "-n 3", "--since 930", "--until 1000"])
def test_changes(options: str) -> None:
    """Every change, with the values of fields from and to."""
    line = f"changes {options} /image/configs /image/topics/byName/orders"
    found, lines = rows(line), run_on(sample(line), f"{line} -v").out.splitlines()
    assert found
    for row, one in zip(found, lines, strict=True):
        assert f"  {row['type']}  {row['path']}  " in one
        if row["offset"] is None:
            assert one.startswith(f"at or before checkpoint {row['at_or_before']} ")
        else:
            assert one.startswith(f"{row['offset']}  {row['time']}  epoch {row['epoch']}  ")
        if row["change"] == "changed":
            assert all(name in one for name in row["fields"])


@pytest.mark.cases(11)
@pytest.mark.parametrize("name", differing(fixture_names()))
def test_check(name: str) -> None:
    """Every finding of the text, those that say the same once, and the same exit status."""
    source = opened(name)
    text = run_on(source, "check --state --limit 1000000")
    said = " ".join(text.out.split())
    keys = ("severity", "code", "message", "action")
    found = Counter(tuple(row[key] for key in keys) for row in rows("check --state", source))
    for (severity, code, message, action), n in found.items():
        times = "" if n == 1 else f", {n:,} times"
        at = said.index(f"{code}{times}: ")
        words = " ".join(escape(message).split())
        assert words in said[at:]
        before = max((said.rfind(f"{word} ", 0, at), word) for word in SEVERITIES)
        assert before[1] == severity
        assert said.index(f" do {action.partition('; ')[0]}", said.index(words, at)) > at
    assert text.status == run_on(source, "check -o csv").status


def test_checksum() -> None:
    """The parts, then the whole, as the lines have them."""
    lines = [line.split("  ") for line in run_on(sample(), "checksum --parts").out.splitlines()]
    found = rows("checksum --parts")
    assert [line[:2] for line in lines[:-1]] == [[r["checksum"], r["part"]] for r in found[:-1]]
    last = found[-1]
    assert lines[-1] == [last["checksum"], f"offset {last['offset']}", f"epoch {last['epoch']}"]
    assert last["part"] is None
    assert [last] == rows("checksum")
    assert {(last["offset"], last["epoch"], False)} == {
        (row["offset"], row["epoch"], row["secrets"]) for row in found
    }


@pytest.mark.parametrize("options", ["1870 end", "--all 1870 end", "1870 1870"])
def test_diff(options: str) -> None:
    """Every difference, and 1 where there is one."""
    marks = {"added": "+", "removed": "-", "changed": "~"}
    text, found = run_on(sample(), f"diff {options}"), rows(f"diff {options}")
    for row, line in zip(found, text.out.splitlines(), strict=True):
        start = f"{marks[row['change']]} {row['path']}  "
        assert line.startswith(start)
        if row["topic_id"] is not None:
            assert line.startswith(f"{start}topic {row['topic_id']}, {row['partitions']} ")
        elif row["change"] == "changed":
            assert all(name == "value" or f"{name} " in line for name in row["fields"])
    assert text.status == run_on(sample(), f"diff {options} -o csv").status


def test_diff_counts() -> None:
    """--stat has a row for each part that differs."""
    lines = run_on(sample(), "diff --stat 1870 end").out.splitlines()
    told = [[line.split()[0], *re.findall(r"[+~-](\d+)", line)] for line in lines]
    found = rows("diff --stat 1870 end")
    assert told == [[str(cell) for cell in row.values()] for row in found]
    assert 2 == run_on(sample(), "diff --quiet 1870 end -o csv").status


@pytest.mark.parametrize("by", ["type", "topic", "hour", "file", "partition", "broker"])
def test_du(by: str) -> None:
    """Every row of the text, without the total."""
    lines = [line.split() for line in run_on(sample(), f"du --by {by}").out.splitlines()]
    *told, total = lines[1:]
    found = rows(f"du --by {by}")
    for line, row in zip(told, found, strict=True):
        assert [row["bytes"], row["records"]] == [int(line[0]), int(line[2])]
        assert pytest.approx(row["bytes"] / int(total[0])) == row["share"]
        name = f"{row['topic']}-{row['partition']}" if by == "partition" else row[by]
        assert name is None or line[3] == str(name)
    assert 2 == len(rows(f"du --by {by} -n 2")) or len(found) < 2


@pytest.mark.parametrize("section", ["types", "partitions", "brokers", "batches"])
def test_stats(section: str) -> None:
    """Every value of a section."""
    head, *lines = run_on(sample(), f"stats --section {section}").out.splitlines()
    found = rows(f"stats --section {section}")
    names = {"leader": "leader_changes", "isr": "isr_changes"}
    for line, row in zip(lines, found, strict=True):
        if section == "partitions":
            row["partition"] = f"{row['topic']}-{row['partition']}"
        told = zip(head.lower().split(), line.split(), strict=True)
        assert all(str(row[names.get(name, name)]) == cell for name, cell in told)


def test_stats_of_the_whole() -> None:
    """The totals are one row, which comes unasked; files have all that the text has."""
    (totals,) = rows("stats")
    assert [totals] == rows("stats --section totals")
    first = run_on(sample(), "stats --section totals").out.splitlines()[0]
    assert f"{totals['records']} records in {totals['batches']} batches" in first
    lines = run_on(sample(), "stats --section files").out.splitlines()[1:]
    for line, row in zip(lines, rows("stats --section files"), strict=True):
        assert [str(row["bytes"]), row["file"]] == [line.split()[0], line.split()[-1]]
        assert row["last_time"] in line


def test_quorum() -> None:
    """Nodes, the quorum as a whole, and leader epochs."""
    head, body = run_on(sample(), "quorum").out.split("\n\n")
    lines = [line.split() for line in body.splitlines()[1:]]
    for line, row in zip(lines, rows("quorum"), strict=True):
        assert [str(row["id"]), row["directory_id"]] == line[:2]
        assert [row["status"], ",".join(row["endpoints"] or ()) or "-"] == line[-2:]
    fields = dict(line.split(maxsplit=1) for line in head.splitlines())
    (status,) = rows("quorum --status")
    assert fields["ClusterId:"] == status["cluster_id"]
    assert fields["LeaderEpoch:"] == str(status["epoch"])
    assert status["time"] in fields["From:"]
    epochs = run_on(sample(), "quorum --epochs").out.splitlines()[1:]
    for line, row in zip(epochs, rows("quorum --epochs"), strict=True):
        cells = [row[name] for name in ("epoch", "start_offset", "leader", "time")]
        assert ["-" if cell is None else str(cell) for cell in cells] == line.split()


def test_stat_and_ls() -> None:
    """Both tell of the same nodes; ls of the children of directories."""
    blocks = run_on(sample(), f"stat {PATHS}").out.split("\n\n")
    ours = rows(f"stat {PATHS}")
    assert ours
    for block, row in zip(blocks, ours, strict=True):
        told = dict(line.split(maxsplit=1) for line in block.splitlines())
        assert (told["path"], told["type"]) == (row["path"], row["kind"])
        assert told.get("partitions") == (row["partitions"] and str(row["partitions"]))
        for moment in ("created", "changed"):
            for part in ("time", "type"):
                assert (row[f"{moment}_{part}"] or "") in told[moment]
            if row[f"{moment}_offset"] is not None:
                assert f"  offset {row[f'{moment}_offset']}  " in told[moment]
            elif row[f"{moment}_at_or_before"] is not None:
                assert f"checkpoint {row[f'{moment}_at_or_before']}  " in told[moment]
    listed = rows("ls -d /image/topics/byName/*")
    below = rows("ls /image/topics/byName")
    known = rows("stat /image/topics/byName/*")
    shared = [key for key in listed[0] if key in known[0]]
    assert [{key: row[key] for key in shared} for row in known] == [
        {key: row[key] for key in shared} for row in listed
    ]
    assert [{**row, "name": row["path"]} for row in below] == listed
    assert run_on(sample(), "ls /image/topics/byName").out.split() == [r["name"] for r in below]


def test_ls_of_several_and_below() -> None:
    """Leaves first, then the children of each directory, with -R of those below."""
    found = [row["path"] for row in rows("ls -R /image/provenance /image/cluster")]
    walked = run_on(sample(), "find /image/cluster").out.splitlines()
    assert "/image/provenance" == found[0]
    assert sorted(walked[1:]) == sorted(found[1:])
    by_time = [row["path"] for row in rows("ls -t /image")]
    named = run_on(sample(), "ls -t /image").out.split()
    assert [f"/image/{name}" for name in named] == by_time
    ran = run_on(sample(), "ls -o csv /image/cluster /nothing")
    assert (1, 3) == (ran.status, len(ran.out.splitlines()))


def test_ls_without_times_is_the_same() -> None:
    """Where no column needs times none are looked up, and the rows do not change."""
    whole = rows("ls /image/topics/byName/orders")
    bare = rows("ls /image/topics/byName/orders --columns path,name,kind")
    assert [{key: row[key] for key in ("path", "name", "kind")} for row in whole] == bare


def test_find_grep_and_tree() -> None:
    """Rows are of what their text shows, each with a path that leads to its node."""
    lines = run_on(sample(), "find /image/cluster -type f").out.splitlines()
    found = rows("find /image/cluster -type f --output json --columns all -true", form="")
    assert lines == [row["path"] for row in found]
    listed = {row["path"]: row for row in rows("ls -R /image/cluster")}
    shared = [key for key in found[0] if key in listed[lines[0]]]
    assert [{key: listed[row["path"]][key] for key in shared} for row in found] == [
        {key: row[key] for key in shared} for row in found
    ]
    told = run_on(sample(), "grep -n PLAINTEXT /image/cluster").out.splitlines()
    matched = rows("grep PLAINTEXT /image/cluster")
    assert told == [f"{row['path']}:{row['line']}: {row['text']}" for row in matched]
    indented = run_on(sample(), "tree /image/features").out.splitlines()
    nodes = rows("tree /image/features")
    assert indented == [
        line for row in nodes for line in (f"{row['name']}:", f"  {row['text']}") if row["text"]
    ]
    for row in (*found, *nodes):
        assert row["kind"] == "leaf"
        assert 0 == run_on(sample(), f"cat '{row['path']}'").status


@pytest.mark.long
def test_fleet(tmp_path: Path) -> None:
    """A row for each directory, and for each that is compared."""
    fleet = open_fleet(sorted(map(str, backups(tmp_path / "backups").iterdir())))

    def on_fleet(line: str) -> Any:
        ran = run(fleet.root, line, source=fleet)
        return json.loads(ran.out)

    lines = run(fleet.root, "fleet", source=fleet).out.splitlines()[1:]  # type: ignore[arg-type]
    for line, row in zip(lines, on_fleet("fleet -o json"), strict=True):
        cells = [row["cluster"], row["cluster_id"], row["node_id"], row["brokers"]]
        assert list(map(str, cells)) == line.split()[:4]
        end = [row["offset"], row["log_epoch"], row["log_end_offset"], row["time"], row["faults"]]
        assert list(map(str, end)) == line.split()[-6:-1]
    sorted_by = on_fleet("fleet -o json --sort -topics,cluster")
    amounts = [row["topics"] for row in sorted_by]
    assert sorted(amounts, reverse=True) == amounts
    ran = run(fleet.root, "fleet --verify", source=fleet)  # type: ignore[arg-type]
    lines = [line.split() for line in ran.out.splitlines()[1:]]
    for cells, row in zip(lines, on_fleet("fleet --verify -o json"), strict=True):
        names = ("cluster", "cluster_id", "offset", "last_offset", "checksum", "verdict")
        assert [str(row[name]) for name in names] == cells[:6]
    paths = [row["path"] for row in on_fleet("ls -o json /clusters/*/image/cluster")]
    names = run(fleet.root, "ls /clusters", source=fleet).out.split()  # type: ignore[arg-type]
    assert names == sorted({path.split("/")[2] for path in paths})


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "line",
    [
        "log --checkpoints --type UserScramCredential,DelegationToken,Config",
        "log --type UserScramCredential,DelegationToken,Config",
        "changes /image/scram /image/delegationToken /image/configs",
        "diff 0 end",
    ],
)
@pytest.mark.parametrize("name", ["real-44-live", "real-40-static"])
def test_secrets_stay_redacted(name: str, line: str) -> None:
    """No form has a word of what --show-secrets alone shows."""
    bare = run_on(opened(name, show_secrets=True), f"{line} -o jsonl").out
    safe = run_on(opened(name), f"{line} -o jsonl").out
    secrets = {
        word
        for word in re.findall(r'"((?:[^"\\]|\\.)*)"', bare)
        if word not in safe and len(word) > 3
    }
    assert secrets
    for form in ("csv", "yaml", "table", "tsv", "json"):
        told = run_on(opened(name), f"{line} -o {form}").out
        assert [] == [secret for secret in secrets if secret in told]


# The writer.

COLUMNS: tuple[Column, ...] = (
    text("name", "A text."),
    integer("count", "A number."),
    time_at("at", "A time."),
    flag("is_so", "A flag."),
    number("part", "A float."),
    integers("ids", "Numbers."),
    texts("names", "Texts."),
    json_value("value", "Anything."),
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text('aé\n"\\\x1b☃,', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
TEXTS = st.text("ab ,\"'\\\n\r\té☃\x00\x1b", max_size=6)
RECORDS = st.fixed_dictionaries(
    {
        "name": st.none() | TEXTS,
        "count": st.none() | st.integers(-(2**63), 2**63 - 1),
        "at": st.none() | st.integers(0, 4_000_000_000_000),
        "is_so": st.none() | st.booleans(),
        "part": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "ids": st.none() | st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
        "names": st.none() | st.lists(TEXTS, max_size=3),
        "value": st.none() | JSON_VALUES,
    }
)


def shape(form: str, **changes: Any) -> Shape:
    """All columns in a form."""
    settings = {"sort": (), "count": False, **changes}
    return Shape(form, tuple(column.name for column in COLUMNS), **settings)


def written(pieces: list[list[Mapping[str, Any]]], wanted: Shape) -> tuple[str, int]:
    """What a writer makes of records that come in pieces."""
    out = Captured()
    context = Context(root=sample().root, out=out, warn=lambda _: None)
    writer = RowWriter(context, COLUMNS, wanted)
    for piece in pieces:
        writer.add(piece)
    n_rows = writer.close()
    return "".join(out.parts), n_rows


@given(st.lists(st.lists(RECORDS, max_size=3), max_size=4))
def test_pieces_make_a_whole(pieces: list[list[Mapping[str, Any]]]) -> None:
    """However rows come, each form is one text, and says what the records say."""
    records = [record for piece in pieces for record in piece]
    for form in ("json", "jsonl", "csv", "tsv", "yaml", "table"):
        told, n_rows = written(pieces, shape(form))
        assert (told, n_rows) == written([records], shape(form))
        assert len(records) == n_rows
    read = json.loads(written(pieces, shape("json"))[0])
    assert records == [{**row, "at": ms_of(row["at"])} for row in read]
    lines = written(pieces, shape("jsonl"))[0].split("\n")[:-1]
    assert read == [json.loads(line) for line in lines]
    assert read == yaml.safe_load(written(pieces, shape("yaml"))[0])
    header, *cells = csv.reader(io.StringIO(written(pieces, shape("csv"))[0], newline=""))
    assert [column.name for column in COLUMNS] == header
    for record, row in zip(records, cells, strict=True):
        assert (record["name"] or "", record["value"]) == (row[0], json.loads(row[-1] or "null"))


@given(st.lists(st.lists(RECORDS, max_size=3), max_size=4), st.booleans())
def test_sorted_and_counted(pieces: list[list[Mapping[str, Any]]], down: bool) -> None:
    """Sorting looks at all pieces; the number needs none of the values."""
    records = [record for piece in pieces for record in piece]
    told = json.loads(written(pieces, shape("json", sort=(("count", down),)))[0])
    known = [r["count"] for r in records if r["count"] is not None]
    n_unknown = len(records) - len(known)
    assert [*sorted(known, reverse=down), *[None] * n_unknown] == [row["count"] for row in told]
    assert (f"{len(records)}\n", len(records)) == written(pieces, shape("json", count=True))


def test_rows_are_written_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form for programs does not wait for the end; what was written is not kept."""
    monkeypatch.setattr(stream, "_CHUNK_MAPPINGS", 100)
    record = {"name": "a", "count": 1}
    for form in ("json", "jsonl", "csv", "tsv", "yaml"):
        out = Captured()
        context = Context(root=sample().root, out=out, warn=lambda _: None)
        taken = 0

        def records(out: Captured = out) -> Iterator[Mapping[str, Any]]:
            nonlocal taken
            for _ in range(1_000):
                taken += 1
                if taken == 500:
                    assert "".join(out.parts)
                yield record

        writer = RowWriter(context, COLUMNS, shape(form))
        writer.add(records())
        assert 1_000 == writer.close()


def test_a_cancelled_command_ends() -> None:
    """Between two pieces."""
    out = Captured()
    context = Context(root=sample().root, out=out, warn=lambda _: None, cancelled=lambda: True)
    with pytest.raises(KeyboardInterrupt):
        RowWriter(context, COLUMNS, shape("csv")).add([{"name": "a"}])


def test_odd_values() -> None:
    """Lone surrogates and numbers that JSON has not are written as what comes nearest."""
    record = {
        "name": "a\ud800",
        "names": ["\udfff"],
        "value": {"a": float("nan"), "b": "\ud800", "c": [float("inf")]},
    }
    for form in ("json", "jsonl", "csv", "tsv", "yaml", "table"):
        written([[record]], shape(form))[0].encode()
    (row,) = json.loads(written([[record]], shape("json"))[0])
    assert {"a": None, "b": "\ud800", "c": [None]} == row["value"]
    assert "a\\ud800" == row["name"]


def test_control_characters_do_not_reach_a_table() -> None:
    """JSON in a table is escaped as every cell is."""
    out, _ = written([[{"value": "\x1b[2J\u202e", "name": "\x1b]0;x\x07"}]], shape("table"))
    assert not {"\x1b", "\x07", "\u202e"}.intersection(out)
