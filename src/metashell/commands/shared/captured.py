"""An output that keeps what a command writes, for a command that shows it in its own page."""

from __future__ import annotations

from dataclasses import field

from metashell.commands.framework.command import Output
from metashell.dataclass import dataclass


@dataclass(slots=True)
class Captured:
    """The kept text of a command that runs inside another one."""

    is_terminal: bool
    width: int
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    @classmethod
    def like(cls, out: Output) -> Captured:
        """An output as wide as another one."""
        return cls(out.is_terminal, out.width)

    def write(self, text: str) -> None:
        """Keep a piece of text."""
        self.pieces.append(text)
        self.size += len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self.pieces)
