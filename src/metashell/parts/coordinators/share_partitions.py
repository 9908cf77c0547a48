"""How far share groups are in the partitions that they read.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard.
"""

from metashell.parts.spec import PartField, PartSpec, Put

_PARTITION = "{group_id}/{topic_id}/{partition}"
_BATCHES = "metashell.image.coordinators.share_state:batches_shown"

PART = PartSpec(
    name="share_partitions",
    help="How far share groups are in the partitions that they read.",
    log="__share_group_state",
    events=(
        Put("ShareSnapshot", at=_PARTITION, fields=(PartField("state_batches", form=_BATCHES),)),
        Put(
            "ShareUpdate",
            at=_PARTITION,
            fields=(PartField("state_batches", "updatedBatches", _BATCHES),),
            onto="ShareSnapshot",
            kept=-1,
        ),
    ),
    path=("share",),
    # The state of a partition is merged of a snapshot and updates.
    fold="metashell.image.coordinators.share_state:ShareFold",
    table_columns=(
        "group:string topic:string partition:int32 start_offset:int64? state_epoch:int32 "
        "leader_epoch:int32 complete:int32? batches:texts written_time:time? coordinator:int32 "
        "coordinator_partition:int32"
    ),
    rows="metashell.answers.groups:share_rows",
    rows_by=("group", "topic", "partition"),
)
