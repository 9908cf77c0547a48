"""Client quotas: a value for each key of each entity.

Source: org.apache.kafka.image.ClientQuotasDelta, org.apache.kafka.image.node.ClientQuotasImageNode.
"""

from metashell.parts.spec import PartDescription, PartField, PartSpec, PathLevel, Put

PART = PartSpec(
    name="client_quotas",
    help="Quotas, a row for each value of each entity.",
    group="security",
    order=70,
    events=(Put("ClientQuotaRecord", "remove", True),),
    key=(PartField("entity", form="entity"), PartField("key")),
    fields=(PartField("value"),),
    is_value=True,
    path=("clientQuotas",),
    levels=(PathLevel(("entity",)), PathLevel(("key",))),
    described=PartDescription(
        "Quotas",
        "quotas",
        "metashell.tui.node.described:quota_names",
        ("entity", "key", "value"),
    ),
    columns=("entity", "key", "value"),
)
