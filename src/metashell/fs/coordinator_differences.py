"""Differences between the groups or transactions of two states, in the order of their paths."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.checks.compare import ChangeKind
from metashell.fs.differences import Difference, Names, Scope
from metashell.fs.node import Directory, Node
from metashell.fs.nodes.groups import CoordinatorDirectory


def find_coordinator_differences(
    left: CoordinatorDirectory, right: CoordinatorDirectory, name: str, scope: Scope
) -> Iterator[Difference]:
    """Yield the leaves that differ, sorted by path.

    What is in a partition that only one of them has is left out.

    Args:
        left: The state before.
        right: The state after.
        name: What the directory is called in the root.
        scope: What to compare.
    """
    wanted = scope.below((name,))
    names = {*left.names(), *right.names()} if wanted is None else wanted
    for each in sorted(names):
        if left.is_at_hand(each) and right.is_at_hand(each):
            path = (name, each)
            yield from _between(left.child(each), right.child(each), path, scope)


def _between(
    left: Node | None, right: Node | None, names: Names, scope: Scope
) -> Iterator[Difference]:
    """The leaves that differ at and below two nodes; None where there is none."""
    if not scope.touches(names):
        return
    if any(isinstance(node, Directory) for node in (left, right)):
        of_left = left if isinstance(left, Directory) else None
        of_right = right if isinstance(right, Directory) else None
        children = {
            *(() if of_left is None else of_left.names()),
            *(() if of_right is None else of_right.names()),
        }
        for child in sorted(children):
            yield from _between(
                None if of_left is None else of_left.child(child),
                None if of_right is None else of_right.child(child),
                (*names, child),
                scope,
            )
        return
    assert not isinstance(left, Directory)
    assert not isinstance(right, Directory)
    if left is None or right is None:
        if left is not right:
            change = ChangeKind.ADDED if left is None else ChangeKind.REMOVED
            yield Difference(change, names[0], names)
    elif left.value() != right.value():
        yield Difference(ChangeKind.CHANGED, names[0], names)
