"""A fleet: directories that are opened when they are first looked at, under one root.

A directory that can't be opened is empty. `FleetSource.take_failures` gives the reasons, and the
others are not touched. Opened directories are closed again, the least recently used first, where
they hold many bytes together.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from copy import copy
from functools import cached_property
from importlib import import_module
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, Final, Self, TypeAlias, TypeVar

from metashell.errors import InternalError, MetashellError, SourceError
from metashell.fs.node import Directory
from metashell.fs.path import CLUSTERS
from metashell.node_files.config import KafkaConfig
from metashell.places.uri import is_uri, shown
from metashell.read_settings import ReadSettings
from metashell.redact import Redaction
from metashell.sources.engine import KEPT_BYTES, core_count
from metashell.sources.fleet.member import FleetDirectory, FleetMember, FleetRow, error_of, failed
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.reading import Reading
from metashell.sources.node_places import NodePlaces, distinct, identity_of, nodes_at
from metashell.sources.questions import Questions
from metashell.sources.status import Capabilities, Status

if TYPE_CHECKING:
    from metashell.log.fault import Fault
    from metashell.log.time_spec import Point
    from metashell.sources.coordinator_tables import CoordinatorTables
    from metashell.sources.delegate import Delegate
    from metashell.sources.source import Source

_T = TypeVar("_T")

Progress: TypeAlias = Callable[[], AbstractContextManager[Callable[[int, int], None] | None]]
"""Makes what is told (bytes done, bytes in all) while a fleet is computed; None for nobody."""

JobRunner: TypeAlias = Callable[
    [Callable[..., FleetRow], Sequence[tuple[object, ...]], Sequence[int], Callable[[], None]],
    Iterator[tuple[int, FleetRow | None]],
]
"""Calls a function for each job, wherever: see `metashell.sources.fleet.pool.run_all`. The third
argument has about how many bytes each job reads, the fourth is called again and again, and raises
to end everything."""

SMALL_BYTES: Final = 16 << 20
"""A local fleet of less is computed here before other processes have begun."""
_MOST: Final = 10
"""Directories that a notebook shows."""
_COPIES: Final = "metashell.judgement.copies_rows"
_FEW_BYTES: Final = 128 << 20
"""The limit for answers that look at a part of each image; measured, as is the next."""
OPENING_BYTES: Final = 1 << 20
"""The cost of opening a directory, in bytes that could be read meanwhile."""


class FleetSource(Questions):
    """Several directories under one root; what works on one cluster takes a `FleetMember`'s source.

    Args:
        nodes: Where each member is.
        reading: How they are read.
        progress: Tells how far computing has come.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(has_log=False)
    """A fleet has no log of its own."""
    name: Final = "fleet"
    """The name for a prompt."""

    def __init__(
        self,
        nodes: Sequence[NodePlaces],
        reading: Reading,
        *,
        progress: Progress | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self._nodes = tuple(nodes)
        ids = {node.cluster_id for node in nodes}
        self.is_of_one_cluster = len(ids) == 1 and None not in ids
        """Whether all directories say that they are of one cluster."""
        config = reading.settings.config if self.is_of_one_cluster else None
        self.configured_node = None if config is None else KafkaConfig(*config).node_id
        """The node whose configuration is known; None where there are more clusters."""
        self.reading = reading
        """How the members are read."""
        self.progress = progress
        self.runner: JobRunner | None = None
        """Computes rows instead of processes of this machine."""
        self._notes = tuple(notes)
        self._lock = RLock()
        self._used: OrderedDict[str, FleetMember] = OrderedDict()
        self._failures: dict[str, SourceError] = {}
        # By what may be shown of a URI: it can hold a key.
        names = unique_names([(identity_of(node.path), node.cluster_id) for node in nodes])
        members = (FleetMember(self, name, node) for name, node in zip(names, nodes, strict=True))
        self.members: dict[str, FleetMember] = {
            m.name: m for m in sorted(members, key=lambda m: m.name)
        }
        """The directories by name, in order."""

    @classmethod
    def over(
        cls,
        paths: Sequence[str],
        settings: ReadSettings,
        *,
        cluster_id: str | None = None,
        nodes: Sequence[NodePlaces] = (),
        progress: Progress | None = None,
    ) -> Self:
        """Lay a fleet over directories, like `metashell.sources.opening.open_fleet`, without Spark.

        Args:
            paths: The directories.
            settings: How they are read and shown.
            cluster_id: Take only directories of this cluster.
            nodes: The directories by node, where that is known.
            progress: See the class.
        """
        if settings.schemas:
            from metashell.schema.model import load_registry

            load_registry(settings.schemas)  # a wrong definition is no fault of a directory
        nodes = nodes or nodes_at(distinct(paths))
        notes = [note for node in nodes for note in node.notes]
        if cluster_id is not None:
            unknown = sum(node.cluster_id is None for node in nodes)
            if unknown:
                notes.append(
                    f"{unknown} of {len(nodes)} directories do not name their cluster:"
                    " `--cluster-id` leaves them out"
                )
            nodes = [node for node in nodes if node.cluster_id == cluster_id]
            if not nodes:
                raise SourceError(f"no directory belongs to cluster {cluster_id}")
        if not nodes:
            raise SourceError("a fleet needs at least one directory")
        return cls(nodes, Reading(settings=settings), progress=progress, notes=notes)

    def of_cluster(self, cluster_id: str) -> FleetSource:
        """The directories that say that they are of a cluster, as a fleet of their own."""
        nodes = [node for node in self._nodes if node.cluster_id == cluster_id]
        return FleetSource(nodes, self.reading)

    @property
    def settings(self) -> ReadSettings:
        """How the members are read and shown."""
        return self.reading.settings

    @property
    def redaction(self) -> Redaction:
        """The redaction of the members."""
        return Redaction(self.settings.show_secrets)

    @cached_property
    def root(self) -> Directory:
        """The root of the file system: ``/clusters``, with each member's root below.

        Directories of one cluster have ``/quorum/copies`` too.
        """
        return self._root(lambda member: member.directory)

    @cached_property
    def history_root(self) -> Directory:
        """The root of the file system over each member's `Source.history_root`."""
        return self._root(lambda member: member.history_directory)

    def _root(self, directory: Callable[[FleetMember], Directory]) -> Directory:
        def maker(member: FleetMember) -> Callable[[], Directory]:
            return lambda: directory(member)

        clusters = FleetDirectory({name: maker(member) for name, member in self.members.items()})
        parts: dict[str, Callable[[], Directory]] = {CLUSTERS: lambda: clusters}
        if len(self._nodes) > 1 and self.is_of_one_cluster:
            parts["quorum"] = lambda: FleetDirectory({"copies": self._copies})
        return FleetDirectory(parts)

    def _copies(self) -> Directory:
        """The copies of one quorum's logs, judged together: no lower layer can."""
        found: Directory = import_module(_COPIES).copies_directory(self)
        return found

    # Members that were used, and those that can't be.

    def used(self, member: FleetMember) -> None:
        """Note that a member was used; others are closed where all hold too much."""
        with self._lock:
            if next(reversed(self._used), None) == member.name:
                return  # Whoever walks a member uses it again and again.
            self._used[member.name] = member
            self._used.move_to_end(member.name)
            held = sum(m.n_bytes for m in self._used.values())
            for other in list(self._used.values())[:-1]:
                if held <= KEPT_BYTES:
                    break
                n_bytes = other.n_bytes
                if other.close():
                    held -= n_bytes
                    del self._used[other.name]

    def open_member(self, member: FleetMember) -> Source:
        """Open a member; errors as `Reading.open`."""
        return member.reading.open(member.path)

    def failed(self, member: FleetMember, error: SourceError) -> None:
        """Note that a member was asked for and can't be opened."""
        with self._lock:
            self._failures[member.name] = error

    def begin(self) -> None:
        """Begin a command: what failed before is forgotten and may be tried again."""
        with self._lock:
            names, self._failures = list(self._failures), {}
        for name in names:
            self.members[name].try_again()

    def failures(self) -> dict[str, SourceError]:
        """The members that were asked for since `begin` and can't be opened, each with why."""
        with self._lock:
            return dict(self._failures)

    # Members that a front end needs of a source too.

    def close(self) -> None:
        """End what goes on in the background; what is here stays readable."""

    @cached_property
    def coordinator_tables(self) -> CoordinatorTables | None:
        """The tables of coordinators' logs, where a member is of a broker; else None."""
        if not any(member.is_of_a_broker for member in self.members.values()):
            return None
        from metashell.sources.coordinator_tables import CoordinatorTables

        return CoordinatorTables(tuple(self.settings.schemas))

    def delegate(self, command: Callable[[Delegate], _T | None]) -> _T | None:
        """Not done for a fleet, see `metashell.sources.source.Source.delegate`."""
        return None

    @property
    def cluster_id(self) -> str | None:
        """The id of the cluster that all are of; None where they are of several."""
        ids = {member.cluster_id for member in self.members.values()}
        return ids.pop() if len(ids) == 1 else None

    @property
    def local_directories(self) -> Sequence[str]:
        """The directories of this machine that it is read from."""
        return [member.path for member in self.members.values() if not is_uri(member.path)]

    @property
    def warnings(self) -> Sequence[str]:
        """The sentences that the user should read about members that were read so far."""
        found = list(self._notes)
        for member in self.members.values():
            found += [f"{member.name}: {warning}" for warning in member.warnings]
        return found

    @property
    def stopped_by(self) -> Fault | None:
        """The first fault before which the strict replay of a member that was read ended."""
        return next(filter(None, (member.stopped_by for member in self.members.values())), None)

    def status(self) -> Status:
        """How many there are; what they hold is told of each alone."""
        notes = [f"{len(self.members)} director{'y' if len(self.members) == 1 else 'ies'}"]
        if self.reading.at is not None:
            notes.append(f"at {self.reading.at}")
        n_failed = len(self.failures())
        if n_failed:
            notes.append(f"{n_failed} can't be read")
        return Status(
            offset=None, epoch=None, timestamp_ms=None, metadata_version=None, notes=tuple(notes)
        )

    def warm_up(self) -> None:
        """Nothing: a fleet is not read before it is looked at."""

    def at(self, point: Point, *, record: bool = False) -> Self:
        """The fleet as each member was at an offset or a time; who does not cover it can't be read.

        Raises:
            UsageError: The point can't be read.
        """
        from metashell.log.time_spec import time_spec_of

        time_spec_of(point)
        reading = Reading(settings=self.reading.settings, at=point, record=record)
        return self._anew(reading)

    def as_opened(self) -> Self:
        """The fleet before any of its clusters was moved in time."""
        return self._anew(self.reading)

    def refreshed(self) -> Self:
        """The fleet with what changed in opened directories since; itself where nothing did.

        Raises:
            SourceError: A directory can't be read any more.
        """
        return self._moved(lambda source: source.refreshed())

    def standing(self) -> Self:
        """The fleet as far as a session updates it unasked: see `Source.standing`.

        Raises:
            SourceError: A directory can't be read any more.
        """
        return self._moved(lambda source: source.standing())

    def _moved(self, how: Callable[[Source], Source]) -> Self:
        new: dict[str, Source] = {}
        for name, member in self.members.items():
            source = member.opened
            if source is not None and source.moment_offset is None:
                newer = how(source)
                if newer is not source:
                    new[name] = newer
        if not new:
            return self
        fleet = self.as_opened()
        for name, member in self.members.items():
            source = new.get(name, member.opened)
            if source is not None:
                fleet.members[name].take_over(member, source)
        return fleet

    def _anew(self, reading: Reading) -> Self:
        """A copy with unopened directories. The fields of a subclass are kept."""
        fleet, runner = copy(self), self.runner
        for made in ("root", "history_root"):
            fleet.__dict__.pop(made, None)
        FleetSource.__init__(fleet, self._nodes, reading, progress=self.progress, notes=self._notes)
        fleet.runner = runner
        return fleet

    # Rows computed for the members.

    def directory_rows(
        self,
        *,
        n_workers: int | None = None,
        stop: Callable[[], None] = lambda: None,
    ) -> list[FleetRow]:
        """A `fleet_row` for each member, with its ``name``, in their order.

        Args:
            n_workers: Processes; None for one a processor, or none where there is little to read.
            stop: Called again and again; it raises to end everything.
        """
        from metashell.sources.fleet.rows import fleet_row, row_of

        return list(self.compute(fleet_row, row_of, n_workers=n_workers, stop=stop))

    def compute(
        self,
        function: Callable[..., FleetRow],
        of_source: Callable[..., FleetRow],
        arguments: Callable[[FleetMember], tuple[object, ...]] = lambda _: (),
        *,
        members: Sequence[FleetMember] | None = None,
        n_workers: int | None = None,
        stop: Callable[[], None] = lambda: None,
        check: Callable[[FleetRow], None] = lambda _: None,
    ) -> Iterator[FleetRow]:
        """Call a function of `metashell.sources.fleet.rows`, or one like them, for members.

        A row is given in its turn, as soon as it and those before it are there.

        Args:
            function: Takes a path and how to read it, and `arguments`.
            of_source: A function like it for an opened source, for members that show a state of
                their own.
            arguments: Further arguments.
            members: The members to read; all where None.
            n_workers: See `directory_rows`.
            stop: See `directory_rows`.
            check: Called with each row as it comes; it raises to end everything.
        """
        from metashell.sources.fleet.pool import DIED, run_all

        chosen = list(self.members.values()) if members is None else list(members)
        found: dict[str, FleetRow] = {}
        for member in chosen:
            if member.has_own_state:
                found[member.name] = _of_own(member, of_source, arguments(member))
        left = [member for member in chosen if member.name not in found]
        waiting = deque(chosen)
        weights = [member.weight() for member in left]
        if n_workers is None:
            n_workers = core_count() if sum(weights) >= SMALL_BYTES else 1
        jobs = [(member.path, member.reading, *arguments(member)) for member in left]
        done, total = 0, max(sum(weights), 1)
        if self.runner is not None:
            results = self.runner(function, jobs, weights, stop)
        else:
            results = run_all(function, jobs, n_workers, stop=stop)
        with self._telling() as tell, closing(_each(results)) as computed:
            for i, row in computed:
                if row is not None:
                    check(row)
                    error = error_of(row)
                    if isinstance(error, InternalError):
                        # A row has no other place for it.
                        self.failed(left[i], error)
                found[left[i].name] = failed(left[i].path, DIED) if row is None else row
                done += weights[i]
                if tell is not None:
                    tell(done, total)
                yield from _those_next(waiting, found)
        yield from _those_next(waiting, found)

    def is_spread(self, member: FleetMember) -> bool:
        """Whether an engine spreads a member over tasks, because it is too large for one."""
        del member
        return False

    def is_for_others(self, members: Sequence[FleetMember], *, keeps: bool) -> bool:
        """Whether `compute` reads members sooner than opening them here one after the other.

        Args:
            members: Members that are not read yet.
            keeps: Whether later commands also use a member that is opened here.
        """
        if self.runner is not None:
            return bool(members)
        n_bytes = sum(member.weight() for member in members)
        if keeps and n_bytes <= KEPT_BYTES:
            return False
        is_little = n_bytes + len(members) * OPENING_BYTES < _FEW_BYTES
        return len(members) > 1 and not is_little and core_count() > 1

    def _telling(self) -> AbstractContextManager[Callable[[int, int], None] | None]:
        return nullcontext(None) if self.progress is None else self.progress()

    def _facts(self) -> Iterable[tuple[str, object]]:
        yield "fleet", f"{len(self.members)} clusters"
        yield from ((one.name, shown(one.path)) for one in islice(self.members.values(), _MOST))

    def __repr__(self) -> str:
        return f"<metashell.FleetSource of {len(self.members)}>"


def _each(
    found: Iterator[tuple[int, FleetRow | None]],
) -> Generator[tuple[int, FleetRow | None], None, None]:
    """The results, as a generator that can be closed before its end."""
    yield from found


def _those_next(waiting: deque[FleetMember], found: dict[str, FleetRow]) -> Iterator[FleetRow]:
    """The rows of the members whose turn it is, which wait and are found no more."""
    while waiting and waiting[0].name in found:
        member = waiting.popleft()
        row = found.pop(member.name)
        yield {"name": member.name, **row, "clusterId": _id_of(member, row)}


def _id_of(member: FleetMember, row: FleetRow) -> str | int | None:
    """The cluster's id, which is known of a directory too whose log can't be read."""
    return row.get("clusterId") or member.cluster_id


def _of_own(
    member: FleetMember, of_source: Callable[..., FleetRow], arguments: tuple[object, ...]
) -> FleetRow:
    try:
        return {
            "directory": shown(member.path),
            **of_source(member.source(), *arguments),
            "error": None,
        }
    except MetashellError as error:
        return failed(member.path, error.message)
