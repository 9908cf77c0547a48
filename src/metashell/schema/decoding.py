"""Which implementation decodes records to columns: the kernel's or numpy's.

The one place in this layer that knows. Both give the same columns and the same verdict on a record.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.kernel.decode import BAD_KEY, BAD_VALUE, OTHER, KeyedSpans
from metashell.kernel.library import library
from metashell.schema import columnar
from metashell.schema.arena import I64, Arena
from metashell.schema.columns import Columns
from metashell.schema.model import MessageSpec

_SEEN: Final = 64
"""Records whose versions are looked at to find the common one."""


def decode(
    arena: Arena,
    spec: MessageSpec,
    version: int,
    starts: I64,
    stops: I64,
    fields: Collection[str] | None = None,
    *,
    trailing: bool = False,
) -> Columns:
    """Decode the same message version at many places; see `metashell.schema.columnar.decode`."""
    found = library()
    if found is not None:
        from metashell.schema import native

        columns = native.decode(found, arena, spec, version, starts, stops, fields, trailing)
        if columns is not None:
            return columns
    return columnar.decode(arena, spec, version, starts, stops, fields, trailing=trailing)


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rows of one type by what is wrong with them; int64, in the order in which they were given."""

    bad_keys: I64
    """Rows whose keys do not decode."""
    bad_values: I64
    """Rows whose values do not decode, though their keys do."""
    left: I64
    """Rows that were not looked at. The caller has to decode them."""


def check_keyed(spans: KeyedSpans, key: MessageSpec, value: MessageSpec, rows: I64) -> CheckedRows:
    """Check which keyed records of a type decode, as far as that is quickly told.

    The kernel checks tombstones, and values of the version that most of them have.

    Args:
        spans: Where keys and values of the log lie.
        key: The definition of their keys, which begin with a type.
        value: The definition of their values, which begin with a version.
        rows: int64[n]: the records.
    """
    none, found, version = rows[:0], library(), _common_version(spans, value, rows)
    if found is None or version is None:
        return CheckedRows(none, none, rows)
    from metashell.schema import native

    messages = (key, key.versions.low), (value, version)
    verdicts = native.check_keyed(found, *messages, spans, rows)
    if verdicts is None:
        return CheckedRows(none, none, rows)
    if not verdicts.any():
        return CheckedRows(none, none, none)
    return CheckedRows(*(rows[verdicts == kind] for kind in (BAD_KEY, BAD_VALUE, OTHER)))


def _common_version(spans: KeyedSpans, value: MessageSpec, rows: I64) -> int | None:
    """The version that most values of records may have; None where none of some is known."""
    some = spans.value_version[rows[:: max(len(rows) // _SEEN, 1)]]
    known = some[(some >= value.versions.low) & (some <= value.versions.high)]
    return int(np.bincount(known).argmax()) if known.size else None


def is_quick() -> bool:
    """Whether records are decoded in less time than their columns take to be written."""
    return library() is not None
