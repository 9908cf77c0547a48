r"""How hostile text is shown to a person, and how any text becomes bytes for a program.

Names and values of a cluster can hold anything. On a terminal, characters that steer it or reorder
what is read are shown as escapes (``\x1b``, ``\u202e``); in a pipe they go out as they are. Every
output that is a terminal passes what it is given through `for_terminal`. This module only rewrites
strings; it must never decide whether a reader is a terminal.

A backslash stays as it is: Kafka's own names are full of them, and an escape is for the eye, not
for reading back (`metashell.fs.path.encode_name` is).
"""

from __future__ import annotations

import re

UNSAFE = "\\x00-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Inside of a regular expression's character class: C0, DEL, C1, line and paragraph separators,
bidirectional controls, lone surrogates."""

_UNSAFE_IN_NAME = re.compile(f"[{UNSAFE}]")
_UNSAFE_IN_TEXT = re.compile(f"(?![\n\t])[{UNSAFE}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_LAST_IN_A_BYTE = 0xFF


def escape(name: str) -> str:
    """Escape all unsafe characters, tabs and line ends too: for names, paths, diagnostics.

    Cost: strings of printable ASCII return at once.
    """
    if name.isascii() and name.isprintable():
        return name
    return _UNSAFE_IN_NAME.sub(_escaped, name)


def escape_text(text: str) -> str:
    """Escape unsafe characters but for tabs and line feeds: for the text of a leaf."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE_IN_TEXT.sub(_escaped, text)


def diagnostic(text: str) -> str:
    """A line for people beside the data: one line, whatever is in it, without credentials."""
    # Late: `--help` escapes, too, and needs no URIs.
    from metashell.places.uri import without_credentials

    return escape(without_credentials(text))


class Coloured(str):
    """Text with colour sequences of the program's own; all data in it is escaped already.

    Made last: what is cut from it or joined with it is plain text again.
    """

    __slots__ = ()


def for_terminal(text: str) -> str:
    """Text as a terminal may be sent it: unsafe characters escaped, but for `Coloured` text."""
    return text if isinstance(text, Coloured) else escape_text(text)


def to_bytes(text: str) -> bytes:
    """Encode text as UTF-8 for a pipe or a file, without ever failing.

    Bytes that came in as surrogates by way of the command line go out as they came; other lone
    surrogates become the three bytes that a lenient UTF-8 encoder writes.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        pass
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{code:02x}" if code <= _LAST_IN_A_BYTE else f"\\u{code:04x}"
