"""Log directories of a node without a metadata log: coordinators' logs, and no image.

A broker with several log directories keeps the metadata log in one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from metashell.errors import SourceError
from metashell.fs.node import Directory
from metashell.fs.nodes.extra import local_node
from metashell.fs.nodes.root import RootDirectory
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog
from metashell.log.names import METADATA_DIRECTORY, Listing
from metashell.log.read import Loaded
from metashell.places.place import Place, child_of, shown
from metashell.sources.source import Source
from metashell.sources.status import Capabilities, Status

if TYPE_CHECKING:
    from metashell.image.history import History
    from metashell.image.image import Image
    from metashell.log.fault import Fault
    from metashell.log.point import Point
    from metashell.read_settings import ReadSettings

_UNKNOWN = "names and leaders of topics are not known"


class LogDirectoriesSource(Source):
    """Log directories of a node, of which none has a metadata log.

    Args:
        place: The first of them.
        settings: How coordinators' logs are read; names the others.
    """

    capabilities = Capabilities(has_log=False, has_image=False)

    def __init__(self, place: Place, settings: ReadSettings) -> None:
        nothing = MetadataLog(
            str(place),
            Loaded(b"", 0, []),
            Listing((), ()),
            None,
            remote=None if isinstance(place, str) else place,
        )
        # As if the log were there: what stands beside it is found.
        super().__init__(nothing, settings, directory=child_of(place, METADATA_DIRECTORY))

    @property
    def metadata_directory(self) -> None:
        """There is none."""

    def _refuse(self) -> NoReturn:
        raise SourceError(
            f"this needs a metadata log, and {shown(self.path)} has none",
            hint="give the node's other log directories too: `metashell -d DIR -d DIR`",
        )

    @lazy
    def image(self) -> Image:
        """It has none.

        Raises:
            SourceError: Always.
        """
        self._refuse()

    @property
    def full_log(self) -> Source:
        """It has none.

        Raises:
            SourceError: Always.
        """
        self._refuse()

    @property
    def history(self) -> History:
        """It has none.

        Raises:
            SourceError: Always.
        """
        self._refuse()

    def at(self, point: str | int | Point, *, record: bool = False) -> Source:
        """It has no earlier states.

        Raises:
            SourceError: Always.
        """
        self._refuse()

    @lazy
    def root(self) -> Directory:
        """The root of the file system: there is no image to show."""
        from metashell.version import __version__

        return RootDirectory(
            {"local": lambda: local_node(__version__)}, lambda: self.coordinator_directories
        )

    @property
    def history_root(self) -> Directory:
        """The same."""
        return self.root

    @property
    def stopped_by(self) -> None:
        """Nothing is replayed."""

    def all_faults(self) -> Sequence[Fault]:
        """None: coordinators' logs are read when they are asked for."""
        return ()

    @property
    def warnings(self) -> Sequence[str]:
        """What is missing."""
        return [f"{shown(self.path)}: no metadata log there: {_UNKNOWN}"]

    def status(self) -> Status:
        """What it has not."""
        return Status(
            offset=None,
            epoch=None,
            timestamp_ms=None,
            metadata_version=None,
            notes=("no metadata log",),
        )

    def warm_up(self) -> None:
        """Nothing: there is no image."""


def open_log_directories(place: Place, settings: ReadSettings) -> LogDirectoriesSource | None:
    """Open a log directory without a metadata log, and others of the node.

    Returns:
        The source; None where no coordinator's log is in them.

    Raises:
        SourceError: One can't be listed, or its ``meta.properties`` is malformed.
    """
    source = LogDirectoriesSource(place, settings)
    return source if source.has_coordinator_logs else None
