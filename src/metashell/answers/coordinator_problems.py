"""The problems of groups, their offsets and transactions, as a broker's logs tell.

Partitions of the coordinators' topics are looked at one after the other; what is kept of each is
small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.hanging import HangingVerdict
from metashell.dataclass import dataclass
from metashell.image.coordinators.commits import COMMITS
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.subscriptions import expire_times
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I64
from metashell.schema.arrow import string_array, uuid_array

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

    def told(self) -> str:
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
