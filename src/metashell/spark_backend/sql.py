"""``sql`` by Spark: the same tables as views, and statements as Spark SQL.

The tables of the image come from a fold that is spread over executors and kept for the statements
that follow; the others from the data source `kraft`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.errors import MetashellError, UsageError
from metashell.image.arrow import TABLES
from metashell.log.directory import find_metadata_directory
from metashell.source import Settings
from metashell.spark_backend.datasource import KRaftDataSource
from metashell.spark_backend.fold import Fold, fold_sites
from metashell.spark_backend.schemas import ORIGIN, registry_of
from metashell.spark_backend.sites import Site
from metashell.sql.result import Result
from metashell.sql.statements import names_in, tokens, words_of
from metashell.sql.tables import find_name, image_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FIRST_WORDS: Final = frozenset(
    {"select", "with", "from", "values", "table", "describe", "desc", "show", "explain"}
)
"""What only reads begins with one of these."""
_FORBIDDEN: Final = frozenset(
    {"insert", "transform", "reflect", "java_method", "try_reflect", "read_files"}
)
"""Words with which such statements write, or run programs; as names they can be quoted."""
_ON_FILES: Final = "spark.sql.runSQLOnFiles"
_PLACE: Final = re.compile(r"\(line (\d+), pos (\d+)\)|line (\d+),? pos (\d+)")
_LENGTH_MAX: Final = 300


class Runs(Protocol):
    """Runs jobs in a session; see `metashell.spark_backend.opening.Engine`."""

    @property
    def session(self) -> SparkSession:
        """The session."""

    def run(self, job: Callable[[SparkSession], Any]) -> Any:
        """Run something; a failure ends the session."""

    def quiet(self) -> None:
        """Erase what was drawn of the progress."""


class SparkTables:
    """The tables of some directories in Spark.

    Args:
        engine: Has the session.
        sites: The directories.
        settings: How they are read and shown.
        clusters: The name of each directory's cluster, by `Site.directory`, for a fleet: it becomes
            a column in front. None for one directory.
    """

    def __init__(
        self,
        engine: Runs,
        sites: Sequence[Site],
        settings: Settings,
        clusters: Mapping[str, str] | None = None,
    ) -> None:
        self._engine, self._sites, self._settings = engine, sites, settings
        self._clusters = clusters
        self._folded: tuple[SparkSession, Fold] | None = None

    def run(self, statement: str, cancelled: Callable[[], bool]) -> Result:
        """Run a statement; its rows are all here when this returns.

        Raises:
            UsageError: It can't be understood, or does more than read.
            SourceError: Spark failed.
        """
        del cancelled  # ^C ends the job with the session.
        _check(statement)

        def job(spark: SparkSession) -> Any:
            from pyspark.errors import AnalysisException, ParseException

            self._make_views(spark, statement)
            try:
                return spark.sql(statement).toArrow()
            except (AnalysisException, ParseException) as error:
                # A slip of the user's does not end the session.
                return _usage_error(error)

        found = self._engine.run(job)
        self._engine.quiet()
        if isinstance(found, MetashellError):
            raise found
        return Result(found.schema, iter(found.to_batches()), True)

    def _make_views(self, spark: SparkSession, statement: str) -> None:
        spark.conf.set(_ON_FILES, "false")
        spark.dataSource.register(KRaftDataSource)
        registry = registry_of(tuple(self._settings.schemas))
        wanted = {name for word in names_in(statement) if (name := find_name(registry, word))}
        if words_of(statement)[:1] == ("show",):
            wanted.update(image_names())
        for name in sorted(wanted):
            frame = self._fold(spark).table(name) if name in TABLES else self._read(spark, name)
            self._without_origin(frame).createOrReplaceTempView(name)

    def _fold(self, spark: SparkSession) -> Fold:
        if self._folded is None or self._folded[0] is not spark:
            self._folded = spark, fold_sites(spark, self._sites, [], self._settings).persist()
        return self._folded[1]

    def _read(self, spark: SparkSession, name: str) -> DataFrame:
        settings = self._settings
        options = {
            "table": name,
            "showSecrets": str(settings.show_secrets).lower(),
            "committedOnly": str(settings.committed_only).lower(),
            "schemas": json.dumps([str(path) for path in settings.schemas]),
        }
        reader = spark.read.format("kraft").options(**options)
        return reader.load([site.opened_by for site in self._sites])

    def _without_origin(self, frame: DataFrame) -> DataFrame:
        """A table's own columns; of a fleet behind the name of the cluster."""
        if self._clusters is None:
            return frame.drop(*ORIGIN.names)
        from pyspark.sql import functions

        pairs = [functions.lit(text) for pair in self._names().items() for text in pair]
        name = functions.create_map(*pairs)[functions.col("directory")]
        own = [column for column in frame.columns if column not in ORIGIN.names]
        return frame.select(name.alias("cluster"), *own)

    def _names(self) -> dict[str, str]:
        """Names of clusters by what tables call their directory."""
        found = dict(self._clusters or {})
        for site in self._sites:
            with suppress(MetashellError):
                found[str(find_metadata_directory(site.place))] = found[site.directory]
        return found


def _check(statement: str) -> None:
    """Refuse what does more than read.

    Raises:
        UsageError: It does.
    """
    words = words_of(statement)
    first = next(piece for kind, piece in tokens(statement) if kind not in ("space", "comment"))
    is_view = (
        words[:1] == ("create",)
        and not {"temp", "temporary"}.isdisjoint(words[:4])
        and "view" in words[:5]
        and "using" not in words[:8]
    )
    reads = first == "(" or (bool(words) and words[0] in _FIRST_WORDS)
    bad = next((word for word in words if word in _FORBIDDEN), None)
    if bad is not None or not (reads or is_view):
        what = (bad or first).upper()
        raise UsageError(
            f"{what} is not possible here: statements read the tables, and make temporary views",
            hint="a pipeline of your own reads the data source `kraft`",
        )


def _usage_error(error: object) -> UsageError:
    """What is wrong with a statement, in one line."""
    text = str(error).strip()
    place = _PLACE.search(text)
    first = re.sub(r"^\[[A-Z0-9_.]+\] ", "", text.partition("\n")[0])
    first = re.sub(r"\s*SQLSTATE: .*$", "", first).rstrip(" .;")[:_LENGTH_MAX]
    if place is None:
        return UsageError(first)
    line, pos = place[1] or place[3], place[2] or place[4]
    return UsageError(f"line {line}, column {int(pos) + 1}: {first}")
