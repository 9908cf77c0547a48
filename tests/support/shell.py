"""Running commands of the product in this process, as a pipe would see them."""

from __future__ import annotations

from dataclasses import dataclass, field

from metashell.commands.base import Context
from metashell.commands.run import run_line
from metashell.fs.node import Directory


@dataclass
class Captured:
    """An output that collects what is written."""

    is_terminal: bool = False
    width: int = 80
    parts: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Keep a piece of text."""
        self.parts.append(text)


@dataclass(frozen=True)
class Ran:
    """What a command line did."""

    status: int
    out: str
    err: tuple[str, ...]


def run(root: Directory, line: str, *, cwd: str = "/") -> Ran:
    """Run one command line on a file system."""
    captured = Captured()
    warnings: list[str] = []
    status = run_line(Context(root=root, out=captured, warn=warnings.append, cwd=cwd), line)
    return Ran(status, "".join(captured.parts), tuple(warnings))
