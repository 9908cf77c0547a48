"""``/image/features``: levels by name, metadata.version by its release.

Source: org.apache.kafka.image.node.FeaturesImageNode.
"""

from __future__ import annotations

from typing import Final

from metashell.fs.node import Directory, Leaf, TextLeaf
from metashell.fs.nodes.tables import RowDirectory
from metashell.fs.touch_times import TableTimes, Times
from metashell.image.features import METADATA_VERSION, feature_leaf, metadata_version_name
from metashell.image.image import Image
from metashell.parts.known import find_part
from metashell.redact import Redaction

NO_METADATA_VERSION: Final = "none"
"""Text of ``metadataVersion`` where no record sets one."""
_VERSION: Final = "metadataVersion"
"""The leaf that is there also where there is no such level."""


def features_node(image: Image, _: Redaction) -> Directory:
    """The directory ``features``."""

    def rows() -> dict[str, int]:
        names = image.part("features").columns.span("name").texts()
        shown = {leaf: row for row, name in enumerate(names) if (leaf := feature_leaf(name))}
        return {**shown, _VERSION: -1}

    def leaf(_: str, row: int) -> Leaf:
        if row >= 0:
            level = int(image.part("features").columns.fixed("feature_level")[row])
            return TextLeaf(str(level), lambda: level)
        version = image.metadata_version
        text = NO_METADATA_VERSION if version is None else metadata_version_name(version)
        return TextLeaf(text).timed(lambda: _version_times(image, times))

    part = find_part("features")
    times = TableTimes(lambda: image.touched.newest_of(part), lambda: image.part("features"))
    return RowDirectory(rows, leaf, times)


def _version_times(image: Image, times: TableTimes) -> Times | None:
    names = image.part("features").columns.span("name").texts()
    return times.of(names.index(METADATA_VERSION)) if METADATA_VERSION in names else None
