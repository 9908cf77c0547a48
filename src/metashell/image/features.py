"""Finalized features and the metadata version.

Source: org.apache.kafka.image.FeaturesDelta, MetadataVersion.
"""

from __future__ import annotations

from typing import Final

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
"""Decided by a control record; a FeatureLevelRecord of that name does not show."""

METADATA_VERSIONS: Final = dict(
    enumerate(
        [
            "3.0-IV1",
            "3.1-IV0",
            "3.2-IV0",
            "3.3-IV0",
            "3.3-IV1",
            "3.3-IV2",
            "3.3-IV3",
            "3.4-IV0",
            "3.5-IV0",
            "3.5-IV1",
            "3.5-IV2",
            "3.6-IV0",
            "3.6-IV1",
            "3.6-IV2",
            "3.7-IV0",
            "3.7-IV1",
            "3.7-IV2",
            "3.7-IV3",
            "3.7-IV4",
            "3.8-IV0",
            "3.9-IV0",
            "4.0-IV0",
            "4.0-IV1",
            "4.0-IV2",
            "4.0-IV3",
            "4.1-IV0",
            "4.1-IV1",
            "4.2-IV0",
            "4.2-IV1",
            "4.3-IV0",
            "4.4-IV0",
            "4.4-IV1",
            "4.4-IV2",
        ],
        start=1,
    )
)
"""Release names of metadata.version levels."""


def metadata_version_name(level: int) -> str:
    """The release of a level; a level newer than we know is named by its number."""
    return METADATA_VERSIONS.get(level, str(level))


def feature_leaf(name: str) -> str | None:
    """Name of a feature's leaf below ``/image/features``; None for one that has none there."""
    if name == KRAFT_VERSION:
        return None
    return "metadataVersion" if name == METADATA_VERSION else f"finalized_{name}"
