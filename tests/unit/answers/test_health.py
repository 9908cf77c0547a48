"""Which lists of partitions the states of partitions are told by."""

from __future__ import annotations

import pytest

import metashell
from metashell.answers.health import LOOKS_AT, READS, Health
from metashell.image.partitions import Partitions
from support.fixtures import DEMO


@pytest.mark.parametrize("state", LOOKS_AT)
def test_lists_that_are_expected_are_those_that_are_read(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is missing costs a second walk over all records, one too many costs memory."""
    asked: set[str] = set()
    real = Partitions.list_column
    monkeypatch.setattr(
        Partitions, "list_column", lambda self, name: (asked.add(name), real(self, name))[1]
    )
    Health(metashell.open(DEMO).image).mask(state)
    assert {*READS.get(state, ())} == asked - {"replicas"}
