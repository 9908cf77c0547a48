"""The wanted part of a table, as far as filters tell it.

Filters only spare work: directories, files, batches and types that can't match are left out. All of
them are given back to Spark, which applies them to the rows again, so that a filter that is not
understood here costs time and never rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LEAST: Final = -(1 << 63)
MOST: Final = (1 << 63) - 1

_TEXT_TESTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "match_substring": str.__contains__,
}
"""Tests of a text, by the name of Arrow's function that does the same to a column."""


@dataclass(slots=True)
class TableFilter:
    """A table's rows that are wanted: those of the values named, in the ranges named."""

    values: dict[str, frozenset[Any]] = field(default_factory=dict)
    """By column, one of these; columns that are not here may be anything."""
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By column of numbers or times (microseconds since the epoch): lowest and highest."""
    texts: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """By column of texts, all of these tests: one of `_TEXT_TESTS`, and what it looks for."""
    nulls: dict[str, frozenset[bool]] = field(default_factory=dict)
    """By column, whether null is wanted, or all but null; both leave nothing."""

    def may_be(self, column: str, value: object) -> bool:
        """Whether rows with a value in a column can be wanted."""
        values = self.values.get(column)
        if values is not None and value not in values:
            return False
        if self.nulls.get(column, frozenset()) - {value is None}:
            return False
        for test, text in self.texts.get(column, ()):
            if not isinstance(value, str) or not _TEXT_TESTS[test](value, text):
                return False
        if column in self.ranges:
            low, high = self.ranges[column]
            return isinstance(value, int) and low <= value <= high
        return True

    def range_of(self, column: str) -> tuple[int, int]:
        """Lowest and highest value that is wanted, of a column of numbers or times."""
        low, high = self.ranges.get(column, (LEAST, MOST))
        numbers = [v for v in self.values.get(column, ()) if isinstance(v, int)]
        if column in self.values:
            low = max(low, min(numbers, default=MOST))
            high = min(high, max(numbers, default=LEAST))
        return low, high

    def may_begin(self, column: str, start: str) -> bool:
        """Whether rows can be wanted whose text in a column begins so."""
        values = self.values.get(column)
        if values is not None and not any(str(value).startswith(start) for value in values):
            return False
        starts = [text for test, text in self.texts.get(column, ()) if test == "starts_with"]
        return all(text.startswith(start) or start.startswith(text) for text in starts)

    @property
    def is_nothing(self) -> bool:
        """Whether no row at all can be wanted."""
        return (
            any(not v for v in self.values.values())
            or any(low > high for low, high in self.ranges.values())
            or any(
                len(nulls) > 1 or (True in nulls and self._excludes_null(column))
                for column, nulls in self.nulls.items()
            )
        )

    def _excludes_null(self, column: str) -> bool:
        return column in self.values or column in self.ranges or column in self.texts

    def take(self, filters: Iterable[Filter]) -> None:
        """Note what filters say; all of them have to hold."""
        from pyspark.sql import datasource as ds

        for one in filters:
            if isinstance(one, ds.EqualTo | ds.EqualNullSafe):
                self._one_of(one.attribute, (one.value,))
            elif isinstance(one, ds.In):
                self._one_of(one.attribute, tuple(one.value))
            elif isinstance(one, ds.GreaterThan):
                self._between(one.attribute, one.value, 1, None, 0)
            elif isinstance(one, ds.GreaterThanOrEqual):
                self._between(one.attribute, one.value, 0, None, 0)
            elif isinstance(one, ds.LessThan):
                self._between(one.attribute, None, 0, one.value, -1)
            elif isinstance(one, ds.LessThanOrEqual):
                self._between(one.attribute, None, 0, one.value, 0)
            elif isinstance(one, ds.StringStartsWith):
                self._text(one.attribute, "starts_with", one.value)
            elif isinstance(one, ds.StringEndsWith):
                self._text(one.attribute, "ends_with", one.value)
            elif isinstance(one, ds.StringContains):
                self._text(one.attribute, "match_substring", one.value)
            elif isinstance(one, ds.IsNull | ds.IsNotNull):
                self._null(one.attribute, isinstance(one, ds.IsNull))

    def _text(self, attribute: Sequence[str], test: str, text: object) -> None:
        if len(attribute) == 1 and isinstance(text, str):
            column = attribute[0]
            self.texts[column] = self.texts.get(column, frozenset()) | {(test, text)}

    def _null(self, attribute: Sequence[str], is_null: bool) -> None:
        if len(attribute) == 1:
            column = attribute[0]
            self.nulls[column] = self.nulls.get(column, frozenset()) | {is_null}

    def _one_of(self, attribute: Sequence[str], values: Sequence[object]) -> None:
        if len(attribute) != 1:
            return
        plain = [_plain(value) for value in values if value is not None]
        if len(plain) < len(values) and len(values) == 1:
            return  # `<=> null`
        if all(isinstance(value, str | int) for value in plain):
            column = attribute[0]
            known = self.values.get(column)
            found = frozenset(plain)
            self.values[column] = found if known is None else known & found

    def _between(
        self, attribute: Sequence[str], low: object, above: int, high: object, below: int
    ) -> None:
        column = attribute[0]
        bounds = [_plain(value) for value in (low, high)]
        if len(attribute) != 1 or not any(type(value) is int for value in bounds):
            return
        lowest, highest = self.ranges.get(column, (LEAST, MOST))
        if type(bounds[0]) is int:
            lowest = max(lowest, bounds[0] + above)
        if type(bounds[1]) is int:
            highest = min(highest, bounds[1] + below)
        self.ranges[column] = (lowest, highest)

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch that are wanted, by its columns of text, numbers and times."""
        import pyarrow.compute as pc

        mask = None
        for column in dict.fromkeys((*self.values, *self.ranges, *self.texts, *self.nulls)):
            at = batch.schema.get_field_index(column)
            for test in self._tests(column, batch.column(at)) if at >= 0 else ():
                mask = test if mask is None else pc.and_(mask, test)
        return batch if mask is None else batch.filter(mask, null_selection_behavior="drop")

    def _tests(self, column: str, array: pa.Array) -> Iterator[pa.Array]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for is_null in self.nulls.get(column, ()):
            yield pc.is_null(array) if is_null else pc.is_valid(array)
        is_text = pa.types.is_string(array.type)
        if pa.types.is_timestamp(array.type) or pa.types.is_integer(array.type):
            array = array.cast(pa.int64())
        elif not is_text:
            return
        if column in self.values:
            wanted = [v for v in self.values[column] if type(v) is (str if is_text else int)]
            if len(wanted) < len(self.values[column]):
                return
            yield pc.is_in(array, pa.array(wanted, type=array.type))
        low, high = self.ranges.get(column, (LEAST, MOST))
        if column in self.ranges and not is_text and LEAST <= low <= MOST and LEAST <= high <= MOST:
            yield pc.greater_equal(array, low)
            yield pc.less_equal(array, high)
        for test, text in self.texts.get(column, ()) if is_text else ():
            yield getattr(pc, test)(array, text)


def _plain(value: object) -> object:
    """A number or text as it is, a time as microseconds since the epoch; None for anything else."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        delta = moment - _EPOCH
        return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    return value if type(value) in {int, str} else None
