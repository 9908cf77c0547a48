"""The marks of nodes that changed."""

from __future__ import annotations

from typing import Any

from metashell.tui.lines import SeenFacts


def test_lines_without_a_mark_are_not_drawn_again() -> None:
    """The list draws itself again only where a fact says something."""

    class Tree:
        n_drawn = 0

        def refresh(self) -> None:
            self.n_drawn += 1

    tree: Any = Tree()
    marks = SeenFacts[tuple[str], bool](tree, list)
    marks.take({("a",): False})
    assert tree.n_drawn == 0
    marks.take({("b",): True})
    assert tree.n_drawn == 1
    assert {("a",): False, ("b",): True} == marks.known
