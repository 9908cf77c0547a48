"""Bugs are planted where a call sees them, and tests find them."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.meta

ROOT = Path(__file__).parents[2]

SOURCE = """
from __future__ import annotations

class Box:
    def fits(self, width: int | None = 3) -> bool | None:
        limit: int | None = 4
        list(zip([], [], strict=True))
        return width < limit and bool(width)

def emptied(boxes):
    return []
"""


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "scripts" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


def test_bugs_are_in_what_a_call_runs(mutants: ModuleType) -> None:
    """Comparisons, words and numbers are changed; annotations, defaults and `strict` are not."""
    bugs = mutants.bugs_in(SOURCE, "Box.fits:5")
    planted = {
        mutants.mutate_code(SOURCE, mutants.get_operator(operator)(), occurrence)
        for operator, occurrence, _ in bugs
    }
    changed = {
        (number, line.strip())
        for text in planted
        for number, (line, sound) in enumerate(
            zip(text.splitlines(), SOURCE.splitlines(), strict=True), 1
        )
        if line != sound
    }
    assert {
        (6, "limit: int | None = 3"),
        (6, "limit: int | None = 5"),
        (8, "return width <= limit and bool(width)"),
        (8, "return width > limit and bool(width)"),
        (8, "return width < limit or bool(width)"),
    } == changed
    assert [] == mutants.bugs_in(SOURCE, "emptied:10")


@pytest.mark.parametrize(
    ("test", "word"),
    [
        ("tests/unit/node_files/test_log_name.py", "found"),
        ("tests/unit/test_lazy.py", "survived"),
        (None, "untested"),
    ],
)
def test_a_bug_is_found_by_a_test_that_looks(
    mutants: ModuleType, tmp_path: Path, test: str | None, word: str
) -> None:
    """A bug is found by a test that fails with it alone, and the copy is sound again behind it."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    path = "node_files/log_name.py"
    sound = (ROOT / "src" / "metashell" / path).read_text()
    function = next(
        mutants.qualified_name(node)
        for node in mutants.functions(mutants.parso.parse(sound))
        if mutants.bugs_in(sound, mutants.qualified_name(node))
    )
    operator, occurrence, line = mutants.bugs_in(sound, function)[0]
    tests = () if test is None else (test,)
    bug = mutants.Bug(path, function, line, operator, occurrence, tests)
    outcome = mutants.tried(bug, tmp_path, n_tests=10, seconds=300)
    assert word == outcome.word
    assert sound == (tmp_path / "src" / "metashell" / path).read_text()
