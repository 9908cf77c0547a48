"""Registered brokers: records that fence and change one must name its registered epoch.

Source: org.apache.kafka.image.ClusterDelta, org.apache.kafka.metadata.BrokerRegistration.
"""

from metashell.parts.spec import (
    Change,
    NamedCodes,
    PartDescription,
    PartField,
    PartSpec,
    PathLevel,
    Put,
    Remove,
)

_FLAGS = NamedCodes("metashell.image.cluster:CHANGED_FLAGS")

PART = PartSpec(
    name="brokers",
    help="Registered brokers.",
    group="nodes",
    order=20,
    events=(
        Put("RegisterBrokerRecord"),
        Remove("UnregisterBrokerRecord"),
        Change("FenceBrokerRecord"),
        Change("UnfenceBrokerRecord"),
        Change(
            "BrokerRegistrationChangeRecord",
            (PartField("fenced", form=_FLAGS), PartField("in_controlled_shutdown", form=_FLAGS)),
        ),
    ),
    key=(PartField("broker_id", table="broker"),),
    fields=(
        PartField("broker_id", "id"),
        PartField("broker_epoch", "epoch"),
        PartField("incarnation_id"),
        PartField("end_points", "listeners", "listeners"),
        PartField("features", "supportedFeatures", "features"),
        PartField("rack", form="optional"),
        PartField("fenced"),
        PartField("in_controlled_shutdown"),
        PartField("is_migrating_zk_broker", is_told=False),
        PartField("log_dirs", "directories", "directories"),
        PartField("cordoned_log_dirs", "cordonedDirectories", "directories"),
    ),
    path=("cluster", "brokers"),
    levels=(PathLevel(("broker_id",)),),
    text="BrokerRegistration({})",
    line=("broker_id", "fenced", "in_controlled_shutdown", "rack", "end_points"),
    described=PartDescription(
        "Brokers",
        "brokers",
        "broker",
        (
            *("broker", "state", "leaders", "replicas", "in_sync", "rack", "preferred"),
            *("preferred_led", "leader_skew", "replica_skew"),
        ),
    ),
    is_judged=True,
    fold="metashell.image.cluster:fold_brokers",
    history="metashell.fs.change_parts:BrokerHistory",
)
