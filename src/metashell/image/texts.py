"""Partitions as Kafka prints them, built for thousands at once from columns.

Source: org.apache.kafka.metadata.PartitionRegistration.toString.
"""

from __future__ import annotations

import base64
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.image.partitions import Partitions
from metashell.schema.arena import I64, AnyArray
from metashell.schema.columns import SpanColumn
from metashell.schema.uuids import MIGRATING, TEXT_LENGTH, uuid_text

_LIST_FIELDS: Final = (
    ("isr", "isr"),
    ("removingReplicas", "removing_replicas"),
    ("addingReplicas", "adding_replicas"),
    ("elr", "elr"),
    ("lastKnownElr", "last_known_elr"),
)
_NUMBER_FIELDS: Final = (("leaderEpoch", "leader_epoch"), ("partitionEpoch", "partition_epoch"))
_RECOVERY_STATES: Final = ("RECOVERED", "RECOVERING")


def partition_texts(partitions: Partitions, rows: I64) -> pa.LargeStringArray:
    """The text of each of some partitions, a line feed behind it.

    Args:
        partitions: The partitions.
        rows: int64[n], which.
    """
    replicas = partitions.list_column("replicas").take(rows)
    pieces: list[pa.Array | pa.Scalar] = [
        _plain("PartitionRegistration(replicas=["),
        _numbers(replicas),
        _plain("], directories=["),
        _directories(partitions, replicas, rows),
    ]
    for name, column in _LIST_FIELDS:
        pieces += [_plain(f"], {name}=["), _numbers(partitions.list_column(column).take(rows))]
    pieces += [_plain("], leader="), _strings(partitions.leader[rows])]
    states = pa.array(_RECOVERY_STATES, pa.large_string())
    recovery = states.take(pa.array(partitions.leader_recovery_state[rows].astype(np.int8)))
    pieces += [_plain(", leaderRecoveryState="), recovery]
    for name, column in _NUMBER_FIELDS:
        pieces += [_plain(f", {name}="), _strings(getattr(partitions, column)[rows])]
    joined: pa.LargeStringArray = pc.binary_join_element_wise(
        *pieces, _plain(")\n"), pa.scalar("", pa.large_string())
    )
    return joined


def _plain(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _strings(values: AnyArray) -> pa.LargeStringArray:
    return pa.array(np.ascontiguousarray(values)).cast(pa.large_string())


def _numbers(column: SpanColumn) -> pa.LargeStringArray:
    """The elements of each list, with commas between them."""
    values, bounds = column.gather()
    if not len(values):
        return pa.repeat(pa.scalar("", pa.large_string()), len(column.counts))
    return _joined(_strings(values), bounds)


def _joined(values: pa.LargeStringArray, bounds: I64) -> pa.LargeStringArray:
    lists = pa.LargeListArray.from_arrays(pa.array(np.ascontiguousarray(bounds)), values)
    return pc.binary_join(lists, _plain(", "))


def _directories(partitions: Partitions, replicas: SpanColumn, rows: I64) -> pa.LargeStringArray:
    """The texts of each partition's directory ids; MIGRATING for each replica of the default."""
    column = partitions.list_column("directories").take(rows)
    default = partitions.directories_default[rows]
    column.counts = np.where(default, 0, column.counts)
    ids, bounds = column.gather()
    if not default.any():
        return _joined(_uuids(ids), bounds)
    sizes = np.where(default, np.maximum(replicas.counts, 0), np.diff(bounds))
    filled = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(sizes, out=filled[1:])
    # The ids that are known, and behind them the one for all others.
    at = np.full(int(filled[-1]), len(ids), dtype=np.int64)
    at[np.repeat(~default, sizes)] = np.arange(len(ids), dtype=np.int64)
    known = pa.concat_arrays([_uuids(ids), pa.array([uuid_text(MIGRATING)], pa.large_string())])
    return _joined(known.take(pa.array(at)), filled)


def _uuids(ids: AnyArray) -> pa.LargeStringArray:
    """The text of each of ``V16[n]``."""
    n = len(ids)
    padded = np.zeros((n, 18), dtype=np.uint8)
    padded[:, :16] = np.ascontiguousarray(ids).view(np.uint8).reshape(n, 16)
    encoded = np.frombuffer(base64.urlsafe_b64encode(padded.tobytes()), dtype=np.uint8)
    data = np.ascontiguousarray(encoded.reshape(n, 24)[:, :TEXT_LENGTH])
    bounds = np.arange(n + 1, dtype=np.int64) * TEXT_LENGTH
    return pa.LargeStringArray.from_buffers(n, pa.py_buffer(bounds), pa.py_buffer(data))
