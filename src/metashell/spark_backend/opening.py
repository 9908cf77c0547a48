"""The answers that the command line delegates: a directory's image, a fleet's rows, and ``find``.

Owns when a session is made, which is when something is first asked of it, and when it ends. The
image, once it is here, needs no session any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, TypeVar

from pyspark.sql import DataFrame, SparkSession

from metashell.commands.find.parts import WARNED, FindTask, FoundPiece, PartsSearch
from metashell.errors import NoMetadataLogError, SourceError, TopicLogError
from metashell.fs.path import cluster_path
from metashell.log.directory import list_metadata_directory
from metashell.log.splits import SPLIT_BYTES, plan_splits
from metashell.read_settings import ReadSettings
from metashell.reduced.log import ReducedLog, Reducing
from metashell.sources.cache.writing import store
from metashell.sources.cached import ReducedDirectory
from metashell.sources.engine import bytes_to_decode, is_remote
from metashell.sources.fleet.member import FleetMember
from metashell.sources.fleet.source import OPENING_BYTES, FleetSource
from metashell.sources.node_places import NodePlaces
from metashell.sources.reduced import ReducedSource
from metashell.sources.request import JobProgress, OpenRequest
from metashell.sources.source import Source
from metashell.sources.status import Capabilities
from metashell.sources.without_image import SourceWithoutImage
from metashell.spark_backend.find import find
from metashell.spark_backend.fold import fold_sites
from metashell.spark_backend.session import Engine, SparkSettings
from metashell.spark_backend.sites import Site, absolute
from metashell.spark_backend.sql import SparkTables
from metashell.spark_backend.tasks import Failure, result_of, run_each

_WHOLE_BYTES: Final = 2 * SPLIT_BYTES
"""A directory with no more to decode is searched by one task."""
_D = TypeVar("_D")
_T = TypeVar("_T")


class _Delegated:
    """The part that all answers of an engine share: a `metashell.sources.delegate.Delegate`."""

    engine: Engine

    def delegate(self: _D, command: Callable[[_D], _T | None]) -> _T | None:
        """Run a command on it; see `Source.delegate`."""
        return command(self)

    @cached_property
    def _warned(self) -> list[str]:
        """Warnings of those who searched."""
        return []

    def _with_theirs(self, warnings: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*warnings, *self._warned]))

    def close(self) -> None:
        """End the session, if there is one."""
        self.engine.close()


class DelegatedSource(_Delegated, ReducedDirectory):
    """A directory whose log Spark reduces when something is first asked of it."""

    capabilities = Capabilities(has_log=False, delegates=True)

    def __init__(
        self,
        engine: Engine,
        path: str,
        settings: ReadSettings,
        *,
        use_cache: bool,
        member: FleetMember | None = None,
    ) -> None:
        """Plan it.

        Args:
            engine: Has the session.
            path: Where the directory is.
            settings: How it is reduced and shown.
            use_cache: Whether the cache keeps what Spark reduced.
            member: The member of a fleet that it is; the session goes on for the others then.

        Raises:
            SourceError: It is no metadata directory, or can't be read.
        """
        state = list_metadata_directory(path)
        self.engine, self.site = engine, _site(path)
        self._member = member
        plan = plan_splits(state.place, settings=settings)
        super().__init__(plan, self._reduce_there, settings, state, use_cache=use_cache)

    def _reduce_there(self) -> ReducedLog:
        if self.engine.failure is not None:
            # Whoever asks for a node after the other would have each start a session in vain.
            raise self.engine.failure.with_traceback(None)
        try:
            log, how = self.engine.run(lambda spark: _reduced(spark, self.site, self.settings))
        finally:
            if self._member is None:
                self.engine.close()
        if self._use_cache:
            store(self.log.place, log, how, before=self.log.signature)
        found: ReducedLog = log
        return found

    @property
    def warnings(self) -> Sequence[str]:
        """The warnings; for a log that is not here, those of its search. See `Source.warnings`."""
        return self._with_theirs(super().warnings)

    def search(self, args: Sequence[str], cwd: str, *, escapes: bool) -> PartsSearch | None:
        """Have Spark search, where the image is not here yet."""
        if ReducedSource.reduced.is_known(self):
            return None
        search, member = FindTask(args, cwd, escapes), self._member

        def begin(spark: SparkSession) -> Iterator[FoundPiece]:
            fold = fold_sites(spark, [self.site], [], self.settings, keeps_bad=member is not None)
            if member is None:
                return find(fold, search).pieces()
            is_first = member is next(iter(member.fleet.members.values()))
            return find(fold, search, [member.name], is_first=is_first).pieces()

        def pieces() -> Iterator[FoundPiece]:
            found = self.engine.run(begin)
            while (piece := self.engine.run(lambda _: next(found, None))) is not None:
                self.engine.quiet()
                self._warned.extend(text for kind, _, text in piece.told if kind == WARNED)
                yield piece

        return PartsSearch(pieces)

    def statements(self, cwd: str) -> SparkTables:
        """Have Spark run SQL, also where the image is here: a session has one dialect."""
        del cwd
        if self._tables is None:
            node = NodePlaces(path=self.site.opened_by, log_dirs=tuple(self.settings.log_dirs))
            self._tables = SparkTables(
                self.engine,
                [self.site],
                self.settings,
                nodes=[node],
                more=lambda: self.coordinator_tables,
            )
            self._tables.warned = lambda _, warning: self._warned.append(warning)
            self._tables.known = lambda: [str(fault) for fault in self.log.faults]
        return self._tables

    _tables: SparkTables | None = None


class DelegatedFleet(_Delegated, FleetSource):
    """A fleet whose rows Spark computes, that Spark searches, and whose members it reduces."""

    capabilities = Capabilities(has_log=False, delegates=True)
    use_cache = True
    """Whether the cache is asked for members, and keeps them."""

    def open_member(self, member: FleetMember) -> Source:
        """Open a member for Spark to reduce; at an earlier state and strictly it is read here."""
        reading = member.reading
        if reading.at is not None or reading.settings.strict:
            return super().open_member(member)
        try:
            return DelegatedSource(
                self.engine,
                member.path,
                reading.settings,
                use_cache=self.use_cache,
                member=member,
            )
        except (NoMetadataLogError, TopicLogError):
            return super().open_member(member)

    def is_spread(self, member: FleetMember) -> bool:
        """Whether a member is too large for one task; one in a store is not listed for it."""
        return not is_remote(member.path) and bytes_to_decode([member.path]) > _WHOLE_BYTES

    @property
    def warnings(self) -> Sequence[str]:
        """The warnings, with those of statements. See `FleetSource.warnings`."""
        return self._with_theirs(super().warnings)

    def search(self, args: Sequence[str], cwd: str, *, escapes: bool) -> None:
        """None: each member is searched by itself."""
        del args, cwd, escapes

    def _can_not_be_read(self, name: str, reason: str) -> None:
        self.failed(self.members[name], SourceError(reason))

    def statements(self, cwd: str) -> SparkTables | None:
        """Have Spark run SQL on the directories, or the one of `cwd`, at their newest state."""
        if self.reading.at is not None or self.settings.strict:
            return None
        here = next(
            (m for m in self.members.values() if f"{cwd}/".startswith(f"{cluster_path(m.name)}/")),
            None,
        )
        key = None if here is None else here.name
        if key not in self._tables:
            members = list(self.members.values()) if here is None else [here]
            names = {member.path: member.name for member in members} if here is None else None
            sites = [_site(member.path) for member in members]
            nodes = [
                NodePlaces(path=absolute(m.path), log_dirs=tuple(m.reading.settings.log_dirs))
                for m in members
            ]
            tables = SparkTables(
                self.engine,
                sites,
                self.settings,
                names,
                nodes=nodes,
                more=lambda: self.coordinator_tables,
            )
            self._listen(tables, here)
            self._tables[key] = tables
        return self._tables[key]

    def _listen(self, tables: SparkTables, here: FleetMember | None) -> None:
        def warned(name: str, warning: str) -> None:
            self._warned.append(f"{name if here is None else here.name}: {warning}")

        tables.warned, tables.known = warned, lambda: self.warnings
        if here is None:
            tables.failed = self._can_not_be_read

    @cached_property
    def _tables(self) -> dict[str | None, SparkTables]:
        return {}


class DelegatedLogs(_Delegated):
    """Runs statements over coordinators' logs without a metadata log: of a node, or one partition.

    Args:
        engine: Has the session.
        source: The source that was opened here.
        path: The path that opens it.
    """

    def __init__(self, engine: Engine, source: SourceWithoutImage, path: str) -> None:
        self.engine, self._source, self._site = engine, source, _site(path)

    def search(self, args: Sequence[str], cwd: str, *, escapes: bool) -> None:
        """None: the tree is made of few logs."""
        del args, cwd, escapes

    def statements(self, cwd: str) -> SparkTables:
        """Have Spark run SQL."""
        del cwd
        return self._tables

    @cached_property
    def _tables(self) -> SparkTables:
        source = self._source
        log_dirs = tuple(source.settings.log_dirs)
        tables = SparkTables(
            self.engine,
            [self._site],
            source.settings,
            nodes=[NodePlaces(path=self._site.opened_by, log_dirs=log_dirs)],
            more=lambda: source.coordinator_tables,
            no_image=source.no_image,
        )
        tables.known = lambda: source.warnings
        return tables


def delegate_logs(
    source: SourceWithoutImage,
    request: OpenRequest,
    progress: JobProgress | None,
    announce: Callable[[], None],
) -> None:
    """Have Spark run the SQL of a source; arguments as of `open_delegated`."""
    engine = _engine(request, progress, announce)
    source.delegated_to = DelegatedLogs(engine, source, request.choice.path)


def _engine(
    request: OpenRequest, progress: JobProgress | None, announce: Callable[[], None]
) -> Engine:
    how = request.engine
    return Engine(SparkSettings(master=how.master_url, conf=dict(how.conf)), progress, announce)


def open_delegated(
    request: OpenRequest, progress: JobProgress | None, announce: Callable[[], None]
) -> Source | FleetSource:
    """Open a directory or a fleet, for Spark to decode.

    Args:
        request: The request; for one directory without `ReadSettings.strict`.
        progress: How far Spark's jobs have come.
        announce: Called before a session is made.

    Raises:
        SourceError: A place can't be read, or Spark can't be used.
    """
    choice, use_cache = request.choice, request.engine.use_cache
    engine = _engine(request, progress, announce)
    if choice.paths:
        fleet = DelegatedFleet.over(
            choice.paths, request.settings, cluster_id=request.cluster_id, nodes=request.nodes
        )
        fleet.engine, fleet.use_cache = engine, use_cache
        fleet.runner = _runner(engine)
        return fleet
    source = DelegatedSource(engine, choice.path, request.settings, use_cache=use_cache)
    if not request.is_searched:
        _ = source.reduced
    return source


def _reduced(
    spark: SparkSession, site: Site, settings: ReadSettings
) -> tuple[ReducedLog, Reducing]:
    fold = fold_sites(spark, [site], [], settings)
    (log,) = fold.logs()
    if isinstance(log, Failure):
        raise SourceError(log.message, hint=log.hint)
    return log, Reducing.of_plan(log.plan, settings)


def _site(path: str) -> Site:
    """A directory, by what opens it; what it says of itself is not asked."""
    return Site(path, opened_by=absolute(path))


def _runner(engine: Engine) -> Any:
    """Runs a function of `metashell.sources.fleet.rows` for each directory in executors."""

    def run_all(
        function: Callable[..., Any],
        jobs: Sequence[tuple[object, ...]],
        weights: Sequence[int],
        stop: Callable[[], None],
    ) -> Iterator[tuple[int, Any]]:
        def compute(spark: SparkSession) -> tuple[DataFrame, Iterator[Any]]:
            weighed = [(OPENING_BYTES + w, job) for w, job in zip(weights, jobs, strict=True)]
            # Kept where they were computed, all at the same time; from there they come by tasks.
            rows = run_each(spark, weighed, lambda job: function(*job)).persist()
            rows.count()
            return rows, rows.toLocalIterator(prefetchPartitions=True)

        stop()
        rows, found = engine.run(compute)
        try:
            while (row := engine.run(lambda _: next(found, None))) is not None:
                engine.quiet()
                stop()
                yield result_of(row)
        finally:
            # After ^C the line to Java may be broken; that is not what is to be told.
            with suppress(Exception):
                rows.unpersist()

    return run_all
