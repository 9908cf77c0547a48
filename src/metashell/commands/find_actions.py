"""What ``find`` does about the nodes that it found: prints, counts, runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from metashell.commands.base import Context
from metashell.commands.find_expression import (
    Act,
    Effect,
    Exec,
    Expression,
    Printf,
    Query,
)
from metashell.commands.find_printf import Found, filled
from metashell.commands.targets import shown, stop_if_cancelled

if TYPE_CHECKING:
    from metashell.commands.find_exec import Runner

_CHUNK_LINES = 2048


class Doing:
    """Does what evaluations ask for, in their order; a `Doer`.

    Args:
        context: Where the output goes.
        query: What can be asked for.
    """

    def __init__(self, context: Context, query: Query) -> None:
        self.quits = False
        self.lines: list[str] = []
        """Text on its way to the output."""
        self.count = 0
        """Nodes that reached ``-count``."""
        self.found: Found | None = None
        """The node that is evaluated, where a format asks for it."""
        self._pruned = False
        self._context = context
        self._counts = query.counts
        self._shown = partial(shown, context)
        self._runner: Runner | None = None
        if query.execs:
            from metashell.commands.find_exec import Runner

            self._runner = Runner(context, query.execs)

    def evaluate(self, rest: Expression, path: str) -> bool:
        """Evaluate what is left for a path and do what it says; returns whether it is pruned."""
        self._pruned = False
        rest.run(path, self)
        if len(self.lines) >= _CHUNK_LINES:
            self.flush()
        return self._pruned

    def do(self, action: Act | Printf | Exec, path: str) -> bool:
        """Do it for a path; returns its truth."""
        if isinstance(action, Printf):
            assert self.found is not None
            self.lines.append(filled(action.format, path, self.found, self._shown))
            return True
        if isinstance(action, Exec):
            assert self._runner is not None
            self.flush()
            return self._runner.run(action, path)
        match action.effect:
            case Effect.PRINT | Effect.PRINT0:
                self.lines.append(f"{shown(self._context, path)}{action.effect.value}")
            case Effect.COUNT:
                self.count += 1
            case Effect.QUIT:
                self.quits = True
            case Effect.PRUNE:
                self._pruned = True
        return True

    def write(self, pieces: Iterable[str]) -> None:
        """Write text behind what was collected."""
        self.flush()
        for piece in pieces:
            stop_if_cancelled(self._context)
            self._context.out.write(piece)

    def flush(self) -> None:
        """Send what was collected."""
        if self.lines:
            text = "".join(self.lines)
            self.lines.clear()
            stop_if_cancelled(self._context)
            self._context.out.write(text)

    def finish(self) -> bool:
        """Do what is left for the end; returns whether no command that took many paths failed."""
        self.flush()
        if self._runner is not None:
            self._runner.finish()
        if self._counts:
            self._context.out.write(f"{self.count}\n")
        return self._runner is None or not self._runner.failed
