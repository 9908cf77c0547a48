"""Batches of a metadata log without secrets, for a copy that can be handed on.

Owns which bytes of a record go into such a copy: only those that a definition describes and that
`metashell.redact` does not hide in the text of a record. Another value of the same type stands in
the place of a secret. A NoOpRecord stands in the place of a record that is not understood; a
control record that is not understood keeps its type and loses its value. Keys and headers, which no
metadata record has, are left out. Offsets, times, epochs, producers and counts stay; a batch that
was compressed is no longer.

Which records of a message that decodes hold a secret, or bytes that its definition lacks.

Owns the search by columns; `metashell.redact` decides about each value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import Any, Final, NamedTuple

import numpy as np

from metashell.log.crc import crc32c
from metashell.log.frames import CONTROL_FRAME, Frames
from metashell.log.layout import CODEC, CONTROL, HEAD, HEADER_BYTES
from metashell.log.read import Loaded
from metashell.records.records import Records
from metashell.redact import CONFIG_RECORD, Redaction, record_secret_fields, stand_in
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.dump import fields_json
from metashell.schema.encode import encode_message, encode_record, encode_varint
from metashell.schema.model import MessageSpec, Registry, StructPlan, message_plan
from metashell.schema.resource_types import resource_type_name
from metashell.schema.scalar import UNKNOWN_TAGS, decode_message, default_value
from metashell.schema.varint import read_uvarint, read_varint, read_varlong

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


PLACES_MAX: Final = 100
"""Places that are named of each reason why something is left out."""
_REASONS_MAX: Final = 100
_OTHERS: Final = "records that are not known, of more types"
_KEYS: Final = "keys and headers of records"
_NO_TYPE: Final = "values that are no metadata record"
_BATCHES: Final = "batches whose records can't be read"
_SAME, _FRAMED, _SECRET, _UNKNOWN, _UNDECODABLE = range(5)
"""The fate of a record: nothing, its value stays, fields are replaced, or it is left out."""
_NULL: Final = encode_varint(-1)
_NO_HEADERS: Final = encode_varint(0)
_CONTROL_KEY_BYTES: Final = 4
_CRC_POS, _CRC_STOP = 17, 21


class _Place(NamedTuple):
    """Where a record lies, and what happens to it; positions are those of the arena."""

    row: int
    start: int
    key_at: int
    """Where the length of the key is."""
    key_size: int
    key: int
    value: int
    body: int
    stop: int
    api_key: int
    version: int
    action: int


class RedactedBatches:
    """Gives the bytes of each batch, and counts secrets and omissions on the way.

    Args:
        loaded: The files.
        registry: Message definitions.
    """

    def __init__(self, loaded: Loaded, registry: Registry) -> None:
        self.redacted: Counter[str] = Counter()
        """The number of secrets that were replaced, by message and field."""
        self.left_out: Counter[str] = Counter()
        """The number of things that were left out, by reason."""
        self.places: dict[str, list[str]] = {}
        """Where, for each reason; at most `PLACES_MAX`."""
        self._records = Records(loaded, registry)
        self._view = memoryview(loaded.buffer)
        frames = self._records.frames
        self._actions = np.zeros(len(frames), dtype=np.int8)
        self._find_odd_frames()
        self._find_by_type()
        self._changed = np.flatnonzero(self._actions)
        of = frames.batches
        odd = (of.header["attributes"] & CODEC != 0) | (np.diff(of.first_row) != of.header["count"])
        odd[frames.batch[self._changed]] = True
        self._batches = dict(zip(of.pos[odd].tolist(), np.flatnonzero(odd).tolist(), strict=True))
        noop = registry.by_name["NoOpRecord"]
        self._noop = encode_record(noop, noop.versions.low, {})

    def rewritten(self, begin: int, end: int) -> bytes | None:
        """The bytes in the place of the batch between two positions; None where it stays."""
        batch = self._batches.get(begin)
        if batch is None:
            return None
        of = self._records.frames.batches
        header = bytearray(self._view[begin : begin + HEADER_BYTES])
        first, stop = of.first_row[batch : batch + 2].tolist()
        if stop - first != of.header["count"][batch]:
            self._leave_out(_BATCHES, None, batch)
            return b""
        is_control = bool(of.header["attributes"][batch] & CONTROL)
        payload = self._payload(first, stop, is_control=is_control)
        base, _, epoch, magic, _, attributes, last = HEAD.unpack_from(header)
        length = HEADER_BYTES - 12 + len(payload)
        HEAD.pack_into(header, 0, base, length, epoch, magic, 0, attributes & ~CODEC, last)
        crc = crc32c(payload, crc32c(bytes(header[_CRC_STOP:])))
        header[_CRC_POS:_CRC_STOP] = crc.to_bytes(4, "big")
        return bytes(header) + payload

    # Which records change.

    def _find_odd_frames(self) -> None:
        """Find records whose frame is not what a controller writes: those have keys or headers.

        Behind a record with headers, or with a length in more bytes than it needs, no record can be
        copied together with the one before it.
        """
        frames = self._records.frames
        rows = np.arange(len(frames))
        start, stop = frames.start[rows], frames.stop[rows]
        _, key_size, _ = self._parts(start)
        odd = key_size != np.where(frames.is_control, _CONTROL_KEY_BYTES, -1)
        odd |= frames.arena.u1.take(stop) != 0
        sizes = (stop + 1 - start) << 1
        n_bytes = 1 + sum((sizes >> bits > 0).astype(np.int64) for bits in (7, 14, 21, 28))
        follows = start[1:] - n_bytes[1:] == stop[:-1] + 1
        odd[1:] |= ~follows & (frames.batch[1:] == frames.batch[:-1])
        self._actions[odd] = _FRAMED

    def _parts(self, start: I64) -> tuple[I64, I64, I64]:
        """Where the length of each key is, that length, and what follows; records at positions."""
        arena = self._records.frames.arena
        end = np.full_like(start, arena.size)
        _, at = read_varlong(arena, start + 1, end)
        _, at = read_varint(arena, at, end)
        return at, *read_varint(arena, at, end)

    def _find_by_type(self) -> None:
        """Find records that hold a secret, and those that are not understood."""
        frames = self._records.frames
        keys, versions = frames.api_key[:], frames.version[:]
        sound = (frames.frame_version[:] == 1) | (frames.frame_version[:] == CONTROL_FRAME)
        known = np.zeros(len(frames), dtype=np.bool_)
        for key in np.unique(keys).tolist():
            spec = self._records.spec_of_key(key)
            if spec is None:
                continue
            low, high = spec.versions.low, spec.versions.high
            of_key = (keys == key) & sound & (versions >= low) & (versions <= high)
            known |= of_key
            rows = np.flatnonzero(of_key)
            for version in np.unique(versions[rows]).tolist():
                self._find_in(spec, version, rows[versions[rows] == version])
        self._actions[~known] = _UNKNOWN

    def _find_in(self, spec: MessageSpec, version: int, rows: I64) -> None:
        """Find the records of a version that hold a secret, or bytes that nobody describes."""
        good, columns = self._records.decode(spec.name, rows)
        self._actions[np.setdiff1d(rows, good)] = _UNDECODABLE
        some = may_have_unknown_tags(self._records.frames, good, spec, version, columns)
        if spec.name == CONFIG_RECORD:
            some[secret_configs(columns)] = True
        # A config that is no secret may have other fields that are.
        if record_secret_fields(spec.name, {"value": None}):
            some[:] = True
        self._actions[good[some]] = _SECRET

    # How they change.

    def _payload(self, first: int, stop: int, *, is_control: bool) -> bytes:
        """The records of a batch, which are the rows from one to another."""
        frames, pieces, at = self._records.frames, list[bytes](), first
        starts, stops = frames.start[first:stop], frames.stop[first:stop]

        def copy_until(row: int) -> None:
            """Copy the records up to a row; the length in front of the first is written anew."""
            if at < row:
                begin, end = int(starts[at - first]), int(stops[row - 1 - first]) + 1
                pieces.append(encode_varint(int(stops[at - first]) + 1 - begin))
                pieces.append(frames.arena.slice(begin, end))

        low, high = np.searchsorted(self._changed, (first, stop))
        for one in self._places(self._changed[low:high]):
            copy_until(one.row)
            at = one.row + 1
            record = self._record(one, is_control=is_control)
            pieces += [encode_varint(len(record)), record]
        copy_until(stop)
        return b"".join(pieces)

    def _places(self, rows: I64) -> Iterator[_Place]:
        """Where the parts of records are."""
        frames = self._records.frames
        start = frames.start[rows]
        columns = (
            *(rows, start, *self._parts(start), frames.value_starts(rows), frames.body[rows]),
            *(frames.stop[rows], frames.api_key[rows], frames.version[rows], self._actions[rows]),
        )
        return starmap(_Place, zip(*(column.tolist() for column in columns), strict=True))

    def _record(self, one: _Place, *, is_control: bool) -> bytes:
        """A record that changes, without its length."""
        arena = self._records.frames.arena
        key, value = _NULL, self._value(one)
        if is_control and one.key_size >= _CONTROL_KEY_BYTES:
            key = arena.slice(one.key, one.key + _CONTROL_KEY_BYTES)
            key = encode_varint(_CONTROL_KEY_BYTES) + key
        if one.key_size > (_CONTROL_KEY_BYTES if is_control else -1) or arena.u1[one.stop]:
            self._leave_out(_KEYS, one.row)
        if value is None and not is_control:
            value = self._noop
        new = _NULL if value is None else encode_varint(len(value)) + value
        return arena.slice(one.start, one.key_at) + key + new + _NO_HEADERS

    def _value(self, one: _Place) -> bytes | None:
        """The new value of a record; None where it is left out."""
        arena, action = self._records.frames.arena, one.action
        if action == _FRAMED:
            return arena.slice(one.value, one.stop)
        if action == _SECRET:
            message = self._message(one, arena.slice(one.body, one.stop))
            if message is not None:
                return arena.slice(one.value, one.body) + message
            action = _UNDECODABLE
        name = self._records.type_name(one.api_key)
        how = "can't be decoded" if action == _UNDECODABLE else "is not known"
        reason = f"{name} version {one.version} {how}" if name else _NO_TYPE
        self._leave_out(reason, one.row)
        return None

    def _message(self, one: _Place, message: bytes) -> bytes | None:
        """A message without secrets; None where it can't be written."""
        spec, version = self._records.spec_of_key(one.api_key), one.version
        assert spec is not None
        decoded: dict[str, Any] = decode_message(spec, version, message)
        fields = _without_tags(decoded)
        data = fields_json(spec, version, fields)
        secret = record_secret_fields(spec.name, data)
        replaced = [
            field
            for field in spec.fields
            if field.json_name in secret and data.get(field.json_name) is not None
        ]
        new = fields | {
            f.column_name: stand_in(spec.name, f.type, fields[f.column_name], default_value(f))
            for f in replaced
        }
        try:
            out = encode_message(spec, version, new, leaves_out=True)
        except ValueError:
            return None
        self.redacted.update(f"{spec.name}.{field.json_name}" for field in replaced)
        if fields != decoded:
            self._leave_out(f"tagged fields of {spec.name} that are not known", one.row)
        return out

    def _leave_out(self, reason: str, row: int | None, batch: int = 0) -> None:
        """Count a record, or a batch, that is left out."""
        if reason not in self.left_out and len(self.left_out) >= _REASONS_MAX:
            reason = _OTHERS
        self.left_out[reason] += 1
        places = self.places.setdefault(reason, [])
        if len(places) >= PLACES_MAX:
            return
        frames = self._records.frames
        batch = batch if row is None else int(frames.batch[row])
        file = self._records.loaded.files[int(frames.batches.file[batch])]
        pos = int(frames.batches.pos[batch]) - file.start
        where = f"position {pos}" if row is None else f"offset {frames.offset[row]}"
        places.append(f"{file.name}: {where}")


def _without_tags(value: Any) -> Any:
    """A value without the tagged fields that its definition lacks."""
    if isinstance(value, Mapping):
        return {name: _without_tags(one) for name, one in value.items() if name != UNKNOWN_TAGS}
    return [_without_tags(one) for one in value] if isinstance(value, list) else value
