"""Puts into a wheel what is made from sources: the manual page and the kernel's library, and the
README with links that work on a package index.

Needs nothing but hatchling and the sources; a C compiler is used where there is one. What it makes
for a wheel lies in a temporary directory, so that a build leaves nothing behind in the tree. For an
editable installation the kernel's library is written beside its modules.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_MANUAL = "share/man/man1/metashell.1"
_COMPLETIONS = {
    "metashell.bash": "share/bash-completion/completions/metashell",
    "metashell.zsh": "share/zsh/site-functions/_metashell",
    "metashell.fish": "share/fish/vendor_completions.d/metashell.fish",
}


def absolute(text: str, source: str) -> str:
    """A page of the project's root whose links and pictures have addresses of the forge.

    Args:
        text: The page, in Markdown.
        source: The address of the repository's page.
    """

    def address(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        if target.startswith(("#", "https:")):
            return match[0]
        kind = "raw" if mark else "blob"
        return f"{mark}[{words}]({source}/{kind}/main/{target})"

    return re.sub(r"(!?)\[((?:[^]\[]|`[^`]*`)*)\]\(([^)\s]+)\)", address, text)


class MetadataHook(MetadataHookInterface):
    """Makes the description that a package index shows from README.md."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        source = metadata["urls"]["Source"]
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, source)}


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the manual page, the completions of shells and the kernel's library."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Zig's C compiler only if the environment does."""
        with self._sources():
            from build_kernel import ZIG_REQUIREMENT, wants_zig
        return [ZIG_REQUIREMENT] if wants_zig() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make everything before the wheel is written."""
        self._made = tempfile.TemporaryDirectory()
        build_data["shared_data"].update(self._shared_data())
        with self._sources():
            from build_kernel import BuildError, build_beside, is_required
        try:
            if version == "editable":
                build_beside()
            else:
                self._add_kernel(build_data)
        except BuildError as error:
            if is_required():
                raise
            self.app.display_warning(f"kernel: not built, numpy does its work: {error}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the wheel now."""
        self._made.cleanup()

    def _shared_data(self) -> dict[str, str]:
        with self._sources() as sources:
            from man_page import render
        page = Path(self._made.name) / "metashell.1"
        page.write_text(render(), encoding="ascii", newline="\n")
        shared = {str(page): _MANUAL}
        for name, place in _COMPLETIONS.items():
            shared[str(sources / "metashell" / "completions" / name)] = place
        return shared

    def _add_kernel(self, build_data: dict[str, Any]) -> None:
        """Build the library for a wheel, which is then for one platform."""
        with self._sources():
            from build_kernel import build, find_compiler
            from metashell.kernel.library import is_off
        if is_off():
            return
        compiler = find_compiler()
        library = Path(self._made.name) / compiler.library
        build(compiler, library)
        build_data["force_include"][str(library)] = f"metashell/kernel/{library.name}"
        build_data["pure_python"] = False
        # Any Python loads it; `infer_tag` would name the one that builds.
        build_data["tag"] = f"py3-none-{compiler.platform}"

    @contextmanager
    def _sources(self) -> Iterator[Path]:
        """The directory of the sources, whose modules and scripts can be imported."""
        sources = Path(self.root) / "src"
        ours = [str(sources), str(Path(self.root) / "scripts")]
        sys.path[:0] = ours
        writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            yield sources
        finally:
            for place in ours:
                sys.path.remove(place)
            sys.dont_write_bytecode = writes_none
