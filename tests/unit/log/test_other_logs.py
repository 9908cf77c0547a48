"""Logs of topics that lie where a metadata log is looked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import metashell
from metashell.cli import main
from metashell.errors import SourceError
from metashell.log.names import METADATA_DIRECTORY
from support.fixtures import copy_of, fixture_dir

COORDINATORS = "coordinator-records-44"
SEGMENT = "00000000000000000000.log"


@pytest.mark.parametrize(
    "name",
    [
        "__consumer_offsets-0",
        "broken-crc",
        "broken-crc-gzip",
        "broken-truncated",
        "broken-null-key",
    ],
)
@pytest.mark.parametrize("command", ["log", "check", "groups"])
def test_a_copy_of_a_coordinators_log(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under another name it is refused, whatever lies beside it; it says how to call it."""
    around = copy_of(COORDINATORS, tmp_path)
    copy = shutil.copytree(around / name, around / "copy")
    for words in (["-d", str(copy)], ["-s", str(copy / SEGMENT)]):
        assert 3 == main([*words, command])
        told = capsys.readouterr()
        assert not told.out
        assert "its records have keys" in told.err
        assert "TOPIC-PARTITION, such as `__consumer_offsets-0`" in told.err


def test_a_copy_of_a_metadata_log(tmp_path: Path) -> None:
    """Under any name it is read, and no coordinator's log beside it is taken for the node's."""
    around = copy_of(COORDINATORS, tmp_path)
    log = fixture_dir("real-44-live") / METADATA_DIRECTORY
    for name in ("copy", METADATA_DIRECTORY):
        shutil.copytree(log, around / name)
    copy, original = metashell.open(around / "copy"), metashell.open(around / METADATA_DIRECTORY)
    assert "topics" in copy.ls("/image")
    assert not copy.has_coordinator_logs
    assert original.has_coordinator_logs


@pytest.mark.parametrize("fault", ["crc", "cut", "length"])
def test_a_damaged_beginning_proves_nothing(fault: str, tmp_path: Path) -> None:
    """A batch whose bytes are wrong may be of a metadata log: the directory is opened."""
    copy = shutil.copytree(fixture_dir(COORDINATORS) / "__consumer_offsets-0", tmp_path / "copy")
    content = bytearray((copy / SEGMENT).read_bytes())
    size = 12 + int.from_bytes(content[8:12], "big")
    content[17 if fault == "crc" else 8] ^= 0x55
    del content[size - 1 if fault == "cut" else size :]
    (copy / SEGMENT).write_bytes(content)
    assert "log" in metashell.open(copy).ls("/")


def test_an_empty_segment_before_the_first_key(tmp_path: Path) -> None:
    """The segment behind it tells, too."""
    copy = shutil.copytree(fixture_dir(COORDINATORS) / "__consumer_offsets-0", tmp_path / "copy")
    (copy / SEGMENT).rename(copy / "00000000000000000007.log")
    (copy / SEGMENT).touch()
    with pytest.raises(SourceError, match="its records have keys"):
        metashell.open(copy)
