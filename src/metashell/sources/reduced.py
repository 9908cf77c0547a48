"""A source whose image comes from a reduced log: decoded by other processes, or earlier.

Its file system is that of the directory. Questions about the log or an earlier state are answered
by `ReducedSource.full_log`, the directory opened as usual.

Whether Spark decodes what is opened, and handing it over.

Owns when Spark is asked for. Knows of it by dotted names alone, which are resolved where it is
chosen: nothing here imports PySpark, or what needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.errors import SourceError
from metashell.fs.node import Directory, FixedDirectory, Node
from metashell.fs.nodes.extra import log_node
from metashell.lazy import lazy
from metashell.log.changed import Signature
from metashell.log.directory import MetadataLog, note_of
from metashell.log.fault import Fault, FaultKind
from metashell.log.read import Loaded
from metashell.log.splits import Plan
from metashell.log.time_spec import Point
from metashell.places.place import Place
from metashell.read_settings import ReadSettings
from metashell.sources.engine import EngineSettings, why_spark
from metashell.sources.source import Source
from metashell.sources.status import Capabilities

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.image.history import History
    from metashell.image.image import Image
    from metashell.records.records import Records
    from metashell.reduced.table import FileFacts
    from metashell.schema.model import Registry
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.request import OpeningWatch, OpenRequest
    from metashell.sources.without_image import SourceWithoutImage

_OPENING: Final = "metashell.spark_backend.opening"
_NEEDS: Final = "metashell.spark_backend.needs"


def reason_for_spark(
    settings: EngineSettings, bytes_to_decode: int, watch: OpeningWatch
) -> str | None:
    """Why Spark is to decode directories; None where this process is.

    Args:
        settings: The engine options of the user.
        bytes_to_decode: The bytes of the largest directory.
        watch: Is told where Spark would decode and can't.

    Raises:
        SourceError: Spark was asked for and is missing.
    """
    why = why_spark(settings, bytes_to_decode)
    if why is None:
        return None
    missing: SourceError | None = _resolve(_NEEDS, "missing_requirement")(settings.master_url)
    if missing is None and find_spec(_OPENING) is None:
        missing = SourceError("this build of metashell has no Spark engine")
    if missing is None:
        return why
    if settings.engine == "spark":
        raise missing
    watch.spark_is_missing(why, missing)
    return None


def open_by_spark(request: OpenRequest, reason: str, watch: OpeningWatch) -> Source | FleetSource:
    """Have Spark open a directory, or the directories of a fleet.

    Args:
        request: The request.
        reason: The reason from `reason_for_spark`, told where nobody asked for Spark.
        watch: Is told how far it has come.

    Raises:
        SourceError: A place can't be read, or Spark can't be used.
    """

    def begins() -> None:
        if request.engine.engine == "auto":
            watch.spark_begins(f"using Spark: {reason}")

    with watch.spark() as jobs:
        opened: Source | FleetSource = _resolve(_OPENING, "open_delegated")(request, jobs, begins)
        return opened


def delegate_logs(source: SourceWithoutImage, request: OpenRequest, watch: OpeningWatch) -> None:
    """Have Spark run the SQL of a source without a metadata log, where a user asks for Spark.

    Args:
        source: The source.
        request: The request that opened it.
        watch: Is told how far Spark has come.

    Raises:
        SourceError: Spark is missing.
    """
    settings = request.engine
    # This process answers about earlier states and about a broker, as it does for a metadata log.
    if settings.engine != "spark" or request.settings.strict or request.at is not None:
        return
    reason_for_spark(settings, 0, watch)
    with watch.spark() as jobs:
        _resolve(_OPENING, "delegate_logs")(source, request, jobs, lambda: None)


def _resolve(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


class Reduced(Protocol):
    """A reduced log, here or in the cache."""

    plan: Plan
    files: list[FileFacts]
    registry: Registry

    @property
    def records(self) -> Records:
        """The reduced records."""


class ReducedSource(Source):
    """A directory's newest state, made from the reduced log alone.

    Args:
        plan: The directory's files.
        reduce: Gives the log; called at the first question.
        settings: How it is reduced and shown; `ReadSettings.strict` is not possible.
        directory: The metadata directory.
        signature: The signature of its state before it was planned.
        open_full_log: Opens the directory as usual; None where that must not be done, as in an
            executor.
    """

    capabilities = Capabilities(has_log=False)

    def __init__(
        self,
        plan: Plan,
        reduce_records: Callable[[], Reduced],
        settings: ReadSettings,
        *,
        directory: Place,
        signature: Signature = (),
        open_full_log: Callable[[], Source] | None = None,
    ) -> None:
        self._plan, self._reduce, self._open_full_log = plan, reduce_records, open_full_log
        super().__init__(_planned(plan, directory, signature), settings, directory=directory)

    @lazy
    def reduced(self) -> Reduced:
        """The log. Cost: what `reduce_records` does."""
        reduced = self._reduce()
        self.log = _known(reduced, self.log)
        return reduced

    @lazy
    def registry(self) -> Registry:
        return self.reduced.registry

    @lazy
    def image(self) -> Image:
        from metashell.image.image import Image

        return Image(self.reduced.records)

    @lazy
    def root(self) -> Directory:
        def log() -> Node:
            _ = self.reduced
            return log_node(self.log, self.all_faults)

        root = super().root
        assert isinstance(root, FixedDirectory)
        return root.but({"log": log})

    @lazy
    def full_log(self) -> Source:
        """The directory opened as usual. Cost: reads and decodes it here."""
        return self if self._open_full_log is None else self._open_full_log()

    def _decoded_records(self) -> Sequence[Records]:
        own, full = super()._decoded_records(), ReducedSource.full_log.known(self)
        return own if full is None or full is self else (*own, *full._decoded_records())

    def all_faults(self) -> Sequence[Fault]:
        found = super().all_faults()
        if self.reduced.records.merges_at_fault and self.full_log is not self:
            return self.full_log.all_faults()
        return found

    @property
    def history(self) -> History:
        return self.full_log.history

    @property
    def history_records(self) -> Records:
        return self.full_log.history_records

    @property
    def history_root(self) -> Directory:
        return self.full_log.history_root

    def at(self, point: Point, *, record: bool = False) -> Source:
        return self.full_log.at(point, record=record)

    def records(self, message: str) -> pa.Table:
        return self.full_log.records(message)

    def unknown_records(self) -> pa.Table:
        return self.full_log.unknown_records()


def source_of(log: Reduced, settings: ReadSettings, directory: Place) -> ReducedSource:
    """A source of a reduced log that is here, by itself: the directory is not opened."""
    return ReducedSource(log.plan, lambda: log, settings, directory=directory)


def _planned(plan: Plan, directory: Place, signature: Signature) -> MetadataLog:
    """A directory's files as its plan tells of them."""
    return MetadataLog(
        plan.path,
        Loaded(b"", 0, []),
        plan.listing,
        plan.checkpoint,
        list(plan.faults),
        list(plan.notes),
        remote=None if isinstance(directory, str) else directory,
        signature=signature,
    )


def _known(reduced: Reduced, planned: MetadataLog) -> MetadataLog:
    """The files' facts once they were read, without their bytes."""
    from metashell.reduced.table import loaded_of

    plan, loaded = reduced.plan, loaded_of(reduced.files)
    gaps = [fault for fault in plan.faults if fault.kind is FaultKind.GAP]
    others = [fault for fault in plan.faults if fault.kind is not FaultKind.GAP]
    found = loaded.faults
    return replace(
        planned,
        loaded=loaded,
        faults=[*others, *found, *gaps],
        notes=[*plan.notes, *(note_of(fault, fault is found[-1]) for fault in found)],
    )
