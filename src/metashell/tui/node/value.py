"""A node's value as lines that a person reads: keys aligned, lists and mappings indented. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from metashell.commands.shared.columns import display_width
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.change_texts import ARROW
from metashell.fs.escape import escape, escape_text
from metashell.fs.node import Directory, JsonValue, Node
from metashell.schema.dump import java_double, to_json
from metashell.tui.text import error_message

if TYPE_CHECKING:
    pass


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

MARK: Final = "• "
"""Before the name of a field that changed."""
_NO_MARK: Final = "  "
_NONE: Final = "none"


class _Absent:
    """The value of a field that is missing."""


_ABSENT: Final = _Absent()
_Value: TypeAlias = "JsonValue | _Absent"


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


def clipped(lines: Iterable[ValueLine]) -> tuple[list[ValueLine], bool]:
    """The lines up to the limits of lines and characters, a long one cut; and whether it is all."""
    kept: list[ValueLine] = []
    left = MOST_CHARACTERS
    for line in lines:
        if len(kept) >= MOST_LINES or left <= 0:
            return kept, False
        kept.append(replace(line, text=line.text[:left]))
        left -= len(line.text)
    return kept, left >= 0


def text_lines(text: str) -> Iterator[ValueLine]:
    """The lines of a text, with unsafe characters escaped."""
    for line in text.split("\n"):
        yield ValueLine(escape_text(line).expandtabs(_TAB))


def value_lines(value: JsonValue) -> Iterator[ValueLine]:
    """The lines of a value."""
    return _lines(value, value, "")


def changed_lines(old: JsonValue, new: JsonValue) -> Iterator[ValueLine]:
    """The lines of a value, marked where it differs from an older or newer one.

    Args:
        old: The value of the lower offset.
        new: The value of the higher offset.

    Yields:
        Lines as `value_lines` has them, all indented by the width of the mark. A field that
        differs has both values on its line.
    """
    return _lines(old, new, _NO_MARK)


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


def _lines(old: JsonValue, new: JsonValue, margin: str) -> Iterator[ValueLine]:
    """The lines of two values, behind a margin; both are the same where nothing is compared."""
    sides = inline_text(old), inline_text(new)
    if None in sides:
        yield from _fields(old, new, 0, 0, margin)
    else:
        yield _line("", _told(*sides), 0, margin, changed=sides[0] != sides[1])


def _fields(old: _Value, new: _Value, indent: int, depth: int, margin: str) -> Iterator[ValueLine]:
    """The lines of the fields of two values, or of the items of two lists."""
    before, after = _named(old), _named(new)
    pad, below = " " * indent, indent + _STEP
    width = min(max(_widths(after, depth), default=0), _WIDEST_KEY)
    for name in {**after, **before}:
        a, b = before.get(name, _ABSENT), after.get(name, _ABSENT)
        sides, called = (_inline(a, depth), _inline(b, depth)), _called(name)
        if None not in sides:
            head, at = f"{pad}- ", below
            if isinstance(name, str):
                head = f"{pad}{called}{' ' * (width - display_width(called))}  "
                at = min(below + width, _WIDEST_KEY)
            yield _line(head, _told(*sides), at, margin, changed=sides[0] != sides[1])
            continue
        # One that only one value has is told by its head; its own lines are not compared.
        verb = "created" if isinstance(a, _Absent) else "removed" if isinstance(b, _Absent) else ""
        yield _line(f"{pad}{called}{'  ' * bool(verb)}", verb, below, margin, changed=a != b)
        one = b if isinstance(a, _Absent) else a
        yield from _fields(one, one if verb else b, below, depth + 1, margin)


def _told(before: str | None, after: str | None) -> str:
    """The text of a value, or of what it was and is."""
    return f"{before}{ARROW}{after}" if before != after else str(after)


def _line(head: str, text: str, indent: int, margin: str, *, changed: bool) -> ValueLine:
    mark = MARK if changed else margin
    key = len(mark + head) if head else 0
    return ValueLine(mark + head + text, key, indent + len(mark), is_marked=changed)


def _named(value: _Value) -> Mapping[str | int, _Value]:
    """The fields of a mapping; the items of a list by their numbers; any other under no name."""
    if isinstance(value, Mapping):
        return value  # type: ignore[return-value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return dict(enumerate(value))
    return {} if isinstance(value, _Absent) or value is None else {"": value}


def _called(name: str | int) -> str:
    return f"- #{name}" if isinstance(name, int) else escape(name) or '""'


def _widths(fields: Mapping[str | int, _Value], depth: int) -> Iterator[int]:
    """Columns of the names of fields that have a line with their value."""
    for name, item in fields.items():
        if isinstance(name, str) and _inline(item, depth) is not None:
            yield display_width(_called(name))


def _inline(value: _Value, depth: int) -> str | None:
    """A value as the rest of a line; None where it needs lines of its own."""
    if isinstance(value, _Absent):
        return _NONE
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
