"""The actions of ``find`` on nodes that it found: prints, counts, runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from metashell.commands.find.exec import ExecRunner
from metashell.commands.find.expression import (
    Act,
    Exec,
    Expression,
    Printf,
    Query,
    WalkEffect,
)
from metashell.commands.find.printf import ROW, FoundNode, filled
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import shown, stop_if_cancelled
from metashell.commands.rows.node_columns import kind_name
from metashell.commands.rows.query import RowMapping
from metashell.commands.shared.node_times import moment_cells

_CHUNK_LINES = 2048


class Doing:
    """Does what evaluations ask for, in their order; a `Doer`.

    Args:
        context: Where the output goes.
        query: The actions that can be asked for.
        add: Takes rows, where these are asked for.
    """

    def __init__(
        self,
        context: Context,
        query: Query,
        add: Callable[[Sequence[RowMapping]], None] | None = None,
    ) -> None:
        self.quits = False
        self.lines: list[str] = []
        """Text on its way to the output."""
        self.count = 0
        """Nodes that reached ``-count``."""
        self.found: FoundNode | None = None
        """The node that is evaluated, where a format asks for it."""
        self.rows: list[RowMapping] = []
        """Rows on their way."""
        self._add, self._row_times = add, query.row_times
        self._pruned = False
        self._context = context
        self._counts = query.counts
        self._shown = partial(shown, context)
        self._runner: ExecRunner | None = None
        if query.execs:
            self._runner = ExecRunner(context, query.execs)

    def evaluate(self, rest: Expression, path: str) -> bool:
        """Evaluate what is left for a path and do what it says; returns whether it is pruned."""
        self._pruned = False
        rest.run(path, self)
        if max(len(self.lines), len(self.rows)) >= _CHUNK_LINES:
            self.flush()
        return self._pruned

    def do(self, action: Act | Printf | Exec, path: str) -> bool:
        """Do it for a path; returns its truth."""
        if isinstance(action, Printf):
            assert self.found is not None
            if action.format is ROW:
                self.rows.append(self._row(path, self.found))
                return True
            self.lines.append(filled(action.format, path, self.found, self._shown))
            return True
        if isinstance(action, Exec):
            assert self._runner is not None
            self.flush()
            return self._runner.run(action, path)
        match action.effect:
            case WalkEffect.PRINT | WalkEffect.PRINT0:
                self.lines.append(f"{shown(self._context, path)}{action.effect.value}")
            case WalkEffect.COUNT:
                self.count += 1
            case WalkEffect.QUIT:
                self.quits = True
            case WalkEffect.PRUNE:
                self._pruned = True
        return True

    def _row(self, path: str, found: FoundNode) -> RowMapping:
        changed = moment_cells("changed", found.changed() if self._row_times else None)
        return {
            "path": path,
            "name": found.name,
            "kind": kind_name(is_dir=found.is_dir),
            "depth": found.depth,
            **changed,
        }

    def write(self, pieces: Iterable[str]) -> None:
        """Write text behind what was collected."""
        self.flush()
        for piece in pieces:
            stop_if_cancelled(self._context)
            self._context.out.write(piece)

    def flush(self) -> None:
        """Send what was collected."""
        if self._add is not None and self.rows:
            self._add(self.rows)
            self.rows = []
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
