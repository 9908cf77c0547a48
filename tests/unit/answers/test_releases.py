"""Releases and feature levels."""

from __future__ import annotations

import pytest

from metashell.answers.releases import loses_metadata, parse_feature, parse_version, release_of
from metashell.errors import UsageError

VERSIONS = {"4.1": 27, "4.1-IV1": 27, "4.1-iv0": 26, "27": 27, "4.0.2": 25, "3.3": 7, "99": 99}


@pytest.mark.parametrize(("text", "level"), VERSIONS.items())
def test_versions(text: str, level: int) -> None:
    """A release means its newest level."""
    assert level == parse_version(text)


@pytest.mark.parametrize("text", ["", "4.9", "v4.1", "0", "32768", "9" * 40, "4.1-IV9", "-1"])
def test_versions_that_there_are_not(text: str) -> None:
    """With what may have been meant."""
    with pytest.raises(UsageError, match="no version") as error:
        parse_version(text)
    assert "did you mean" in (error.value.hint or "")


def test_the_nearest_names_are_hinted_at() -> None:
    """Names, not numbers."""
    with pytest.raises(UsageError) as error:
        parse_version("4.1-IV9")
    assert "4.1-IV1" in (error.value.hint or "")


RELEASES = {0: None, -3: None, 19: "3.7", 18: "3.7-IV3", 30: "4.3", 31: "4.4-IV0", 99: ">4.4"}


@pytest.mark.parametrize(("level", "release"), RELEASES.items())
def test_releases(level: int, release: str | None) -> None:
    """Software from before a release is named by its level."""
    assert release == release_of(level)


@pytest.mark.parametrize(
    "text", ["x", "x=1", "group.version", "group.version=x", "group.version=99999", "=1"]
)
def test_features_that_there_are_not(text: str) -> None:
    """One sentence, and what to write."""
    with pytest.raises(UsageError):
        parse_feature(text)


def test_features() -> None:
    """metadata.version takes names."""
    assert ("group.version", 1) == parse_feature("group.version=1")
    assert ("metadata.version", 27) == parse_feature("metadata.version=4.1")


def test_downgrades_that_lose_metadata() -> None:
    """4.2 brought no record that 4.1 does not have, 4.3 did."""
    assert not loses_metadata(29, 27)
    assert loses_metadata(30, 29)
    assert not loses_metadata(27, 27)
