"""A table whose columns are made when a query asks for them, as an Arrow dataset.

DuckDB asks a dataset for the columns that a query needs and for the rows that pass its filters, so
that `select count(*) from partitions where leader = -1` makes one column of fourteen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds

RowBatches: TypeAlias = pa.Table | Iterator[pa.RecordBatch]


class LazyDataset(ds.Dataset):  # type: ignore[misc]
    """Gives rows when it is scanned.

    Args:
        schema: All columns.
        read: Gives some columns (at least one).
        failed: Told of what `read` raised, which DuckDB would only quote.
    """

    def __init__(
        self,
        schema: pa.Schema,
        read: Callable[[Sequence[str]], RowBatches],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._columns, self._read, self._failed = schema, read, failed

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return self._columns

    def scanner(
        self, columns: Sequence[str] | None = None, filter: Any = None, **_: object
    ) -> Scan:
        """Rows that pass a filter, with the columns given."""
        names = self._columns.names
        shown = names if columns is None else list(columns)
        # Expressions do not tell their columns: all those are taken that are written in it.
        text = "" if filter is None else str(filter)
        needed = [name for name in names if name in shown or name in text] or names[:1]
        try:
            rows = self._read(needed)
        except BaseException as error:
            self._failed(error)
            raise
        schema = pa.schema([self._columns.field(name) for name in shown])
        return Scan(schema, self._passing(rows, shown, filter))

    def _passing(
        self, rows: RowBatches, shown: Sequence[str], filter: Any
    ) -> Iterator[pa.RecordBatch]:
        tables = [rows] if isinstance(rows, pa.Table) else map(_as_table, rows)
        try:
            for table in tables:
                passing = table if filter is None else table.filter(filter)
                yield from passing.select(shown).to_batches()
        except Exception as error:
            self._failed(error)
            raise


class Scan:
    """Rows as they are read, in the thread that reads: Arrow's scanners read ahead in others, which
    may still be at it when the program ends.
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._schema, self._batches = schema, batches

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows; once."""
        return pa.RecordBatchReader.from_batches(self._schema, self._batches)


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])
