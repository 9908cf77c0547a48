"""The tables that SQL sees of one cluster: names, columns, and rows a few columns at a time.

Names and columns are those of the Spark data source, without its first columns, which name a row's
directory. Only `records` has one column more, the topic. Spark reads splits of files, each by
itself, and a split does not know the names of topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.checks.quorum_findings import node_file_faults
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.image.arrow import image_table, some_columns, table_names
from metashell.image.image import Image
from metashell.image.split_tables import (
    FAULTS_SCHEMA,
    FILES_SCHEMA,
    faults_batch,
    file_batch,
    message_batch,
    message_schema,
    records_batch,
    records_schema,
)
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import control_key
from metashell.log.read import SLACK, Loaded, anonymous, not_read, opened
from metashell.log.splits import Split
from metashell.log.unread import OnFault
from metashell.parts.known import part_of_table
from metashell.places.vanished import VanishedError
from metashell.records.filter import MAX_OFFSET, Selection, TopicNames
from metashell.records.records import Records, type_of
from metashell.records.rows import data_writer
from metashell.records.stream import (
    Block,
    LogPath,
    LogStream,
    checkpoint_paths,
    records_with_names,
    segment_paths,
)
from metashell.redact import Redaction
from metashell.schema.arena import I64
from metashell.schema.columns import FixedColumn
from metashell.schema.model import Registry

if TYPE_CHECKING:
    from metashell.sources.coordinator_logs import ReadReport
    from metashell.sources.coordinator_tables import CoordinatorTables, SourceTables
    from metashell.sources.source import Source


def topic_column(records: Records, rows: I64, names: TopicNames) -> pa.Array:
    """The name of each record's topic.

    Args:
        records: The records.
        rows: int64[n]: which of them, in ascending order.
        names: Names by topic id.

    Returns:
        string[n]; null for a record that names no topic by id, for one that can't be decoded, and
        where no file says the name.
    """
    known: list[str | None] = []
    which = np.full(len(rows), -1, dtype=np.int64)
    keys = records.frames.api_key[rows]
    for key in np.unique(keys).tolist():
        spec = records.registry.metadata.get(key)
        if spec is None or all(field.column_name != "topic_id" for field in spec.fields):
            continue
        decoded, columns = records.decode(spec.name, rows[keys == key], ("topic_id",))
        column = columns.fields.get("topic_id")
        if not isinstance(column, FixedColumn) or column.values.dtype != np.dtype("V16"):
            continue
        ids = pa.py_buffer(np.ascontiguousarray(column.values).tobytes())
        coded = pa.Array.from_buffers(pa.binary(16), columns.n, [None, ids]).dictionary_encode()
        found: list[bytes] = coded.dictionary.to_pylist()
        names.look_up(found)
        which[np.searchsorted(rows, decoded)] = coded.indices.to_numpy() + len(known)
        known.extend(map(names.names.get, found))
    return pa.array(known, pa.string()).take(pa.array(which, mask=which < 0))


RECORDS: Final = "records"
FILES: Final = "files"
FAULTS: Final = "faults"
TOPIC: Final = pa.field("topic", pa.string())
"""The topic that a record names by id."""

_HELP: Final = {
    RECORDS: "Every record of every checkpoint and segment, its topic, its fields as JSON.",
    FILES: "Checkpoints and segments.",
    FAULTS: "What is wrong with the files or their replay.",
}

Batches = Iterator[pa.RecordBatch]
_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table)

_MOST_MS: Final = ((1 << 63) - 2) // 1000
"""Milliseconds of the last time in microseconds, before DuckDB's infinity."""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table's facts that need no data."""

    name: str
    help: str
    schema: pa.Schema


def image_names() -> tuple[str, ...]:
    """Tables of the image, and of the log as a whole."""
    return (*table_names(), FAULTS, FILES, RECORDS)


def message_names(registry: Registry) -> tuple[str, ...]:
    """Tables of record types: those of the definitions that a log's records have."""
    return tuple(sorted(registry.by_name))


def find_name(registry: Registry, name: str) -> str | None:
    """A table's own name, whatever the case it is asked for in; None where there is none."""
    folded = name.casefold()
    for known in (*image_names(), *registry.by_name):
        if known.casefold() == folded:
            return known
    return None


def table_info(registry: Registry, name: str, more: CoordinatorTables | None = None) -> TableInfo:
    """A table's columns.

    Args:
        registry: Message definitions.
        name: The table.
        more: The tables of coordinators' logs, where there are some.

    Raises:
        KeyError: There is no such table.
    """
    if name in table_names():
        schema = state_schema(registry, name)
    elif name == RECORDS:
        schema = sql_records_schema()
    elif name in (FILES, FAULTS):
        schema = FILES_SCHEMA if name == FILES else FAULTS_SCHEMA
    elif name in registry.by_name or more is None:
        schema = message_schema(registry, name)
    else:
        return TableInfo(name, more.help(name), more.schema(name))
    return TableInfo(name, _help(name), schema)


def sql_records_schema() -> pa.Schema:
    """The columns of the table `records`."""
    own = records_schema()
    return own.insert(own.get_field_index("value"), TOPIC)


def _help(name: str) -> str:
    part = part_of_table(name)
    return _HELP.get(name, f"Records of the type {name}.") if part is None else part.help


def type_name(kind: pa.DataType) -> str:
    """An Arrow type as SQL calls it."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"{type_name(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{f.name} {type_name(f.type)}' for f in kind)})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP WITH TIME ZONE"
    return _TYPE_NAMES.get(str(kind), str(kind).upper())


_TYPE_NAMES: Final = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "bool": "BOOLEAN",
    "float": "FLOAT",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "binary": "BLOB",
    "large_binary": "BLOB",
}


@cache
def state_schema(registry: Registry, table: str) -> pa.Schema:
    """The columns of a table of the image."""
    empty = Image(Records(Loaded(anonymous(SLACK), 0, []), registry))
    return image_table(table, empty, Redaction()).schema


def read_table(
    source: Source,
    more: SourceTables | None,
    image: Callable[[], Image],
    name: str,
    columns: Sequence[str],
    poll: Callable[[], None],
    on_fault: OnFault,
    report: ReadReport,
) -> pa.Table | Batches:
    """Some columns of a table.

    Args:
        source: The source of the table.
        more: Its tables beside those of the image and of the log.
        image: The image that its tables show.
        name: One of the tables there are.
        columns: The wanted columns of the table, at least one.
        poll: Called now and then; may raise.
        on_fault: Called for each part that can't be read, but not for a batch cut off at the end of
            the log. A table of records calls it while its batches are made.
        report: Told of the parts that are missing of coordinators' logs.

    Returns:
        A table; for records, which may be many, batches that are made as they are asked for.

    Raises:
        SourceError: The source can't be read.
    """
    if find_name(source.registry, name) is None:
        return iter(()) if more is None else more.read(name, columns, poll, report)
    if name in table_names() or not source.capabilities.has_image:
        return some_columns(name, image(), source.redaction, columns)
    if name == FAULTS:
        faults = [*node_file_faults(source.metadata_directory), *source.all_faults()]
        return pa.Table.from_batches([faults_batch(faults)]).select(list(columns))
    if name == FILES:
        rows = _files(source, poll, on_fault)
        return pa.Table.from_batches(rows, FILES_SCHEMA).select(list(columns))
    return (batch.select(list(columns)) for batch in _of_log(source, name, columns, poll, on_fault))


def _files(source: Source, poll: Callable[[], None], on_fault: OnFault) -> Batches:
    for order, path in enumerate(_paths(source)):
        poll()
        try:
            with opened(path.path) as file:
                size = file.size
            split = Split(
                file=path.path, name=path.name, begin=0, end=size, after=-1, order=order, size=size
            )
            batch = file_batch([split], source.registry)
        except (VanishedError, SourceError) as error:
            on_fault(not_read(path.name, error, path.base_offset), False)
            continue
        yield batch


def _of_log(
    source: Source,
    name: str,
    columns: Sequence[str],
    poll: Callable[[], None],
    on_fault: OnFault,
) -> Batches:
    registry, redaction = source.registry, source.redaction
    keys, schema = None, sql_records_schema()
    if name != RECORDS:
        spec = registry.by_name[name]
        key = spec.api_key if spec.api_key is not None else control_key(spec.control_type or 0)
        if type_of(key, registry) is None:
            return
        keys = frozenset({key})
        schema = message_schema(registry, name)
    writer = data_writer(redaction) if "value" in columns else None
    known, names = frozenset(source.log.faults), TopicNames()
    if not source.log.is_file:
        # In the order of the rows: so the first name of an id is the same wherever one looks.
        names.elsewhere = records_with_names(source.log, registry, segments_too=True)
    for block in _blocks(source, keys, names, poll, known, on_fault):
        poll()
        if name == RECORDS:
            batch = records_batch(block.records, block.rows, writer)
            if TOPIC.name in columns:
                topics = topic_column(block.records, block.rows, names)
                batch = batch.add_column(schema.get_field_index(TOPIC.name), TOPIC, topics)
            yield batch
            continue
        yield message_batch(block.records, block.rows, name, redaction, schema)
        # A record of the type that can't be decoded has no row.
        bad = dict(block.records.faults_by_row())
        for row in np.intersect1d(block.rows, np.array([*bad], dtype=np.int64)).tolist():
            on_fault(bad[row], bad[row] in known)


def _blocks(
    source: Source,
    keys: frozenset[int] | None,
    names: TopicNames,
    poll: Callable[[], None],
    known: frozenset[Fault],
    notify: OnFault,
) -> Iterator[Block[Records]]:
    """Every record of some types: of the checkpoints, oldest first, then of the segments."""

    def on_fault(fault: Fault, is_at_the_end: bool) -> None:
        is_of_log = source.log.is_file or (fault.file or "").endswith(".log")
        # A node may be writing there.
        if not (is_at_the_end and is_of_log and fault.kind is FaultKind.TORN):
            notify(fault, fault in known)

    of_log = Selection(last_offset=_last_offset(source), keys=keys)
    for paths, selection in (
        (_checkpoints(source), Selection(keys=keys)),
        (_segments(source), of_log),
    ):
        stream = LogStream(source.registry, selection, names, on_fault, poll=poll)
        for block in stream.blocks(paths):
            if len(block.rows):
                yield block


def _paths(source: Source) -> list[LogPath]:
    return [*_checkpoints(source), *_segments(source)]


def _checkpoints(source: Source) -> list[LogPath]:
    last, log = source.moment_offset, source.log
    if log.is_file:
        return [LogPath(log.path_of(file.name), file.name, None) for file in log.loaded.files]
    late = {c.name for c in log.listing.checkpoints if last is not None and c.end_offset - 1 > last}
    return [path for path in checkpoint_paths(log) if path.name not in late]


def _segments(source: Source) -> list[LogPath]:
    if source.log.is_file:
        return []
    return segment_paths(source.log, Selection(last_offset=_last_offset(source)))


def _last_offset(source: Source) -> int:
    """The last offset of the segments that counts."""
    last = MAX_OFFSET if source.moment_offset is None else source.moment_offset
    checkpoint = source.log.checkpoint
    if source.settings.committed_only and not source.log.is_file:
        last = min(last, -1 if checkpoint is None else checkpoint.end_offset - 1)
    return last


def with_sql_times(rows: _Rows, warn: Callable[[str], None]) -> _Rows:
    """Make all times of rows fit SQL, which counts microseconds in 64 bits.

    Args:
        rows: Rows of a table.
        warn: Called with a sentence on other times, which become null.
    """
    for i, column in enumerate(rows.schema):
        if not pa.types.is_timestamp(column.type) or not rows.num_rows:
            continue
        ms = rows.column(i).cast(pa.int64())
        low, high = pc.min_max(ms).as_py().values()
        if low is None or -_MOST_MS <= low <= high <= _MOST_MS:
            continue
        fits = pc.and_(pc.greater_equal(ms, -_MOST_MS), pc.less_equal(ms, _MOST_MS))
        for value in pc.unique(ms.filter(pc.invert(fits))).to_pylist():
            warn(f"{column.name} {value} ms is outside the times of SQL: shown as null")
        rows = rows.set_column(i, column, pc.if_else(fits, rows.column(i), None))
    return rows


def with_cluster(name: str, table: pa.Table | Batches, schema: pa.Schema) -> Batches:
    """A cluster's rows with the columns of a fleet's table, its name among them if asked for."""
    batches = table.to_batches() if isinstance(table, pa.Table) else table
    for batch in batches:
        own: Mapping[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        names = pa.array(np.repeat(name, batch.num_rows).tolist(), pa.string())
        arrays = [own.get(field.name, names) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
