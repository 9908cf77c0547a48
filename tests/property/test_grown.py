"""An image that grew with its log equals one folded from the whole log at once."""

from __future__ import annotations

from random import Random

import pytest

import metashell
from metashell.checks.digest import part_digests
from metashell.image.image import Image
from metashell.log.directory import MetadataLog
from metashell.log.live import LiveLog
from metashell.records import late_fields
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.model import load_registry
from metashell.sources.source import Source
from support.fixtures import fixture, fixture_names
from support.seeds import seeds

DIRECTORIES = [
    name
    for name in fixture_names()
    if fixture(name).kind == "directory" and not name.startswith("compressed")
]
SHOWN = Redaction(show_secrets=True)


def _fed(log: LiveLog, opened: MetadataLog, rng: Random) -> list[memoryview]:
    """Give a log the checkpoint of a directory; return the batches behind it in random pieces."""
    view = memoryview(opened.loaded.buffer)
    pieces = []
    for file in opened.loaded.files:
        data = view[file.start : file.start + file.size]
        if file.is_checkpoint and file.end_offset:
            assert opened.checkpoint is not None
            log.begin_snapshot(opened.checkpoint.end_offset, opened.checkpoint.epoch)
            assert log.add_snapshot(0, data, len(data))
            continue
        if file.is_checkpoint:
            continue  # the zero checkpoint is never fetched
        begins = list(file.chain.positions)
        bounds = [*begins, begins[-1] + 12 + int.from_bytes(view[begins[-1] + 8 : begins[-1] + 12])]
        while begins:
            n = min(rng.choice((1, 2, 5, 40)), len(begins))
            pieces.append(view[begins[0] : bounds[bounds.index(begins[0]) + n]])
            del begins[:n]
    return pieces


def _past_snapshot(log: LiveLog, piece: memoryview) -> memoryview:
    """A piece without the batches that lie before the offset to fetch."""
    while piece:
        base, length = int.from_bytes(piece[:8]), int.from_bytes(piece[8:12])
        if base + int.from_bytes(piece[23:27]) >= log.end_offset:
            break
        piece = piece[12 + length :]
    return piece


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", DIRECTORIES)
@pytest.mark.parametrize("seed", seeds(1))
def test_grown_image_is_the_whole_one(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was looked at in between, every part and every fault is that of a new fold."""
    monkeypatch.setattr(late_fields, "LEAST_ROWS", 10)
    rng = Random(seed)
    opened = metashell.open(fixture(name).input).log
    log, registry = LiveLog(), load_registry()
    image: Image | None = None
    lineage: object = None
    for piece in _fed(log, opened, rng):
        log.append(_past_snapshot(log, piece))
        log.commit(log.end_offset)
        if rng.random() < 0.5:
            continue
        now, _, now_lineage = log.metadata_log("live")
        if image is None or now_lineage is not lineage:
            image = Image(Records(now.loaded, registry))
        else:
            image = image.grown(image.records.grown(now.loaded))
        lineage = now_lineage
        if rng.random() < 0.3:
            image.fold_everything()
            fresh = Image(Records(now.loaded, registry))
            fresh.fold_everything()
            assert part_digests(fresh, SHOWN) == part_digests(image, SHOWN)
            assert set(fresh.records.faults) == set(image.records.faults)
            assert fresh.provenance == image.provenance


@pytest.mark.parametrize("name", [n for n in DIRECTORIES if n.startswith("real")])
def test_source_of_a_fetched_log_shows_the_directory(name: str) -> None:
    """A log that was fetched shows the same cluster as the directory that it came from."""
    opened = metashell.open(fixture(name).input)
    log = LiveLog()
    for piece in _fed(log, opened.log, Random(1)):
        log.append(_past_snapshot(log, piece))
    log.commit(log.end_offset)
    fetched = Source(log.metadata_log("live")[0])
    assert opened.find("/image") == fetched.find("/image")
    assert opened.status() == fetched.status() or opened.log.faults
    assert part_digests(opened.image, SHOWN) == part_digests(fetched.image, SHOWN)
    low, high = fetched.history.range()
    middle = (low + high) // 2
    assert part_digests(opened.at(middle).image, SHOWN) == part_digests(
        fetched.at(middle).image, SHOWN
    )
