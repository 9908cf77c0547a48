"""Delegation tokens, by their id.

Source: org.apache.kafka.image.DelegationTokenDelta,
org.apache.kafka.image.node.DelegationTokenDataNode.
"""

from metashell.parts.spec import PartDescription, PartField, PartSpec, PathLevel, Put, Remove

PART = PartSpec(
    name="delegation_tokens",
    help="Delegation tokens.",
    group="security",
    order=110,
    events=(Put("DelegationTokenRecord"), Remove("RemoveDelegationTokenRecord")),
    key=(PartField("token_id"),),
    fields=(
        PartField("token_id", secret=True),
        PartField("owner"),
        PartField("requester", "tokenRequester"),
        PartField("renewers"),
        PartField("issue_timestamp", table="issue_time"),
        PartField("max_timestamp", table="max_time"),
        PartField("expiration_timestamp", "expiryTimestamp", table="expiry_time"),
    ),
    path=("delegationToken",),
    levels=(PathLevel(("token_id",)),),
    text="metashell.fs.nodes.token_text:token_text",
    described=PartDescription(
        "Tokens",
        "tokens",
        "token_id",
        ("token_id", "owner", "renewers", "expired", "issue_time", "expiry_time"),
    ),
    is_sound="metashell.image.security:sound_tokens",
)
