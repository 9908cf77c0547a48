"""Small files of any origin: read within limits."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from metashell.errors import SourceError
from metashell.places.bounded_file import read_bounded, read_if_present


def test_reads_up_to_the_limit(tmp_path: Path) -> None:
    """The limit itself is allowed, a byte more is not."""
    file = tmp_path / "f"
    file.write_bytes(b"12345")
    assert b"12345" == read_bounded(file, limit_bytes=5)
    with pytest.raises(SourceError, match="larger than 4 bytes"):
        read_bounded(file, limit_bytes=4)


def test_missing_file(tmp_path: Path) -> None:
    """It is an error, or None to who asks whether it is there."""
    assert read_if_present(tmp_path / "f") is None
    with pytest.raises(SourceError, match="f: No such file or directory"):
        read_bounded(tmp_path / "f")


def test_directory_and_odd_names(tmp_path: Path) -> None:
    """Each says what it is."""
    with pytest.raises(SourceError, match="Is a directory"):
        read_if_present(tmp_path)
    with pytest.raises(SourceError, match="not a valid file name"):
        read_bounded("a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_only_where_asked_for(tmp_path: Path) -> None:
    """A pipe without a writer does not hang; one that the user names is read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SourceError, match="not a regular file"):
        read_bounded(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"x" * 100_000))
    writer.start()
    assert b"x" * 100_000 == read_bounded(pipe, pipes=True)
    writer.join()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_endless_device() -> None:
    """Reading ends at the limit."""
    with pytest.raises(SourceError, match="larger than"):
        read_bounded("/dev/zero", limit_bytes=1000, pipes=True)
