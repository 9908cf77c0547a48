"""A run of tests ends, whatever becomes of the processes that run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.waiting import LIMIT_S

pytestmark = pytest.mark.meta

ROOT = Path(__file__).parents[2]

DIES = """
import os
import threading

import pytest

@pytest.mark.parametrize("i", range(3))
def test_before(i):
    pass

def test_dies():
    os._exit(1)

@pytest.mark.timeout(1)
def test_hangs():
    threading.Event().wait()

def test_after():
    pass
"""
PASSES = """
import pytest

@pytest.mark.parametrize("i", range(3))
def test_passes(i):
    pass
"""


def pytest_ran(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What pytest says when it is run with the project's settings."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if not key.startswith("PYTEST")},
    )


def collected(*words: str) -> Counter[str]:
    """How many cases of each test are chosen."""
    ran = pytest_ran(ROOT, "--collect-only", "-q", *words)
    assert 0 == ran.returncode, (ran.stdout, ran.stderr)
    return Counter(line.partition("[")[0] for line in ran.stdout.splitlines() if "::" in line)


def test_fast_is_a_case_of_each_test_that_takes_no_second() -> None:
    """Of what runs the whole explorer one of a file; nothing on a pseudo-terminal."""
    unit = ("tests/unit/fs", "tests/unit/test_json.py")
    places = (*unit, "tests/tui/test_start.py", "tests/repl/test_fleet_terminal.py")
    fast, slow = collected("--fast", *places), collected("-m", "slow or long or cases", *places)
    expected = {
        name: 1 for name in collected(*places) if name.startswith(unit) and name not in slow
    }
    assert expected
    assert slow
    assert expected == {name: n for name, n in fast.items() if name.startswith(unit)}
    assert ["tests/tui/test_start.py::test_opening_is_shown"] == [
        name for name in fast if name not in expected
    ]


def test_ci_takes_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """`cases` and the number of seeds leave some out of other runs, unless they are named."""
    place, name = "tests/unit/commands/test_log.py", "test_json_is_kafkas"
    seeds = "tests/property/test_changes.py"
    monkeypatch.delenv("METASHELL_TEST_PROFILE", raising=False)
    some, named = collected(place, seeds), collected(place, "-k", name)
    monkeypatch.setenv("METASHELL_TEST_PROFILE", "thorough")
    every = collected(place, seeds)
    assert some.keys() == every.keys()
    assert 21 == some[f"{place}::{name}"] < every[f"{place}::{name}"]
    assert every[f"{place}::{name}"] == named[f"{place}::{name}"]
    of_seeds = [cases[f"{seeds}::test_changes_add_up_to_the_image"] for cases in (some, every)]
    assert of_seeds[0] < of_seeds[1]


def test_all_tests_of_a_file_run_in_one_process() -> None:
    """What its fixtures open is opened once."""
    files = [f"tests/unit/fs/test_{name}.py" for name in ("glob", "pattern", "walk")]
    ran = pytest_ran(ROOT, "-n2", "--dist=loadfile", "-v", *files)
    assert 0 == ran.returncode, (ran.stdout, ran.stderr)
    found = set(re.findall(r"^\[(gw\d)\] .*PASSED (.*?)::", ran.stdout, re.MULTILINE))
    assert files == sorted(file for _, file in found)


@pytest.mark.parametrize("name", ["test_dies", "test_hangs"])
def test_a_process_that_dies_ends_the_run_and_names_its_test(tmp_path: Path, name: str) -> None:
    """Also where its process has run other files, and the other has nothing left to do."""
    (tmp_path / "test_z.py").write_text(DIES)
    for other in "abcdef":
        (tmp_path / f"test_{other}.py").write_text(PASSES)
    other = {"test_dies": "test_hangs", "test_hangs": "test_dies"}[name]
    settings = ("-c", str(ROOT / "pyproject.toml"), f"--rootdir={tmp_path}")
    options = ("-n2", "--dist=loadfile", "-k", f"not {other}")
    ran = pytest_ran(tmp_path, *settings, *options, str(tmp_path))
    assert 1 == ran.returncode, (ran.stdout, ran.stderr)
    assert f"crashed while running 'test_z.py::{name}" in ran.stdout
