"""Colours of what is interactive: the roles that have one, and the built-in themes.

A style is written as prompt_toolkit takes it: words such as ``bold``, ``ansicyan``, ``#ff8800`` or
``bg:ansiblack``. Only data and its check: what a role is drawn as is the front end's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

DEFAULT: Final = "default"
MONO: Final = "mono"

_DEFAULT: Final[dict[str, str]] = {
    # The terminal's own palette, so that dark and light backgrounds both work.
    "prompt.program": "bold",
    "prompt.source": "ansicyan",
    "prompt.path": "ansiblue bold",
    "prompt.failed": "ansired bold",
    "line.command": "ansigreen bold",
    "line.unknown": "ansired",
    "line.option": "ansicyan",
    "line.path": "underline",
    "line.quote": "ansiyellow",
    "line.bar": "ansimagenta bold",
    "line.shell": "ansimagenta",
    "line.comment": "ansibrightblack",
    "suggestion": "ansibrightblack",
    "toolbar.text": "ansibrightblack",
    "toolbar.note": "ansiyellow",
}

THEMES: Final[Mapping[str, Mapping[str, str]]] = {
    DEFAULT: _DEFAULT,
    "dark": _DEFAULT
    | {
        "prompt.source": "ansibrightcyan",
        "prompt.path": "ansibrightblue bold",
        "prompt.failed": "ansibrightred bold",
        "line.command": "ansibrightgreen bold",
        "line.unknown": "ansibrightred",
        "line.option": "ansibrightcyan",
        "line.quote": "ansibrightyellow",
        "line.bar": "ansibrightmagenta bold",
        "line.shell": "ansibrightmagenta",
        "line.comment": "ansigray",
        "suggestion": "ansigray",
        "toolbar.text": "ansigray",
        "toolbar.note": "ansibrightyellow",
    },
    "light": _DEFAULT
    | {
        "prompt.source": "#005f87",
        "prompt.path": "#0000af bold",
        "prompt.failed": "#af0000 bold",
        "line.command": "#005f00 bold",
        "line.unknown": "#af0000",
        "line.option": "#005f87",
        "line.quote": "#875f00",
        "line.bar": "#870087 bold",
        "line.shell": "#870087",
        "line.comment": "#626262",
        "suggestion": "#767676",
        "toolbar.text": "#626262",
        "toolbar.note": "#875f00 bold",
    },
    MONO: dict.fromkeys(_DEFAULT, "")
    | {
        "prompt.program": "bold",
        "prompt.path": "bold",
        "prompt.failed": "reverse",
        "line.command": "bold",
        "line.unknown": "reverse",
        "line.path": "underline",
        "line.bar": "bold",
        "line.comment": "italic",
        "suggestion": "italic",
        "toolbar.note": "bold",
    },
    "solarized": _DEFAULT
    | {
        "prompt.source": "#2aa198",
        "prompt.path": "#268bd2 bold",
        "prompt.failed": "#dc322f bold",
        "line.command": "#859900 bold",
        "line.unknown": "#dc322f",
        "line.option": "#2aa198",
        "line.quote": "#b58900",
        "line.bar": "#d33682 bold",
        "line.shell": "#d33682",
        "line.comment": "#93a1a1",
        "suggestion": "#93a1a1",
        "toolbar.text": "#93a1a1",
        "toolbar.note": "#cb4b16",
    },
}
"""Style of each role, by the theme's name; each has every role."""

ROLES: Final = tuple(_DEFAULT)
"""The names of the roles; each role has a style."""

_COLOUR: Final = (
    r"ansi(?:default|black|white|gray|(?:bright)?(?:red|green|yellow|blue|magenta|cyan)|brightblack)"
    r"|#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6}"
)
_WORD: Final = re.compile(
    rf"(?:no)?(?:bold|italic|underline|reverse|strike|blink)|(?:fg:|bg:)?(?:{_COLOUR})"
)


def style_fault(style: str) -> str | None:
    """The first word of a style that means nothing, or None."""
    return next((word for word in style.split() if not _WORD.fullmatch(word)), None)
