"""The two forms of lines: JSON as kafka-dump-log's, and lines to be read.

A form says what stands in a line and how values are written. Python or the kernel write what it
says: `LinePieces` is what both can do. A record without a key is one of a metadata log or a marker.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.frames import NO_NUMBER
from metashell.log.layout import TRANSACTIONAL
from metashell.records.messages import AnyRecords, DecodedMessages
from metashell.records.records import Records
from metashell.redact import REDACTED
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns, FixedColumn
from metashell.schema.dump import json_text, to_json
from metashell.schema.model import MessageSpec
from metashell.schema.uuids import uuid_text


class LinePieces(Protocol):
    """Lines that are put together piece by piece. Methods return whether they can be written."""

    def literal(self, text: str, *, opens: bool = False) -> None:
        """Add a text that all lines have; `opens` where fields follow it."""

    def numbers(self, key: str, values: AnyArray) -> None:
        """Add a number of each line."""

    def times(self, key: str, values: I64, none: str | None = None) -> bool:
        """Add a time of each line, in milliseconds, as text; `none` for what is below 0."""

    def flag(self, key: str, values: Bools) -> None:
        """Add whether something holds of each line."""

    def choice(
        self, key: str, choices: Sequence[str], numbers: I64, *, is_of_line: bool = True
    ) -> None:
        """Add one of some texts to each line; `is_of_line` unless numbers are of messages."""

    def fields(
        self, spec: MessageSpec, version: int, columns: Columns, without: str | None = None
    ) -> bool:
        """Add the fields of each message."""

    def each(self, texts: Callable[[], Sequence[str]]) -> bool:
        """Add a text to each line; they are made if they can be written."""

    def topics(self, ids: AnyArray) -> bool:
        """Add what each line says of its topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyRecord:
    """A record that can't be decoded."""

    name: str | None
    """The name of its type; None where there is no number."""
    is_control: bool = False
    number: int | None = None
    """The number of its type, in a log with keys."""
    version: int | None
    reason: str
    raw: str | None
    """The bytes of its value, as text; None for null."""
    verdict: str | None = None
    """The answer of a broker to it; None in a metadata log, whose records have no keys."""
    raw_key: str | None = None
    key: str | None = None
    """The fields of its key; None where they can't be read."""
    value: str | None = None
    """The fields of its value; None where they can't be read."""


class LineForm(ABC):
    """How lines are written."""

    is_bare: bool
    """Whether no quotes stand around texts that need none, and no arrays that are empty or null."""

    # Values.

    @abstractmethod
    def string(self, text: str | None) -> str:
        """A string as a value."""

    def strings(self, texts: Sequence[str]) -> Sequence[str]:
        """Strings as values."""
        return [self.string(text) for text in texts]

    @abstractmethod
    def quoted(self, text: str) -> str:
        """A text that needs no escapes, such as that of a uuid, as a value."""

    @abstractmethod
    def of_object(self, data: Mapping[str, object]) -> str:
        """Fields that were turned into plain values, a sign that parts fields before each."""

    @abstractmethod
    def topic(self, name: str | None, topic_id: bytes) -> str:
        """The text about a topic."""

    # Lines.

    @abstractmethod
    def head(self, texts: LinePieces, records: AnyRecords, rows: I64) -> bool:
        """Add where each record stands."""

    def tails(self, records: AnyRecords, rows: I64) -> list[str] | None:
        """The text behind each record; None for nothing."""
        return None

    end = ""
    """The end of each line."""

    @abstractmethod
    def message(self, texts: LinePieces, found: DecodedMessages) -> bool:
        """Add what stands behind the places of records."""

    @abstractmethod
    def error(self, fault: FaultyRecord) -> str:
        """The text behind the place of a record that can't be decoded."""

    @abstractmethod
    def batch(self, file: str, pos: int, fields: Mapping[str, Any]) -> str:
        """The line of a batch."""

    def value(self, texts: LinePieces, found: DecodedMessages, without: str | None = None) -> bool:
        """Add the fields of values."""
        if found.more is not None:
            return found.more.add_to(texts, self)
        return texts.fields(found.spec, found.version, found.columns, without)


class JsonForm(LineForm):
    """JSON lines; type, version and data are exactly kafka-dump-log's.

    In a log with keys there are the fields of the batch, ``key`` and ``value``. ``key`` has
    ``type``, a number, and ``data``. ``value`` has ``version`` and ``data``, or is null. A record
    at fault has ``error``, in ``broker`` what a broker does with it, and ``raw`` where ``data``
    can't be read.
    """

    is_bare = False
    end = "}"

    def string(self, text: str | None) -> str:
        """A string as a value."""
        return json_text(text)

    def quoted(self, text: str) -> str:
        """A text that needs no escapes as a value."""
        return f'"{text}"'

    def of_object(self, data: Mapping[str, object]) -> str:
        """Fields that were turned into plain values."""
        return f",{json_text(dict(data))[1:-1]}" if data else ""

    def topic(self, name: str | None, topic_id: bytes) -> str:
        """The name of a topic."""
        return f',"topic":{self.string(name)}'

    def head(self, texts: LinePieces, records: AnyRecords, rows: I64) -> bool:
        """Add file and position, offset, time, epoch, and with keys who wrote the batch."""
        frames, batch = records.frames, records.frames.batch[rows]
        files = records.loaded.files
        names = [json_text(file.name) for file in files]
        starts = np.array([file.start for file in files], dtype=np.int64)
        of = frames.batches.file[batch].astype(np.int64)
        if len(names) == 1:
            texts.literal(f'{{"file":{names[0]}')
        else:
            texts.choice('{"file":', names, of)
        texts.numbers(',"pos":', frames.batches.pos[batch] - starts[of])
        texts.numbers(',"offset":', frames.offset[rows])
        texts.numbers(',"timestamp":', frames.timestamps(rows))
        texts.numbers(',"epoch":', frames.epochs(rows))
        if not isinstance(records, Records):
            header = frames.batches.header[batch]
            texts.numbers(',"producerId":', header["producer_id"])
            texts.numbers(',"producerEpoch":', header["producer_epoch"])
            texts.numbers(',"sequence":', frames.sequences(rows))
            texts.flag(',"transactional":', header["attributes"] & TRANSACTIONAL != 0)
        return True

    def message(self, texts: LinePieces, found: DecodedMessages) -> bool:
        """Add type, version and data; with keys those of key and value."""
        name, version = json_text(found.name), found.version
        kind = found.type
        if kind is not None and found.key is not None:
            start = f',"type":{name},"key":{{"type":{kind.number},"data":{{'
            texts.literal(start, opens=True)
            if not texts.fields(kind.key, kind.key.versions.low, found.key):
                return False
            if version == NO_NUMBER:
                texts.literal('}},"value":null')
                return True
            texts.literal(f'}}}},"value":{{"version":{version},"data":{{', opens=True)
            if not self.value(texts, found):
                return False
            texts.literal("}}")
            return found.more is None or found.more.add_beside(texts)
        start = f'"control":{name}' if found.is_control else f'"type":{name},"version":{version}'
        texts.literal(f',{start},"data":{{', opens=True)
        if not self.value(texts, found):
            return False
        texts.literal("}")
        ids = topic_ids(found.columns)
        return ids is None or texts.topics(ids)

    def error(self, fault: FaultyRecord) -> str:
        """Add what is known of the type, the reason and the bytes."""
        name, why = json_text(fault.name), json_text(fault.reason)
        if fault.verdict is None:
            head = ""
            if fault.is_control:
                head = f'"control":{name},'
            elif fault.name is not None:
                head = f'"type":{name},"version":{fault.version},'
            return f',{head}"error":{why},"raw":"{fault.raw}"'
        key, value = "null", "null"
        if fault.raw_key is not None:
            key = f'{{"type":{json_text(fault.number)},{_shown(fault.key, fault.raw_key)}}}'
        if fault.raw is not None:
            value = f'{{"version":{json_text(fault.version)},{_shown(fault.value, fault.raw)}}}'
        head = "" if fault.name is None else f'"type":{name},'
        tail = f'"error":{why},"broker":{json_text(fault.verdict)}'
        return f',{head}"key":{key},"value":{value},{tail}'

    def batch(self, file: str, pos: int, fields: Mapping[str, Any]) -> str:
        """The line of a batch."""
        line = {"file": file, "pos": pos, "batch": dict(fields)}
        return to_json(line) if "magic" in fields else json_text(line)


def _shown(fields: str | None, raw: str) -> str:
    return f'"raw":{json_text(raw)}' if fields is None else f'"data":{{{fields}}}'


class ReadableForm(LineForm):
    """Lines to be read: place, type, and the fields that say something.

    In a log with keys the fields of the key stand before ``->``, and those of the value behind it.
    """

    is_bare = True

    def string(self, text: str | None) -> str:
        """A string as a value; quoted where it could be mistaken for the line's own signs."""
        if text is None:
            return "null"
        if text and _is_plain(text):
            return text
        return text if text == REDACTED else to_json(text, ascii_only=not text.isprintable())

    def strings(self, texts: Sequence[str]) -> Sequence[str]:
        """Strings as values."""
        is_plain = all(texts) and _is_plain("".join(texts))
        return texts if is_plain else super().strings(texts)

    def quoted(self, text: str) -> str:
        """A text that needs no escapes as a value."""
        return text

    def of_object(self, data: Mapping[str, object]) -> str:
        """Fields that were turned into plain values."""
        return "".join(
            f" {name}={self.string(value) if isinstance(value, str) else json_text(value)}"
            for name, value in data.items()
            if value != []
        )

    def topic(self, name: str | None, topic_id: bytes) -> str:
        """The name of a topic, or its id."""
        return f" topicId={uuid_text(topic_id)}" if name is None else f" topic={self.string(name)}"

    def head(self, texts: LinePieces, records: AnyRecords, rows: I64) -> bool:
        """Add offset, time and epoch."""
        frames = records.frames
        texts.numbers("", frames.offset[rows])
        none = None if isinstance(records, Records) else "-"
        if not texts.times(" ", frames.timestamps(rows), none):
            return False
        texts.numbers(" ", frames.epochs(rows))
        return True

    def tails(self, records: AnyRecords, rows: I64) -> list[str] | None:
        """Who wrote the batch, where a producer with an id did."""
        if isinstance(records, Records):
            return None
        header = records.frames.batches.header[records.frames.batch[rows]]
        ids, epochs = header["producer_id"], header["producer_epoch"]
        if (ids < 0).all():
            return None
        return [
            f" producerId={i} producerEpoch={epoch}" if i >= 0 else ""
            for i, epoch in zip(ids.tolist(), epochs.tolist(), strict=True)
        ]

    def message(self, texts: LinePieces, found: DecodedMessages) -> bool:
        """Add the type, the topic and the fields."""
        kind = found.type
        if kind is None or found.key is None:
            texts.literal(f" {found.name}")
            ids = None if found.spec.name == "TopicRecord" else topic_ids(found.columns)
            if ids is not None and not texts.topics(ids):
                return False
            return self.value(texts, found, None if ids is None else "topic_id")
        texts.literal(f" {found.name} ", opens=True)
        if not texts.fields(kind.key, kind.key.versions.low, found.key):
            return False
        if found.version == NO_NUMBER:
            texts.literal(" -> null")
            return True
        texts.literal(" -> ", opens=True)
        return self.value(texts, found)

    def error(self, fault: FaultyRecord) -> str:
        """Add what is known of the type, the reason and the bytes."""
        name, why = fault.name or "UNKNOWN", self.string(fault.reason)
        if fault.verdict is None:
            raw = self.string(fault.raw)
            return f" {name} version={fault.version} error={why} raw={raw}"
        key, value = "null", "null"
        if fault.key is not None:
            key = fault.key
        elif fault.raw_key is not None:
            key = f"raw={self.string(fault.raw_key)}"
        if fault.raw is not None:
            version = "" if fault.version is None else f"version={fault.version} "
            shown = f"raw={self.string(fault.raw)}" if fault.value is None else fault.value
            value = version + shown
        return f" {name} {key} -> {value} error={why} broker={fault.verdict}"

    def batch(self, file: str, pos: int, fields: Mapping[str, Any]) -> str:
        """The line of a batch."""
        base, last, count = fields["baseOffset"], fields["lastOffset"], fields["count"]
        size, epoch, crc = fields["bytes"], fields["epoch"], fields["crc"]
        words = [f"# batch {base}..{last} of {file} position {pos}: {count} records, {size} bytes,"]
        words.append(f"epoch {epoch}, crc {crc}")
        if "magic" in fields:
            words[-1] += f", format {fields['magic']}"
        words += [] if fields["codec"] == "none" else [fields["codec"]]
        words += [name for name in ("control", "transactional") if fields.get(name)]
        return " ".join(words)


_SIGNS: Final = re.compile(r'[ "=\[\]{}]')
"""The signs between values."""


def _is_plain(text: str) -> bool:
    """Whether a text that is not empty needs no quotes."""
    return text.isprintable() and not _SIGNS.search(text)


def field_key(name: str, *, is_bare: bool) -> str:
    """The text before a field's value, the sign that parts fields first."""
    return f" {name}=" if is_bare else f',"{name}":'


def topic_ids(columns: Columns) -> AnyArray | None:
    """V16[n]: ids of topics; None for types that name none by id."""
    column = columns.fields.get("topic_id")
    if isinstance(column, FixedColumn) and column.values.dtype == np.dtype("V16"):
        return column.values
    return None
