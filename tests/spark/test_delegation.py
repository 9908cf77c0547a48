"""The whole program with `--engine spark`: what it prints, keeps and leaves behind."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import uuid
from pathlib import Path
from typing import NoReturn

import pytest

from metashell.log.splits import SPLIT_BYTES
from metashell.spark_backend import find
from spark.conftest import Metashell, missing
from support.fixtures import copy_of, fixture
from support.fleets import backups
from support.pty import Terminal
from support.spark_programs import Marked
from support.waiting import wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

LIVE = "real-44-live"
SPARK = ("--engine", "spark", "--master", "local[2]")
LOCAL = ("--engine", "local")


@pytest.fixture
def marked(cwd: Path) -> Marked:
    """Where programs run, with a cache of their own."""
    return Marked(uuid.uuid4().hex, cwd)


def kept(marked: Marked) -> list[Path]:
    """Files in the cache."""
    return [path for path in marked.cache.rglob("*") if path.is_file()]


def without_java(directory: Path) -> dict[str, str]:
    """Surroundings in which Java notes that it was called, and fails."""
    java = directory / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(directory / 'called'))}\nexit 1\n")
    java.chmod(0o755)
    path = f"{java.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {"PATH": path, "JAVA_HOME": str(java.parent.parent)}


def test_the_image_is_kept_for_the_next_command(
    metashell: Metashell, marked: Marked, tmp_path: Path
) -> None:
    """Spark is started once; what it decoded answers later, by whatever path, without Java."""
    shutil.copytree(copy_of(LIVE, tmp_path), marked.cwd / "node")
    place = str(marked.cwd / "node" / "__cluster_metadata-0")
    first = ("ls", "-lR", "/image/topics", "/image/cluster")
    wanted = metashell(*LOCAL, "-d", place, *first)
    assert (0, "") == (wanted[0], wanted[2])
    # The log dir, by a path that means something only here.
    assert wanted == metashell(*SPARK, "-d", "node", *first)
    assert kept(marked)
    env = without_java(tmp_path)
    commands = ["-d", place, "--keep-going"]
    for line in (
        shlex.join(first),
        "find /",
        "cat /image/provenance /log/faults",
        "ls -l /quorum/voters /nowhere",
    ):
        commands += ["-c", line]
    local = metashell(*LOCAL, *commands)
    for engine in (SPARK, ("--master", "local[2]", "--spark-threshold", "1")):
        assert local == marked.metashell(*engine, *commands, env=env)
    assert not (tmp_path / "called").exists()


def test_auto_says_why_and_no_cache_leaves_nothing(metashell: Metashell, cwd: Path) -> None:
    """One line, on standard error."""
    place = str(fixture("real-44-admin").input)
    auto = ("--master", "local[2]", "--spark-threshold", "1", "--no-cache")
    command = ("cat", "/image/cluster/1", "/image/provenance", "/log/faults")
    status, out, err = metashell(*LOCAL, "-d", place, *command)
    found = metashell(*auto, "-d", place, *command)
    assert (status, out) == found[:2]
    first, *others = found[2].splitlines()
    assert "using Spark: " in first
    assert "`--spark-threshold`" in first
    assert err.splitlines() == others
    assert not (cwd / "cache").exists()


@pytest.mark.slow
def test_find_draws_its_progress_and_erases_it(marked: Marked, tmp_path: Path) -> None:
    """Standard output has the paths alone; on the terminal only diagnostics are left."""
    place, out = str(fixture("real-44-torn").input), tmp_path / "out"
    command = ("find", "/", "/nowhere", "/image/topics/by*", "-type", "d")
    status, wanted, err = marked.metashell(*LOCAL, "-d", place, *command)
    spark = ("--engine", "spark", "--master", "local[1]")
    program = [sys.executable, "-m", "metashell", *spark, "-d", place, *command]
    script = f"exec {shlex.join(program)} > {shlex.quote(str(out))}"
    with Terminal(["/bin/sh", "-c", script], env=marked.environment, columns=240) as terminal:
        assert status == terminal.read_to_end(), terminal.describe()
        assert wanted == out.read_text(encoding="utf-8")
        assert b"Spark" in terminal.raw
        assert sorted(err.split()) == sorted(terminal.text.split())
    assert [] == kept(marked)
    wait_until(lambda: not marked.running(), lambda: f"all have ended: {marked.running()}")


@pytest.mark.slow
def test_a_fleet_by_spark(metashell: Metashell, tmp_path: Path) -> None:
    """Rows and searches are the local ones; who can't be read is told of in the same words.

    One is too large for a task and is searched in parts: its log ends in zeros, as Kafka
    preallocates.
    """
    backups(tmp_path / "all")
    segment = max((tmp_path / "all" / "controller-1").rglob("*.log"))
    os.truncate(segment, segment.stat().st_size + 3 * SPLIT_BYTES)
    (tmp_path / "all" / "broken" / "__cluster_metadata-0").mkdir(parents=True)
    given = ("-d", f"{tmp_path}/all/*", "--keep-going", "-c", "fleet --json")
    given += ("-c", "find /clusters/*/image /nowhere /clusters -name '*0'")
    given += ("-c", "find /clusters -name '*0' -count -printf '%p %d %f\\n'")
    local = metashell(*LOCAL, *given)
    found = metashell(*SPARK, *given)
    assert local[:2] == found[:2]
    assert sorted(local[2].splitlines()) == sorted(found[2].splitlines())


@pytest.mark.slow
def test_a_fleet_of_one_cluster_by_spark(metashell: Metashell, tmp_path: Path, cwd: Path) -> None:
    """Spark reduces members that are opened here; `/quorum`, which is made of all, is found."""
    source = fixture("real-44-live").directory
    for name in ("a", "b"):
        shutil.copytree(source, tmp_path / "all" / name)
    given = ("-d", f"{tmp_path}/all/*", "-c", "cat /clusters/b/image/features/metadataVersion")
    given += ("-c", "find / -maxdepth 2")
    local = metashell(*LOCAL, *given)
    assert local[:2] == metashell(*SPARK, "--no-cache", *given)[:2]
    assert "/quorum/copies" in local[1].splitlines()
    assert local[:2] == metashell(*SPARK, *given)[:2]
    entries = [path for path in (cwd / "cache").rglob("*") if path.is_file()]
    assert entries, "what Spark reduced is kept"


def test_interrupt_is_the_status(metashell: Metashell, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a search; nothing is told. `test_session` shows that every process ends."""
    rows: list[object] = []

    def interrupted(row: object) -> NoReturn:
        rows.append(row)
        raise KeyboardInterrupt

    monkeypatch.setattr(find, "found_of", interrupted)
    place = str(fixture(LIVE).input)
    assert (130, "", "") == metashell(*SPARK, "-d", place, "find", "/", "-name", "topics")
    assert 1 == len(rows)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("-s", ("-s", "FILE")),
        ("--strict", ("-d", "DIR", "--strict")),
        ("--at", ("-d", "DIR", "--at", "5")),
    ],
)
def test_what_spark_does_not_answer(
    metashell: Metashell, option: str, words: tuple[str, ...]
) -> None:
    """It is said, not answered otherwise."""
    place = fixture("real-40-static").input
    names = {"DIR": str(place), "FILE": str(next(place.glob("*.log")))}
    given = [names.get(word, word) for word in words]
    status, out, err = metashell(*SPARK, *given, "ls")
    assert (2, "") == (status, out)
    assert f"`{option}` runs in this process, not in Spark" in err
    assert 0 == metashell("--spark-threshold", "1", *given, "ls")[0]
