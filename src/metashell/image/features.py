"""Finalized features and the metadata version; producer ids.

Source: org.apache.kafka.image.{FeaturesDelta, ProducerIdsDelta}, MetadataVersion.
"""

from __future__ import annotations

from typing import Final

from metashell.image.keyed import Part, fold_nullable
from metashell.image.records import Records

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


def fold_features(records: Records) -> Part:
    """The finalized features, metadata.version among them; level 0 removes one."""
    rows, columns = records.columns("FeatureLevelRecord")
    gone = columns.fixed("feature_level") == 0
    return fold_nullable(records, rows, columns, ["name"], gone)


def fold_producer_ids(records: Records) -> tuple[int, int] | None:
    """The next producer id and the row that says so; None where no record does."""
    rows, columns = records.columns("ProducerIdsRecord")
    if not len(rows):
        return None
    return int(columns.fixed("next_producer_id")[-1]), int(rows[-1])
