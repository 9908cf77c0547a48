"""Logs cut into stretches, reduced and put together again, and what must then be equal."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa

from metashell.image.arrow import image_table, table_names
from metashell.image.image import Image
from metashell.image.quorum_members import known_epochs
from metashell.log.frames import epoch_runs
from metashell.log.framing import build_frames
from metashell.log.read import Loaded
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.reduced.table import (
    FileFacts,
    records_of,
    reduced_table,
    whole_table,
)
from metashell.schema.model import Registry
from metashell.sources.source import Source

SHOWN = Redaction(show_secrets=True)


def facts_of(loaded: Loaded) -> list[FileFacts]:
    """What is known of the files of a log."""
    batches = build_frames(loaded)[0].batches
    return [
        FileFacts(
            name=file.name,
            size=file.size,
            end_offset=file.end_offset,
            epoch=file.epoch,
            is_alone=file.is_alone,
            first_offset=file.chain.first_offset,
            last_offset=file.chain.last_offset,
            last_epoch=file.chain.last_epoch,
            last_timestamp_ms=file.chain.last_timestamp_ms,
            faults=tuple(file.chain.faults),
            epochs=tuple(epoch_runs(batches.header[batches.file == number])),
        )
        for number, file in enumerate(loaded.files)
    ]


def stretches(loaded: Loaded, rng: Random, mean: int) -> list[tuple[int, Loaded]]:
    """Each file cut at random batches: (the file's number, one stretch of it)."""
    out = []
    for number, file in enumerate(loaded.files):
        positions, at = file.chain.positions, 0
        while at < len(positions):
            n = rng.randint(1, 2 * mean)
            chain = replace(file.chain, positions=positions[at : at + n], faults=[])
            out.append((number, Loaded(loaded.buffer, loaded.size, [replace(file, chain=chain)])))
            at += n
    return out


def reduced_tables(
    loaded: Loaded,
    registry: Registry,
    rng: Random,
    mean: int,
    redaction: Redaction = SHOWN,
    *,
    merge: bool = True,
) -> list[pa.Table]:
    """The stretches reduced, some of them together once more."""
    base = max((f.end_offset for f in loaded.files if f.end_offset is not None), default=0)
    tables: list[pa.Table] = []
    for number, stretch in stretches(loaded, rng, mean):
        records = Records(stretch, registry)
        candidates = np.ones(len(records.frames), dtype=np.bool_)
        if stretch.files[0].end_offset is None:
            candidates &= records.frames.offset[:] >= base
        tables.append(
            reduced_table(records, candidates, redaction, number)
            if merge
            else whole_table(records, redaction, number)
        )
    facts = facts_of(loaded)
    while merge and len(tables) > 1 and rng.random() < 0.7:
        i = rng.randrange(len(tables))
        j = rng.randint(i + 1, len(tables))
        again = records_of(tables[i:j], facts, registry)
        file = again.frames.batches.file[again.frames.batch]
        of_checkpoint = np.array([f.end_offset is not None for f in loaded.files])[file]
        tables[i:j] = [
            reduced_table(again, of_checkpoint | (again.frames.offset[:] >= base), redaction)
        ]
    return tables


def assert_reduced_is_whole(source: Source, rng: Random) -> None:
    """Whatever its log is cut into, the image is the source's; so are the faults."""
    loaded, registry, facts = source.log.loaded, source.registry, facts_of(source.log.loaded)
    state = rng.getstate()
    mean = max(rng.choice((1, 3, 50)), sum(len(f.chain.positions) for f in loaded.files) // 40)
    records = records_of(reduced_tables(loaded, registry, rng, mean), facts, registry)
    image = Image(records)
    assert_same_image(image, source.image, faults=False)
    if records.merges_at_fault:
        rng.setstate(state)
        tables = reduced_tables(loaded, registry, rng, mean, merge=False)
        records = records_of(tables, facts, registry)
        assert_same_image(Image(records), source.image)
    else:
        assert_same_faults(image, source.image)
    assert not records.merges_at_fault


def assert_same_image(
    actual: Image, expected: Image, redaction: Redaction = SHOWN, *, faults: bool = True
) -> None:
    """Every table, with the records that made and changed its rows, and every fault."""
    for name in table_names():
        found, wanted = (image_table(name, i, redaction) for i in (actual, expected))
        difference = None if wanted.equals(found) else _difference(wanted, found)
        assert difference is None, (name, difference)
    assert expected.provenance == actual.provenance
    epochs = [
        known_epochs(image.records, image.quorum.leaders, {}, image.provenance.epoch)
        for image in (expected, actual)
    ]
    assert epochs[0] == epochs[1]
    if faults:
        assert_same_faults(actual, expected)


def assert_same_faults(actual: Image, expected: Image) -> None:
    """Every fault of a record."""
    for image in (actual, expected):
        image.fold_everything()
    wanted, found = (
        {str(fault) for _, fault in image.records.faults_by_row()} for image in (expected, actual)
    )
    assert wanted == found


def _difference(expected: pa.Table, actual: pa.Table) -> object:
    if expected.schema != actual.schema or len(expected) != len(actual):
        return expected.schema, actual.schema, len(expected), len(actual)
    for name in expected.column_names:
        for i, pair in enumerate(
            zip(expected[name].to_pylist(), actual[name].to_pylist(), strict=True)
        ):
            if repr(pair[0]) != repr(pair[1]):  # NaN equals itself here
                return name, i, pair
    return None
