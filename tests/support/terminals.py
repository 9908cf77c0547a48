"""A terminal as a command's output, without a pseudo-terminal: one-shot commands see such a one."""

from __future__ import annotations

from dataclasses import dataclass, field

from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.sources.fleet.source import FleetSource
from metashell.sources.source import Source


@dataclass
class Drawable:
    """An output that a person looks at; it satisfies `Canvas` and `PagedOutput`."""

    width: int = 80
    height: int = 10_000
    has_pager: bool = False
    is_terminal: bool = True
    parts: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Keep a piece of text."""
        self.parts.append(text)

    def paint(self, text: str) -> None:
        """Keep it too."""
        self.parts.append(text)

    def flush(self) -> None:
        """Nothing is held back."""

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self.parts)


@dataclass(frozen=True)
class NodeInspector:
    """What a person sees."""

    status: int
    text: str
    err: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.splitlines()


def see(
    source: Source | FleetSource,
    line: str,
    width: int = 80,
    *,
    height: int = 10_000,
    has_pager: bool = False,
) -> NodeInspector:
    """Run a command line on a terminal of that size."""
    out = Drawable(width, height, has_pager)
    warnings: list[str] = []
    context = Context(root=source.root, out=out, warn=warnings.append)
    context.show(source)
    status = run_line(context, line)
    return NodeInspector(status, out.text, tuple(warnings))
