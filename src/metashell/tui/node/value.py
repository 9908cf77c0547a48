"""A node's value as lines that a person reads: keys aligned, lists and mappings indented. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from metashell.commands.rows.cell_text import shown_texts
from metashell.commands.shared.columns import display_width
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.change_texts import ARROW
from metashell.fs.escape import escape, escape_text
from metashell.fs.node import Directory, JsonValue, Node
from metashell.schema.dump import java_double, to_json
from metashell.tui.records.short_lines import hex_lines, hidden_raw, with_words
from metashell.tui.rows.cells import row_at
from metashell.tui.text import error_message

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.sources.source import Source


MOST_LINES: Final = 5_000
"""Lines of a value that are shown."""
MOST_CHARACTERS: Final = 400_000
"""Characters of it."""
_STEP: Final = 2
_INLINE: Final = 72
"""A list of scalars stands on one line where it is no longer."""
_WIDEST_KEY: Final = 32
_DEEPEST: Final = 40
"""The deepest level that has lines of its own; deeper levels are written as JSON."""
_TAB: Final = 4
_LOOKS_OTHERWISE: Final = re.compile(
    r"^(?:|null|true|false|-?[0-9.]+(?:[eE][+-]?[0-9]+)?|\s.*|.*\s)$"
)
"""Texts that would be taken for something else without quotes."""

_MOST_HELD: Final = 40
_LONGEST_HELD: Final = 200
_SHORT: Final = 24
"""Characters of a value that is told before longer ones."""
_NOTHING: Final[Sequence[JsonValue]] = (None, "", [], {})

_Item: TypeAlias = "tuple[str, JsonValue, int, int]"


@dataclass(frozen=True, slots=True)
class ValueLine:
    """One line, whose characters are safe to draw."""

    text: str
    key: int = 0
    """Where what names the value ends; 0 where nothing does."""
    indent: int = 0
    """Columns before the lines that it is continued on, where it is wrapped."""
    is_marked: bool = False
    """Whether it differs from the previous stop in time."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines to be shown, and whether there are more."""

    lines: Sequence[ValueLine]
    is_whole: bool = True


def clipped(lines: Iterable[ValueLine]) -> Lines:
    """The lines up to the limits of lines and characters; a long line is cut."""
    kept: list[ValueLine] = []
    left = MOST_CHARACTERS
    for line in lines:
        if len(kept) >= MOST_LINES or left <= 0:
            return Lines(kept, is_whole=False)
        if len(line.text) > left:
            kept.append(replace(line, text=line.text[:left]))
            return Lines(kept, is_whole=False)
        kept.append(line)
        left -= len(line.text)
    return Lines(kept)


def text_lines(text: str) -> Iterator[ValueLine]:
    """The lines of a text, with unsafe characters escaped."""
    for line in text.split("\n"):
        yield ValueLine(escape_text(line).expandtabs(_TAB))


def value_lines(value: JsonValue) -> Iterator[ValueLine]:
    """The lines of a value."""
    if _is_scalar(value):
        yield ValueLine(scalar_text(value))
        return
    # A stack in place of recursion: how deep a value is nested is not ours to say.
    stack: list[Iterator[ValueLine | _Item]] = [_children(value, 0, 0)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, ValueLine):
            yield item
        else:
            head, inner, indent, depth = item
            yield ValueLine(head, len(head), indent + _STEP)
            stack.append(_children(inner, indent + _STEP, depth + 1))


def scalar_text(value: JsonValue) -> str:
    """A value without structure, on one line."""
    if isinstance(value, str):
        shown = to_json(value) if _LOOKS_OTHERWISE.match(value) else value
        return escape(shown)
    if isinstance(value, float) and not math.isfinite(value):
        return java_double(value)
    return to_json(value)


def inline_text(value: JsonValue) -> str | None:
    """A value on one line; None where it needs lines of its own."""
    return _inline(value, 0)


def held_text(node: Node) -> str:
    """The beginning of what a node holds, on one line: a leaf's value, or a directory's names."""
    if isinstance(node, Directory):
        return "  ".join(map(escape, islice(node.names(), _MOST_HELD)))
    try:
        value = node.value()
        if not isinstance(value, Mapping):
            text = None if isinstance(value, str) else inline_text(value)
            return escape((text or node.text())[:_LONGEST_HELD])
    except MetashellError as error:
        return error_message(error)
    pairs = [
        (escape(key), inline_text(item)) for key, item in value.items() if item not in _NOTHING
    ]
    # Ids and their like are long, and leave the room to what is short.
    pairs.sort(key=lambda pair: len(pair[1] or "") > _SHORT)
    return ", ".join(f"{key} {text}" for key, text in pairs if text)[:_LONGEST_HELD]


def _children(value: JsonValue, indent: int, depth: int) -> Iterator[ValueLine | _Item]:
    """Lines of what is in a value, and what has lines of its own."""
    if isinstance(value, Mapping):
        yield from _of_mapping(value, indent, depth)
        return
    assert isinstance(value, Sequence)
    pad = " " * indent
    for i, item in enumerate(value):
        text = _inline(item, depth)
        mark = f"{pad}- "
        if text is not None:
            yield ValueLine(mark + text, len(mark), indent + _STEP)
        else:
            yield f"{mark}#{i}", item, indent, depth


def _of_mapping(
    value: Mapping[str, JsonValue], indent: int, depth: int
) -> Iterator[ValueLine | _Item]:
    pad = " " * indent
    texts = {key: _inline(item, depth) for key, item in value.items()}
    keys = {key: escape(key) or '""' for key in value}
    widths = [display_width(keys[key]) for key, text in texts.items() if text is not None]
    width = min(max(widths, default=0), _WIDEST_KEY)
    for key, item in value.items():
        text, name = texts[key], keys[key]
        if text is None:
            yield pad + name, item, indent, depth
            continue
        head = f"{pad}{name}{' ' * (width - display_width(name))}  "
        yield ValueLine(head + text, len(head), min(indent + width + _STEP, _WIDEST_KEY))


def _inline(value: JsonValue, depth: int) -> str | None:
    """A value as the rest of a line; None where it needs lines of its own."""
    if _is_scalar(value):
        return scalar_text(value)
    if not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    if depth >= _DEEPEST:
        return escape(_as_json(value))
    if isinstance(value, Mapping):
        return None
    assert isinstance(value, Sequence)
    if len(value) > _INLINE or not all(map(_is_scalar, value)):
        return None
    text = f"[{', '.join(map(scalar_text, value))}]"
    return text if len(text) <= _INLINE else None


def _as_json(value: JsonValue) -> str:
    try:
        return to_json(value)
    except RecursionError:
        return "..."


def _is_scalar(value: JsonValue) -> bool:
    return value is None or isinstance(value, (str, int, float))


MARK: Final = "• "
"""Before the name of a field that changed."""
_NO_MARK: Final = "  "
_NONE: Final = "none"
_DEEPEST_COMPARED: Final = 8
"""The deepest level that is compared by its members; deeper levels are compared as a whole."""


class _Absent:
    """The value of a field that is missing."""


_ABSENT: Final = _Absent()
_Value: TypeAlias = "JsonValue | _Absent"


def changed_lines(old: JsonValue, new: JsonValue) -> Iterator[ValueLine]:
    """The lines of a value, marked where it differs from an older or newer one.

    Args:
        old: The value of the lower offset.
        new: The value of the higher offset.

    Yields:
        Lines as `value_lines` has them, all indented by the width of the mark. A field that
        differs has both values on its line.
    """
    before, after = inline_text(old), inline_text(new)
    if before is not None and after is not None:
        changed = before != after
        text = f"{before}{ARROW}{after}" if changed else after
        yield ValueLine((MARK if changed else _NO_MARK) + text, indent=_STEP, is_marked=changed)
    else:
        yield from _fields(old, new, 0, 0)


def _fields(old: _Value, new: _Value, indent: int, depth: int) -> Iterator[ValueLine]:
    """The fields of two values, or the items of two lists."""
    before, after = _named(old), _named(new)
    names = list(dict.fromkeys([*after, *before]))
    shown = {name: escape(name) or '""' for name in names}
    texts = {name: (_text(before, name), _text(after, name)) for name in names}
    inline = [name for name, sides in texts.items() if None not in sides]
    width = min(max((display_width(shown[name]) for name in inline), default=0), _WIDEST_KEY)
    for name in names:
        sides, pad = texts[name], " " * indent
        if name in inline:
            changed = sides[0] != sides[1]
            head = f"{pad}{shown[name]}{' ' * (width - display_width(shown[name]))}  "
            text = ARROW.join(map(str, sides)) if changed else str(sides[1])
            yield _line(
                head,
                text,
                min(indent + width + _STEP, _WIDEST_KEY),
                changed=changed,
            )
            continue
        a, b = before.get(name, _ABSENT), after.get(name, _ABSENT)
        changed = a != b
        # One that only one value has is told by its head; its own lines are not compared.
        verb = "created" if isinstance(a, _Absent) else "removed" if isinstance(b, _Absent) else ""
        head = pad + shown[name]
        yield _line(
            head + _STEP * " " if verb else head,
            verb,
            indent + _STEP,
            changed=changed,
        )
        if changed and not verb and depth < _DEEPEST_COMPARED:
            yield from _fields(a, b, indent + _STEP, depth + 1)
        else:
            yield from _as_it_is(a if isinstance(b, _Absent) else b, indent + _STEP)


def _line(head: str, text: str, indent: int, *, changed: bool) -> ValueLine:
    mark = MARK if changed else _NO_MARK
    return ValueLine(mark + head + text, len(mark + head), indent + len(mark), is_marked=changed)


def _as_it_is(value: _Value, indent: int) -> Iterator[ValueLine]:
    """The lines of a value that is not compared."""
    assert not isinstance(value, _Absent)
    pad = _NO_MARK + " " * indent
    for line in value_lines(value):
        yield ValueLine(pad + line.text, line.key and line.key + len(pad), line.indent + len(pad))


def _named(value: _Value) -> Mapping[str, _Value]:
    """The fields of a mapping; the items of a list by their numbers; any other under no name."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {f"- #{i}": item for i, item in enumerate(value)}
    return {} if isinstance(value, _Absent) or value is None else {"": value}


def _text(fields: Mapping[str, _Value], name: str) -> str | None:
    """A field on one line; None where it needs more."""
    value = fields.get(name, _ABSENT)
    return _NONE if isinstance(value, _Absent) else inline_text(value)


_FACTS: Final = ("offset", "time", "epoch", "type", "version", "control", "topic", "file", "pos")


def record_lines(cluster: Source, table: pa.Table) -> Iterator[ValueLine]:
    """The lines of a record.

    Args:
        cluster: Where it is from.
        table: Its row, with all columns that ``log`` has.
    """
    row = row_at(table, 0)
    facts = {}
    for name in _FACTS:
        if row[name] is not None and row[name] is not False:
            facts[name] = shown_texts(table.column(name))[0].as_py()
    width = max(map(len, facts))
    for name, text in facts.items():
        head = f"{name:<{width}}  "
        yield ValueLine(head + text, len(head), width + 2)
    data = None if row["data"] is None else json.loads(row["data"])
    if data:
        yield ValueLine("")
        yield ValueLine("data", 4)
        for line in value_lines(with_words(row["type"] or "", data)):
            yield ValueLine(f"  {line.text}", line.key + 2 if line.key else 0, line.indent + 2)
    if row["error"] is not None:
        yield ValueLine("")
        yield ValueLine(f"not decoded: {escape(row['error'])}")
    yield from _bytes(cluster, row["offset"], data)


def _bytes(cluster: Source, offset: int, data: Any) -> Iterator[ValueLine]:
    try:
        raw = raw_value(cluster, offset, data)
    except MetashellError as error:
        raw = error_message(error)
    if raw is None:
        return
    yield ValueLine("")
    if isinstance(raw, str):
        yield ValueLine(f"bytes  {raw}", 5)
        return
    yield ValueLine(f"bytes  {len(raw):,}", 5)
    for line in hex_lines(raw):
        yield ValueLine(f"  {line}", 6)


def raw_value(
    cluster: Source, offset: int, data: Mapping[str, object] | None
) -> bytes | str | None:
    """A record's whole value; why it is not shown, or None where it is not at hand.

    Args:
        cluster: Where it is from.
        offset: Its offset.
        data: Its decoded fields, None where it can't be decoded.
    """
    records = cluster.full_log.newest.image.records
    frames = records.frames
    for row in np.flatnonzero(frames.offset[:] == offset).tolist():
        if records.file_of(row).end_offset is not None:
            continue  # of a checkpoint, which counts for itself
        hidden = hidden_raw(records, cluster.redaction, row, data)
        return records.raw(row) if hidden is None else hidden
    return None
