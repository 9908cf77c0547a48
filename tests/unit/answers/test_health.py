"""Which lists of partitions the states of partitions are told by."""

from __future__ import annotations

import numpy as np
import pytest

import metashell
from metashell.answers.health import LOOKS_AT, READS, Health
from metashell.image.partitions import Partitions
from support.fixtures import DEMO, fixture


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


@pytest.mark.parametrize("name", ["real-44-broker-down", "real-44-trimmed"])
def test_states_of_a_few_are_those_among_all(name: str) -> None:
    """Whether they are found for some partitions alone, or for all, of which some are asked."""
    image = metashell.open(fixture(name).input).image
    health, n = Health(image), len(image.partitions)
    assert n > 8
    for rows in (np.arange(0), np.array([n - 1]), np.array([3, 0]), np.arange(n)[::-1]):
        found = health.masks_at([*LOOKS_AT], rows)
        for state, mask in zip(LOOKS_AT, found, strict=True):
            assert health.mask(state)[rows].tolist() == mask.tolist()
        alone = Health(image, rows=rows)
        every = health.in_directory(bytes(16))
        assert every[rows].tolist() == alone.in_directory(bytes(16)).tolist()
        assert health.having("isr", 1)[rows].tolist() == alone.having("isr", 1).tolist()
