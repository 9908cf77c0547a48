"""Which partitions' texts may hold a literal, told without writing the texts.

A partition's text (`metashell.image.texts`) is made of names of fields, numbers, ids of directories
and what stands between them. What a literal has of neither is in no text; where it names a number
or a part of an id, only the partitions with that number or id can hold it.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.image.fold import distinct
from metashell.image.partitions import Partitions
from metashell.parts.partition_fields import KAFKA_NAMES, RECOVERY_STATES
from metashell.schema.arena import Bools, rows_with
from metashell.schema.arrow import fixed_binary_array, number_array, uuid_array
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
"""What stands between words, or holds what does."""


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
    """Those with the numbers that a literal names; None where it names none."""
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
    """Those with a directory whose id holds a word, which is in lower case."""
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
