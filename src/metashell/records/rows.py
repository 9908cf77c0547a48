"""Records of a log as rows: the values of named columns, the fields of a record as JSON.

Every secret is redacted here, as in lines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from metashell.kernel import library as kernel_library
from metashell.log.frames import NO_KEY, NO_NUMBER
from metashell.log.read import Loaded
from metashell.records.filter import TopicNames
from metashell.records.line_forms import FaultyRecord, JsonForm, LinePieces, topic_ids
from metashell.records.lines import LineWriter
from metashell.records.messages import AnyRecords, DecodedMessages
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.arena import I64
from metashell.schema.columns import SpanColumn
from metashell.schema.dump import json_text
from metashell.schema.model import Registry

_OF_BODY: Final = ("topic", "data", "error", "raw")
"""Columns that need the record itself."""


class DataForm(JsonForm):
    """The fields of a record alone."""

    end = ""

    def head(self, texts: LinePieces, records: AnyRecords, rows: I64) -> bool:
        """Add nothing."""
        return True

    def message(self, texts: LinePieces, found: DecodedMessages) -> bool:
        """Add the fields; in a log with keys those of key and value, where it is no marker."""
        if found.type is None or found.key is None:
            texts.literal("{", opens=True)
            is_written = self.value(texts, found)
            texts.literal("}")
            return is_written
        spec = found.type.key
        texts.literal('{"key":{', opens=True)
        is_written = texts.fields(spec, spec.versions.low, found.key)
        if found.version == NO_NUMBER:
            texts.literal('},"value":null}')
            return is_written
        texts.literal('},"value":{', opens=True)
        is_written &= self.value(texts, found)
        texts.literal("}}")
        return is_written


class _TypedForm(DataForm):
    """The type, the version and the fields of a record of a metadata log."""

    def message(self, texts: LinePieces, found: DecodedMessages) -> bool:
        """Add all of them."""
        texts.literal(f"{found.name} version {found.version} ")
        return super().message(texts, found)

    def error(self, fault: FaultyRecord) -> str:
        """Add the reason."""
        return f"UNKNOWN {fault.reason}"


def record_texts(loaded: Loaded, registry: Registry, redaction: Redaction) -> Sequence[str]:
    """Metadata records of small files as lines: type, version and JSON, secrets redacted."""
    records = Records(loaded, registry)
    rows = np.flatnonzero(~records.frames.is_control)
    return LineWriter(_TypedForm(), redaction).lines(records, rows)


def data_writer(redaction: Redaction) -> LineWriter:
    """Writes the fields of records, as `LineWriter.written`."""
    return LineWriter(DataForm(), redaction, library=kernel_library.library())


class RecordRows:
    """Makes the rows of records; one for a whole log.

    The columns are ``offset``, ``time``, ``epoch``, ``type``, ``version``, ``control``, ``topic``,
    ``data`` (a JSON object, as kafka-dump-log prints it), ``file``, ``pos``, ``error`` and ``raw``.

    Args:
        names: Names of topics.
        redaction: Says what may be shown.
        columns: The wanted columns: only their sources are looked at.
    """

    def __init__(self, names: TopicNames, redaction: Redaction, columns: Collection[str]) -> None:
        self._names = names
        self._writer = data_writer(redaction)
        self.columns = tuple(columns)
        """The columns wanted, in the order of a row's values."""
        self._reads_bodies = not {*_OF_BODY}.isdisjoint(self.columns)
        self._simple: dict[str, Callable[[AnyRecords, I64], Sequence[Any]]] = {
            "offset": lambda records, rows: records.frames.offset[rows].tolist(),
            "time": self._times,
            "epoch": lambda records, rows: records.frames.epochs(rows).tolist(),
            "type": self._types,
            "version": self._versions,
            "control": lambda records, rows: records.frames.is_control[rows].tolist(),
            "file": lambda records, rows: [records.file_of(int(rows[0])).name] * len(rows),
            "pos": self._positions,
        }

    def rows(self, records: AnyRecords, rows: I64) -> list[tuple[Any, ...]]:
        """The row of each record, of which there is one at least: values of the columns wanted."""
        if not self.columns:
            return [()] * len(rows)
        of_body = self._of_body(records, rows) if self._reads_bodies else {}
        cells: list[Sequence[Any]] = [
            of_body[name] if name in of_body else self._simple[name](records, rows)
            for name in self.columns
        ]
        return list(zip(*cells, strict=True))

    def _of_body(self, records: AnyRecords, rows: I64) -> dict[str, Sequence[str | None]]:
        n = len(rows)
        topics: list[str | None] = [None] * n
        errors, raws = topics.copy(), topics.copy()
        data = self._writer.written(records, rows, partial(self._note_topics, topics))
        left = [i for i, text in enumerate(data) if text is None]
        for i, fault in zip(left, self._writer.faults(records, rows[left]), strict=True):
            errors[i], (data[i], raws[i]) = fault.reason, _data_or_raw(fault)
        return {"topic": topics, "data": data, "error": errors, "raw": raws}

    def _note_topics(self, topics: list[str | None], found: DecodedMessages) -> None:
        """Note the topic that each message says, by its name or by its id."""
        ids = topic_ids(found.columns)
        said = None if found.key is None else found.key.fields.get("topic")
        names: Sequence[str | None] = ()
        if ids is not None and found.key is None:
            raws = ids.tolist()
            self._names.look_up(set(raws))
            names = list(map(self._names.names.get, raws))
        elif isinstance(said, SpanColumn) and said.dtype == "u1":
            names = said.strings()
        for i, name in zip(found.at.tolist(), names, strict=False):
            topics[i] = name

    @staticmethod
    def _times(records: AnyRecords, rows: I64) -> list[int | None]:
        times = records.frames.timestamps(rows)
        if (times >= 0).all():
            return list(times.tolist())
        return [time if time >= 0 else None for time in times.tolist()]

    @staticmethod
    def _types(records: AnyRecords, rows: I64) -> list[str | None]:
        keys, key_of = np.unique(records.frames.api_key[rows], return_inverse=True)
        names = [records.type_name(key) for key in keys.tolist()]
        return [names[i] for i in key_of.tolist()]

    @staticmethod
    def _versions(records: AnyRecords, rows: I64) -> list[int | None]:
        frames = records.frames
        versions = frames.version[rows]
        has_none = frames.is_control[rows] | (versions == NO_NUMBER)
        if isinstance(records, Records):
            has_none |= frames.api_key[rows] == NO_KEY
        return [None if no else v for v, no in zip(versions.tolist(), has_none, strict=True)]

    @staticmethod
    def _positions(records: AnyRecords, rows: I64) -> list[int]:
        frames = records.frames
        start = records.file_of(int(rows[0])).start
        positions: list[int] = (frames.batches.pos[frames.batch[rows]] - start).tolist()
        return positions


def _data_or_raw(fault: FaultyRecord) -> tuple[str | None, str | None]:
    """The fields of a record at fault, or else its bytes."""
    if fault.verdict is None:
        return None, fault.raw
    parts = {"key": (fault.raw_key, fault.key), "value": (fault.raw, fault.value)}
    unread = {name: raw for name, (raw, text) in parts.items() if raw is not None and text is None}
    if unread:
        return None, json_text(unread)
    texts = {name: "null" if text is None else f"{{{text}}}" for name, (_, text) in parts.items()}
    return f'{{"key":{texts["key"]},"value":{texts["value"]}}}', None
