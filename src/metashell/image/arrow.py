"""The image's parts, and records by type, as Arrow tables.

Each table of the image has behind its own columns ``created_offset``, ``created_epoch``,
``created_time`` and the same of ``changed``: of the records that made and last changed the row.
They are null for what the checkpoint says, which happened at or before its last offset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from metashell.image.configs import resource_type_name
from metashell.image.image import Image
from metashell.image.keyed import Part
from metashell.image.partitions import Partitions
from metashell.image.records import Records
from metashell.image.security import SCRAM_MECHANISMS
from metashell.log.frames import Frames
from metashell.redact import REDACTED, Redaction, record_secret_fields
from metashell.schema.arena import I64, AnyArray
from metashell.schema.arrow import (
    columns_to_arrow,
    fixed_array,
    list_array,
    string_array,
    to_arrow,
    uuid_array,
)
from metashell.schema.columns import Columns
from metashell.schema.model import snake_case

Makers: TypeAlias = dict[str, Callable[[], pa.Array]]
"""What makes each column of a table."""


def _topics(image: Image) -> Makers:
    topics, layout = image.topics, image.partition_layout
    return {
        "topic_id": lambda: uuid_array(topics.ids),
        "name": lambda: string_array(topics.raw_names),
        "partitions": lambda: fixed_array(np.diff(layout.bounds).astype(np.int32)),
        **_where(image.records, "created", lambda: topics.created),
        **_where(image.records, "changed", lambda: topics.changed),
    }


def _partitions(image: Image) -> Makers:
    partitions, topics = image.partitions, image.topics
    names = ("replicas", "isr", "removing_replicas", "adding_replicas", "elr", "last_known_elr")
    return {
        "topic_id": lambda: uuid_array(topics.ids[partitions.topic]),
        "topic": lambda: string_array(topics.raw_names.take(partitions.topic)),
        "partition_id": lambda: fixed_array(partitions.partition),
        **{name: partial(_list, partitions, name) for name in names},
        "directories": lambda: _directories(image),
        "leader": lambda: fixed_array(partitions.leader),
        "leader_recovery_state": lambda: fixed_array(partitions.leader_recovery_state),
        "leader_epoch": lambda: fixed_array(partitions.leader_epoch),
        "partition_epoch": lambda: fixed_array(partitions.partition_epoch),
        **_where(image.records, "created", lambda: partitions.created),
        **_where(image.records, "changed", lambda: partitions.changed),
    }


def _directories(image: Image) -> pa.Array:
    """Directory ids; MIGRATING for each replica where none are known."""
    partitions = image.partitions
    stored, replicas = partitions.list_column("directories"), partitions.list_column("replicas")
    values, bounds = stored.gather()
    default = partitions.directories_default
    if not default.any():
        return list_array(uuid_array(values), bounds, None)
    counts = np.where(default, replicas.counts, stored.counts)
    list_offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=list_offsets[1:])
    out = np.zeros(int(list_offsets[-1]), dtype="V16")
    kept = np.repeat(~default, counts)
    out[kept] = values[np.repeat(~default, np.diff(bounds))]
    return list_array(uuid_array(out), list_offsets, None)


def _list(partitions: Partitions, name: str) -> pa.Array:
    values, list_offsets = partitions.list_column(name).gather()
    return list_array(fixed_array(values), list_offsets, None)


def _brokers(image: Image, _: Redaction) -> pa.Table:
    brokers = image.brokers
    columns = columns_to_arrow(brokers.registration)
    spec = {s.column_name: s for s in brokers.registration.specs}
    columns["fenced"] = fixed_array(brokers.fenced)
    columns["in_controlled_shutdown"] = fixed_array(brokers.in_controlled_shutdown)
    columns["log_dirs"] = to_arrow(spec["log_dirs"], brokers.log_dirs)
    columns["cordoned_log_dirs"] = to_arrow(spec["cordoned_log_dirs"], brokers.cordoned_log_dirs)
    return _table(image, columns, brokers.created, brokers.changed)


def _features(image: Image, _: Redaction) -> pa.Table:
    return _part_table(image, image.features)


def _controllers(image: Image, _: Redaction) -> pa.Table:
    return _part_table(image, image.controllers)


def _acls(image: Image, _: Redaction) -> pa.Table:
    return _part_table(image, image.acls)


def _configs(image: Image, redaction: Redaction) -> pa.Table:
    part = image.configs
    columns = columns_to_arrow(part.columns)
    kinds = [resource_type_name(code) for code in part.columns.fixed("resource_type").tolist()]
    columns["resource_type"] = pa.array(kinds, type=pa.string())
    keys = part.columns.span("name").texts()
    hidden = [redaction.hides_config(kind, key) for kind, key in zip(kinds, keys, strict=True)]
    columns["value"] = _hide(columns["value"], hidden)
    return _table(image, columns, part.created, part.changed)


def _client_quotas(image: Image, _: Redaction) -> pa.Table:
    part = image.quotas
    columns = columns_to_arrow(part.columns)
    del columns["remove"]
    return _table(image, columns, part.created, part.changed)


def _producer_ids(image: Image, _: Redaction) -> pa.Table:
    found = image.producer_ids
    values, rows = ([found[0]], [found[1]]) if found else ([], [])
    at = np.array(rows, dtype=np.int64)
    return _table(image, {"next_producer_id": pa.array(values, type=pa.int64())}, at, at)


def _scram_credentials(image: Image, redaction: Redaction) -> pa.Table:
    part = image.scram
    columns = columns_to_arrow(part.columns)
    codes = part.columns.fixed("mechanism").tolist()
    names = [SCRAM_MECHANISMS.get(code, str(code)) for code in codes]
    columns["mechanism"] = pa.array(names, type=pa.string())
    return _table(
        image,
        _hide_fields("UserScramCredentialRecord", columns, redaction),
        part.created,
        part.changed,
    )


def _delegation_tokens(image: Image, redaction: Redaction) -> pa.Table:
    part = image.tokens
    columns = columns_to_arrow(part.columns)
    return _table(
        image, _hide_fields("DelegationTokenRecord", columns, redaction), part.created, part.changed
    )


def _voters(image: Image, _: Redaction) -> pa.Table:
    quorum = image.quorum
    if quorum.voters is None or quorum.voters_row is None:
        ids = list(quorum.leaders[-1].voters) if quorum.leaders else []
        return pa.table({"voter_id": pa.array(ids, type=pa.int32())})
    rows = np.full(quorum.voters.n, quorum.voters_row, dtype=np.int64)
    return _table(image, columns_to_arrow(quorum.voters), rows, rows)


def _whole(makers: Callable[[Image], Makers]) -> Callable[[Image, Redaction], pa.Table]:
    return lambda image, _: pa.table({name: make() for name, make in makers(image).items()})


_BY_COLUMN: Final[dict[str, Callable[[Image], Makers]]] = {
    "partitions": _partitions,
    "topics": _topics,
}
"""Large tables, of which few columns are much cheaper than all."""

TABLES: Final[dict[str, Callable[[Image, Redaction], pa.Table]]] = {
    "acls": _acls,
    "brokers": _brokers,
    "client_quotas": _client_quotas,
    "configs": _configs,
    "controllers": _controllers,
    "delegation_tokens": _delegation_tokens,
    "features": _features,
    "partitions": _whole(_partitions),
    "producer_ids": _producer_ids,
    "scram_credentials": _scram_credentials,
    "topics": _whole(_topics),
    "voters": _voters,
}
"""The image's tables by name."""


def some_columns(
    table: str, image: Image, redaction: Redaction, columns: Sequence[str]
) -> pa.Table:
    """Some columns of a table of the image, in that order; at least one."""
    makers = _BY_COLUMN.get(table)
    if makers is None:
        return TABLES[table](image, redaction).select(list(columns))
    of_table = makers(image)
    return pa.table({name: of_table[name]() for name in columns})


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
    shown = _hide_fields(message, columns_to_arrow(columns), redaction)
    if message == "ConfigRecord" and "value" in shown:
        keys = columns.span("name").texts()
        kinds = map(resource_type_name, columns.fixed("resource_type").tolist())
        hidden = [redaction.hides_config(kind, key) for kind, key in zip(kinds, keys, strict=True)]
        shown["value"] = _hide(shown["value"], hidden)
    return shown


def unknown_table(records: Records, redaction: Redaction) -> pa.Table:
    """Records that no definition describes, their values as bytes."""
    frames, rows = records.frames, records.unknown_rows()
    api_keys = frames.api_key[rows].tolist()
    raws = []
    for row, key in zip(rows.tolist(), api_keys, strict=True):
        spec = records.registry.metadata.get(key)
        hidden = spec is not None and redaction.hides_raw(spec.name, None)
        raws.append(REDACTED.encode() if hidden else records.raw(row))
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


def _part_table(image: Image, part: Part) -> pa.Table:
    return _table(image, columns_to_arrow(part.columns), part.created, part.changed)


def _table(image: Image, columns: dict[str, Any], created: I64, changed: I64) -> pa.Table:
    where = {
        **_where(image.records, "created", lambda: created),
        **_where(image.records, "changed", lambda: changed),
    }
    return pa.table({**columns, **{name: make() for name, make in where.items()}})


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


def times(timestamps_ms: I64, mask: AnyArray | None = None) -> pa.Array:
    """Times, null where the mask says so."""
    return pa.array(timestamps_ms, mask=mask).cast(pa.timestamp("ms", tz="UTC"))


def _hide_fields(
    message: str, columns: dict[str, pa.Array], redaction: Redaction
) -> dict[str, pa.Array]:
    """Replace fields that are secret in every record of a type (see `Redaction`)."""
    secret = {snake_case(name[0].upper() + name[1:]) for name in record_secret_fields(message, {})}
    if redaction.show_secrets or message == "ConfigRecord":
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
