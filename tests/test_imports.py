"""What each use of the program imports: start-up time and optional packages depend on it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.fixtures import DEMO
from support.waiting import LIMIT_S

FRONT_ENDS = frozenset({"prompt_toolkit", "textual", "rich", "pyspark"})
ARRAYS = frozenset({"numpy", "pyarrow"})

ROWS_COMMANDS = [
    *(["acls"], ["brokers"], ["can-upgrade", "4.1"], ["config", "min.insync.replicas"], ["nodes"]),
    *(["coordinator", "group:g", "txn:t"], ["preflight"]),
    *(["partitions"], ["quotas"], ["topics"], ["users"], ["who-can", "READ", "topic:topic-000"]),
    *(["sql", "select count(*) from topics"], ["find", "/", "-offline", "-count"]),
    *(["export", "topics", "--format", "csv"], ["grep", "-c", "leader=1,", "/image/topics"]),
]

MAIN = """
import sys
from metashell.cli import main
for arguments in {lines!r}:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code
    assert not status, (arguments, status)
    loaded = {{module.partition(".")[0] for module in sys.modules}}
    assert loaded.isdisjoint({unwanted!r}), (arguments, loaded & {unwanted!r})
"""

FORKS = """
import importlib, os, pkgutil, sys
import numpy, pyarrow
import metashell.cli.program
for layer in ("answers", "fs", "image", "log", "records", "schema", "sources"):
    package = importlib.import_module("metashell." + layer)
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
for arguments in {lines!r}:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0, arguments
        continue
    sys.argv = ["metashell", *arguments]
    assert metashell.cli.main() in (0, 1)
    loaded = {{module.partition(".")[0] for module in sys.modules}}
    assert loaded.isdisjoint({unwanted!r}), loaded & {unwanted!r}
    sys.stdout.flush()
    os._exit(0)
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
    return imported_by(MAIN.format(lines=[list(arguments)], unwanted=set()))


def none_imports(unwanted: frozenset[str], *lines: list[str]) -> None:
    """Run command lines one after the other in one Python: after each there is none of these."""
    assert set() == imported_by(MAIN.format(lines=lines, unwanted=set(unwanted))) & unwanted


def test_import_of_the_package_loads_nothing_heavy() -> None:
    """``import metashell`` costs nothing; its names are imported on first use."""
    assert set() == imported_by("import metashell; metashell.__version__") & (ARRAYS | FRONT_ENDS)


def test_help_imports_no_arrays_and_no_front_end() -> None:
    """``--help`` and ``--version`` answer at once."""
    none_imports(ARRAYS | FRONT_ENDS, ["--help"], ["--version"])


def test_configuration_is_read_only_where_there_is_one() -> None:
    """``--help`` looks for none and defines no dataclass; no parser is loaded for no file."""
    unwanted = {"dataclasses", "datetime", "platformdirs", "tomllib"}
    assert set() == imported_by_command("--help") & unwanted
    assert "tomllib" not in imported_by_command("demo", "pwd")


def test_one_shot_commands_import_no_arrow_and_no_front_end() -> None:
    """A one-shot command needs numpy at most."""
    commands = [["ls", "/image"], ["cat", "/image/provenance"], ["find", "/image/topics"]]
    none_imports(FRONT_ENDS | {"pyarrow"}, *(["-d", str(DEMO), *words] for words in commands))


def test_listing_what_is_always_there_imports_no_arrays() -> None:
    """Nothing is decoded for it; importing numpy would take longer than all else."""
    none_imports(ARRAYS | FRONT_ENDS, ["demo", "ls", "/"], ["demo", "ls", "/image"])


def test_looking_for_a_kept_image_imports_no_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache of other directories costs a listing neither numpy nor pyarrow."""
    (tmp_path / "images").mkdir()
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path))
    none_imports(ARRAYS | FRONT_ENDS, ["demo", "ls", "/"], ["demo", "ls", "/image"])


def test_metadata_imports_nothing_of_coordinators() -> None:
    """What reads coordinators' logs is not imported for a metadata log."""
    check = "assert not [m for m in sys.modules if 'keyed_' in m or 'coordinator' in m]\n"
    lines = [["demo", "ls", "/image/topics"], ["demo", "log", "-n", "1"]]
    imported_by(MAIN.format(lines=lines, unwanted=set()) + check)


@pytest.mark.slow
def test_answers_import_no_pandas() -> None:
    """Where pandas is installed pyarrow would import it, and no answer asks for it."""
    lines, unwanted = [["demo", *words] for words in ROWS_COMMANDS], FRONT_ENDS | {"pandas"}
    # Each alone: what one keeps from being imported another need not.
    assert set() == imported_by(FORKS.format(lines=lines, unwanted=set(unwanted))) & unwanted


def test_answers_parse_no_descriptions() -> None:
    """Nobody reads the descriptions of pyarrow's functions, which it would parse with pydoc."""
    code = "import sys\nsys.argv = ['metashell', 'demo', 'topics']\n"
    code += "from metashell.cli import main\nassert main() == 0\n"
    imported = imported_by(code)
    assert "pyarrow" in imported
    assert "pydoc" not in imported


@pytest.mark.parametrize("own", [None, "3"])
def test_linear_algebra_gets_no_threads(own: str | None) -> None:
    """The program never does any; what a user has set stays."""
    code = "import os, sys\nsys.argv = ['metashell', '--version']\n"
    code += "from metashell.cli import run_process\n"
    code += "os.environ.pop('OPENBLAS_NUM_THREADS', None)\n"
    code += f"os.environ.update({{'OPENBLAS_NUM_THREADS': {own!r}}} if {own!r} else {{}})\n"
    code += "try:\n    run_process()\nexcept SystemExit:\n"
    code += f"    assert os.environ['OPENBLAS_NUM_THREADS'] == ({own!r} or '1')\n"
    imported_by(code)


def test_answers_import_no_masked_arrays() -> None:
    """What would import them has a faster way that does without."""
    check = "assert 'numpy.ma' not in sys.modules\n"
    words = [["partitions", "--offline", "--count"], ["cat", "/image/topics/byName/*/0"]]
    imported_by(MAIN.format(lines=[["demo", *one] for one in words], unwanted=set()) + check)


def test_manual_imports_no_arrays() -> None:
    """Reading a manual needs no data."""
    assert "pyarrow" not in imported_by_command("demo", "man", "ls")


def test_the_check_itself_sees_imports() -> None:
    """A module that is imported is reported, with the command after which it was there."""
    assert "numpy" in imported_by("import numpy.linalg")
    with pytest.raises(AssertionError, match="'find'"):
        none_imports(frozenset({"numpy"}), ["demo", "ls", "/"], ["demo", "find", "/image/topics"])


def test_declarations_of_commands_import_no_arrays() -> None:
    """Options, columns and manuals of all commands load without numpy and pyarrow."""
    code = "from metashell import commands\nfor name in commands.all_names():\n"
    imported = imported_by(code + "    assert commands.get(name) is not None, name\n")
    assert set() == imported & (ARRAYS | FRONT_ENDS | {"duckdb"})
