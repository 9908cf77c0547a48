"""Requests to open a source: plain values, made of arguments or of keywords."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Final, Protocol

from metashell.dataclass import dataclass
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.sources.engine import ENGINE_DEFAULTS, EngineSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.errors import SourceError
    from metashell.log.read import ReadProgress
    from metashell.security.settings import Address, Security
    from metashell.sources.node_places import NodePlaces


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumChoice:
    """A live quorum chosen and not yet spoken to."""

    addresses: tuple[Address, ...]
    """Where controllers listen; at least one."""
    security: Security
    timeout_s: float | None = None
    """How long to wait for it; None for the default."""
    follow: bool = True
    """Whether to go on fetching."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A source chosen and not yet opened."""

    path: str = field(default="", repr=False)
    """A directory or a file; empty for a live quorum. A URI may hold a password."""
    is_file: bool = False
    name: str | None = None
    """The name that stands for the source's own name."""
    quorum: QuorumChoice | None = None
    """Set for a live quorum."""
    paths: tuple[str, ...] = field(default=(), repr=False)
    """Several directories, of one node or of a fleet; empty for anything else."""
    is_fleet: bool = False
    """Whether these are a fleet though they are all of one node, as where a pattern names them."""
    log_dirs: tuple[str, ...] = field(default=(), repr=False)
    """Further log directories of the node whose `path` it is, as its configuration names them."""
    config: tuple[str, Mapping[str, str]] | None = None
    """See `ReadSettings.config`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """The source to open, and how."""

    choice: Choice
    settings: ReadSettings = READ_DEFAULTS
    """How it is read and shown."""
    engine: EngineSettings = ENGINE_DEFAULTS
    """The engine that decodes it."""
    cluster_id: str | None = None
    """The cluster that it must be of; of a fleet, whose directories to take."""
    at: str | None = None
    """The offset or time to show; None for the end of the log."""
    record: bool = False
    """Whether an offset inside a batch means up to the record itself."""
    joins: bool = False
    """Whether directories with one cluster id are one cluster."""
    nodes: tuple[NodePlaces, ...] = ()
    """The directories of a fleet by node, once that was found out."""
    is_searched: bool = False
    """Whether what is asked of it can be answered without having the image here."""


class JobProgress(Protocol):
    """Draws how far a job of Spark has come."""

    def __call__(self, done: int, total: int) -> None:
        """Note (tasks done, tasks known)."""

    def close(self) -> None:
        """Erase what was drawn."""


class OpeningWatch:
    """Is told how opening goes on; this one takes no notice of it."""

    def reading(self, label: str) -> AbstractContextManager[ReadProgress | None]:
        """Begin to read files, or to fetch them. Gives a function to tell the progress to, or None.

        Args:
            label: The name of the work.
        """
        return nullcontext(None)

    def spark(self) -> AbstractContextManager[JobProgress | None]:
        """Have Spark open it. Gives the progress of its jobs, also of those that come later."""
        return nullcontext(None)

    def spark_begins(self, reason: str) -> None:
        """A session of Spark is made, for a reason that nobody gave; may be called again."""

    def spark_is_missing(self, reason: str, missing: SourceError) -> None:
        """Spark would be used, and can't be."""

    def warn(self, text: str) -> None:
        """Take what the user should know."""


SILENT: Final = OpeningWatch()
