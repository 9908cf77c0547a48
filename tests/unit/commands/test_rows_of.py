"""``-o`` on commands that have an output of their own: the same facts, under documented names."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import metashell
from metashell.commands import all_names, get
from metashell.commands.base import Command, Context
from metashell.commands.complete import complete_line
from metashell.commands.rows_of import (
    Field,
    Kind,
    TabularCommand,
    integer,
    of_kind,
    text,
    time_at,
    write_records,
)
from metashell.commands.rows_output import Shape
from metashell.commands.rows_stream import RowWriter
from metashell.fleet import open_fleet
from metashell.source import Source
from support.fixtures import fixture, fixture_names
from support.fleets import SAMPLE, backups
from support.shell import Captured, Ran, run, run_on

COMMANDS = [command for name in all_names() if (command := get(name)) is not None]
TABULAR = [command for command in COMMANDS if isinstance(command, TabularCommand)]
WITH_COLUMNS = [command for command in COMMANDS if command.manual.columns]
PATHS = "/image/configs/* /image/topics/byName/orders /image/topics/byName/orders/*"

Row = dict[str, Any]


@cache
def sample() -> Source:
    """The bundled directory."""
    return metashell.open(SAMPLE)


@cache
def opened(name: str) -> Source:
    """A fixture."""
    found = fixture(name)
    return (metashell.open if found.kind == "directory" else metashell.open_file)(found.input)


def rows(line: str, source: Source | None = None) -> list[Row]:
    """Run a command and read the rows that it writes as JSON."""
    found: list[Row] = json.loads(run_on(source or sample(), f"{line} -o json").out)
    return found


def objects(line: str, source: Source | None = None) -> list[Row]:
    """Run a command with --json and read its lines."""
    out = run_on(source or sample(), f"{line} --json").out
    return [json.loads(one) for one in out.split("\n")[:-1]]


def value(line: str, source: Source | None = None) -> Row:
    """Run a command with --json and read the one object that it prints."""
    found: Row = json.loads(run_on(source or sample(), f"{line} --json").out)
    return found


def ms(time: str | None) -> int | None:
    """A time as JSON rows have it."""
    if time is None:
        return None
    moment = datetime.fromisoformat(time.replace("Z", "+00:00"))
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


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
    ran = run_on(sample(), f"{line} -o csv")
    assert (columns, ()) == (next(csv.reader(io.StringIO(ran.out))), errors(ran))
    for row in rows(line):
        assert columns == list(row)
    assert [] == [name for name in columns if not re.fullmatch("[a-z]+(_[a-z]+)*", name)]
    assert len(columns) == len(set(columns))


def errors(ran: Ran) -> tuple[str, ...]:
    """Diagnostics of a command that failed."""
    return ran.err if ran.status > 1 else ()


@pytest.mark.parametrize("command", TABULAR, ids=lambda command: command.name)
def test_every_form_and_option(command: TabularCommand) -> None:
    """Every form, --columns, --sort and --count go with each command."""
    line = command.manual.examples[0][0]
    found = rows(line)
    last = command.tables[0].fields[-1].name
    whole = [json.loads(one) for one in run_on(sample(), f"{line} -o jsonl").out.splitlines()]
    as_yaml = yaml.safe_load(run_on(sample(), f"{line} -o yaml").out)
    table = run_on(sample(), f"{line} -o table").out.splitlines()
    names = run_on(sample(), f"{line} -o tsv --columns {last}").out.splitlines()

    assert found == whole == as_yaml
    assert f"{len(found)}\n" == run_on(sample(), f"{line} --count").out
    assert len(found) + 1 == len(table) == len(names)
    assert last == names[0]
    back = rows(f"{line} --sort -{last}")
    assert sorted(map(repr, found)) == sorted(map(repr, back))
    unknown = [row[last] is None for row in back]
    assert sorted(unknown) == unknown


@pytest.mark.parametrize("command", TABULAR, ids=lambda command: command.name)
def test_unknown_columns_and_formats(command: TabularCommand) -> None:
    """They are refused, with what was probably meant."""
    line = command.manual.examples[0][0]
    first = command.tables[0].fields[0].name
    ran = run_on(sample(), f"{line} -o csv --columns {first}x")
    assert (2, "") == (ran.status, ran.out)
    assert f"did you mean {first}?" in ran.err[-1]
    ran = run_on(sample(), f"{line} -o xml")
    assert (2, "") == (ran.status, ran.out)
    assert "table, json, jsonl, csv, tsv, yaml" in ran.err[0]


@pytest.mark.parametrize("command", TABULAR, ids=lambda command: command.name)
def test_own_json_and_rows_exclude_each_other(command: TabularCommand) -> None:
    """Nothing says which is meant."""
    if not any("--json" in option.flags for option in command.manual.options):
        pytest.skip("it has no --json")
    ran = run_on(sample(), f"{command.manual.examples[0][0]} --json -o csv")
    assert (2, "") == (ran.status, ran.out)
    assert "-o and --json exclude each other" in ran.err[0]


@pytest.mark.parametrize("command", TABULAR, ids=lambda command: command.name)
def test_exit_code(command: TabularCommand) -> None:
    """--exit-code is 1 for any row."""
    line = command.manual.examples[0][0]
    expected = 1 if rows(line) else 0
    assert expected == run_on(sample(), f"{line} -o csv --exit-code").status


@pytest.mark.parametrize("command", TABULAR, ids=lambda command: command.name)
def test_completion(command: Command) -> None:
    """Formats, columns, and columns to sort by."""
    context = Context(root=sample().root, out=Captured(), warn=lambda _: None, source=sample())

    def proposed(line: str) -> list[str]:
        return [completion.text for completion in complete_line(context, line)]

    name, first = command.name, command.manual.columns[0][0]
    assert ["json", "jsonl"] == proposed(f"{name} -o js")
    assert first in proposed(f"{name} -o csv --columns ")
    assert f"-{first}" in proposed(f"{name} -o csv --sort -{first[:2]}")
    for asked_by, columns in command.manual.other_columns:
        assert [c for c, _ in columns] == proposed(f"{name} {asked_by} --columns ")


# The same facts as --json.


@pytest.mark.parametrize("name", fixture_names())
def test_log(name: str) -> None:
    """Every record of every fixture, those that can't be decoded too."""
    source = opened(name)
    theirs, ours = objects("log --all", source), rows("log --all", source)
    assert len(theirs) == len(ours)
    for their, our in zip(theirs, ours, strict=True):
        same = ("offset", "epoch", "version", "topic", "data", "file", "pos", "error", "raw")
        assert {key: their.get(key) for key in same} == {key: our[key] for key in same}
        assert their.get("control", their.get("type")) == our["type"]
        assert ("control" in their) is our["control"]
        assert their["timestamp"] == (-1 if our["time"] is None else ms(our["time"]))


@pytest.mark.parametrize(
    "options",
    [
        "--tail 5",
        "--limit 7 --type PartitionChange",
        "--grep leader=-1",
        "--checkpoints",
        "--topic orders --tail 3",
        "--offset 3400 --context 3",
    ],
)
def test_log_options(options: str) -> None:
    """They choose the same records, and the same diagnostics come."""
    theirs, ours = objects(f"log {options}"), rows(f"log {options}")
    assert [their["offset"] for their in theirs] == [our["offset"] for our in ours]
    assert theirs
    assert run_on(sample(), f"log {options}").err == run_on(sample(), f"log {options} -o csv").err


def test_log_reads_only_the_columns_asked_for() -> None:
    """Each column alone is what it is beside all others."""
    whole = rows("log --all --limit 300")
    for name in whole[0]:
        alone = rows(f"log --all --limit 300 --columns {name}")
        assert [{name: row[name]} for row in whole] == alone


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("-o json", "-o json"),
        ("-o yaml", "-o yaml"),
        ("-o table", "-o table"),
        ("-o csv --sort time", "--sort"),
        ("--count", "--count"),
    ],
)
def test_log_follows_only_what_has_no_end(options: str, what: str) -> None:
    """A form that needs all records is refused at once."""
    ran = run_on(sample(), f"log -f {options}")
    assert (2, "") == (ran.status, ran.out)
    assert f"{what} needs all records" in ran.err[0]


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv"])
def test_log_follow(form: str) -> None:
    """The names of columns come once, the rows as without --follow."""
    followed = run_on(sample(), f"log -f --limit 5 -o {form}")
    assert run_on(sample(), f"log --limit 5 -o {form}").out == followed.out
    assert 0 == followed.status


@pytest.mark.parametrize("options", ["", "-n 3", "--since 3600", "--until 3000"])
def test_changes(options: str) -> None:
    """Every change, with the values of fields from and to."""
    line = f"changes {options} /image/configs /image/topics/byName/orders"
    theirs, ours = objects(line), rows(line)
    assert theirs
    for their, our in zip(theirs, ours, strict=True):
        same = ("path", "offset", "at_or_before", "epoch", "controller", "type", "change", "fields")
        assert {key: their[key] for key in same} == {key: our[key] for key in same}
        assert (their["timestamp"], their.get("reason")) == (ms(our["time"]), our["reason"])


def test_changes_of_what_never_was() -> None:
    """It fails as without rows."""
    ran = run_on(sample(), "changes -o csv /image/topics/byName/never")
    assert 1 == ran.status
    assert "never" in ran.err[0]
    assert 1 == len(ran.out.splitlines())


@pytest.mark.parametrize("name", fixture_names())
def test_check(name: str) -> None:
    """Every finding, and the same exit status."""
    source = opened(name)
    assert objects("check", source) == rows("check", source)
    assert run_on(source, "check").status == run_on(source, "check -o csv").status


def test_checksum() -> None:
    """The parts, then the whole."""
    told, found = value("checksum"), rows("checksum --parts")
    assert told["parts"] == {row["part"]: row["checksum"] for row in found[:-1]}
    for row in found:
        assert (told["offset"], told["epoch"], told["secrets"]) == (
            row["offset"],
            row["epoch"],
            row["secrets"],
        )
    assert [{**found[-1], "part": None, "checksum": told["digest"]}] == rows("checksum")


@pytest.mark.parametrize("options", ["3499 end", "--all 3400 end", "3499 3499"])
def test_diff(options: str) -> None:
    """Every difference, and 1 where there is one."""
    theirs, ours = objects(f"diff {options}"), rows(f"diff {options}")
    for their, our in zip(theirs, ours, strict=True):
        expected = {"topic_id": their.pop("topicId", None), **their}
        nothing = dict.fromkeys(("partitions", "fields", "value"))
        assert {**nothing, **expected} == our
    ran = run_on(sample(), f"diff {options} -o csv")
    assert run_on(sample(), f"diff {options}").status == ran.status


def test_diff_counts() -> None:
    """--stat has a row for each part that differs."""
    lines = run_on(sample(), "diff --stat 3499 end").out.splitlines()
    told = [[line.split()[0], *re.findall(r"[+~-](\d+)", line)] for line in lines]
    found = rows("diff --stat 3499 end")
    assert told == [[str(cell) for cell in row.values()] for row in found]
    assert 2 == run_on(sample(), "diff --quiet 3499 end -o csv").status


@pytest.mark.parametrize("by", ["type", "topic", "hour", "file", "partition", "broker"])
def test_du(by: str) -> None:
    """Every row, without the total."""
    told, found = value(f"du --by {by}"), rows(f"du --by {by}")
    for their, our in zip(told["rows"], found, strict=True):
        assert (their["bytes"], their["records"]) == (our["bytes"], our["records"])
        assert pytest.approx(their["bytes"] / told["total"]["bytes"]) == our["share"]
        match by:
            case "partition":
                assert their["name"] == f"{our['topic']}-{our['partition']}"
                assert their["topicId"] == our["topic_id"]
            case "topic":
                assert (their["name"], their["topicIds"]) == (our["topic"], our["topic_ids"])
            case "broker":
                assert their["broker"] == our["broker"]
            case _:
                assert their["name"] == our[by]
    assert 2 == len(rows(f"du --by {by} -n 2")) or len(found) < 2


@pytest.mark.parametrize(
    "section", ["totals", "files", "types", "hours", "partitions", "brokers", "batches"]
)
def test_stats(section: str) -> None:
    """Every value of a section; the totals are one row."""
    told, found = value("stats")[section], rows(f"stats --section {section}")
    told = told if isinstance(told, list) else [told]
    for their, our in zip(told, found, strict=True):
        if section == "partitions":
            assert their.pop("partition") == f"{our.pop('topic')}-{our.pop('partition')}"
        if section == "files":
            assert their.pop("firstTimestamp") == ms(our.pop("first_time"))
            assert their.pop("lastTimestamp") == ms(our.pop("last_time"))
        assert sorted(map(repr, their.values())) == sorted(map(repr, our.values()))
    if section == "totals":
        assert found == rows("stats")


def test_quorum() -> None:
    """Nodes, the quorum as a whole, and leader epochs."""
    told, found = value("quorum"), rows("quorum")
    for their, our in zip(told["nodes"], found, strict=True):
        assert (their["id"], their["directoryId"]) == (our["id"], our["directory_id"])
        assert (their["status"], their["endpoints"]) == (our["status"], our["endpoints"])
        assert (their["lag"], their["onlyIn"]) == (our["lag"], our["only_in"])
    (status,) = rows("quorum --status")
    assert (told["clusterId"], told["leaderId"]) == (status["cluster_id"], status["leader"])
    assert (told["leaderEpoch"], told["timestamp"]) == (status["epoch"], ms(status["time"]))
    for their, our in zip(value("quorum --epochs")["epochs"], rows("quorum --epochs"), strict=True):
        assert (their["epoch"], their["startOffset"]) == (our["epoch"], our["start_offset"])
        assert (their["leader"], their["timestamp"]) == (our["leader"], ms(our["time"]))


def test_quorum_status_is_for_rows() -> None:
    """Alone, or beside the epochs, it says nothing."""
    assert "--status goes with -o" in run_on(sample(), "quorum --status").err[0]
    assert 2 == run_on(sample(), "quorum --status --epochs -o csv").status


def test_stat_and_ls() -> None:
    """Both tell of the same nodes; ls of the children of directories."""
    theirs, ours = objects(f"stat {PATHS}"), rows(f"stat {PATHS}")
    assert theirs
    for their, our in zip(theirs, ours, strict=True):
        assert (their["path"], their["type"]) == (our["path"], our["kind"])
        assert their["partitions"] == our["partitions"]
        for moment in ("created", "changed"):
            parts = {key: our[f"{moment}_{key}"] for key in ("offset", "epoch", "time", "type")}
            parts["at_or_before"] = our[f"{moment}_at_or_before"]
            told = their[moment] or dict.fromkeys([*parts, "timestamp"])
            assert told.pop("timestamp") == ms(parts["time"])
            assert told == parts
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


def test_fleet(tmp_path: Path) -> None:
    """A row for each directory, and for each that is compared."""
    fleet = open_fleet(sorted(map(str, backups(tmp_path / "backups").iterdir())))

    def on_fleet(line: str) -> Any:
        ran = run(fleet.root, line, source=fleet)  # type: ignore[arg-type]
        return json.loads(ran.out)

    for their, our in zip(
        on_fleet("fleet --json")["directories"], on_fleet("fleet -o json"), strict=True
    ):
        assert their.pop("timestamp") == ms(our.pop("time"))
        assert sorted(map(repr, their.values())) == sorted(map(repr, our.values()))
        assert (their["clusterId"], their["underReplicated"]) == (
            our["cluster_id"],
            our["under_replicated"],
        )
    sorted_by = on_fleet("fleet -o json --sort -topics,cluster")
    amounts = [row["topics"] for row in sorted_by]
    assert sorted(amounts, reverse=True) == amounts
    theirs = [
        {**member, "clusterId": cluster["clusterId"], "offset": cluster["offset"]}
        for cluster in on_fleet("fleet --verify --json")["clusters"]
        for member in cluster["directories"]
    ]
    for their, our in zip(theirs, on_fleet("fleet --verify -o json"), strict=True):
        assert (their["name"], their["clusterId"]) == (our["cluster"], our["cluster_id"])
        same = ("offset", "checksum", "verdict", "directory", "error")
        assert {key: their[key] for key in same} == {key: our[key] for key in same}
        assert their["lastOffset"] == our["last_offset"]
    paths = [row["path"] for row in on_fleet("ls -o json /clusters/*/image/cluster")]
    names = run(fleet.root, "ls /clusters", source=fleet).out.split()  # type: ignore[arg-type]
    assert names == sorted({path.split("/")[2] for path in paths})


def test_own_output_does_not_change() -> None:
    """Without these options fleet sorts by the words that it always took."""
    assert 0 == run_on(sample(), "fleet --sort under-replicated").status
    assert "under_replicated" in run_on(sample(), "fleet --sort under-replicated -o csv").err[-1]


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
    directory = fixture(name).directory
    bare = run_on(metashell.open(directory, show_secrets=True), f"{line} -o jsonl").out
    safe = run_on(metashell.open(directory), f"{line} -o jsonl").out
    secrets = {
        word
        for word in re.findall(r'"((?:[^"\\]|\\.)*)"', bare)
        if word not in safe and len(word) > 3
    }
    assert secrets
    for form in ("csv", "yaml", "table", "tsv", "json"):
        told = run_on(metashell.open(directory), f"{line} -o {form}").out
        assert [] == [secret for secret in secrets if secret in told]


# The writer.

FIELDS: tuple[Field, ...] = (
    text("name", "A text."),
    integer("count", "A number."),
    time_at("at", "A time."),
    of_kind(Kind.FLAG, "is_so", "A flag."),
    of_kind(Kind.NUMBER, "part", "A float."),
    of_kind(Kind.INTEGERS, "ids", "Numbers."),
    of_kind(Kind.TEXTS, "names", "Texts."),
    of_kind(Kind.JSON, "value", "Anything."),
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
    return Shape(form, tuple(field.name for field in FIELDS), **settings)


def written(pieces: list[list[Mapping[str, Any]]], wanted: Shape) -> tuple[str, int]:
    """What a writer makes of records that come in pieces."""
    out = Captured()
    context = Context(root=sample().root, out=out, warn=lambda _: None)
    writer = RowWriter(context, FIELDS, wanted)
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
    assert records == [{**row, "at": ms(row["at"])} for row in read]
    lines = written(pieces, shape("jsonl"))[0].split("\n")[:-1]
    assert read == [json.loads(line) for line in lines]
    assert read == yaml.safe_load(written(pieces, shape("yaml"))[0])
    header, *cells = csv.reader(io.StringIO(written(pieces, shape("csv"))[0], newline=""))
    assert [field.name for field in FIELDS] == header
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


def test_rows_are_written_as_they_come() -> None:
    """A form for programs does not wait for the end; what was written is not kept."""
    record = {"name": "a", "count": 1}
    for form in ("json", "jsonl", "csv", "tsv", "yaml"):
        out = Captured()
        context = Context(root=sample().root, out=out, warn=lambda _: None)
        taken = 0

        def records(out: Captured = out) -> Iterator[Mapping[str, Any]]:
            nonlocal taken
            for _ in range(20_000):
                taken += 1
                if taken == 10_000:
                    assert "".join(out.parts)
                yield record

        assert 20_000 == write_records(context, shape(form), FIELDS, records())


def test_a_cancelled_command_ends() -> None:
    """Between two pieces."""
    out = Captured()
    context = Context(root=sample().root, out=out, warn=lambda _: None, cancelled=lambda: True)
    with pytest.raises(KeyboardInterrupt):
        write_records(context, shape("csv"), FIELDS, [{"name": "a"}])


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
