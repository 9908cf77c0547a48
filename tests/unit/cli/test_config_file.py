"""The configuration file: what it may say, and what is told of its mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.cli.config_file import ConfigFile, _Reader, config_path, read_config_file
from metashell.cli.settings import IN_OPTIONS, OF_A_CLUSTER
from metashell.errors import UsageError
from metashell.themes import ROLES, THEMES, style_fault
from support.examples import blocks

WHOLE = """\
[options]
engine = "local"
timeout = 2.5
no-cache = true
strict = false
schemas = ["~/schemas", "/opt/schemas", "mine"]
spark-threshold = 1000
spark-conf = { "spark.ui.enabled" = "false" }

[commands]
ls = "-1"
find = ["/image", "-name", "a b"]

[aliases]
offline = "find /image -name '*'"
ls = "ls -l"
mine = "offline /local"

[theme]
name = "light"
prompt.path = "bold #ff8800"
suggestion = ""

[tui]
theme = "nord"

[keys]
view.health = "f3"
time.end = "ctrl+e, E"

[clusters.prod-eu]
description = "Europe"
bootstrap-controllers = ["a:9093", "b:9093"]
config = "prod.properties"
cluster-id = "Npg8fPVqRu2chOcifeCMKA"

[clusters.old]
directory = ["/backups/*", "s3://bucket/x", "here"]
at = 2026-09-21T14:14:09Z
"""


def read(path: Path, text: str) -> ConfigFile:
    """Read a file of that text."""
    path.write_text(text, "utf-8")
    return read_config_file({"METASHELL_CONFIG_FILE": str(path)})


def read_text(text: str) -> ConfigFile:
    """Read a text; ``x.toml`` is its name."""
    return _Reader("x.toml", text).read()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "config.toml"


def test_everything(path: Path) -> None:
    """Each kind of value, as the command line would have it."""
    config = read(path, WHOLE)
    options = {long: setting.values for long, setting in config.options.items()}
    home, here = os.environ["HOME"], str(path.parent)
    assert {
        "--engine": ("local",),
        "--timeout": ("2.5",),
        "--no-cache": ("",),
        "--strict": None,
        "--schemas": (f"{home}/schemas", "/opt/schemas", f"{here}/mine"),
        "--spark-threshold": ("1000",),
        "--spark-conf": ("spark.ui.enabled=false",),
    } == options
    assert {"ls": "-1", "find": r"/image -name a\ b"} == config.habits.options
    assert {"offline", "ls", "mine"} == set(config.habits.aliases)
    assert THEMES["light"] | {"prompt.path": "bold #ff8800", "suggestion": ""} == config.theme
    assert "nord" == config.explorer_theme
    assert {"view.health": "f3", "time.end": "ctrl+e,E"} == config.keys
    prod, old = config.clusters["prod-eu"], config.clusters["old"]
    assert "Europe" == prod.description
    assert ("a:9093,b:9093",) == prod.settings["--bootstrap-controllers"].values
    assert (f"{here}/prod.properties",) == prod.settings["--config"].values
    assert ("2026-09-21T14:14:09+00:00",) == old.settings["--at"].values
    places = ("/backups/*", "s3://bucket/x", f"{here}/here")
    assert places == old.settings["--directory"].values
    assert f"`options.engine` in {path}" == config.options["--engine"].origin


def test_place_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform's directory, or what a variable names."""
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/mine")
    assert "/etc/mine/metashell/config.toml" == config_path({})
    assert "/x.toml" == config_path({"METASHELL_CONFIG_FILE": "/x.toml"})


def test_no_file() -> None:
    """One that is not there says nothing, unless it is named."""
    assert {} == read_config_file({}).clusters
    with pytest.raises(UsageError, match=r"/nowhere/x\.toml: No such file"):
        read_config_file({"METASHELL_CONFIG_FILE": "/nowhere/x.toml"})


def test_empty_files(path: Path) -> None:
    """Nothing, comments, and a byte order mark."""
    for text in ("", "# nothing\r\n", "\ufeff[aliases]\n"):
        assert {} == read(path, text).habits.aliases
    assert {} == read_config_file({"METASHELL_CONFIG_FILE": os.devnull}).options


@pytest.mark.cases(50)
@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("[options]\nengine = local\n", 2, "not TOML", "quotes"),
        ("[options\n", 1, "not TOML", "quotes"),
        ("[options]\nschemas = [\n", 2, "not TOML", "quotes"),
        ("x = 1\n", 1, "unknown table `x`", None),
        ("\n[alias]\nx = 'ls'\n", 2, "unknown table `alias`", "did you mean `aliases`?"),
        ("options = 3\n", 1, "`options` is a table", None),
        ("[options]\n\nengin = 'local'\n", 3, "unknown option `engin`", "did you mean `engine`?"),
        ("[options]\nengine = 3\n", 2, "`engine` needs a string", None),
        ("[options]\nengine = ''\n", 2, "`engine` is empty", None),
        ("[options]\nengine = ['a', 'b']\n", 2, "`engine` needs one value", None),
        ('[options]\nmaster = "a\\u0000"\n', 2, "a control character", None),
        ("[options]\nno-cache = 'yes'\n", 2, "`no-cache` needs true or false", None),
        ("[options]\ntimeout = true\n", 2, "`timeout` needs a number or a string", None),
        ("[options]\nschemas = []\n", 2, "`schemas` needs a value", None),
        (
            "[options]\nshow-secrets = true\n",
            2,
            "`show-secrets`: only the command line",
            "`--show-secrets`",
        ),
        ("[options]\ncommand = 'ls'\n", 2, "unknown option `command`", None),
        ("[options]\nat = '-2h'\n", 2, "`at` cannot be a default", "[clusters.NAME]"),
        ("[commands]\nlz = '-1'\n", 2, "unknown command `lz`", "did you mean `ls`?"),
        ("[commands]\nls = 1\n", 2, "`ls` needs a string", None),
        ('[commands]\nls = "\'"\n', 2, "`ls`: the quote", None),
        ("[aliases]\nls = 'cat'\n", 2, "would hide the command", 'ls = "ls ..."'),
        ("[aliases]\na = 'lz'\n", 2, "leads to `lz`", "did you mean `ls`?"),
        ("[aliases]\na = 'b'\nb = 'a'\n", 2, "the alias `a` leads to `a`", None),
        ("[aliases]\na = 'ls | wc'\n", 2, "holds a pipe", "`a | ...`"),
        ("[aliases]\na = ''\n", 2, "is empty", None),
        ("[aliases]\n'-a' = 'ls'\n", 2, "no name for an alias", "letters"),
        ("[theme]\nname = 'ligth'\n", 2, "unknown theme `ligth`", "did you mean `light`?"),
        ("[theme.prompt]\npaht = 'bold'\n", 2, "unknown role `prompt.paht`", "`prompt.path`"),
        ("[theme]\nprompt.path = 'redd'\n", 2, "`redd` is no style", "`bold`"),
        ("[theme]\nsuggestion = 1\n", 2, "`suggestion` needs a string", None),
        ("[tui]\ntheme = 'nrod'\n", 2, "unknown theme `nrod`", "did you mean `nord`?"),
        ("[tui]\ntheme = 'x\x1b'\n", 2, "not TOML", None),
        ("[tui]\ntheme = ''\n", 2, "unknown theme ``", "`high-contrast`"),
        ("[tui]\ntheme = 1\n", 2, "`theme` needs a string", None),
        ("[tui]\nthem = 'nord'\n", 2, "unknown option `them`", "did you mean `theme`?"),
        (
            "[keys]\nview.helth = 'f3'\n",
            2,
            "no action of the explorer is called `view.helth`",
            "did you mean `view.health`?",
        ),
        ("[keys.time]\nend = 3\n", 2, "`time.end` needs a string", None),
        ("[keys]\nfind = ''\n", 2, "`find`: `` is no key", "`ctrl+t`"),
        ("[keys]\nfind = 'f3,,f4'\n", 2, "`` is no key", None),
        ("[keys]\nfind = 'hyper ctrl'\n", 2, "`hyper ctrl` is no key", None),
        ("[clusters]\ndemo = { directory = '/x' }\n", 2, "the bundled sample", None),
        ("[clusters.'a b']\ndirectory = '/x'\n", 1, "no name for a cluster", None),
        ("[clusters]\na = '/x'\n", 2, "`a` is a table", None),
        ("[clusters.a]\nat = 3\n", 1, "`a` names no source", "`directory`"),
        ("[clusters.a]\ndirectory='/x'\nsnapshot='/y'\n", 3, "each choose a source", None),
        ("[clusters.a]\ndirectory='/x'\ncluster='b'\n", 3, "unknown option `cluster`", None),
        ("[clusters.a]\ndirectory='/x'\ndescription=3\n", 3, "`description` needs", None),
        ("[options]\nschemas = [\n  'a',\n  3,\n]\n", 2, "`schemas` needs a string", None),
    ],
)
def test_mistakes(path: Path, text: str, line: int, message: str, hint: str | None) -> None:
    """Each is one sentence with file and line, and a hint where there is one to give."""
    with pytest.raises(UsageError) as caught:
        read(path, text)
    assert caught.value.message.startswith(f"{path}:{line}: ")
    assert message in caught.value.message
    assert (hint or "") in (caught.value.hint or "")


@pytest.mark.parametrize("raw", [b"a = '\xff'", b"a = " + b"[" * 100_000, b"a = " + b"9" * 5_000])
def test_hostile_files(path: Path, raw: bytes) -> None:
    """No text, depth without end, a number without end."""
    path.write_bytes(raw)
    with pytest.raises(UsageError, match=r"not UTF-8|nested|not TOML"):
        read_config_file({"METASHELL_CONFIG_FILE": str(path)})


def test_what_is_no_file(tmp_path: Path) -> None:
    """A directory, a file too long, and a path that can be none."""
    (tmp_path / "long").write_bytes(b"#" * (1 << 18) + b"#")
    for name, message in (("", "Is a directory"), ("long", "longer than"), ("a\0", "null")):
        with pytest.raises(UsageError, match=message):
            read_config_file({"METASHELL_CONFIG_FILE": str(tmp_path / name)})


@given(st.text(alphabet="[]a.b=' \"\n#1", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No other exception comes out."""
    try:
        read_text(text)
    except UsageError as error:
        told = error.message
    else:
        told = "x.toml is right"
    assert told.startswith("x.toml")


@given(st.integers(0, 20), st.integers(1, 5))
def test_line_of_a_key(n_before: int, n_within: int) -> None:
    """An error names the line of its key, whatever stands before and within."""
    text = "# x\n" * n_before + "[options]\n" + "schemas = [\n" + "  'a',\n" * n_within
    with pytest.raises(UsageError) as caught:
        read_text(f"{text}]\nunknown = 1\n")
    assert caught.value.message.startswith(f"x.toml:{n_before + n_within + 4}: ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[keys]\nview."none" = "f3"\n', 2),
        ("[ keys . 'view' ]\n\nnone = 'f3'\n", 3),
        ("keys.view.none = 'f3'\n", 1),
        ("[theme]\n[keys]\nview = { none = 'f3' }\n", 3),
        ("[aliases]\n'a.b' = 3\n", 1),
    ],
)
def test_lines_of_keys_in_other_forms(text: str, line: int) -> None:
    """A key is found in each form of TOML, or else its table."""
    with pytest.raises(UsageError) as caught:
        read_text(text)
    assert caught.value.message.startswith(f"x.toml:{line}: ")


def test_themes_have_every_role() -> None:
    """None falls back by accident."""
    assert all(set(ROLES) == set(theme) for theme in THEMES.values())


def test_reference_has_every_key() -> None:
    """docs/reference/config.md names the tables, options, themes and roles."""
    page = Path(__file__).parents[3] / "docs" / "reference" / "config.md"
    text = page.read_text("utf-8")
    keys = {long[2:] for long in (*IN_OPTIONS, *OF_A_CLUSTER)} | {*ROLES, *THEMES}
    assert [] == sorted(key for key in keys if f"`{key}`" not in text)


@pytest.mark.parametrize("page", ["guides/habits.md", "reference/config.md"])
def test_examples_in_documents_are_right(path: Path, page: str) -> None:
    """Each block of TOML can be read."""
    text = (Path(__file__).parents[3] / "docs" / page).read_text("utf-8")
    examples = [block.text for block in blocks(text) if block.language == "toml"]
    assert examples or page == "reference/config.md"
    for example in examples:
        assert read(path, example).path


def test_themes_are_styles() -> None:
    """Every built-in style passes its own check, and is drawn."""
    from metashell.repl.appearance import style

    for theme in THEMES.values():
        assert {None} == {style_fault(look) for look in theme.values()}
        assert style(theme).style_rules
    assert {"redd", "bg:x", "#12"} == {style_fault(f"bold {w}") for w in ("redd", "bg:x", "#12")}
