"""Jobs that fetch the names of directories that were opened in the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError
from metashell.fs.node import Directory
from metashell.tui.error_text import error_text
from metashell.tui.jobs import Job
from metashell.tui.tree.listing import list_directory, walk
from metashell.tui.tree.outline import FetchedNames, NodeKey

if TYPE_CHECKING:
    from textual.timer import Timer

    from metashell.tui.tree.tree import NodeTree

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
