"""Plant a bug in each of some functions drawn at random, and see which of them tests find.

Usage: python scripts/mutants.py [--count N] [--seed N] [--in PART] [--seconds N] [--jobs N]
                                 [--tests N] [--record]

A first run records which test runs which lines, with coverage.py: twice the time of `make test`.
Later runs use that record (build/mutants/) until `--record` makes it again. A function whose file
changed since is not drawn, because the record names lines. Tests of files that changed are not run.

A bug is one change that cosmic-ray's operators make to an expression or a statement: a comparison
that takes its bound along, `and` for `or`, a number that is one off, a negation, `break` for
`continue`. The tests that run the changed line are run, those that run the fewest lines first,
at most `--tests` of them, until one fails. The test that failed is run again without the bug: if
it fails then too, nothing is known, and that is said.

The tree itself is never changed: bugs are planted in copies of `src`. The exit status is 0
if enough bugs were found (GOAL_PERCENT), else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import functools
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

import coverage
import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "metashell"
TESTS = (ROOT / "tests", ROOT / "benchmarks" / "tests")
RECORD = ROOT / "build" / "mutants"
FAILED = "cache/v/cache/lastfailed"
"""Where pytest keeps which tests failed, below a copy of the sources."""
GOAL_PERCENT = 85
"""How many of a hundred bugs the tests are to find."""

SWAPS = {
    ("ReplaceBinaryOperator", "Add_Sub"),
    ("ReplaceBinaryOperator", "Sub_Add"),
    ("ReplaceBinaryOperator", "Mul_FloorDiv"),
    ("ReplaceBinaryOperator", "FloorDiv_Mul"),
    ("ReplaceBinaryOperator", "LShift_RShift"),
    ("ReplaceBinaryOperator", "RShift_LShift"),
    ("ReplaceBinaryOperator", "BitAnd_BitOr"),
    ("ReplaceBinaryOperator", "BitOr_BitAnd"),
    ("ReplaceComparisonOperator", "Eq_NotEq"),
    ("ReplaceComparisonOperator", "NotEq_Eq"),
    ("ReplaceComparisonOperator", "Lt_LtE"),
    ("ReplaceComparisonOperator", "LtE_Lt"),
    ("ReplaceComparisonOperator", "Gt_GtE"),
    ("ReplaceComparisonOperator", "GtE_Gt"),
    ("ReplaceComparisonOperator", "Lt_Gt"),
    ("ReplaceComparisonOperator", "Gt_Lt"),
    ("ReplaceComparisonOperator", "Is_IsNot"),
    ("ReplaceComparisonOperator", "IsNot_Is"),
}
"""Operators for another that a person could have written; cosmic-ray has each for each."""
WHOLE = (
    "AddNot",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_USub_UAdd",
    "ZeroIterationForLoop",
)
"""Further operators of cosmic-ray that stand for bugs of people."""

NOT_CHANGED = {"annotation", "decorator", "parameters"}
"""Parts of a function's body that are left as they are, most of them annotations."""


@dataclass(frozen=True)
class Bug:
    """A change to one line of a file."""

    path: str
    """The file, relative to `src/metashell`."""
    function: str
    line: int
    operator: str
    occurrence: int
    tests: tuple[str, ...]
    """The tests that run the line, those that run the fewest lines first."""

    def planted(self, source: str) -> str:
        """The source with the bug."""
        return str(mutate_code(source, get_operator(self.operator)(), self.occurrence))


@dataclass(frozen=True)
class Outcome:
    """What tests said of a bug."""

    bug: Bug
    word: str
    """`found`, `survived`, `untested` (no test runs the line) or `unclear`."""
    change: str


@functools.cache
def operators() -> tuple[str, ...]:
    """The names of the operators that are used."""

    def is_used(name: str) -> bool:
        kind, _, swap = name.removeprefix("core/").partition("_")
        return name.removeprefix("core/") in WHOLE or (kind, swap) in SWAPS

    return tuple(sorted(filter(is_used, operator_names())))


def functions(tree: parso.tree.BaseNode) -> Iterator[parso.tree.BaseNode]:
    """All functions of a module, and of classes, that are in no other function."""
    for node in ast_nodes(tree):
        if node.type == "funcdef" and not parso.tree.search_ancestor(node, "funcdef"):
            yield node


def is_run_by_a_call(node: parso.tree.NodeOrLeaf, function: parso.tree.BaseNode) -> bool:
    """Whether a node is in the body of a function, and can change what the function does.

    An annotation can't, and neither can the `strict` of a `zip`, which guards against our own bugs.
    """
    part = node
    while part.parent is not None and part.parent is not function:
        above = part.parent
        is_annotation = above.type == "annassign" and part is above.children[1]
        is_guard = part.type == "argument" and part.get_first_leaf().value == "strict"
        if is_annotation or is_guard or part.type in NOT_CHANGED:
            return False
        part = above
    return part is function.children[-1]


def bugs_in(source: str, function: str) -> list[tuple[str, int, int]]:
    """Every bug that can be planted in a function: operator, occurrence and line."""
    tree = parso.parse(source)
    (node,) = (each for each in functions(tree) if qualified_name(each) == function)
    inside = {id(part): part for part in ast_nodes(node) if is_run_by_a_call(part, node)}
    found = []
    for name in operators():
        operator = get_operator(name)()
        occurrence = 0
        for part in ast_nodes(tree):
            for (line, _), _ in operator.mutation_positions(part):
                if id(part) in inside:
                    found.append((name, occurrence, line))
                occurrence += 1
    return found


def qualified_name(function: parso.tree.BaseNode) -> str:
    """The name of a function, behind those of its classes, and its line where a name is shared."""
    names = [function.name.value]
    owner = parso.tree.search_ancestor(function, "classdef")
    while owner is not None:
        names.insert(0, owner.name.value)
        owner = parso.tree.search_ancestor(owner, "classdef")
    return ".".join(names) + f":{function.start_pos[0]}"


def digest(path: Path) -> str:
    """A digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def record() -> None:
    """Run all tests of `make test`, and keep which test runs which lines."""
    shutil.rmtree(RECORD, ignore_errors=True)
    RECORD.mkdir(parents=True)
    files = [path for part in (SOURCES, *TESTS) for path in part.rglob("*.py")]
    digests = {str(path.relative_to(ROOT)): digest(path) for path in files}
    options = "--cov=metashell --cov-context=test --cov-report= --maxfail=20"
    environment = {**os.environ, "COVERAGE_FILE": str(RECORD / "coverage")}
    # A test that fails says nothing about the lines that it runs.
    subprocess.run(
        ["make", "test", f"PYTEST_ARGS={options}"], cwd=ROOT, env=environment, check=False
    )
    (RECORD / "digests.json").write_text(json.dumps(digests))


def recorded_tests() -> dict[str, dict[int, list[str]]]:
    """The tests that run each line of each file that did not change since, the narrowest first."""
    data = coverage.CoverageData(str(RECORD / "coverage"))
    data.read()
    digests = json.loads((RECORD / "digests.json").read_text())
    same = {
        path for path in digests if (ROOT / path).exists() and digest(ROOT / path) == digests[path]
    }
    lines_of: dict[str, dict[int, list[str]]] = {}
    breadth: dict[str, int] = defaultdict(int)
    for name in data.measured_files():
        by_line = {
            line: sorted({context.partition("|")[0] for context in contexts if "|" in context})
            for line, contexts in data.contexts_by_lineno(name).items()
        }
        for tests in by_line.values():
            for test in tests:
                breadth[test] += 1
        path = Path(name)
        if path.is_relative_to(SOURCES) and str(path.relative_to(ROOT)) in same:
            lines_of[str(path.relative_to(SOURCES))] = by_line
    for by_line in lines_of.values():
        for tests in by_line.values():
            tests[:] = [test for test in tests if test.partition("::")[0] in same]
            tests.sort(key=lambda test: (breadth[test], test))
    return lines_of


def drawn(count: int, seed: int, part: str) -> Iterator[Bug]:
    """Draw functions, each as likely as any other, and in each a line and a bug."""
    lines_of = recorded_tests()
    chosen = random.Random(seed)
    pool = []
    for path in sorted(lines_of):
        if path.startswith(part):
            tree = parso.parse((SOURCES / path).read_text(encoding="utf-8"))
            pool += [(path, qualified_name(node)) for node in functions(tree)]
    chosen.shuffle(pool)
    for path, function in pool:
        if count == 0:
            return
        places = bugs_in((SOURCES / path).read_text(encoding="utf-8"), function)
        if not places:
            continue
        line = chosen.choice(sorted({place[2] for place in places}))
        operator, occurrence, _ = chosen.choice([place for place in places if place[2] == line])
        tests = tuple(lines_of[path].get(line, ()))
        yield Bug(path, function.partition(":")[0], line, operator, occurrence, tests)
        count -= 1


def run_tests(tree: Path, arguments: list[str], seconds: float) -> int | None:
    """Run tests on a copy of the sources: pytest's exit status, None where time was up."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "pytest", "-qq", "-x", "-o", f"cache_dir={tree / 'cache'}"]
    # A bug that makes a test wait for ever is found by it.
    command += [f"--timeout={seconds / 2:.0f}", *arguments]
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=seconds, check=False
        ).returncode
    return None


def tried(bug: Bug, tree: Path, n_tests: int, seconds: float) -> Outcome:
    """Plant a bug in a copy of the sources and run its tests."""
    path = tree / "src" / "metashell" / bug.path
    sound = path.read_text(encoding="utf-8")
    planted = bug.planted(sound)
    change = "".join(
        line + "\n"
        for line in difflib.unified_diff(sound.splitlines(), planted.splitlines(), n=0, lineterm="")
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    )
    if not bug.tests:
        return Outcome(bug, "untested", change)
    chosen = tree / "tests.txt"
    chosen.write_text("".join(f"{test}\n" for test in bug.tests[:n_tests]), encoding="utf-8")
    (tree / FAILED).unlink(missing_ok=True)
    write_source(path, planted)
    try:
        status = run_tests(tree, [f"@{chosen}"], seconds)
    finally:
        write_source(path, sound)
    if status in (0, None):
        return Outcome(bug, "survived", change)
    if not (tree / FAILED).exists():  # The bug stopped all before the first test.
        return Outcome(bug, "found", change)
    again = run_tests(tree, list(json.loads((tree / FAILED).read_text())), seconds)
    return Outcome(bug, "found" if again == 0 else "unclear", change)


def write_source(path: Path, source: str) -> None:
    """Write a module so that Python compiles it anew, even within the same second."""
    path.write_text(source, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20, help="functions to draw")
    parser.add_argument("--seed", type=int, default=None, help="draw the same functions again")
    parser.add_argument(
        "--in", dest="part", default="", help="only files below this part of src/metashell"
    )
    parser.add_argument("--seconds", type=float, default=120, help="limit for the tests of one bug")
    parser.add_argument(
        "--tests", type=int, default=150, help="the most tests that are run for a bug"
    )
    parser.add_argument("--jobs", type=int, default=2, help="bugs that are tried at once")
    parser.add_argument(
        "--record", action="store_true", help="record anew which test runs which lines"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.record or not (RECORD / "digests.json").exists():
        record()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    bugs = list(drawn(options.count, seed, options.part))
    n_found = 0
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(options.jobs) as pool:
        trees: Queue[Path] = Queue()
        for number in range(options.jobs):
            tree = Path(directory) / str(number)
            shutil.copytree(
                ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__")
            )
            trees.put(tree)

        def try_one(bug: Bug) -> Outcome:
            tree = trees.get()
            try:
                return tried(bug, tree, options.tests, options.seconds)
            finally:
                trees.put(tree)

        for outcome in pool.map(try_one, bugs):
            bug = outcome.bug
            n_found += outcome.word == "found"
            print(f"{outcome.word}: {bug.path}:{bug.line} {bug.function} ({len(bug.tests)} tests)")
            if outcome.word != "found":
                print(outcome.change, end="")
            sys.stdout.flush()
    score = 100 * n_found // max(len(bugs), 1)
    print(f"seed {seed}: tests found {n_found} of {len(bugs)} bugs, {score} %")
    return 0 if score >= GOAL_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
