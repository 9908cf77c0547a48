"""Overwrites parts of records' values before they are written to a disk or sent anywhere.

Owns the masks. A secret is overwritten, and so are bytes that no definition describes, but for the
parts that replaying and reporting need. A record that can't be decoded is replaced by the reason,
as nobody could find it out again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from metashell.log.frames import CONTROL_FRAME
from metashell.records.records import Records
from metashell.records.secret_rows import may_have_unknown_tags, secret_configs
from metashell.redact import CONFIG_RECORD, row_secret_fields, type_may_hold_secrets
from metashell.schema.arena import I32, I64, AnyArray
from metashell.schema.columns import SpanColumn
from metashell.schema.encode import encode_message
from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.scalar import decode_message, default_value, unknown_tags

UNREAD: Final = -1
"""In place of the bytes before a message: the value is the reason why there is no message."""

_BLANK: Final = ord("*")
_FEW_SPANS: Final = 4096
"""More are not overwritten one by one."""


class Mask:
    """Overwrites what must not be kept in the values gathered of some rows.

    Args:
        records: The records.
        rows: int64[k], those that are kept.
        heads: int32[k], bytes of each value before the message; changed in place.
        data: uint8, their values one behind the other; changed in place, or replaced.
        bounds: int64[k + 1], where each begins and ends in `data`; may be replaced.
    """

    def __init__(
        self, records: Records, rows: I64, heads: I32, data: AnyArray, bounds: I64
    ) -> None:
        self.records, self.rows, self.heads = records, rows, heads
        self.data, self.bounds = data, bounds

    def overwrite(self, checked: Collection[str] = ()) -> None:
        """Overwrite secrets and what is not understood.

        Args:
            checked: Messages of which every row was decoded already.
        """
        frames, rows = self.records.frames, self.rows
        told = frames.unread(rows)
        keys = frames.api_key[rows]
        sound = (frames.frame_version[rows] == 1) | (frames.frame_version[rows] == CONTROL_FRAME)
        known = np.zeros(len(rows), dtype=np.bool_)
        for key in np.unique(keys).tolist():
            spec = self.records.spec_of_key(key)
            if spec is None:
                continue
            versions = frames.version[rows]
            low, high = spec.versions.low, spec.versions.high
            of_key = (keys == key) & sound & (versions >= low) & (versions <= high)
            known |= of_key
            at = np.flatnonzero(of_key & ~told)
            if type_may_hold_secrets(spec.name):
                for version in np.unique(versions[at]).tolist():
                    self._message(spec, version, at[versions[at] == version])
            elif spec.name not in checked:
                self.records.decode(spec.name, rows[at], ())
        self._blank(np.flatnonzero(~known & ~told))
        bad = np.flatnonzero(known & ~told & np.isin(rows, self.records.undecodable))
        if bad.size:
            self._tell(bad)

    def _blank(self, at: I64) -> None:
        """Overwrite the messages of records that no definition describes."""
        starts = self.bounds[at] + np.maximum(self.heads[at], 0)
        self._fill(starts, self.bounds[at + 1] - starts, 0)

    def _tell(self, bad: I64) -> None:
        """Put the reason in the place of each record that can't be decoded."""
        reasons = {row: fault.reason for row, fault in self.records.faults_by_row()}
        self._replace(
            bad, [reasons.get(row, _NO_REASON).encode() for row in self.rows[bad].tolist()]
        )
        self.heads[bad] = UNREAD

    def _replace(self, rows: AnyArray, values: Sequence[bytes]) -> None:
        """Put other values in the place of some, ascending."""
        sizes = np.diff(self.bounds)
        sizes[rows] = list(map(len, values))
        pieces, at = [], 0
        for i, value in zip(rows.tolist(), values, strict=True):
            pieces += [self.data[at : self.bounds[i]], np.frombuffer(value, dtype=np.uint8)]
            at = int(self.bounds[i + 1])
        self.data = np.concatenate([*pieces, self.data[at:]])
        self.bounds = np.append(0, np.cumsum(sizes))

    def _message(self, spec: MessageSpec, version: int, at: I64) -> None:
        """Overwrite secrets in the records of a message that decode, each by as many bytes."""
        rows, columns = self.records.decode(spec.name, self.rows[at])
        good = at[np.isin(self.rows[at], rows)]
        if not good.size:
            return
        others: list[FieldSpec] = []
        for field in spec.fields:
            if field.json_name in row_secret_fields(spec.name):
                column = columns.fields[field.column_name]
                if isinstance(column, SpanColumn) and column.dtype == "u1":
                    self._span(good, column)
                else:
                    others.append(field)
        if spec.name == CONFIG_RECORD:
            secret = secret_configs(columns)
            self._span(good[secret], columns.span("value").take(secret))
        tagged = may_have_unknown_tags(self.records.frames, rows, spec, version, columns)
        for i in good[tagged].tolist():
            first = int(self.bounds[i] + self.heads[i])
            body = self.data[first : int(self.bounds[i + 1])]
            for start, stop in unknown_tags(spec, version, body.tobytes()):
                body[start:stop] = _BLANK
        if others:
            rows = good.tolist()
            self._replace(good, [self._without(row, spec, version, others) for row in rows])

    def _without(
        self, at: int, spec: MessageSpec, version: int, secret: Sequence[FieldSpec]
    ) -> bytes:
        """The value of a record whose secrets are no texts, with defaults in place of them."""
        value = self.data[self.bounds[at] : self.bounds[at + 1]].tobytes()
        head = int(self.heads[at])
        fields = decode_message(spec, version, value, head)
        fields.update((field.column_name, default_value(field)) for field in secret)
        return value[:head] + encode_message(spec, version, fields, leaves_out=True)

    def _span(self, at: I64, column: SpanColumn) -> None:
        values = self.records.frames.value_starts(self.rows[at])
        shift = self.bounds[:-1][at] - values
        self._fill(column.starts + shift, np.maximum(column.counts, 0), _BLANK)

    def _fill(self, starts: I64, counts: AnyArray, byte: int) -> None:
        """Overwrite spans, which are apart from each other."""
        some = np.flatnonzero(counts > 0)
        starts, stops = starts[some], starts[some] + counts[some]
        if len(some) <= _FEW_SPANS:
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                self.data[start:stop] = byte
            return
        edges = np.zeros(len(self.data) + 1, dtype=np.int8)
        edges[starts] += 1
        edges[stops] -= 1
        self.data[np.cumsum(edges[:-1], dtype=np.int8) > 0] = byte


_NO_REASON: Final = "the record can't be decoded"
