"""Whether a directory changed, without reading it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kraftgen.files import segment_name
from metashell.errors import SourceError
from metashell.log.changed import signature
from support.logs import make_directory, topic_batch


def test_what_counts(tmp_path: Path) -> None:
    """Segments and checkpoints that come, go, grow or are replaced; nothing else."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    path = directory / segment_name(0)
    before = signature(str(directory))
    (directory / "quorum-state").write_text("{}")
    (directory / f"{path.name}.deleted").write_text("")
    assert before == signature(str(directory))
    seen = [before]
    with path.open("ab") as file:
        file.write(topic_batch(1))
    seen.append(signature(str(directory)))
    status = path.stat()
    other = directory / "other"
    other.write_bytes(path.read_bytes()[::-1])
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(path)
    seen.append(signature(str(directory)))
    (directory / segment_name(2)).write_bytes(b"")
    seen.append(signature(str(directory)))
    path.unlink()
    seen.append(signature(str(directory)))
    assert len(seen) == len(set(seen))


def test_a_file_that_vanishes_is_left_out(tmp_path: Path) -> None:
    """As a link that leads nowhere."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    before = signature(str(directory))
    (directory / segment_name(5)).symlink_to(tmp_path / "nothing")
    assert before == signature(str(directory))


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(SourceError, match="none: No such file or directory"):
        signature(str(tmp_path / "none"))
