"""Groups, committed offsets and transactions, by their coordinators' logs."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Need, Severity

_of = partial(
    FindingKind,
    about=About.GROUP,
    needs=Need.BROKER_LOGS,
    finder="metashell.judgement.coordinator_findings:find",
)
_OFFSETS: Final = "org.apache.kafka.coordinator.group.OffsetMetadataManager"

KINDS: Final = (
    _of(
        code="coordinator-refuses",
        severity=Severity.CRITICAL,
        order=30,
        counts="partitions",
        meaning="a broker cannot load the partition: its groups or transactions have no"
        " coordinator",
        do="look at the record with `log`; a newer Kafka may have written it",
        source="org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl",
    ),
    _of(
        code="hanging-transaction",
        severity=Severity.CRITICAL,
        order=40,
        counts="transactions",
        headline="{count} {is} hanging in {subjects}",
        meaning="no coordinator will end them: consumers that read committed data stop there",
        do="make sure that the producer is gone, then run the command that `transactions` prints",
        see="transactions --hanging",
        source="org.apache.kafka.tools.TransactionsCommand; KIP-664",
    ),
    _of(
        code="offsets-of-earlier-topic",
        severity=Severity.WARNING,
        order=105,
        counts="committed offsets",
        headline="{count} belong to an earlier {subjects}",
        meaning="the topic was created again since: consumers may skip records or repeat them",
        do="choose what to skip or repeat, then kafka-consumer-groups.sh --reset-offsets",
        source=_OFFSETS,
    ),
    _of(
        code="offsets-of-gone-topic",
        severity=Severity.NOTE,
        order=110,
        counts="committed offsets",
        headline="{count} belong to {subjects}, which is gone",
        meaning="the topic does not exist: a new one of that name begins at these offsets",
        do="if the topic is gone for good: kafka-consumer-groups.sh --delete-offsets",
        source=_OFFSETS,
    ),
    _of(
        code="offsets-expiring",
        severity=Severity.NOTE,
        order=120,
        counts="committed offsets",
        headline="{count} expire within a day",
        meaning="they expire within a day: a consumer that comes back later begins anew",
        do="nothing if the groups are not used any more; else start a consumer",
        see="offsets --sort expire_time",
        source="org.apache.kafka.coordinator.group.OffsetExpirationConditionImpl",
    ),
    _of(
        code="hot-coordinator-partition",
        severity=Severity.NOTE,
        order=130,
        counts="partitions",
        meaning="the partition takes far more writes than others: its leader has more to do",
        do="let the group commit less often",
        see="groups",
        source="org.apache.kafka.coordinator.group.GroupCoordinatorService.partitionFor",
    ),
)
