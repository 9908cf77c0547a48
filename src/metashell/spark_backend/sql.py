"""``sql`` by Spark: the same tables as views, and statements as Spark SQL.

The tables of the image come from a fold that is spread over executors and kept for the statements
that follow; the others from the data source `kraft`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from metashell.errors import MetashellError, NoMetadataLogError, SourceError, UsageError
from metashell.image.arrow import table_names
from metashell.log.directory import find_metadata_directory, list_metadata_directory
from metashell.log.unread import Unread
from metashell.places.place import place_of
from metashell.read_settings import ReadSettings
from metashell.sources.coordinator_tables import CoordinatorTables
from metashell.sources.delegate import Result
from metashell.sources.log_directories import open_log_directories
from metashell.sources.node_places import NodePlaces
from metashell.spark_backend.coordinator_frames import CoordinatorFrames
from metashell.spark_backend.datasource import KRaftDataSource
from metashell.spark_backend.fold import Fold, fold_sites
from metashell.spark_backend.schemas import ORIGIN, coordinator_tables, registry_of
from metashell.spark_backend.session import Engine
from metashell.spark_backend.sites import Site
from metashell.spark_backend.unread import (
    FAILED,
    REMARKED,
    UNREAD,
    WARNED,
    Told,
    warnings_of_fold,
    warnings_of_log,
)
from metashell.sql.catalog import CLUSTER, NO_METADATA_LOG, no_table
from metashell.sql.statements import names_in, sources_in, tokens, words_of
from metashell.sql.tables import (
    FAULTS,
    RECORDS,
    find_name,
    image_names,
    sql_records_schema,
    table_info,
)

_FIRST_WORDS: Final = frozenset(
    {"select", "with", "from", "values", "table", "describe", "desc", "show", "explain"}
)
"""The first words of statements that only read."""
_FORBIDDEN: Final = frozenset(
    {"insert", "transform", "reflect", "java_method", "try_reflect", "read_files"}
)
"""Words with which such statements write, or run programs; as names they can be quoted."""
_READS_NOTHING: Final = frozenset({"create", "describe", "desc", "show", "explain"})
_ON_FILES: Final = "spark.sql.runSQLOnFiles"
_PLACE: Final = re.compile(r"\(line (\d+), pos (\d+)\)|line (\d+),? pos (\d+)")
_LENGTH_MAX: Final = 300


class SparkTables:
    """The tables of some directories in Spark.

    Args:
        engine: Has the session.
        sites: The directories.
        settings: How they are read and shown.
        clusters: The name of each directory's cluster, by `Site.directory`, for a fleet: it becomes
            a column in front. None for one directory.
        nodes: The log directories of each, for tables of coordinators' logs.
        more: Gives these tables; None where there are none.
        no_image: Why there are no others; None where there are.
    """

    def __init__(
        self,
        engine: Engine,
        sites: Sequence[Site],
        settings: ReadSettings,
        clusters: Mapping[str, str] | None = None,
        *,
        nodes: Sequence[NodePlaces] = (),
        more: Callable[[], CoordinatorTables | None] = lambda: None,
        no_image: MetashellError | None = None,
    ) -> None:
        self._engine, self._sites, self._settings = engine, sites, settings
        self._clusters, self._more, self._no_image = clusters, more, no_image
        self._nodes = nodes
        names = None if clusters is None else [clusters[site.directory] for site in sites]
        self._frames = CoordinatorFrames(nodes, settings, names)
        self._folded: tuple[SparkSession, Fold] | None = None
        self._told_of_fold: dict[frozenset[str], list[Told]] = {}
        """The texts about tables that the fold makes, by the tables' names."""
        self._views: dict[str, frozenset[str]] = {}
        """Tables that temporary views read, by the views' names."""
        self.failed: Callable[[str, str], None] | None = None
        """Told the name of each cluster that can't be read, and why."""
        self.warned: Callable[[str, str], None] | None = None
        """Told what a user should know of a cluster, by its name."""
        self.known: Callable[[], Collection[str]] = tuple
        """Sentences that the user was told."""

    def run(self, statement: str, cancelled: Callable[[], bool]) -> Result:
        """Run a statement; its rows are all here when this returns.

        Raises:
            UsageError: It can't be understood, or does more than read.
            SourceError: Spark failed.
        """
        del cancelled  # ^C ends the job with the session.
        _check(statement)
        tables = self._tables_of(statement)
        if self._no_image is not None and any(map(self._is_of_metadata, tables)):
            raise self._no_image

        def job(spark: SparkSession) -> Any:
            from pyspark.errors import AnalysisException, ParseException

            self._make_views(spark, statement)
            try:
                found = spark.sql(statement).toArrow()
            except (AnalysisException, ParseException) as error:
                # A slip of the user's does not end the session.
                return _usage_error(error)
            return found, list(self._told(spark, tables))

        found = self._engine.run(job)
        self._engine.quiet()
        if isinstance(found, MetashellError):
            raise found
        rows, told = found
        return Result(rows.schema, iter(rows.to_batches()), True, self._unread(told))

    def _tables_of(self, statement: str) -> frozenset[str]:
        """Tables that a statement reads, also through a view that an earlier one made."""
        own = frozenset(self._named(statement))
        tables = own.union(*(self._views.get(word, ()) for word in names_in(statement)))
        first = words_of(statement)[:1]
        if first == ("create",):
            self._views[_view_of(statement)] = tables
        return frozenset() if _READS_NOTHING.intersection(first) else tables

    def _is_of_metadata(self, name: str) -> bool:
        """Whether a table is made of a metadata log."""
        return find_name(registry_of(tuple(self._settings.schemas)), name) is not None

    def _named(self, statement: str) -> Iterator[str]:
        """Tables that a statement may read.

        Raises:
            UsageError: It reads a table of coordinators' logs, and there are none.
        """
        registry, names = registry_of(tuple(self._settings.schemas)), names_in(statement)
        yield from (name for word in names if (name := find_name(registry, word)))
        # Columns are called so, too, and these tables take long to read.
        for word in sources_in(statement) - self._views.keys():
            name = self._known.find(word)
            if name is None or find_name(registry, word):
                continue
            if self._here is None or self._here.find(word) is None:
                raise no_table(word, (), self._known)
            yield name

    @property
    def _known(self) -> CoordinatorTables:
        """The tables of coordinators' logs that there can be."""
        return coordinator_tables(tuple(self._settings.schemas))

    @cached_property
    def _here(self) -> CoordinatorTables | None:
        return self._more()

    def _told(self, spark: SparkSession, tables: frozenset[str]) -> Iterator[Told]:
        if self._has_no_log and any(map(self._is_of_metadata, tables)):
            yield from self._explained((i, FAILED, "") for i in range(len(self._sites)))
            tables = frozenset(name for name in tables if not self._is_of_metadata(name))
        of_image = tables.intersection([*table_names(), FAULTS])
        if of_image:
            fold = self._fold(spark)
            if of_image not in self._told_of_fold:
                told = self._explained(warnings_of_fold(fold, of_image))
                self._told_of_fold[of_image] = list(told)
            yield from self._told_of_fold[of_image]
        registry = registry_of(tuple(self._settings.schemas))
        keyed = [name for name in sorted(tables) if not find_name(registry, name)]
        of_log = tables.difference(keyed)
        yield from self._explained(warnings_of_log(spark, self._sites, self._settings, of_log))
        for name in keyed:
            yield from self._frames.told(spark, name)

    def _explained(self, told: Iterable[Told]) -> Iterator[Told]:
        """Put the local engine's words in place of failures of brokers without a metadata log."""
        for number, kind, text in told:
            notes = self._without_image(number) if kind == FAILED and self._nodes else ()
            if not notes:
                yield number, kind, text
                continue
            yield from ((number, WARNED, note) for note in notes)
            yield number, UNREAD, NO_METADATA_LOG

    @cached_property
    def _has_no_log(self) -> bool:
        """Whether no directory has a metadata log, and each has coordinators' logs."""
        return bool(self._nodes) and all(map(self._without_image, range(len(self._nodes))))

    def _without_image(self, number: int) -> Sequence[str]:
        """Remarks on a directory that has coordinators' logs and no metadata log."""
        node = self._nodes[number]
        settings = replace(self._settings, log_dirs=node.log_dirs)
        with suppress(MetashellError):
            try:
                list_metadata_directory(node.path)
            except NoMetadataLogError:
                found = open_log_directories(place_of(node.path), settings)
                return () if found is None else found.without_image
        return ()

    def _unread(self, told: Iterable[Told]) -> Unread:
        """Tell whoever wants to know.

        Raises:
            SourceError: A directory can't be read, and nobody wants to know.
        """
        unread, known = Unread(), frozenset(self.known())
        for number, kind, text in told:
            directory = self._sites[number].directory
            name = None if self._clusters is None else self._clusters[directory]
            if kind == FAILED and self.failed is None:
                raise SourceError(text)
            tell = {FAILED: self.failed, WARNED: self.warned}.get(kind)
            if tell is not None:
                tell(name or directory, text)
            elif kind != WARNED:
                whole = text if name is None else f"{name}: {text}"
                if kind == REMARKED:
                    unread.remark(whole)
                else:
                    unread.tell(whole, whole in known)
        return unread

    def _make_views(self, spark: SparkSession, statement: str) -> None:
        spark.conf.set(_ON_FILES, "false")
        spark.dataSource.register(KRaftDataSource)
        registry = registry_of(tuple(self._settings.schemas))
        wanted = {*self._named(statement)}
        if words_of(statement)[:1] == ("show",):
            wanted.update(() if self._no_image is not None else image_names())
            wanted.update(() if self._here is None else self._here.states)
        for name in sorted(wanted):
            if not self._is_of_metadata(name):
                self._frames.table(spark, name).createOrReplaceTempView(name)
                continue
            if self._no_image is not None or self._has_no_log:
                schema = table_info(registry, name).schema
                if self._clusters is not None:
                    schema = schema.insert(0, CLUSTER)
                spark.createDataFrame(schema.empty_table()).createOrReplaceTempView(name)
                continue
            if name in table_names():
                frame = self._fold(spark).table(name)
            elif name == RECORDS:
                frame = _with_topics(self._read(spark, name), self._read(spark, "TopicRecord"))
            else:
                frame = self._read(spark, name)
            self._without_origin(frame).createOrReplaceTempView(name)

    def _fold(self, spark: SparkSession) -> Fold:
        if self._folded is None or self._folded[0] is not spark:
            # A fleet is shown with those of its members that can't be read.
            keeps_bad = self._clusters is not None
            fold = fold_sites(spark, self._sites, [], self._settings, keeps_bad=keeps_bad)
            self._folded, self._told_of_fold = (spark, fold.persist()), {}
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

        own = [column for column in frame.columns if column not in ORIGIN.names]
        # A map among the expressions would be gone through for each row.
        names = functions.broadcast(frame.sparkSession.createDataFrame(self._names))
        return frame.join(names, "directory", "left").select("cluster", *own)

    @cached_property
    def _names(self) -> pa.Table:
        """Names of clusters by what tables call their directory."""
        found = dict(self._clusters or {})
        for site in self._sites:
            with suppress(MetashellError):
                found[str(find_metadata_directory(site.place))] = found[site.directory]
        return pa.table(
            {
                "directory": pa.array(found.keys(), pa.string()),
                "cluster": pa.array(found.values(), pa.string()),
            }
        )


def _with_topics(records: DataFrame, made: DataFrame) -> DataFrame:
    """Records with the column `topic`, of the records that make topics."""
    from pyspark.sql import functions

    # The first name of an id in the order of `TopicNames`: of checkpoints, then of segments.
    order = functions.struct(functions.expr("file like '%.log'"), "file", "offset")
    first = functions.min_by("name", order).alias("topic")
    names = made.groupBy("directory", "topic_id").agg(first)
    by_id = functions.get_json_object(records["value"], "$.topicId")
    joined = records.withColumn("topic_id", by_id).join(names, ["directory", "topic_id"], "left")
    return joined.select(*ORIGIN.names, *sql_records_schema().names)


def _view_of(statement: str) -> str:
    """The name of the view that a statement makes, in lower case."""
    pieces = [p.casefold() for kind, p in tokens(statement) if kind not in ("space", "comment")]
    behind = pieces[pieces.index("view") + 1 :]
    if behind[:3] == ["if", "not", "exists"]:
        behind = behind[3:]
    return behind[0].strip("`") if behind else ""


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
            f"{what} is not possible here: statements only read tables and make temporary views",
            hint="a pipeline of your own reads the data source `kraft`",
        )


def _usage_error(error: object) -> UsageError:
    """The error of a statement, in one line."""
    text = str(error).strip()
    place = _PLACE.search(text)
    first = re.sub(r"^\[[A-Z0-9_.]+\] ", "", text.partition("\n")[0])
    first = re.sub(r"\s*SQLSTATE: .*$", "", first).rstrip(" .;")[:_LENGTH_MAX]
    if place is None:
        return UsageError(first)
    line, pos = place[1] or place[3], place[2] or place[4]
    return UsageError(f"line {line}, column {int(pos) + 1}: {first}")
