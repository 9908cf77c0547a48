"""What every test gets: fixed surroundings, Hypothesis profiles, recorded fixtures."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from support.fixtures import Fixture, fixture
from support.implementations import IMPLEMENTATIONS, implemented_by
from support.s3 import S3Server, serving
from support.seeds import CASES, PROFILE, chosen, examples

# A run in the background of a script begins with ^C ignored, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No Java of a test lives long enough to win back what the second compiler, several collectors and
# the check of Spark's own classes take from the tests.
_JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
os.environ["SPARK_SUBMIT_OPTS"] = os.environ["SPARK_LAUNCHER_OPTS"] = _JAVA_OPTIONS

settings.register_profile(
    "default",
    max_examples=examples(25),
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"))
settings.register_profile("exhaustive", settings.get_profile("default"), derandomize=False)
settings.load_profile(PROFILE)
if PROFILE != "exhaustive":
    # Hypothesis parses every loaded module for constants to draw, which takes seconds in a fresh
    # clone. Which modules are loaded differs from run to run, and examples should not.
    providers._get_local_constants = lambda: providers._local_constants


# What is imported and collected stays; see `pytest_collection_finish`.
gc.disable()

_OF_THE_TESTS = frozenset(
    {
        "METASHELL_FIRST_SEED",
        "METASHELL_KERNEL",
        "METASHELL_TEST_PROFILE",
        "METASHELL_SEEDS",
        "METASHELL_UPDATE_DOCS",
        "METASHELL_UPDATE_SNAPSHOTS",
    }
)
"""Variables that are no settings of the program, and the one that has all tests run on numpy."""


_NOT_FAST = ("cases", "long", "meta", "pty", "slow", "spark")
_TESTS = Path(__file__).parent
_NOT_FAST_PLACES = tuple(
    _TESTS / place
    for place in (
        "damage",
        "live",
        "meta",
        "property",
        "spark",
        "test_docs.py",
        "test_imports.py",
        "test_packaging.py",
        "unit/spark_backend",
        "unit/test_runbooks.py",
    )
)
"""What is here looks far, or starts programs."""
_S3 = "s3"
"""The fixture whose server takes seconds to start, in each process that has a test of it."""
_ONE_A_FILE = _TESTS / "tui"
"""Each test here starts the explorer."""
_PROPERTIES = _TESTS / "property"
"""Few tests here, each of which draws many examples."""
_WALKS = "tests/tui/test_walks.py"
"""Each test here takes a second or more, and shares nothing with the others."""
_SPARK = "tests/spark/"
"""Tests here share a session, and some start Java themselves."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Make the choice of `make test-fast` known."""
    parser.addoption(
        "--fast", action="store_true", help="the first case of each test that takes no second"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even look at what is never fast."""
    return True if config.getoption("fast") and collection_path in _NOT_FAST_PLACES else None


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one case of each test where only one is taken: each process makes all cases."""
    if not metafunc.config.getoption("fast"):
        return
    parametrize = metafunc.parametrize

    def one(names: Any, values: Iterable[Any], *args: Any, ids: Any = None, **kwargs: Any) -> None:
        values = list(values)
        fast = (i for i, value in enumerate(values) if not _is_left(getattr(value, "marks", ())))
        taken = next(fast, 0)
        if not callable(ids) and ids is not None:
            ids = list(ids)[taken : taken + 1]
        parametrize(names, values[taken : taken + 1], *args, ids=ids, **kwargs)

    metafunc.parametrize = one  # type: ignore[method-assign]


def _is_left(marks: Iterable[Any]) -> bool:
    return any(mark.name in _NOT_FAST for mark in marks)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose what is fast, where that is asked for, and decide what runs where and when."""
    # Whoever names cases wants them.
    left: set[pytest.Item] = set() if config.option.keyword else _left_to_ci(items)
    if config.getoption("fast"):
        left |= set(items) - _fast(items)
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
    _order(config, items)


def _left_to_ci(items: list[pytest.Item]) -> set[pytest.Item]:
    """Cases beyond those that a test's marker `cases` asks for, or beyond `CASES`."""
    tests: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec"):
            tests.setdefault((item.path, getattr(item, "originalname", "")), []).append(item)
    left = set()
    for cases in tests.values():
        marker = cases[0].get_closest_marker("cases")
        taken = chosen(CASES if marker is None else marker.args[0], len(cases))
        left |= {item for i, item in enumerate(cases) if i not in taken}
    return left


def _fast(items: list[pytest.Item]) -> set[pytest.Item]:
    first: dict[tuple[Path, str], pytest.Item] = {}
    for item in items:
        if not _is_left(item.iter_markers()) and _S3 not in getattr(item, "fixturenames", ()):
            name = "" if _ONE_A_FILE in item.path.parents else getattr(item, "originalname", "")
            first.setdefault((item.path, name), item)
    return set(first.values())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process, and all that share a Spark session; not walks."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduler(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return Scheduler(config, log) if config.getvalue("dist") == "loadfile" else None


def _group(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    if file == _WALKS:
        return nodeid
    return _SPARK if file.startswith(_SPARK) else file


def _order(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let what takes longest begin first, so that no process is left alone with it."""
    if hasattr(config, "workerinput"):
        groups: dict[str, list[pytest.Item]] = {}
        for item in items:
            groups.setdefault(_group(item.nodeid), []).append(item)
        # Sorting keeps the order of groups that weigh the same.
        order = sorted(groups, key=lambda name: -sum(map(_weight, groups[name])))
        items[:] = [item for name in order for item in groups[name]]


def _weight(item: pytest.Item) -> int:
    """About how many cases of a plain function one takes as long as."""
    if item.get_closest_marker("slow") or item.nodeid.startswith(_SPARK):
        return 100
    places = item.path.parents
    many = item.get_closest_marker("pty") or _ONE_A_FILE in places or _PROPERTIES in places
    return 20 if many else 1


def pytest_collection_finish() -> None:
    """Look for garbage seldom, and not among what stays to the end: tests, and their modules."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture(autouse=True)
def _surroundings(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Keep tests from the user's files, terminal and language."""
    home = _home(tmp_path_factory)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith("METASHELL_")]:
        if name not in _OF_THE_TESTS:
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PAGER", "LESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    # Secrets that one test sends are hidden in what peers say for the life of the process.
    monkeypatch.setattr("metashell.redact._own_secrets", {})


def _home(factory: pytest.TempPathFactory) -> Path:
    home = factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="session")
def real_directory() -> Fixture:
    """A running controller's directory with every kind of record an administrator causes."""
    return fixture("real-44-live")


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each implementation of the inner loops; a module uses it that tests what they give."""
    with implemented_by(request.param):
        yield request.param


@pytest.fixture(scope="session", name=_S3)
def _s3() -> Iterator[S3Server]:
    """An S3 server on loopback; started for the first test that asks for one."""
    with serving() as server:
        yield server
