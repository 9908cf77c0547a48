"""The nodes of the virtual file system.

A node is a lazy view: it holds a reference to the image and nothing decoded. `Directory` and
`Leaf` are the two kinds; generic code (walk, glob, find, completion) uses only what stands here
and is right for every node. A directory whose whole subtree follows one pattern can say so with
`Directory.grid`, by which `find` and globs answer for millions of nodes without making them; the
answer must be the one that a generic walk gives.

The whole subtree of a directory that holds only directories of leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

from metashell.errors import NoSuchPathError, PathError
from metashell.fs.texts import GridCodes, Judge
from metashell.fs.touch_times import GridTimes, Times, ask_children

if TYPE_CHECKING:
    from metashell.fs.texts import GridTexts
    from metashell.schema.arena import I64

JsonValue: TypeAlias = (
    "None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]"
)
"""The types of a leaf's structured value."""


class Leaf(ABC):
    """A node with a text: what ``cat`` prints."""

    is_dir = False
    _times: Callable[[], Times | None] | None = None
    _judged: Callable[[Judge], int] | None = None

    @abstractmethod
    def text(self) -> str:
        """The node's text as Kafka prints it, secrets redacted, without a newline at the end."""

    def value(self) -> JsonValue:
        """The node's structured value, secrets redacted; the text where there is no structure."""
        return self.text()

    def times(self) -> Times | None:
        """The records that made and last changed it, None where nothing is known."""
        return None if self._times is None else self._times()

    def timed(self, times: Callable[[], Times | None]) -> Self:
        """Have `times` answer from now on."""
        self._times = times
        return self

    def judged(self, judge: Judge) -> int:
        """Which tests of its contents it passes, as a code; 0 where it is about nothing."""
        return 0 if self._judged is None else self._judged(judge)

    def about(self, judged: Callable[[Judge], int]) -> Self:
        """Have `judged` answer from now on."""
        self._judged = judged
        return self


class Directory(ABC):
    """A node with children."""

    is_dir = True

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Child names sorted by code point. Cost: may decode; the result is cached."""

    @abstractmethod
    def child(self, name: str) -> Node | None:
        """The child of that exact name, or None. Cheap where `names` is not."""

    def missing(self, path: str) -> PathError:
        """The error for a path that goes on with a name that is not there."""
        return NoSuchPathError(path)

    def is_at_hand(self, name: str) -> bool:
        """Whether what a name leads to can be read here, as far as that is known."""
        return True

    @property
    def has_other_paths(self) -> bool:
        """Whether everything below it has another path too, by which it is known."""
        return False

    def grid(self) -> Grid | None:
        """The subtree as a `Grid`, or None where it has another form."""
        return None

    def leaf_grid(self) -> Grid | None:
        """A `Grid` of this directory alone, without a name; None where it holds others too, or
        where its leaves are as soon asked one by one.
        """
        return None

    def times(self) -> Times | None:
        """The times, see `Leaf.times`; changes of anything below count, removals included."""
        return None

    def child_times(self, names: Sequence[str]) -> tuple[I64, I64]:
        """Times of children: (created: int64[n], changed: int64[n]), -1 for what is not known."""
        return ask_children(self, names)

    def judged(self, judge: Judge) -> int:
        """The code of the directory, see `Leaf.judged`."""
        return 0

    @property
    def has_plain_leaves(self) -> bool:
        """Whether all children are leaves of which no judge says anything."""
        return False

    def names_from(self, prefix: str, limit: int) -> Sequence[str]:
        """At most `limit` child names that begin with `prefix`, in order (for completion)."""
        names = self.names()
        start = bisect_left(names, prefix)
        stop = start
        while stop < len(names) and stop - start < limit and names[stop].startswith(prefix):
            stop += 1
        return names[start:stop]

    def last_from(self, prefix: str) -> str | None:
        """The last child name that begins with `prefix`, or None (for completion)."""
        names = self.names()
        stop = bisect_right(names, prefix, key=lambda name: name[: len(prefix)])
        return names[stop - 1] if stop and names[stop - 1].startswith(prefix) else None


Node: TypeAlias = Directory | Leaf


class TextLeaf(Leaf):
    """A leaf whose text is computed when asked for."""

    __slots__ = ("_text", "_value")

    def __init__(
        self, text: str | Callable[[], str], value: Callable[[], JsonValue] | None = None
    ) -> None:
        self._text = text
        self._value = value

    def text(self) -> str:
        return self._text if isinstance(self._text, str) else self._text()

    def value(self) -> JsonValue:
        return self.text() if self._value is None else self._value()


class LateDirectory(Directory):
    """A directory that is made when something in it is asked for."""

    def __init__(self, make: Callable[[], Directory]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Directory:
        return self._make()

    def names(self) -> Sequence[str]:
        return self._made.names()

    def child(self, name: str) -> Node | None:
        return self._made.child(name)

    def grid(self) -> Grid | None:
        return self._made.grid()

    def leaf_grid(self) -> Grid | None:
        return self._made.leaf_grid()

    def child_times(self, names: Sequence[str]) -> tuple[I64, I64]:
        return self._made.child_times(names)


class FixedDirectory(Directory):
    """A directory with children known beforehand, each made when first asked for."""

    __slots__ = ("_makers", "_made", "_names")

    def __init__(self, makers: Mapping[str, Callable[[], Node]]) -> None:
        self._makers = dict(makers)
        self._names = sorted(self._makers)
        self._made: dict[str, Node] = {}

    def but(self, makers: Mapping[str, Callable[[], Node]]) -> FixedDirectory:
        """The directory with other children of these names."""
        return FixedDirectory({**self._makers, **makers})

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        if name not in self._made:
            make = self._makers.get(name)
            if make is None:
                return None
            self._made[name] = make()
        return self._made[name]

    def times(self) -> Times | None:
        return newest_of(self)


def newest_of(directory: Directory) -> Times | None:
    """Times of a directory by those of its children."""
    children = map(directory.child, directory.names())
    found = [child.times() for child in children if child is not None]
    rows = [times.changed for times in found if times is not None and times.changed is not None]
    return Times(None, max(rows)) if rows else None


class Grid:
    """A subtree that `find` and globs answer for without making its nodes.

    Many of its directories hold leaves of the same names (``0 1 2 id name``), so the distinct lists
    of names, the *shapes*, are few. Questions about everything in it are answered here by asking
    each node; a kind of directory that knows better has a grid of its own.

    Args:
        directory: The directory whose subtree it is.
        names: Its child directories, sorted by code point.
        shapes: Distinct lists of leaf names, each sorted by code point.
        shape_of: Index into `shapes` for each of `names`.
    """

    def __init__(
        self,
        directory: Directory,
        names: Sequence[str],
        shapes: Sequence[tuple[str, ...]],
        shape_of: Sequence[int],
    ) -> None:
        self.directory, self.names = directory, names
        self.shapes, self.shape_of = shapes, shape_of

    @cached_property
    def shape_numbers(self) -> I64:
        """`shape_of` as int64[n]."""
        import numpy as np

        return np.array(self.shape_of, dtype=np.int64)

    @cached_property
    def bounds(self) -> I64:
        """Where each directory's leaves begin among all leaves: int64[n + 1]."""
        import numpy as np

        sizes = np.array([len(shape) for shape in self.shapes], dtype=np.int64)
        bounds = np.zeros(len(self.names) + 1, dtype=np.int64)
        np.cumsum(sizes[self.shape_numbers], out=bounds[1:])
        return bounds

    def times(self) -> GridTimes:
        """Last changes of everything in it."""
        import numpy as np

        _, changed = self.directory.child_times(self.names)
        bounds = self.bounds
        leaves = np.full(int(bounds[-1]), -1, dtype=np.int64)
        for i, name in enumerate(self.names):
            child = self.directory.child(name)
            if isinstance(child, Directory):
                shape = self.shapes[self.shape_of[i]]
                leaves[bounds[i] : bounds[i + 1]] = child.child_times(shape)[1]
        return GridTimes(changed, leaves, bounds)

    def judged(self, judge: Judge) -> GridCodes:
        """The codes of everything in it, see `Directory.judged` and `Leaf.judged`."""
        import numpy as np

        bounds = self.bounds
        directories = np.zeros(len(self.names), dtype=np.int64)
        leaves = np.zeros(int(bounds[-1]), dtype=np.int64)
        for i, name in enumerate(self.names):
            child = self.directory.child(name)
            if not isinstance(child, Directory):
                continue
            directories[i] = child.judged(judge)
            at = int(bounds[i])
            for j, leaf_name in enumerate(self.shapes[self.shape_of[i]]):
                leaf = child.child(leaf_name)
                leaves[at + j] = 0 if leaf is None else leaf.judged(judge)
        return GridCodes(directories, leaves, bounds)

    def texts(self) -> GridTexts | None:
        """The texts of its leaves, where many at once are faster than each."""
        return None

    def json(self) -> GridTexts | None:
        """The values of the leaves, each as JSON on a line."""
        return None
