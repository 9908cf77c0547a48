"""What the command line leaves open: precedence, sources that have a name, what errors add."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.arguments import OPTIONS, parse_arguments
from metashell.cli.choices import choose_source
from metashell.cli.defaults import Defaults
from metashell.cli.settings import ANYWHERE, read_variables, variable_of
from metashell.errors import UsageError
from unit.cli.conftest import Program

CONFIG = """
[options]
engine = "auto"
timeout = 5
no-cache = true
master = "local[2]"
spark-threshold = "1G"
[aliases]
names = "ls -1"
[clusters.prod-eu]
directory = "/data/eu"
cluster-id = "idOfEu"
no-cache = false
schemas = "/schemas/eu"
[clusters.lab]
bootstrap-controllers = "lab-1:9093"
at = "-2h"
[clusters.ls]
directory = "/data/ls"
[clusters.names]
directory = "/data/names"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration file, which the environment names."""
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    monkeypatch.setenv("METASHELL_CONFIG_FILE", str(path))
    return path


def filled(config: Path, *argv: str, **variables: str) -> dict[str, tuple[str, ...]]:
    """The options of a command line with all that it leaves open."""
    defaults = Defaults({"METASHELL_CONFIG_FILE": str(config), **variables})
    return dict(defaults.fill_in(parse_arguments(argv, defaults.is_cluster)).values)


def test_command_line_before_variable_before_file(config: Path) -> None:
    """The first that says something counts."""
    argv = ("-d", "/x")
    assert ("5",) == filled(config, *argv)["--timeout"]
    assert ("6",) == filled(config, *argv, METASHELL_TIMEOUT="6")["--timeout"]
    both = filled(config, "--timeout", "7", *argv, METASHELL_TIMEOUT="6")
    assert ("7",) == both["--timeout"]


def test_cluster_before_the_defaults_of_all(config: Path) -> None:
    """Its table goes before [options], behind variables; a switch can be turned off."""
    assert "--no-cache" not in filled(config, "prod-eu")
    assert "--no-cache" in filled(config, "-d", "/x")
    assert "--no-cache" in filled(config, "prod-eu", METASHELL_NO_CACHE="1")
    assert "--no-cache" not in filled(config, "-d", "/x", METASHELL_NO_CACHE="off")
    assert ("/mine",) == filled(config, "prod-eu", METASHELL_SCHEMAS="/mine")["--schemas"]
    assert ("other",) == filled(config, "prod-eu", "--cluster-id", "other")["--cluster-id"]


def test_source_comes_from_one_place(config: Path) -> None:
    """What chooses it is never put together from two."""
    variables = {"METASHELL_BOOTSTRAP_CONTROLLERS": "c:9093", "METASHELL_CONFIG": "/c.properties"}
    given = filled(config, "-d", "/x", **variables)
    assert (("/x",), False) == (given["--directory"], "--config" in given)
    given = filled(config, "prod-eu", **variables)
    assert (("/data/eu",), False) == (given["--directory"], "--config" in given)
    assert "--config" not in filled(config, "demo", **variables)
    assert ("/c.properties",) == filled(config, **variables)["--config"]
    assert ("/data/eu",) == filled(config, METASHELL_CLUSTER="prod-eu")["--directory"]
    assert "--at" not in filled(config, "prod-eu")


def test_default_source_of_the_file(config: Path) -> None:
    """A cluster for when nothing else is named."""
    config.write_text(CONFIG.replace("[options]", "[options]\ncluster = 'prod-eu'"))
    assert ("/data/eu",) == filled(config)["--directory"]
    assert ("/x",) == filled(config, "-d", "/x")["--directory"]
    assert ("/y",) == filled(config, METASHELL_DIRECTORY="/y")["--directory"]


def test_what_contradicts_gives_way(config: Path) -> None:
    """An option that ranks lower never makes a command line wrong."""
    assert "--master" not in filled(config, "--engine", "local", "-d", "/x")
    assert "--engine" not in filled(config, "--master", "sc://x", METASHELL_ENGINE="local") or (
        filled(config, "--master", "sc://x", METASHELL_ENGINE="local")["--engine"] == ("auto",)
    )
    given = filled(config, "lab", "--committed-only", METASHELL_RECORD="1")
    assert given.keys().isdisjoint({"--at", "--record"})


def test_several_values_of_a_variable() -> None:
    """One a line; an empty variable is none."""
    found = read_variables({"METASHELL_DIRECTORY": "/a\n/b c\n", "METASHELL_SNAPSHOT": ""})
    assert {"--directory": ("/a", "/b c")} == {k: s.values for k, s in found.items()}


def test_variables_of_every_option() -> None:
    """But for those that say what to run, and those that tell of the program."""
    without = {option.long for option in OPTIONS if option.long not in ANYWHERE}
    never = {
        "--command",
        "--file",
        "--tui",
        "--help",
        "--version",
        "--completion",
        "--show-secrets",
    }
    assert never | {"--no-config"} == without
    assert "METASHELL_BOOTSTRAP_CONTROLLERS" == variable_of(ANYWHERE["--bootstrap-controllers"])


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"METASHELL_NO_CACHE": "maybe"}, "METASHELL_NO_CACHE: `maybe`"),
        ({"METASHELL_SHOW_SECRETS": "1"}, "METASHELL_SHOW_SECRETS: only"),
        ({"METASHELL_NO_CONFIG": "x"}, "METASHELL_NO_CONFIG: `x`"),
        ({"METASHELL_CLUSTER": "lab", "METASHELL_SNAPSHOT": "/x"}, "each choose a source"),
        ({"METASHELL_CLUSTER": "labb"}, "unknown cluster `labb`"),
    ],
)
def test_variables_that_are_wrong(config: Path, variables: dict[str, str], message: str) -> None:
    """One sentence that names the variable."""
    with pytest.raises(UsageError, match=message):
        filled(config, **variables)


def test_command_goes_before_a_cluster_of_its_name(config: Path) -> None:
    """An alias too; --cluster is the way out."""
    assert "--cluster" not in filled(config, "-d", "/x", "ls", "names")
    assert "--cluster" not in filled(config, "-d", "/x", "names")
    assert ("/data/ls",) == filled(config, "--cluster", "ls", "ls")["--directory"]
    assert "--cluster" not in filled(config, "--", "prod-eu")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-d", "/x", "prod-eu"], "`-d/--directory` and the cluster `prod-eu`"),
        (["prod-eu", "-s", "/x", "ls"], "`-s/--snapshot` and the cluster `prod-eu`"),
        (["prod-eu", "demo"], "`demo` and the cluster `prod-eu`"),
        (["prod-eu", "lab"], "`prod-eu` and `lab` at once"),
        (["--cluster", "nope"], "unknown cluster `nope`"),
    ],
)
def test_two_sources(config: Path, argv: list[str], message: str) -> None:
    """A cluster's name beside another source is refused."""
    with pytest.raises(UsageError, match=message):
        filled(config, *argv)


def test_no_config(config: Path) -> None:
    """Neither the file nor variables count, and a broken file does no harm."""
    config.write_text("broken")
    assert {"--no-config", "--directory"} == filled(
        config, "--no-config", "-d", "/x", METASHELL_TIMEOUT="3"
    ).keys()
    off = filled(config, "-d", "/x", METASHELL_NO_CONFIG="1", METASHELL_TIMEOUT="3")
    assert {"--directory"} == off.keys()
    with pytest.raises(UsageError, match="unknown cluster `prod-eu`"):
        filled(config, "--no-config", "--cluster", "prod-eu")


def test_timeout_of_the_file_is_for_quorums(config: Path) -> None:
    """With a directory it is passed over, where the command line's is refused."""
    defaults = Defaults({"METASHELL_CONFIG_FILE": str(config)})
    arguments = defaults.fill_in(parse_arguments(["lab", "ls"], defaults.is_cluster))
    choice = choose_source(arguments)
    assert choice is not None
    assert choice.quorum is not None
    assert 5.0 == choice.quorum.timeout_s
    given = defaults.fill_in(parse_arguments(["-d", "/x", "ls"]))
    assert choose_source(given) is not None


def test_named_cluster_is_opened(program: Program, config: Path) -> None:
    """Options may follow its name; the cluster's id of its table is checked."""
    ran = program("prod-eu", "--strict", "echo", "a")
    assert 3 == ran.code
    assert "not to idOfEu" in ran.err
    assert "/data/eu" == program.opener.calls[0][1]
    assert program.opener.calls[0][2].settings.strict


def test_errors_say_where_an_option_came_from(
    program: Program, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it was the command line."""
    monkeypatch.setenv("METASHELL_ENGINE", "fast")
    assert "`--engine` comes from METASHELL_ENGINE" in program("-d", "/x", "echo").err
    config.write_text("[options]\ndirectory = '/nowhere/at/all'\n")
    monkeypatch.setenv("METASHELL_ENGINE", "local")
    program.opener.error = FileNotFoundError(2, "No such file or directory", "/nowhere/at/all")
    assert f"comes from `options.directory` in {config}" in program("echo").err


def test_manuals_need_no_source(
    program: Program, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a variable names is not opened for them."""
    monkeypatch.setenv("METASHELL_DIRECTORY", "/x")
    assert (0, []) == (program("man", "ls").code, program.opener.calls)
    assert 0 == program("echo", "x").code
    assert 1 == len(program.opener.calls)


def test_hints_name_clusters(program: Program, config: Path) -> None:
    """Where no source is given, and where a name is nearly one."""
    assert "`metashell lab`" in program("ls").err
    assert "did you mean `metashell prod-eu`?" in program("prod-uu").err


def test_broken_file_ends_the_program(program: Program, config: Path) -> None:
    """With one line and status 2, but for what tells of the program itself."""
    config.write_text("[options]\nengine = local\n")
    ran = program("demo", "echo")
    assert (2, True) == (ran.code, f"{config}:2: not TOML" in ran.err)
    assert [0, 0, 0] == [
        program(*argv).code for argv in (["--help"], ["--version"], ["--completion", "zsh"])
    ]
