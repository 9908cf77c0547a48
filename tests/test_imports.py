"""What each use of the program imports: start-up time and optional packages depend on it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from support.fixtures import DEMO
from support.waiting import LIMIT_S

FRONT_ENDS = frozenset({"prompt_toolkit", "textual", "rich", "pyspark"})
ARRAYS = frozenset({"numpy", "pyarrow"})

ROWS_COMMANDS = [
    *(["acls"], ["brokers"], ["can-upgrade", "4.1"], ["config", "min.insync.replicas"], ["nodes"]),
    *(["partitions"], ["quotas"], ["topics"], ["users"], ["who-can", "READ", "topic:topic-000"]),
    *(["sql", "select count(*) from topics"], ["find", "/", "-offline", "-count"]),
    *(["export", "topics", "--format", "csv"], ["grep", "-c", "leader=1,", "/image/topics"]),
]

MAIN = """
import sys
from metashell.cli import main
try:
    status = main({arguments!r})
except SystemExit as stop:
    status = stop.code
assert not status, status
"""


def imported_by(code: str) -> set[str]:
    """Run code in a Python of its own and return the top-level packages that it has imported."""
    report = "\nimport json, sys\nsys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))\n"
    ran = subprocess.run(
        [sys.executable, "-c", code + report],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert 0 == ran.returncode, ran.stderr
    modules = json.loads(ran.stderr.rpartition("\n")[2])
    return {module.partition(".")[0] for module in modules}


def imported_by_command(*arguments: str) -> set[str]:
    """Run the program with arguments in a Python of its own."""
    return imported_by(MAIN.format(arguments=list(arguments)))


def test_import_of_the_package_loads_nothing_heavy() -> None:
    """``import metashell`` costs nothing; its names are imported on first use."""
    assert set() == imported_by("import metashell; metashell.__version__") & (ARRAYS | FRONT_ENDS)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_imports_no_arrays_and_no_front_end(argument: str) -> None:
    """``--help`` and ``--version`` answer at once."""
    assert set() == imported_by_command(argument) & (ARRAYS | FRONT_ENDS)


def test_configuration_is_read_only_where_there_is_one() -> None:
    """``--help`` looks for none; one that is not there needs no parser."""
    assert set() == imported_by_command("--help") & {"datetime", "platformdirs", "tomllib"}
    assert "tomllib" not in imported_by_command("demo", "pwd")


@pytest.mark.parametrize(
    "command", [["ls", "/image"], ["cat", "/image/provenance"], ["find", "/image/topics"]]
)
def test_one_shot_commands_import_no_arrow_and_no_front_end(command: list[str]) -> None:
    """A one-shot command needs numpy at most."""
    imported = imported_by_command("-d", str(DEMO), *command)

    assert set() == imported & ({"pyarrow"} | FRONT_ENDS)


@pytest.mark.parametrize("directory", ["/", "/image"])
def test_listing_what_is_always_there_imports_no_arrays(directory: str) -> None:
    """Nothing is decoded for it; importing numpy would take longer than all else."""
    assert set() == imported_by_command("demo", "ls", directory) & (ARRAYS | FRONT_ENDS)


@pytest.mark.parametrize("command", ROWS_COMMANDS, ids=lambda words: words[0])
def test_answers_import_no_pandas(command: list[str]) -> None:
    """Where pandas is installed pyarrow would import it, and no answer asks for it."""
    argv = ["metashell", "demo", *command]
    code = f"import sys\nfrom metashell.cli import main\nsys.argv = {argv}\nassert main() in (0, 1)"

    assert set() == imported_by(code) & ({"pandas"} | FRONT_ENDS)


def test_manual_imports_no_arrays() -> None:
    """Reading a manual needs no data."""
    assert "pyarrow" not in imported_by_command("demo", "man", "ls")


def test_the_check_itself_sees_imports() -> None:
    """A module that is imported is reported."""
    assert "numpy" in imported_by("import numpy.linalg")
