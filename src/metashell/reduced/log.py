"""Splits reduced one by one, and put together to the log that an image is folded from.

`reduce_split` is what every process runs, here or in an executor, in memory bounded by the size
of a split; `ReducedLog` is what comes out for a directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.log.fault import Fault
from metashell.log.frames import epoch_runs
from metashell.log.read import EpochRun, Loaded
from metashell.log.splits import (
    SPLIT_BYTES,
    Plan,
    Split,
    SplitError,
    plan_splits,
    read_split,
)
from metashell.log.truncation import ReadUpTo
from metashell.places.place import Place
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.reduced.table import (
    NO_RECORDS,
    FileFacts,
    records_of,
    reduced_table,
    topic_ids_of,
    whole_table,
)
from metashell.reduced.topic_shards import TopicShards
from metashell.schema.arena import Bools
from metashell.schema.model import Registry, load_registry

_AGAIN_ROWS = 1 << 20
"""Rows from which several tables are reduced into one once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reducing:
    """How a directory's splits are reduced; picklable."""

    base: int = 0
    """The checkpoint's end offset: what segments hold before it does not count."""
    n_checkpoints: int = 0
    """How many files at the front are no segments."""
    merges: bool = True
    """False to keep every record, where the faults of each are asked for."""
    settings: ReadSettings = READ_DEFAULTS
    """How the log is read; what is secret is reduced only where it may be shown."""

    @classmethod
    def of_plan(cls, plan: Plan, settings: ReadSettings = READ_DEFAULTS) -> Reducing:
        """For the splits of a directory."""
        ends = {s.order: s.end_offset for s in plan.splits if s.end_offset is not None}
        return cls(
            base=max(ends.values(), default=0),
            n_checkpoints=len(ends),
            settings=settings,
        )

    def candidates(self, records: Records, order: int | None = None) -> Bools:
        """bool[n]: what may be replayed of the records of one file, or of reduced ones of all."""
        frames = records.frames
        file = frames.batches.file[frames.batch] if order is None else np.int32(order)
        out: Bools = (file < self.n_checkpoints) | (frames.offset[:] >= self.base)
        return out


@dataclass(frozen=True, slots=True)
class Stretch:
    """A split, reduced."""

    table: pa.Table
    facts: FileFacts
    """The facts of the file as far as this split goes."""
    order: int


def reduce_split(split: Split, how: Reducing, registry: Registry | None = None) -> Stretch:
    """Read, decode and reduce one split. Memory: some ten times its bytes.

    Raises:
        SourceError: It can't be read, or is not what was planned (`SplitError`).
    """
    registry = registry or load_registry(how.settings.schemas)
    facts = FileFacts(
        name=split.name, size=split.size, end_offset=split.end_offset, epoch=split.epoch
    )
    tables: list[pa.Table] = []
    for loaded in read_split(split, split.end - split.begin):
        records = Records(loaded, registry)
        facts = later_facts(facts, _facts_of(records))
        redaction = Redaction(how.settings.show_secrets)
        if how.merges:
            candidates = how.candidates(records, split.order)
            tables.append(reduced_table(records, candidates, redaction, split.order))
        else:
            tables.append(whole_table(records, redaction, split.order))
    if len(tables) > 1 and how.merges:
        tables = [reduce_again(tables, registry, how)]
    return Stretch(tables[0] if tables else NO_RECORDS, facts, split.order)


def reduce_again(tables: Sequence[pa.Table], registry: Registry, how: Reducing) -> pa.Table:
    """Reduce what is left of several stretches once more."""
    table = pa.concat_tables(tables)
    n_files = int(table["file"][-1].as_py()) + 1 if len(table) else 1
    records = records_of([table], [FileFacts(name="", size=0)] * n_files, registry)
    return reduced_table(records, how.candidates(records), Redaction(how.settings.show_secrets))


def _facts_of(records: Records) -> FileFacts:
    """The facts of the one file of some records."""
    (file,) = records.loaded.files
    chain = file.chain
    return FileFacts(
        name=file.name,
        size=file.size,
        first_offset=chain.first_offset,
        last_offset=chain.last_offset,
        last_epoch=chain.last_epoch,
        last_timestamp_ms=chain.last_timestamp_ms,
        latest_timestamp_ms=records.loaded.latest_timestamp_ms(file),
        n_batches=chain.n_batches,
        faults=tuple(chain.faults),
        unframed=tuple(records.unframed),
        epochs=tuple(epoch_runs(records.frames.batches.header)),
        read=_read_of(records.loaded),
    )


def _read_of(loaded: Loaded) -> ReadUpTo | None:
    """The last batches of the one file of a stretch, where it is a segment that has some."""
    (file,) = loaded.files
    if file.is_checkpoint or not file.chain.positions:
        return None
    return ReadUpTo.of(loaded, file)


def later_facts(before: FileFacts, here: FileFacts) -> FileFacts:
    """Facts of a file after one more of its pieces."""
    joined = replace(
        before,
        n_batches=before.n_batches + here.n_batches,
        faults=before.faults + here.faults,
        unframed=before.unframed + here.unframed,
        epochs=_joined(before.epochs, here.epochs),
    )
    if not here.n_batches:
        return joined
    return replace(
        joined,
        first_offset=before.first_offset if before.n_batches else here.first_offset,
        last_offset=here.last_offset,
        last_epoch=here.last_epoch,
        last_timestamp_ms=here.last_timestamp_ms,
        latest_timestamp_ms=max(before.latest_timestamp_ms, here.latest_timestamp_ms),
        read=None if here.read is None else here.read.before(before.read),
    )


def _joined(before: tuple[EpochRun, ...], here: tuple[EpochRun, ...]) -> tuple[EpochRun, ...]:
    """The epochs of two pieces that follow on each other."""
    if before and here and before[-1][0] == here[0][0]:
        run = (before[-1][0], before[-1][1], here[0][2])
        return (*before[:-1], run, *here[1:])
    return before + here


@dataclass
class ReducedLog:
    """A directory's files, reduced."""

    plan: Plan
    closed: list[pa.Table]
    """The tables of files that no longer change: the checkpoint and all segments but the last."""
    active: list[pa.Table]
    """The tables of the last segment."""
    files: list[FileFacts]
    registry: Registry

    @cached_property
    def records(self) -> Records:
        """Records of both."""
        return records_of([*self.closed, *self.active], self.files, self.registry)

    @property
    def faults(self) -> list[Fault]:
        """The faults of the files and of their batches. Faults of records come with folding
        `records`.
        """
        return [*self.plan.faults, *(fault for facts in self.files for fault in facts.faults)]


def active_order(plan: Plan) -> int:
    """Place in replay order of the segment that may still grow; none has it where there is none."""
    last = plan.splits[-1] if plan.splits else None
    return last.order if last is not None and last.end_offset is None else -1


def assemble(
    plan: Plan,
    stretches: Iterable[Stretch],
    how: Reducing,
    registry: Registry,
    *,
    closed: Sequence[pa.Table] = (),
    known: Mapping[int, FileFacts] | None = None,
) -> ReducedLog:
    """Put the reduced splits of a directory together, in the plan's order.

    Args:
        plan: The plan.
        stretches: Its splits, but for those of files that are known.
        how: The settings that they were reduced with.
        registry: Message definitions.
        closed: The reduced tables of the files that are known.
        known: Facts of these, by their place in replay order.
    """
    files, last = dict(known or {}), active_order(plan)
    of_closed, of_active = _Pile(list(closed), how, registry), _Pile([], how, registry)
    for stretch in stretches:
        order, facts = stretch.order, stretch.facts
        files[order] = later_facts(files[order], facts) if order in files else facts
        (of_active if order == last else of_closed).add(stretch.table)
    n_files = max(files, default=-1) + 1
    numbered = [files.get(i, FileFacts(name="", size=0)) for i in range(n_files)]
    return ReducedLog(plan, of_closed.tables, of_active.tables, numbered, registry)


class _Pile:
    """Tables that follow on each other, reduced together again as they become many."""

    def __init__(self, tables: list[pa.Table], how: Reducing, registry: Registry) -> None:
        self.tables, self._how, self._registry = tables, how, registry
        self._settled = sum(map(len, tables))

    def add(self, table: pa.Table) -> None:
        self.tables.append(table)
        n_rows = sum(map(len, self.tables))
        if self._how.merges and len(self.tables) > 1 and n_rows > _AGAIN_ROWS + 2 * self._settled:
            merged = reduce_again(self.tables, self._registry, self._how)
            self.tables, self._settled = [merged], len(merged)


def even_shards(plan: Plan, n_parts: int, registry: Registry) -> TopicShards:
    """Spread topics by the bytes that the checkpoint has of each: what is left of a log has as many
    records of a partition, however often it changed. Where there is no checkpoint, by their ids.

    Raises:
        SourceError: The checkpoint can't be read.
    """
    ids, weights = [np.zeros((0, 2), np.uint64)], [np.zeros(0, np.int64)]
    for split in plan.splits:
        if split.end_offset is None:
            continue
        for loaded in read_split(split):
            records = Records(loaded, registry)
            frames = records.frames
            for rows, found in topic_ids_of(records, np.arange(len(frames), dtype=np.int64)):
                ids.append(found)
                weights.append((frames.stop[rows] - frames.body[rows]).astype(np.int64))
    return TopicShards.by_weight(np.concatenate(ids), np.concatenate(weights), n_parts)


def reduce_directory(plan: Plan, how: Reducing, registry: Registry | None = None) -> ReducedLog:
    """Reduce a directory split by split. Memory: of one split and of the image's records.

    Raises:
        SourceError: A file can't be read, or is not what was planned.
    """
    registry = registry or load_registry(how.settings.schemas)

    def each() -> Iterator[Stretch]:
        for split in plan.splits:
            yield reduce_split(split, how, registry)

    return assemble(plan, each(), how, registry)


def reduce_place(
    place: Place,
    settings: ReadSettings = READ_DEFAULTS,
    *,
    merges: bool = True,
    split_bytes: int = SPLIT_BYTES,
    registry: Registry | None = None,
) -> ReducedLog:
    """Plan and reduce a metadata directory; where a file was not cut well, once more uncut.

    Args:
        place: The directory that `metashell.log.directory.find_metadata_directory` found.
        settings: How it is read; `ReadSettings.strict` is not possible.
        merges: False to keep every record, see `Reducing`.
        split_bytes: Bounds the size of a split, and so the memory.
        registry: Message definitions, those of the settings where None.

    Raises:
        SourceError: It can't be read, or holds no metadata log.
    """
    uncut: set[str] = set()
    while True:
        plan = plan_splits(place, split_bytes, settings=settings, uncut=uncut)
        how = Reducing.of_plan(plan, settings)
        try:
            return reduce_directory(plan, replace(how, merges=merges), registry)
        except SplitError as error:
            if not error.file or error.file in uncut:
                raise
            uncut.add(error.file)
