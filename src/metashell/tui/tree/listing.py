"""The tree's questions to the file system, for jobs: names, paths, changes.

No widget here. Every question may decode, and may open a cluster of a fleet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.commands.shared.node_times import moments_of
from metashell.dataclass import dataclass
from metashell.fs.node import Directory, Node
from metashell.fs.path import decode_name, find_child, normalise, split
from metashell.tui.tree.outline import ROOT, SMALL, FetchedNames, NodeKey, order_of

if TYPE_CHECKING:
    from metashell.image.touched import Moment, Moments
    from metashell.schema.arena import I64
    from metashell.sources.source import Source
    from metashell.tui.view_state import ViewState

_KNOWN_KINDS: Final = 64
"""Children whose kind is found at once, so that drawing them costs nothing."""
_SLICE: Final = 50_000
"""Names that are filtered before somebody asks whether that is still wanted."""

Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class TreeDetail:
    """The node that a path leads to, and the listings of open directories."""

    key: NodeKey
    """The node, or the nearest directory above where it is not there."""
    missing: NodeKey
    """The last names of the path, which are not there; empty if the node is there."""
    listings: dict[NodeKey, FetchedNames]
    """New ones."""
    leaves: Sequence[NodeKey] = ()
    """Nodes that were to be opened, and are no directories."""


def check(cancelled: Cancelled) -> None:
    """End the work where nobody wants it.

    Raises:
        KeyboardInterrupt: So.
    """
    if cancelled():
        raise KeyboardInterrupt


def walk(root: Directory, key: NodeKey) -> Node | None:
    """The node of a key; None where it is not there."""
    node: Node | None = root
    for name in key:
        node = node.child(name) if isinstance(node, Directory) else None
    return node


def list_directory(directory: Directory, text: str, cancelled: Cancelled) -> FetchedNames:
    """The children of a directory, filtered by a text."""
    names = directory.names()
    check(cancelled)
    # Names before 0 in the order of code points are rare: the first one tells.
    is_numbered = 1 < len(names) <= SMALL and names[0].isdecimal()
    if is_numbered:
        names = sorted(names, key=order_of)
    shown = with_text(names, text, cancelled) if text else names
    listing = FetchedNames(directory, shown, text, len(names), is_numbered)
    for name in islice(shown, _KNOWN_KINDS):
        listing.is_dir(name)
    return listing


def with_text(names: Sequence[str], text: str, cancelled: Cancelled) -> Sequence[str]:
    """The names that contain a text; its case is ignored."""
    folded = text.casefold()
    found: list[str] = []
    for start in range(0, len(names), _SLICE):
        check(cancelled)
        found += [name for name in names[start : start + _SLICE] if folded in name.casefold()]
    return found


def list_tree(
    root: Directory,
    path: str,
    wanted: Mapping[NodeKey, str],
    known: Collection[NodeKey],
    cancelled: Cancelled,
) -> TreeDetail:
    """Follow a path, and list the directories on the way and all other directories to open.

    Args:
        root: The root.
        path: An absolute path; parts of it may not be there.
        wanted: The other directories to open, and by directory its filter.
        known: Directories that need not be listed again.
        cancelled: Asked in between.
    """
    listings: dict[NodeKey, FetchedNames] = {}

    def enter(key: NodeKey, directory: Directory) -> None:
        check(cancelled)
        if key not in known and key not in listings:
            listings[key] = list_directory(directory, wanted.get(key, ""), cancelled)

    key, node = ROOT, root
    parts = split(normalise(path))
    enter(key, root)
    for i, part in enumerate(parts):
        enter(key, node)
        found = find_child(node, part)
        if found is not None:
            key = (*key, found[0])
        if found is None or (i + 1 < len(parts) and not isinstance(found[1], Directory)):
            missing = parts[i + (found is not None) :]
            break
        if isinstance(found[1], Directory):
            node = found[1]
    else:
        missing = []
    leaves = []
    for other in sorted(wanted, key=len):
        directory = walk(root, other)
        if isinstance(directory, Directory):
            enter(other, directory)
        elif directory is not None:
            leaves.append(other)
    return TreeDetail(key, tuple(map(decode_name, missing)), listings, leaves)


class ChangedNodes:
    """The nodes of a view state's cluster that changed since the previous stop.

    Args:
        view_state: The view state.
    """

    def __init__(self, view_state: ViewState) -> None:
        self._span = view_state.span
        self._prefix = tuple(view_state.prefix[1:].split("/", 1)) if view_state.prefix else ROOT
        self._later: Source | None = None
        self._times: tuple[float, float] | None = None
        """Times of both stops in ms, the earlier first; None where there is no metadata log."""
        if self._span is not None and view_state.previous is not None:
            was_later = view_state.previous.status().offset == self._span[1]
            self._later = view_state.previous if was_later else view_state.cluster
            self._times = _times_of(view_state)

    def of(self, key: NodeKey, names: Sequence[str]) -> list[bool]:
        """Which children of a directory changed, or anything in them.

        The later one of both states knows: of what is there no more, it is all there is to know.
        """
        n = len(self._prefix)
        if self._later is None or key[:n] != self._prefix:
            return [False] * len(names)
        return self._of(self._later, key[n:], names)

    def marks(self, cancelled: Cancelled, keys: Iterable[NodeKey]) -> dict[NodeKey, bool]:
        """Which nodes changed, or anything in them; some are missing where it is cancelled."""
        asked: dict[NodeKey, list[str]] = {}
        for key in keys:
            asked.setdefault(key[:-1], []).append(key[-1])
        found: dict[NodeKey, bool] = {}
        for place, names in asked.items():
            if not cancelled():
                marks = zip(names, self.of(place, names), strict=True)
                found.update(((*place, name), is_changed) for name, is_changed in marks)
        return found

    def _of(self, later: Source, key: NodeKey, names: Sequence[str]) -> list[bool]:
        assert self._span is not None
        behind, last = self._span
        root, moments = later.root, moments_of(later.root)
        if moments is not None and moments.base is not None and moments.base > behind:
            # The tree begins with a checkpoint that is younger: what it contains has no offsets.
            root = later.history_root
            moments = moments_of(root)
        if moments is None:
            return [False] * len(names)
        directory = walk(root, key)
        if not isinstance(directory, Directory):
            return [True] * len(names)
        _, rows = directory.child_times(names)
        if key and key[0] in later.coordinator_directories:
            return self._of_coordinator(getattr(walk(root, key[:1]), "moments", None), rows)
        marks = []
        for name, moment in zip(names, moments.of(rows), strict=True):
            if moment is None:
                marks.append(directory.child(name) is None)
            else:
                marks.append(behind < moment.position <= last)
        return marks

    def _of_coordinator(self, moments: Moments | None, rows: I64) -> list[bool]:
        """Whether each node of a coordinator's log changed, by time: its offsets are its own."""
        assert self._span is not None
        found: Sequence[Moment | None] = [None] * len(rows) if moments is None else moments.of(rows)
        if self._times is None:
            behind, last = self._span
            return [m is not None and behind < m.position <= last for m in found]
        since, until = self._times
        times = [None if moment is None else moment.timestamp_ms for moment in found]
        return [ms is not None and since < ms <= until for ms in times]


def _times_of(view_state: ViewState) -> tuple[float, float] | None:
    """Times to which other logs are read at both stops, ms since the epoch."""
    if not view_state.has_image:
        return None
    times = []
    for source in (view_state.previous, view_state.cluster):
        assert source is not None
        known = source.moment_ms
        times.append(math.inf if known is None else known)
    return min(times), max(times)
