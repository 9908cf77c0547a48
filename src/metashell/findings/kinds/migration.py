"""A migration from ZooKeeper that has not ended, or has ended too early."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Severity

_of = partial(
    FindingKind,
    about=About.CLUSTER,
    severity=Severity.WARNING,
    counts="nodes",
    see="nodes --columns id,role,release,zk_migration",
    finder="metashell.judgement.migration:find",
    source="org.apache.kafka.controller.ActivationRecordsGenerator; KIP-866",
)
RESTART: Final = "restart these brokers in KRaft mode (process.roles=broker), one at a time"
FINALIZE: Final = (
    "restart the controllers without zookeeper.metadata.migration.enable, one at a time"
)

KINDS: Final = (
    _of(
        code="migration-ended-early",
        order=65,
        counts="brokers",
        meaning="the migration from ZooKeeper has ended, and brokers are still in ZooKeeper mode:"
        " controllers tell them nothing new any more",
        do=RESTART,
        avoid="do not upgrade to 4.0 before",
    ),
    _of(
        code="migration-unfinished",
        order=126,
        meaning="the migration from ZooKeeper has not ended: software of 4.0 or later does not run"
        " with it",
        do="start each controller, and each ZooKeeper broker, with"
        " zookeeper.metadata.migration.enable. The active controller's log says whom it waits for",
        avoid="restart no broker in KRaft mode before the state is MIGRATION",
    ),
)
