"""Entries written: which records of a log may be kept, and with what they are told apart later."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.image.image import Image
from metashell.log.layout import HEAD, HEADER_BYTES
from metashell.log.names import SegmentName, parse_name
from metashell.places.place import Place
from metashell.read_settings import ReadSettings
from metashell.records.records import is_marker
from metashell.reduced.log import ReducedLog, Reducing, reduce_again
from metashell.reduced.table import FileFacts, plain_values, records_of
from metashell.schema.model import Registry
from metashell.sources.cache.covered import CoveredFiles
from metashell.sources.cache.entries import EntryDirectory, limit_bytes, make_room
from metashell.sources.cache.groups import write_groups
from metashell.sources.cache.lazy_records import LazyLog, facts_value
from metashell.sources.cache.manifest import (
    MAX_FAULTS,
    Covered,
    GroupFile,
    Manifest,
)
from metashell.sources.cache.opening import entry_of, text_of

_AGAIN_ROWS: Final = 1 << 18
"""Rows behind those of the first table from which all are reduced together once more."""


@dataclass(frozen=True, slots=True)
class CoveredLog:
    """The part of a log that may be kept."""

    table: pa.Table
    files: tuple[Covered, ...]
    facts: tuple[FileFacts, ...]
    checkpoint: str | None
    registry: Registry
    is_pieced: bool
    """Whether it is made of pieces that could be reduced together."""


def covered_log(
    place: Place, log: ReducedLog | LazyLog, settings: ReadSettings, before: object = None
) -> CoveredLog | None:
    """Find out what of a log will not change; None where that can't be told.

    `before` as for `metashell.sources.cache.writing.store`.

    Raises:
        SourceError: The directory can't be read.
    """
    state = CoveredFiles(place)
    names = state.replayed(settings)
    checkpoint = None if state.checkpoint is None else state.checkpoint.name
    used = None if log.plan.checkpoint is None else log.plan.checkpoint.name
    n_files = len(log.files)
    # A newer checkpoint that is damaged, or that came meanwhile, makes another log.
    if not n_files or used != checkpoint or [f.name for f in log.files] != names[:n_files]:
        return None
    if before is not None and not state.only_grew(before, names[:n_files]):
        return None
    if sum(len(f.faults) + len(f.unframed) for f in log.files) > MAX_FAULTS:
        return None
    tables = [*log.closed, *log.active]
    table = pa.concat_tables(tables)
    is_pieced = len(table) > len(tables[0]) + max(_AGAIN_ROWS, len(tables[0]) // 2)
    bounds = np.searchsorted(plain_values(table["file"]), np.arange(n_files + 1)).tolist()
    found: list[Covered] = []
    for i, facts in enumerate(log.files):
        part = table.slice(bounds[i], bounds[i + 1] - bounds[i])
        grows = i == len(names) - 1 and isinstance(parse_name(facts.name), SegmentName)
        covered = _growing(state, facts, part) if grows else _closed(state, facts, part)
        if covered is None and not grows:
            return None
        if covered is None:
            table = table.slice(0, bounds[i])
            break
        found.append(covered)
    if not found:
        return None
    kept = tuple(_facts(log.files[i], covered) for i, covered in enumerate(found))
    return CoveredLog(table, tuple(found), kept, checkpoint, log.registry, is_pieced)


def _facts(facts: FileFacts, covered: Covered) -> FileFacts:
    """Without the faults of what is behind: it may be whole by now."""
    if not covered.grows:
        return facts
    return replace(
        facts,
        size=covered.size,
        faults=tuple(f for f in facts.faults if (f.pos or 0) < covered.covered),
        unframed=tuple(f for f in facts.unframed if (f.pos or 0) < covered.covered),
    )


def _closed(state: CoveredFiles, facts: FileFacts, part: pa.Table) -> Covered | None:
    """A file that nobody writes to any more; None where it was changed all the same."""
    if state.sizes[facts.name] != facts.size:
        return None
    if not len(part):
        return _covered(state, facts, 0, facts.size, grows=False)
    last_pos = part["pos"][len(part) - 1].as_py()
    if not _has(state, facts.name, part):
        return None
    return _covered(state, facts, last_pos, facts.size, grows=False)


def _growing(state: CoveredFiles, facts: FileFacts, part: pa.Table) -> Covered | None:
    """The last segment up to its last batch; None where no record of that batch is there."""
    if not len(part) or state.sizes[facts.name] < facts.size or not _has(state, facts.name, part):
        return None
    last = {
        name: part[name][len(part) - 1].as_py() for name in ("pos", "base_offset", "last_delta")
    }
    if last["base_offset"] + last["last_delta"] != facts.last_offset:
        return None
    length: int = HEAD.unpack_from(state.header(facts.name, last["pos"]))[1]
    return _covered(state, facts, last["pos"], last["pos"] + 12 + length, grows=True)


def _has(state: CoveredFiles, name: str, part: pa.Table) -> bool:
    """Whether the batch of a file's last record is still there."""
    at = len(part) - 1
    header = state.header(name, part["pos"][at].as_py())
    if len(header) < HEADER_BYTES:
        return False
    base, _, epoch, _, _, _, last_delta = HEAD.unpack_from(header)
    wanted = tuple(part[field][at].as_py() for field in ("base_offset", "epoch", "last_delta"))
    return wanted == (base, epoch, last_delta)


def _covered(
    state: CoveredFiles, facts: FileFacts, last_pos: int, covered: int, *, grows: bool
) -> Covered:
    size, mtime_ns, inode = state.facts(facts.name)
    return Covered(
        name=facts.name,
        size=size,
        mtime_ns=mtime_ns,
        inode=inode,
        grows=grows,
        covered=covered,
        crc=state.crc(facts.name, covered) if grows else None,
        head=state.header(facts.name, 0).hex(),
        last_pos=last_pos,
        last=state.header(facts.name, last_pos).hex(),
        facts={},
    )


def write_entry(entry: EntryDirectory, place: str, covered: CoveredLog, how: Reducing) -> bool:
    """Write an entry in place of what is there, and make room for it.

    Returns:
        Whether it is there: it may be larger than the cache may be.

    Raises:
        OSError: It can't be written.
    """
    table, files, registry = covered.table, covered.facts, covered.registry
    if covered.is_pieced:
        table = reduce_again([table], registry, how)
    records = records_of([table], files, registry)
    last = Image(records).provenance
    groups: dict[str, GroupFile] = {}
    done = False
    try:
        for name, group in write_groups(entry, records, table):
            groups[name] = group
        manifest = Manifest(
            place=place,
            checkpoint=covered.checkpoint,
            files=tuple(
                replace(file, facts=facts_value(facts))
                for file, facts in zip(covered.files, files, strict=True)
            ),
            rows=table.num_rows,
            groups=groups,
            has_markers=bool(is_marker(records.frames.api_key.narrow).any()),
            has_unread=bool(records.frames.unread(np.arange(table.num_rows)).any()),
            any_odd=records.any_odd,
            last_row=records.last_row,
            last_applied=(last.offset, last.epoch, last.timestamp_ms),
        ).to_json()
        names = [group.file for group in groups.values()]
        if len(manifest) + sum(group.size for group in groups.values()) <= limit_bytes():
            entry.publish(manifest, names)
            done = True
    finally:
        if not done:
            entry.discard(group.file for group in groups.values())
    make_room(entry)
    return done and entry.exists()


def store(
    place: Place,
    log: ReducedLog | LazyLog,
    how: Reducing,
    *,
    before: object = None,
) -> bool:
    """Keep a reduced log for the next time, in place of its old entry.

    Args:
        place: The log's directory.
        log: The log, of all files that make up the newest state.
        how: The settings that it was reduced with. A log with secrets, or with every record, is
            not kept.
        before: The directory's `metashell.log.changed.signature` when reading it began; None where
            nothing can have changed since.

    Returns:
        Whether it is kept: not where a file was changed while it was read or nobody could tell,
        where it is larger than the cache may be, or where the cache can't be written.
    """
    if how.settings.show_secrets or not how.merges:
        return False
    entry = entry_of(place, how.settings)
    if entry is None:
        return False
    with suppress(OSError, SourceError):
        covered = covered_log(place, log, how.settings, before)
        if covered is None:
            return False
        entry.prepare()
        return write_entry(entry, text_of(place), covered, how)
    return False
