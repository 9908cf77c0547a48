"""How far share groups are in the partitions that they read.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard.
"""

from metashell.parts.spec import PartSpec, Put

_PARTITION = "{group_id}/{topic_id}/{partition}"

PART = PartSpec(
    name="share_partitions",
    help="How far share groups are in the partitions that they read.",
    log="__share_group_state",
    events=(Put("ShareSnapshot", at=_PARTITION), Put("ShareUpdate", at=_PARTITION)),
    path=("share",),
    # The state of a partition is merged of a snapshot and updates.
    fold="metashell.image.coordinators.share_state:ShareFold",
    schema="metashell.answers.share:SHARE_SCHEMA",
    rows="metashell.answers.share:share_rows",
    rows_by=("group", "topic", "partition"),
)
