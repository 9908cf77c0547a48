"""The marks of nodes that changed."""

from __future__ import annotations

from typing import Any

from metashell.tui.tree.fetching import Marks


def test_lines_without_a_mark_are_not_drawn_again() -> None:
    """The tree draws itself again only where something is marked."""

    class Tree:
        n_drawn = 0

        def refresh(self) -> None:
            self.n_drawn += 1

    tree: Any = Tree()
    marks = Marks(tree)
    marks._take({("a",): False})
    assert tree.n_drawn == 0
    marks._take({("b",): True})
    assert tree.n_drawn == 1
    assert marks.has(("b",))
    assert not marks.has(("a",))
