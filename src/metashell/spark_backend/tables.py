"""The rows of each table, as the local engine has them: of a split, a directory or a partition.

The table `nodes`: every node of a source's file system, in the order of a walk.

Times are taken as ``stat`` takes them: from the node at the same path of the tree that remembers
most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.checks.quorum_findings import node_file_faults
from metashell.commands.shared.node_times import Timed, Touch, moments_of
from metashell.errors import MetashellError
from metashell.fs.node import Directory, Leaf, Node
from metashell.image.arrow import image_table
from metashell.image.image import Image
from metashell.image.split_tables import (
    FAULTS_SCHEMA,
    Windows,
    fault_batches,
    faults_batch,
    file_batch,
    message_batches,
    record_batches,
    records_schema,
)
from metashell.log.control import CONTROL_NAMES
from metashell.log.fault import Fault, FaultKind
from metashell.log.names import METADATA_DIRECTORY, SegmentName, parse_name
from metashell.log.splits import Split
from metashell.log.unread import Unread, UnreadReport
from metashell.node_files.log_directory import read_log_directory
from metashell.places.place import Place, base_name, parent_of, place_of
from metashell.read_settings import ReadSettings
from metashell.records.records import type_of
from metashell.records.split_filter import RowFilter
from metashell.redact import Redaction
from metashell.reduced.log import ReducedLog, reduce_place
from metashell.schema.coordinators import CoordinatorLog
from metashell.schema.dump import to_json
from metashell.sources.coordinator import open_coordinator
from metashell.sources.coordinator_logs import NodeCoordinatorLogs
from metashell.sources.coordinator_tables import SourceTables
from metashell.sources.fleet.reading import Reading
from metashell.sources.reduced import source_of
from metashell.sources.source import Source
from metashell.spark_backend.filters import LEAST, MOST, TableFilter
from metashell.spark_backend.options import Options
from metashell.spark_backend.schemas import (
    FAULTS,
    NODES,
    NODES_SCHEMA,
    RECORDS,
    coordinator_tables,
    is_of_coordinators,
    registry_of,
    with_origin,
)
from metashell.spark_backend.sites import PartitionPiece, Site, is_partition
from metashell.sql.tables import table_info

if TYPE_CHECKING:
    from metashell.image.touched import Moment, Moments

_BATCH_ROWS: Final = 8192
_BATCH_CHARS: Final = 16 << 20
_PATH: Final = "path"

_Row = tuple[str, str, str | None, str | None, int | None, int | None, int | None, int | None]


def node_batches(source: Source, wanted: TableFilter) -> Iterator[pa.RecordBatch]:
    """The rows of a source, in batches of bounded size.

    Where filters say which paths or kinds are wanted, other nodes are not looked at.
    """
    rows: list[_Row] = []
    chars = 0
    for row in _rows(source, wanted):
        rows.append(row)
        chars += len(row[0]) + len(row[2] or "") + len(row[3] or "")
        if len(rows) >= _BATCH_ROWS or chars >= _BATCH_CHARS:
            yield _batch(rows)
            rows, chars = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: list[_Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(values, type=field.type)
        for field, values in zip(NODES_SCHEMA, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=NODES_SCHEMA)


def _rows(source: Source, wanted: TableFilter) -> Iterator[_Row]:
    root, remembering = source.root, source.history_root
    own, oldest = moments_of(root), moments_of(remembering)
    start = Timed(remembering, oldest)
    if _is_wanted(wanted, "/", root):
        yield _row("/", root, start.touch())
    stack = [_children(root, "/", start, own, wanted)]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        path, row, node, timed = found
        if row is not None:
            yield row
        if isinstance(node, Directory) and wanted.may_begin(_PATH, path + "/"):
            stack.append(_children(node, path + "/", timed, own, wanted))


def _is_wanted(wanted: TableFilter, path: str, node: Node) -> bool:
    return wanted.may_be(_PATH, path) and wanted.may_be("kind", _kind_of(node))


def _kind_of(node: Node) -> str:
    return "directory" if isinstance(node, Directory) else "leaf"


def _children(
    directory: Directory, base: str, timed: Timed, own: Moments | None, wanted: TableFilter
) -> Iterator[tuple[str, _Row | None, Node, Timed]]:
    """The children of a directory in order that can be wanted, or have something that can.

    A directory that needs a file that can't be used has none, as in a walk.

    Returns:
        Path, row, node, and the node that knows its times; no row where it is not wanted itself.
    """
    try:
        every = directory.names()
    except MetashellError:
        return
    names = [
        name
        for name in every
        if wanted.may_be(_PATH, base + name) or wanted.may_begin(_PATH, base + name + "/")
    ]
    touches = timed.children(names)
    for name, touch in zip(names, touches, strict=True):
        node = directory.child(name)
        if node is None:
            continue
        below = timed.node.child(name) if isinstance(timed.node, Directory) else None
        if below is None:
            # The tree that remembers most lacks it: it tells of itself.
            beside = Timed(node, own)
            touch = beside.touch()  # noqa: PLW2901
        else:
            beside = Timed(below, timed.moments)
        path = base + name
        yield (
            path,
            _row(path, node, touch) if _is_wanted(wanted, path, node) else None,
            node,
            beside,
        )


def _row(path: str, node: Node, touch: Touch) -> _Row:
    text = value = None
    if isinstance(node, Leaf):
        try:
            text = node.text()
            value = to_json(node.value())
        except MetashellError as e:
            text = text if text is not None else str(e)
    return (
        path,
        _kind_of(node),
        _utf8(text),
        _utf8(value),
        *_when(touch.created),
        *_when(touch.changed),
    )


def _when(moment: Moment | None) -> tuple[int | None, int | None]:
    """Offset and time; neither is known of what happened at or before a checkpoint."""
    if moment is None or moment.at_or_before is not None:
        return None, None
    return moment.offset, moment.timestamp_ms


def _utf8(text: str | None) -> str | None:
    """Text without lone surrogates, which Arrow has no bytes for."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


UNREADABLE: Final = "unreadable"
"""Kind of the faults of files and directories that can't be read at all."""

BATCH_ROWS: Final = 32_768

_OF_UNKNOWN: Final = "UNKNOWN(-0123456789)"
"""Characters in what a type is called that no definition knows."""

_WITH_TOPIC_ID: Final = frozenset(
    {"TopicRecord", "PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord"}
)


def table_schema(options: Options) -> pa.Schema:
    """The columns of the table asked for, with their origin in front."""
    return with_origin(_own_schema(options))


def _own_schema(options: Options) -> pa.Schema:
    if is_of_coordinators(options):
        return coordinator_tables(options.settings.schemas).schema(options.table)
    if options.table == NODES:
        return NODES_SCHEMA
    if options.table == RECORDS:
        return records_schema(raw=options.raw)
    return table_info(registry_of(options.settings.schemas), options.table).schema


# Tables of splits.


def row_filter(wanted: TableFilter, options: Options, below: int | None = None) -> RowFilter:
    """The filters on records.

    Args:
        wanted: The filters.
        options: The options of the query.
        below: The first offset that does not count; None for all.
    """
    low, high = wanted.range_of("offset")
    since, until = wanted.range_of("timestamp")
    topics = wanted.values.get("topic_id") if options.table in _WITH_TOPIC_ID else None
    return RowFilter(
        types=_types(wanted, options) if options.table == RECORDS else None,
        offset_min=max(low, 0),
        offset_max=min(high, MOST if below is None else below - 1),
        time_min=None if since == LEAST else -(-since // 1000),
        time_max=None if until == MOST else until // 1000,
        topics=None if topics is None else frozenset(map(str, topics)),
    )


def _types(wanted: TableFilter, options: Options) -> frozenset[str] | None:
    """Types that are wanted, those of the api keys wanted among them."""
    types = wanted.values.get("type")
    keys = wanted.values.get("api_key")
    registry = registry_of(options.settings.schemas)
    tests = wanted.texts.get("type", frozenset())
    if any(set(text) - set(_OF_UNKNOWN) for _, text in tests):
        known = {*CONTROL_NAMES.values(), *(s.type_name for s in registry.metadata.values())}
        fitting = frozenset(name for name in known if wanted.may_be("type", name))
        types = fitting if types is None else types & fitting
    if keys is not None:
        named = frozenset(type_of(key, registry) for key in keys if _is_api_key(key))
        types = named if types is None else types & named
    return None if types is None else frozenset(map(str, types))


def _is_api_key(key: object) -> bool:
    return isinstance(key, int) and 0 <= key < 1 << 15


def split_batches(
    split: Windows, options: Options, where: RowFilter, *, values: bool = True
) -> Iterator[pa.RecordBatch]:
    """The rows of a split, or of windows, of the table asked for, `values` as for `record_batches`.

    Raises:
        SourceError: It can't be read, or is not what was planned.
    """
    registry, redaction = (
        registry_of(options.settings.schemas),
        Redaction(options.settings.show_secrets),
    )
    if options.table == FAULTS:
        assert isinstance(split, Split)
        return fault_batches(split, registry)
    if options.table == RECORDS:
        return record_batches(split, registry, redaction, where, values=values, raw=options.raw)
    return message_batches(split, registry, redaction, options.table, where)


def file_rows(splits: Sequence[Split], options: Options) -> pa.RecordBatch:
    """The row of a file, given its splits; errors as `split_batches`."""
    return file_batch(splits, registry_of(options.settings.schemas))


def not_read(reason: str, file: str | None = None) -> pa.RecordBatch:
    """The fault of a directory, or a file of it, that can't be read."""
    row = {"kind": UNREADABLE, "reason": reason, "file": file}
    return pa.RecordBatch.from_pylist([row], schema=FAULTS_SCHEMA)


# Tables of directories.


def open_site(site: Site, options: Options) -> Source:
    """Open a directory, as of option `at`.

    Raises:
        MetashellError: It can't be read, or does not cover that point.
    """
    return Reading(settings=options.settings, at=options.at).open(site.opened_by)


def state_batches(
    site: Site, options: Options, wanted: TableFilter | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a table that shows a state, of one directory; errors as `open_site`.

    Only nodes that can be wanted are read.

    Memory of a table of the newest state: some ten times a split, and the image's records.
    """
    if options.table == NODES:
        yield from node_batches(open_site(site, options), wanted or TableFilter())
        return
    if replays_apart(options):
        table = open_site(site, options).table(options.table)
    else:
        image = Image(_reduced(site, options).records)
        table = image_table(options.table, image, Redaction(options.settings.show_secrets))
    yield from table.to_batches(max_chunksize=BATCH_ROWS)


def _reduced(site: Site, options: Options, *, merges: bool = True) -> ReducedLog:
    return reduce_place(
        site.place,
        options.settings,
        merges=merges,
        split_bytes=options.split_bytes,
        registry=registry_of(options.settings.schemas),
    )


def replays_apart(options: Options) -> bool:
    """Whether the replay asked for leaves out some of what the files hold."""
    return options.at is not None or options.settings.strict


def site_faults(
    site: Site, options: Options, splits: Sequence[Split], told: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The faults of a directory, in the words and the order of the local engine.

    First comes which of the node's own files can't be used. With an option that `replays_apart`
    only what is wrong with the replay follows.

    Args:
        site: The directory.
        options: The options of the query.
        splits: The splits of the files that were to be replayed: read by themselves where it can't
            be, or where a checkpoint stands for some of their records.
        told: Why it can't be read, where that is known already.
    """
    yield faults_batch(node_file_faults(site.place))
    known: Sequence[Fault] = ()
    base = max((split.end_offset or 0 for split in splits), default=0)
    try:
        known, names = _replay_faults(site, options)
        yield faults_batch(known)
        splits = [s for s in splits if s.name not in names or _begins_before(s, base)]
    except MetashellError as e:
        if str(e) != told:
            yield not_read(str(e))
    rows = {(str(fault.kind), *_place_of(fault)) for fault in known}
    for split in splits:
        try:
            for batch in fault_batches(split, registry_of(options.settings.schemas)):
                new = [row not in rows for row in zip(*batch.to_pydict().values(), strict=True)]
                yield batch.filter(pa.array(new, pa.bool_()))
        except MetashellError as e:
            yield not_read(str(e), split.name)


def _place_of(fault: Fault) -> tuple[object, ...]:
    return fault.reason, fault.file, fault.pos, fault.offset


def _begins_before(split: Split, offset: int) -> bool:
    name = parse_name(split.name)
    return isinstance(name, SegmentName) and name.base_offset < offset


def _replay_faults(site: Site, options: Options) -> tuple[Sequence[Fault], set[str]]:
    """The faults, and names of the files that they are of."""
    if replays_apart(options):
        found = open_site(site, options).all_faults()
        return [fault for fault in found if fault.kind is FaultKind.REPLAY], set()
    log = _reduced(site, options)
    faults = source_of(log, ReadSettings(), site.place).all_faults()
    if log.records.merges_at_fault:
        log = _reduced(site, options, merges=False)
        faults = source_of(log, ReadSettings(), site.place).all_faults()
    return faults, {facts.name for facts in log.files}


# Tables of coordinators' logs.


class PartitionReport(UnreadReport):
    """Keeps what is told of a partition."""

    def __init__(self) -> None:
        self.found = Unread()
        """The texts on unread data, and remarks."""
        super().__init__(self.found)
        self.warnings: Sequence[str] = ()
        """Warnings where there is no metadata log."""
        self.place: Place | None = None
        """The log of the partition that the last rows are of."""


def partition_batches(
    piece: PartitionPiece, table: str, reading: Reading, report: PartitionReport
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition; what is told of it is in the report.

    Raises:
        MetashellError: The node's directory can't be read.
    """
    with _tables_of(piece, reading) as tables:
        names = tables.schema(table).names
        for batch in tables.read(table, names, lambda: None, report):
            report.place = tables.place
            for first in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(first, BATCH_ROWS)
        report.place, report.warnings = tables.place, tables.without_image


@contextmanager
def _tables_of(piece: PartitionPiece, reading: Reading) -> Iterator[SourceTables]:
    """The tables of a partition.

    Raises:
        MetashellError: The node's directory can't be read.
    """
    place = place_of(piece.node.path)
    if is_partition(place):
        alone = open_coordinator(place, reading.settings, None, is_file=False)
        assert alone is not None
        yield SourceTables(alone, alone.partition_log.partition.log)
        return
    with reading.of_node(piece.node.log_dirs).open(piece.node.path) as source:
        yield SourceTables(source, only=piece.number)


def coordinator_faults(site: Site, options: Options) -> Iterator[pa.RecordBatch]:
    """The faults of the coordinators' logs beside a metadata log, as rows of `faults`.

    The column ``file`` has the partition in front of the segment.
    """
    if base_name(site.place) != METADATA_DIRECTORY:
        return  # A copy: the directory around it may be anybody's.
    try:
        directory = read_log_directory(parent_of(site.place))
    except MetashellError:
        return  # The metadata directory may be all that can be listed.
    for log in CoordinatorLog:
        logs = NodeCoordinatorLogs(log, [directory], options.settings)
        for partition in logs.partitions:
            try:
                found = logs.read(partition)
            except MetashellError as error:
                yield not_read(str(error), str(partition))
                continue
            faults = [replace(one, file=f"{partition}/{one.file}") for one in found.faults()]
            for first in range(0, len(faults), BATCH_ROWS):
                yield faults_batch(faults[first : first + BATCH_ROWS])
