"""The image's parts, and records by type, as Arrow tables.

Each table of the image has behind its own columns ``created_offset``, ``created_epoch``,
``created_time`` and the same of ``changed``: of the records that made and last changed the row.
They are null for what the checkpoint says, which happened at or before its last offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from metashell.image.image import Image
from metashell.image.keyed import PartRows
from metashell.image.partitions import Partitions
from metashell.log.frames import Frames
from metashell.log.read import LogFile
from metashell.parts.forms import code_names
from metashell.parts.known import all_parts, part_of_table
from metashell.parts.partition_fields import BROKER_LISTS, LISTS
from metashell.parts.spec import PartSpec, hook
from metashell.records.records import Records
from metashell.redact import REDACTED, Redaction, hidden_bytes, row_secret_fields
from metashell.schema.arena import I32, I64, AnyArray
from metashell.schema.arrow import (
    columns_to_arrow,
    fixed_array,
    list_array,
    string_array,
    to_arrow,
    uuid_array,
)
from metashell.schema.columns import Columns
from metashell.schema.model import FieldSpec, snake_case
from metashell.schema.resource_types import resource_type_name

_TIME: Final = pa.timestamp("ms", tz="UTC")
_LAST_MS: Final = 253_402_300_799_999
Makers: TypeAlias = dict[str, Callable[[], pa.Array]]
"""The functions that make the columns of a table."""


def topic_columns(image: Image, _: Redaction) -> Makers:
    """The columns of topics, with their numbers of partitions and replicas."""
    topics = image.topics
    return {
        "topic_id": lambda: uuid_array(topics.ids),
        "topic": lambda: string_array(topics.raw_names),
        "partitions": lambda: fixed_array(np.diff(image.partition_layout.bounds).astype(np.int32)),
        "replication": lambda: fixed_array(_replication(image.partitions)),
        **_where(image.records, "created", lambda: topics.created),
        **_where(image.records, "changed", lambda: topics.changed),
    }


def partition_columns(image: Image, _: Redaction) -> Makers:
    """The columns of partitions, each folded when it is asked for."""
    partitions, topics = image.partitions, image.topics
    return {
        "topic_id": lambda: uuid_array(topics.ids[partitions.topic]),
        "topic": lambda: string_array(topics.raw_names.take(partitions.topic)),
        "partition": lambda: fixed_array(partitions.partition),
        **{name: partial(broker_lists, partitions, name) for name in BROKER_LISTS},
        "directories": lambda: _directories(partitions),
        "leader": lambda: fixed_array(partitions.leader),
        "leader_recovery_state": lambda: fixed_array(partitions.leader_recovery_state),
        "leader_epoch": lambda: fixed_array(partitions.leader_epoch),
        "partition_epoch": lambda: fixed_array(partitions.partition_epoch),
        **_where(image.records, "created", lambda: partitions.created),
        **_where(image.records, "changed", lambda: partitions.changed),
    }


def _replication(partitions: Partitions) -> I32:
    """int32[topics]: replicas of a partition, the least of the topic's; 0 without a partition."""
    bounds = partitions.topic_bounds
    out = np.zeros(len(bounds) - 1, dtype=np.int32)
    some = np.flatnonzero(np.diff(bounds) > 0)
    if some.size:
        replicas = partitions.list_column("replicas").counts
        out[some] = np.minimum.reduceat(replicas, bounds[:-1][some])
    return out


def _directories(partitions: Partitions) -> pa.Array:
    ids, list_offsets = partitions.directories()
    return list_array(uuid_array(ids), list_offsets, None)


def broker_lists(partitions: Partitions, name: str, rows: I64 | None = None) -> pa.Array:
    """A list field of partitions.

    Args:
        partitions: The partitions.
        name: One of `metashell.parts.partition_fields.BROKER_LISTS`.
        rows: int64[n]: which ones; None for all.
    """
    lists = partitions.list_column(name)
    values, list_offsets = (lists if rows is None else lists.take(rows)).gather()
    return list_array(fixed_array(values), list_offsets, None)


def voter_columns(image: Image, _: Redaction) -> Makers:
    """The columns of voters; for a static quorum only the ids are known, and all else is null."""
    quorum, records = image.quorum, image.records
    if quorum.voters is not None and quorum.voters_row is not None:
        return _voters(records, quorum.voters, quorum.voters_row)
    ids = quorum.leaders[-1].voters if quorum.leaders else ()
    none = records.decode("VotersRecord", np.empty(0, dtype=np.int64))[1].structs("voters").items
    types = {name: make().type for name, make in _voters(records, none).items()}
    null = {name: partial(pa.nulls, len(ids), kind) for name, kind in types.items()}
    return {**null, "voter_id": lambda: pa.array(ids, type=types["voter_id"])}


def _voters(records: Records, voters: Columns, row: int = -1) -> Makers:
    """The columns of voters that the record in a row names."""
    rows = np.full(voters.n, row, dtype=np.int64)
    columns = columns_to_arrow(voters)
    return {
        **{name: partial(columns.__getitem__, name) for name in columns},
        **_where(records, "created", lambda: rows),
        **_where(records, "changed", lambda: rows),
    }


def part_columns(image: Image, part: PartSpec, redaction: Redaction) -> Makers:
    """The columns of a part: the fields of its records, then when these were written."""
    if part.makers:
        own: Makers = hook(part.makers)(image, redaction)
        return own
    rows = PartRows(image, part)
    columns = rows.part.columns
    names = {f.column: f.table for f in (*part.key, *part.fields) if f.table is not None}
    codes = {f.column: f.codes for f in (*rows.view.key, *rows.view.fields) if f.codes}

    def make(spec: FieldSpec) -> pa.Array:
        name = spec.column_name
        if name in codes:
            values, known = columns.fixed(name).tolist(), code_names(codes[name])
            texts = {code: known.get(code, f"UNKNOWN({code})") for code in set(values)}
            return pa.array([texts[code] for code in values], type=pa.string())
        hidden = rows.hidden(name, redaction)
        array = to_arrow(spec, columns.fields[name])
        if names.get(name, "").endswith("_time"):
            # Python's dates end with the year 9999.
            ms = columns.fixed(name)
            array = times(ms, (ms < 0) | (ms > _LAST_MS))
        return array if hidden is None else _hide(array, hidden)

    return {
        **{
            names.get(spec.column_name, spec.column_name): partial(make, spec)
            for spec in columns.specs
            if part.columns is None or spec.column_name in part.columns
        },
        **_where(image.records, "created", lambda: rows.part.created),
        **_where(image.records, "changed", lambda: rows.part.changed),
    }


def table_names() -> Sequence[str]:
    """Names of the image's tables, sorted."""
    return sorted(part.table_name for part in all_parts())


def image_table(table: str, image: Image, redaction: Redaction) -> pa.Table:
    """A table of the image.

    Raises:
        KeyError: There is no such table; see `table_names`.
    """
    # Else lists of partitions would be decoded by a second walk over all records.
    image.expect(LISTS)
    return pa.table({name: make() for name, make in _makers(table, image, redaction).items()})


def _makers(table: str, image: Image, redaction: Redaction) -> Makers:
    part = part_of_table(table)
    if part is None:
        raise KeyError(table)
    return part_columns(image, part, redaction)


def some_columns(
    table: str, image: Image, redaction: Redaction, columns: Sequence[str]
) -> pa.Table:
    """Some columns of a table of the image, in that order; at least one."""
    makers = _makers(table, image, redaction)
    return pa.table({name: makers[name]() for name in columns})


def records_table(records: Records, message: str, redaction: Redaction) -> pa.Table:
    """Every record of a message that counts, with offset, epoch and time in front."""
    rows, columns = records.columns(message)
    frames = records.frames_at(rows)
    shown = message_columns(message, columns, redaction)
    return pa.table(
        {
            "offset": pa.array(frames.offset[rows]),
            "epoch": pa.array(frames.epochs(rows)),
            "time": times(frames.timestamps(rows)),
            **shown,
        }
    )


def message_columns(message: str, columns: Columns, redaction: Redaction) -> dict[str, pa.Array]:
    """The fields of a message's records, secrets redacted."""
    shown = hide_fields(message, columns_to_arrow(columns), redaction)
    if message == "ConfigRecord" and "value" in shown:
        keys = columns.span("name").texts()
        kinds = map(resource_type_name, columns.fixed("resource_type").tolist())
        hidden = [redaction.hides_config(kind, key) for kind, key in zip(kinds, keys, strict=True)]
        shown["value"] = _hide(shown["value"], hidden)
    return shown


def unknown_table(records: Records, redaction: Redaction) -> pa.Table:
    """Records that no definition describes; ``raw`` tells of their values or has them."""
    frames, rows = records.frames, records.unknown_rows()
    api_keys = frames.api_key[rows].tolist()
    raws = []
    for row, key in zip(rows.tolist(), api_keys, strict=True):
        spec = records.registry.metadata.get(key)
        name, raw = None if spec is None else spec.name, records.raw(row)
        if redaction.hides_raw(name, None):
            raw = hidden_bytes(name, raw, records.batch_position(row)).encode()
        raws.append(raw)
    return pa.table(
        {
            "offset": pa.array(frames.offset[rows]),
            "epoch": pa.array(frames.epochs(rows)),
            "time": times(frames.timestamps(rows)),
            "api_key": pa.array(api_keys, type=pa.int32()),
            "version": pa.array(frames.version[rows].astype(np.int32)),
            "raw": pa.array(raws, type=pa.binary()),
        }
    )


def _where(records: Records, prefix: str, rows_of: Callable[[], I64]) -> Makers:
    rows = cache(rows_of)

    @cache
    def offsets() -> tuple[I64, AnyArray]:
        offset, known = records.offsets(rows())
        return offset, ~known

    @cache
    def frames() -> Frames:
        return records.frames_at(rows())

    return {
        f"{prefix}_offset": lambda: pa.array(offsets()[0], mask=offsets()[1]),
        f"{prefix}_epoch": lambda: pa.array(frames().epochs(rows()), mask=offsets()[1]),
        f"{prefix}_time": lambda: times(frames().timestamps(rows()), offsets()[1]),
    }


def place_columns(
    frames: Frames, files: Sequence[LogFile], rows: I64, *, with_nulls: bool = False
) -> Makers:
    """Where records stand: file, position of the batch, offset, epoch and timestamp.

    Args:
        frames: The frames of the files.
        files: The files.
        rows: int64[n]: the records.
        with_nulls: Whether an epoch or a timestamp below 0 is null.
    """
    of_file = frames.batches.file[frames.batch[rows]].astype(np.int64)

    def positions() -> pa.Array:
        starts = np.array([file.start for file in files], dtype=np.int64)
        return pa.array(frames.batches.pos[frames.batch[rows]] - starts[of_file])

    def known(values: AnyArray) -> pa.Array:
        return pa.array(values, mask=values < 0 if with_nulls else None)

    names = pa.array([file.name for file in files], pa.string())
    return {
        "file": lambda: names.take(pa.array(of_file)),
        "pos": positions,
        "offset": lambda: pa.array(frames.offset[rows]),
        "epoch": lambda: known(frames.epochs(rows)),
        "timestamp": lambda: known(frames.timestamps(rows)).cast(_TIME),
    }


def fitting_batch(arrays: Iterable[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Columns as a batch; those of the schema's types are taken as they are."""
    # An array too long for offsets of four bytes does not fit a block.
    fitting = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(arrays, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(fitting, schema=schema)


def times(timestamps_ms: I64, mask: AnyArray | None = None) -> pa.Array:
    """Times, null where the mask says so."""
    return pa.array(timestamps_ms, mask=mask).cast(_TIME)


def hide_fields(
    message: str, columns: dict[str, pa.Array], redaction: Redaction
) -> dict[str, pa.Array]:
    """Replace fields that are secret in every record of a type (see `Redaction`)."""
    secret = {snake_case(name[0].upper() + name[1:]) for name in row_secret_fields(message)}
    if redaction.show_secrets:
        return columns
    return {
        name: _hide(array, [True] * len(array)) if name in secret else array
        for name, array in columns.items()
    }


def _hide(array: pa.Array, hidden: list[bool]) -> pa.Array:
    """Text in place of hidden values; null stays null, and numbers become null."""
    if not any(hidden):
        return array
    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        stand_in: str | bytes = REDACTED if pa.types.is_string(array.type) else REDACTED.encode()
        values = array.to_pylist()
        shown = [
            stand_in if h and v is not None else v for v, h in zip(values, hidden, strict=True)
        ]
        return pa.array(shown, type=array.type)
    return pa.nulls(len(array), type=array.type)
