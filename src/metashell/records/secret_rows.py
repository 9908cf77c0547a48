"""Which records of a message that decodes hold a secret, or bytes that its definition lacks.

Owns the search by columns; `metashell.redact` decides about each value.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.log.frames import Frames
from metashell.redact import Redaction
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.model import MessageSpec, StructPlan, message_plan
from metashell.schema.resource_types import resource_type_name
from metashell.schema.varint import read_uvarint

_TAGS_MAX: Final = 16
"""A record of more tagged fields is not looked at here."""


def secret_configs(columns: Columns) -> I64:
    """int64: the configs among ConfigRecords whose values are secret, if they have one."""
    kinds = map(resource_type_name, columns.fixed("resource_type").tolist())
    keys = columns.span("name").texts()
    hide = Redaction(show_secrets=False).hides_config
    return np.flatnonzero([hide(kind, key) for kind, key in zip(kinds, keys, strict=True)])


def may_have_unknown_tags(
    frames: Frames, rows: I64, spec: MessageSpec, version: int, columns: Columns
) -> Bools:
    """bool[n]: where a tagged field is, or may be, that the definition lacks.

    Args:
        frames: Where the records lie.
        rows: int64[n], records that decode.
        spec: Their definition.
        version: The version of all of them.
        columns: Their fields.
    """
    plan = message_plan(spec, version)
    at = _tags_at(frames, rows, plan, columns)
    if at is None or not plan.has_tags or any(tag.struct for tag in plan.tags.values()):
        return np.full(len(rows), plan.has_tags)
    known, end = list(plan.tags), frames.stop[rows]
    n_left, pos = read_uvarint(frames.arena, at, end)
    found = np.zeros(len(rows), dtype=np.bool_)
    left = np.flatnonzero(n_left)
    for _ in range(_TAGS_MAX):
        if not left.size:
            break
        tag, behind = read_uvarint(frames.arena, pos[left], end[left])
        size, behind = read_uvarint(frames.arena, behind, end[left])
        found[left] = ~np.isin(tag, known)
        pos[left] = behind + size
        n_left[left] -= 1
        left = left[(n_left[left] > 0) & ~found[left]]
    found[left] = True
    return found


def _tags_at(frames: Frames, rows: I64, plan: StructPlan, columns: Columns) -> I64 | None:
    """int64[n]: where the number of tags is; None behind structs, which have tags of their own."""
    behind = 0
    for field in reversed(plan.fields):
        column = columns.fields[field.name]
        if field.size and not field.spec.is_array:
            behind += field.size
        elif isinstance(column, SpanColumn):
            sizes = np.maximum(column.counts, 0) * np.dtype(column.dtype).itemsize
            ends: I64 = column.starts + sizes + behind
            return ends
        else:
            return None
    begins: I64 = frames.body[rows] + behind
    return begins
