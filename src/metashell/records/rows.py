"""Records of a log as rows: the values of named columns, the fields of a record as JSON.

Every secret is redacted here, as in lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import numpy as np

from metashell.log.frames import CONTROL_KEY, NO_KEY
from metashell.records.filter import TopicNames
from metashell.records.line_writers import record_data
from metashell.records.lines import JsonLines, control_name
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.arena import I64
from metashell.schema.json_writer import text_to_json
from metashell.schema.model import MessageSpec
from metashell.schema.registry import Registry

_BETWEEN: Final = "\0"
"""Between the parts of a body; JSON writes it as an escape."""

_OF_BODY: Final = ("topic", "data", "error", "raw")
"""Columns that need the record itself, in the order of a body's parts."""


class RecordRows:
    """Makes the rows of records; one for a whole log.

    The columns are ``offset``, ``time``, ``epoch``, ``type``, ``version``, ``control``, ``topic``,
    ``data`` (a JSON object, as kafka-dump-log prints it), ``file``, ``pos``, ``error`` and ``raw``.

    Args:
        registry: Message definitions.
        names: Names of topics.
        redaction: What may be shown.
        columns: Those that are wanted: only what they need is looked at.
    """

    def __init__(
        self,
        registry: Registry,
        names: TopicNames,
        redaction: Redaction,
        columns: Collection[str],
    ) -> None:
        self._registry = registry
        self._bodies = _Bodies(registry, names, redaction)
        self._data = record_data(names)
        self.columns = tuple(columns)
        """The columns wanted, in the order of a row's values."""
        self._reads_bodies = not {*_OF_BODY}.isdisjoint(self.columns)
        self._simple: dict[str, Callable[[Records, I64], Sequence[Any]]] = {
            "offset": lambda records, rows: records.frames.offset[rows].tolist(),
            "time": self._times,
            "epoch": lambda records, rows: records.frames.epochs(rows).tolist(),
            "type": self._types,
            "version": self._versions,
            "control": lambda records, rows: _is_control(records, rows).tolist(),
            "file": lambda records, rows: [records.file_of(int(rows[0])).name] * len(rows),
            "pos": self._positions,
        }

    def rows(self, records: Records, rows: I64) -> list[tuple[Any, ...]]:
        """The row of each record, of which there is one at least: values of the columns wanted."""
        if not self.columns:
            return [()] * len(rows)
        of_body = self._of_body(records, rows) if self._reads_bodies else {}
        cells: list[Sequence[Any]] = [
            of_body[name] if name in of_body else self._simple[name](records, rows)
            for name in self.columns
        ]
        return list(zip(*cells, strict=True))

    def _of_body(self, records: Records, rows: I64) -> dict[str, list[str | None]]:
        if self._data is None:
            return self._by_python(records, rows)
        topics, data, left = self._data.parts(records, rows)
        errors: list[str | None] = [None] * len(rows)
        columns = {"topic": topics, "data": data, "error": errors, "raw": list(errors)}
        if left:
            for name, values in self._by_python(records, rows[left]).items():
                column = columns[name]
                for i, value in zip(left, values, strict=True):
                    column[i] = value
        return columns

    def _by_python(self, records: Records, rows: I64) -> dict[str, list[str | None]]:
        parts = [line.split(_BETWEEN) for line in self._bodies.lines(records, rows)]
        topics, data, errors, raws = zip(*parts, strict=True)
        return {
            "topic": [_text_of(text) if text else None for text in topics],
            "data": [text or None for text in data],
            "error": [_text_of(text) if text else None for text in errors],
            "raw": [text if why else None for text, why in zip(raws, errors, strict=True)],
        }

    @staticmethod
    def _times(records: Records, rows: I64) -> list[int | None]:
        times = records.frames.timestamps(rows)
        if (times >= 0).all():
            return list(times.tolist())
        return [time if time >= 0 else None for time in times.tolist()]

    def _types(self, records: Records, rows: I64) -> list[str | None]:
        keys, key_of = np.unique(records.frames.api_key[rows], return_inverse=True)
        names = [self._type_name(key) for key in keys.tolist()]
        return [names[i] for i in key_of.tolist()]

    def _type_name(self, key: int) -> str | None:
        if key <= CONTROL_KEY:
            return control_name(key)
        return None if key == NO_KEY else self._registry.type_name(key)

    @staticmethod
    def _versions(records: Records, rows: I64) -> list[int | None]:
        keys, versions = records.frames.api_key[rows], records.frames.version[rows].tolist()
        has_none = (_is_control(records, rows) | (keys == NO_KEY)).tolist()
        return [None if no else v for v, no in zip(versions, has_none, strict=True)]

    @staticmethod
    def _positions(records: Records, rows: I64) -> list[int]:
        frames = records.frames
        start = records.file_of(int(rows[0])).start
        positions: list[int] = (frames.batches.pos[frames.batch[rows]] - start).tolist()
        return positions


def _is_control(records: Records, rows: I64) -> Any:
    return records.frames.api_key[rows].astype(np.int64) <= CONTROL_KEY


def _text_of(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted[1:-1]
    text: str = json.loads(quoted)
    return text


class _Bodies(JsonLines):
    """Lines of four parts: topic and data; else why it can't be decoded, and the bytes in hex."""

    def _body(
        self, spec: MessageSpec, key: int, version: int, texts: list[str], topics: list[str] | None
    ) -> list[str]:
        if topics is None:
            return [f"\0{{{text}}}\0\0" for text in texts]
        return [
            f"{'' if topic == 'null' else topic}\0{{{text}}}\0\0"
            for text, topic in zip(texts, topics, strict=True)
        ]

    def _error(self, spec: MessageSpec | None, key: int, version: int, why: str, raw: str) -> str:
        return f"\0\0{text_to_json(why)}\0{raw}"

    def _with_heads(self, records: Records, rows: I64, bodies: list[str]) -> list[str]:
        return bodies
