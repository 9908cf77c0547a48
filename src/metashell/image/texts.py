"""Partitions as Kafka prints them, and as JSON, built for thousands at once from columns.

A text is made of names of fields, numbers, ids of directories and separators. So `rows_holding`
can tell which texts may hold a literal before any text is written.

Source: org.apache.kafka.metadata.PartitionRegistration.toString.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.image.fold import distinct
from metashell.image.partitions import Partitions
from metashell.parts.partition_fields import (
    DIRECTORIES,
    KAFKA_NAMES,
    LISTS,
    RECOVERY_STATE,
    RECOVERY_STATES,
)
from metashell.schema.arena import I64, Bools, list_offsets_of, rows_with
from metashell.schema.arrow import fixed_binary_array, number_array, uuid_array
from metashell.schema.arrow_texts import Piece, number_texts, same_text, side_by_side
from metashell.schema.columns import SpanColumn
from metashell.schema.uuids import MIGRATING, TEXT_LENGTH, uuid_text

_PINNED: Final = tuple(
    (re.compile(rf"(?<![a-z]){name}=(-?[0-9]*)(.?)", re.IGNORECASE), column)
    for name, column in (
        ("leader", "leader"),
        ("leaderEpoch", "leader_epoch"),
        ("partitionEpoch", "partition_epoch"),
    )
)
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER: Final = re.compile(r"-?[0-9]*")
_WORDS: Final = "\n".join(
    ("PartitionRegistration", *KAFKA_NAMES.values(), *RECOVERY_STATES)
).lower()
_BETWEEN: Final = ("(", "=[], ", ")")
"""The texts between words; a gap in a literal must be a piece of one of them."""


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


# Which texts may hold a literal.


def rows_holding(partitions: Partitions, literal: str) -> Bools | None:
    """bool[k]: partitions whose text may hold a literal, in whatever case.

    None where that may be any of them.
    """
    if not all(any(gap in b for b in _BETWEEN) for gap in _WORD.split(literal)):
        return np.zeros(len(partitions), dtype=np.bool_)
    found = _by_numbers(partitions, literal)
    for word in sorted(set(_WORD.findall(literal)), key=len, reverse=True):
        if found is not None and not found.any():
            break
        if word.lower() not in _WORDS and not _NUMBER.fullmatch(word):
            held = _by_directory(partitions, word.lower())
            found = held if found is None else found & held
    return found


def _by_numbers(partitions: Partitions, literal: str) -> Bools | None:
    """The partitions with the numbers that a literal names; None where it names none."""
    found: Bools | None = None
    for pattern, column in _PINNED:
        match = pattern.search(literal)
        if match is None:
            continue
        numbers = getattr(partitions, column)
        known = distinct(numbers)
        texts = number_array(known).cast(pa.string())
        # With a character behind it a number is whole.
        fits = pc.equal(texts, match[1]) if match[2] else pc.starts_with(texts, match[1])
        held = np.isin(numbers, known[fits.to_numpy(zero_copy_only=False)])
        found = held if found is None else found & held
    return found


def _by_directory(partitions: Partitions, word: str) -> Bools:
    """The partitions with a directory whose id contains a word, which is in lower case."""
    if len(word) > TEXT_LENGTH:
        return np.zeros(len(partitions), dtype=np.bool_)
    known = partitions.directory_ids
    held = pc.match_substring(pc.ascii_lower(uuid_array(known)), word)
    default = partitions.directories_default
    out = default if word in uuid_text(MIGRATING).lower() else np.zeros_like(default)
    if not pc.any(held).as_py():
        return out
    ids, bounds = partitions.list_column("directories").gather()
    wanted = pc.is_in(fixed_binary_array(ids), value_set=fixed_binary_array(known).filter(held))
    return out | rows_with(wanted.to_numpy(zero_copy_only=False), bounds)
