"""One directory of a fleet, opened when it is first looked at, and its place in the tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metashell.errors import InternalError, MetashellError, NoSuchPathError, PathError, SourceError
from metashell.fs.node import Directory, FixedDirectory, Grid, Node
from metashell.log.names import METADATA_DIRECTORY
from metashell.node_files.log_directory import read_log_directory
from metashell.places.place import base_name, parent_of, place_of
from metashell.places.uri import shown, without_credentials

if TYPE_CHECKING:
    from metashell.fs.touch_times import Times
    from metashell.log.fault import Fault
    from metashell.schema.arena import I64
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.node_places import NodePlaces
    from metashell.sources.source import Source


_UNKNOWN_BYTES: Final = 8 << 20
"""The assumed size of a directory whose files can't be listed from here."""

_SOURCE_BYTES: Final = 1 << 20
"""The memory of an opened directory besides its files, in bytes of files."""


class FleetMember:
    """One directory of a fleet.

    Args:
        fleet: The fleet.
        name: The member's name in the fleet.
        node: Where it is.
    """

    def __init__(self, fleet: FleetSource, name: str, node: NodePlaces) -> None:
        self.fleet = fleet
        self.name = name
        self.path = node.path
        """Where the metadata log is."""
        self.cluster_id = node.cluster_id
        """Its cluster, None where it does not say."""
        self.unknown = node.unknown
        """Why nothing tells which node it is of, in a sentence; None where something does."""
        is_configured = node.node_id is not None and node.node_id == fleet.configured_node
        self.reading = fleet.reading.of_node(node.log_dirs, has_config=is_configured)
        """How it is read."""
        self._lock = RLock()
        self._source: Source | None = None
        self._error: SourceError | None = None
        self._warnings: Sequence[str] = ()
        self._stopped_by: Fault | None = None
        self.has_own_state = False
        """Whether `show` made it differ from what the fleet's settings say."""
        self.directory = MemberDirectory(self, lambda source: source.root)
        self.history_directory = MemberDirectory(self, lambda source: source.history_root)

    @property
    def opened(self) -> Source | None:
        """The source where it was opened, and not closed since."""
        return self._source

    def source(self) -> Source:
        """The source, opened now where it is not.

        Raises:
            SourceError: It can't be opened, or does not cover the point that the fleet is at.
        """
        with self._lock:
            if self._error is not None:
                self.fleet.failed(self, self._error)
                raise self._error.with_traceback(None)
            if self._source is None:
                try:
                    self._source = self.fleet.open_member(self)
                except Exception as error:
                    self._error = why(error)
                    self.fleet.failed(self, self._error)
                    if self._error is error:
                        raise
                    raise self._error from error
            source = self._source
        self.fleet.used(self)
        return source

    def try_again(self) -> None:
        """Forget that it could not be opened."""
        self._error = None

    def show(self, source: Source) -> None:
        """Show another state of it from now on."""
        with self._lock:
            self._source, self._error = source, None
            self.has_own_state = source.moment_offset is not None or self.reading.at is not None

    def take_over(self, older: FleetMember, source: Source) -> None:
        """Begin with a source of an older fleet's member."""
        self._source, self.has_own_state = source, older.has_own_state

    def close(self) -> bool:
        """Let go of what was read, if that can be read again; whether it was."""
        with self._lock:
            if self._source is None or self.has_own_state:
                return False
            self._warnings = self.warnings
            # A source that was not decoded has stopped nowhere.
            self._stopped_by = self._source.stopped_by if self._source.decoded else None
            self._source = None
            return True

    def was_read(self, warnings: Sequence[str], stopped_by: Fault | None) -> None:
        """Take over what another process found that read it."""
        with self._lock:
            if self._source is None:
                self._warnings, self._stopped_by = tuple(warnings), stopped_by

    @property
    def warnings(self) -> Sequence[str]:
        """The sentences that the user should read, as far as it was read."""
        source = self._source
        return self._warnings if source is None else tuple(source.warnings)

    @property
    def stopped_by(self) -> Fault | None:
        """The fault before which its strict replay ended, as far as it was read."""
        source = self._source
        return self._stopped_by if source is None else source.stopped_by

    @property
    def is_of_a_broker(self) -> bool:
        """Whether logs of topics are in its log directories.

        Cost: a listing; one in a store is not listed, and counts as such.
        """
        if self._source is not None:
            return self._source.coordinator_tables is not None
        for path in (self.path, *self.reading.settings.log_dirs):
            place = place_of(path)
            if not isinstance(place, str) and not place.store.is_archive:
                return True
            if base_name(place) == METADATA_DIRECTORY:
                place = parent_of(place)
            with suppress(SourceError):  # Opening it tells the reason.
                logs = read_log_directory(place).logs
                if any(log.name != METADATA_DIRECTORY for log in logs):
                    return True
        return False

    @property
    def n_bytes(self) -> int:
        """Bytes of the files that are held and of what is made of any; 0 where it is not opened."""
        source = self._source
        if source is None:
            return 0
        return _SOURCE_BYTES + sum(file.size for file in source.log.loaded.files)

    def weight(self) -> int:
        """About how many bytes are to be read; a listing, where the directory is a local one."""
        inner = os.path.join(self.path, METADATA_DIRECTORY)
        total = 0
        try:
            with os.scandir(inner if os.path.isdir(inner) else self.path) as entries:
                for entry in entries:
                    if entry.name.endswith((".log", ".checkpoint")):
                        total += entry.stat().st_size
        except OSError:
            return _UNKNOWN_BYTES
        return total


class MemberDirectory(Directory):
    """A member's root; empty where it can't be opened.

    Args:
        member: The member.
        root: Which of a source's roots.
    """

    def __init__(self, member: FleetMember, root: Callable[[Source], Directory]) -> None:
        self.member = member
        self._root_of = root

    def _root(self) -> Directory:
        try:
            source = self.member.source()
        except SourceError:
            return _NOTHING
        return self._root_of(source)

    def names(self) -> Sequence[str]:
        return self._root().names()

    def child(self, name: str) -> Node | None:
        return self._root().child(name)

    def grid(self) -> Grid | None:
        return self._root().grid()

    def times(self) -> Times | None:
        return self._root().times()

    def child_times(self, names: Sequence[str]) -> tuple[I64, I64]:
        return self._root().child_times(names)

    def names_from(self, prefix: str, limit: int) -> Sequence[str]:
        return self._root().names_from(prefix, limit)

    def last_from(self, prefix: str) -> str | None:
        return self._root().last_from(prefix)

    def missing(self, path: str) -> PathError:
        if self._root() is _NOTHING:
            return PathError(path, "the directory of this cluster can't be read")
        return NoSuchPathError(path)


_NOTHING: Final = FixedDirectory({})


class FleetDirectory(FixedDirectory):
    """The root of a fleet, or its ``/clusters``: above all members, without times of its own."""

    def times(self) -> Times | None:
        return None


FleetRow: TypeAlias = dict[str, str | int | None]

FIELDS: Final = (
    "directory",
    "clusterId",
    "nodeId",
    "brokers",
    "fenced",
    "topics",
    "partitions",
    "offline",
    "underMinIsr",
    "underReplicated",
    "metadataVersion",
    "offset",
    "logEpoch",
    "logEndOffset",
    "timestamp",
    "faults",
    "fault",
    "error",
)
"""Keys of a `fleet_row`, in order."""


def failed(place: str, reason: str) -> FleetRow:
    """The row of a directory that could not be read."""
    return {
        **dict.fromkeys(FIELDS),
        "directory": shown(place),
        "error": without_credentials(reason),
    }


def why(error: Exception) -> SourceError:
    """The error to tell of a directory where reading it raised one."""
    if isinstance(error, SourceError):
        return error
    if isinstance(error, MetashellError):
        return SourceError(error.message, hint=error.hint)
    if isinstance(error, MemoryError):
        return SourceError("it does not fit in memory")
    if isinstance(error, OSError):
        return SourceError(error.strerror or type(error).__name__)
    return InternalError.of(error)


def error_fields(error: Exception) -> dict[str, str]:
    """The fields of a row for an error; see `error_of`."""
    cause = why(error)
    bug = {"traceback": cause.traceback} if isinstance(cause, InternalError) else {}
    return {"error": without_credentials(cause.message), **bug}


def error_of(row: Mapping[str, Any]) -> SourceError | None:
    """The error that a row has; None where it has none."""
    if "traceback" in row:
        return InternalError(row["error"], traceback=row["traceback"])
    return None if row["error"] is None else SourceError(row["error"])
