"""What the command line delegates: a directory's image, a fleet's rows, and ``find``.

Owns when a session is made, which is when something is first asked of it, and when it ends. The
image, once it is here, needs no session any more.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from metashell.cache import store
from metashell.condensed_source import CondensedSource
from metashell.errors import SourceError
from metashell.fleet import CLUSTERS, FleetSource, open_fleet
from metashell.image.condensing import CondensedLog, Condensing
from metashell.kept import open_kept
from metashell.log.changed import signature
from metashell.log.directory import find_metadata_directory
from metashell.log.splits import plan_splits
from metashell.opening import open_with
from metashell.source import Settings, Source
from metashell.spark_backend.find import Finding, Piece, find, is_for_parts, search_of
from metashell.spark_backend.fold import Batches, Fold, fold_sites, run_items
from metashell.spark_backend.session import SparkSettings, session
from metashell.spark_backend.sites import Site, absolute
from metashell.spark_backend.sql import SparkTables
from metashell.spark_backend.tasks import Failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Progress(Protocol):
    """What draws how far a job has come."""

    def __call__(self, done: int, total: int) -> None:
        """Note (tasks done, tasks known)."""

    def close(self) -> None:
        """Erase what was drawn."""


class Engine:
    """A session that is made when it is first used.

    Args:
        settings: Where Spark runs.
        progress: How far its jobs have come; None for nobody to tell.
        announce: Called before the session is made.
    """

    def __init__(
        self, settings: SparkSettings, progress: Progress | None, announce: Callable[[], None]
    ) -> None:
        self._settings, self._progress, self._announce = settings, progress, announce
        self._stack = ExitStack()
        self._session: SparkSession | None = None

    @property
    def session(self) -> SparkSession:
        """The session."""
        if self._session is None:
            self._announce()
            made = session(self._settings, progress=self._progress)
            self._session = self._stack.enter_context(made)
        return self._session

    def quiet(self) -> None:
        """Erase what was drawn of the progress."""
        if self._progress is not None:
            self._progress.close()

    def close(self) -> None:
        """End the session, whatever it does."""
        self._session = None
        try:
            self._stack.close()
        finally:
            self.quiet()

    def run(self, job: Callable[[SparkSession], Any]) -> Any:
        """Run something that ends with the session: a failure or ^C ends it as well.

        Raises:
            SourceError: Spark failed.
        """
        from metashell.spark_backend.failures import failures

        try:
            with failures("the Spark job failed"):
                return job(self.session)
        except BaseException:
            self.close()
            raise


class _Delegated:
    """What sources that an engine searches have in common."""

    engine: Engine

    @cached_property
    def _told(self) -> list[str]:
        """Warnings of those who searched."""
        return []

    def _with_told(self, warnings: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*warnings, *self._told]))

    def close(self) -> None:
        """End the session, if there is one."""
        self.engine.close()


class DelegatedSource(_Delegated, CondensedSource):
    """A directory whose log Spark condenses when something is first asked of it."""

    site: Site

    @property
    def warnings(self) -> Sequence[str]:
        """As `Source.warnings`; of a log that is not here, those of who searched it."""
        return self._with_told(super().warnings)

    def find_elsewhere(self, args: Sequence[str], cwd: str, *, escapes: bool) -> Finding | None:
        """Have Spark search, where the image is not here yet."""
        if "condensed" in self.__dict__ or not is_for_parts(args):
            return None
        finding = _finding(self.engine, [self.site], self.settings, args, cwd, escapes, None)
        finding.warned = lambda _, warning: self._told.append(warning)
        return finding

    def sql_elsewhere(self, cwd: str) -> SparkTables:
        """Have Spark run SQL, also where the image is here: a session has one dialect."""
        del cwd
        if self._tables is None:
            self._tables = SparkTables(self.engine, [self.site], self.settings)
        return self._tables

    _tables: SparkTables | None = None


class DelegatedFleet(_Delegated, FleetSource):
    """A fleet whose rows Spark computes, and that Spark searches."""

    @property
    def warnings(self) -> Sequence[str]:
        """As `FleetSource.warnings`, with those of who searched it."""
        return self._with_told(super().warnings)

    def find_elsewhere(self, args: Sequence[str], cwd: str, *, escapes: bool) -> Finding | None:
        """Have Spark search all directories, where they show their newest state."""
        if self.reading.at is not None or self.settings.strict or not is_for_parts(args):
            return None
        sites = [_site(member.path) for member in self.members.values()]
        names = list(self.members)
        finding = _finding(self.engine, sites, self.settings, args, cwd, escapes, names)
        finding.failed = lambda name, reason: self.failed(self.members[name], reason)
        finding.warned = lambda name, warning: self._told.append(f"{name}: {warning}")
        return finding

    def sql_elsewhere(self, cwd: str) -> SparkTables | None:
        """Have Spark run SQL on the directories, or the one of `cwd`, at their newest state."""
        if self.reading.at is not None or self.settings.strict:
            return None
        here = next(
            (m for m in self.members.values() if f"{cwd}/".startswith(f"/{CLUSTERS}/{m.name}/")),
            None,
        )
        key = None if here is None else here.name
        if key not in self._tables:
            members = list(self.members.values()) if here is None else [here]
            names = {member.path: member.name for member in members} if here is None else None
            sites = [_site(member.path) for member in members]
            self._tables[key] = SparkTables(self.engine, sites, self.settings, names)
        return self._tables[key]

    @cached_property
    def _tables(self) -> dict[str | None, SparkTables]:
        return {}


def open_delegated(
    paths: Sequence[str],
    *,
    is_fleet: bool,
    spark: SparkSettings,
    settings: Settings,
    cluster_id: str | None,
    use_cache: bool,
    progress: Progress | None,
    announce: Callable[[], None],
    lazily: bool = False,
) -> Source | FleetSource:
    """Open what the command line chose, for Spark to decode.

    Args:
        paths: A directory, or those of a fleet.
        is_fleet: Whether the root has the directories below ``/clusters``.
        spark: Where Spark runs.
        settings: How they are read and shown; of one directory not `Settings.strict`.
        cluster_id: Of a fleet, take those of this cluster alone.
        use_cache: Whether the decoded image is kept.
        progress: How far Spark's jobs have come.
        announce: Called before the first session is made.
        lazily: Do not decode a directory before it is looked at.

    Raises:
        SourceError: A place can't be read, or Spark can't be used.
    """
    engine = Engine(spark, progress, announce)
    if is_fleet:
        return _open_fleet(engine, paths, settings, cluster_id)
    source = _open_directory(engine, paths[0], settings, use_cache=use_cache)
    if not lazily:
        _ = source.image
    return source


def _open_directory(
    engine: Engine, path: str, settings: Settings, *, use_cache: bool
) -> DelegatedSource:
    place = find_metadata_directory(path)
    before = signature(place)
    site = _site(path)

    def condense() -> CondensedLog:
        try:
            log, how = engine.run(lambda spark: _condensed(spark, site, settings))
        finally:
            engine.close()
        if use_cache:
            store(place, log, how, committed_only=settings.committed_only)
        found: CondensedLog = log
        return found

    def refresh(source: Source) -> Source:
        if signature(place) == before:
            return source
        kept = open_kept(path, settings) if use_cache else None
        return kept or open_with(place, settings)

    source = DelegatedSource(
        plan_splits(place, committed_only=settings.committed_only),
        condense,
        settings,
        directory=place,
        open_exact=lambda: open_with(place, settings),
        refresh=refresh,
    )
    source.engine, source.site = engine, site
    return source


def _condensed(
    spark: SparkSession, site: Site, settings: Settings
) -> tuple[CondensedLog, Condensing]:
    fold = fold_sites(spark, [site], [], settings)
    (log,) = fold.logs()
    if isinstance(log, Failure):
        raise SourceError(log.message, hint=log.hint)
    return log, fold.jobs[0].how


def _site(path: str) -> Site:
    """A directory, by what opens it; what it says of itself is not asked."""
    return Site(path, opened_by=absolute(path))


def _open_fleet(
    engine: Engine, paths: Sequence[str], settings: Settings, cluster_id: str | None
) -> DelegatedFleet:
    fleet = open_fleet(
        paths,
        strict=settings.strict,
        schemas=settings.schemas,
        show_secrets=settings.show_secrets,
        committed_only=settings.committed_only,
        cluster_id=cluster_id,
        kind=DelegatedFleet,
    )
    assert isinstance(fleet, DelegatedFleet)
    fleet.engine = engine
    fleet.runner = _runner(engine)
    return fleet


_ROWS = pa.schema([("job", pa.int32()), ("row", pa.binary())])


def _runner(engine: Engine) -> Any:
    """Runs a function of `metashell.fleet.rows` for each directory in executors."""

    def run_all(
        function: Callable[..., Any], jobs: Sequence[tuple[object, ...]], stop: Callable[[], None]
    ) -> Iterable[tuple[int, Any]]:
        def run(batches: Batches) -> Batches:
            for batch in batches:
                for i in batch.column(0).to_pylist():
                    row = {"job": i, "row": pickle.dumps(function(*jobs[i]))}
                    yield pa.RecordBatch.from_pylist([row], schema=_ROWS)

        def collect(spark: SparkSession) -> dict[str, list[Any]]:
            found: dict[str, list[Any]] = run_items(spark, jobs, run, _ROWS).toArrow().to_pydict()
            return found

        stop()
        found = engine.run(collect)
        engine.quiet()
        return [(i, pickle.loads(row)) for i, row in zip(found["job"], found["row"], strict=True)]

    return run_all


def _finding(
    engine: Engine,
    sites: Sequence[Site],
    settings: Settings,
    args: Sequence[str],
    cwd: str,
    escapes: bool,
    names: Sequence[str] | None,
) -> Finding:
    search = search_of(args, cwd, escapes=escapes)

    def pieces() -> Iterator[Piece]:
        def start(spark: SparkSession) -> Fold:
            # A fleet is shown with those of its members that can't be read.
            return fold_sites(spark, sites, [], settings, keeps_bad=names is not None)

        found = find(engine.run(start), search, names).pieces()
        while (piece := engine.run(lambda _: next(found, None))) is not None:
            engine.quiet()
            yield piece

    return Finding(pieces)
