"""A reduced log gives the image, the times and the faults that the log gives."""

from __future__ import annotations

from random import Random

import pytest

import metashell
from metashell.image.image import Image
from metashell.redact import Redaction
from metashell.reduced.table import records_of
from support.fixtures import differing, fixture, fixture_names
from support.reduced import (
    assert_reduced_is_whole,
    assert_same_image,
    facts_of,
    reduced_tables,
)
from support.seeds import seeds


def opened(name: str) -> metashell.Source:
    """A fixture's source."""
    it = fixture(name)
    return (metashell.open if it.kind == "directory" else metashell.open_file)(it.input)


@pytest.mark.cases(11)
@pytest.mark.parametrize("name", differing(fixture_names()))
@pytest.mark.parametrize("seed", seeds(1))
def test_reduced_fixture_is_the_whole_one(name: str, seed: int) -> None:
    """Wherever a real log is cut, and whatever is reduced again, nothing changes."""
    assert_reduced_is_whole(opened(name), Random(f"{name} {seed}"))


@pytest.mark.cases(11)
@pytest.mark.parametrize("name", differing(fixture_names()))
def test_reduced_without_secrets(name: str) -> None:
    """Overwritten secrets change nothing of what is shown without them."""
    source, rng = opened(name), Random(name)
    loaded, registry, hidden = source.log.loaded, source.registry, Redaction()
    tables = reduced_tables(loaded, registry, rng, 5, hidden)
    image = Image(records_of(tables, facts_of(loaded), registry))
    assert_same_image(image, source.image, hidden, faults=False)
