"""Topics: one name may have had several ids.

Source: org.apache.kafka.image.TopicsDelta, org.apache.kafka.image.node.TopicsImageNode.
"""

from metashell.parts.spec import PartDescription, PartField, PartSpec, Put, Remove

PART = PartSpec(
    name="topics",
    help="Topics.",
    group="topics",
    order=40,
    events=(Put("TopicRecord"), Remove("RemoveTopicRecord")),
    key=(PartField("topic_id"),),
    draws_keys=True,
    path=("topics", "byName"),
    described=PartDescription(
        "Topics",
        "topics",
        "topic",
        (
            *("topic", "partitions", "offline", "under_replicated", "replication", "configs"),
            *("created_time", "changed_time"),
        ),
    ),
    by_topic=True,
    # A removal takes partitions and configs along, and names are looked up among millions.
    fold="metashell.image.topics:fold_topics",
    # Both directories are grids, with the partitions in them.
    node="metashell.fs.nodes.topics:topics_node",
    digest="metashell.checks.digest:topic_bytes",
    differences="metashell.fs.differences:topic_differences",
    makers="metashell.image.arrow:topic_columns",
)
