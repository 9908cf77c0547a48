"""Finalized features, metadata.version among them.

Source: org.apache.kafka.image.FeaturesDelta, org.apache.kafka.image.node.FeaturesImageNode.
"""

from metashell.parts.spec import PartField, PartSpec, PathLevel, Put

PART = PartSpec(
    name="features",
    help="Finalized features.",
    group="quorum",
    order=10,
    events=(Put("FeatureLevelRecord", "feature_level", 0),),
    key=(PartField("name"),),
    fields=(PartField("feature_level"),),
    is_value=True,
    path=("features",),
    # kraft.version is not among them: a control record decides it.
    levels=(PathLevel(("name",), "metashell.image.features:feature_leaf", is_partial=True),),
    folded_with=("metadata_version",),
    # metadata.version has a leaf also where there is none, and a name in place of its level.
    node="metashell.fs.nodes.features:features_node",
    facts="metashell.checks.digest:feature_facts",
    history="metashell.fs.change_parts:FeatureHistory",
)
