"""Text in lines of a terminal's width: it breaks between words, and within no word that fits."""

from __future__ import annotations

import re
from typing import Final

from metashell.commands.shared.columns import display_width

_NAME_SIGNS: Final = "._:@-"
_PIECES: Final = (
    re.compile(r"[,;]*[^,;]+[,;]*"),
    re.compile(r"[/=]*[^/=]+[/=]*"),
    # Addresses and releases stay whole: nothing breaks before a digit.
    re.compile(
        rf"[{_NAME_SIGNS}]*[^{_NAME_SIGNS}]+"
        rf"(?:[{_NAME_SIGNS}]+(?=\d)[^{_NAME_SIGNS}]+)*[{_NAME_SIGNS}]*"
    ),
)
"""A word that is too wide breaks behind signs: between the entries of a list, then within a path,
then within a name.
"""

_COMMAND: Final = re.compile("`[^`]*`")
_NO_BREAK: Final = "\0"
"""Stands for a space at which no line breaks; no text that a terminal is sent has it."""
_LEAST_SENTENCE: Final = 20


def pieces(word: str, width: int = 0) -> list[str]:
    """The pieces of a word, each with the signs behind it; as few as a width lets."""
    found = [word]
    for pattern in _PIECES:
        found = [
            piece
            for one in found
            for piece in ([one] if display_width(one) <= width else pattern.findall(one) or [one])
        ]
    return found


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of a text.

    A word that is wider than a line breaks behind a sign, such as a slash. A piece that is still
    wider has a line of its own.

    Args:
        text: Has no line ends.
        width: How wide a line is.
        indent: The beginning of each line but the first.
    """
    lines, line = [""], ""
    for word in text.split(" "):
        if line.strip() and display_width(f"{line} {word}") <= width:
            line = f"{line} {word}"
        else:
            lines[-1:] = [line] if line.strip() else []
            start = indent if lines else ""
            line = start
            for piece in pieces(word, width - len(indent)):
                if line != start and display_width(line + piece) > width:
                    lines.append(line)
                    start = line = indent
                line += piece
            lines.append("")
    return [*lines[:-1], line]


def sentence_lines(text: str, width: int) -> list[str]:
    """The lines of a sentence, such as a diagnostic, as far to the right as it begins itself.

    A command between backticks stays on one line.
    """
    start = " " * (len(text) - len(text.lstrip(" ")))
    held = _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), text.lstrip(" "))
    lines = wrapped(held, max(width - len(start), _LEAST_SENTENCE), "  ")
    return [start + line.replace(_NO_BREAK, " ") for line in lines]
