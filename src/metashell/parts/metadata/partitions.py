"""Partitions: a change carries some fields, moves two epochs, and may not apply.

They stand in their topics' directories.

Source: org.apache.kafka.metadata.PartitionRegistration, org.apache.kafka.image.TopicDelta.
"""

from metashell.parts.spec import Affect, Change, NamedCodes, PartField, PartSpec, Put

_RECOVERY = "metashell.parts.partition_fields:RECOVERY_STATES"

PART = PartSpec(
    name="partitions",
    help="Partitions of all topics.",
    group="topics",
    order=50,
    events=(
        Affect("TopicRecord"),
        Affect("RemoveTopicRecord"),
        Put("PartitionRecord"),
        Change("PartitionChangeRecord"),
        Change("ClearElrRecord"),
    ),
    key=(PartField("topic_id"), PartField("partition_id")),
    draws_keys=True,
    fields=(
        PartField("replicas"),
        PartField("directories"),
        PartField("isr"),
        PartField("removing_replicas"),
        PartField("adding_replicas"),
        PartField("eligible_leader_replicas", "elr"),
        PartField("last_known_elr"),
        PartField("leader"),
        PartField("leader_recovery_state", form=NamedCodes(_RECOVERY)),
        PartField("leader_epoch"),
        PartField("partition_epoch"),
    ),
    path=("topics", "byName"),
    by_topic=True,
    # Field by field, and of millions no more than is asked for.
    fold="metashell.image.partitions:partitions_of_all",
    folded_with=("partition_layout",),
    digest="metashell.checks.digest:partition_bytes",
    makers="metashell.image.arrow:partition_columns",
)
