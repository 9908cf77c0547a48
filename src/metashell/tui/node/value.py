"""A node's value as lines that a person reads: keys aligned, lists and mappings indented. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from metashell.commands.shared.columns import display_width
from metashell.dataclass import dataclass
from metashell.fs.escape import escape, escape_text
from metashell.fs.node import JsonValue
from metashell.schema.dump import java_double, to_json

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
