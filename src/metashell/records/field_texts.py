"""The texts of fields by Python: a field of all messages of a type and version at a time.

A log has millions of records. Types with structs or secrets in them are rare and go through plain
values. Every secret is redacted here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import repeat
from typing import Final

import numpy as np

from metashell.records.filter import TopicNames
from metashell.records.line_forms import LineForm, field_key
from metashell.records.words import codes_of, in_reading_order, worded
from metashell.redact import CONFIG_RECORD, REDACTED, Redaction, type_may_hold_secrets
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns, FixedColumn, SpanColumn
from metashell.schema.dump import fields_json
from metashell.schema.model import FieldSpec, MessageSpec
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
_NO_DEFAULT: Final = object()
"""The default of a field that is always there."""


def is_flat(spec: MessageSpec, version: int) -> bool:
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


class FieldTexts:
    """Writes the fields of messages; one for a whole log.

    Args:
        form: How values are written.
        names: Names of topics.
        redaction: Says which values may be shown.
    """

    def __init__(self, form: LineForm, names: TopicNames, redaction: Redaction) -> None:
        self.form, self._names, self._redaction = form, names, redaction
        self._arrays: dict[str, dict[bytes | None, str]] = {}
        self._topic_texts: dict[bytes, str] = {}
        self._hides_config = lru_cache(maxsize=4096)(self._hides_config_uncached)
        self.time = lru_cache(maxsize=1024)(iso_time)

    def texts(
        self, spec: MessageSpec, version: int, columns: Columns, without: str | None = None
    ) -> list[str]:
        """The fields of each message, all of one version, a sign that parts fields first.

        Args:
            spec: The definition.
            version: That of the messages.
            columns: Their fields.
            without: The column name of a field that is left out.
        """
        if not columns.n:
            return []
        spec = in_reading_order(spec) if self.form.is_bare else spec
        if is_flat(spec, version):
            pieces = [
                self._pieces(spec, field, version, columns)
                for field in spec.fields
                if version in field.versions and field.column_name != without
            ]
            return list(map("".join, zip(*pieces, strict=True))) if pieces else [""] * columns.n
        hidden = [f.json_name for f in spec.fields if f.column_name == without]
        objects = (
            self._redaction.record(spec.name, fields_json(spec, version, fields))
            for fields in to_rows(columns)
        )
        if self.form.is_bare:
            objects = (worded(spec.name, data) for data in objects)
        return [
            self.form.of_object({k: v for k, v in data.items() if k not in hidden})
            for data in objects
        ]

    def topics(self, ids: Sequence[bytes]) -> list[str]:
        """How each message says its topic."""
        texts = self._topic_texts
        unseen = set(ids).difference(texts)
        if not unseen:
            return [texts[i] for i in ids]
        self._names.look_up(unseen)
        known, form = self._names.names, self.form
        texts.update((i, form.topic(known[i], i)) for i in unseen if i in known)
        # A name that nothing tells yet may still come by.
        unknown = {i: form.topic(None, i) for i in unseen if i not in known}
        return [texts[i] if i in texts else unknown[i] for i in ids]

    def _pieces(
        self, spec: MessageSpec, field: FieldSpec, version: int, columns: Columns
    ) -> list[str]:
        """Key and value of a field, for each row; empty where it is left out."""
        form, key = self.form, field_key(field.json_name, is_bare=self.form.is_bare)
        column = columns.fields[field.column_name]
        default = default_value(field) if version in field.tagged else _NO_DEFAULT
        if isinstance(column, FixedColumn):
            words = codes_of(spec.name).get(field.column_name) if form.is_bare else None
            if words is not None:
                return [
                    "" if code == default else f"{key}{words.get(code, code)}"
                    for code in column.values.tolist()
                ]
            return self._fixed(field, key, column.values, default)
        assert isinstance(column, SpanColumn)
        if field.is_array:
            return self._array_pieces(field, key, column, default)
        if field.type == "bytes":
            return [
                ""
                if raw == default
                else key + ("null" if raw is None else form.quoted(base64.b64encode(raw).decode()))
                for raw in column.raws()
            ]
        strings = column.strings()
        if spec.name == CONFIG_RECORD and field.column_name == "value":
            strings = self._config_values(columns, strings)
        return ["" if text == default else key + form.string(text) for text in strings]

    def _fixed(self, field: FieldSpec, key: str, values: AnyArray, default: object) -> list[str]:
        if field.type == "uuid":
            texts = [self.form.quoted(text) for text in uuid_texts(values)]
            if default is not _NO_DEFAULT:
                raws = values.tolist()
                return [
                    "" if raw == default else key + text
                    for raw, text in zip(raws, texts, strict=True)
                ]
            return [key + text for text in texts]
        if (values == values[0]).all():
            return [_number(key, values[0].item(), default)] * len(values)
        if field.type == "bool":
            return [_number(key, value, default) for value in values.tolist()]
        if default is not _NO_DEFAULT:
            return ["" if value == default else f"{key}{value}" for value in values.tolist()]
        return [f"{key}{value}" for value in values.tolist()]

    def _array_pieces(
        self, field: FieldSpec, key: str, column: SpanColumn, default: object
    ) -> list[str]:
        null, empty = f"{key}null", f"{key}[]"
        # A tagged field that is there says something even where it is empty.
        left_out = self.form.is_bare and default is _NO_DEFAULT
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
            return f"[{','.join(map(self.form.quoted, ids))}]"
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


def _number(key: str, value: object, default: object) -> str:
    if value == default:
        return ""
    return key + (str(value).lower() if isinstance(value, bool) else str(value))


class PythonTexts:
    """Some lines by Python; see `metashell.records.line_forms.LinePieces`.

    Args:
        fields: Writes fields.
        n: How many lines there are.
    """

    def __init__(self, fields: FieldTexts, n: int) -> None:
        self._fields, self._n = fields, n
        self._pieces: list[Iterable[str]] = []
        self._opens = False

    def lines(self) -> list[str]:
        """Each line."""
        if not self._pieces:
            return [""] * self._n
        return list(map("".join, zip(*self._pieces, strict=True)))

    def literal(self, text: str, *, opens: bool = False) -> None:
        """Add a text that all lines have; `opens` where fields follow it."""
        self._pieces.append(repeat(text, self._n))
        self._opens = opens

    def numbers(self, key: str, values: AnyArray) -> None:
        """Add a number of each line."""
        self._pieces.append([f"{key}{value}" for value in values.tolist()])

    def times(self, key: str, values: I64, none: str | None = None) -> bool:
        """Add a time of each line, in milliseconds, as text; `none` for what is below 0."""
        time = self._fields.time
        self._pieces.append(
            [
                f"{key}{time(value) if value >= 0 or none is None else none}"
                for value in values.tolist()
            ]
        )
        return True

    def flag(self, key: str, values: Bools) -> None:
        """Add whether something holds of each line."""
        self._pieces.append([f"{key}{'true' if value else 'false'}" for value in values.tolist()])

    def choice(
        self, key: str, choices: Sequence[str], numbers: I64, *, is_of_line: bool = True
    ) -> None:
        """Add one of some texts to each line; a number without a text stands for itself."""
        n = len(choices)
        self._pieces.append(
            [
                key + (choices[i] if 0 <= i < n else self._fields.form.string(str(i)))
                for i in numbers.tolist()
            ]
        )

    def fields(
        self, spec: MessageSpec, version: int, columns: Columns, without: str | None = None
    ) -> bool:
        """Add the fields of each message."""
        return self.each(partial(self._fields.texts, spec, version, columns, without))

    def each(self, texts: Callable[[], Sequence[str]]) -> bool:
        """Add a text to each line, from which the first sign is taken where it is opened."""
        self._pieces.append([text[1:] for text in texts()] if self._opens else texts())
        self._opens = False
        return True

    def topics(self, ids: AnyArray) -> bool:
        """Add what each line says of its topic."""
        return self.each(partial(self._fields.topics, ids.tolist()))
