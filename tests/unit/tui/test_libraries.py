"""The explorer uses the public names of its libraries alone, so that new releases fit."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from functools import cache
from pathlib import Path
from typing import Final

from metashell import tui

_LIBRARIES: Final = ("textual", "rich")
_SHARED: Final = frozenset({"_abc_impl"})
"""Names that Python itself gives classes; Textual's metaclass adds those that begin with these."""
_MADE: Final = (
    "_inherit_",
    "_css_",
    "_reactives",
    "_merged_",
    "_computes",
    "_decorated_",
    "_has_",
    "_default_",
)


def is_private(name: str) -> bool:
    """Whether a name is its owner's alone."""
    return name.startswith("_") and not name.startswith("__")


@cache
def asked_of_self(module: str) -> dict[str, set[str]]:
    """Names that the classes of a module ask of `self`, by the class."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        kind.name: {
            node.attr
            for node in ast.walk(kind)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        }
        for kind in ast.walk(tree)
        if isinstance(kind, ast.ClassDef)
    }


def of_self(kind: type) -> set[str]:
    """Names that a class has of its own, or its methods ask of `self`, and that are private."""
    asked = asked_of_self(kind.__module__)[kind.__name__]
    return {name for name in asked | set(vars(kind)) if is_private(name)}


def is_of_library(module: str) -> bool:
    """Whether a module is one of theirs."""
    return module.partition(".")[0] in _LIBRARIES


def test_no_private_module_is_imported() -> None:
    """No part of an imported name begins with an underscore."""
    found = []
    for path in Path(tui.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [
                f"{path.name}: {name}"
                for name in names
                if is_of_library(name) and any(map(is_private, name.split(".")))
            ]
    assert [] == found


def test_no_private_name_is_used_or_replaced() -> None:
    """What a library's class keeps for itself is neither asked of `self` nor defined anew."""
    for module in pkgutil.walk_packages(tui.__path__, "metashell.tui."):
        importlib.import_module(module.name)
    kinds = {
        kind
        for name, module in list(sys.modules.items())
        if name.startswith("metashell.tui.")
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == name
    }
    theirs = {
        base: of_self(base)
        for kind in kinds
        for base in kind.__mro__
        if is_of_library(base.__module__)
    }
    found = [
        f"{kind.__module__}.{kind.__name__}.{name}"
        for kind in kinds
        for base in kind.__mro__
        if base in theirs
        for name in of_self(kind) & theirs[base] - _SHARED
        if not name.startswith(_MADE)
    ]
    assert [] == sorted(set(found))
