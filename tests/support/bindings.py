"""All keys of the explorer."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from textual.binding import Binding
from textual.dom import DOMNode

import metashell.tui


def declared_bindings() -> list[tuple[str, Binding]]:
    """What the classes of the explorer bind themselves, each key by itself, with the class."""
    return [
        (kind.__name__, binding)
        for module in _modules()
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, DOMNode)
        and kind.__module__ == module.__name__
        for binding in Binding.make_bindings(vars(kind).get("BINDINGS", ()))
    ]


def all_bindings() -> list[Binding]:
    """The same without the classes."""
    return [binding for _, binding in declared_bindings()]


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(metashell.tui.__path__, "metashell.tui."):
        yield importlib.import_module(found.name)


def ids() -> list[str]:
    """What each of them is called."""
    return sorted({binding.id for binding in all_bindings() if binding.id is not None})


def shown(key: str) -> str:
    """A key as documents name it."""
    return _CHARACTERS.get(key, key)


def table() -> str:
    """The table of keys in Markdown, as docs/reference/keys.md has it."""
    keys: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for binding in all_bindings():
        if binding.id is None:
            continue
        if binding.tooltip or binding.id not in words:
            words[binding.id] = binding.tooltip or binding.description.lower()
        key = f"`{shown(binding.key)}`"
        if key not in keys.setdefault(binding.id, []):
            keys[binding.id].append(key)
    rows = [f"| `{name}` | {', '.join(keys[name])} | {words[name]} |" for name in sorted(keys)]
    return "\n".join(["| name | keys | what it does |", "| --- | --- | --- |", *rows])


_CHARACTERS = {
    "at": "@",
    "equals_sign": "=",
    "colon": ":",
    "greater_than_sign": ">",
    "comma": ",",
    "exclamation_mark": "!",
    "full_stop": ".",
    "left_curly_bracket": "{",
    "left_parenthesis": "(",
    "left_square_bracket": "[",
    "less_than_sign": "<",
    "minus": "-",
    "plus": "+",
    "question_mark": "?",
    "right_curly_bracket": "}",
    "right_parenthesis": ")",
    "right_square_bracket": "]",
    "slash": "/",
}
