"""The lines of a tree of directories that are opened one by one. Pure: no widget, no thread.

A directory may have a million names. They stay in the sequence that the directory gives, and
objects are made only for the lines asked for. The cost of a look-up, an opening or a closing
depends on the number of open directories, never on the number of names.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.node import Directory
from metashell.fs.path import encode_name
from metashell.tui.text import cut

NodeKey: TypeAlias = tuple[str, ...]
"""Real names from the root to a node; empty for the root."""

ROOT: Final[NodeKey] = ()
LOADING: Final = "loading…"
EMPTY: Final = "(empty)"
_KEPT_KINDS: Final = 5_000
_BEHIND: Final = 1 << 16
SMALL: Final = 20_000
"""Names that are searched one by one, and of which numbers are sorted as such."""


def order_of(name: str) -> tuple[int, str]:
    """The place of a name among others: numbers by their value, then all others."""
    return (len(name), name) if name.isdecimal() and name.isascii() else (_BEHIND, name)


@dataclass(frozen=True, slots=True, eq=False)
class FetchedNames:
    """The children of a directory, as a job found them."""

    directory: Directory
    names: Sequence[str]
    """Its names that have a line, sorted by `order_of` if `is_numbered`, else by code point."""
    text: str = ""
    """The filter, which all of them contain; empty for none."""
    n_all: int = 0
    """How many names the directory has."""
    is_numbered: bool = False
    """Whether names that are numbers are sorted as such."""
    kinds: dict[str, bool] = field(default_factory=dict)
    """Which of the children that were asked for are directories."""

    def place_of(self, name: str) -> int:
        """Where a name stands among them, or would stand."""
        if self.is_numbered:
            return bisect_left(self.names, order_of(name), key=order_of)
        return bisect_left(self.names, name)

    def is_dir(self, name: str) -> bool:
        """Whether a child is a directory. Cost: makes the child, the first time."""
        known = self.kinds.get(name)
        if known is None:
            if len(self.kinds) >= _KEPT_KINDS:
                self.kinds.clear()
            try:
                known = isinstance(self.directory.child(name), Directory)
            except MetashellError:  # it says so where it is looked at
                known = False
            self.kinds[name] = known
        return known


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One line of the tree: a node, or a note about the directory that it stands in."""

    key: NodeKey
    """The node; of a note the directory that it is about."""
    name: str
    """The node's own name; empty for the root and for notes."""
    depth: int
    """0 for the root."""
    is_dir: bool
    is_open: bool
    lasts: tuple[bool, ...]
    """For each level from 1 to `depth`, whether the name there is its directory's last one."""
    note: str = ""
    """The text of a line without a node."""
    text: str = ""
    """The filter of an open directory."""

    @property
    def place(self) -> NodeKey:
        """The directory whose children it is one of, or tells about."""
        return self.key if self.note else self.key[:-1]


class _Open:
    """An open directory, and those of its children that are open too."""

    __slots__ = ("ats", "children", "kids", "listing", "n_lines", "parent", "starts")

    def __init__(self, parent: _Open | None, listing: FetchedNames | None) -> None:
        self.parent = parent
        self.listing = listing
        """The directory's names; None while they are being fetched."""
        self.children: dict[str, _Open] = {}
        """Open directories by name, those hidden by the filter too."""
        self.ats: list[int] = []
        """Places of the visible ones among the names, ascending."""
        self.kids: list[_Open] = []
        self.starts: list[int] = []
        """Their own lines, counted from the first line in this directory."""
        self.n_lines = 1
        self.recount()

    @property
    def names(self) -> Sequence[str]:
        return () if self.listing is None else self.listing.names

    def find(self, name: str) -> int | None:
        """The place of a name; None where it is not visible."""
        names = self.names
        at = 0 if self.listing is None else self.listing.place_of(name)
        return at if at < len(names) and names[at] == name else None

    def recount(self) -> None:
        """Take over what changed in the children."""
        found: list[tuple[int, _Open]] = []
        for name, kid in self.children.items():
            at = self.find(name)
            if at is not None:
                found.append((at, kid))
        found.sort(key=lambda pair: pair[0])
        self.ats = [at for at, _ in found]
        self.kids = [kid for _, kid in found]
        self.starts = []
        below = 0
        for at, kid in found:
            self.starts.append(at + below)
            below += kid.n_lines
        # A directory without a visible name has a line that says why.
        self.n_lines = (len(self.names) or 1) + below

    def start_of(self, at: int) -> int:
        """The line of a name, counted from the first line in this directory."""
        i = bisect_left(self.ats, at)
        if i == 0:
            return at
        return at + self.starts[i - 1] - self.ats[i - 1] + self.kids[i - 1].n_lines

    def at_line(self, line: int) -> tuple[int, _Open | None, int]:
        """The place of a line: (place of the name, its directory if open, line in that or -1)."""
        i = bisect_right(self.starts, line) - 1
        if i < 0:
            return line, None, -1
        within = line - self.starts[i] - 1
        kid = self.kids[i]
        if within < kid.n_lines:
            return self.ats[i], kid, within
        return self.ats[i] + 1 + within - kid.n_lines, None, -1

    @property
    def note(self) -> str:
        """The text of the line that a directory without visible names has."""
        if self.listing is None:
            return LOADING
        return f"(nothing with {self.listing.text})" if self.listing.text else EMPTY


class Outline:
    """A tree whose root is open.

    Args:
        root: The root's children; None while they are being fetched.
    """

    def __init__(self, root: FetchedNames | None = None) -> None:
        self.wanted: dict[NodeKey, str] = {ROOT: ""}
        """The directories to open, with the texts that their shown names contain.

        Missing ones stay here, because they may come back.
        """
        self._root = _Open(None, root)

    # Lines.

    @property
    def n_lines(self) -> int:
        """How many lines there are, that of the root included."""
        return 1 + self._root.n_lines

    def line(self, i: int) -> TreeLine:
        """The node or note at a line.

        Raises:
            IndexError: There is no such line.
        """
        if not 0 <= i < self.n_lines:
            raise IndexError(i)
        here, within = self._root, i - 1
        key: list[str] = []
        lasts: list[bool] = []
        while True:
            if within < 0:
                return self._node_line(here, key, lasts)
            names = here.names
            if not names:
                lasts.append(True)
                return TreeLine(tuple(key), "", len(lasts), False, False, tuple(lasts), here.note)
            at, kid, below = here.at_line(within)
            key.append(names[at])
            lasts.append(at == len(names) - 1)
            if kid is None:
                assert here.listing is not None
                is_dir = here.listing.is_dir(names[at])
                return TreeLine(tuple(key), names[at], len(lasts), is_dir, False, tuple(lasts))
            here, within = kid, below

    def _node_line(self, node: _Open, key: list[str], lasts: list[bool]) -> TreeLine:
        name = key[-1] if key else ""
        text = "" if node.listing is None else node.listing.text
        return TreeLine(tuple(key), name, len(lasts), True, True, tuple(lasts), text=text)

    def line_of(self, key: NodeKey) -> int | None:
        """The line of a node; None where it has none."""
        line, here = 0, self._root
        for depth, name in enumerate(key, 1):
            at = here.find(name)
            if at is None:
                return None
            line += 1 + here.start_of(at)
            if depth < len(key):
                kid = here.children.get(name)
                if kid is None:
                    return None
                here = kid
        return line

    def nearest(self, key: NodeKey) -> int:
        """The line of a node, or of the nearest directory above it that has one."""
        while (line := self.line_of(key)) is None:
            key = key[:-1]
        return line

    def first_like(self, key: NodeKey, text: str) -> str | None:
        """The first visible name in an open directory that begins with a text, else contains it.

        In a small directory the case does not count; in a large one only beginnings do.
        """
        here = self._find(key)
        names = () if here is None else here.names
        at = 0 if here is None or here.listing is None else here.listing.place_of(text)
        if at < len(names) and names[at].startswith(text):
            return names[at]
        if len(names) > SMALL:
            return None
        folded = text.casefold()
        like = [name for name in names if folded in name.casefold()]
        begins = (name for name in like if name.casefold().startswith(folded))
        return next(begins, like[0] if like else None)

    # Opening.

    def is_open(self, key: NodeKey) -> bool:
        """Whether a directory is open, its names there or not."""
        return self._find(key) is not None

    def listing(self, key: NodeKey) -> FetchedNames | None:
        """The children of an open directory; None while they are fetched."""
        here = self._find(key)
        return None if here is None else here.listing

    def unlisted(self) -> list[NodeKey]:
        """Open the directories that are wanted; returns those whose names are not as asked for."""
        found = []
        for key in sorted(self.wanted, key=len):
            if self.is_open(key) or self.open(key):
                listing = self.listing(key)
                if listing is None or listing.text != self.wanted[key]:
                    found.append(key)
        return found

    def listed(self) -> list[NodeKey]:
        """The open directories whose names are as asked for."""
        behind = set(self.unlisted())
        return [key for key in self.wanted if self.is_open(key) and key not in behind]

    def filters(self) -> dict[NodeKey, str]:
        """The filters of open directories."""
        return {key: text for key, text in self.wanted.items() if text and self.is_open(key)}

    def filtered_around(self, key: NodeKey) -> NodeKey | None:
        """The nearest directory with a filter, from one upwards; None where there is none."""
        for n in range(len(key), -1, -1):
            if self.wanted.get(key[:n]) and self.is_open(key[:n]):
                return key[:n]
        return None

    def open(self, key: NodeKey, listing: FetchedNames | None = None) -> bool:
        """Open a directory; without a listing, say that it is being fetched.

        Returns:
            Whether it is open now: not so where a directory above it is not, or has none like it.
        """
        if key == ROOT:
            here: _Open | None = self._root
        else:
            above = self._find(key[:-1])
            if above is None or above.listing is None:
                return False
            name = key[-1]
            here = above.children.get(name)
            if here is None:
                if above.find(name) is None or not above.listing.is_dir(name):
                    return False
                here = above.children[name] = _Open(above, None)
        assert here is not None
        self.wanted.setdefault(key, "")
        if listing is not None:
            here.listing = listing
        self._recount(here)
        return True

    def close(self, key: NodeKey) -> None:
        """Close a directory, and forget what is open in it; the root stays open."""
        if key == ROOT:
            return
        for other in [other for other in self.wanted if other[: len(key)] == key]:
            del self.wanted[other]
        above = self._find(key[:-1])
        if above is not None and above.children.pop(key[-1], None) is not None:
            self._recount(above)

    def retarget(self, listings: Mapping[NodeKey, FetchedNames]) -> None:
        """Take another state of the tree; directories to open are open if they are there.

        Args:
            listings: The listings of all directories to open that are there, with the root.
        """
        self._root = _Open(None, listings[ROOT])
        made: dict[NodeKey, _Open] = {ROOT: self._root}
        for key in sorted(self.wanted, key=len):
            above, listing = made.get(key[:-1]), listings.get(key)
            if key != ROOT and above is not None and listing is not None:
                made[key] = above.children[key[-1]] = _Open(above, listing)
        for here in reversed(made.values()):  # those deep down first
            here.recount()

    def path_of(self, key: NodeKey) -> str:
        """An absolute path that leads to a node."""
        parts, here = [], self._root if key else None
        for name in key:
            directory = here.listing.directory if here is not None and here.listing else None
            parts.append(encode_name(name, directory))
            here = here.children.get(name) if here is not None else None
        return "/" + "/".join(parts)

    # Within.

    def _find(self, key: NodeKey) -> _Open | None:
        here: _Open | None = self._root
        for name in key:
            here = here.children.get(name) if here is not None else None
        return here

    def _recount(self, here: _Open | None) -> None:
        while here is not None:
            here.recount()
            here = here.parent


MARK: Final = "•"
"""The mark behind a node that changed."""
_LONGEST: Final = 300
"""Characters of a name that are measured: no tree is wider."""
_OPEN, _CLOSED = "▾ ", "▸ "


def arrow_columns(line: TreeLine) -> range:
    """Where the arrow of a directory is; empty for anything else."""
    if not line.is_dir or not line.depth:
        return range(0)
    start = 2 * (line.depth - 1)
    return range(start, start + len(_OPEN))


def width_of(line: TreeLine) -> int:
    """Columns that a line takes where nothing of it is cut, with room for a mark."""
    guides = 2 * max(line.depth - 1, 0) + len(_OPEN) * bool(line.is_dir and line.depth)
    guides += 2 * (line.depth > 1 and not line.is_dir)
    filtered = f" /{line.text}" if line.text else ""
    name = line.note or line.name
    return guides + cell_len(name[:_LONGEST]) + cell_len(filtered[:_LONGEST]) + 1 + len(MARK) + 1


def draw_line(
    line: TreeLine, is_marked: bool, style: Style, part: Callable[[str], Style], width: int
) -> Strip:
    """A line of the tree, cut to the width; `part` gives what a component adds to its style."""
    guides = "".join("  " if is_last else "│ " for is_last in line.lasts[1:-1])
    if line.depth > 1:
        guides += "└ " if line.lasts[-1] else "├ "
    if line.is_dir and line.depth:
        guides += _OPEN if line.is_open else _CLOSED
    # However deep: some of the name is to be seen.
    guides = guides[-max(width * 2 // 3, 1) :]
    tail = f" {MARK}" if is_marked else ""
    name = line.note or (line.name + "/" if line.is_dir else line.name)
    room = max(width - cell_len(guides) - len(tail), 0)
    kind = style
    if line.note:
        kind = style + part("node-tree--note")
    elif line.is_dir:
        kind = style + part("node-tree--directory")
    shown = cut(name, room)
    segments = [
        Segment(guides, style + part("node-tree--guide")),
        Segment(shown, kind),
        Segment(tail, style + part("node-tree--mark")),
    ]
    if line.text:
        left = room - cell_len(shown)
        segments.append(Segment(cut(f" /{line.text}", left), style + part("node-tree--note")))
    # A terminal would be told the style of an empty text, too.
    return Strip([piece for piece in segments if piece.text]).adjust_cell_length(width, style)
