"""The log as a row of columns: where offsets are, and where one moves to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.stats.timeline import density_of_source, reach
from metashell.records.density import Axis
from metashell.sources.source import Source
from metashell.tui.timeline.track import Track
from support.fixtures import fixture
from support.live import Cluster
from support.logs import record, topic_record
from support.small_cluster import TIME, cluster, config

NO_OP = record("NoOpRecord")


def track_of(source: Source) -> Track:
    """The track of all of a source's log."""
    density = density_of_source(source)
    return Track(density, reach(source, density), source.registry)


@contextmanager
def ten_seconds() -> Iterator[Track]:
    """Ten batches a second apart: an election, a topic, NoOps, two settings."""
    values = [topic_record(1), *[NO_OP] * 6, config(2, "t1", "a", "b"), config(2, "t1", "a", "c")]
    with cluster(*values, voters=[1], dynamic=False, apart_ms=1000) as source:
        yield track_of(source)


def test_columns_and_offsets() -> None:
    """A column's offset is its last; an offset is in the column that has its batch."""
    with ten_seconds() as track:
        assert (0, 9) == (track.low, track.high)
        for axis in Axis:
            for offset in range(10):
                column = track.column_of(offset, 5, axis)
                assert offset <= track.offset_at(column, 5, axis)
                assert column == 0 or track.offset_at(column - 1, 5, axis) < offset
            assert 9 == track.offset_at(4, 5, axis)
        assert 4 == track.column_of(10**9, 5, Axis.OFFSET)


def test_moving_passes_over_empty_columns() -> None:
    """In steps that always get somewhere, back the same way, and to both ends."""
    at = [0, 1000, 500_000, 501_000]
    batches = [
        encode_batch([topic_record(i)], base_offset=i, timestamp=TIME + ms)
        for i, ms in enumerate(at)
    ]
    track = track_of(Cluster(*batches).source())
    assert 3 == track.beside(0, 1, 50, Axis.TIME)
    assert 3 == track.beside(1, 1, 50, Axis.TIME)
    assert 1 == track.beside(3, -1, 50, Axis.TIME)
    assert 3 == track.beside(1, 10, 50, Axis.TIME)
    assert track.beside(3, 1, 50, Axis.TIME) is None
    assert 0 == track.beside(1, -1, 50, Axis.TIME)
    assert track.beside(0, -1, 50, Axis.TIME) is None


def test_every_offset_is_reached_by_columns() -> None:
    """From one end to the other, in as many steps as there are columns with something."""
    track = track_of(metashell.open(fixture("real-44-broker-down").input))
    for axis in Axis:
        for n in (1, 7, 80, 1000):
            there, at = [], track.low
            while (following := track.beside(at, 1, n, axis)) is not None:
                assert following > at
                there.append(at := following)
            assert track.high == at
            while (following := track.beside(at, -1, n, axis)) is not None:
                assert following < at
                at = following
            assert track.low == at
            assert len(there) <= n


def test_steps() -> None:
    """From change to change; past the last one to the end, before the first to the oldest."""
    with ten_seconds() as track:
        assert 1 == track.step(0, 1)
        assert 8 == track.step(1, 1)
        assert 9 == track.step(8, 1)
        assert track.step(9, 1) is None
        assert 9 == track.step(1, 5)
        assert 8 == track.step(9, -1)
        assert 1 == track.step(5, -1)
        assert 0 == track.step(1, -1)
        assert track.step(0, -1) is None
        assert (3, 0) == (track.stops_after(0), track.stops_after(9))
    with cluster(topic_record(1), NO_OP, NO_OP) as source:
        assert 2 == track_of(source).step(0, 1)


def test_bar() -> None:
    """Height and group of each column, and what lies over it."""
    with ten_seconds() as track:
        cells = track.bar(10, Axis.OFFSET)
        assert "^█......██" == "".join(cell.glyph for cell in cells)
        assert ["election", "topics", *["no_ops"] * 6, "configs", "configs"] == [
            cell.style for cell in cells
        ]
        assert "^█...|..██" == "".join(cell.glyph for cell in track.bar(10, Axis.OFFSET, 5))
        track.faults = np.array([5, 9, 12])
        assert "^█...!..█!" == "".join(cell.glyph for cell in track.bar(10, Axis.OFFSET, 5))


def test_columns_without_batches_are_blank() -> None:
    """A silence is no NoOp."""
    batches = [
        encode_batch([topic_record(i)] * n, base_offset=base, timestamp=TIME + ms)
        for i, (base, n, ms) in enumerate([(0, 1, 0), (1, 60, 9000)])
    ]
    cells = track_of(Cluster(*batches).source()).bar(10, Axis.TIME)
    assert "        █" == "".join(cell.glyph for cell in cells)[1:]
    assert cells[0].glyph in "▁▂▃"


def test_texts() -> None:
    """Types with their numbers, the most first; NoOps only where there is nothing else."""
    with ten_seconds() as track:
        assert ("1 Topic", "topics") == track.batch_text(1)
        assert ("no change", "no_ops") == track.batch_text(3)
        assert ("2 Config", "configs") == track.column_text(1, 2, Axis.OFFSET)
        assert ("1 LeaderChange, 1 Topic", "quorum") == track.column_text(0, 2, Axis.OFFSET)
        assert "14:13:20" == track.time_text(track.time_at(0))
        assert "" == track.time_text(None)


def test_long_logs_show_days() -> None:
    """Where hours alone would not tell."""
    with cluster(topic_record(1), NO_OP, apart_ms=90_000_000) as source:
        track = track_of(source)
        assert "09-21 14:13:20" == track.time_text(track.time_at(0))


def test_one_state() -> None:
    """A checkpoint by itself has no log."""
    assert track_of(metashell.open_file(fixture("all-records-checkpoint").input)).has_one_state
    with ten_seconds() as track:
        assert not track.has_one_state
