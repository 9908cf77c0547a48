"""SCRAM credentials, by mechanism and user.

Source: org.apache.kafka.image.ScramDelta, org.apache.kafka.image.node.ScramCredentialDataNode.
"""

from metashell.parts.spec import (
    NamedCodes,
    PartDescription,
    PartField,
    PartSpec,
    PathLevel,
    Put,
    Remove,
)

# Kafka drops credentials of any other mechanism without a word.
_MECHANISMS = NamedCodes("metashell.image.security:SCRAM_MECHANISMS", None)

PART = PartSpec(
    name="scram",
    table="scram_credentials",
    help="SCRAM users.",
    group="security",
    order=100,
    events=(Put("UserScramCredentialRecord"), Remove("RemoveUserScramCredentialRecord")),
    key=(PartField("mechanism", form=_MECHANISMS), PartField("name", table="user")),
    fields=(
        PartField("salt"),
        PartField("stored_key"),
        PartField("server_key"),
        PartField("iterations"),
    ),
    path=("scram",),
    levels=(PathLevel(("mechanism",), is_fixed=True), PathLevel(("name",))),
    text="ScramCredentialData({})",
    described=PartDescription(
        "Users",
        "users",
        "metashell.tui.node.described:user_names",
        ("user", "mechanisms", "iterations", "quotas", "acls", "changed_time"),
    ),
)
