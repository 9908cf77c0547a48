"""Puts into a wheel what is made from the program's own tables: its manual page.

Needs nothing but hatchling and the sources. What it makes lies in a temporary directory, so that a
build leaves nothing behind in the tree.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_MANUAL = "share/man/man1/metashell.1"
_COMPLETIONS = {
    "metashell.bash": "share/bash-completion/completions/metashell",
    "metashell.zsh": "share/zsh/site-functions/_metashell",
    "metashell.fish": "share/fish/vendor_completions.d/metashell.fish",
}


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the manual page and the completions of shells to the wheel's data."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the page before the wheel is written."""
        sources = Path(self.root) / "src"
        sys.path.insert(0, str(sources))
        writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            from metashell.cli.man_page import render
        finally:
            sys.path.remove(str(sources))
            sys.dont_write_bytecode = writes_none
        self._made = tempfile.TemporaryDirectory()
        page = Path(self._made.name) / "metashell.1"
        page.write_text(render(), encoding="ascii", newline="\n")
        shared = {str(page): _MANUAL}
        for name, place in _COMPLETIONS.items():
            shared[str(sources / "metashell" / "completions" / name)] = place
        build_data["shared_data"].update(shared)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the page: it is in the wheel now."""
        self._made.cleanup()
