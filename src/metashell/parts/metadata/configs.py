"""Config values; removing a topic removes those of its name.

Source: org.apache.kafka.image.ConfigurationsDelta,
org.apache.kafka.image.node.ConfigurationsImageNode.
"""

from metashell.parts.spec import (
    Affect,
    NamedCodes,
    PartDescription,
    PartField,
    PartSpec,
    PathLevel,
    Put,
)

_TYPES = "metashell.schema.resource_types:ResourceType"

PART = PartSpec(
    name="configs",
    help="Dynamic configuration of topics, brokers and the like.",
    group="configs",
    order=60,
    events=(Put("ConfigRecord", "value"), Affect("TopicRecord"), Affect("RemoveTopicRecord")),
    key=(
        PartField("resource_type", form=NamedCodes(_TYPES)),
        PartField("resource_name"),
        PartField("name", table="key"),
    ),
    fields=(PartField("value"),),
    is_value=True,
    path=("configs",),
    levels=(
        PathLevel(("resource_type", "resource_name"), "metashell.image.topics:resource_directory"),
        PathLevel(("name",)),
    ),
    described=PartDescription(
        "Configs",
        "config",
        "metashell.tui.node.described:config_names",
        ("resource_type", "resource_name", "key", "value", "source", "changed_time"),
    ),
    is_judged=True,
    fold="metashell.image.topics:fold_configs",
    newest="metashell.image.touched:newest_config",
    history="metashell.fs.change_parts:ConfigHistory",
)
