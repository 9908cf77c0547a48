"""``-printf`` of ``find``: formats parsed, and filled for what was found."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.commands.shared.node_times import moment_fields
from metashell.dataclass import dataclass
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.image.touched import Moment

DIRECTIVES: Final = {
    "p": "the path",
    "P": "the path without the PATH it was found below",
    "H": "that PATH",
    "f": "the last component",
    "h": "what stands before it",
    "d": "how many levels below PATH",
    "y": "d for a directory, f for a leaf",
    "t": "the time of the last change, as ls -l shows it",
    "o": "the offset of the last change",
}
_OF_TIME: Final = frozenset("to")
_ESCAPES: Final = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}
_DIRECTIVE: Final = re.compile(r"%(-?)(\d{0,4})(?:\.(\d{1,4}))?(.?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Directive:
    """A part of a format that is replaced."""

    letter: str
    to_left: bool
    width: int
    most: int | None
    """Characters at most."""


@dataclass(frozen=True, slots=True)
class Format:
    """Text and directives, in order."""

    parts: tuple[str | Directive, ...]

    @property
    def needs_times(self) -> bool:
        """Whether it tells of the last change."""
        return any(isinstance(part, Directive) and part.letter in _OF_TIME for part in self.parts)


ROW: Final = Format(())
"""Stands for a row in place of a text."""


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A node as a format sees it."""

    start: str
    """The start as typed."""
    name: str
    """The last component as it is written."""
    depth: int
    is_dir: bool
    changed: Callable[[], Moment | None]
    """Gives the moment of its last change; None where nothing is known."""


def parse_format(text: str) -> Format:
    """Parse a format.

    Raises:
        UsageError: A directive or an escape is unknown.
    """
    parts: list[str | Directive] = []
    pos = 0
    while pos < len(text):
        character = text[pos]
        if character == "\\":
            escaped = text[pos + 1 : pos + 2]
            if escaped not in _ESCAPES:
                raise UsageError(f"-printf: unknown escape \\{escaped}", hint="\\n \\t \\0 \\\\")
            parts.append(_ESCAPES[escaped])
            pos += 2
        elif character == "%":
            match = _DIRECTIVE.match(text, pos)
            assert match is not None
            parts.append(_directive(match))
            pos = match.end()
        else:
            stop = min(
                (i for i in (text.find("\\", pos), text.find("%", pos)) if i > 0), default=len(text)
            )
            parts.append(text[pos:stop])
            pos = stop
    return Format(tuple(parts))


def _directive(match: re.Match[str]) -> str | Directive:
    flag, width, most, letter = match.groups()
    if match[0] == "%%":
        return "%"
    if letter not in DIRECTIVES:
        known = " ".join(f"%{known}" for known in DIRECTIVES)
        raise UsageError(f"-printf: unknown directive {match[0]}", hint=f"{known} %%")
    return Directive(letter, flag == "-", int(width or 0), None if most is None else int(most))


def filled(pattern: Format, path: str, found: FoundNode, shown: Callable[[str], str]) -> str:
    """A format filled for a path.

    Args:
        pattern: The format.
        path: The path as it is written.
        found: The node.
        shown: Makes a name as it goes to the output.
    """
    out = []
    for part in pattern.parts:
        if isinstance(part, str):
            out.append(part)
            continue
        text = shown(_value(part.letter, path, found))
        if part.width or part.most is not None:
            text = text[: part.most]
            text = text.ljust(part.width) if part.to_left else text.rjust(part.width)
        out.append(text)
    return "".join(out)


def _value(letter: str, path: str, found: FoundNode) -> str:
    match letter:
        case "p":
            return path
        case "P":
            return path[len(found.start) :].lstrip("/") if found.depth else ""
        case "H":
            return found.start
        case "f":
            return found.name
        case "h":
            return _above(path, found)
        case "d":
            return str(found.depth)
        case "y":
            return "d" if found.is_dir else "f"
        case _:
            return _last_change(found)[letter == "o"]


def _above(path: str, found: FoundNode) -> str:
    if found.depth:
        return path[: len(path) - len(found.name) - 1]
    above, slash, _ = path.rstrip("/").rpartition("/")
    return above if slash else "."


def _last_change(found: FoundNode) -> tuple[str, str]:
    """Time and offset of the last change."""
    time, offset, _, _ = moment_fields(found.changed())
    return time, offset
