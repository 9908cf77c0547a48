"""``sql``: what is written, of what, and the mode of the shell."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands import get
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.commands.framework.run import run_line
from metashell.errors import ExitCode
from metashell.parts.known import coordinator_parts
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.sql.tables import image_names
from support.fixtures import DEMO, SAMPLE, fixture
from support.fleets import backups
from support.live import Cluster
from support.logs import make_directory, record, topic_batch
from support.shell import Captured, Ran, run_on


@pytest.fixture(scope="module")
def sample() -> Source:
    """The bundled cluster."""
    return metashell.open(SAMPLE)


def objects(ran: Ran) -> list[dict[str, object]]:
    """JSON lines."""
    assert (0, ()) == (ran.status, ran.err), ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def test_every_format_has_the_rows(sample: Source) -> None:
    """As rows of all commands are written."""
    query = '"select topic, partitions from topics order by topic limit 2"'
    expected = [{"topic": "...", "partitions": 1}, {"topic": "10", "partitions": 1}]
    assert expected == objects(run_on(sample, f"sql -o jsonl {query}"))
    assert expected == json.loads(run_on(sample, f"sql -o json {query}").out)
    assert "topic\tpartitions\n...\t1\n10\t1\n" == run_on(sample, f"sql -o tsv {query}").out
    assert (
        "TOPIC  PARTITIONS\n...             1\n10              1\n"
        == run_on(sample, f"sql {query}").out
    )
    assert "- topic: " in run_on(sample, f"sql -o yaml {query}").out


def test_manual_names_the_tables() -> None:
    """Those of the image, with each part's, and those of the log and of coordinators."""
    command = get("sql")
    assert command is not None
    words = set(command.manual.description.replace(",", " ").replace(".", " ").split())
    assert {*image_names(), *coordinator_parts()} <= words


def test_rows_for_programs_come_as_they_are_made(sample: Source) -> None:
    """Many batches are one text: a header once, one array."""
    query = '"select i, [i] as l from range(100000) t(i)"'
    wanted = list(range(100_000))
    rows = list(csv.DictReader(io.StringIO(run_on(sample, f"sql -o csv {query}").out)))
    assert wanted == [int(row["i"]) for row in rows]
    lines = run_on(sample, f"sql -o tsv {query}").out.splitlines()
    assert ["i\tl", *(f"{i}\t{i}" for i in wanted)] == lines
    assert wanted == [row["i"] for row in json.loads(run_on(sample, f"sql -o json {query}").out)]
    assert wanted == [row["i"] for row in objects(run_on(sample, f"sql -o jsonl {query}"))]
    assert "100000\n" == run_on(sample, f"sql --count {query}").out


def test_no_rows_are_no_rows(sample: Source) -> None:
    """In the form of each format."""
    query = '"select topic from topics where false"'
    assert "[]\n" == run_on(sample, f"sql -o json {query}").out
    assert "" == run_on(sample, f"sql -o jsonl {query}").out
    assert "topic\n" == run_on(sample, f"sql -o csv {query}").out
    assert "TOPIC\n" == run_on(sample, f"sql {query}").out
    assert "[]\n" == run_on(sample, f"sql -o yaml {query}").out


def test_options_of_rows_count(sample: Source) -> None:
    """Chosen columns, an order, and an exit status."""
    query = '"select i as a, i % 3 as b from range(4) t(i)"'
    ran = run_on(sample, f"sql -o jsonl --sort -b --columns b {query}")
    assert [{"b": 2}, {"b": 1}, {"b": 0}, {"b": 0}] == objects(ran)
    assert ExitCode.FAILED == run_on(sample, 'sql --exit-code "select 1"').status
    assert ExitCode.OK == run_on(sample, 'sql --exit-code "select 1 where false"').status
    ran = run_on(sample, 'sql --columns c "select 1 as a"')
    assert (ExitCode.USAGE, "") == (ran.status, ran.out)
    assert ("sql: --columns: there is no column c", "  hint: the columns are a") == ran.err


def test_several_statements(sample: Source) -> None:
    """In order; what one makes the next one sees; what makes something prints nothing."""
    text = "create temp table t as select 1 as a; insert into t values (2); from t order by a"
    assert [{"a": 1}, {"a": 2}] == objects(run_on(sample, f'sql -o jsonl "{text}"'))
    assert [{"a": 1}, {"a": 2}] == objects(
        run_on(sample, 'sql -o jsonl "select 1 a; ;select 2 a;"')
    )


def test_words_need_no_quotes(sample: Source) -> None:
    """Where the line has nothing special in it."""
    assert "59\n" == run_on(sample, "sql --count select topic from topics").out


def test_errors_are_lines(sample: Source) -> None:
    """Never a traceback."""
    ran = run_on(sample, 'sql "select * from topicz"')
    assert (ExitCode.USAGE, "") == (ran.status, ran.out)
    assert ("sql: there is no table topicz", "  hint: did you mean topics?") == ran.err
    ran = run_on(sample, 'sql "select chr(27) || chr(10) as x, 1/0 as y"')
    assert "\x1b" not in ran.out
    assert 2 == len(ran.out.splitlines())


@pytest.mark.long
def test_tables_and_schemas(sample: Source) -> None:
    """All that there are, each with its columns, which a query has as well."""
    tables = [row["table"] for row in objects(run_on(sample, "sql -o jsonl .tables"))]
    assert {*sample.tables, "records", "files", "faults", "PartitionChangeRecord"} < set(tables)
    columns = objects(run_on(sample, "sql -o jsonl .schema"))
    for table in tables:
        ran = run_on(sample, f'sql -o csv "select * from {table} limit 0"')
        header = ran.out.strip().split(",")
        assert header == [row["column"] for row in columns if row["table"] == table], table
    types = objects(run_on(sample, 'sql -o jsonl "describe partitions"'))
    shown = objects(run_on(sample, "sql -o jsonl .schema PARTITIONS"))
    assert [(r["column_name"], r["column_type"]) for r in types] == [
        (r["column"], r["type"]) for r in shown
    ]
    ran = run_on(sample, "sql .schema partition")
    assert ("sql: there is no table partition", "  hint: did you mean partitions?") == ran.err


def test_a_plan_is_text(sample: Source) -> None:
    """Not a cell of a table."""
    lines = run_on(sample, 'sql "explain select leader from partitions"').out.splitlines()
    assert any("Scan" in line or "SCAN" in line for line in lines)


@pytest.mark.long
def test_statements_on_standard_input() -> None:
    """Where there is no terminal; nothing is an error."""
    program = [sys.executable, "-m", "metashell", "demo", "sql", "-o", "jsonl"]
    ran = subprocess.run(
        program,
        input="select 1 as a;\nselect 'b;' as a\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert '{"a": 1}\n{"a": "b;"}\n' == ran.stdout
    assert "" == ran.stderr
    ran = subprocess.run(program, input=" \n", capture_output=True, text=True, check=False)
    assert ExitCode.USAGE == ran.returncode
    assert ran.stderr.startswith("sql: no statement given\n")


@pytest.mark.long
def test_rows_left_unread_end_with_the_program() -> None:
    """No thread goes on reading records when the program ends."""
    program = [sys.executable, "-m", "metashell", "demo", "sql", "-o", "jsonl"]
    ran = subprocess.run(
        [*program, "select 1 as a from records limit 1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ('{"a": 1}\n', "") == (ran.stdout, ran.stderr)


@pytest.mark.long
def test_secrets_can_not_be_guessed(tmp_path: Path) -> None:
    """No statement sees what redaction hides; with --show-secrets it does."""
    values = [
        record("ConfigRecord", resource_type=4, resource_name="1", name=key, value="hunter22")
        for key in ("listener.name.sasl_ssl.ssl.keystore.password", "nobody.knows.this")
    ]
    values.append(
        record(
            "UserScramCredentialRecord",
            name="alice",
            mechanism=1,
            salt=b"hunter22",
            stored_key=b"hunter22",
            server_key=b"hunter22",
            iterations=4096,
        )
    )
    directory = make_directory(tmp_path, (0, encode_batch(values, base_offset=0)))
    hidden = metashell.open(directory)
    shown = metashell.open(directory, show_secrets=True)
    for query, n in (
        ("configs where value like '%hunter%'", 2),
        ("ConfigRecord where value like '%hunter%'", 2),
        ("records where value like '%hunter%'", 2),
        ("scram_credentials where salt = 'hunter22'::blob", 1),
        ("UserScramCredentialRecord where 'hunter22'::blob in (salt, stored_key, server_key)", 1),
    ):
        line = f'sql --count "from {query}"'
        assert ("0\n", f"{n}\n") == (run_on(hidden, line).out, run_on(shown, line).out), query


def test_records_up_to_an_earlier_state() -> None:
    """The image's tables and the records are those of the point that was gone to."""
    newest = metashell.open(fixture("real-44-trimmed").input)
    low, high = newest.history.range()
    point = (low + high) // 2
    earlier = newest.at(point)
    query = r"select max(\"offset\") as o from records where file like $$%.log$$"
    last = objects(run_on(earlier, f'sql -o jsonl "{query}"'))[0]["o"]
    assert isinstance(last, int)
    assert earlier.moment_offset is not None
    assert last <= earlier.moment_offset
    counted = run_on(earlier, 'sql --count "select * from topics"').out
    assert f"{len(earlier.table('topics'))}\n" == counted


def test_history_knows_when(sample: Source) -> None:
    """What the newest checkpoint forgot."""
    query = '"select count(*) as n from partitions where created_offset is not null"'
    plain = objects(run_on(sample, f"sql -o jsonl {query}"))[0]["n"]
    whole = objects(run_on(sample, f"sql -o jsonl --history {query}"))[0]["n"]
    assert isinstance(plain, int)
    assert isinstance(whole, int)
    assert whole >= plain


def test_a_fleet_has_a_column_in_front(tmp_path: Path) -> None:
    """All clusters, or the one of the current directory; who can't be read is told of."""
    backups(tmp_path)
    (tmp_path / "broken" / "__cluster_metadata-0").mkdir(parents=True)
    fleet = open_fleet([str(path) for path in tmp_path.iterdir()])
    out, warnings = Captured(), list[str]()
    context = Context(root=fleet.root, out=out, warn=warnings.append, fleet=fleet)
    assert ExitCode.FAILED == run_line(
        context, 'sql -o csv "select cluster, count(*) as n from topics group by all order by all"'
    )
    expected = {
        name: len(member.source().table("topics"))
        for name, member in fleet.members.items()
        if name != "broken"
    }
    lines = [f"{name},{n}" for name, n in sorted(expected.items())]
    assert ["cluster,n", *lines] == "".join(out.parts).splitlines()
    assert any("broken" in line for line in warnings)
    name = next(iter(expected))
    out.parts.clear()
    context.cwd = f"/clusters/{name}/image"
    assert ExitCode.OK == run_line(context, 'sql -o csv "select count(*) as n from topics"')
    assert f"n\n{expected[name]}\n" == "".join(out.parts)
    ran = run_line(context, 'sql "select cluster from topics"')
    assert ExitCode.USAGE == ran


def shell(source: Source) -> tuple[Context, Captured, list[str]]:
    """The context of a shell."""
    out, warnings = Captured(), list[str]()
    context = Context(
        root=source.root, out=out, warn=warnings.append, source=source, interactive=True
    )
    return context, out, warnings


def test_tables_of_a_live_source_follow_it() -> None:
    """The connection stays, and what it made."""
    cluster = Cluster(topic_batch(0, 1))
    source = cluster.source()
    context, out, _ = shell(source)
    run_line(context, 'sql "create temp table mine as select topic from topics"')
    cluster.commit(topic_batch(1, 1))
    context.source = source.refreshed()
    run_line(
        context, 'sql -o jsonl "select count(*) as n, (select count(*) from mine) as m from topics"'
    )
    assert '{"n": 2, "m": 1}\n' == "".join(out.parts)


def test_the_mode_takes_lines_until_a_semicolon(sample: Source) -> None:
    """Several make a statement; one may hold several; options hold for each."""
    context, out, warnings = shell(sample)
    run_line(context, "sql -o jsonl")
    mode = context.mode
    assert mode is not None
    assert "sql> " == mode.prompt
    assert ExitCode.OK == mode.run(context, "select 1 as a,")
    assert "...> " == mode.prompt
    assert ExitCode.OK == mode.run(context, "2 as b; select 3 as a; select")
    assert "...> " == mode.prompt
    assert '{"a": 1, "b": 2}\n{"a": 3}\n' == "".join(out.parts)
    mode.give_up()
    assert "sql> " == mode.prompt
    assert ExitCode.OK == mode.run(context, ".tables")
    assert ExitCode.OK == mode.run(context, ".schema topics;")
    assert ExitCode.OK == mode.run(context, ".help")
    assert ExitCode.USAGE == mode.run(context, ".nope")
    assert ["sql: .nope: unknown; .help lists what there is"] == warnings
    assert ExitCode.USAGE == mode.run(context, "select * from nowhere;")
    assert ExitCode.OK == mode.run(context, "select '-o' as a; -- done")
    assert '{"a": "-o"}\n' == out.parts[-1]
    mode.run(context, ".exit")
    assert context.mode is None


def proposals(context: Context, line: str) -> list[str]:
    """What completion shows."""
    return [one.display for one in complete_line(context, line)]


def test_completion_inside_of_a_statement(sample: Source) -> None:
    """Tables where one must stand, columns of those named, keywords; nothing inside of texts."""
    context, _, _ = shell(sample)
    assert ["partitions", "PartitionChangeRecord", "PartitionRecord"] == proposals(
        context, 'sql "select * from part'
    )
    assert "topics" in proposals(context, 'sql "select * from ')
    assert ["leader", "leader_recovery_state", "leader_epoch", "LeaderChangeMessage"] == proposals(
        context, 'sql "select * from partitions where leader'
    )
    assert ["where"] == proposals(context, 'sql "select * from topics wher')
    assert [] == proposals(context, "sql \"select * from topics where topic = 'fro")
    assert ["--history"] == proposals(context, "sql --h")
    assert "csv" in proposals(context, "sql -o ")
    assert [".schema"] == proposals(context, "sql .s")
    assert ["topics", "TopicRecord"] == proposals(context, "sql .schema topic")


def test_completion_of_the_mode_sees_lines_before(sample: Source) -> None:
    """A statement goes over several."""
    context, _, _ = shell(sample)
    run_line(context, "sql")
    assert context.mode is not None
    context.mode.run(context, "select topic from topics")
    shown = [one.display for one in context.mode.complete(context, "where part")]
    assert "partitions" in shown
    shown = [kind for kind, _ in context.mode.highlight("select 'a' -- b")]
    assert ["command", "space", "quote", "space", "comment"] == shown


def test_manuals_import_no_database() -> None:
    """Nor does completion of the command's name."""
    assert get("sql") is not None
    code = (
        "import sys; from metashell.cli import main; main(['demo', 'man', 'sql']); "
        "sys.stderr.write(str({'duckdb', 'pyarrow'} & {*sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "set()" == ran.stderr


def test_findings_are_a_table() -> None:
    """The rows of `health`, with its columns; the table is listed, and found in any case."""
    with metashell.open(DEMO) as source:
        told = json.loads(run_on(source, "health -o json").out)
        found = run_on(source, 'sql "select * from FINDINGS" -o json')
        assert (0, ()) == (found.status, found.err)
        assert told == json.loads(found.out)
        names = run_on(source, "sql .tables").out
    assert "findings" in names.split()
