"""The next producer id that a block begins with.

Source: org.apache.kafka.image.ProducerIdsDelta, org.apache.kafka.image.node.ProducerIdsImageNode.
"""

from metashell.parts.spec import PartField, PartSpec, Put

PART = PartSpec(
    name="producer_ids",
    help="The next block of producer ids.",
    group="quorum",
    order=80,
    events=(Put("ProducerIdsRecord"),),
    fields=(PartField("next_producer_id"),),
    is_value=True,
    path=("producerIds",),
    leaf="nextProducerId",
    absent=-1,
    columns=("next_producer_id",),
)
