"""Problems that a broker's logs tell: of groups, offsets and transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from metashell.answers.config_defaults import BROKER, default_of
from metashell.answers.coordinator_kinds import GROUP, SHARE, TRANSACTION
from metashell.answers.coordinator_problems import (
    Expiring,
    LostTopics,
    hangs_for_long,
    hot_partitions,
    load_of,
    refused_record,
)
from metashell.answers.offsets import retention_of
from metashell.answers.topic_settings import positive_int
from metashell.checks.finding import Finding
from metashell.errors import SourceError
from metashell.findings.kind import FindingKind
from metashell.findings.known import all_kinds
from metashell.image.coordinators.group_log import GroupLog
from metashell.judgement.evidence import Evidence
from metashell.schema.timestamps import iso_time
from metashell.sources.partition_ends import latest_ms, open_transactions
from metashell.sources.partition_logs import partition_logs

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.answers.coordinator_problems import Load
    from metashell.records.keyed_records import KeyedRecords

REFUSES: Final = "coordinator-refuses"
HANGING: Final = "hanging-transaction"
EARLIER: Final = "offsets-of-earlier-topic"
GONE: Final = "offsets-of-gone-topic"
EXPIRING: Final = "offsets-expiring"
HOT: Final = "hot-coordinator-partition"
OF_GROUPS: Final = frozenset({EARLIER, GONE, EXPIRING, HOT})

_TIMEOUT: Final = "transaction.max.timeout.ms"
_MINUTE_MS: Final = 60_000


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what is wrong with groups, offsets and transactions, as far as their logs are here.

    Cost: reads the coordinators' logs; for what hangs the ends of all logs.
    """
    source, codes = evidence.source, {kind.code for kind in kinds}
    if source.moment_offset is not None or not source.has_coordinator_logs:
        return
    groups = _Groups(evidence, codes)
    for kind in (GROUP, TRANSACTION, SHARE):
        if REFUSES in codes or (kind is GROUP and not OF_GROUPS.isdisjoint(codes)):
            logs = source.coordinator_logs(kind.log)
            for partition in () if logs is None else logs.partitions:
                assert logs is not None
                try:
                    records = logs.read(partition).records
                except SourceError as error:
                    evidence.warn(error.message)
                    continue
                yield from groups.look(records, partition.number, is_groups=kind is GROUP)
    yield from groups.found()
    if HANGING in codes:
        yield from _hanging(evidence)


class _Groups:
    """The findings in one partition after the other."""

    def __init__(self, evidence: Evidence, codes: Collection[str]) -> None:
        self._codes, self._image = codes, evidence.source.image
        self._end_ms = latest_ms(evidence.source)
        self._retention = retention_of(evidence.assumptions)
        self._expiring = Expiring()
        self._lost = LostTopics()
        self._loads: list[Load] = []
        self._ids: dict[str, str] | None = None

    def look(self, records: KeyedRecords, partition: int, *, is_groups: bool) -> Iterator[Finding]:
        """Look at a partition of a coordinators' topic."""
        log = GroupLog(records, partition) if is_groups else None
        if REFUSES in self._codes:
            refused = refused_record(records, log)
            if refused is not None:
                directory = f"{records.log}-{partition}"
                yield Finding(
                    REFUSES,
                    refused.text,
                    subject=f"partition {directory}",
                    command=("metashell", "-d", f"LOG_DIR/{directory}", "check"),
                    since_time_ms=refused.time_ms if refused.time_ms >= 0 else None,
                )
        if log is not None:
            self._look_at_groups(log)

    def _look_at_groups(self, log: GroupLog) -> None:
        if EARLIER in self._codes or GONE in self._codes:
            if self._ids is None:
                topics = self._image.topics
                self._ids = dict(zip(topics.names, topics.id_texts, strict=True))
            self._lost.add(log, self._ids)
        if EXPIRING in self._codes:
            self._expiring.add(log, self._retention.ms, self._end_ms)
        if HOT in self._codes:
            self._loads.append(load_of(log, self._end_ms))

    def found(self) -> Iterator[Finding]:
        """The findings that only all partitions together show."""
        for code, concerns in ((EARLIER, self._lost.created_again), (GONE, self._lost.gone)):
            for topic, concern in sorted(concerns.items()):
                if code in self._codes:
                    yield Finding(
                        code,
                        f"{concern.told()}: {all_kinds()[code].meaning}",
                        subject=f"topic {topic}",
                        count=concern.n,
                        command=("offsets", *concern.groups[:1]),
                    )
        if self._expiring.first_ms is not None:
            soon = self._expiring
            assert soon.first_ms is not None
            first = f"the first at {iso_time(soon.first_ms)}, of group {soon.first_group}"
            source = self._retention.source
            yield Finding(
                EXPIRING,
                f"of {soon.n_groups} groups, {first}; by the retention of {source}",
                subject=f"topic {GROUP.topic}",
                count=soon.n,
            )
        for load in hot_partitions(self._loads):
            most = f"; {load.n_of_group:,} are commits of group {load.group}" if load.group else ""
            yield Finding(
                HOT,
                f"{load.n:,} records in the last hour{most}",
                subject=f"partition {GROUP.topic}-{load.partition}",
                command=("groups", load.group) if load.group else None,
            )


def _hanging(evidence: Evidence) -> Iterator[Finding]:
    """A finding for each topic with transactions that hang."""
    logs = partition_logs(evidence.source)
    if logs is None or not logs.partitions:
        return
    assumed = positive_int(evidence.assumptions.get(_TIMEOUT) or "")
    longest = assumed or positive_int(default_of(BROKER, _TIMEOUT) or "")
    assert longest is not None, _TIMEOUT
    opened = open_transactions(evidence.source, logs, evidence)
    table: pa.Table = hangs_for_long(opened, longest)
    times = table.column("last_time").cast("int64").to_pylist()
    by_topic: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for time, row in zip(times, table.to_pylist(), strict=True):
        by_topic.setdefault(row["topic"], []).append((time, row))
    for topic, rows in sorted(by_topic.items()):
        since, first = rows[0]
        where = f"partition {first['partition']} at offset {first['start_offset']}"
        yield Finding(
            HANGING,
            f"producer {first['producer_id']} holds {where} for"
            f" {first['age_ms'] // _MINUTE_MS} min: {all_kinds()[HANGING].meaning}",
            subject=f"topic {topic}",
            count=len(rows),
            command=("transactions", "--hanging", topic),
            since_time_ms=since,
        )
