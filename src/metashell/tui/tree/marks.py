"""Which lines of the tree changed since the previous stop in time: asked for what can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.tui.jobs import Job
from metashell.tui.tree.listing import ChangedNodes
from metashell.tui.tree.outline import NodeKey

if TYPE_CHECKING:
    from textual.timer import Timer

    from metashell.tui.tree.tree import NodeTree

_AFTER_S: Final = 0.05
"""How long the lines must rest before anything is asked."""
_KEPT: Final = 20_000


class Marks:
    """The known marks of the lines of a tree.

    Args:
        tree: The tree.
    """

    def __init__(self, tree: NodeTree) -> None:
        self._tree = tree
        self._known: dict[NodeKey, bool] = {}
        self._changes: ChangedNodes | None = None
        self._timer: Timer | None = None

    def begin(self, changes: ChangedNodes | None) -> None:
        """Forget everything: another view state is shown."""
        self._changes = changes
        self._known.clear()

    def has(self, key: NodeKey) -> bool:
        """Whether a node is known to have changed."""
        return self._known.get(key, False)

    def ask(self) -> None:
        """Ask about the lines that can be seen, once they rest."""
        if self._changes is None or not self._tree.is_mounted:
            return
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._tree.set_timer(_AFTER_S, self._fetch)

    def _fetch(self) -> None:
        changes = self._changes
        asked: dict[NodeKey, list[str]] = {}
        for line in self._tree.visible_lines():
            if line.depth and not line.note and line.key not in self._known:
                asked.setdefault(line.place, []).append(line.name)
        if changes is None or not asked:
            return

        def work(job: Job) -> dict[NodeKey, bool]:
            marks: dict[NodeKey, bool] = {}
            for key, names in asked.items():
                if job.cancelled():
                    break
                found = zip(names, changes.of(key, names), strict=True)
                marks.update(((*key, name), is_changed) for name, is_changed in found)
            return marks

        def done(marks: dict[NodeKey, bool]) -> None:
            if changes is self._changes:
                self._take(marks)

        self._tree.explorer.jobs.start("", work, done, owner=self._tree, key="marks")

    def _take(self, marks: dict[NodeKey, bool]) -> None:
        if len(self._known) > _KEPT:
            self._known.clear()
        self._known.update(marks)
        if any(marks.values()):
            self._tree.refresh()
