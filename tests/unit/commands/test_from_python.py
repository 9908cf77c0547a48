"""Rows of commands in Python: names, values, warnings and what notebooks show."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import metashell
from metashell import commands, errors
from metashell.commands import get
from metashell.commands.rows.from_python import words_of
from support.fixtures import DEMO, fixture_dir
from support.fleets import backups

_MADE_UP = """
from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import Option
from metashell.commands.rows.columns import integer, one_table, text
from metashell.commands.rows.command import RowsCommand


class GadgetsCommand(RowsCommand):
    '''List gadgets.'''

    group = "look"
    tables = one_table(text("gadget", "Its name."), integer("worn_at", "When."))
    manual = Manual("gad-gets", options=(Option(("--worn-at",), "When.", "N"),))

    def answer(self, query):
        query.add([{"gadget": "a", "worn_at": query.parsed.count("--worn-at")}])


COMMAND = GadgetsCommand()
"""


@pytest.fixture(scope="module")
def source() -> metashell.Source:
    """The bundled sample."""
    return metashell.open(DEMO)


@pytest.fixture
def damaged(tmp_path: Path) -> metashell.Source:
    """A copy of the sample with a flipped byte in its newest segment, at a path with markup."""
    directory = Path(shutil.copytree(DEMO, tmp_path / "<b>&"))
    newest = max((directory / "__cluster_metadata-0").glob("*.log"))
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 0xFF
    newest.write_bytes(data)
    return metashell.open(directory)


@pytest.fixture
def made_up_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command that stands where commands are looked for."""
    (tmp_path / "gad_gets.py").write_text(_MADE_UP)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    commands.all_names.cache_clear()
    yield
    commands.all_names.cache_clear()
    sys.modules.pop("metashell.commands.gad_gets", None)


@pytest.mark.usefixtures("made_up_command")
def test_a_command_that_is_made_up_has_rows(source: metashell.Source) -> None:
    """There is no list of commands or options beside their declarations."""
    table = source.rows("gad-gets", worn_at=7)
    assert {"gadget": pa.string(), "worn_at": pa.int64()} == dict(
        zip(table.column_names, table.schema.types, strict=True)
    )
    assert [{"gadget": "a", "worn_at": 7}] == table.to_pylist()
    with pytest.raises(metashell.UnknownNameError, match="did you mean gad-gets"):
        source.rows("gad-get")


@pytest.mark.parametrize(
    ("command", "arguments", "options", "words"),
    [
        ("partitions", ["orders", 3], {}, "orders 3"),
        ("partitions", [], {"offline": True, "elr": False, "leader": None}, "--offline"),
        ("partitions", [], {"under_min_isr": True, "leader": -1}, "--under-min-isr --leader=-1"),
        ("partitions", [], {"columns": ["topic", "leader"], "n": 1}, "--columns=topic,leader -n 1"),
        ("partitions", ["-x"], {"offline": True}, "--offline -- -x"),
        ("log", [], {"type_": ["A", "B"]}, "--type=A --type=B"),
        ("diff", [1870, "end"], {"with_": Path("/x")}, "--with=/x 1870 end"),
        (
            "find",
            ["/image"],
            {"not_": True, "limit": 2, "name": "a"},
            "--limit=2 /image -not -name a",
        ),
        (
            "changes",
            [],
            {"since": datetime(2026, 11, 22, 12, tzinfo=UTC)},
            "--since=2026-11-22T12:00:00+00:00",
        ),
    ],
)
def test_keyword_arguments_are_words(
    command: str, arguments: list[object], options: dict[str, object], words: str
) -> None:
    """Options of rows come first and tests of `find` last, as that command takes them."""
    found = get(command)
    assert found is not None
    assert ["--output=json", *words.split()] == words_of(found, arguments, options)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda s: s.rows("partitons"), "partitons: unknown command: did you mean partitions?"),
        (lambda s: s.rows("cat", "/"), "cat: this command has no rows: "),
        (lambda s: s.rows("topics", intrnal=True), "no option intrnal: did you mean internal?"),
        (lambda s: s.rows("topics", count=True), "no option count: it has "),
        (lambda s: s.rows("topics", columns=["topik"]), "no column topik: did you mean topic?"),
        (
            lambda s: s.sql("select * from partitons"),
            "no table partitons: did you mean partitions?",
        ),
        (lambda s: s.findings("lost"), "lost: no such kind of finding: "),
        (lambda s: s.table("partitons"), "no table partitons: did you mean partitions?"),
        (lambda s: s.records("TopicRecrd"), "no record type TopicRecrd: did you mean TopicRecord"),
    ],
)
def test_unknown_names(source: metashell.Source, ask: object, text: str) -> None:
    """The error's text has what is near; it is a KeyError too."""
    assert callable(ask)
    with pytest.raises(KeyError) as raised:
        ask(source)
    assert isinstance(raised.value, metashell.UnknownNameError)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"offline": "yes"}, "partitions: offline must be True or False, not 'yes'"),
        ({"leader": True}, r"partitions: leader must be a value \(ID\), not True"),
        ({"leader": "x"}, "--leader x: must be a broker id"),
        ({"topic": {"a": 1}}, "partitions: topic can't be a dict: {'a': 1}"),
        ({"limit": 0}, "--limit 0: must be a whole number above 0"),
    ],
)
def test_wrong_values(source: metashell.Source, options: dict[str, object], text: str) -> None:
    """They are refused by name."""
    with pytest.raises(metashell.UsageError, match=text):
        source.rows("partitions", **options)


def test_hints_stand_below_errors(source: metashell.Source) -> None:
    """Where their text does not have them."""
    with pytest.raises(metashell.UsageError) as raised:
        source.sql("select topik from partitions")
    assert [f"hint: {raised.value.hint}"] == raised.value.__notes__
    assert '"topic"' in raised.value.__notes__[0]


def test_short_names(source: metashell.Source) -> None:
    """They are rows of commands; nothing is read from standard input for an empty statement."""
    assert source.rows("health", severity="critical") == source.findings(severity="critical")
    assert source.rows("diff", 1870, "end") == source.diff(1870, "end")
    paths = ["/image/topics/byName/orders"]
    assert paths == source.find("/image/topics/byName", name="orders", type="d")
    assert [{"b": 2}] == source.sql("select 1 as a; select 2 as b").to_pylist()
    with pytest.raises(metashell.UsageError, match="ask for no rows"):
        source.sql("")
    with pytest.warns(metashell.MetashellWarning, match="does not record who asked"):
        assert source.changes(paths[0], limit=1).num_rows == 1


def test_at_takes_a_time(source: metashell.Source) -> None:
    """As text, and as Python has it."""
    moment = datetime(2026, 11, 22, 12, 39, 49)
    assert source.at("2026-11-22T12:39:49Z").findings() == source.at(moment).findings()


def test_what_can_not_be_read_is_a_warning(damaged: metashell.Source) -> None:
    """At the line that asks; as an error where that is asked for."""
    with pytest.warns(metashell.MetashellWarning, match="CRC mismatch") as told:
        assert damaged.rows("topics").num_rows
    assert __file__ == told[0].filename
    with warnings.catch_warnings():
        warnings.simplefilter("error", metashell.MetashellWarning)
        with pytest.raises(metashell.MetashellWarning, match="CRC mismatch"):
            damaged.rows("topics")


def test_secrets_are_hidden_unless_asked_for() -> None:
    """As everywhere."""
    statement = "select stored_key from scram_credentials limit 1"
    assert r"[redacted]" == metashell.open(DEMO).sql(statement)[0][0].as_py()
    assert "redacted" not in metashell.open(DEMO, show_secrets=True).sql(statement)[0][0].as_py()


def test_notebooks_show_a_few_facts(damaged: metashell.Source) -> None:
    """Escaped, with the faults that are known."""
    damaged.image.fold_everything()
    html = damaged._repr_html_()
    assert "&lt;b&gt;&amp;" in html
    assert "<tr><th>offset</th><td>2049</td></tr>" in html
    assert "<tr><th>notes</th><td>1 fault</td></tr>" in html
    assert "<b>" not in html


def test_fleet(tmp_path: Path) -> None:
    """Rows have their cluster; what can't be read is told, and one cluster is asked by itself."""
    (tmp_path / "gone").mkdir()
    paths = [str(path) for path in sorted(backups(tmp_path / "fleet").iterdir())]
    fleet = metashell.open_fleet([*paths, str(tmp_path / "gone")])
    with pytest.warns(metashell.MetashellWarning, match="/clusters/gone: .*no segment"):
        table = fleet.rows("topics")
    assert "cluster" == table.column_names[0]
    name = table["cluster"][0].as_py()
    own = fleet.members[name].source().rows("topics")
    mine = table.filter(pa.compute.equal(table["cluster"], name))
    assert own == mine.drop_columns("cluster")
    assert len(fleet.members) == fleet._repr_html_().count("<tr>") - 1


def test_other_sources() -> None:
    """A broker's directory has its logs' rows."""
    broker = metashell.open(fixture_dir("node-44") / "broker102" / "d1")
    with pytest.warns(metashell.MetashellWarning, match="__consumer_offsets here: 2 of 4"):
        assert broker.rows("groups", columns="group").num_rows == 10


def test_archive(tmp_path: Path) -> None:
    """An archive is read in memory."""
    with tarfile.open(tmp_path / "node.tgz", "w:gz") as archive:
        archive.add(DEMO, "node")
    source = metashell.open(tmp_path / "node.tgz")
    assert metashell.open(DEMO).rows("topics") == source.rows("topics")


def test_errors_stand_at_the_top() -> None:
    """Each exception and warning of `metashell.errors`."""
    kinds = {
        name
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, Exception)
    }
    assert kinds <= set(metashell.__all__)
    assert [] == [name for name in metashell.__all__ if not hasattr(metashell, name)]


_PROGRAM = """
import metashell

with metashell.open("/var/lib/kafka/data") as source:
    reveal_type(source.rows("partitions", offline=True))
    reveal_type(source.at("-2h").sql("select 1"))
    reveal_type(source.find("/image", name="x"))
reveal_type(metashell.open_fleet(["a", "b"]).at(5).rows("topics"))
try:
    metashell.open_quorum("localhost:9093")
except metashell.SourceError as error:
    reveal_type(error.hint)
metashell.opne("x")
"""


@pytest.mark.slow
def test_types(tmp_path: Path) -> None:
    """Mypy's strict rules see tables, with whatever stubs of pyarrow a user has."""
    stubs = tmp_path / "stubs" / "pyarrow"
    stubs.mkdir(parents=True)
    (stubs / "__init__.pyi").write_text("class Table: ...\n")
    (tmp_path / "program.py").write_text(_PROGRAM)
    package = Path(metashell.__file__).parents[1]
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            "--config-file=",
            f"--cache-dir={tmp_path / 'cache'}",
            "program.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": f"{stubs.parent}{os.pathsep}{package}"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line.partition(": ")[2] for line in ran.stdout.splitlines()[:-1]]
    table = 'note: Revealed type is "pyarrow.Table"'
    assert [
        *(table, table, 'note: Revealed type is "list[str]"', table),
        'note: Revealed type is "str | None"',
        'error: Module has no attribute "opne"  [attr-defined]',
    ] == told
