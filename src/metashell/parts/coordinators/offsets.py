"""Offsets that groups committed.

Source: org.apache.kafka.coordinator.group.OffsetMetadataManager.
"""

from metashell.parts.spec import PartDescription, PartSpec, Put

_OFFSET = "{group}/offsets/{topic}/{partition}"

PART = PartSpec(
    name="offsets",
    help="Offsets that groups committed.",
    log="__consumer_offsets",
    events=(
        Put("OffsetCommit", at=_OFFSET, waits=True),
        Put("LegacyOffsetCommit", at=_OFFSET, waits=True),
    ),
    path=("groups",),
    described=PartDescription(
        "Offsets",
        "offsets",
        "",
        (
            *("topic", "partition", "offset", "committed_time", "pending", "metadata"),
            *("leader_epoch", "expire_time"),
        ),
    ),
    table_columns=(
        "group:string topic:string partition:int32 offset:int64 leader_epoch:int32 "
        "metadata:string committed_time:time expire_time:time? pending:bool log_end_offset:int64 "
        "lag:int64 high_watermark:int64 expire_source:string"
    ),
    rows="metashell.answers.offsets:offset_rows",
    rows_by=("group", "topic", "partition"),
    asked_for=("log_end_offset", "lag", "high_watermark"),
    joined="metashell.sources.partition_ends:lag_joined",
)
