"""The data source `kraft`: metadata directories as Spark tables.

::

    spark.dataSource.register(KRaftDataSource)
    spark.read.format("kraft").option("table", "records").load("/backups/*/__cluster_metadata-0")
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from metashell.errors import UsageError
from metashell.parts.coordinators.offsets import PART as OFFSETS
from metashell.places.uri import holds_credentials
from metashell.spark_backend.options import Options, catalog_options, parse_options
from metashell.spark_backend.schemas import (
    FAULTS,
    FILES,
    check_table,
    chosen,
    is_of_coordinators,
    is_state,
    to_struct,
)
from metashell.spark_backend.tables import table_schema

_OPTIONS: Final = "kraft.options"
"""Metadata of the first column of a table of Spark's catalog: the table's options."""


class KRaftDataSource(DataSource):
    """Tables of the metadata logs in directories: local ones, and every URI that Arrow opens."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "kraft"

    _is_planned = False

    def __getstate__(self) -> dict[str, Any]:
        # Once it has made a reader it is sent with each task, which asks for its name alone.
        return {} if self._is_planned else self.__dict__

    @cached_property
    def _parsed(self) -> Options:
        return _checked(self.options)

    def schema(self) -> StructType:
        """The columns of the table asked for."""
        struct = to_struct(table_schema(self._parsed))
        of_catalog = catalog_options(self.options)
        if of_catalog is not None:
            # Whoever reads a table of the catalog gets its columns and none of its options.
            if any(map(holds_credentials, of_catalog.values())):
                raise UsageError(
                    "path: Spark's catalog would show the credentials in the URI; give them in the"
                    " environment, or make a temporary view"
                )
            struct.fields[0].metadata = {_OPTIONS: json.dumps(of_catalog)}
        return struct

    def _asked(self, schema: StructType) -> Options:
        """The options given, or those that a table of the catalog was made with."""
        self._is_planned = True
        kept = schema.fields[0].metadata.get(_OPTIONS) if schema.fields else None
        if kept is None or {"path", "paths"} & {name.lower() for name in self.options}:
            return self._parsed
        return _checked({**json.loads(kept), **{n.lower(): v for n, v in self.options.items()}})

    def reader(self, schema: StructType) -> DataSourceReader:
        """For ``spark.read``."""
        from metashell.spark_backend.reader import KRaftReader

        options = self._asked(schema)
        return KRaftReader(options, chosen(table_schema(options), schema, options.table))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """For ``spark.readStream``."""
        options = self._asked(schema)
        is_keyed = is_of_coordinators(options)
        if options.table == OFFSETS.name:
            if options.at is not None:
                raise UsageError("at: a stream has every commit; filter by committed_time")
        elif is_state(options.table) or options.table in {FILES, FAULTS}:
            instead = "offsets or a record type" if is_keyed else "records or a record type"
            raise UsageError(f"{options.table}: this table has no stream; use {instead}")
        if options.settings.committed_only and not is_keyed:
            raise UsageError("committedOnly: a stream does not wait for checkpoints")
        from metashell.spark_backend.streaming import KRaftStreamReader

        return KRaftStreamReader(options, chosen(table_schema(options), schema, options.table))


def _checked(given: Mapping[str, str]) -> Options:
    options = parse_options(given)
    check_table(options)
    return options
