"""``check`` of a broker's log directory: the coordinators' logs there, and what a broker has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from metashell.read_settings import ReadSettings
from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from support.coordinators import NODE, RECORDS
from support.fixtures import fixture_dir
from support.shell import run_on

D1 = fixture_dir(NODE) / "broker102" / "d1"
D2 = fixture_dir(NODE) / "broker102" / "d2"


def opened(path: Path, **settings: Any) -> Source:
    """Open a directory."""
    request = OpenRequest(
        choice=Choice(str(path), is_file=False),
        settings=ReadSettings.of(**settings),
    )
    source = open_request(request)
    assert isinstance(source, Source)
    return source


def findings(source: Source, options: str = "") -> list[dict[str, Any]]:
    """Run ``check`` and read its rows."""
    return [json.loads(line) for line in run_on(source, f"check -o jsonl {options}").out.split("\n")
            if line]  # fmt: skip


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A broker's log directory of which a group log is damaged."""
    directory = tmp_path / "d1"
    shutil.copytree(D1, directory)
    segment = directory / "__consumer_offsets-0" / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[70] ^= 1
    segment.write_bytes(data)
    return directory


@pytest.mark.parametrize("directory", [D1, D2], ids=["with-metadata", "without"])
def test_a_sound_directory(directory: Path) -> None:
    """Files of all logs are counted, and nothing is found."""
    ran = run_on(opened(directory), "check")
    assert 0 == ran.status
    n_segments = sum(
        len(list(log.glob("*.log"))) for log in directory.glob("__*_*-[0-9]")
    )  # fmt: skip
    assert f"{n_segments} files" in ran.out or directory == D1
    assert "no damage found" in ran.out


@pytest.mark.parametrize("options", ["", "--quick"])
def test_damage_is_told_with_its_partition(damaged: Path, options: str) -> None:
    """The file is named with the directory that it lies in."""
    found = findings(opened(damaged), options)
    assert ["__consumer_offsets-0/00000000000000000000.log"] == [f["file"] for f in found]
    assert 1 == run_on(opened(damaged), f"check {options}").status


def test_a_partition_that_cannot_be_read_is_told(damaged: Path) -> None:
    """And the exit status is that of files that can't be read."""
    for segment in (damaged / "__transaction_state-1").glob("*.log"):
        segment.unlink()
    source = opened(damaged)
    assert "unreadable" in [finding["code"] for finding in findings(source)]
    assert 3 == run_on(source, "check").status


@pytest.mark.long
def test_one_record_ends_the_load() -> None:
    """The first that a broker can't read or can't replay is critical, all others are not."""
    source = opened(fixture_dir(RECORDS) / "__consumer_offsets-0")
    found = findings(source)
    ends = [finding["offset"] for finding in found if finding["code"] == "load-ends"]
    refused = [finding["offset"] for finding in found if finding["code"] == "record-refused"]
    assert 1 == len(ends)
    assert ends[0] < min(refused)


def test_strict_is_what_a_broker_has() -> None:
    """Of transactions what lies before the record that it refuses, of groups nothing."""
    ran = run_on(
        opened(fixture_dir(RECORDS) / "__consumer_offsets-0", strict=True), "groups --count"
    )
    assert ("0\n", 1) == (ran.out, ran.status)
    assert any("a broker stops" in line for line in ran.err)
    whole = opened(fixture_dir(RECORDS) / "__transaction_state-0")
    had = opened(fixture_dir(RECORDS) / "__transaction_state-0", strict=True)
    counts = [int(run_on(each, "transactions --count").out) for each in (had, whole)]
    assert 0 < counts[0] < counts[1]
    for directory in (D1, D1 / "__consumer_offsets-0"):
        counts = [
            int(run_on(opened(directory, strict=strict), "groups --count").out)
            for strict in (False, True)
        ]
        assert counts[0] == counts[1] > 0
