"""Records of a log as lines: JSON as kafka-dump-log's, or one that reads well.

The texts of a block are built by type and version, a field of all its rows at a time, because a log
has millions. Types with structs or secrets in them are rare and go through plain values.
Every secret is redacted here.
"""

from __future__ import annotations

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Final

import numpy as np

from metashell.log.compression import NAMES
from metashell.log.control import control_type_name
from metashell.log.frames import CONTROL_KEY, NO_KEY
from metashell.log.layout import CODEC, CONTROL
from metashell.records.filter import TopicNames
from metashell.records.messages import messages_of
from metashell.records.record_faults import report_unknown
from metashell.records.records import Records
from metashell.redact import (
    CONFIG_RECORD,
    REDACTED,
    Redaction,
    hidden_bytes,
    type_may_hold_secrets,
)
from metashell.schema.arena import I64, AnyArray
from metashell.schema.columns import Columns, FixedColumn, SpanColumn
from metashell.schema.dump import fields_json, json_text
from metashell.schema.json_writer import to_json
from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.registry import Registry
from metashell.schema.rows import to_rows
from metashell.schema.scalar import default_value
from metashell.schema.timestamps import iso_time
from metashell.schema.uuids import uuid_text, uuid_texts

_INTEGERS: Final = frozenset({"int8", "int16", "uint16", "int32", "uint32", "int64"})
_SIMPLE: Final = _INTEGERS | {"bool", "uuid", "string", "bytes"}
_SIMPLE_ARRAYS: Final = _INTEGERS | {"uuid"}

_CACHED_ARRAYS: Final = 100_000
"""Texts of arrays that are kept: replica lists repeat."""


_CONFIG_FIELDS: Final = frozenset({"resource_type", "resource_name", "name", "value"})


def batch_fields(header: Any) -> dict[str, object]:
    """What lines say of a batch, by Kafka's names.

    Args:
        header: As `metashell.log.header_fields.HEADER` has it.
    """
    attributes, base = int(header["attributes"]), int(header["base_offset"])
    codec = attributes & CODEC
    return {
        "baseOffset": base,
        "lastOffset": base + int(header["last_delta"]),
        "count": int(header["count"]),
        "epoch": int(header["epoch"]),
        "bytes": int(header["length"]) + 12,
        "baseTimestamp": int(header["base_timestamp"]),
        "maxTimestamp": int(header["max_timestamp"]),
        "codec": NAMES.get(codec, str(codec)),
        "control": bool(attributes & CONTROL),
        "crc": f"{int(header['crc']):08x}",
    }


class LineWriter(ABC):
    """Writes the lines of records; one for a whole log.

    Args:
        registry: Message definitions.
        names: Names of topics.
        redaction: What may be shown.
    """

    def __init__(self, registry: Registry, names: TopicNames, redaction: Redaction) -> None:
        self._registry, self._names, self._redaction = registry, names, redaction
        self._arrays: dict[str, dict[bytes | None, str]] = {}
        self._topic_texts: dict[bytes, str] = {}
        self._reported: Records | None = None
        self._hides_config = lru_cache(maxsize=4096)(self._hides_config_uncached)

    def lines(self, records: Records, rows: I64) -> Sequence[str]:
        """The line of each row, without its end."""
        bodies = self.bodies(records, rows)
        whole = [body for body in bodies if body is not None]
        if len(whole) < len(rows):
            whole = self._with_errors(records, rows, bodies)
        return self._with_heads(records, rows, whole)

    def bodies(self, records: Records, rows: I64) -> list[str | None]:
        """What stands in each row's line behind its place; None where it can't be decoded."""
        n = len(rows)
        bodies: list[str | None] = [None] * n
        for found in messages_of(records, rows):
            texts = self._bodies(found.spec, found.key, found.version, found.columns)
            if len(found.at) == n:
                bodies = list(texts)
            else:
                for i, text in zip(found.at.tolist(), texts, strict=True):
                    bodies[i] = text
        return bodies

    def batch_lines(self, records: Records, rows: I64) -> list[str | None]:
        """For each row that is the first given of its batch, the line of the batch; else None."""
        batches = records.frames.batches
        batch = records.frames.batch[rows]
        lines: list[str | None] = [None] * len(rows)
        new = np.flatnonzero(np.diff(batch, prepend=-1))
        for i in new.tolist():
            number = int(batch[i])
            file, header = records.file_of(int(rows[i])), batches.header[number]
            pos = int(batches.pos[number]) - file.start
            lines[i] = self._batch_line(file.name, pos, batch_fields(header))
        return lines

    # What the two forms of lines differ in.

    is_bare: bool
    """Whether no quotes stand around texts that need none, and no arrays that are empty or null."""

    @abstractmethod
    def _string(self, text: str | None) -> str:
        """A string as a value."""

    def _strings(self, texts: Sequence[str]) -> Sequence[str]:
        """Strings as values."""
        return [self._string(text) for text in texts]

    @abstractmethod
    def _quoted(self, text: str) -> str:
        """A text that needs no escapes, such as that of a uuid, as a value."""

    @abstractmethod
    def _generic(self, data: Mapping[str, object], *, with_topic: bool) -> str:
        """The fields of a message that has been turned into plain values."""

    @abstractmethod
    def _body(
        self, spec: MessageSpec, key: int, version: int, texts: list[str], topics: list[str] | None
    ) -> list[str]:
        """What stands behind a record's place, from the texts of its fields."""

    @abstractmethod
    def _topic(self, name: str | None, topic_id: bytes) -> str:
        """How a record says which topic it is of."""

    @abstractmethod
    def _error(self, spec: MessageSpec | None, key: int, version: int, why: str, raw: str) -> str:
        """The body of a record that can't be decoded."""

    @abstractmethod
    def _with_heads(self, records: Records, rows: I64, bodies: list[str]) -> list[str]:
        """Whole lines."""

    @abstractmethod
    def _batch_line(self, file: str, pos: int, fields: Mapping[str, object]) -> str:
        """The line of a batch."""

    def _fields(self, spec: MessageSpec) -> Sequence[FieldSpec]:
        return spec.fields

    # Fields of all rows of a type.

    def _bodies(self, spec: MessageSpec, key: int, version: int, columns: Columns) -> list[str]:
        if not columns.n:
            return []
        topics = self._topics(columns)
        if self._is_flat(spec, version):
            pieces = [
                self._pieces(spec, field, version, columns)
                for field in self._fields(spec)
                if version in field.versions
            ]
            joined = map("".join, zip(*pieces, strict=True)) if pieces else [""] * columns.n
            texts = [text[1:] for text in joined]
        else:
            texts = [
                self._generic(
                    self._redaction.record(spec.name, fields_json(spec, version, fields)),
                    with_topic=topics is not None,
                )
                for fields in to_rows(columns)
            ]
        return self._body(spec, key, version, texts, topics)

    def _is_flat(self, spec: MessageSpec, version: int) -> bool:
        """Whether every field is a column of simple values, and none is a secret but a config's."""
        if spec.name == CONFIG_RECORD:
            if {f.column_name for f in spec.fields} != _CONFIG_FIELDS:
                return False
        elif type_may_hold_secrets(spec.name):
            return False
        return all(
            field.type in (_SIMPLE_ARRAYS if field.is_array else _SIMPLE)
            for field in spec.fields
            if version in field.versions
        )

    def _topics(self, columns: Columns) -> list[str] | None:
        """How each row says its topic; None for types that name none by id."""
        column = columns.fields.get("topic_id")
        if not isinstance(column, FixedColumn) or column.values.dtype != np.dtype("V16"):
            return None
        ids: list[bytes] = column.values.tolist()
        texts = self._topic_texts
        unseen = set(ids).difference(texts)
        if not unseen:
            return [texts[i] for i in ids]
        self._names.look_up(unseen)
        known = self._names.names
        texts.update((i, self._topic(known[i], i)) for i in unseen if i in known)
        # A name that nothing tells yet may still come by.
        unknown = {i: self._topic(None, i) for i in unseen if i not in known}
        return [texts[i] if i in texts else unknown[i] for i in ids]

    def _pieces(
        self, spec: MessageSpec, field: FieldSpec, version: int, columns: Columns
    ) -> list[str]:
        """Key and value of a field, for each row; empty where it is left out."""
        key = field_key(field.json_name, is_bare=self.is_bare)
        column = columns.fields[field.column_name]
        default = default_value(field) if version in field.tagged else _NO_DEFAULT
        if isinstance(column, FixedColumn):
            return self._fixed(field, key, column.values, default)
        assert isinstance(column, SpanColumn)
        if field.is_array:
            return self._array_pieces(field, key, column, default)
        if field.type == "bytes":
            return [
                ""
                if raw == default
                else key + ("null" if raw is None else self._quoted(base64.b64encode(raw).decode()))
                for raw in column.raws()
            ]
        strings = column.strings()
        if spec.name == CONFIG_RECORD and field.column_name == "value":
            strings = self._config_values(columns, strings)
        return ["" if text == default else key + self._string(text) for text in strings]

    def _fixed(self, field: FieldSpec, key: str, values: AnyArray, default: object) -> list[str]:
        if field.type == "uuid":
            texts = [self._quoted(text) for text in uuid_texts(values)]
            if default is not _NO_DEFAULT:
                raws = values.tolist()
                return [
                    "" if raw == default else key + text
                    for raw, text in zip(raws, texts, strict=True)
                ]
            return [key + text for text in texts]
        if (values == values[0]).all():
            return [self._number(key, values[0].item(), default)] * len(values)
        if field.type == "bool":
            return [self._number(key, value, default) for value in values.tolist()]
        if default is not _NO_DEFAULT:
            return ["" if value == default else f"{key}{value}" for value in values.tolist()]
        return [f"{key}{value}" for value in values.tolist()]

    @staticmethod
    def _number(key: str, value: object, default: object) -> str:
        if value == default:
            return ""
        return key + (str(value).lower() if isinstance(value, bool) else str(value))

    def _array_pieces(
        self, field: FieldSpec, key: str, column: SpanColumn, default: object
    ) -> list[str]:
        null, empty = f"{key}null", f"{key}[]"
        # A tagged field that is there says something even where it is empty.
        left_out = self.is_bare and default is _NO_DEFAULT
        if left_out or default is None:
            null = ""
        if left_out or default == []:
            empty = ""
        if (column.counts < 0).all():
            return [null] * len(column.counts)
        # By what the field is besides its key, because types share keys.
        known = self._arrays.setdefault(f"{field.type}{key}", {})
        if len(known) > _CACHED_ARRAYS:
            known.clear()
        raws = column.raws()
        for raw in set(raws).difference(known):
            if raw:
                known[raw] = key + self._array(field, raw, column.dtype)
        known[None], known[b""] = null, empty
        return [known[raw] for raw in raws]

    def _array(self, field: FieldSpec, raw: bytes, dtype: str) -> str:
        if field.type == "uuid":
            ids = (uuid_text(raw[i : i + 16]) for i in range(0, len(raw), 16))
            return f"[{','.join(map(self._quoted, ids))}]"
        numbers = np.frombuffer(raw, dtype=np.dtype(dtype).newbyteorder("=")).tolist()
        return f"[{','.join(map(str, numbers))}]"

    def _config_values(self, columns: Columns, values: list[str | None]) -> list[str | None]:
        codes, keys = columns.fixed("resource_type").tolist(), columns.span("name").strings()
        return [
            REDACTED if value is not None and self._hides_config(code, key) else value
            for code, key, value in zip(codes, keys, values, strict=True)
        ]

    def _hides_config_uncached(self, code: int, key: str | None) -> bool:
        data = {"resourceType": code, "name": key, "value": ""}
        return self._redaction.record(CONFIG_RECORD, data)["value"] == REDACTED

    # What can't be decoded.

    def _with_errors(self, records: Records, rows: I64, bodies: Sequence[str | None]) -> list[str]:
        if self._reported is not records:
            report_unknown(records)
            self._reported = records
        reasons, frames = dict(records.faults_by_row()), records.frames
        at = np.array([i for i, body in enumerate(bodies) if body is None], dtype=np.int64)
        rows = rows[at]
        places = (at, rows, frames.api_key[rows], frames.version[rows])
        columns = zip(*(place.tolist() for place in places), records.raws(rows), strict=True)
        whole = list(bodies)
        for i, row, key, version, value in columns:
            spec = records.spec_of_key(key)
            name = None if spec is None else spec.name
            if self._redaction.hides_raw(name, None):
                raw = hidden_bytes(name, value, records.batch_position(row))
            else:
                raw = value.hex()
            why = reasons[row].reason if row in reasons else "not decoded"
            whole[i] = self._error(spec, key, version, why, raw)
        return [body for body in whole if body is not None]

    @staticmethod
    def _places(records: Records, rows: I64) -> tuple[list[int], list[int], list[int]]:
        """Offsets, timestamps and epochs."""
        frames = records.frames
        return (
            frames.offset[rows].tolist(),
            frames.timestamps(rows).tolist(),
            frames.epochs(rows).tolist(),
        )


_NO_DEFAULT: Final = object()
"""Of a field that is always there."""


class JsonLines(LineWriter):
    """JSON lines; type, version and data are exactly kafka-dump-log's."""

    is_bare = False

    def _string(self, text: str | None) -> str:
        if text is None:
            return "null"
        quoted: str = encode_basestring(text)
        return json_text(text) if "\\" in quoted else quoted

    def _quoted(self, text: str) -> str:
        return f'"{text}"'

    def _generic(self, data: Mapping[str, object], *, with_topic: bool) -> str:
        return json_text(dict(data))[1:-1]

    def _body(
        self, spec: MessageSpec, key: int, version: int, texts: list[str], topics: list[str] | None
    ) -> list[str]:
        start = self._start(spec, key, version)
        if topics is None:
            return [f"{start}{text}}}" for text in texts]
        return [
            f'{start}{text}}},"topic":{topic}' for text, topic in zip(texts, topics, strict=True)
        ]

    @staticmethod
    def _start(spec: MessageSpec, key: int, version: int) -> str:
        """What stands between a record's place and its fields."""
        if key <= CONTROL_KEY:
            return f'"control":"{control_name(key)}","data":{{'
        return f'"type":{json_text(spec.type_name)},"version":{version},"data":{{'

    def _topic(self, name: str | None, topic_id: bytes) -> str:
        return self._string(name)

    def _error(self, spec: MessageSpec | None, key: int, version: int, why: str, raw: str) -> str:
        head = ""
        if key <= CONTROL_KEY:
            head = f'"control":"{control_name(key)}",'
        elif key != NO_KEY:
            head = f'"type":{json_text(self._registry.type_name(key))},"version":{version},'
        return f'{head}"error":{json_text(why)},"raw":"{raw}"'

    def _with_heads(self, records: Records, rows: I64, bodies: list[str]) -> list[str]:
        frames = records.frames
        file = records.file_of(int(rows[0]))
        start = f'{{"file":{json_text(file.name)},"pos":'
        pos = (frames.batches.pos[frames.batch[rows]] - file.start).tolist()
        places = self._places(records, rows)
        return [
            f'{start}{p},"offset":{o},"timestamp":{t},"epoch":{e},{body}}}'
            for p, o, t, e, body in zip(pos, *places, bodies, strict=True)
        ]

    def _batch_line(self, file: str, pos: int, fields: Mapping[str, object]) -> str:
        return json_text({"file": file, "pos": pos, "batch": dict(fields)})


class ReadableLines(LineWriter):
    """Lines to be read: place, type, and the fields that say something."""

    is_bare = True

    def __init__(self, registry: Registry, names: TopicNames, redaction: Redaction) -> None:
        super().__init__(registry, names, redaction)
        self._time = lru_cache(maxsize=1024)(iso_time)

    def _fields(self, spec: MessageSpec) -> Sequence[FieldSpec]:
        if spec.name == "TopicRecord":
            return spec.fields
        return [field for field in spec.fields if field.column_name != "topic_id"]

    def _string(self, text: str | None) -> str:
        if text is None:
            return "null"
        # What could be mistaken for the line's own signs is quoted.
        if text and _is_plain(text):
            return text
        return text if text == REDACTED else to_json(text, ascii_only=not text.isprintable())

    def _strings(self, texts: Sequence[str]) -> Sequence[str]:
        is_plain = all(texts) and _is_plain("".join(texts))
        return texts if is_plain else super()._strings(texts)

    def _quoted(self, text: str) -> str:
        return text

    def _generic(self, data: Mapping[str, object], *, with_topic: bool) -> str:
        pieces = []
        for name, value in data.items():
            if value == [] or (with_topic and name == "topicId"):
                continue
            text = self._string(value) if isinstance(value, str) else json_text(value)
            pieces.append(f"{name}={text}")
        return " ".join(pieces)

    def _body(
        self, spec: MessageSpec, key: int, version: int, texts: list[str], topics: list[str] | None
    ) -> list[str]:
        name = self._type(spec, key)
        if topics is None or spec.name == "TopicRecord":
            return [f"{name} {text}" if text else name for text in texts]
        return [
            f"{name} {topic} {text}" if text else f"{name} {topic}"
            for text, topic in zip(texts, topics, strict=True)
        ]

    @staticmethod
    def _type(spec: MessageSpec, key: int) -> str:
        """What a line calls the type of a record."""
        return control_name(key) if key <= CONTROL_KEY else spec.type_name

    def _topic(self, name: str | None, topic_id: bytes) -> str:
        return f"topicId={uuid_text(topic_id)}" if name is None else f"topic={self._string(name)}"

    def _error(self, spec: MessageSpec | None, key: int, version: int, why: str, raw: str) -> str:
        if key <= CONTROL_KEY:
            name = control_name(key)
        elif spec is not None:
            name = spec.type_name
        else:
            name = "UNKNOWN" if key == NO_KEY else self._registry.type_name(key)
        return f"{name} version={version} error={self._string(why)} raw={self._string(raw)}"

    def _with_heads(self, records: Records, rows: I64, bodies: list[str]) -> list[str]:
        time = self._time
        return [
            f"{o} {time(t)} {e} {body}"
            for o, t, e, body in zip(*self._places(records, rows), bodies, strict=True)
        ]

    def _batch_line(self, file: str, pos: int, fields: Mapping[str, object]) -> str:
        control = " control" if fields["control"] else ""
        codec = "" if fields["codec"] == "none" else f" {fields['codec']}"
        base, last, count = fields["baseOffset"], fields["lastOffset"], fields["count"]
        size, epoch, crc = fields["bytes"], fields["epoch"], fields["crc"]
        return (
            f"# batch {base}..{last} of {file} position {pos}: {count} records, {size} bytes,"
            f" epoch {epoch}, crc {crc}{codec}{control}"
        )


_SIGNS: Final = re.compile(r'[ "=\[\]{}]')
"""What stands between values."""


def _is_plain(text: str) -> bool:
    """Whether a text that is not empty needs no quotes."""
    return text.isprintable() and not _SIGNS.search(text)


def field_key(name: str, *, is_bare: bool) -> str:
    """What stands before a field's value, the sign that parts fields first."""
    return f" {name}=" if is_bare else f',"{name}":'


def control_name(key: int) -> str:
    """What a control record's type is called, by its api key."""
    return control_type_name(CONTROL_KEY - key)
