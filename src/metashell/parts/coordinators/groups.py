"""Groups: what is known of each as a whole, and what has no part of its own.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.
"""

from metashell.parts.spec import PartDescription, PartSpec, Put

_STATE = "{group_id}/state"

PART = PartSpec(
    name="groups",
    help="Groups.",
    log="__consumer_offsets",
    events=(
        Put(
            "GroupMetadata",
            at="{group}/state",
            whole="metashell.image.coordinators.group_things:classic_nodes",
        ),
        Put("ConsumerGroupMetadata", at=_STATE),
        Put("ConsumerGroupTargetAssignmentMetadata", at=_STATE),
        Put("ConsumerGroupTargetAssignmentMember", at="{group_id}/assignment/{member_id}"),
        Put("ConsumerGroupPartitionMetadata", at="{group_id}/partitionMetadata"),
        Put(
            "ConsumerGroupRegularExpression",
            at="{group_id}/regularExpressions/{regular_expression}",
        ),
        Put("ShareGroupMetadata", at=_STATE),
        Put("ShareGroupTargetAssignmentMetadata", at=_STATE),
        Put("ShareGroupTargetAssignmentMember", at="{group_id}/assignment/{member_id}"),
        Put("ShareGroupStatePartitionMetadata", at="{group_id}/sharePartitions"),
        Put("StreamsGroupMetadata", at=_STATE),
        Put("StreamsGroupTargetAssignmentMetadata", at=_STATE),
        Put("StreamsGroupTargetAssignmentMember", at="{group_id}/assignment/{member_id}"),
        Put("StreamsGroupTopology", at="{group_id}/topology"),
    ),
    path=("groups",),
    described=PartDescription(
        "Groups",
        "groups",
        "",
        (
            *("group", "type", "state", "members", "topics", "committed_time", "protocol"),
            *("epoch", "coordinator", "partition"),
        ),
    ),
    # Records of one type end what others say, and which group they may be about.
    fold="metashell.image.coordinators.group_things:GroupsFold",
    table_columns=(
        "group:string type:string state:string protocol:string members:int64 coordinator:int32 "
        "partition:int32 topics:texts epoch:int32? committed_time:time?"
    ),
    rows="metashell.answers.groups:group_rows",
    rows_by=("group",),
)
