"""Log directories of a node without a metadata log: logs of topics, and no image.

A broker with several log directories keeps the metadata log in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metashell.errors import SourceError
from metashell.fs.node import Directory
from metashell.fs.nodes.extra import local_node
from metashell.fs.nodes.root import RootDirectory
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog
from metashell.log.fault import Fault
from metashell.log.names import METADATA_DIRECTORY, Listing
from metashell.log.read import Loaded
from metashell.log.time_spec import Point, time_spec_of
from metashell.node_files.log_name import LogState
from metashell.node_files.partition_metadata import topics_text
from metashell.places.place import Place, child_of, shown
from metashell.read_settings import ReadSettings
from metashell.schema.timestamps import iso_time
from metashell.sources.log_clock import clock_of
from metashell.sources.source import Source
from metashell.sources.status import Capabilities
from metashell.sources.without_image import SourceWithoutImage
from metashell.version import __version__

_UNKNOWN = "names and leaders of topics are not known"


class LogDirectoriesSource(SourceWithoutImage):
    """Log directories of a node, of which none has a metadata log.

    Args:
        place: The first of them.
        settings: How coordinators' logs are read; names the others.
    """

    capabilities = Capabilities(has_log=False, has_image=False)

    _until_ms: int | None
    """The time that it shows, ms since the epoch; None for the end."""

    def __init__(self, place: Place, settings: ReadSettings) -> None:
        nothing = MetadataLog(
            str(place),
            Loaded(b"", 0, []),
            Listing((), ()),
            None,
            remote=None if isinstance(place, str) else place,
        )
        self._place, self._until_ms = place, None
        # The path of a log that is not there: the files beside it are found through it.
        super().__init__(nothing, settings, directory=child_of(place, METADATA_DIRECTORY))

    @property
    def metadata_directory(self) -> None:
        """There is none."""

    @property
    def no_image(self) -> SourceError:
        return SourceError(
            f"this needs a metadata log, and {shown(self.path)} has none",
            hint="give the node's other log directories too: `metashell -d DIR -d DIR`."
            " `preflight`, `check` and `replicas` need none. Logs of topics lie here:"
            f" {topics_text(self._logs())}",
        )

    def _logs(self) -> Iterator[tuple[str, Place]]:
        for directory in self.log_directories:
            current = (log for log in directory.logs if log.state is LogState.CURRENT)
            yield from ((log.topic, directory.place_of(log)) for log in current)

    @property
    def full_log(self) -> Source:
        """It has none.

        Raises:
            SourceError: Always.
        """
        raise self.no_image

    def at(self, point: Point, *, record: bool = False) -> Source:
        """The directories as they were at a time: no metadata log's records are counted.

        Raises:
            UsageError: The point can't be read.
            SourceError: It is an offset.
            NotCoveredError: It counts from the end of the logs, and no record has a time.
        """
        clock = clock_of(self.newest)
        found = time_spec_of(point)
        until_ms = clock.end_ms if found.is_end else clock.resolve(found).timestamp_ms
        if until_ms is None:
            end = iso_time(clock.end_ms or 0)
            raise SourceError(
                f"an offset counts in the metadata log, and {shown(self.path)} has none",
                hint=f"give a time, such as `{end}`, or an age, such as `-10m`",
            )
        made = LogDirectoriesSource(self._place, self.settings)
        made._newest, made._until_ms = self.newest, until_ms
        return made

    @property
    def moment_ms(self) -> int | None:
        return self._until_ms

    @lazy
    def root(self) -> Directory:
        """The root of the file system: there is no image to show."""
        return RootDirectory({"local": lambda: local_node(__version__)}, lambda: self._log_nodes)

    def all_faults(self) -> Sequence[Fault]:
        """None: coordinators' logs are read when they are asked for."""
        return ()

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences about missing data."""
        return [*self.without_image, *self._coordinator_remarks()]

    @property
    def without_image(self) -> Sequence[str]:
        return [f"{shown(self.path)}: no metadata log there: {_UNKNOWN}"]


def open_log_directories(place: Place, settings: ReadSettings) -> LogDirectoriesSource | None:
    """Open a log directory without a metadata log, and others of the node.

    Returns:
        The source; None where no topic's log is in them.

    Raises:
        SourceError: One can't be listed, or its ``meta.properties`` is malformed.
    """
    source = LogDirectoriesSource(place, settings)
    return source if source.has_logs else None
