"""The invariants of every image, whatever its records: checks on columns, not on partitions.

A log of sound records can still leave a state that no controller would make. Each check finds the
rows at fault with array operations and words a finding only for those that are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from metashell.checks.finding import CheckReport, FaultPlace, Finding
from metashell.image.directories import bad_replicas
from metashell.image.fold import distinct, group_keys, last_marked, sort_events
from metashell.image.image import Image
from metashell.image.partitions import Partitions
from metashell.image.topics import Topics, orphans
from metashell.records.records import Records
from metashell.schema.arena import I64, AnyArray, Bools, repeats
from metashell.schema.resource_types import ResourceType
from metashell.schema.uuids import LOST, MIGRATING, UNASSIGNED, uuid_text, uuid_texts

_BLOCK: Final = 1 << 16
_WIDE: Final = 16
"""Longest list that is compared element by element; in longer ones keys are sorted."""


def place(records: Records, row: int) -> FaultPlace:
    """File, position and offset of a row's record, as a `Finding` takes them."""
    file, frames = records.file_of(row), records.frames_at([row])
    return {
        "file": file.name,
        "pos": int(frames.batches.pos[frames.batch[row]]) - file.start,
        "offset": None if file.is_checkpoint else int(frames.offset[row]),
    }


def check_image(image: Image, report: CheckReport) -> None:
    """Check all invariants. Cost: folds topics, partitions, brokers and configs."""
    _Topics(image, report).run()
    _Partitions(image, report).run()
    _check_configs(image, report)
    check_removed(image.records, image.topics, report)


def _report(
    report: CheckReport,
    records: Records,
    code: str,
    rows: Sequence[int],
    tell: Callable[[int], tuple[str, str | None, int]],
) -> None:
    """Add a finding for each row; `tell` gives its message, its node and the row of its record."""

    def make(i: int) -> Finding:
        message, path, row = tell(i)
        return Finding(code, message, path=path, **place(records, row))

    report.add_rows(code, rows, make)


class _Topics:
    """Names and numbers of partitions."""

    def __init__(self, image: Image, report: CheckReport) -> None:
        self.image, self.report = image, report
        self.topics = image.topics

    def run(self) -> None:
        topics = self.topics
        if not len(topics):
            return
        groups = group_keys([topics.raw_names], len(topics))
        twice = np.flatnonzero(np.bincount(groups)[groups] > 1)
        self._add(
            "topic-name-twice",
            twice,
            lambda t: (
                f"topic id {topics.id_texts[t]} has the name `{topics.names[t]}`, and another"
                " topic has it too"
            ),
        )
        bounds, ids = self.image.partitions.topic_bounds, self.image.partitions.partition
        sizes = np.diff(bounds)
        some = np.flatnonzero(sizes)
        holes = some[(ids[bounds[some]] != 0) | (ids[bounds[some + 1] - 1] != sizes[some] - 1)]
        self._add(
            "partition-missing",
            holes,
            lambda t: (
                f"topic `{topics.names[t]}` has {int(sizes[t])} partitions, but not those"
                f" from 0 to {int(sizes[t]) - 1}"
            ),
        )
        self._add(
            "topic-empty",
            np.flatnonzero(sizes == 0),
            lambda t: f"topic `{topics.names[t]}` has no partitions",
        )

    def _add(self, code: str, rows: AnyArray, message: Callable[[int], str]) -> None:
        topics = self.topics

        def tell(t: int) -> tuple[str, str, int]:
            path = f"/image/topics/byId/{topics.id_texts[t]}"
            return message(t), path, int(topics.changed[t])

        _report(self.report, self.image.records, code, rows.tolist(), tell)


class _Partitions:
    """Leaders, replicas, directories: in blocks, so that what is compared stays in the cache."""

    def __init__(self, image: Image, report: CheckReport) -> None:
        self.image, self.report = image, report
        self.partitions: Partitions = image.partitions
        brokers = image.brokers
        self.brokers = brokers
        self.fenced = brokers.fenced
        self.found: dict[str, list[I64]] = {}

    def run(self) -> None:
        n = len(self.partitions)
        for start in range(0, n, _BLOCK):
            self._block(np.arange(start, min(start + _BLOCK, n), dtype=np.int64))
        bad = bad_replicas(self.image)
        self._find("directory-unknown", distinct(bad.row[~bad.lost]))
        self._report("leader-not-in-isr", self._leader_not_in_isr)
        self._report("isr-not-in-replicas", self._isr_not_in_replicas)
        self._report("replica-twice", self._replica_twice)
        self._report("leader-unknown-broker", self._leader_unknown)
        self._report("leader-fenced", self._leader_fenced)
        self._report("leaderless", self._why_leaderless)
        self._report("replica-unknown-broker", self._unknown_brokers)
        self._report("directory-unknown", self._unknown_directories)

    def _block(self, rows: I64) -> None:
        p = self.partitions
        leader = p.leader[rows]
        replicas, replica_bounds = p.list_column("replicas").take(rows).gather()
        isr, isr_bounds = p.list_column("isr").take(rows).gather()
        has_leader = leader >= 0
        whole = np.arange(len(rows))
        self._find("leaderless", rows[~has_leader])
        led = whole[has_leader]
        member = _contained(leader[led], led, isr, isr_bounds)
        self._find("leader-not-in-isr", rows[led[~member]])
        of_isr = np.repeat(whole, np.diff(isr_bounds))
        inside = _contained(isr, of_isr, replicas, replica_bounds)
        self._find("isr-not-in-replicas", rows[distinct(of_isr[~inside])])
        of_replica = np.repeat(whole, np.diff(replica_bounds))
        self._find("replica-twice", rows[distinct(of_replica[repeats(of_replica, replicas)])])
        index = self.brokers.places(replicas)
        self._find("replica-unknown-broker", rows[distinct(of_replica[index < 0])])
        of_leader = self.brokers.places(leader[led])
        self._find("leader-unknown-broker", rows[led[of_leader < 0]])
        if len(self.fenced):
            self._find("leader-fenced", rows[led[(of_leader >= 0) & self.fenced[of_leader]]])

    def _find(self, code: str, rows: I64) -> None:
        if len(rows):
            self.found.setdefault(code, []).append(rows)

    def _report(self, code: str, message: Callable[[int], str]) -> None:
        p = self.partitions
        rows = np.concatenate(self.found[code]).tolist() if code in self.found else []

        def tell(row: int) -> tuple[str, str, int]:
            topic = p.topics.names[int(p.topic[row])]
            path = f"/image/topics/byName/{topic}/{int(p.partition[row])}"
            return message(row), path, int(p.changed[row])

        _report(self.report, self.image.records, code, rows, tell)

    # Messages, each for one partition.

    def _ints(self, name: str, row: int) -> list[int]:
        return self.partitions.list_column(name).int32s(row)

    def _leader_not_in_isr(self, row: int) -> str:
        isr = self._ints("isr", row)
        return f"its leader {int(self.partitions.leader[row])} is not in its ISR {isr}"

    def _isr_not_in_replicas(self, row: int) -> str:
        return f"its ISR {self._ints('isr', row)} is not part of its replicas" + (
            f" {self._ints('replicas', row)}"
        )

    def _replica_twice(self, row: int) -> str:
        return f"its replicas {self._ints('replicas', row)} name a broker twice"

    def _leader_unknown(self, row: int) -> str:
        return f"its leader {int(self.partitions.leader[row])} is not registered"

    def _leader_fenced(self, row: int) -> str:
        return f"its leader {int(self.partitions.leader[row])} is fenced"

    def _unknown_brokers(self, row: int) -> str:
        replicas = self._ints("replicas", row)
        unknown = [b for b in replicas if self._state(b) == "not registered"]
        return f"of its replicas {replicas}, {unknown} are not registered"

    def _unknown_directories(self, row: int) -> str:
        brokers = self.image.brokers
        column = self.partitions.list_column("directories")
        raw = column.raw(row) or b""
        strange = []
        for i, broker in enumerate(self._ints("replicas", row)):
            directory = raw[16 * i : 16 * i + 16]
            at = int(self.brokers.places(np.array([broker]))[0])
            known = (brokers.log_dirs.raw(at) or b"") if at >= 0 else b""
            parts = {known[k : k + 16] for k in range(0, len(known), 16)}
            if known and directory not in parts | {LOST, MIGRATING, UNASSIGNED}:
                strange.append(f"{uuid_text(directory)} of broker {broker}")
        return f"its directory {', '.join(strange)} is not among those that the broker has online"

    def _state(self, broker: int) -> str:
        at = int(self.brokers.places(np.array([broker]))[0])
        if at < 0:
            return "not registered"
        if self.fenced[at]:
            return "fenced"
        shutting = bool(self.image.brokers.in_controlled_shutdown[at])
        return "in controlled shutdown" if shutting else "alive"

    def _states(self, brokers: list[int]) -> str:
        return ", ".join(f"{broker} is {self._state(broker)}" for broker in brokers)

    def _why_leaderless(self, row: int) -> str:
        isr, elr = self._ints("isr", row), self._ints("elr", row)
        candidates, what = (isr, "in sync") if isr else (elr, "eligible")
        if not candidates:
            last = self._ints("last_known_elr", row)
            known = f", last known eligible are {last}" if last else ""
            states = self._states(self._ints("replicas", row))
            return f"it has no leader: no replica is in sync or eligible{known}; {states}"
        states = self._states(candidates)
        return f"it has no leader: of the replicas that are {what}, {states}"


def _contained(needles: AnyArray, of: I64, values: AnyArray, bounds: I64) -> Bools:
    """Whether each needle is in the list of its row: bool[m]; ``of``: the row of each."""
    sizes = np.diff(bounds)[of]
    widest = int(sizes.max()) if len(sizes) else 0
    if not len(values):
        return np.zeros(len(needles), dtype=np.bool_)
    if widest > _WIDE:
        rows = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        found: Bools = np.isin(_keys(of, needles), _keys(rows, values))
        return found
    hit = np.zeros(len(needles), dtype=np.bool_)
    start = bounds[:-1][of]
    for k in range(widest):
        at = np.minimum(start + k, len(values) - 1)
        hit |= (values[at] == needles) & (k < sizes)
    return hit


def _keys(rows: AnyArray, values: AnyArray) -> I64:
    keys: I64 = (rows.astype(np.int64) << 32) | (values.astype(np.int64) & 0xFFFFFFFF)
    return keys


def _check_configs(image: Image, report: CheckReport) -> None:
    """Configs of topics that do not exist."""
    columns = image.part("configs").columns
    strange = orphans(image.part("configs"), image.topics)

    def tell(row: int) -> tuple[str, str, int]:
        resource = columns.span("resource_name").text(row) or ""
        key = columns.span("name").text(row) or ""
        return (
            f"`{key}` is set for topic `{resource}`, which does not exist: Kafka leaves it behind"
            " where a topic is configured and removed at once",
            f"/image/configs/{ResourceType.TOPIC.name}:{resource}/{key}",
            int(image.part("configs").changed[row]),
        )

    _report(report, image.records, "config-unknown-topic", strange.tolist(), tell)


def check_removed(records: Records, topics: Topics, report: CheckReport) -> None:
    """Changes of partitions that never were, of topics since removed.

    The fold of partitions looks at living topics only.
    """
    if not len(topics.removed.rows):
        return
    base_rows, base_ids, base_parts = _of_removed(records, topics, "PartitionRecord")
    rows, ids, parts = _of_removed(records, topics, "PartitionChangeRecord")
    if not len(rows):
        return
    all_ids, all_parts = np.concatenate([base_ids, ids]), np.concatenate([base_parts, parts])
    all_rows = np.concatenate([base_rows, rows])
    events = sort_events(group_keys([all_ids, all_parts], len(all_rows)), all_rows)
    orphan = last_marked(events, events.order < len(base_rows)) < 0
    at = events.order[orphan]
    # Partitions of topics that never existed are faults of the replay already.
    at = np.sort(at[topics.lives.existed(all_ids[at], all_rows[at])])

    def tell(i: int) -> tuple[str, None, int]:
        topic = uuid_texts(all_ids[i : i + 1])[0]
        message = (
            f"partition {int(all_parts[i])} of topic {topic}, removed later, can't be changed:"
            " no such partition"
        )
        return message, None, int(all_rows[i])

    _report(report, records, "replay-fault", at.tolist(), tell)


def _of_removed(records: Records, topics: Topics, name: str) -> tuple[I64, AnyArray, AnyArray]:
    rows, columns = records.columns(name)
    gone = np.flatnonzero(topics.index_of(columns.fixed("topic_id")) < 0)
    return rows[gone], columns.fixed("topic_id")[gone], columns.fixed("partition_id")[gone]
