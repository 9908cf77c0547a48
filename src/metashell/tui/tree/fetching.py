"""The tree's jobs: listing directories, and filtering names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError
from metashell.fs.node import Directory
from metashell.tui.jobs import Job
from metashell.tui.lines import show_filter
from metashell.tui.text import error_text
from metashell.tui.tree.listing import list_directory, walk, with_text
from metashell.tui.tree.outline import FetchedNames, NodeKey

if TYPE_CHECKING:
    from textual.timer import Timer

    from metashell.tui.tree.tree import NodeTree


class TreeFilter:
    """Which names of a tree are shown.

    Args:
        tree: The tree: its `narrow` is called with the names that are left.
    """

    def __init__(self, tree: NodeTree) -> None:
        self._tree = tree
        self._typed_for: NodeKey | None = None
        """The directory for which a text is being typed: matches in others take the cursor."""

    @property
    def filter_text(self) -> str:
        """The filter of the directory at hand; empty for none."""
        outline = self._tree.outline
        listing = None if outline is None else outline.listing(self._tree.place)
        return "" if listing is None else listing.text

    def filter_by(self, text: str) -> None:
        """Show only those names of the directory at hand that contain a text, as it is typed."""
        if self._typed_for is None:
            self._typed_for = self._tree.place
        self._filter(self._typed_for, text)

    def keep_filter(self) -> None:
        """Take the text as it is typed now: the next one is for the directory at hand then."""
        self._typed_for = None

    def drop_filter(self) -> str:
        """Drop the filter of the directory at hand, else of one above it, else of any.

        Returns:
            The filter that held; empty where no directory has one.
        """
        outline = self._tree.outline
        if outline is None:
            return ""
        texts, key = outline.filters(), outline.filtered_around(self._tree.place)
        if key is None:
            key = max(texts, key=len, default=None)
        if key is None:
            return ""
        self._filter(key, "")
        return texts[key]

    def show(self) -> None:
        """Say which filter holds where the cursor is."""
        outline = self._tree.outline
        assert outline is not None
        key = outline.filtered_around(self._tree.place)
        listing = None if key is None else outline.listing(key)
        if listing is None:
            show_filter(self._tree, "", 0, 0)
        else:
            show_filter(self._tree, listing.text, len(listing.visible), len(listing.names))

    def renew(self, texts: Mapping[NodeKey, str]) -> None:
        """Filter another view state, which was listed with older filters, as is asked for now."""
        assert self._tree.outline is not None
        found = self._tree.outline.filters()
        for key in texts.keys() | found.keys():
            if texts.get(key) != found.get(key):
                self._filter(key, texts.get(key, ""))

    def _filter(self, key: NodeKey, text: str) -> None:
        tree = self._tree
        outline, jobs = tree.outline, tree.explorer.jobs
        listing = None if outline is None else outline.listing(key)
        if outline is None or listing is None:
            return
        if not text:
            jobs.cancel(tree, "filter")
            tree.narrow(key, "", None)
            return
        names = listing.names

        def work(job: Job) -> list[str]:
            return list(with_text(names, text, job.cancelled))

        def done(shown: list[str]) -> None:
            now = outline.listing(key)
            if now is not None and now.names is names:
                tree.narrow(key, text, shown)

        jobs.start(f"filtering {outline.path_of(key)}", work, done, owner=tree, key="filter")


_TIDY_S: Final = 0.25


class Fetching:
    """Fetches the names of a tree's directories.

    Args:
        tree: The tree: its `fetched` is called with the names found, or with None.
    """

    def __init__(self, tree: NodeTree) -> None:
        self._tree = tree
        self._jobs: dict[NodeKey, Job] = {}
        self._timer: Timer | None = None

    def start(self, root: Directory, key: NodeKey, path: str, *, leads: bool = False) -> None:
        """Fetch the names of a directory.

        Args:
            root: The root that the key begins at.
            key: The directory.
            path: The directory's path, for the job's title.
            leads: Whether the keys typed meanwhile are for the names.
        """

        def work(job: Job) -> FetchedNames | None:
            directory = walk(root, key)
            if not isinstance(directory, Directory):
                return None
            return list_directory(directory, "", job.cancelled)

        def done(listing: FetchedNames | None) -> None:
            if self._jobs.pop(key, None) is job:
                self._tree.fetched(key, listing)

        def failed(error: MetashellError) -> None:
            done(None)
            self._tree.explorer.tell(error_text(error), "error")

        job = self._jobs[key] = self._tree.explorer.jobs.start(
            f"listing {path}", work, done, owner=self._tree, key=f"list {path}", failed=failed,
            leads=leads,
        )  # fmt: skip
        if self._timer is None:
            self._timer = self._tree.set_interval(_TIDY_S, self._tidy)

    def cancel(self, key: NodeKey) -> None:
        """Fetch neither the names of a directory nor of any in it."""
        for other in [other for other in self._jobs if other[: len(key)] == key]:
            self._jobs.pop(other).cancel()

    def clear(self) -> None:
        """Fetch nothing any more."""
        self.cancel(())

    def _tidy(self) -> None:
        """Close what waits for a job that the user cancelled, or that failed."""
        running = self._tree.explorer.jobs.running
        for key, job in list(self._jobs.items()):
            if job not in running and self._jobs.pop(key, None) is job:
                self._tree.fetched(key, None)
        if not self._jobs and self._timer is not None:
            self._timer.stop()
            self._timer = None
