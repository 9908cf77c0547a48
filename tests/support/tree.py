"""Trees of nodes in memory from nested dicts, with and without grids.

The same dict gives two trees that must look the same: in the one, every directory whose subtree has
that form answers `Directory.grid`; in the other none does. Both count the children they were asked
for, so that a test can say what must not be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from metashell.commands.framework.command import Context
from metashell.fs.node import Directory, Grid, Leaf, Node

Spec: TypeAlias = "Mapping[str, Spec | str | None]"
"""Names to directories, to texts, or to None for a child that is listed but not there."""


class MemoryLeaf(Leaf):
    """A leaf with a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def text(self) -> str:
        return self._text


class MemoryDirectory(Directory):
    """A directory over a dict."""

    def __init__(self, spec: Spec, *, grids: bool) -> None:
        self.opened: list[str] = []
        """Names that `child` was asked for."""
        self._spec = spec
        self._grids = grids
        self._names = sorted(spec)
        self._made: dict[str, Node] = {}

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        self.opened.append(name)
        value = self._spec.get(name)
        if value is None:
            return None
        if name not in self._made:
            self._made[name] = (
                MemoryLeaf(value)
                if isinstance(value, str)
                else MemoryDirectory(value, grids=self._grids)
            )
        return self._made[name]

    def grid(self) -> Grid | None:
        if not self._grids or not self._spec:
            return None
        shapes: dict[tuple[str, ...], int] = {}
        shape_of = []
        for name in self._names:
            value = self._spec[name]
            if not isinstance(value, Mapping):
                return None
            if not all(isinstance(leaf, str) for leaf in value.values()):
                return None
            shape_of.append(shapes.setdefault(tuple(sorted(value)), len(shapes)))
        return Grid(self, self._names, list(shapes), shape_of)


def tree(spec: Spec, *, grids: bool = False) -> MemoryDirectory:
    """Make a tree of nodes."""
    return MemoryDirectory(spec, grids=grids)


@dataclass
class MemoryOutput:
    """An output that keeps what is written."""

    is_terminal: bool = False
    width: int = 80
    pieces: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        self.pieces.append(text)

    def flush(self) -> None:
        pass

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass
class Session:
    """A context, and all that commands said in it."""

    context: Context
    out: MemoryOutput
    warnings: list[str]

    def run(self, line: str) -> int:
        """Run a line and return its exit code."""
        from metashell.commands.framework.run import run_line

        return run_line(self.context, line)

    def output(self, line: str) -> str:
        """Run a line that must succeed and return what it printed."""
        self.out.pieces.clear()
        assert (0, []) == (self.run(line), self.warnings)
        return self.out.text


def session(
    root: Directory | Spec,
    *,
    grids: bool = False,
    terminal: bool = False,
    width: int = 80,
    cwd: str = "/",
    interactive: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
) -> Session:
    """Make a session over a tree."""
    directory = root if isinstance(root, Directory) else tree(root, grids=grids)
    out = MemoryOutput(terminal, width)
    warnings: list[str] = []
    context = Context(
        root=directory,
        out=out,
        warn=warnings.append,
        cwd=cwd,
        interactive=interactive,
        cancelled=cancelled,
    )
    return Session(context, out, warnings)
