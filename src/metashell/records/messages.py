"""Records decoded by what they are: each type and version by itself.

A message of a metadata log is the value of a record without a key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, Union

from metashell.dataclass import dataclass
from metashell.log.frames import CONTROL_KEY
from metashell.records.records import Records
from metashell.schema.arena import I64
from metashell.schema.columns import Columns
from metashell.schema.model import MessageSpec

if TYPE_CHECKING:
    from metashell.records.keyed_messages import DumpedValues
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


def metadata_messages(
    records: Records, rows: I64, key: int, version: int, is_wanted: Callable[[MessageSpec], bool]
) -> tuple[I64, DecodedMessages] | None:
    """The rows whose records, all of one type and version, decode, and their messages."""
    spec = records.spec_of_key(key)
    if spec is None or version not in spec.versions or not is_wanted(spec):
        return None
    rows, columns = records.decode(spec.name, rows)
    name = records.type_name(key) or ""
    return rows, DecodedMessages(name, rows, spec, version, columns, key <= CONTROL_KEY)
