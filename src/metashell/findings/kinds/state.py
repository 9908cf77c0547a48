"""States that no controller makes, and what a sound log's state can still lack."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Need, Severity

_REPLAY: Final = (
    "compare with another controller's directory (`checksum`): this state comes from damage or"
    " from a defect"
)
_CONTROL: Final = "org.apache.kafka.controller.ReplicationControlManager"
_of = partial(
    FindingKind,
    about=About.PARTITION,
    counts="partitions",
    needs=Need.FILES,
    do=_REPLAY,
    source=_CONTROL,
    finder="metashell.judgement.deep_findings:find",
)
_critical = partial(_of, severity=Severity.CRITICAL)
_warning = partial(_of, severity=Severity.WARNING)

KINDS: Final = (
    _critical(
        code="topic-name-twice",
        about=About.TOPIC,
        counts="topics",
        meaning="two topics have one name",
    ),
    _critical(
        code="partition-missing",
        about=About.TOPIC,
        counts="topics",
        meaning="the numbers of a topic's partitions have a gap",
    ),
    _critical(code="leader-not-in-isr", meaning="a leader is not in its ISR"),
    _critical(code="isr-not-in-replicas", meaning="an ISR is not part of the replicas"),
    _critical(code="replica-twice", meaning="replicas name a broker twice"),
    _critical(code="leader-unknown-broker", meaning="a leader is not registered"),
    _warning(code="leader-fenced", meaning="a leader is fenced"),
    _warning(
        code="topic-empty", about=About.TOPIC, counts="topics", meaning="a topic has no partitions"
    ),
    _warning(
        code="leaderless",
        part_of="offline-partitions",
        meaning="a partition has no leader",
        do="see which brokers it waits for: `partitions --offline`; start these on their own log"
        " dirs",
        avoid="an unclean election may lose records",
    ),
    _warning(
        code="replica-unknown-broker",
        part_of="unregistered-broker",
        meaning="a replica is on a broker that is not registered",
        do="look with kafka-topics.sh --describe; kafka-reassign-partitions.sh moves replicas",
    ),
    _warning(
        code="directory-unknown",
        part_of="offline-directory",
        meaning="a replica is in a directory that its broker does not have online",
        do="look for a failed disk on that broker; a broker that starts again reports its"
        " directories",
        source="KIP-858",
    ),
    _warning(
        code="config-unknown-topic",
        about=About.CONFIG,
        counts="configs",
        part_of="config-of-gone-resource",
        meaning="a config is set for a topic that does not exist",
        do="none needed, but a topic made under that name gets it; kafka-configs.sh --alter"
        " --delete-config removes it",
        source="org.apache.kafka.controller.ConfigurationControlManager",
    ),
)
