"""Registered controllers.

Source: org.apache.kafka.image.ClusterDelta, org.apache.kafka.metadata.ControllerRegistration.
"""

from metashell.parts.spec import PartDescription, PartField, PartSpec, PathLevel, Put, Remove

PART = PartSpec(
    name="controllers",
    help="Registered controllers.",
    group="nodes",
    order=30,
    events=(Put("RegisterControllerRecord"), Remove("UnregisterControllerRecord")),
    key=(PartField("controller_id"),),
    fields=(
        PartField("controller_id", "id"),
        PartField("incarnation_id"),
        PartField("zk_migration_ready"),
        PartField("end_points", "listeners", "listeners"),
        PartField("features", "supportedFeatures", "features"),
    ),
    path=("cluster", "controllers"),
    levels=(PathLevel(("controller_id",)),),
    text="ControllerRegistration({})",
    line=("controller_id", "end_points"),
    described=PartDescription(
        "Controllers",
        "nodes --controllers",
        "id",
        (
            *("id", "role", "fenced", "voter", "release", "replicas", "rack", "endpoints"),
            "changed_time",
        ),
    ),
    sorted_by="controller_id",
)
