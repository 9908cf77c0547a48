"""Rows that are written as they are made: the same text, and never many of them at once."""

from __future__ import annotations

import pytest

import metashell
from metashell.answers import partitions as answers
from metashell.commands.partitions import answer as partitions
from support.fixtures import fixture
from support.shell import run_on

LINES = (
    "partitions",
    "partitions --columns all",
    "partitions --offline --columns topic,partition,would_elect,why,since_time",
    "partitions --leader 9999",
)


@pytest.mark.cases(9)
@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "tsv", "yaml"])
@pytest.mark.parametrize("line", LINES)
def test_pieces_are_the_whole(monkeypatch: pytest.MonkeyPatch, form: str, line: str) -> None:
    """In every form for programs, with no rows too."""
    source = metashell.open(fixture("real-44-broker-down").input)
    whole = run_on(source, f"{line} -o {form}")
    sizes = []
    make = answers.partitions_table

    def table(health: object, rows: object, *others: object) -> object:
        sizes.append(len(rows))  # type: ignore[arg-type]
        return make(health, rows, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(partitions, "PIECE_ROWS", 2)
    monkeypatch.setattr(partitions, "partitions_table", table)
    assert whole == run_on(source, f"{line} -o {form}")
    assert max(sizes, default=0) <= 2
    # Of no rows nothing is made: most clusters of a large fleet have none of what is asked for.
    assert len(sizes) == 0 if "9999" in line else len(sizes) > 1


@pytest.mark.parametrize("options", ["--sort -partition -o csv", "-o table", "--count"])
def test_what_needs_all_rows_has_them(monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    """Sorted rows, tables whose columns fit, and counts are as ever."""
    source = metashell.open(fixture("real-44-broker-down").input)
    whole = run_on(source, f"partitions {options}")
    monkeypatch.setattr(partitions, "PIECE_ROWS", 2)
    assert whole == run_on(source, f"partitions {options}")


def test_the_status_is_that_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """--exit-code looks at what was written, not at the last piece."""
    source = metashell.open(fixture("real-44-broker-down").input)
    monkeypatch.setattr(partitions, "PIECE_ROWS", 2)
    assert 1 == run_on(source, "partitions -o csv --exit-code").status
    assert 0 == run_on(source, "partitions --reassigning -o csv --exit-code").status
