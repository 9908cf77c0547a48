"""The rows and columns of the parts of coordinators' logs. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from metashell.dataclass import dataclass
from metashell.errors import SchemaError
from metashell.parts.paths import check_record
from metashell.parts.spec import PartSpec, hook

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.log.fault import Fault
    from metashell.records.keyed_records import KeyedRecords
    from metashell.redact import Redaction
    from metashell.schema.coordinators import RecordType


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition of a coordinators' topic that was read: what rows are made of."""

    records: KeyedRecords
    number: int
    coordinator: int | None
    """The broker that leads it; None where that is not known."""
    topics: Callable[[], Mapping[str, str]]
    """Names of topics by the text of their ids."""
    tell: Callable[[Iterable[Fault]], None]
    """Told of records that count for nothing though they decode."""
    redaction: Redaction
    """The redaction of secrets."""


def rows_of(part: PartSpec, state: PartitionState) -> pa.Table:
    """The rows of a partition, without the columns of `PartSpec.asked_for`."""
    if part.rows:
        found: pa.Table = hook(part.rows)(state)
        return found
    from metashell.image.coordinators.record_tables import surviving_table

    return surviving_table(state.records, state.number, part.put, state.redaction)


def schema_of(part: PartSpec, types: Mapping[str, RecordType]) -> pa.Schema:
    """The columns of a part.

    Args:
        part: The part.
        types: Record types by name.
    """
    from metashell.image.coordinators.record_tables import part_schema, surviving_schema

    if part.table_columns:
        return part_schema(part, with_joined=True)
    found = surviving_schema(check_record(part, part.put, types))
    for column in part.rows_by or ("",):
        if column not in found.names:
            raise SchemaError(
                f"part {part.name}: rows_by has {column or 'nothing'}, which is no column of"
                f" {part.put.message}: {', '.join(found.names)}"
            )
    return found
