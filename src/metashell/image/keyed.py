"""Parts whose records write a key whole, or remove it: most of the image.

Which record makes a key, which removes it, and which fields are the key is all that tells these
parts apart: controllers, ACLs, SCRAM credentials, delegation tokens, features, configs.

Source: the XDelta classes of org.apache.kafka.image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metashell.image.fold import group_keys, survivors
from metashell.image.records import Records
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns, FixedColumn, SpanColumn


@dataclass(slots=True)
class Part:
    """What exists of one kind: k things, in the order of their creation."""

    columns: Columns
    """The record that last wrote each."""
    created: I64
    """int64[k]: row of the record that made each."""
    changed: I64
    """int64[k]: row of the record that last wrote each."""

    def __len__(self) -> int:
        return self.columns.n

    def take(self, order: AnyArray) -> Part:
        """The things given, in that order."""
        return Part(self.columns.take(order), self.created[order], self.changed[order])


def fold_part(
    records: Records,
    writes: str,
    removes: str,
    key: Sequence[str],
    *,
    sound: Callable[[I64, Columns], Bools] | None = None,
    unknown_removal: str | None = None,
) -> Part:
    """Fold a part with one record type that writes and one that removes.

    Args:
        records: The records.
        writes: Name of the message that writes a key.
        removes: Name of the message that removes it; it has the key's fields under the same names.
        key: Column names of the key.
        sound: Tells which writing records apply, having reported the others.
        unknown_removal: The fault where a removed key did not exist; None where that is fine.
    """
    rows, columns = records.columns(writes)
    if sound is not None:
        applies = sound(rows, columns)
        if not applies.all():
            keep = np.flatnonzero(applies)
            rows, columns = rows[keep], columns.take(keep)
    removed_rows, removed = records.columns(removes)
    n = len(rows)
    all_rows = np.concatenate([rows, removed_rows])
    parts = [_joined(columns, removed, name) for name in key]
    groups = group_keys(parts, len(all_rows))
    is_removal = np.zeros(len(all_rows), dtype=np.bool_)
    is_removal[n:] = True
    if unknown_removal is not None:
        _report_unknown(records, groups, all_rows, is_removal, unknown_removal)
    alive = survivors(groups, all_rows, is_removal)
    return Part(columns.take(alive.last), all_rows[alive.created], all_rows[alive.last])


def fold_nullable(
    records: Records, rows: I64, columns: Columns, key: Sequence[str], removes: Bools
) -> Part:
    """Fold a part whose one record type removes its key by a null or zero value."""
    parts = [_part(columns, name) for name in key]
    alive = survivors(group_keys(parts, len(rows)), rows, removes)
    return Part(columns.take(alive.last), rows[alive.created], rows[alive.last])


def _part(columns: Columns, name: str) -> AnyArray | SpanColumn:
    column = columns.fields[name]
    assert isinstance(column, FixedColumn | SpanColumn)
    return column.values if isinstance(column, FixedColumn) else column


def _joined(left: Columns, right: Columns, name: str) -> AnyArray | SpanColumn:
    a, b = _part(left, name), _part(right, name)
    if isinstance(a, SpanColumn) and isinstance(b, SpanColumn):
        return join_spans(a, b)
    return np.concatenate([a, b])


def join_spans(a: SpanColumn, b: SpanColumn) -> SpanColumn:
    """Two string columns of the same arena, one after the other."""
    return SpanColumn(
        a.arena, a.dtype, np.concatenate([a.starts, b.starts]), np.concatenate([a.counts, b.counts])
    )


def _report_unknown(
    records: Records, groups: I64, rows: I64, is_removal: Bools, reason: str
) -> None:
    """A removal is a fault unless the event before it in its group wrote the key."""
    order = np.lexsort((rows, groups))
    same = np.zeros(len(order), dtype=np.bool_)
    same[1:] = groups[order][1:] == groups[order][:-1]
    wrote = np.zeros(len(order), dtype=np.bool_)
    wrote[1:] = ~is_removal[order][:-1]
    for at in np.flatnonzero(is_removal[order] & ~(same & wrote)).tolist():
        records.fault(int(rows[order[at]]), reason)
