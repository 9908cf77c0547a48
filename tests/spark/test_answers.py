"""Questions with `--engine spark`: what this process answers to them, byte for byte."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from spark.conftest import Metashell, missing
from support.fixtures import copy_of
from support.fleets import backups
from support.questions import ROWS, SQL, TABLES, WALKS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

SPARK = ("--engine", "spark", "--master", "local[2]")
LOCAL = ("--engine", "local")
_MARK = "pwd"
"""A command that stands between two others."""


def script(*lines: str) -> list[str]:
    """Words that run lines one after the other, in one session of Spark."""
    words = ["--keep-going"]
    for line in lines:
        words += ["-c", _MARK, "-c", line]
    return words


def assert_same(
    lines: tuple[str, ...], local: tuple[int, str, str], found: tuple[int, str, str]
) -> None:
    """The outputs, line by line of the script, then all else."""
    outputs = [out.split("/\n") for out in (local[1], found[1])]
    for line, *pair in zip(("", *lines), *outputs, strict=False):
        assert pair[0] == pair[1], line
    assert local[0] == found[0]
    assert local[1] == found[1]
    assert sorted(local[2].splitlines()) == sorted(found[2].splitlines())


def test_a_directory(metashell: Metashell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Spark, then from what it cached, without a session."""
    place = str(copy_of("real-44-broker-down", tmp_path))
    lines = (*ROWS, *WALKS, *TABLES)
    local = metashell(*LOCAL, "-d", place, *script(*lines))
    assert_same(lines, local, metashell(*SPARK, "-d", place, *script(*lines)))
    monkeypatch.setattr("metashell.spark_backend.session.active_session", lambda: None)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert_same(lines, local, metashell(*SPARK, "-d", place, *script(*lines)))


@pytest.mark.slow
def test_sql_and_find_without_a_cache(metashell: Metashell, tmp_path: Path) -> None:
    """They run in executors."""
    place = str(copy_of("real-44-broker-down", tmp_path))
    given = ("--no-cache", "-d", place)
    lines = (*SQL[:2], "find / -offline -o -config cleanup.policy=compact")
    local = metashell(*LOCAL, *given, *script(*lines))
    assert_same(lines, local, metashell(*SPARK, *given, *script(*lines)))


@pytest.mark.slow
def test_a_fleet(metashell: Metashell, tmp_path: Path, cwd: Path) -> None:
    """Executors make the rows; a file that an option names needs to be here alone."""
    backups(tmp_path / "all")
    (tmp_path / "all" / "broken" / "__cluster_metadata-0").mkdir(parents=True)
    shutil.copytree(copy_of("real-44-torn", tmp_path), tmp_path / "all" / "torn")
    (cwd / "server.properties").write_text("min.insync.replicas=3\n")
    # A job each: one of each command is enough, as all go the same way.
    of_each = {line.split()[0]: line for line in reversed(ROWS)}
    lines = (
        *of_each.values(),
        "partitions --history --columns topic,partition,since_offset",
        "partitions --assume server.properties --columns topic,min_isr,min_isr_source",
        "grep leader=-1 /clusters/*/image/topics/byName/orders",
    )
    given = ("-d", f"{tmp_path}/all/*", *script(*lines))
    assert_same(lines, metashell(*LOCAL, *given), metashell(*SPARK, *given))
