"""The root of a source's tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from metashell.fs.node import FixedDirectory, Node

Makers = Mapping[str, Callable[[], Node]]
Children = Mapping[str, Node | Callable[[], Node]]


class RootDirectory(FixedDirectory):
    """A root that may have directories of which nobody knows before looking.

    Args:
        makers: Make the children that are always there.
        load: Gives the others, or what makes them; called when the root is listed, or when a name
            is looked up that is none of the former.
    """

    __slots__ = ("_load", "_more")

    def __init__(self, makers: Makers, load: Callable[[], Children]) -> None:
        super().__init__(makers)
        self._load = load
        self._more: FixedDirectory | None = None

    @property
    def _others(self) -> FixedDirectory:
        if self._more is None:
            self._more = FixedDirectory(
                {name: partial(_made, child) for name, child in self._load().items()}
            )
        return self._more

    def but(self, makers: Makers) -> RootDirectory:
        return RootDirectory({**self._makers, **makers}, self._load)

    def names(self) -> Sequence[str]:
        return sorted([*self._names, *self._others.names()])

    def child(self, name: str) -> Node | None:
        found = super().child(name)
        return self._others.child(name) if found is None else found


def _made(child: Node | Callable[[], Node]) -> Node:
    return child() if callable(child) else child
