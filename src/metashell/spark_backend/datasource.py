"""The data source `kraft`: metadata directories as Spark tables.

::

    spark.dataSource.register(KRaftDataSource)
    spark.read.format("kraft").option("table", "records").load("/backups/*/__cluster_metadata-0")
"""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from metashell.errors import UsageError
from metashell.spark_backend.options import Options, parse_options
from metashell.spark_backend.schemas import (
    FAULTS,
    FILES,
    check_columns,
    check_table,
    from_struct,
    is_state,
    to_struct,
)
from metashell.spark_backend.tables import table_schema


class KRaftDataSource(DataSource):
    """Tables of the metadata logs in directories: local ones, and every URI that Arrow opens."""

    @classmethod
    def name(cls) -> str:
        """What ``format`` calls it."""
        return "kraft"

    @cached_property
    def _parsed(self) -> Options:
        options = parse_options(self.options)
        check_table(options)
        return options

    def schema(self) -> StructType:
        """The columns of the table asked for."""
        return to_struct(table_schema(self._parsed))

    def reader(self, schema: StructType) -> DataSourceReader:
        """For ``spark.read``."""
        from metashell.spark_backend.reader import KRaftReader

        return KRaftReader(self._parsed, self._columns(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """For ``spark.readStream``."""
        from metashell.spark_backend.streaming import KRaftStreamReader

        options = self._parsed
        if is_state(options.table) or options.table in {FILES, FAULTS}:
            raise UsageError(
                f"{options.table}: no stream has this table; there are records and the record types"
            )
        if options.committed_only:
            raise UsageError("committedOnly: a stream does not wait for checkpoints")
        return KRaftStreamReader(options, self._columns(schema))

    def _columns(self, schema: StructType) -> pa.Schema:
        """The columns wanted: all, or those of a schema that the user gave."""
        wanted = from_struct(schema)
        check_columns(table_schema(self._parsed), wanted, self._parsed.table)
        return wanted
