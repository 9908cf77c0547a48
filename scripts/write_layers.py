#!/usr/bin/env python3
"""Write the diagram of layers into the document that shows it.

The layers are those of import-linter's contract in pyproject.toml; what a package owns is the first
line of its docstring. A test compares the document: run this after a layer has changed.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "design" / "architecture.md"
_BLOCK: Final = re.compile(r"(<!-- layers -->\n```text\n).*?(?=```\n)", re.DOTALL)


def render() -> str:
    """A line for each package, the highest layer first; a blank line between layers."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each["type"] == "layers"]
    packages = [[name.strip() for name in re.split(r"[|:]", layer)] for layer in layers]
    width = max(len(name) for layer in packages for name in layer)
    blocks = [[f"{name:<{width}}  {_owns(name)}".rstrip() for name in layer] for layer in packages]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _owns(name: str) -> str:
    """The first sentence of what a package or module says of itself."""
    path = ROOT / "src" / "metashell" / name
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def written(page: str) -> str:
    """A page's text with the diagram as it is now.

    Raises:
        ValueError: The page has no place for it.
    """
    text, n = _BLOCK.subn(lambda found: found[1] + render(), page)
    if n != 1:
        raise ValueError(f"{n} places for the layers, not one")
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
