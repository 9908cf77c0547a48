"""What engines give, as cells that can be written."""

from __future__ import annotations

import pyarrow as pa
import pytest

import metashell
from metashell.commands.sql.cells import as_cell_column, as_cells, column_names, empty_cells
from metashell.sql.catalog import ClusterCatalog
from metashell.sql.duck import Database
from support.fixtures import SAMPLE

EXPRESSIONS = [
    ("1::hugeint", 1),
    ("170141183460469231731687303715884105727::hugeint", "170141183460469231731687303715884105727"),
    ("sum(1::bigint)", 1),
    ("1.5::decimal(10, 2)", 1.5),
    ("1.5::decimal(30, 2)", "1.50"),
    ("0.5::float", 0.5),
    ("18446744073709551615::ubigint", 18446744073709551615),
    ("true", True),
    ("null", None),
    ("'é'", "é"),
    ("'\\x00\\xFFa\\x5C'::blob", "\\x00\\xFFa\\x5C"),
    ("date '2026-01-02'", "2026-01-02"),
    ("time '10:11:12'", "10:11:12"),
    ("interval '1 month 2 days 3 seconds'", "P1M2DT3S"),
    ("[1, 2]", [1, 2]),
    ("['a', 'b']", ["a", "b"]),
    ("[1, null]", "[1, null]"),
    ("[[1], [2]]", "[[1], [2]]"),
    ("[1.5]", "[1.5]"),
    ("{'a': 1, 'b': 'é'}", '{"a": 1, "b": "é"}'),
    ("{'a': 'x'::blob, 'b': date '2026-01-02'}", '{"a": "x", "b": "2026-01-02"}'),
    ("map {'a': 1}", '[["a", 1]]'),
    ("'b'::enum('a', 'b')", "b"),
    ("uuid '00000000-0000-0000-0000-000000000001'", "00000000-0000-0000-0000-000000000001"),
]


@pytest.mark.parametrize(("expression", "value"), EXPRESSIONS)
def test_every_type_becomes_a_cell(expression: str, value: object) -> None:
    """Of a type that rows are written with; no rows have the same types."""
    source = metashell.open(SAMPLE)
    result = Database(ClusterCatalog(source, lambda: source.image)).run(
        f"select {expression} as x", lambda: False
    )
    (batch,) = result.batches
    cells = as_cells(batch, ["x"])
    assert [value] == cells["x"].to_pylist()
    assert ["x"] == empty_cells(result.schema, ["x"]).column_names


def test_times_are_in_ms_and_utc() -> None:
    """What a millisecond does not hold is left out."""
    for zone in (None, "UTC", "Europe/Berlin"):
        array = as_cell_column(pa.array([1_001_999], pa.timestamp("us", tz=zone)))
        assert pa.timestamp("ms", tz="UTC") == array.type
        assert [1001] == array.cast(pa.int64()).to_pylist()


def test_names_of_columns_differ_and_steer_no_terminal() -> None:
    """As a statement may name two alike."""
    schema = pa.schema(
        [("a", pa.int8()), ("a", pa.int8()), ("a_1", pa.int8()), ("\x1b[1m", pa.int8())]
    )
    names = column_names(schema)
    assert ["a", "a_1", "a_1_1"] == names[:3]
    assert "\x1b" not in names[3]
