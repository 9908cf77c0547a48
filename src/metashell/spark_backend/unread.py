"""The data that Spark could not read for an answer, searched beside the rows, which lack it.

A data source gives rows alone. The left-out data depends on the files, not on the statement. So the
files are gone through by tasks of their own, which decode no more than that takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.image.arrow import image_table, table_names
from metashell.image.arrow import times as arrow_times
from metashell.image.split_tables import file_batch
from metashell.log.directory import find_metadata_directory
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import control_key
from metashell.log.names import SegmentName, parse_name
from metashell.log.read import not_read
from metashell.log.splits import SPLIT_BYTES, Split, plan_splits, plan_wanted, read_split
from metashell.read_settings import ReadSettings
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.arena import I64
from metashell.schema.model import Registry
from metashell.sources.reduced import source_of
from metashell.spark_backend.fold import PART_0, Fold, LogPart, tables_in_parts
from metashell.spark_backend.schemas import FAULTS, FILES, RECORDS, registry_of
from metashell.spark_backend.sites import Site
from metashell.spark_backend.tasks import FILE_BYTES, Failure, FoldJob, log_or_whole, results
from metashell.sql.tables import with_sql_times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED, WARNED, UNREAD, REMARKED = range(4)
"""The kinds of texts: why nothing of a directory is there; what a user should know; what of its
files is missing; what a user should know of an answer.
"""

Told = tuple[int, int, str]
"""A directory's number, one of these, and the sentence."""

_KEPT: Final = 1_000
"""Faults of a split that are told one by one."""
_TOLD: Final = pa.schema([("site", pa.int32()), ("kind", pa.int32()), ("text", pa.string())])


@dataclass(frozen=True, slots=True)
class SplitReport:
    """The findings in a split."""

    split: Split
    first: int
    """The first offset; -1 without a batch."""
    last: int
    faults: tuple[Fault, ...]
    times: tuple[str, ...] = ()
    """Remarks on times that are shown as null."""


def warnings_of_log(
    spark: SparkSession, sites: Sequence[Site], settings: ReadSettings, tables: frozenset[str]
) -> Iterator[Told]:
    """The gaps of tables of a log's files, in the words and the order of the local engine.

    Args:
        spark: A session.
        sites: The directories.
        settings: How they are read.
        tables: Names of tables; those of the image and `faults` do not count.
    """
    tables -= {*table_names(), FAULTS}
    if not tables:
        return
    schemas = tuple(settings.schemas)
    found: dict[int, list[SplitReport]] = {number: [] for number in range(len(sites))}

    def plan(site: Site) -> list[Split] | str:
        try:
            return splits_of(site, settings)
        except MetashellError as e:
            return str(e)

    def look(numbered: tuple[int, Split]) -> tuple[int, SplitReport]:
        number, split = numbered
        return number, look_at(split, registry_of(schemas), tables)

    work: list[tuple[int, tuple[int, Split]]] = []
    # Listing is what takes time here.
    planned = results(spark, [(FILE_BYTES, site) for site in sites], plan)
    for number, splits in enumerate(planned):
        if isinstance(splits, str):
            yield number, FAILED, splits
            continue
        work += [(FILE_BYTES + s.end - s.begin, (number, s)) for s in splits]
    for number, one in results(spark, work, look):
        found[number].append(one)
    for number, own in found.items():
        for fault in faults_of(own, only_unread=tables == {FILES}):
            yield number, UNREAD, str(fault)
        for text in dict.fromkeys(text for one in own for text in one.times):
            yield number, UNREAD, text


def splits_of(site: Site, settings: ReadSettings) -> list[Split]:
    """The splits of the files that tables of a log show.

    Raises:
        SourceError: The directory can't be listed, or holds no file of a metadata log.
    """
    end: int | None = None
    place = find_metadata_directory(site.place)
    if settings.committed_only:
        newest = plan_splits(place, settings=settings).checkpoint
        end = 0 if newest is None else newest.end_offset

    def takes(name: str, first: int, _: int | None) -> bool:
        return end is None or name.endswith(".checkpoint") or first < end

    return plan_wanted(place, SPLIT_BYTES, takes)


def look_at(split: Split, registry: Registry, tables: frozenset[str]) -> SplitReport:
    """Go through a split.

    Args:
        split: The split.
        registry: Message definitions.
        tables: The tables of record types, whose records are decoded.
    """
    faults: list[Fault] = []
    times: dict[str, None] = {}
    first = last = -1
    # Here a checkpoint's records stand for themselves.
    plain = replace(split, end_offset=None, epoch=-1)
    try:
        for loaded in read_split(plain):
            (file,) = loaded.files
            faults += file.chain.faults
            if not file.chain.positions:
                continue
            first = file.chain.first_offset if first < 0 else first
            last = max(last, file.chain.last_offset)
            if tables != {FILES}:
                records = Records(loaded, registry)
                faults += _record_faults(records, tables, times)
        if FILES in tables and not split.begin:
            whole = replace(plain, end=split.size, until=None)
            with_sql_times(file_batch([whole], registry), times.setdefault)
    except SourceError as e:
        parsed = parse_name(split.name)
        base = parsed.base_offset if isinstance(parsed, SegmentName) else None
        faults.append(not_read(split.name, e, base))
    return SplitReport(plain, first, last, tuple(faults[:_KEPT]), tuple(times)[:_KEPT])


def _record_faults(
    records: Records, tables: frozenset[str], times: dict[str, None]
) -> Iterator[Fault]:
    """The faults of records of tables; remarks on their times go to `times`."""
    keys = records.frames.api_key.narrow
    if RECORDS in tables:
        _look_at_times(records, np.arange(len(keys), dtype=np.int64), times)
    yield from list(records.faults)
    for name in sorted(tables - {FILES, RECORDS}):
        spec = records.registry.by_name[name]
        key = spec.api_key if spec.api_key is not None else control_key(spec.control_type or 0)
        rows = np.flatnonzero(keys == key)
        if len(rows):
            good, _ = records.decode(name, rows, ())
            _look_at_times(records, good, times)
            bad = dict(records.faults_by_row())
            yield from (bad[row] for row in rows.tolist() if row in bad)


def _look_at_times(records: Records, rows: I64, times: dict[str, None]) -> None:
    columns = {"timestamp": arrow_times(records.frames.timestamps(rows))}
    with_sql_times(pa.record_batch(columns), times.setdefault)


def faults_of(looks: Sequence[SplitReport], *, only_unread: bool = False) -> Iterator[Fault]:
    """The gaps of a directory's files, file by file; a tail that may be being written is none.

    Args:
        looks: At every split, in any order.
        only_unread: Leave out what is wrong with what could be read.
    """
    after = -1
    in_order = sorted(looks, key=lambda look: (look.split.order, look.split.begin))
    newest = in_order[-1].split.name if in_order else ""
    for look in in_order:
        name, is_segment = look.split.name, look.split.name.endswith(".log")
        if is_segment and not look.split.begin and 0 <= after < look.first - 1 and not only_unread:
            reason = f"offsets {after + 1} to {look.first - 1} are missing"
            yield Fault(FaultKind.GAP, reason, name, 0, after + 1)
        after = max(after, look.last) if is_segment else after
        for fault in look.faults:
            is_tail = fault.kind is FaultKind.TORN and is_segment and name == newest
            if not is_tail and (fault.kind is FaultKind.UNREADABLE or not only_unread):
                yield fault


def warnings_of_fold(fold: Fold, tables: frozenset[str]) -> list[Told]:
    """The gaps of tables of the image: directories that can't be read, and warnings of the others.

    Args:
        fold: The directories.
        tables: The tables that were read; `FAULTS` for all that can be wrong.
    """
    settings, redaction = fold.settings, Redaction(fold.settings.show_secrets)
    wanted = sorted(tables.intersection(table_names()))

    def tell(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
        log, is_whole = log_or_whole(job, pieces)
        if isinstance(log, Failure):
            rows = [(FAILED, log.message)]
        else:
            source = source_of(log, settings, job.place)
            image, times = source.image, dict[str, None]()
            has_all = is_whole or not job.n_parts
            for name in wanted:
                if has_all or name not in tables_in_parts():
                    with_sql_times(image_table(name, image, redaction), times.setdefault)
            if FAULTS in tables and has_all:
                image.fold_everything()
            rows = [(WARNED, text) for text in source.warnings]
            rows += [(UNREAD, text) for text in times]
        found = [{"site": part.directory, "kind": kind, "text": text} for kind, text in rows]
        return pa.Table.from_pylist(found, schema=_TOLD)

    found = fold.each(tell, _TOLD, PART_0).toArrow().to_pylist()
    return sorted((row["site"], row["kind"], row["text"]) for row in found)
