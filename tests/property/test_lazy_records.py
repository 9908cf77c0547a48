"""An image opened from the cache is the image of the files, whatever came behind what is kept."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import metashell
from metashell.image.image import Image
from metashell.log.read import load
from metashell.sources.cache.lazy_records import LazyRecords
from metashell.sources.cache.opening import open_cached
from metashell.sources.cache.writing import store
from support.cached import (
    append,
    assert_as_whole,
    assert_same_nodes,
    finished,
    keep,
    opened,
    root_of,
)
from support.fixtures import (
    METADATA_DIRECTORY,
    copy_of,
    differing_directories,
    fixture,
)
from support.reduced import assert_same_image
from support.seeds import seeds


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))


DIRECTORIES = differing_directories()


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_fixture_from_the_cache(name: str) -> None:
    """What is kept of a real directory gives its tables, nodes, faults and times."""
    directory = fixture(name).input
    assert keep(directory)
    log = opened(directory)
    assert log is not None
    assert_as_whole(directory, log)


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", DIRECTORIES)
@pytest.mark.parametrize("seed", seeds(1))
def test_tail_of_any_length(name: str, seed: int, tmp_path: Path) -> None:
    """A log that is cut after any batch, kept, and grows again, in a new segment or not."""
    rng = Random(f"{name} {seed}")
    directory = copy_of(name, tmp_path) / METADATA_DIRECTORY
    segments = sorted(directory.glob("*.log"))
    if not segments:
        pytest.skip("it has no segment")
    last = segments[-1]
    data = last.read_bytes()
    (file,) = load([str(last)]).files
    positions = [*file.chain.positions, len(data)]
    first, second = sorted(rng.choice(positions) for _ in range(2))
    with last.open("r+b") as writer:
        writer.truncate(first)
    keep(directory)
    append(last, data[first:second])
    if rng.random() < 0.5 and second < len(data):
        base = int.from_bytes(data[second : second + 8], "big")
        (directory / f"{base:020d}.log").write_bytes(data[second:])
    else:
        append(last, data[second:])
    log = opened(directory)
    if log is None:
        # Nothing but the segment that was cut is there, and no record before the cut.
        assert len(segments) == 1
        return
    assert_as_whole(directory, log)


@pytest.mark.parametrize("seed", seeds(1))
def test_any_order_of_questions(seed: int, tmp_path: Path) -> None:
    """Single topics, types and rows may be asked for before and after everything is read."""
    name = max(DIRECTORIES, key=lambda n: sum(f.stat().st_size for f in fixture(n).data_files()))
    directory = copy_of(name, tmp_path) / METADATA_DIRECTORY
    assert keep(directory)
    log, source, rng = opened(directory), metashell.open(directory, engine="local"), Random(seed)
    assert log is not None
    records = log.records
    if not isinstance(records, LazyRecords):
        pytest.skip("it has transactions")
    image = Image(records)
    asked = [
        lambda: image.partitions_of(rng.randrange(len(image.topics))).leader,
        lambda: image.part("configs"),
        lambda: records.columns(rng.choice(sorted(records.registry.by_name))),
        lambda: image.brokers,
        lambda: records.raw(rng.randrange(len(records.counted))),
        lambda: image.touched.topics,
        lambda: image.provenance,
        lambda: root_of(image),
    ]
    if seed:
        asked.append(lambda: records.frames)
    for _ in range(30):
        rng.choice(asked)()
    assert_same_nodes(image, source.image)
    assert_same_image(image, source.image, source.redaction, faults=False)


def test_renewed_entry(tmp_path: Path) -> None:
    """What was opened from the cache can be kept again, with what came behind it."""
    name = next(n for n in DIRECTORIES if any(f.suffix == ".log" for f in fixture(n).data_files()))
    directory = copy_of(name, tmp_path) / METADATA_DIRECTORY
    last = sorted(directory.glob("*.log"))[-1]
    data = last.read_bytes()
    (file,) = load([str(last)]).files
    middle = file.chain.positions[len(file.chain.positions) // 2]
    with last.open("r+b") as writer:
        writer.truncate(middle)
    assert keep(directory)
    append(last, data[middle:])
    cached = open_cached(str(directory))
    assert cached is not None
    assert cached.tail_bytes == len(data) - middle
    assert store(str(directory), finished(cached), cached.how)
    again = open_cached(str(directory))
    assert again is not None
    assert again.tail_bytes == 0
    assert_as_whole(directory, finished(again))
