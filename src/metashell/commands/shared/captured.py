"""Outputs that keep what a command writes, for those who show it among other things."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Output
from metashell.dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


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


@dataclass(slots=True)
class CapturedAnswer(Captured):
    """The kept text, rows and verdicts of a command, as a `VerdictOutput`."""

    tables: list[pa.Table] = field(default_factory=list)
    verdicts: list[Iterable[str]] = field(default_factory=list)

    def take(self, table: pa.Table) -> None:
        """Keep a table."""
        self.tables.append(table)

    def take_verdict(self, verdict: Iterable[str]) -> None:
        """Keep a verdict."""
        self.verdicts.append(verdict)
