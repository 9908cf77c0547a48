"""What opens a directory in Python: this process, the cache or Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import metashell
from metashell.cli import main
from metashell.errors import SourceError, UsageError
from metashell.sources.cached import CachedSource
from metashell.sources.directory import DirectorySource
from metashell.sources.engine import EngineSettings
from metashell.sources.opening import open_fleet, open_request
from metashell.sources.request import Choice, OpeningWatch, OpenRequest
from metashell.spark_backend import needs
from support.cached import keep
from support.fixtures import METADATA_DIRECTORY, copy_of
from support.live import Cluster
from support.logs import make_directory, topic_batch

MUCH = EngineSettings(threshold_bytes=10)
"""Settings by which any log is for Spark."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A log with a checkpoint and segments behind it."""
    return copy_of("quota-defaults", tmp_path / "log") / METADATA_DIRECTORY


@pytest.fixture
def kept(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, which the cache keeps."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))
    assert keep(directory)
    return directory


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[OpenRequest]:
    """What a Spark engine is asked for that opens everything here, where Spark can be had."""
    asked: list[OpenRequest] = []

    def open_delegated(request: OpenRequest, progress: Any, announce: Callable[[], None]) -> Any:
        asked.append(request)
        announce()
        if request.choice.paths:
            return open_fleet(request.choice.paths, engine="local")
        return metashell.open(request.choice.path, engine="local")

    module = ModuleType("metashell.spark_backend.opening")
    module.open_delegated = open_delegated  # type: ignore[attr-defined]
    module.__spec__ = __spec__
    monkeypatch.setitem(sys.modules, "metashell.spark_backend.opening", module)
    monkeypatch.setattr(needs, "check", lambda _master: None)
    return asked


def test_what_is_kept_is_used(kept: Path) -> None:
    """And says the same as the files."""
    source = metashell.open(kept)
    assert isinstance(source, CachedSource)
    assert not source.capabilities.has_log
    read = metashell.open(kept, engine="local")
    assert read.capabilities.has_log
    assert read.find("/image") == source.find("/image")
    assert source.full_log.log.loaded.files == read.log.loaded.files


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "local"},
        {"engine": EngineSettings(use_cache=False)},
        {"strict": True},
        {"show_secrets": True},
    ],
)
def test_files_are_read_where_the_cache_does_not_count(kept: Path, options: Any) -> None:
    """It has no secrets and no faults, and is left out where that is asked for."""
    assert isinstance(metashell.open(kept, **options), DirectorySource)


def test_spark_opens_what_the_policy_says(directory: Path, requests: list[OpenRequest]) -> None:
    """By the settings of the call, and without a word."""
    assert isinstance(metashell.open(directory), DirectorySource)
    assert not requests
    metashell.open(directory, engine=MUCH, committed_only=True)
    metashell.open(directory, engine="spark")
    one, other = requests
    assert (str(directory), MUCH, True) == (
        one.choice.path,
        one.engine,
        one.settings.committed_only,
    )
    assert "spark" == other.engine.engine


def test_a_fleet_is_opened_by_the_same_policy(directory: Path, requests: list[OpenRequest]) -> None:
    """Whoever computes its rows."""
    assert 1 == len(open_fleet([str(directory)]).members)
    assert not requests
    open_fleet([str(directory)], engine=MUCH)
    assert [(str(directory),)] == [request.choice.paths for request in requests]


def test_a_strict_replay_is_not_for_spark(directory: Path, requests: list[OpenRequest]) -> None:
    """Where it ends only the bytes of the log tell."""
    metashell.open(directory, engine=MUCH, strict=True)
    open_request(OpenRequest(choice=Choice(str(directory)), engine=MUCH, at="-0s"))
    assert not requests


def test_what_is_missing_for_spark(
    directory: Path, requests: list[OpenRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is an error where Spark was asked for, and told to who listens where it would be used."""

    def check(_master: str) -> None:
        raise SourceError("Spark can't be used: no", hint="do")

    class Watch(OpeningWatch):
        def spark_is_missing(self, reason: str, missing: SourceError) -> None:
            told.append(missing.message)

    told: list[str] = []
    monkeypatch.setattr(needs, "check", check)
    with pytest.raises(SourceError, match="Spark can't be used: no"):
        metashell.open(directory, engine="spark")
    assert metashell.open(directory, engine=MUCH).capabilities.has_log
    open_request(OpenRequest(choice=Choice(str(directory)), engine=MUCH), Watch())
    assert (["Spark can't be used: no"], []) == (told, requests)


def test_spark_is_not_begun_in_one_of_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that Spark runs opens a large directory by itself."""
    monkeypatch.setitem(sys.modules, "pyspark.worker", ModuleType("pyspark.worker"))
    missing = needs.missing_requirement("local[*]")
    assert missing is not None
    assert "Spark can't be used: this is one of its tasks" == missing.message


def test_engines_there_are_not(directory: Path) -> None:
    """Are refused by name."""
    with pytest.raises(UsageError, match="`flink` must be auto, local or spark"):
        metashell.open(directory, engine="flink")


def test_a_request_does_not_tell_passwords() -> None:
    """A URI may hold one."""
    uri = "s3://key:hunter2@bucket/x"
    shown = repr(OpenRequest(choice=Choice(uri, paths=(uri,))))
    assert "settings" in shown
    assert "hunter2" not in shown


def test_progress(directory: Path) -> None:
    """Bytes read, up to all of them."""
    told: list[tuple[int, int]] = []
    metashell.open(directory, progress=lambda done, whole: told.append((done, whole)))
    assert told
    assert told[-1][0] == told[-1][1]


def test_a_source_closes_what_it_stands_on() -> None:
    """At the end of a block, at an earlier state too; files have nothing to close."""
    cluster = Cluster(topic_batch(0), topic_batch(1))
    with cluster.source() as source:
        assert source.capabilities.follows
    assert cluster.is_closed
    cluster.is_closed = False
    cluster.source().at(0).close()
    assert cluster.is_closed


def test_a_directory_that_changed_is_read_again(tmp_path: Path) -> None:
    """And one that did not is not."""
    place = make_directory(tmp_path, (0, topic_batch(0)))
    source = metashell.open(place)
    assert source.refreshed() is source
    (segment,) = place.glob("*.log")
    with segment.open("ab") as file:
        file.write(topic_batch(1))
    assert 2 == len(source.refreshed().ls("/image/topics/byName"))


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("is_above", [False, True])
def test_a_directory_is_listed_once(
    directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    is_kept: bool,
    is_above: bool,
) -> None:
    """From the command line to the text: it may be in a store, or have thousands of files."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))
    assert not is_kept or keep(directory)
    listed: list[str] = []
    for name in ("listdir", "scandir"):
        actual = getattr(os, name)

        def counted(path: Any = ".", actual: Any = actual) -> Any:
            listed.append(os.path.realpath(path))
            return actual(path)

        monkeypatch.setattr(os, name, counted)
    given = directory.parent if is_above else directory
    assert 0 == main(["-d", str(given), "cat", "/image/features/metadataVersion"])
    assert capfd.readouterr().out
    found = [path for path in listed if path in {str(directory), str(directory.parent)}]
    assert [*([str(directory.parent)] if is_above else []), str(directory)] == found
    assert (metashell.open(given).capabilities.has_log) is not is_kept
