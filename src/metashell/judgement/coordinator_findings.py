"""Problems that a broker's logs tell: of groups, offsets and transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.config_defaults import BROKER, default_of
from metashell.answers.coordinator_tables import GROUP, SHARE, TRANSACTION
from metashell.answers.hanging import HangingVerdict
from metashell.answers.offsets import retention_of
from metashell.answers.topic_settings import positive_int
from metashell.checks.finding import Finding
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.findings.kind import FindingKind
from metashell.findings.known import all_kinds
from metashell.image.coordinators.commits import COMMITS
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.subscriptions import expire_times
from metashell.judgement.evidence import Evidence
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I64
from metashell.schema.arrow import string_array, uuid_array
from metashell.schema.timestamps import iso_time
from metashell.sources.partition_ends import latest_ms, open_transactions
from metashell.sources.partition_logs import partition_logs

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
                        f"{concern.headline()}: {all_kinds()[code].meaning}",
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


HOUR_MS: Final = 3_600_000
SOON_MS: Final = 24 * HOUR_MS
"""Offsets that expire within so long a time are about to."""
HOT_RECORDS: Final = 10_000
"""A partition is hot that has so many records of the last hour at least,"""
HOT_FACTOR: Final = 4
"""and so many times as many as the others have on the average."""
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
_FEW: Final = 3
_TOPIC_ID: Final = "topic_id"


@dataclass(frozen=True, slots=True)
class Refused:
    """The first record at which a broker stops to load a partition."""

    offset: int
    text: str
    """Why, and what a broker then has."""
    time_ms: int
    """The record's time, ms since the epoch; -1 for none."""


def refused_record(records: KeyedRecords, log: GroupLog | None = None) -> Refused | None:
    """The first record of a coordinator's log that its broker refuses; None for none.

    Args:
        records: The records. Cost: all types are decoded.
        log: The groups of these records, if they are groups: replay may refuse more records.
    """
    found: list[tuple[int, str]] = []
    if records.refusal is not None:
        row, fault = records.refusal
        found.append((row, fault.reason))
    if log is not None and log.refused:
        row, reason = log.refused[0]
        offset = int(records.frames.offset[row])
        found.append((row, f"a broker stops at offset {offset}: {reason}"))
    if not found:
        return None
    row, text = min(found)
    (time,) = records.frames.timestamps(np.array([row])).tolist()
    return Refused(int(records.frames.offset[row]), text, time)


def _topics_of_commits(log: GroupLog) -> pa.Table:
    """The ``topic``, its ``id`` and the ``group`` of each committed offset, all strings.

    They are in the order of ``log.offsets.last``. The id is that of zeros where the commit has
    none: before version 4 none has.
    """
    at, commits, records = log.offsets.last, log.commits, log.records
    ids = np.zeros(len(at), dtype="V16")
    (newest, _) = COMMITS
    if any(field.column_name == _TOPIC_ID for field in records.types.by_name[newest].value.fields):
        rows: I64 = commits.rows[at]
        number = records.types.by_name[newest].number
        order = np.argsort(rows)
        chosen = order[records.frames.api_key[rows[order]] == number]
        found = records.decode(newest, rows[chosen], (), {_TOPIC_ID})
        ids[chosen] = found.value.fixed(_TOPIC_ID)
    key = log.keys(at)
    columns = string_array(key.topic), uuid_array(ids), string_array(key.group)
    return pa.table([column.cast(pa.string()) for column in columns], ["topic", "id", "group"])


@dataclass(slots=True)
class Concern:
    """Committed offsets of a topic that is not what it was."""

    n: int = 0
    groups: tuple[str, ...] = ()
    """Their groups."""

    def headline(self) -> str:
        """The groups, a few by name."""
        names = ", ".join(self.groups[:_FEW])
        more = len(self.groups) - _FEW
        return f"{'group' if len(self.groups) == 1 else 'groups'} {names}" + (
            f" and {more} more" if more > 0 else ""
        )


class LostTopics:
    """Topics of committed offsets, by name."""

    def __init__(self) -> None:
        self.gone: dict[str, Concern] = {}
        """Topics that do not exist."""
        self.created_again: dict[str, Concern] = {}
        """Topics that have another id than the commit."""

    def add(self, log: GroupLog, ids: Mapping[str, str]) -> None:
        """Look at the committed offsets of a partition.

        Args:
            log: The groups of the partition.
            ids: The texts of the ids of all topics, by name.
        """
        table = _topics_of_commits(log)
        keys = ["topic", "id"]
        pairs = table.group_by(keys).aggregate([])
        named = zip(pairs.column("topic").to_pylist(), pairs.column("id").to_pylist(), strict=True)
        lost = [name not in ids or topic_id not in (ids[name], _NO_ID) for name, topic_id in named]
        pairs = pairs.filter(pa.array(lost, pa.bool_()))
        table = table.join(pairs, keys, join_type="left semi")
        found_of = table.group_by(keys).aggregate([("id", "count"), ("group", "distinct")])
        for row in found_of.to_pylist():
            concerns = self.created_again if row["topic"] in ids else self.gone
            concern = concerns.setdefault(row["topic"], Concern())
            concern.n += row["id_count"]
            concern.groups = tuple(sorted({*concern.groups, *row["group_distinct"]}))


@dataclass(slots=True)
class Expiring:
    """Committed offsets that expire soon."""

    n: int = 0
    n_groups: int = 0
    first_ms: int | None = None
    """When the first does, ms since the epoch."""
    first_group: str = ""
    """The group whose offset that is."""

    def add(self, log: GroupLog, retention_ms: int, end_ms: int) -> None:
        """Look at the groups of a partition; times are counted from the end of the logs."""
        times = expire_times(log, retention_ms)
        soon = np.flatnonzero((times >= 0) & (times < end_ms + SOON_MS))
        if not len(soon):
            return
        at = log.offsets.last[soon]
        self.n += len(soon)
        self.n_groups += len(np.unique(log.groups_of_commits(at)))
        first = int(np.argmin(times[soon]))
        if self.first_ms is None or int(times[soon[first]]) < self.first_ms:
            self.first_ms = int(times[soon[first]])
            self.first_group = _group_of(log, int(at[first]))


def _group_of(log: GroupLog, at: int) -> str:
    """The group of a commit."""
    return log.commits.keys(np.array([at])).group.text(0) or ""


@dataclass(slots=True)
class Load:
    """How much was written to a partition in the last hour."""

    partition: int
    n: int
    """Records."""
    group: str
    """The group that committed most of them; empty for none."""
    n_of_group: int


def load_of(log: GroupLog, end_ms: int) -> Load:
    """The load of a partition of groups in the hour before a time."""
    frames, n_rows = log.records.frames, log.records.n_rows
    newest = frames.batches.header["max_timestamp"][frames.batch[:n_rows]] >= end_ms - HOUR_MS
    commits = np.flatnonzero(newest[log.commits.rows])
    n, group, most = int(newest.sum()), "", 0
    if len(commits) and n >= HOT_RECORDS:
        counts = np.bincount(log.groups_of_commits(commits))
        most = int(counts.max())
        first = commits[log.groups_of_commits(commits) == int(counts.argmax())][0]
        group = _group_of(log, int(first))
    return Load(log.partition, n, group, most)


def hot_partitions(loads: list[Load]) -> list[Load]:
    """Partitions that take far more records than the others here; there have to be some."""
    hot = []
    for load in loads:
        others = [other.n for other in loads if other is not load]
        if others and load.n >= HOT_RECORDS and load.n >= HOT_FACTOR * sum(others) / len(others):
            hot.append(load)
    return hot


def hangs_for_long(opened: pa.Table, longest_ms: int) -> pa.Table:
    """The rows of `metashell.answers.hanging.open_table` that hang for longer than a timeout."""
    hangs = pc.equal(opened.column("hanging"), HangingVerdict.YES.value)
    is_old = pc.fill_null(pc.greater_equal(opened.column("age_ms"), longest_ms), False)
    return opened.filter(pc.and_(hangs, is_old))
