"""``health --deep``: what ``check`` finds in files that make no difference to the state."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.cli import main
from support.coordinators import NODE
from support.fixtures import copy_of, fixture_dir
from support.shell import run_on

OLD_SEGMENT = "00000000000000000387.log"
"""A segment of real-44-live before its newest checkpoint."""
BROKER = fixture_dir(NODE) / "broker102"
GROUPS = "__consumer_offsets-0/00000000000000000000.log"


def flip_bit(path: Path, pos: int) -> None:
    """Damage a batch."""
    data = bytearray(path.read_bytes())
    data[pos] ^= 1
    path.write_bytes(data)


def critical(directory: Path) -> tuple[int, set[tuple[str, str]]]:
    """The exit status of ``health --deep``, and what is critical: code and subject."""
    ran = run_on(metashell.open(directory), "health --deep --severity critical -o json")
    rows: list[dict[str, Any]] = json.loads(ran.out)
    return ran.status, {(row["code"], row["subject"]) for row in rows}


def test_damage_before_the_newest_checkpoint(tmp_path: Path) -> None:
    """Nobody reads such a batch to know the state; `health` without --deep has nothing of it."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    _, before = critical(directory)
    flip_bit(directory / OLD_SEGMENT, 3000)
    status, found = critical(directory)

    assert 1 == status
    assert ("crc-mismatch", f"file {OLD_SEGMENT}") in found - before
    shallow = json.loads(run_on(metashell.open(directory), "health -o json").out)
    assert not any(OLD_SEGMENT in row["subject"] for row in shallow)


def test_a_segment_before_the_newest_checkpoint_is_gone(tmp_path: Path) -> None:
    """The next one says so."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    (directory / OLD_SEGMENT).unlink()
    status, found = critical(directory)

    assert 1 == status
    assert ("segment-gap", "file 00000000000000000862.log") in found


def test_damage_of_a_coordinators_log(tmp_path: Path) -> None:
    """It decides the exit status."""
    directory = tmp_path / "d1"
    shutil.copytree(BROKER / "d1", directory)
    assert (0, set()) == critical(directory)
    flip_bit(directory / GROUPS, 70)

    assert (1, {("crc-mismatch", f"file {GROUPS}")}) == critical(directory)


def test_another_log_directory_of_the_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ids that cannot be read hinder the node, also in a directory without the metadata log."""
    for name in ("d1", "d2"):
        shutil.copytree(BROKER / name, tmp_path / name)
    (tmp_path / "d2" / "meta.properties").write_text("nonsense\n")
    words = ["-d", str(tmp_path / "d1"), "-d", str(tmp_path / "d2")]
    status = main([*words, "health", "--deep", "--severity", "critical", "-o", "json"])
    (row,) = json.loads(capsys.readouterr().out)

    assert 1 == status
    assert ("file-malformed", "file meta.properties") == (row["code"], row["subject"])
    assert "takes any other log dir offline" in row["action"]


def test_a_finding_of_health_is_not_told_again(tmp_path: Path) -> None:
    """Damage behind the newest checkpoint is one row, as `health` has it."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    flip_bit(directory / "00000000000000003389.log", 3000)
    _, found = critical(directory)

    damaged = [code for code, subject in found if subject == "file 00000000000000003389.log"]
    assert 1 == damaged.count("file-damaged") + damaged.count("crc-mismatch")
