"""Members of groups. The record of a classic group holds its members."""

from metashell.parts.spec import NamedCodes, PartDescription, PartField, PartSpec, Put

_MEMBER = "{group_id}/members/{member_id}"
_CODES = "metashell.image.coordinators.group_things:"
_STATE = PartField("state", form=NamedCodes(f"{_CODES}MEMBER_STATES", "UNKNOWN({})"))
_OF_STREAMS = PartField("state", form=NamedCodes(f"{_CODES}STREAMS_STATES", "UNKNOWN({})"))
_CLASSIC = PartField("classic_member_metadata", "usesClassicProtocol", "is_there")

PART = PartSpec(
    name="members",
    help="Members of groups.",
    log="__consumer_offsets",
    events=(
        Put("ConsumerGroupMemberMetadata", at=_MEMBER, fields=(_CLASSIC,)),
        Put("ConsumerGroupCurrentMemberAssignment", at=_MEMBER, fields=(_STATE,)),
        Put("ShareGroupMemberMetadata", at=_MEMBER),
        Put("ShareGroupCurrentMemberAssignment", at=_MEMBER, fields=(_STATE,)),
        Put("StreamsGroupMemberMetadata", at=_MEMBER),
        Put("StreamsGroupCurrentMemberAssignment", at=_MEMBER, fields=(_OF_STREAMS,)),
    ),
    path=("groups",),
    described=PartDescription(
        "Members",
        "members",
        "",
        ("member", "client", "host", "epoch", "topics", "assigned", "instance"),
    ),
    table_columns=(
        "group:string member:string instance:string client:string host:string epoch:int32 "
        "topics:texts assigned:texts"
    ),
    rows="metashell.answers.groups:member_rows",
    rows_by=("group", "member"),
)
