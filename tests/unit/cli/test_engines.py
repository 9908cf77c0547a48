"""The options of the engine, and what is done and said by them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from metashell.cli.arguments import parse_arguments
from metashell.cli.sources import engine_settings, parse_size
from metashell.errors import SourceError, UsageError
from metashell.sources.engine import THRESHOLD_BYTES
from metashell.sources.request import OpenRequest
from metashell.spark_backend import needs
from support.logs import make_directory, topic_batch
from unit.cli.conftest import Program
from unit.cli.fake_program import FakeSource


@pytest.fixture
def delegated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[OpenRequest, Any]]:
    """A Spark engine that only remembers how it was called, on a machine that has all it needs."""
    calls: list[tuple[OpenRequest, Any]] = []

    def open_delegated(
        request: OpenRequest, progress: Any, announce: Callable[[], None]
    ) -> FakeSource:
        calls.append((request, progress))
        announce()
        announce()
        return FakeSource(name="by Spark")

    module = ModuleType("metashell.spark_backend.opening")
    module.open_delegated = open_delegated  # type: ignore[attr-defined]
    module.__spec__ = __spec__
    monkeypatch.setitem(sys.modules, "metashell.spark_backend.opening", module)
    monkeypatch.setattr(needs, "check", lambda _master: None)
    return calls


@pytest.fixture
def opened(program: Program) -> Program:
    """The program with made-up commands, which opens as it does for users."""
    return replace(program, opener=None)


@pytest.fixture
def directory(tmp_path: Path) -> str:
    """A log of one batch."""
    return str(make_directory(tmp_path, (0, topic_batch(0))))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("2000000", 2_000_000),
        ("10B", 10),
        ("512M", 512_000_000),
        ("512MB", 512_000_000),
        ("3k", 3_000),
        ("2GiB", 2 << 30),
        ("2Gi", 2 << 30),
        ("1 T", 10**12),
    ],
)
def test_sizes(text: str, size: int) -> None:
    """With and without a unit."""
    assert size == parse_size(text)


@pytest.mark.parametrize("text", ["x", "-1", "1.5G", "1X", "1iB", "M", "9" * 30, "١"])
def test_no_sizes(text: str) -> None:
    """What can't be meant is refused."""
    with pytest.raises(UsageError, match="must be a number of bytes"):
        parse_size(text)


def test_settings() -> None:
    """All of them, and what they are when not given."""
    argv = (
        "--engine spark --spark-threshold 5M --master local[2] --no-cache "
        "--spark-conf spark.a=1=2 --spark-conf spark.b="
    )
    settings = engine_settings(parse_arguments(argv.split()))
    assert ("spark", 5_000_000, "local[2]", False) == (
        settings.engine,
        settings.threshold_bytes,
        settings.master,
        settings.use_cache,
    )
    assert (("spark.a", "1=2"), ("spark.b", "")) == settings.conf
    plain = engine_settings(parse_arguments([]))
    assert ("auto", THRESHOLD_BYTES, None, (), True) == (
        plain.engine,
        plain.threshold_bytes,
        plain.master,
        plain.conf,
        plain.use_cache,
    )


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        (["--engine", "flink"], ["`--engine`: `flink` must be auto, local or spark"]),
        (["--engine="], ["`--engine` needs a value that is not empty"]),
        (["--master="], ["`--master` needs a value that is not empty"]),
        (["--master", "there:7077"], ["`--master` is not the address", "spark://HOST:PORT"]),
        (["--master", "local[0]"], ["`--master` is not the address"]),
        (["--spark-threshold", "many"], ["`--spark-threshold`: `many` must be a number of bytes"]),
        (["--spark-conf", "spark.x"], ["a value without `=` is not a setting", "spark.KEY=VALUE"]),
        (["--spark-conf", "x.y=1"], ["`x.y` is not a setting of Spark"]),
        (["--spark-conf", "spark.master=local"], ["spark.master is set by `--master`"]),
        (["--engine", "local", "--master", "local"], ["`--master` needs Spark"]),
        (["--engine", "local", "--spark-conf", "spark.a=b"], ["`--spark-conf` needs Spark"]),
    ],
)
def test_usage_errors(program: Program, argv: list[str], parts: list[str]) -> None:
    """Each ends with 2 and opens nothing."""
    result = program(*argv, "-d", "a", "ls")
    assert (2, "", []) == (result.code, result.out, program.opener.calls)
    for part in parts:
        assert part in result.err


def test_values_that_may_be_secret_are_not_repeated(program: Program) -> None:
    """Of a setting that is refused only the key, of a master nothing."""
    result = program("--spark-conf", "fs.s3a.secret.key=s3cret", "-d", "a", "ls")
    assert 2 == result.code
    assert "s3cret" not in result.err
    assert "tok3n" not in program("--master", "x;token=tok3n", "-d", "a", "ls").err


@pytest.mark.parametrize(
    "argv",
    [
        ["--engine", "spark"],
        ["--master", "spark://h:1"],
        ["--spark-threshold", "1"],
        ["--spark-conf", "spark.a=b"],
        ["--no-cache"],
    ],
)
def test_a_live_quorum_is_not_for_spark(program: Program, argv: list[str]) -> None:
    """It is followed here."""
    result = program(*argv, "-q", "h:1", "ls")
    assert (2, []) == (result.code, program.opener.calls)
    assert "not on a live quorum" in result.err
    assert 0 == program("--engine", "auto", "-q", "h:1", "echo").code


def test_a_small_directory_is_opened_here(
    opened: Program, delegated: list[Any], directory: str
) -> None:
    """Without a word, and without asking for Java."""
    result = opened("-d", directory, "echo", "hi")
    assert (0, "hi\n", "", []) == (result.code, result.out, result.err, delegated)


def test_auto_tells_its_reason_once(opened: Program, delegated: list[Any], tmp_path: Path) -> None:
    """And hands on all that was asked for."""
    (tmp_path / "00000000000000000000.log").write_bytes(b"12345678901")
    result = opened(
        *("--spark-threshold", "10", "--spark-conf", "spark.a=b", "--no-cache", "--show-secrets"),
        *("--master", "local[1]", "-d", str(tmp_path), "echo", "hi"),
    )
    assert (0, "hi\n") == (result.code, result.out)
    assert (
        "metashell: using Spark: 11 bytes to decode are more than `--spark-threshold` (10 bytes)\n"
        == result.err
    )
    [(request, progress)] = delegated
    assert (str(tmp_path), ()) == (request.choice.path, request.choice.paths)
    engine = request.engine
    assert ("local[1]", (("spark.a", "b"),), False) == (
        engine.master,
        engine.conf,
        engine.use_cache,
    )
    assert request.settings.show_secrets
    assert not request.is_searched
    assert progress is None


def test_spark_asked_for_is_not_explained(
    opened: Program, delegated: list[Any], tmp_path: Path
) -> None:
    """Who asks for it knows."""
    result = opened("--engine", "spark", "-d", str(tmp_path), "echo")
    assert (0, "", 1) == (result.code, result.err, len(delegated))


@pytest.mark.parametrize(
    "asked", [("-s", "f.log"), ("--strict", "-d", "."), ("--at", "5", "-d", ".")]
)
def test_what_spark_does_not_answer(
    program: Program, delegated: list[Any], asked: tuple[str, ...]
) -> None:
    """What only the log's bytes tell is this process's; asked of Spark it is refused."""
    result = program("--engine", "spark", *asked, "echo")
    flag = asked[0]
    assert (2, []) == (result.code, delegated)
    assert f"metashell: `{flag}` runs in this process, not in Spark" in result.err
    program("--spark-threshold", "1", *asked, "echo")
    assert not delegated


def test_auto_without_spark_goes_on_here(
    opened: Program, delegated: list[Any], directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a note on what was wanted and how to get it."""

    def check(_master: str) -> None:
        raise SourceError("Spark can't be used: PySpark is not installed", hint="the line")

    monkeypatch.setattr(needs, "check", check)
    result = opened("--spark-threshold", "10", "-d", directory, "echo", "hi")
    assert (0, "hi\n", []) == (result.code, result.out, delegated)
    size = sum(file.stat().st_size for file in Path(directory).glob("*.log"))
    assert (
        f"metashell: note: Spark is preferred ({size} bytes to decode are more than "
        "`--spark-threshold` (10 bytes)), but cannot run: PySpark is not installed\n"
        "  hint: the line\n" == result.err
    )
    refused = opened("--engine", "spark", "-d", directory, "echo", "hi")
    assert (3, "") == (refused.code, refused.out)
    assert "metashell: Spark can't be used: PySpark is not installed\n  hint: the line\n" == (
        refused.err
    )


def test_the_reason_is_not_told_where_nothing_is_delegated(
    opened: Program, delegated: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that answers says nothing: `announce` is called when a session is made."""
    monkeypatch.setattr(
        sys.modules["metashell.spark_backend.opening"],
        "open_delegated",
        lambda _request, _progress, _announce: FakeSource(),
    )
    result = opened("--master", "spark://h:1", "-d", "a", "echo")
    assert (0, "") == (result.code, result.err)
