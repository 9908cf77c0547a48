"""Members of groups. Those of a classic group stand in the record of the group."""

from metashell.parts.spec import PartDescription, PartSpec, Put

_MEMBER = "{group_id}/members/{member_id}"

PART = PartSpec(
    name="members",
    help="Members of groups.",
    log="__consumer_offsets",
    events=(
        Put("ConsumerGroupMemberMetadata", at=_MEMBER),
        Put("ConsumerGroupCurrentMemberAssignment", at=_MEMBER),
        Put("ShareGroupMemberMetadata", at=_MEMBER),
        Put("ShareGroupCurrentMemberAssignment", at=_MEMBER),
        Put("StreamsGroupMemberMetadata", at=_MEMBER),
        Put("StreamsGroupCurrentMemberAssignment", at=_MEMBER),
    ),
    path=("groups",),
    described=PartDescription(
        "Members",
        "members",
        "",
        ("member", "client", "host", "epoch", "topics", "assigned", "instance"),
    ),
    schema="metashell.answers.groups:MEMBER_SCHEMA",
    rows="metashell.answers.groups:member_rows",
    rows_by=("group", "member"),
)
