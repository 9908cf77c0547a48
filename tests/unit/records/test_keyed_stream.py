"""A coordinator's log is streamed in windows of any size, and damage is told on the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metashell.log.fault import Fault, FaultKind
from metashell.log.partition import PartitionLog, read_partition
from metashell.records.filter import Selection
from metashell.records.keyed_stream import KeyedStream
from metashell.records.stream import LogPath
from metashell.schema.coordinators import load_record_types
from support.coordinators import NODE
from support.fixtures import fixture_dir

OFFSETS = fixture_dir(NODE) / "broker101" / "d1" / "__consumer_offsets-1"


def paths_of(log: PartitionLog) -> list[LogPath]:
    """All files of a log."""
    return [LogPath(log.path_of(file.name), file.name, 0) for file in log.loaded.files]


def streamed(
    directory: Path, selection: Selection, window_bytes: int = 1 << 20
) -> tuple[list[int], list[tuple[Fault, bool]]]:
    """Stream a directory: offsets, and what is told."""
    log = read_partition(str(directory))
    faults = list[tuple[Fault, bool]]()
    stream = KeyedStream(
        log,
        load_record_types(log.partition.log),
        selection,
        lambda fault, at_the_end: faults.append((fault, at_the_end)),
        window_bytes=window_bytes,
    )
    return [
        offset
        for block in stream.blocks(paths_of(log))
        for offset in block.records.frames.offset[block.rows].tolist()
    ], faults


@pytest.mark.parametrize("window_bytes", [1, 100, 1_000, 10_000])
@pytest.mark.parametrize("selection", [Selection(), Selection(first_offset=50, last_offset=135)])
def test_windows(selection: Selection, window_bytes: int) -> None:
    """The records are the same, however much is read at a time."""
    whole, _ = streamed(OFFSETS, selection)
    assert whole
    assert (whole, []) == streamed(OFFSETS, selection, window_bytes)
    assert [o for o in whole if selection.first_offset <= o <= selection.last_offset] == whole


def test_only_windows_are_framed_that_may_hold_what_is_asked_for() -> None:
    """Of a range of offsets no more than the windows around it are looked at."""
    log = read_partition(str(OFFSETS))
    looked_at: list[int] = []
    stream = KeyedStream(
        log,
        load_record_types(log.partition.log),
        Selection(first_offset=60, last_offset=70),
        lambda *_: None,
        poll=lambda: looked_at.append(1),
        window_bytes=500,
    )
    found = [offset for block in stream.blocks(paths_of(log)) for offset in block.rows.tolist()]
    assert found
    n_windows = sum(file.size for file in log.loaded.files) // 500
    assert len(looked_at) < n_windows / 3


def test_damage(tmp_path: Path) -> None:
    """Damage is told with whether it is the end of the last file."""
    directory = tmp_path / OFFSETS.name
    shutil.copytree(OFFSETS, directory)
    whole, _ = streamed(directory, Selection())
    first, *_, last = sorted(directory.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-1])
    damaged = bytearray(first.read_bytes())
    damaged[70] ^= 1
    first.write_bytes(damaged)
    offsets, faults = streamed(directory, Selection())

    assert set(offsets) < set(whole)
    assert [(FaultKind.DAMAGED, False), (FaultKind.TORN, True)] == [
        (fault.kind, at_the_end) for fault, at_the_end in faults
    ]
