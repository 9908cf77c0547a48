"""The metadata log as a controller sees it: records that stop it, and checkpoints."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Severity

_of = partial(
    FindingKind, about=About.FILE, counts="places", finder="metashell.judgement.log_state:find"
)
_SNAPSHOTS: Final = "org.apache.kafka.image.publisher.SnapshotGenerator; KIP-876"

KINDS: Final = (
    _of(
        code="controller-stops",
        at_start=AtStart.STOPS_CONTROLLER,
        start_order=36,
        severity=Severity.CRITICAL,
        order=75,
        counts="records",
        meaning="every controller stops at a record; brokers read on",
        do="copy the metadata directory of each controller. Run `log --offset N` on each copy to"
        " see which lacks the record",
        comes_first=True,
        avoid="restart no controller that still runs",
        source="org.apache.kafka.controller.QuorumController.replay",
    ),
    _of(
        code="no-metadata-version",
        at_start=AtStart.CHANGES,
        start_order=36,
        about=About.CLUSTER,
        severity=Severity.WARNING,
        order=125,
        counts="logs",
        meaning="the log has no metadata.version: 3.x takes the log for 3.0-IV1. In 4.x the next"
        " active controller takes it for empty. It appends the records of bootstrap.checkpoint, or"
        " sets its newest level",
        do="before an upgrade to 4.x set the level that the brokers run with:"
        " kafka-features.sh upgrade --metadata VERSION",
        see="can-upgrade 3.9",
        source="org.apache.kafka.controller.ActivationRecordsGenerator; KAFKA-14177",
    ),
    _of(
        code="checkpoint-behind",
        severity=Severity.WARNING,
        order=145,
        counts="logs",
        meaning="checkpoints are not made as often as they should be: a start takes long, and old"
        " segments stay",
        do="look into this node's server log for a metadata error; after one a node makes no"
        " checkpoint until it is restarted. A node that has just caught up makes one soon",
        avoid="restart it only while a majority of the voters runs without it",
        see="stats",
        source=_SNAPSHOTS,
    ),
    _of(
        code="checkpoint-lacks-credentials",
        at_start=AtStart.LOSES,
        start_order=36,
        severity=Severity.CRITICAL,
        order=78,
        counts="credentials",
        meaning="a checkpoint lacks SCRAM credentials that the log sets: once a node starts from"
        " it, their users cannot log in there",
        do="set the passwords of these users again with kafka-configs.sh: that writes new records",
        see="users",
        source="org.apache.kafka.image.ScramDelta.apply",
    ),
)
