"""Partitions as Kafka prints them, and as JSON, built for thousands at once from columns.

Source: org.apache.kafka.metadata.PartitionRegistration.toString.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.image.partitions import Partitions
from metashell.parts.partition_fields import (
    DIRECTORIES,
    KAFKA_NAMES,
    LISTS,
    RECOVERY_STATE,
    RECOVERY_STATES,
)
from metashell.schema.arena import I64, list_offsets_of
from metashell.schema.arrow import number_array, uuid_array
from metashell.schema.arrow_texts import Piece, number_texts, same_text, side_by_side
from metashell.schema.columns import SpanColumn
from metashell.schema.uuids import MIGRATING, uuid_text


@dataclass(frozen=True, slots=True)
class Form:
    """How a partition is written: what stands at its ends, around names and around texts."""

    begin: str
    before_name: str
    after_name: str
    quote: str
    end: str


KAFKA: Final = Form("PartitionRegistration(", "", "=", "", ")\n")
JSON: Final = Form("{", '"', '": ', '"', "}\n")


def partition_texts(partitions: Partitions, rows: I64, form: Form = KAFKA) -> pa.LargeStringArray:
    """The text of each of some partitions, a line feed behind it.

    Args:
        partitions: The partitions.
        rows: int64[n], which.
        form: How they are written.
    """
    replicas = partitions.list_column("replicas").take(rows)
    states = pa.array([f"{form.quote}{s}{form.quote}" for s in RECOVERY_STATES], pa.large_string())
    recovery = partitions.leader_recovery_state[rows].astype(np.int8)

    def pieces_of(name: str) -> tuple[Piece, ...]:
        if name == DIRECTORIES:
            return _directories(partitions, replicas, rows, form.quote)
        if name in LISTS:
            return _numbers(partitions.list_column(name).take(rows))
        if name == RECOVERY_STATE:
            return (states.take(number_array(recovery)),)
        return (number_texts(getattr(partitions, name)[rows]),)

    pieces: list[Piece] = [form.begin]
    for i, (name, kafka) in enumerate(KAFKA_NAMES.items()):
        before = ", " if i else ""
        pieces += [f"{before}{form.before_name}{kafka}{form.after_name}", *pieces_of(name)]
    return side_by_side([*pieces, form.end])


def _numbers(column: SpanColumn) -> tuple[Piece, ...]:
    """Each list, with commas between its elements."""
    values, bounds = column.gather()
    return ("[", _joined(number_texts(values), bounds), "]") if len(values) else ("[]",)


def _joined(values: pa.LargeStringArray, bounds: I64, between: str = ", ") -> pa.LargeStringArray:
    lists = pa.LargeListArray.from_arrays(number_array(bounds), values)
    return pc.binary_join(lists, same_text(between))


def _directories(
    partitions: Partitions, replicas: SpanColumn, rows: I64, quote: str
) -> tuple[Piece, ...]:
    """The texts of each partition's directory ids; MIGRATING for each replica of the default."""
    column = partitions.list_column("directories").take(rows)
    default = partitions.directories_default[rows]
    column.counts = np.where(default, 0, column.counts)
    ids, bounds = column.gather()
    texts = uuid_array(ids).cast(pa.large_string())
    if default.any():
        sizes = np.where(default, np.maximum(replicas.counts, 0), np.diff(bounds))
        filled = list_offsets_of(sizes)
        # The ids that are known, and behind them the one for all others.
        at = np.full(int(filled[-1]), len(ids), dtype=np.int64)
        at[np.repeat(~default, sizes)] = np.arange(len(ids), dtype=np.int64)
        known = pa.concat_arrays([texts, pa.array([uuid_text(MIGRATING)], pa.large_string())])
        texts, bounds = known.take(number_array(at)), filled
    if quote and len(texts):
        texts = side_by_side([quote, texts, quote])
    return "[", _joined(texts, bounds), "]"
