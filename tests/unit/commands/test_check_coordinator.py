"""``check`` of a coordinator's log: damage, and what a broker can't load."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from metashell.cli import main
from metashell.read_settings import READ_DEFAULTS
from metashell.sources.coordinator import open_coordinator
from support.coordinators import NODE, RECORDS
from support.fixtures import fixture_dir
from support.shell import Ran, run_on

BROKER = fixture_dir(NODE) / "broker101"


def check(directory: Path, options: str = "") -> Ran:
    """Open a directory and check it."""
    source = open_coordinator(str(directory), READ_DEFAULTS, None, is_file=False)
    assert source is not None
    return run_on(source, f"check {options}")


def findings(name: str, tmp_path: Path, options: str = "") -> tuple[int, list[dict[str, Any]]]:
    """Check a recorded log under a name that says what it is: exit status and rows."""
    directory = tmp_path / "__consumer_offsets-0"
    shutil.copytree(fixture_dir(RECORDS) / name, directory)
    ran = check(directory, f"-o jsonl {options}")
    return ran.status, [json.loads(line) for line in ran.out.splitlines()]


@pytest.mark.parametrize(
    "directory", ["d1/__consumer_offsets-3", "d2/__transaction_state-1", "d1/__share_group_state-3"]
)
def test_real_logs_are_sound(directory: str) -> None:
    """A real log has no damage, and is counted."""
    ran = check(BROKER / directory)
    assert (0, ()) == (ran.status, ran.err)
    assert ran.out.endswith(" records: no damage found\n")
    assert "1 file" in ran.out or "2 files" in ran.out


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("broken-crc", 1, [("critical", "crc-mismatch", 110, 1)]),
        ("broken-magic", 1, [("critical", "batch-damaged", 110, 1)]),
        ("broken-truncated", 0, [("note", "torn-tail", 110, 1)]),
        ("zero-padded", 0, [("note", "preallocated-tail", 110, None)]),
        ("broken-null-key", 1, [("critical", "load-ends", 110, 1)]),
        (
            "broken-empty-key",
            1,
            [("critical", "load-ends", 110, 1), ("warning", "record-refused", 110, 2)],
        ),
        ("old-magic0-__consumer_offsets-2", 0, []),
    ],
)
def test_damage(
    tmp_path: Path, name: str, status: int, expected: list[tuple[str, str, int, int | None]]
) -> None:
    """Each kind of damage has its code, its place and how bad it is."""
    found_status, rows = findings(name, tmp_path)
    assert expected == [(r["severity"], r["code"], r["pos"], r["offset"]) for r in rows]
    assert status == found_status
    assert all(row["action"] for row in rows)


@pytest.mark.long
def test_what_a_broker_refuses_and_skips(tmp_path: Path) -> None:
    """The record that ends the load is critical; those behind it and unknown types are not."""
    status, rows = findings("__consumer_offsets-0", tmp_path)
    codes = [row["code"] for row in rows]

    assert 1 == status
    assert ["epoch-falls", "load-ends"] == sorted(
        {r["code"] for r in rows if r["severity"] == "critical"}
    )
    assert 1 == codes.count("load-ends")
    assert {"record-refused", "record-skipped"} < set(codes)
    (ends,) = (row for row in rows if row["code"] == "load-ends")
    assert ends["message"].startswith("a broker stops at offset 71: a member is listed twice")


def test_quick(tmp_path: Path) -> None:
    """--quick looks at the files alone."""
    assert (0, []) == findings("broken-null-key", tmp_path, "--quick")


def test_program(capsys: pytest.CaptureFixture[str]) -> None:
    """The program checks a directory and a segment."""
    directory = BROKER / "d1" / "__consumer_offsets-3"
    assert 0 == main(["-d", str(directory), "check"])
    assert "no damage found" in capsys.readouterr().out
    assert 0 == main(["-s", str(directory / "00000000000000000000.log"), "check"])
    assert capsys.readouterr().out.startswith("1 file, ")
