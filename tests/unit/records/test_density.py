"""What is written where along a log: against Kafka's own dump, and counted by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.stats.timeline import density_of_source, grown_density, reach
from metashell.parts.spec import RecordGroup
from metashell.records.density import (
    LEADER_CHANGE,
    NO_OP,
    Axis,
    Density,
    density_of,
    extended,
    group_of,
    join,
    type_title,
)
from metashell.schema.model import load_registry
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture
from support.live import Cluster
from support.logs import make_directory, record, topic_batch, topic_log, topic_record
from support.small_cluster import TIME, cluster, config

REAL = ["real-40-static", "real-44-broker-down", "real-44-live", "real-44-torn", "real-44-trimmed"]


def batch(offset: int, *values: bytes, time: int = TIME) -> bytes:
    """A batch of records at an offset."""
    return encode_batch(list(values), base_offset=offset, timestamp=time)


def source_of(parent: Path, *batches: bytes) -> Source:
    """Open a log of one segment that begins with offset 0."""
    return metashell.open(make_directory(parent, (0, b"".join(batches))))


@pytest.mark.parametrize("name", REAL)
def test_counts_are_those_of_the_dump(name: str) -> None:
    """By type, of all batches behind the oldest state; the last offset is the log's."""
    source = metashell.open(fixture(name).input)
    density = density_of_source(source)

    first = int(density.base[0])
    dump = [
        r
        for r in fixture(name).golden.dump()
        if r["file"].endswith(".log") and r["offset"] >= first
    ]
    expected = Counter(r.get("type", "CONTROL") for r in dump)
    actual = Counter[str]()
    for key, batches in density.of_key.items():
        kind = "CONTROL" if key < 0 else source.registry.type_name(key)
        actual[kind] += len(batches)
    assert expected == actual
    assert dump[-1]["offset"] == density.last[-1]
    assert dump[-1]["createTime"] == density.time[-1]


@pytest.mark.parametrize("name", REAL)
def test_every_state_within_reach_can_be_shown(name: str) -> None:
    """The ends, and the end of each batch: no offset is refused or lies inside a batch."""
    source = metashell.open(fixture(name).input)
    density = density_of_source(source)
    low, high = reach(source, density)

    for offset in {low, high, *density.stops.tolist()}:
        earlier = source.at(offset)
        assert earlier.moment_offset == offset
        assert not earlier.moment_notes
    assert source.status().offset == high


def test_segments_that_the_image_does_not_need_are_read() -> None:
    """The log begins where time travel does, and nothing is missing up to the end."""
    source = metashell.open(fixture("real-44-live").input)
    density = density_of_source(source)

    assert density.last[-1] - density.base[0] + 1 == density.n_records
    assert density.base[0] < source.log.loaded.files[0].end_offset
    assert [] == np.flatnonzero(density.base[1:] != density.last[:-1] + 1).tolist()


def test_a_segment_that_can_not_be_read_is_left_out(tmp_path: Path) -> None:
    """The others are there."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    source = metashell.open(directory)
    whole = density_of_source(source)
    read = {file.name for file in source.log.loaded.files}
    gone = next(path for path in sorted(directory.glob("*.log")) if path.name not in read)
    gone.unlink()

    left = density_of_source(source)

    assert 0 < len(left) < len(whole)
    assert whole.last[-1] == left.last[-1]


def test_cancelled_between_files() -> None:
    """Nobody wants it any more."""
    source = metashell.open(fixture("real-44-live").input)
    with pytest.raises(KeyboardInterrupt):
        density_of_source(source, cancelled=lambda: True)


@pytest.mark.parametrize("axis", list(Axis))
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=12),
    times=st.lists(st.integers(-5, 10**15), min_size=12, max_size=12),
    n=st.integers(1, 40),
)
def test_columns_hold_everything_once(
    axis: Axis, counts: list[int], times: list[int], n: int
) -> None:
    """Whatever the times: clocks jump and go back."""
    bases = np.cumsum([0, *counts], dtype=np.int64)[:-1]
    time = np.array(times[: len(counts)], dtype=np.int64)
    of_record = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    density = Density(
        bases,
        bases + np.array(counts, dtype=np.int64) - 1,
        time,
        np.maximum.accumulate(time),
        np.ones(len(counts), dtype=np.bool_),
        {3: of_record},
    )
    edges = density.edges(n, axis)
    assert n + 1 == len(edges)
    assert (0, len(counts)) == (edges[0], edges[-1])
    assert (np.diff(edges) >= 0).all()
    assert sum(counts) == density.by_key(edges)[3].sum()
    along = density.passed if axis is Axis.TIME else density.last
    starts = density.starts(n, axis)
    for i, start in enumerate(starts):
        held = along[edges[i] : edges[i + 1]]
        assert all(start <= at for at in held.tolist())
        assert i + 1 == n or all(at < starts[i + 1] for at in held.tolist())


def test_extreme_times_have_columns() -> None:
    """The span of two int64 fits none."""
    ends = np.array([-(1 << 63), (1 << 63) - 1], dtype=np.int64)
    number = np.arange(2, dtype=np.int64)
    density = Density(number, number, ends, ends, number < 2, {3: number.astype(np.int32)})
    assert [0, 1, 1, 2] == density.edges(3, Axis.TIME).tolist()


def test_groups() -> None:
    """Every type of Kafka's has one; strange ones count as others."""
    registry = load_registry([])
    assert {
        key for key in registry.metadata if group_of(key, registry) is RecordGroup.OTHER
    } == set()
    assert RecordGroup.OTHER is group_of(501, registry) is group_of(-1, registry)
    assert RecordGroup.QUORUM is group_of(LEADER_CHANGE, registry)
    assert RecordGroup.NO_OPS is group_of(NO_OP, registry)
    assert "PartitionChange" == type_title(5, registry)
    assert "LeaderChange" == type_title(LEADER_CHANGE, registry)
    assert "unknown" == type_title(501, registry)


def test_stops_and_elections(tmp_path: Path) -> None:
    """NoOps change nothing; a batch of several records is one stop, at its end."""
    no_op = record("NoOpRecord")
    with cluster(no_op, topic_record(1), no_op, config(2, "t1", "a", "b"), voters=[1],
                 dynamic=False) as source:  # fmt: skip
        density = density_of_source(source)
        assert [0, 2, 4] == density.stops.tolist()
        assert [0] == density.elections.tolist()
        groups = {
            g: n.tolist() for g, n in density.by_group(np.array([0, 2, 5]), source.registry).items()
        }
        assert [1, 0] == groups[RecordGroup.QUORUM]
        assert [1, 1] == groups[RecordGroup.NO_OPS]
        assert [0, 1] == groups[RecordGroup.TOPICS] == groups[RecordGroup.CONFIGS]
    source = source_of(tmp_path, batch(0, no_op), batch(1, no_op, topic_record(1)))
    assert [2] == density_of_source(source).stops.tolist()
    assert [0, 2, 2, 7] == density_of_source(source).ends(np.array([0, 1, 2, 7])).tolist()


def test_clocks_that_go_back(tmp_path: Path) -> None:
    """Columns never do."""
    source = source_of(
        tmp_path,
        batch(0, topic_record(0), time=TIME),
        batch(1, topic_record(1), time=TIME + 1000),
        batch(2, topic_record(2), time=TIME + 10),
    )
    density = density_of_source(source)
    assert [TIME, TIME + 1000, TIME + 10] == density.time.tolist()
    assert [TIME, TIME + 1000, TIME + 1000] == density.passed.tolist()
    assert [0, 1, 3] == density.edges(2, Axis.TIME).tolist()


def test_grown_is_what_is_read_anew() -> None:
    """Of a log that grew only what came is looked at."""
    live = Cluster(*topic_log(3))
    before = density_of_source(live.source())
    live.commit(topic_batch(6, 2), topic_batch(8, 1))
    after = live.source()

    grown, anew = grown_density(before, after), density_of_source(after)

    assert grown is not None
    for name in ("base", "last", "time", "passed", "changes"):
        assert getattr(anew, name).tolist() == getattr(grown, name).tolist()
    assert {k: v.tolist() for k, v in anew.of_key.items()} == {
        k: v.tolist() for k, v in grown.of_key.items()
    }
    assert grown_density(grown, after) is grown


def test_another_log_is_no_growth() -> None:
    """A batch at the same place that is another one, or a gap, and all is looked at again."""
    before = density_of_source(Cluster(*topic_log(3)).source())
    other = Cluster(*topic_log(2), batch(4, topic_record(4), topic_record(5), time=TIME + 1))
    shorter = Cluster(*topic_log(2))
    assert grown_density(before, other.source()) is None
    assert grown_density(before, shorter.source()) is None
    assert extended(join([]), other.source().image.records) is None


def test_a_checkpoint_by_itself_is_no_log() -> None:
    """It is one state."""
    source = metashell.open_file(fixture("all-records-checkpoint").input)
    density = density_of_source(source)
    assert 0 == len(density) == density.n_records
    assert [0, 0, 0] == density.edges(2, Axis.OFFSET).tolist()
    assert 0 == len(density.stops) == len(density.elections)


def test_damage_is_told(tmp_path: Path) -> None:
    """Faults of the files are there without decoding; sound batches count."""
    first, second, third = topic_log(3)
    broken = bytearray(second)
    broken[-1] ^= 1
    source = source_of(tmp_path, first, bytes(broken), third)
    density = density_of_source(source)
    assert [0, 4] == density.base.tolist()
    assert 2 in {fault.offset for fault in density.faults}


def test_offsets_that_go_back_are_no_place_to_stop(tmp_path: Path) -> None:
    """Offsets ascend, whatever the file says."""
    source = source_of(tmp_path, *topic_log(3), topic_batch(2, 2), topic_batch(6, 1))
    assert [1, 3, 5, 6] == density_of(source.image.records).last.tolist()
