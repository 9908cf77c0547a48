"""Words by which the palette finds views and keys: sentences of their help."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Final

from textual.dom import DOMNode
from textual.widget import Widget

from metashell.tui.view import VIEWS, View

_SENTENCE: Final = re.compile(r"(?<=[.:;])\s+|\n\s*\n|\n- ")
_WORD: Final = re.compile(r"\w[\w-]*")
_SHARED: Final = ("metashell.tui.rows.", "metashell.tui.frame.", "textual.")
"""Where parts are that many views have."""


def speaks_of(text: str, query: str) -> bool:
    """Whether each word of a query begins a word of a text."""
    asked = _WORD.findall(query.casefold())
    said = _WORD.findall(text.casefold())
    return bool(asked) and all(any(word.startswith(part) for word in said) for part in asked)


def words_of_key(node: DOMNode, keys: str) -> tuple[str, ...]:
    """What the help of a part says of a key, in sentences."""
    is_view = isinstance(node, View)
    said = words_of_view(str(node.id)) if is_view else sentences(getattr(node, "HELP", None) or "")
    marked = [f"`{key}`" for key in keys.split(",")]
    return tuple(text for text in said if any(mark in text for mark in marked))


@cache
def words_of_view(view_id: str) -> tuple[str, ...]:
    """What the help of a view and of its parts says, in sentences."""
    spec = next(spec for spec in VIEWS if spec.id == view_id)
    found = vars(importlib.import_module(spec.module)).values()
    parts = [part for part in found if isinstance(part, type) and issubclass(part, Widget)]
    helps = dict.fromkeys(
        part.HELP for part in parts if part.HELP and not part.__module__.startswith(_SHARED)
    )
    return tuple(text for help in helps for text in sentences(help))


def sentences(help: str) -> tuple[str, ...]:
    """A help in Markdown, sentence by sentence, each in a line."""
    return tuple(" ".join(part.split()) for part in _SENTENCE.split(help) if part.strip())
