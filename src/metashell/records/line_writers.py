"""Which implementation writes records as lines: the kernel's or Python's.

The one place that knows. Both write the same lines.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from ctypes import CDLL

import numpy as np

from metashell.kernel import load
from metashell.kernel.lines import LineTexts
from metashell.records.filter import TopicNames
from metashell.records.lines import JsonLines, LineWriter, ReadableLines
from metashell.records.messages import DecodedMessages, messages_of
from metashell.records.native_lines import (
    Names,
    add_fields,
    add_literal,
    add_numbers,
    add_times,
    write_lines,
)
from metashell.records.records import Records
from metashell.redact import Redaction, type_may_hold_secrets
from metashell.schema.arena import I64, AnyArray, Arena
from metashell.schema.columns import Columns, FixedColumn
from metashell.schema.dump import json_text
from metashell.schema.model import MessageSpec
from metashell.schema.registry import Registry


def json_lines(registry: Registry, names: TopicNames, redaction: Redaction) -> JsonLines:
    """A writer of JSON lines."""
    found = load.library()
    if found is None:
        return JsonLines(registry, names, redaction)
    return _JsonByKernel(registry, names, redaction, found)


def readable_lines(registry: Registry, names: TopicNames, redaction: Redaction) -> ReadableLines:
    """A writer of lines to be read."""
    found = load.library()
    if found is None:
        return ReadableLines(registry, names, redaction)
    return _ReadableByKernel(registry, names, redaction, found)


class _ByKernel(LineWriter):
    """Writes with the kernel, and the lines that it leaves with Python."""

    def __init__(
        self, registry: Registry, names: TopicNames, redaction: Redaction, library: CDLL
    ) -> None:
        super().__init__(registry, names, redaction)
        self._library = library
        self._topic_names = Names(library, names, self._strings, self._string(None))

    def lines(self, records: Records, rows: I64) -> Sequence[str]:
        """The line of each row, without its end."""
        if not len(rows):
            return ()
        kind_of = np.full(len(rows), -1, dtype=np.int32)
        kinds: list[tuple[LineTexts, int]] = []
        arena, places = records.frames.arena, self._places_of(records, rows)
        for found in messages_of(records, rows, _has_no_secrets):
            texts = places.copy()
            if self._add_message(texts, found, arena):
                kind_of[found.at] = len(kinds)
                kinds.append((texts, len(found.at)))
        written, left = write_lines(self._library, arena, kinds, kind_of)
        if not len(left):
            return written
        return written.with_others(left, super().lines(records, rows[left]))

    @abstractmethod
    def _places_of(self, records: Records, rows: I64) -> LineTexts:
        """What a line says first: where its record stands."""

    @abstractmethod
    def _add_message(self, texts: LineTexts, found: DecodedMessages, arena: Arena) -> bool:
        """Add what a line says of its message; returns whether the kernel can write it."""


class _JsonByKernel(_ByKernel, JsonLines):
    """Lines of JSON."""

    def _places_of(self, records: Records, rows: I64) -> LineTexts:
        frames, texts = records.frames, LineTexts(is_bare=self.is_bare)
        file = records.file_of(int(rows[0]))
        add_literal(texts, f'{{"file":{json_text(file.name)}')
        add_numbers(texts, ',"pos":', frames.batches.pos[frames.batch[rows]] - file.start)
        add_numbers(texts, ',"offset":', frames.offset[rows])
        add_numbers(texts, ',"timestamp":', frames.timestamps(rows))
        add_numbers(texts, ',"epoch":', frames.epochs(rows))
        return texts

    def _add_message(self, texts: LineTexts, found: DecodedMessages, arena: Arena) -> bool:
        spec, version = found.spec, found.version
        add_literal(texts, f",{self._start(spec, found.key, version)}", opens=True)
        if not add_fields(texts, spec.fields, version, found.columns, arena):
            return False
        ids = _topic_ids(found.columns)
        if ids is not None:
            self._topic_names.add_to(texts, '},"topic":', ids)
            add_literal(texts, "}\n")
        else:
            add_literal(texts, "}}\n")
        return True


class _ReadableByKernel(_ByKernel, ReadableLines):
    """Lines to be read."""

    def _places_of(self, records: Records, rows: I64) -> LineTexts:
        frames, texts = records.frames, LineTexts(is_bare=self.is_bare)
        add_numbers(texts, "", frames.offset[rows])
        add_times(texts, " ", frames.timestamps(rows))
        add_numbers(texts, " ", frames.epochs(rows))
        return texts

    def _add_message(self, texts: LineTexts, found: DecodedMessages, arena: Arena) -> bool:
        spec, version = found.spec, found.version
        if not self._is_flat(spec, version):
            return False
        add_literal(texts, f" {self._type(spec, found.key)}")
        ids = _topic_ids(found.columns)
        if ids is not None and spec.name != "TopicRecord":
            self._topic_names.add_to(texts, " topic=", ids, leaves_unknown=True)
        if not add_fields(texts, self._fields(spec), version, found.columns, arena):
            return False
        add_literal(texts, "\n")
        return True


class RecordData:
    """Writes what lines have as ``data`` and ``topic``, by the kernel; one for a whole log.

    Args:
        names: Names of topics.
        library: The kernel's.
    """

    def __init__(self, names: TopicNames, library: CDLL) -> None:
        self._library, self._names = library, Names(library, names, lambda names: names, "")

    def parts(
        self, records: Records, rows: I64
    ) -> tuple[list[str | None], list[str | None], list[int]]:
        """Write them.

        Returns:
            (names of the topics, None where there is none; the fields, a JSON object each, None
            where they are left to Python; indexes of the rows that are).
        """
        n = len(rows)
        topics: list[str | None] = [None] * n
        kind_of = np.full(n, -1, dtype=np.int32)
        kinds: list[tuple[LineTexts, int]] = []
        arena = records.frames.arena
        for found in messages_of(records, rows, _has_no_secrets):
            at, texts, ids = found.at, LineTexts(), _topic_ids(found.columns)
            add_literal(texts, "{", opens=True)
            if not add_fields(texts, found.spec.fields, found.version, found.columns, arena):
                continue
            add_literal(texts, "}\n")
            kind_of[at] = len(kinds)
            kinds.append((texts, len(at)))
            if ids is not None and len(at) == n:
                topics = self._names.said(ids)
            elif ids is not None:
                for i, name in zip(at.tolist(), self._names.said(ids), strict=True):
                    topics[i] = name
        written, left = write_lines(self._library, arena, kinds, kind_of)
        data: list[str | None] = list(written)
        for i in left.tolist():
            data[i] = None
        return topics, data, left.tolist()


def record_data(names: TopicNames) -> RecordData | None:
    """Such a writer; None where there is no kernel, and Python writes them."""
    found = load.library()
    return None if found is None else RecordData(names, found)


def _has_no_secrets(spec: MessageSpec) -> bool:
    """Whether no field of a type can be a secret."""
    return not type_may_hold_secrets(spec.name)


def _topic_ids(columns: Columns) -> AnyArray | None:
    """V16[n]: ids of topics; None for types that have none."""
    column = columns.fields.get("topic_id")
    if isinstance(column, FixedColumn) and column.values.dtype == np.dtype("V16"):
        return column.values
    return None
