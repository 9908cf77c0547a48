"""Two values of a node as lines: ``old → new`` where they differ. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from metashell.commands.shared.columns import display_width
from metashell.fs.change_texts import ARROW
from metashell.fs.escape import escape
from metashell.fs.node import JsonValue
from metashell.tui.node.value import ValueLine, inline_text, value_lines

MARK: Final = "• "
"""Before the name of a field that changed."""
_NO_MARK: Final = "  "
_NONE: Final = "none"
_STEP: Final = 2
_WIDEST_KEY: Final = 32
_DEEPEST: Final = 8
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
            yield _line(head, text, min(indent + width + _STEP, _WIDEST_KEY), changed=changed)
            continue
        a, b = before.get(name, _ABSENT), after.get(name, _ABSENT)
        changed = a != b
        # One that only one value has is told by its head; its own lines are not compared.
        verb = "created" if isinstance(a, _Absent) else "removed" if isinstance(b, _Absent) else ""
        head = pad + shown[name]
        yield _line(head + _STEP * " " if verb else head, verb, indent + _STEP, changed=changed)
        if changed and not verb and depth < _DEEPEST:
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
