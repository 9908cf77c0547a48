"""What every test gets: fixed surroundings, Hypothesis profiles, recorded fixtures."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.fixtures import Fixture, fixture
from support.s3 import S3Server, serving

# A run in the background of a script begins with ^C ignored, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "default",
    # The profile `exhaustive` looks further; this one has to end while somebody waits.
    max_examples=60,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "exhaustive", settings.get_profile("default"), derandomize=False, max_examples=2_000
)
settings.load_profile(os.environ.get("METASHELL_HYPOTHESIS_PROFILE", "default"))


_OF_THE_TESTS = frozenset(
    {
        "METASHELL_FIRST_SEED",
        "METASHELL_HYPOTHESIS_PROFILE",
        "METASHELL_SEEDS",
        "METASHELL_UPDATE_DOCS",
        "METASHELL_UPDATE_SNAPSHOTS",
    }
)
"""Variables that are no settings of the program."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file in one process, and all that share the Spark session."""
    for item in items:
        group = "spark" if item.get_closest_marker("spark") else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))


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


def _home(factory: pytest.TempPathFactory) -> Path:
    home = factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="session")
def real_directory() -> Fixture:
    """A running controller's directory with every kind of record an administrator causes."""
    return fixture("real-44-live")


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server on loopback; started for the first test that asks for one."""
    with serving() as server:
        yield server
