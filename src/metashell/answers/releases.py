"""Which Kafka release a feature level stands for, and which levels a release has.

Source: org.apache.kafka.server.common.MetadataVersion.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from metashell.errors import UsageError
from metashell.image.features import METADATA_VERSION, METADATA_VERSIONS
from metashell.spelling import did_you_mean, near_names

CONTROLLERS_REGISTER: Final = 15
"""The level (3.7-IV0) from which on controllers are registered, and checked (KIP-919)."""
CONTROLLERS_UNREGISTER: Final = 33
"""The level (4.4-IV2) from which on a controller can be unregistered (KIP-1312)."""
OLDEST_IN_RECORDS: Final = 4
"""The level (3.3-IV0) that first could be finalized in the log."""
OLDEST_FOR_4: Final = 7
"""The level (3.3-IV3) below which software of 4.0 and later refuses to run."""
NEWEST_OF_3: Final = 21
"""The newest level (3.9-IV0) that software before 4.0 supports."""
UPGRADES_KRAFT_VERSION: Final = 27
"""The level that marks the first release (4.1) that can upgrade a static quorum.

4.0 announces the same range of kraft.version, so this level tells them apart."""
HIGHEST_LEVEL: Final = 32767

_CHANGED_METADATA: Final = frozenset({1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""Levels that brought records or fields that the level before can't hold."""
_LAST_LEVELS: Final = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "kraft.version": 1,
    METADATA_VERSION: max(METADATA_VERSIONS),
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}
"""The highest level of each feature that the newest release we know supports."""


@cache
def newest_levels() -> dict[str, int]:
    """The newest level of each release, such as 27 for ``4.1``."""
    return {name.partition("-")[0]: level for level, name in METADATA_VERSIONS.items()}


def release_of(highest: int) -> str | None:
    """The Kafka release whose software supports metadata.version up to a level.

    Returns:
        Such as ``4.3``; ``4.0-IV1`` for software from before a release, ``>4.4`` for one that is
        newer than we know, None for a node without metadata.version.
    """
    if highest <= 0:
        return None
    name = METADATA_VERSIONS.get(highest)
    newest = newest_levels()
    if name is None:
        return f">{list(newest)[-1]}"
    release = name.partition("-")[0]
    return release if newest[release] == highest else name


def parse_version(text: str) -> int:
    """The level of metadata.version that ``4.1``, ``4.1-IV1`` or ``27`` means.

    Raises:
        UsageError: There is no such version.
    """
    if text.isascii() and text.isdigit():
        level = int(text) if len(text) <= 5 else HIGHEST_LEVEL + 1
        if 1 <= level <= HIGHEST_LEVEL:
            return level
    else:
        wanted = text.upper() if "-" in text else text
        for level, name in METADATA_VERSIONS.items():
            if name == wanted:
                return level
        # A patch release (4.1.2) has the levels of its minor release.
        release = re.sub(r"^(\d+\.\d+)\.\d+$", r"\1", text)
        found = newest_levels().get(release)
        if found is not None:
            return found
    names = [*newest_levels(), *METADATA_VERSIONS.values()]
    near = near_names(text[:20], names) or list(newest_levels())[-3:]
    raise UsageError(
        f"{text}: no version of metadata.version",
        hint=f"did you mean {', '.join(near)}? A feature level such as 27 is understood too",
    )


def parse_feature(text: str) -> tuple[str, int]:
    """The feature and level that ``NAME=LEVEL`` means.

    Raises:
        UsageError: It is not written so, or no Kafka release has the feature.
    """
    name, equals, level = text.partition("=")
    if not (name and equals and level):
        raise UsageError(f"{text}: write NAME=LEVEL, such as transaction.version=2")
    if name not in _LAST_LEVELS:
        near = near_names(name, _LAST_LEVELS, 1)
        hint = did_you_mean(near) or f"there are {', '.join(_LAST_LEVELS)}"
        raise UsageError(f"{name}: no such feature", hint=hint)
    if name == METADATA_VERSION:
        return name, parse_version(level)
    if not (level.isascii() and level.isdigit() and len(level) <= 5):
        raise UsageError(f"{text}: the level is not a number")
    if int(level) > HIGHEST_LEVEL:
        raise UsageError(f"{text}: the highest level is {HIGHEST_LEVEL}")
    return name, int(level)


def known_levels(feature: str) -> tuple[int, int]:
    """The lowest and the highest level of a feature that a known release has."""
    return int(feature == METADATA_VERSION), _LAST_LEVELS[feature]


def lowest_after(level: int) -> int:
    """How far metadata.version can go back from a level: below, a downgrade may lose metadata."""
    changed = max((i for i in _CHANGED_METADATA if i <= level), default=level)
    return max(changed, min(level, OLDEST_IN_RECORDS))


def loses_metadata(above: int, below: int) -> bool:
    """Whether a downgrade of metadata.version may lose metadata, which Kafka then refuses."""
    return any(below < level <= above for level in _CHANGED_METADATA)
