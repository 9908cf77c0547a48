"""Records of a log as lines: JSON as kafka-dump-log's, or one that reads well.

The one place that knows which implementation writes them: the kernel's or Python's. Both write the
same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ctypes import CDLL
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from metashell.kernel import library as kernel_library
from metashell.kernel.lines import LineTexts
from metashell.log.compression import NAMES
from metashell.log.frames import (
    CONTROL_KEY,
    NO_KEY,
)
from metashell.log.layout import CODEC, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL
from metashell.records.field_texts import FieldTexts, PythonTexts
from metashell.records.filter import TopicNames
from metashell.records.line_forms import FaultyRecord, JsonForm, LineForm, ReadableForm
from metashell.records.messages import AnyRecords, DecodedMessages, metadata_messages
from metashell.records.native_lines import Names, NativeTexts, write_lines
from metashell.records.record_faults import report_unknown
from metashell.records.records import Records
from metashell.records.written_lines import WrittenLines
from metashell.redact import Redaction, hidden_bytes, type_may_hold_secrets
from metashell.schema.arena import I64
from metashell.schema.model import MessageSpec

_Found: TypeAlias = Callable[[DecodedMessages], None]
_SEQUENCES: Final = 1 << 31
"""Behind the last sequence of a producer comes 0."""


def json_lines(redaction: Redaction, names: TopicNames | None = None) -> LineWriter:
    """A writer of JSON lines."""
    return LineWriter(JsonForm(), redaction, names, kernel_library.library())


def readable_lines(redaction: Redaction, names: TopicNames | None = None) -> LineWriter:
    """A writer of lines to be read."""
    return LineWriter(ReadableForm(), redaction, names, kernel_library.library())


class LineWriter:
    """Writes the lines of records; one for a whole log.

    Args:
        form: The form of lines.
        redaction: Says which values may be shown.
        names: Names of topics, where records have ids of topics.
        library: The kernel's; None to write by Python.
    """

    def __init__(
        self,
        form: LineForm,
        redaction: Redaction,
        names: TopicNames | None = None,
        library: CDLL | None = None,
    ) -> None:
        names = TopicNames() if names is None else names
        self._form, self._redaction, self._library = form, redaction, library
        self._fields = FieldTexts(form, names, redaction)
        self._reported: AnyRecords | None = None
        if library is not None:
            self._names = Names(library, names, form.strings, form.string(None))

    def lines(self, records: AnyRecords, rows: I64) -> Sequence[str]:
        """The line of each row, without its end. Rows ascend."""
        if not len(rows):
            return ()
        tails = self._form.tails(records, rows)
        written = None if tails is not None else self._by_kernel(records, rows)
        if written is None:
            return self._by_python(records, rows, tails)
        lines, left = written
        if not len(left):
            return lines
        return lines.with_others(left, self._by_python(records, rows[left]))

    def bodies(
        self, records: AnyRecords, rows: I64, on_found: _Found = lambda _: None
    ) -> list[str | None]:
        """The text of each row's line behind its place; None where it can't be decoded.

        Args:
            records: The records of a file.
            rows: Ascending.
            on_found: Called with what is decoded; of what the kernel leaves to Python twice.
        """
        bodies: list[str | None] = [None] * len(rows)
        for found in messages_of(records, rows):
            on_found(found)
            texts = PythonTexts(self._fields, len(found.at))
            self._form.message(texts, found)
            if len(found.at) == len(rows):
                bodies = list(texts.lines())
            else:
                for i, text in zip(found.at.tolist(), texts.lines(), strict=True):
                    bodies[i] = text
        return bodies

    def written(
        self, records: AnyRecords, rows: I64, on_found: _Found = lambda _: None
    ) -> list[str | None]:
        """Write `bodies` of a form without heads, by the kernel where there is one."""
        by_kernel = self._by_kernel(records, rows, on_found)
        if by_kernel is None:
            return self.bodies(records, rows, on_found)
        written, left = by_kernel
        texts: list[str | None] = list(written)

        def on_left(found: DecodedMessages) -> None:
            on_found(replace(found, at=left[found.at]))

        others = self.bodies(records, rows[left], on_left)
        for i, text in zip(left.tolist(), others, strict=True):
            texts[i] = text
        return texts

    def batch_lines(
        self, records: AnyRecords, rows: I64
    ) -> Iterator[tuple[int, tuple[str, int], str]]:
        """For each row that is the first given of its batch, its place and the batch's line.

        The second of the three is the batch's file and its position there.
        """
        batches, batch = records.frames.batches, records.frames.batch[rows]
        for i in np.flatnonzero(np.diff(batch, prepend=-1)).tolist():
            file, pos = records.file_of(int(rows[i])).name, records.batch_position(int(rows[i]))
            fields = batch_fields(batches.header[int(batch[i])])
            if not isinstance(records, Records):
                fields |= fields_of_producer(batches.header[int(batch[i])])
            yield i, (file, pos), self._form.batch(file, pos, fields)

    def _by_kernel(
        self, records: AnyRecords, rows: I64, on_found: _Found = lambda _: None
    ) -> tuple[WrittenLines, I64] | None:
        """The lines, and which of them are empty and left; None where Python writes all."""
        if self._library is None:
            return None
        arena, form = records.frames.arena, self._form
        head = NativeTexts(arena, self._names, LineTexts(is_bare=form.is_bare))
        if not form.head(head, records, rows):
            return None
        kind_of = np.full(len(rows), -1, dtype=np.int32)
        kinds: list[tuple[LineTexts, int]] = []
        for found in messages_of(records, rows, lambda spec: not type_may_hold_secrets(spec.name)):
            on_found(found)
            texts = head.copy()
            if form.message(texts, found):
                kind_of[found.at] = len(kinds)
                kinds.append((texts.finished(form.end), len(found.at)))
        return write_lines(self._library, arena, kinds, kind_of)

    def _by_python(
        self, records: AnyRecords, rows: I64, tails: Sequence[str] | None = None
    ) -> list[str]:
        bodies, heads = self.bodies(records, rows), PythonTexts(self._fields, len(rows))
        left = [i for i, body in enumerate(bodies) if body is None]
        for i, fault in zip(left, self.faults(records, rows[left]), strict=True):
            bodies[i] = self._form.error(fault)
        self._form.head(heads, records, rows)
        parts = zip(heads.lines(), bodies, strict=True)
        if tails is None:
            return [f"{head}{body}{self._form.end}" for head, body in parts]
        return [f"{head}{body}{tail}" for (head, body), tail in zip(parts, tails, strict=True)]

    # Undecodable records.

    def faults(self, records: AnyRecords, rows: I64) -> list[FaultyRecord]:
        """Records that can't be decoded, and why."""
        if not len(rows):
            return []
        if not isinstance(records, Records):
            from metashell.records.keyed_messages import keyed_fault

            _ = records.flaws()
            return [
                keyed_fault(records, row, self._fields, partial(self._raw, records, row))
                for row in rows.tolist()
            ]
        if self._reported is not records:
            report_unknown(records)
            self._reported = records
        reasons, frames = dict(records.faults_by_row()), records.frames
        columns = (rows, frames.api_key[rows], frames.version[rows])
        places = zip(*(column.tolist() for column in columns), records.raws(rows), strict=True)
        return [
            FaultyRecord(
                name=records.type_name(key),
                is_control=key <= CONTROL_KEY,
                version=version,
                reason=reasons[row].reason if row in reasons else "not decoded",
                raw=self._raw(records, row, value, key),
            )
            for row, key, version, value in places
        ]

    def _raw(self, records: AnyRecords, row: int, data: bytes, key: int = NO_KEY) -> str:
        """Bytes as text, with the api key of the type whose definition tells of secrets."""
        spec = records.spec_of_key(key) if isinstance(records, Records) else None
        name = None if spec is None else spec.name
        if self._redaction.hides_raw(name, None):
            return hidden_bytes(name, data, records.batch_position(row))
        return data.hex()


def messages_of(
    records: AnyRecords, rows: I64, is_wanted: Callable[[MessageSpec], bool] = lambda _: True
) -> Iterator[DecodedMessages]:
    """Decode the messages of some rows, each type and version by itself.

    Args:
        records: The records of a file.
        rows: int64[n], ascending.
        is_wanted: Whether messages of a definition are decoded.
    """
    frames = records.frames
    keys, versions = frames.api_key[rows].astype(np.int64), frames.version[rows]
    kinds, firsts, kind_of = np.unique(
        (keys << 32) + versions, return_index=True, return_inverse=True
    )
    for kind, first in enumerate(firsts.tolist()):
        key, version = int(keys[first]), int(versions[first])
        at = np.arange(len(rows)) if len(kinds) == 1 else np.flatnonzero(kind_of == kind)
        if isinstance(records, Records):
            found = metadata_messages(records, rows[at], key, version, is_wanted)
        else:
            from metashell.records.keyed_messages import keyed_messages

            found = keyed_messages(records, rows[at], key, version, is_wanted)
        if found is not None:
            good, messages = found
            yield replace(messages, at=at if len(good) == len(at) else np.searchsorted(rows, good))


def batch_fields(header: Any) -> dict[str, object]:
    """The fields of a batch in lines, by Kafka's names.

    Args:
        header: A header of `metashell.log.frames.HEADER`.
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


def fields_of_producer(header: Any) -> dict[str, object]:
    """The fields that lines add in a log with keys."""
    magic, attributes, first = (int(header[n]) for n in ("magic", "attributes", "base_sequence"))
    last = (first + int(header["last_delta"])) % _SEQUENCES
    horizon = int(header["base_timestamp"]) if attributes & DELETE_HORIZON else None
    kind = "LogAppendTime" if attributes & LOG_APPEND_TIME else "CreateTime"
    return {
        "timestampType": kind if magic else "NoTimestampType",
        "deleteHorizon": horizon,
        "lastSequence": first if first < 0 else last,
        "magic": magic,
        "transactional": bool(attributes & TRANSACTIONAL),
        "producerId": int(header["producer_id"]),
        "producerEpoch": int(header["producer_epoch"]),
        "baseSequence": first,
    }
