"""A time that is copied from what the program shows includes the record it was shown for."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.rows.cell_text import day_of, short_times
from metashell.commands.stats.timeline import density_of_source
from metashell.schema.timestamps import iso_time
from metashell.sources.source import Source
from metashell.tui.text import short_time
from metashell.tui.timeline.track import Track
from support.logs import make_directory, record
from support.seeds import seeds
from support.shell import run_on

BEGIN_MS = 1_795_300_000_000
"""2026-11-21T22:26:40Z."""
LONGEST_MS = (400, 5_000, 40_000_000)
"""The longest pauses between batches, each for a log of its own: the last one spans days."""


def grown_log(seed: int, parent: Path) -> Source:
    """A log whose batches follow each other in time, many of them in one second."""
    random = Random(seed)
    most, time, batches = random.choice(LONGEST_MS), BEGIN_MS + random.randrange(1_000), []
    for offset in range(30):
        batches.append(
            encode_batch(
                [record("FeatureLevelRecord", name=f"f{offset}", feature_level=1)],
                base_offset=offset,
                leader_epoch=1,
                timestamp=time,
            )
        )
        time += random.randrange(most)
    return metashell.open(make_directory(parent, (0, b"".join(batches))))


@pytest.mark.parametrize("seed", seeds(12))
def test_a_shown_time_includes_its_record(seed: int, tmp_path: Path) -> None:
    """For every form of a time that the program shows."""
    source = grown_log(seed, tmp_path)
    track = Track(density_of_source(source), (0, 29), source.registry)
    last_ms = source.status().timestamp_ms
    assert last_ms is not None
    for offset in range(30):
        ms = track.time_at(offset)
        assert ms is not None
        table = short_times(pa.array([ms], pa.timestamp("ms", tz="UTC")), day_of(last_ms))[0]
        shown = {iso_time(ms), short_time(iso_time(ms)), track.time_text(ms), table[0].as_py()}
        for text in shown:
            found = source.at(text).moment_offset
            assert found is not None
            assert found >= offset, (text, iso_time(ms))
        ran = run_on(source, f"log --all --until '{track.time_text(ms)}'")
        assert f"f{offset} " in f"{ran.out} ", ran


@pytest.mark.parametrize("seed", seeds(12))
def test_a_fraction_is_exact(seed: int, tmp_path: Path) -> None:
    """A time with milliseconds includes no later record, as the full time of a row does."""
    source = grown_log(seed, tmp_path)
    times = [ms for row in source.rows("log", all=True).to_pylist() for ms in [row["time"]]]
    for offset, time in enumerate(times):
        last = max(i for i, other in enumerate(times) if other == time)
        text = time.isoformat(timespec="milliseconds")
        assert source.at(text).moment_offset == last, (offset, text)
