"""Records decoded by what they are: each type and version by itself.

A message of a metadata log is the value of a record without a key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.control import control_type_name
from metashell.log.frames import CONTROL_KEY
from metashell.records.records import Records
from metashell.schema.arena import I64
from metashell.schema.columns import Columns
from metashell.schema.model import MessageSpec

if TYPE_CHECKING:
    from metashell.records.dumped_values import DumpedValues
    from metashell.records.keyed_records import KeyedRecords
    from metashell.schema.coordinators import RecordType

AnyRecords: TypeAlias = Union[Records, "KeyedRecords"]


@dataclass(frozen=True, slots=True)
class DecodedMessages:
    """Messages of some rows that are of one type and version, and decode."""

    name: str
    """The name of their type in lines."""
    at: I64
    """int64[n], ascending: which of the rows."""
    spec: MessageSpec
    """The definition of their values."""
    version: int
    """The version of their values; `NO_NUMBER` for tombstones, whose values are null."""
    columns: Columns
    """The fields of their values."""
    is_control: bool = False
    type: RecordType | None = None
    """Their type, in a log with keys; None for markers."""
    key: Columns | None = None
    """The fields of their keys, where they have keys."""
    more: DumpedValues | None = None
    """Set where values say more than their fields do."""


def metadata_messages_of(
    records: Records, rows: I64, is_wanted: Callable[[MessageSpec], bool]
) -> Iterator[DecodedMessages]:
    """The messages of some rows of a metadata log; rows ascend."""
    frames = records.frames
    keys, versions = frames.api_key[rows].astype(np.int64), frames.version[rows]
    kinds, firsts, kind_of = np.unique(
        (keys << 32) + versions, return_index=True, return_inverse=True
    )
    for kind, first in enumerate(firsts.tolist()):
        key, version = int(keys[first]), int(versions[first])
        spec = records.spec_of_key(key)
        if spec is None or version not in spec.versions or not is_wanted(spec):
            continue
        at = np.arange(len(rows)) if len(kinds) == 1 else np.flatnonzero(kind_of == kind)
        good, columns = records.decode(spec.name, rows[at])
        if len(good) < len(at):
            at = np.searchsorted(rows, good)
        control = key <= CONTROL_KEY
        name = control_type_name(CONTROL_KEY - key) if control else spec.type_name
        yield DecodedMessages(name, at, spec, version, columns, control)
