"""Problems that a broker's logs tell: of groups, offsets and transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
from metashell.answers.problem_kinds import KINDS
from metashell.answers.topic_settings import positive_int
from metashell.commands.framework.command_line import quote_words
from metashell.commands.health.rows import Single
from metashell.commands.shared.assume_option import assumptions_of
from metashell.commands.shared.coordinator_logs import QueryReport
from metashell.errors import SourceError
from metashell.image.coordinators.group_log import GroupLog
from metashell.schema.timestamps import iso_time
from metashell.sources.partition_ends import latest_ms, open_transactions
from metashell.sources.partition_logs import partition_logs

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.answers.coordinator_problems import Load
    from metashell.commands.rows.query import RowsQuery
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


def find_in_coordinators(query: RowsQuery, codes: Collection[str]) -> Iterator[Single]:
    """The problems of groups, offsets and transactions, as far as their logs are here.

    Args:
        query: Asks for it.
        codes: The kinds that are asked for.

    Cost: reads the coordinators' logs; for what hangs the ends of all logs.
    """
    if query.source.moment_offset is not None:
        return
    status = query.status
    yield from _found(query, codes)
    # A record that can't be read is reported, and is no problem of the cluster.
    query.status = status


def _found(query: RowsQuery, codes: Collection[str]) -> Iterator[Single]:
    groups = _Groups(query, codes)
    for kind in (GROUP, TRANSACTION, SHARE):
        if REFUSES in codes or (kind is GROUP and not OF_GROUPS.isdisjoint(codes)):
            logs = query.source.coordinator_logs(kind.log)
            for partition in () if logs is None else logs.partitions:
                assert logs is not None
                try:
                    records = logs.read(partition).records
                except SourceError as error:
                    query.warn(error.message)
                    continue
                yield from groups.look(records, partition.number, is_groups=kind is GROUP)
    yield from groups.found()
    if HANGING in codes:
        yield from _hanging(query)


class _Groups:
    """The problems found in one partition after the other."""

    def __init__(self, query: RowsQuery, codes: Collection[str]) -> None:
        self._codes, self._image = codes, query.source.image
        self._end_ms = latest_ms(query.source)
        self._retention = retention_of(assumptions_of(query.parsed))
        self._expiring = Expiring()
        self._lost = LostTopics()
        self._loads: list[Load] = []
        self._ids: dict[str, str] | None = None

    def look(self, records: KeyedRecords, partition: int, *, is_groups: bool) -> Iterator[Single]:
        """Look at a partition of a coordinators' topic."""
        log = GroupLog(records, partition) if is_groups else None
        if REFUSES in self._codes:
            refused = refused_record(records, log)
            if refused is not None:
                directory = f"{records.log}-{partition}"
                yield Single(
                    kind=KINDS[REFUSES],
                    subject=f"partition {directory}",
                    command=f"metashell -d LOG_DIR/{directory} check",
                    since_time_ms=refused.time_ms if refused.time_ms >= 0 else None,
                    explanation=refused.text,
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

    def found(self) -> Iterator[Single]:
        """The problems that only all partitions together show."""
        for code, concerns in ((EARLIER, self._lost.created_again), (GONE, self._lost.gone)):
            for topic, concern in sorted(concerns.items()):
                if code in self._codes:
                    yield Single(
                        kind=KINDS[code],
                        subject=f"topic {topic}",
                        count=concern.n,
                        command=quote_words(["offsets", *concern.groups[:1]]),
                        explanation=f"{concern.told()}: {KINDS[code].meaning}",
                    )
        if self._expiring.first_ms is not None:
            soon = self._expiring
            assert soon.first_ms is not None
            first = f"the first at {iso_time(soon.first_ms)}, of group {soon.first_group}"
            source = self._retention.source
            yield Single(
                kind=KINDS[EXPIRING],
                subject=f"topic {GROUP.topic}",
                count=soon.n,
                command="offsets --sort expire_time",
                explanation=f"of {soon.n_groups} groups, {first}; by the retention of {source}",
            )
        for load in hot_partitions(self._loads):
            most = f"; {load.n_of_group:,} are commits of group {load.group}" if load.group else ""
            yield Single(
                kind=KINDS[HOT],
                subject=f"partition {GROUP.topic}-{load.partition}",
                command=quote_words(["groups", load.group]) if load.group else "groups",
                explanation=f"{load.n:,} records in the last hour{most}",
            )


def _hanging(query: RowsQuery) -> Iterator[Single]:
    """A row for each topic with transactions that hang."""
    logs = partition_logs(query.source)
    if logs is None or not logs.partitions:
        return
    assumed = positive_int(assumptions_of(query.parsed).get(_TIMEOUT) or "")
    longest = assumed or positive_int(default_of(BROKER, _TIMEOUT) or "")
    assert longest is not None, _TIMEOUT
    opened = open_transactions(query.source, logs, QueryReport(query))
    table: pa.Table = hangs_for_long(opened, longest)
    times = table.column("last_time").cast("int64").to_pylist()
    by_topic: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for time, row in zip(times, table.to_pylist(), strict=True):
        by_topic.setdefault(row["topic"], []).append((time, row))
    for topic, rows in sorted(by_topic.items()):
        since, first = rows[0]
        where = f"partition {first['partition']} at offset {first['start_offset']}"
        yield Single(
            kind=KINDS[HANGING],
            subject=f"topic {topic}",
            count=len(rows),
            command=quote_words(["transactions", "--hanging", topic]),
            since_time_ms=since,
            explanation=f"producer {first['producer_id']} holds {where} for"
            f" {first['age_ms'] // _MINUTE_MS} min: {KINDS[HANGING].meaning}",
        )
