"""Which implementation decodes records to columns: the kernel's or numpy's.

The one place in this layer that knows. Both give the same columns and the same verdict on a record.
"""

from __future__ import annotations

from collections.abc import Collection

from metashell.kernel.load import library
from metashell.schema import columnar
from metashell.schema.arena import I64, Arena
from metashell.schema.columns import Columns
from metashell.schema.model import MessageSpec


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


def is_quick() -> bool:
    """Whether records are decoded in less time than their columns take to be written."""
    return library() is not None
