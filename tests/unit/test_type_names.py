"""Each public type has a name of its own in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import metashell

SRC = Path(metashell.__file__).parent


def public_types(text: str) -> list[str]:
    """Names of classes and type aliases at the top of a module."""
    names = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            names.append(ast.unparse(node.target))
    return [name for name in names if not name.startswith("_")]


@pytest.mark.long
def test_each_public_type_has_a_name_of_its_own() -> None:
    """A name that means two things has to be explained wherever it stands."""
    modules = defaultdict(list)
    for path in sorted(SRC.rglob("*.py")):
        for name in public_types(path.read_text("utf-8")):
            modules[name].append(str(path.relative_to(SRC)))
    assert {} == {name: where for name, where in modules.items() if len(where) > 1}


def test_the_check_itself_sees_types() -> None:
    """Classes and aliases, but what is private."""
    text = "class A: ...\nclass _B: ...\nC: TypeAlias = int\nD: int = 1\n"
    assert ["A", "C"] == public_types(text)
