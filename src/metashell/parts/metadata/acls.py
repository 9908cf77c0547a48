"""ACLs, by their id.

Source: org.apache.kafka.image.AclsDelta, org.apache.kafka.image.node.AclsImageByIdNode.
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

_NAMES = "metashell.image.acl_names"

PART = PartSpec(
    name="acls",
    help="Access rules.",
    group="security",
    order=90,
    events=(
        Put("AccessControlEntryRecord"),
        Remove("RemoveAccessControlEntryRecord", "ACL can't be removed: no such ACL"),
    ),
    key=(PartField("id"),),
    draws_keys=True,
    fields=(
        PartField("resource_type", form=NamedCodes(f"{_NAMES}:RESOURCE_TYPES")),
        PartField("resource_name"),
        PartField("pattern_type", form=NamedCodes(f"{_NAMES}:PATTERN_TYPES")),
        PartField("principal"),
        PartField("host"),
        PartField("operation", form=NamedCodes(f"{_NAMES}:OPERATIONS")),
        PartField(
            "permission_type", form=NamedCodes(f"{_NAMES}:PERMISSION_TYPES"), table="permission"
        ),
    ),
    path=("acls", "byId"),
    levels=(PathLevel(("id",)),),
    text="StandardAcl[{}]",
    line=(
        *("principal", "permission_type", "operation"),
        *("resource_type", "resource_name", "pattern_type", "host"),
    ),
    described=PartDescription(
        "ACLs",
        "acls",
        "id",
        ("resource", "pattern_type", "operation", "principal", "permission", "host"),
    ),
)
