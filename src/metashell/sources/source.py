"""An opened source: the Python API, and what every front end works on.

Made by `metashell.sources.opening`. Nothing is decoded before it is asked for. Each kind of source
has a module of its own, and says by its `Capabilities` in what it differs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from metashell.fs.node import Directory
from metashell.fs.nodes.extra import bootstrap_node, local_node, log_node
from metashell.fs.nodes.root import RootDirectory, image_node
from metashell.fs.path import resolve
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog
from metashell.log.fault import Fault, FaultKind
from metashell.log.time_spec import LogClock, Point, time_spec_of
from metashell.log.unread import Unread
from metashell.places.place import Place, shown
from metashell.read_settings import READ_DEFAULTS, ReadSettings
from metashell.redact import Redaction
from metashell.schema.timestamps import iso_time
from metashell.sources.node_source import NodeSource
from metashell.sources.status import Capabilities, Status
from metashell.version import __version__

if TYPE_CHECKING:
    from metashell.fs.nodes.partitioned import PartitionsDirectory
    from metashell.image.history import CoveredPoint, History
    from metashell.image.image import Image
    from metashell.log.truncation import Truncation
    from metashell.records.records import Records
    from metashell.schema.model import Registry
    from metashell.sources.coordinator import CoordinatorSource
    from metashell.sources.coordinator_tables import SourceTables
    from metashell.sources.delegate import Delegate
    from metashell.sources.live import LiveQuorum
    from metashell.sources.older import DatedImage
    from metashell.sources.topic import TopicSource

_T = TypeVar("_T")
_FAULTS_TOLD = 3
"""Faults of records that are told one by one in warnings; ``/log/faults`` has all."""


class Source(NodeSource):
    """A metadata log, and the cluster's state as it tells it; one state, which stays as it is.

    Made by `metashell.open`, `metashell.open_file` and `metashell.open_quorum`; a ``with``
    statement closes it.

    Args:
        log: The files.
        settings: How they are read and shown.
        directory: The metadata directory; None for a file by itself and for a quorum.
        newest: For an earlier state the source that it was made from.
        moment: The moment of an earlier state.
    """

    capabilities: ClassVar[Capabilities] = Capabilities()
    """In what this kind of source differs from others."""
    live: LiveQuorum | None = None
    """The quorum that it is fetched from; None for files."""

    def __init__(
        self,
        log: MetadataLog,
        settings: ReadSettings = READ_DEFAULTS,
        *,
        directory: Place | None = None,
        newest: Source | None = None,
        moment: CoveredPoint | None = None,
    ) -> None:
        self.lock = RLock()
        """Held while what is lazy is computed; threads may ask at once."""
        self._newest = newest
        self._moment = moment
        self._unread_logs: list[str] = []
        """Faults of topics' logs that could not be read."""
        self.log = log
        """The files of the directory, and those that were read."""
        self.settings = settings
        """How it is read and shown."""
        self.redaction = Redaction(self.settings.show_secrets)
        """The redaction of secrets."""
        self._directory = directory
        self.path = log.path
        """The directory or file read, or the quorum's first address."""
        self.name = os.path.basename(os.path.abspath(log.path))
        """The source's name in a prompt."""
        if self.settings.schemas:
            _ = self.registry  # a wrong definition is the user's mistake: say so at once

    @lazy
    def registry(self) -> Registry:
        """Message definitions, the user's included."""
        from metashell.schema.model import load_registry

        return load_registry(self.settings.schemas)

    @lazy
    def image(self) -> Image:
        """The parts of the image, each folded when first looked at."""
        from metashell.image.image import Image

        _ = self.registry
        image = self._whole_image() if self._moment is None else Image(self._moment.records)
        if self.settings.strict:
            from metashell.records.record_faults import first_fault

            records = image.records
            image.fold_everything()
            first = first_fault(records, self.log.faults)
            if first is not None and (records.before is None or first[0] < records.before):
                before, self._stopped_by = first
                image = Image(records.until(before))
        return image

    def expect(self, lists: Iterable[str]) -> None:
        """Tell which lists of partitions are asked for next, if the image is folded from a log.

        See `Image.expect`; a strict replay decodes all of it anyway.
        """
        kind = self.capabilities
        if kind.has_log and kind.has_image and not self.settings.strict:
            self.image.expect(lists)

    def _whole_image(self) -> Image:
        """The image of all files, however they are damaged."""
        from metashell.image.image import Image
        from metashell.records.records import Records

        return Image(Records(self.log.loaded, self.registry))

    @property
    def decoded(self) -> Source | None:
        """The newest source that this one begins with whose image was looked at; None for none."""
        return self if Source.image.is_known(self) else None

    _stopped_by: Fault | None = None

    @property
    def stopped_by(self) -> Fault | None:
        """The fault before which a strict replay ended; None without one. Cost: decodes all."""
        if self.settings.strict:
            _ = self.image
        return self._stopped_by

    @lazy
    def root(self) -> Directory:
        """The root of the file system."""
        return self._root_over(lambda: self.image)

    @lazy
    def history_root(self) -> Directory:
        """The file system over an image folded from the oldest state in the directory.

        Its nodes show equal values, and its rows know when things happened before the checkpoint
        that `root` begins with. Cost: reads all segments.
        """
        whole = self.history_image
        return self.root if whole is self.image else self._root_over(lambda: whole)

    @lazy
    def history_image(self) -> Image:
        """The image folded from the oldest state in the directory; `image` where that is no other.

        Its rows know when things happened before the checkpoint that `image` begins with. Cost:
        reads all segments.
        """
        whole = self.history.whole_image(self._moment)
        return self.image if whole is None else whole

    @lazy
    def dated_image(self) -> DatedImage:
        """The image whose rows know best when they came to be, as far as that is read unasked."""
        from metashell.sources.older import dated_image

        return dated_image(self)

    @lazy
    def undated_image(self) -> DatedImage | None:
        """The dated image where no older file has to be read for it; None where one has to be."""
        from metashell.sources.older import undated_image

        return undated_image(self)

    def _root_over(self, image: Callable[[], Image]) -> Directory:
        return RootDirectory(
            {
                "bootstrap": lambda: bootstrap_node(self._bootstrap_texts),
                "image": lambda: image_node(image, self.redaction),
                "local": lambda: local_node(__version__),
                "log": lambda: log_node(self.log, self.all_faults),
                "quorum": lambda: self._quorum_node(image),
            },
            lambda: self._log_nodes,
        )

    @lazy
    def _log_nodes(self) -> Mapping[str, Directory | Callable[[], Directory]]:
        """The directories that are there because of topics' logs, or what makes them."""
        found: dict[str, Directory | Callable[[], Directory]] = {**self.coordinator_directories}
        # Nothing tells an earlier state of what has no coordinator.
        if self._newest is None and self._topics_of_logs:
            from metashell.sources.coordinator_tree import directories_beside

            found |= directories_beside(self, self._unread_logs)
        return found

    @lazy
    def coordinator_directories(self) -> Mapping[str, PartitionsDirectory]:
        """The directories of groups, transactions and the like, where there are their logs."""
        if not self.has_coordinator_logs:
            return {}
        from metashell.sources.coordinator_tree import coordinator_directories

        return coordinator_directories(self)

    @lazy
    def coordinator_tables(self) -> SourceTables | None:
        """The tables of coordinators' logs, which a broker's log directory has; else None."""
        if not self._topics_of_logs:
            return None
        from metashell.sources.coordinator_tables import SourceTables

        return SourceTables(self)

    def _coordinator_remarks(self) -> list[str]:
        """Sentences about coordinators' logs that are missing or unreadable, as far as known."""
        directories = Source.coordinator_directories.known(self) or {}
        of_tree = [told for directory in directories.values() for told in directory.remarks()]
        of_tables = Source.unread.known(self) or Unread()
        return [*of_tree, *self._unread_logs, *of_tables.faults, *of_tables.remarks]

    @property
    def full_log(self) -> Source:
        """The source to ask about the log itself: this one, where it has the log."""
        return self

    @property
    def without_image(self) -> Sequence[str]:
        """Sentences for the user of a node without a metadata log."""
        return ()

    @property
    def of_coordinator(self) -> CoordinatorSource | None:
        """This source where it is a coordinator's log, which has records and no image."""
        return None

    @property
    def of_topic(self) -> TopicSource | None:
        """This source where it is another topic's log, of which only batches are told."""
        return None

    # Closing, delegating, and the state that is shown.

    def close(self) -> None:
        """End what goes on in the background; what is here stays readable."""

    def delegate(self, command: Callable[[Delegate], _T | None]) -> _T | None:
        """Have an engine that holds the log do a command's work.

        Args:
            command: Asks it.

        Returns:
            Its answer; None where the work is this process's.
        """
        return None

    def __enter__(self) -> Self:
        """Nothing to do: it is open."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    # Earlier states.

    @property
    def newest(self) -> Source:
        """The source as it is at the end of the log; itself unless made by `at`."""
        return self._newest or self

    @property
    def moment_offset(self) -> int | None:
        """The last offset that this source shows, where `at` made it; None for the log's end."""
        return None if self._moment is None else self._moment.offset

    @property
    def moment_ms(self) -> int | None:
        """The time of that state, ms since the epoch, to which other logs are read; else None.

        It is the time that was asked for; where an offset was, that of its record.
        """
        if self._moment is None:
            return None
        if self._moment.timestamp_ms is not None:
            return self._moment.timestamp_ms
        known = self.image.provenance.timestamp_ms
        return known if known >= 0 else None

    @property
    def moment_notes(self) -> Sequence[str]:
        """Sentences about how the point of `at` was found."""
        return () if self._moment is None else self._moment.notes

    @lazy
    def history(self) -> History:
        """All that the files remember."""
        from metashell.image.history import History

        if self._newest is not None:
            return self._newest.history
        return History(self.log, self.image.records)

    @property
    def history_records(self) -> Records:
        """Records from the oldest state in the directory up to where this source stands."""
        return self.history.records_until(self._moment)

    def at(self, point: Point, *, record: bool = False) -> Source:
        """The source as it was at an offset or a time.

        Args:
            point: An included offset or a time; see `parse_time_spec`. Ages count back from
                the log's last record, on a live quorum from now. Times without a zone are UTC.
                One without a fraction of a second includes its whole second.
            record: Apply up to the record itself where the offset lies inside a batch.

        Raises:
            UsageError: It can't be read.
            NotCoveredError: The files do not cover it; the message gives the range.
        """
        time_spec = time_spec_of(point)
        clock: LogClock | None = None
        if time_spec.offset is None:
            from metashell.sources.log_clock import clock_of

            clock = clock_of(self.newest)
        return self._earlier(self.history.at(time_spec, clock, record=record))

    def _earlier(self, moment: CoveredPoint) -> Source:
        """The source of an earlier state."""
        return Source(
            moment.log,
            self.settings,
            directory=self._directory,
            newest=self.newest,
            moment=moment,
        )

    def refreshed(self) -> Source:
        """The newest state of the source; this very source where there is nothing newer.

        For a quorum it holds the records fetched by now. A directory is read again where its files
        changed. A source made by `at` stays where it is.

        Raises:
            SourceError: The directory can't be read any more.
        """
        return self

    def standing(self) -> Source:
        """The state that a session goes on with, as long as nobody asks for a newer one.

        For a quorum it is the newest one. A directory stays as it was read while its log only
        grows. It is read again where the log was truncated, and where its torn tail changed.

        Raises:
            SourceError: The directory can't be read any more.
        """
        return self

    truncation: Truncation | None = None
    """The records that this state lacks and the state before `refreshed` had."""

    def _quorum_node(self, image: Callable[[], Image]) -> Directory:
        from metashell.fs.nodes.quorum import quorum_node

        # Neither the quorum nor the files beside the log tell of an earlier state.
        is_newest = self._moment is None
        live = self.live if is_newest else None
        return quorum_node(
            image,
            self._node_files.epochs,
            {
                "quorum-state": self._node_files.quorum_state_values,
                "meta.properties": self._node_files.meta_properties_values,
            },
            None if live is None else live.status,
            directory=self._directory if is_newest else None,
        )

    # Faults, and sentences for the user.

    @property
    def faults(self) -> Sequence[Fault]:
        """Faults found so far: of files at once, of records as they are decoded."""
        found = [*self.log.faults, *self._record_faults()]
        if self._stopped_by is not None and self._stopped_by not in found:
            found.append(self._stopped_by)
        return found

    def _decoded_records(self) -> Sequence[Records]:
        """Records of which some were decoded; each knows what was wrong with these."""
        decoded = Source.image.known(self)
        return () if decoded is None else (decoded.records,)

    def _record_faults(self) -> list[Fault]:
        """Faults of records by file and offset, not in the order in which parts were folded."""
        of_records = self._decoded_records()
        order = {f.name: i for records in of_records for i, f in enumerate(records.loaded.files)}
        faults = dict.fromkeys(fault for records in of_records for fault in records.faults)
        return sorted(faults, key=lambda f: (order.get(f.file or "", -1), f.offset or 0))

    def all_faults(self) -> Sequence[Fault]:
        """Every fault, having decoded everything, and every file that can't be opened."""
        self.image.fold_everything()
        return [*self.faults, *self.log.unreadable()]

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences that the user should read. More are added as more is decoded."""
        out = [*self._notes(), *self._coordinator_remarks()]
        out.extend(str(f) for f in self.log.faults if f.kind is FaultKind.GAP and str(f) not in out)
        if self._stopped_by is not None:
            out.append(f"the replay stopped before a fault: {self._stopped_by}")
        faults, of_records = self._record_faults(), self._decoded_records()
        out.extend(str(f) for f in faults[:_FAULTS_TOLD])
        n_more = len(faults) - _FAULTS_TOLD
        n_more += max((records.faults_left_out for records in of_records), default=0)
        if n_more > 0:
            out.append(f"{n_more} more faults: see /log/faults")
        for records in of_records:
            if type(records).applied.is_known(records) and records.open_transaction is not None:
                offset = int(records.frames.offset[records.open_transaction])
                text = f"a transaction is open since offset {offset}: its records do not count yet"
                out.append(text)
        return list(dict.fromkeys(out))

    def _notes(self) -> list[str]:
        """Sentences about how it was read."""
        return [*self.log.notes, *self.moment_notes]

    def status(self) -> Status:
        """Where the image stands. Cost: frames the log."""
        from metashell.image.features import metadata_version_name

        last, level = self.image.provenance, self.image.metadata_version
        return Status(
            offset=last.offset if last.offset >= 0 else None,
            epoch=last.epoch if last.epoch >= 0 else None,
            timestamp_ms=last.timestamp_ms if last.timestamp_ms >= 0 else None,
            metadata_version=None if level is None else metadata_version_name(level),
            notes=self._short_notes(),
        )

    def _short_notes(self) -> tuple[str, ...]:
        notes = [] if self._moment is None else [f"at offset {self._moment.offset}"]
        kinds = {fault.kind for fault in self.log.faults}
        if FaultKind.TORN in kinds:
            notes.append("torn tail")
        n_faults = sum(fault.kind is not FaultKind.TORN for fault in self.faults)
        if n_faults:
            notes.append(f"{n_faults} fault{'s' if n_faults > 1 else ''}")
        if self.image.records.open_transaction is not None:
            notes.append("open transaction")
        return tuple(notes)

    def warm_up(self) -> None:
        """Compute what the first commands of an interactive front end will ask for."""
        for path in ("/image/topics/byName", "/image/topics/byId", "/image/configs"):
            node = resolve(self.root, path).node
            if isinstance(node, Directory):
                node.grid()

    def _facts(self) -> Iterable[tuple[str, object]]:
        yield "source", shown(self.path)
        yield "cluster", self.cluster_id
        yield "node", self.node_id
        if self.capabilities.has_image:
            status = self.status()
            yield "offset", status.offset
            yield "time", None if status.timestamp_ms is None else iso_time(status.timestamp_ms)
            yield "metadata version", status.metadata_version
            yield "notes", ", ".join(status.notes) or None

    def __repr__(self) -> str:
        return f"<metashell.Source {shown(self.path)}>"
