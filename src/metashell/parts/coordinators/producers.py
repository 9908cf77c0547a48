"""Producers of the partitions whose logs are in a node's log directories.

They stand beside the logs of all topics, and no record of a coordinator tells of them.
"""

from metashell.parts.spec import PartSpec

PART = PartSpec(
    name="producers",
    help="Producers of the partitions whose logs are here.",
    path=("producers",),
    schema="metashell.answers.producers:PRODUCER_SCHEMA",
    rows_by=("topic", "partition", "producer_id"),
)
