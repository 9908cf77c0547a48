"""The details of a record: its fields, its batch, its bytes, and the panel with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metashell.commands.shared.columns import display_width
from metashell.dataclass import dataclass
from metashell.errors import DecodeError
from metashell.fs.change_parts import TopicHistory, part_histories
from metashell.fs.escape import escape
from metashell.fs.path import encode_name
from metashell.log.crc import crc32c
from metashell.log.frames import CONTROL_KEY
from metashell.records.filter import Selection
from metashell.records.lines import batch_fields, fields_of_producer
from metashell.records.records import Records
from metashell.records.window import Filter, LogPiece, LogReader
from metashell.redact import REDACTED
from metashell.schema.dump import fields_json, to_json
from metashell.schema.model import MessageSpec
from metashell.schema.resource_types import ResourceType
from metashell.schema.rows import to_rows
from metashell.schema.scalar import read_varint, read_varlong
from metashell.schema.timestamps import iso_time
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.value import ValueLine
from metashell.tui.records.short_lines import fitting_width, hex_lines, hidden_raw, with_words

if TYPE_CHECKING:
    from metashell.sources.source import Source

_MOST_HEADERS: Final = 65_536
"""Bytes of a record's headers that are looked through for its end."""
_SHOWN_TEXT: Final = 10_000
"""Characters of a field's value that are shown."""


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """The node that a record is about."""

    path: str
    """The node's path in the cluster's own tree."""
    offset: int
    """Where it is to be seen: the end of the record's batch; for one that removes it, the offset
    before the batch."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """The key or the value of a record."""

    data: bytes | None
    position: int
    """The position in the file, or in the inflated bytes of a compressed batch."""
    hidden: str | None = None
    """The text shown in place of hidden bytes, which are not kept here; None if they are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDetail:
    """One record."""

    offset: int
    type: str
    api_key: int
    topic: str | None
    """Name of the topic that it says by id or by name."""
    place: tuple[tuple[str, str], ...]
    """(what, text) of where it is."""
    batch: tuple[tuple[str, str], ...]
    span: tuple[int, int]
    """First and last offset of its batch, which counts as a whole."""
    fields: tuple[tuple[str, str], ...]
    """(Kafka's name, value as JSON, a code with its word); secrets hidden."""
    error: str | None
    """Why it can't be decoded."""
    is_inflated: bool
    """Whether positions are those in the inflated batch."""
    key: Bytes
    value: Bytes
    target: RecordTarget | None
    json: str
    """The line of ``log --json``."""


def record_detail(reader: LogReader, piece: LogPiece, offset: int) -> RecordDetail | None:
    """Look at one record; None where it is not there.

    Raises:
        SourceError: Its file can't be read any more.
    """
    records = reader.records(piece)
    rows = reader.rows_at(records, np.array([offset], dtype=np.int64))
    if not len(rows):
        return None
    line = reader.json_line(records, rows)
    said: dict[str, Any] = json.loads(line)
    row, frames = int(rows[0]), records.frames
    key = int(frames.api_key[row])
    spec = records.spec_of_key(key)
    values = _values(records, spec, row, rows)
    version = int(frames.version[row])
    plain = None if values is None or spec is None else fields_json(spec, version, values)
    hidden = hidden_raw(records, reader.redaction, row, plain)
    key_bytes, value_bytes = _bytes(records, row)
    if hidden is not None:
        value_bytes = Bytes(None, 0, hidden)
    # A key says of a control record what it is, and has no meaning elsewhere.
    if key_bytes.data and (hidden or key > CONTROL_KEY) and reader.redaction.hides_raw(None, None):
        key_bytes = Bytes(None, 0, REDACTED)
    header = frames.batches.header[int(frames.batch[row])]
    base = int(header["base_offset"])
    span = base, base + int(header["last_delta"])
    kind = str(said.get("type") or said.get("control") or "UNKNOWN")
    topic = said.get("topic")
    if topic is None and values is not None:
        topic = _topic_by_name(spec, values)
    return RecordDetail(
        offset=offset,
        type=kind,
        api_key=key,
        topic=topic,
        place=_place(said, records, row),
        batch=_batch(records, row),
        span=span,
        fields=tuple(
            (name, _shown(value)) for name, value in with_words(kind, said.get("data", {})).items()
        ),
        error=said.get("error"),
        is_inflated=_is_inflated(records, row),
        key=key_bytes,
        value=value_bytes,
        target=None if values is None or spec is None else _target(reader, spec, values, span),
        json=line,
    )


def find_record(
    source: Source, offset: int, cancelled: Callable[[], bool] = lambda: False
) -> RecordDetail | None:
    """Look at the record of an offset; None where it is not there.

    Cost: may read the file that holds it.

    Raises:
        SourceError: The file can't be read any more.
    """
    reader = LogReader(source.log, source.registry, source.redaction)
    wanted = Filter(Selection(first_offset=offset, last_offset=offset))
    names = reader.topic_names(wanted.selection)
    for piece in filter(wanted.may_match, reader.pieces):
        for found in reader.search(piece, wanted, names, cancelled):
            if len(found.offsets):
                return record_detail(reader, found.piece, offset)
    return None


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else to_json(value)
    left = len(text) - _SHOWN_TEXT
    return text if left <= 0 else f"{text[:_SHOWN_TEXT]}... {left} more characters"


def _values(
    records: Records, spec: MessageSpec | None, row: int, rows: Any
) -> Mapping[str, Any] | None:
    """The record's fields by column; None where it can't be decoded."""
    if spec is None or int(records.frames.version[row]) not in spec.versions:
        return None
    good, columns = records.decode(spec.name, rows)
    return next(iter(to_rows(columns)), None) if len(good) else None


def position_text(position: int, n_bytes: int, *, is_inflated: bool = False) -> str:
    """Where something is, behind the word ``position``, and how long it is.

    Args:
        position: In the file, or in the inflated batch.
        n_bytes: Its length.
        is_inflated: Which of the two.
    """
    where = " of the inflated batch" if is_inflated else ""
    return f"{position} (0x{position:x}){where}, {n_bytes} bytes"


def _place(said: Mapping[str, Any], records: Records, row: int) -> tuple[tuple[str, str], ...]:
    time = said["timestamp"]
    place = [
        ("offset", str(said["offset"])),
        ("time", iso_time(time) if time >= 0 else "none"),
        ("epoch", str(said["epoch"])),
    ]
    if "version" in said:
        place.append(("version", str(said["version"])))
    if said.get("topic") is not None:
        place.append(("topic", str(said["topic"])))
    place.append(("file", str(said["file"])))
    span = _span(records, row)
    if span is not None:
        begin, end = span
        is_inflated = _is_inflated(records, row)
        at = position_text(begin - _origin(records, row), end - begin, is_inflated=is_inflated)
        place.append(("position", at))
    return tuple(place)


def _batch(records: Records, row: int) -> tuple[tuple[str, str], ...]:
    frames = records.frames
    number = int(frames.batch[row])
    header, pos = frames.batches.header[number], int(frames.batches.pos[number])
    of = batch_fields(header) | fields_of_producer(header)
    size, crc = int(header["length"]) + 12, int(header["crc"])
    is_sound = crc32c(memoryview(records.loaded.buffer)[pos + 21 : pos + size]) == crc
    flags = [str(of["codec"]), *(name for name in ("control", "transactional") if of[name])]
    flags += ["log append time"] if of["timestampType"] == "LogAppendTime" else []
    has_producer = int(header["producer_id"]) >= 0
    producer = f"{of['producerId']}, epoch {of['producerEpoch']}" if has_producer else "none"
    plural = "" if of["count"] == 1 else "s"
    return (
        ("position", position_text(pos - records.file_of(row).start, size)),
        ("offsets", f"{of['baseOffset']} to {of['lastOffset']}, {of['count']} record{plural}"),
        ("leader epoch", str(of["epoch"])),
        ("producer", producer),
        ("compression", ", ".join(flags)),
        ("CRC", f"{of['crc']} {'ok' if is_sound else 'WRONG'}"),
    )


def _bytes(records: Records, row: int) -> tuple[Bytes, Bytes]:
    """Key and value of a record, whose attributes byte is where its frame begins."""
    frames = records.frames
    start, stop = int(frames.start[row]), int(frames.stop[row])
    value = int(frames.value_starts(np.array([row]))[0])
    origin = _origin(records, row)
    head = frames.arena.slice(start, max(value, start))
    _, at = read_varlong(head, 1, len(head))  # when it was written, behind the attributes
    _, at = read_varint(head, at, len(head))
    length, at = read_varint(head, at, len(head))
    key = head[at : at + length] if length >= 0 else None
    value_length, _ = read_varint(head, at + max(length, 0), len(head))
    data = records.raw(row) if value_length >= 0 and stop >= value else None
    return Bytes(key, start + at - origin), Bytes(data, value - origin)


def _is_inflated(records: Records, row: int) -> bool:
    """Whether a record lies in what was inflated, behind what was read."""
    return int(records.frames.start[row]) >= records.loaded.size


def _origin(records: Records, row: int) -> int:
    """The origin of positions in a record: the start of its file, or of its inflated batch."""
    if not _is_inflated(records, row):
        return records.file_of(row).start
    frames = records.frames
    first = int(frames.batches.first_row[int(frames.batch[row])])
    span = _span(records, first)
    return int(frames.start[first]) if span is None else span[0]


def _span(records: Records, row: int) -> tuple[int, int] | None:
    """Where a record begins, with its length, and ends; None where its headers hide the end."""
    arena, frames = records.frames.arena, records.frames
    start, stop = int(frames.start[row]), int(frames.stop[row])
    headers = arena.slice(stop, min(stop + _MOST_HEADERS, arena.size))
    try:
        count, at = read_varint(headers, 0, len(headers))
        for _ in range(2 * count):
            length, at = read_varint(headers, at, len(headers))
            at += max(length, 0)
    except DecodeError:
        return None
    if at > len(headers):
        return None
    end = stop + at
    width = max(-((2 * (end - start)).bit_length() // -7), 1)
    return start - width, end


def _topic_by_name(spec: MessageSpec | None, values: Mapping[str, Any]) -> str | None:
    if spec is None:
        return None
    if spec.name == "TopicRecord":
        return values.get("name")
    if spec.name == "ClearElrRecord":
        return values.get("topic_name") or None
    if spec.name == "ConfigRecord" and values.get("resource_type") == ResourceType.TOPIC:
        return values.get("resource_name")
    return None


def _target(
    reader: LogReader, spec: MessageSpec, values: Mapping[str, Any], span: tuple[int, int]
) -> RecordTarget | None:
    """The node that a record made, changed or removed, as `changes` has it."""
    names = ("image", "topics", "byName", str(values.get("topic_name") or ""))
    if spec.name == "ClearElrRecord":
        return RecordTarget(_path(names if names[-1] else names[:-1]), span[1])
    topics = TopicHistory("byName")
    topics.name_topics(reader.topic_name(values.get("topic_id")))
    for part in (*part_histories(reader.registry, reader.redaction), topics):
        if spec.name not in part.records:
            continue
        try:
            effect = next(iter(part.apply(spec.name, values)), None)
        except (KeyError, TypeError, AttributeError):
            continue  # a definition of the user's own lacks fields
        if effect is not None:
            is_gone = effect.after is None and effect.refused is None
            return RecordTarget(_path(effect.path), max(span[0] - 1, 0) if is_gone else span[1])
    return None


def _path(names: tuple[str, ...]) -> str:
    return "/" + "/".join(encode_name(name) for name in names)


_HIDDEN: Final = "not shown: this record may hold secrets"
_AROUND: Final = 4
"""Columns around the text: of the border, the padding and the scroll bar."""
_WIDTHS: Final = (52, 84)
"""Columns of the details for short and for long rows of bytes: the list has the rest, and longer
lines go on below."""
_LONG_ROWS: Final = 187
"""Columns of the screen from which on the pane beside the list shows long rows of bytes."""


class RecordPane(LineView):
    """Fields, batch and bytes of a record."""

    HELP = (
        "The selected record: its fields as in `log --json`, its batch and its bytes in hex. "
        "Positions are those in the file. The arrows scroll. `L` lets long lines go on below, "
        "or to the right. `v` hides this."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.detail: RecordDetail | None = None
        self._columns = 0
        """Columns for the text."""

    def fit(self, width: int, *, is_beside: bool) -> None:
        """Fit a screen of so many columns, beside the list or below it."""
        if is_beside:
            width = min(_WIDTHS[width >= _LONG_ROWS], width // 2)
        self.styles.width = width if is_beside else None
        self._columns = width - _AROUND
        self._draw()

    def show_record(self, detail: RecordDetail) -> None:
        """Show a record."""
        is_other = self.detail is None or self.detail.offset != detail.offset
        self.detail = detail
        self.border_title = f"record {detail.offset}: fields, batch, bytes"
        self._draw(afresh=is_other)

    def tell(self, text: str) -> None:
        """Show a text in place of a record."""
        self.detail = self.border_title = None
        self.show([ValueLine(escape(text))], afresh=True)

    def _draw(self, *, afresh: bool = False) -> None:
        if self.detail is not None:
            self.show(list(record_lines(self.detail, fitting_width(self._columns))), afresh=afresh)


def record_lines(detail: RecordDetail, width: int) -> Iterator[ValueLine]:
    """The lines of a record, with so many bytes in a line."""
    kind = escape(detail.type)
    yield ValueLine(kind, len(kind), 2)
    if detail.target is not None:
        yield ValueLine(f"→ {escape(detail.target.path)}", 0, 2)
    if detail.error is not None:
        yield ValueLine(f"! {escape(detail.error)}", 0, 2, is_marked=True)
    yield from _pairs(detail.fields)
    yield _title("where")
    yield from _pairs(detail.place)
    yield _title("batch")
    yield from _pairs(detail.batch)
    yield from _bytes_text("key", detail.key, detail, width)
    yield from _bytes_text("value", detail.value, detail, width)


def _title(text: str) -> ValueLine:
    return ValueLine(f"── {text}", 0, 3)


def _pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[ValueLine]:
    found = [(escape(name), escape(text)) for name, text in pairs]
    width = max((display_width(name) for name, _ in found), default=0)
    for name, text in found:
        head = f"{name}{' ' * (width - display_width(name))}  "
        yield ValueLine(head + text, len(head), len(head))


def _bytes_text(what: str, found: Bytes, detail: RecordDetail, width: int) -> Iterator[ValueLine]:
    if found.hidden is not None:
        yield _title(f"{what}: {_HIDDEN}")
        if found.hidden != REDACTED:
            yield _title(found.hidden)
        return
    if found.data is None:
        yield _title(f"{what}: none")
        return
    where = position_text(found.position, len(found.data), is_inflated=detail.is_inflated)
    yield _title(f"{what}: position {where}")
    for text in hex_lines(found.data, found.position, width):
        yield ValueLine(text)
