"""``sql`` by Spark on coordinators' logs without a metadata log: of a node, or one partition."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from metashell.sources.node_places import NodePlaces
from metashell.sources.request import JobProgress, OpenRequest
from metashell.sources.without_image import SourceWithoutImage
from metashell.spark_backend.opening import Engine
from metashell.spark_backend.session import SparkSettings
from metashell.spark_backend.sites import Site, absolute
from metashell.spark_backend.sql import SparkTables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class DelegatedLogs:
    """Runs statements over them; a `metashell.sources.delegate.Delegate`.

    Args:
        engine: Has the session.
        source: What was opened here.
        path: What opens it.
    """

    def __init__(self, engine: Engine, source: SourceWithoutImage, path: str) -> None:
        self._engine, self._source = engine, source
        self._site = Site(path, opened_by=absolute(path))

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
            self._engine,
            [self._site],
            source.settings,
            nodes=[NodePlaces(path=self._site.opened_by, log_dirs=log_dirs)],
            more=lambda: source.coordinator_tables,
            no_image=source.no_image,
        )
        tables.known = lambda: source.warnings
        return tables

    def close(self) -> None:
        """End the session, if there is one."""
        self._engine.close()


def delegate_logs(
    source: SourceWithoutImage,
    request: OpenRequest,
    progress: JobProgress | None,
    announce: Callable[[], None],
) -> None:
    """Have Spark run the SQL of a source.

    Args:
        source: The source.
        request: What opened it.
        progress: How far Spark's jobs have come.
        announce: Called before a session is made.
    """
    how = request.engine
    spark = SparkSettings(master=how.master_url, conf=dict(how.conf))
    engine = Engine(spark, progress, announce)
    source.delegated_to = DelegatedLogs(engine, source, request.choice.path)
