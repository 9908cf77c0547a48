"""The states of replicas in log directories: what a broker makes of each when it next starts.

A broker decides by the topic id in ``partition.metadata`` and by the partition's number. The
directory's name tells only what became of the log before.

Source: org.apache.kafka.storage.internals.log.LogManager (loadLog, isStrayKraftReplica,
findAbandonedFutureLogs, recoverAbandonedFutureLogs), org.apache.kafka.common.DirectoryId.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Final

import numpy as np

from metashell.answers.replica_roles import Roles, roles_of
from metashell.dataclass import dataclass
from metashell.image.fold import find_sorted
from metashell.image.image import Image
from metashell.node_files.log_name import LogState
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.id_table import id_pairs
from metashell.schema.uuids import LOST


class ReplicaState(IntEnum):
    """The states, by their codes."""

    IN_PLACE = 0
    GHOST = 1
    FUTURE = 2
    REPLACED = 3
    BECOMES_STRAY = 4
    STRAY = 5
    DELETE = 6
    DUPLICATE = 7
    MALFORMED = 8
    NOT_A_LOG = 9
    UNREADABLE = 10
    MISSING = 11
    UNKNOWN = 12

    @property
    def text(self) -> str:
        """The state as it is shown."""
        return self.name.lower().replace("_", "-")


STATE_OF_NAME: Final = {
    LogState.CURRENT: ReplicaState.IN_PLACE,
    LogState.FUTURE: ReplicaState.FUTURE,
    LogState.DELETE: ReplicaState.DELETE,
    LogState.STRAY: ReplicaState.STRAY,
}
"""The state that a directory's name tells."""


class Reason(StrEnum):
    """Why a replica is in its state, in the order of their codes."""

    NONE = ""
    NO_TOPIC_ID = "it has no partition.metadata"
    UNKNOWN_TOPIC_ID = "no topic has this topic id"
    OTHER_TOPIC_ID = "the topic of this name has another topic id"
    NO_PARTITION = "the topic has no such partition"
    NOT_A_REPLICA = "the broker is not among the replicas"
    OTHER_NAME = "the topic of this topic id has another name"
    ELSEWHERE = "the metadata has it in another log directory"
    LOST_DIRECTORY = "the metadata has its log directory as lost"
    COPIED = "the broker copies the rest of the current log into it, and then it takes its place"
    PROMOTED = "it takes the place of the current log at the next start"
    REPLACED = "its future log takes its place, and this one is deleted"
    KEPT = "a broker set it aside; Kafka never deletes it"
    DELETED = "a broker deletes it"
    TWICE = "another directory has this replica too: the broker does not start"
    EMPTIED = "its log start offset is behind its end: the broker deletes all of its segments"
    SHORT = "it ends before its high watermark: committed records are gone from it"
    DIVERGES = "its leader epochs are unlike those of another replica: it cuts off records"
    MALFORMED = "partition.metadata is malformed: the log directory goes offline"
    NOT_A_LOG = "no log has such a name: a broker does not start with it in log.dirs"
    LOST = "it begins empty, and no other broker in the ISR or ELR has its data"
    LEADS = "it begins empty, and may lead: the brokers that have its data are down"
    CREATED = "it begins empty, and copies the log of the leader"
    REFUSED = "the node does not start: `check` says why"
    NO_METADATA = "no metadata log to compare with"
    NO_BROKER = "meta.properties does not tell the broker"


REASONS: Final = tuple(Reason)
_RESERVED_IDS: Final = 100
"""Directory and topic ids below this number mean no directory or topic. Source: Uuid.RESERVED."""


@dataclass(slots=True)
class Found:
    """Directories of replicas as they were found: n of them, in d log directories."""

    log_dir: I32
    """int32[n]: the log directory of each."""
    name_state: AnyArray
    """int8[n]: `ReplicaState` by the name alone, or why it can't be judged."""
    topics: Sequence[str]
    """The names of topics, each once."""
    topic: I32
    """int32[n]: index into `topics`."""
    partition: I32
    """int32[n]."""
    topic_id: AnyArray
    """V16[n]: zero where there is none."""
    brokers: I32
    """int32[d]: the node of each log directory; -1 where nothing tells."""
    directory_ids: AnyArray
    """V16[d]: the id of each log directory; zero where nothing tells."""
    is_metadata: Bools
    """bool[n]: the metadata log, which is in place wherever it is."""

    @property
    def broker(self) -> I32:
        """int32[n]: the broker of each."""
        broker: I32 = self.brokers[self.log_dir]
        return broker


@dataclass(slots=True)
class Judged:
    """The states of directories."""

    state: AnyArray
    """int8[n]: `ReplicaState`."""
    reason: AnyArray
    """int8[n]: where `REASONS` has the reason."""
    at: I64
    """int64[n]: the partition in the image of which each is a replica; -1 for none. A directory
    that can't tell its topic id is taken by its name."""
    present: I64
    """int64[p]: the partitions that brokers have, as `_of_broker` numbers them."""

    def put(self, where: AnyArray, state: ReplicaState, reason: Reason = Reason.NONE) -> None:
        """Decide for some directories."""
        self.state[where], self.reason[where] = state, REASONS.index(reason)

    def note(self, where: AnyArray, reason: Reason) -> None:
        """Tell more of some directories, which stay in their states."""
        self.reason[where] = REASONS.index(reason)

    def are(self, *states: ReplicaState) -> Bools:
        """Which are in one of some states."""
        return np.isin(self.state, states)


@dataclass(slots=True)
class Missing:
    """Replicas that the metadata has on a broker and that are on none of its disks."""

    row: I64
    """int64[m]: the partition in the image."""
    broker: I32
    log_dir: I32
    """int32[m]: the log directory that the metadata names; -1 for none."""
    reason: AnyArray
    """int8[m]: where `REASONS` has the consequence."""
    roles: Roles
    elsewhere: I64
    """int64[]: the partitions of replicas in log directories that are not at hand."""
    alone_elsewhere: I64
    """int64[]: those of them of whose data no other broker has all."""


def judge(found: Found, image: Image | None, *, is_refused: bool) -> Judged:
    """Tell the state of each directory, and which replicas a broker has.

    Args:
        found: The directories.
        image: The metadata to compare with; None for none.
        is_refused: Whether the node does not start, so nothing becomes of them.
    """
    none, n = np.zeros(0, dtype=np.int64), len(found.name_state)
    judged = Judged(found.name_state.copy(), np.zeros(n, dtype=np.int8), np.full(n, -1), none)
    for state, reason in (
        (ReplicaState.STRAY, Reason.KEPT),
        (ReplicaState.DELETE, Reason.DELETED),
        (ReplicaState.MALFORMED, Reason.MALFORMED),
        (ReplicaState.NOT_A_LOG, Reason.NOT_A_LOG),
    ):
        judged.put(judged.are(state), state, reason)
    live = judged.are(ReplicaState.IN_PLACE, ReplicaState.FUTURE) & ~found.is_metadata
    if is_refused:
        judged.put(live, ReplicaState.UNKNOWN, Reason.REFUSED)
        return judged
    has_id = id_pairs(found.topic_id).any(axis=1)
    judged.put(live & ~has_id, ReplicaState.BECOMES_STRAY, Reason.NO_TOPIC_ID)
    rows = np.flatnonzero(live & has_id)
    if image is None:
        judged.put(rows, ReplicaState.UNKNOWN, Reason.NO_METADATA)
    else:
        _compare(judged, found, rows, image)
    _find_twice(judged, found, rows)
    return judged


def note_ends(judged: Judged, start: I64, end: I64, mark: I64, diverges: I64) -> None:
    """Tell of logs that lack records which other files tell of.

    Args:
        judged: The states.
        start: int64[n]: the log start offset of each log.
        end: int64[n]: its end; -1 for none.
        mark: int64[n]: the high watermark; -1 for none.
        diverges: int64[n]: where it leaves another replica; -1 for none.
    """
    is_read = judged.are(ReplicaState.IN_PLACE) & (end >= 0)
    judged.note(diverges >= 0, Reason.DIVERGES)
    judged.note(is_read & (mark > end), Reason.SHORT)
    judged.note((is_read | judged.are(ReplicaState.FUTURE)) & (start > end), Reason.EMPTIED)


def _compare(judged: Judged, found: Found, rows: I64, image: Image) -> None:
    """Decide for directories with a topic id, by the metadata."""
    _take_by_name(judged, found, image)
    topic = image.topics.index_of(found.topic_id[rows])
    at = _partition_rows(image, topic, found.partition[rows])
    named = _named(found, image)[found.topic[rows]]
    for is_named, reason in (
        (named < 0, Reason.UNKNOWN_TOPIC_ID),
        (named >= 0, Reason.OTHER_TOPIC_ID),
    ):
        judged.put(rows[(topic < 0) & is_named], ReplicaState.BECOMES_STRAY, reason)
    judged.put(rows[(topic >= 0) & (at < 0)], ReplicaState.BECOMES_STRAY, Reason.NO_PARTITION)
    is_other = named != topic
    rows, is_other, at = rows[at >= 0], is_other[at >= 0], at[at >= 0]
    broker = found.broker[rows]
    is_held, assigned = _assigned(image, at, broker)
    is_known = broker >= 0
    judged.put(rows[~is_known], ReplicaState.UNKNOWN, Reason.NO_BROKER)
    judged.put(rows[is_known & ~is_held], ReplicaState.BECOMES_STRAY, Reason.NOT_A_REPLICA)
    rows, is_other, at, assigned = (each[is_held] for each in (rows, is_other, at, assigned))
    judged.at[rows] = at
    is_current = found.name_state[rows] == ReplicaState.IN_PLACE
    own = id_pairs(found.directory_ids[found.log_dir[rows]])
    is_here = (own == id_pairs(assigned)).all(axis=1)
    is_real = _is_real(assigned)
    elsewhere = rows[is_current & is_real & ~is_here]
    judged.put(elsewhere, ReplicaState.IN_PLACE, Reason.ELSEWHERE)
    is_lost = (id_pairs(assigned) == id_pairs(np.frombuffer(LOST, "V16"))).all(axis=1)
    judged.put(rows[is_current & is_lost], ReplicaState.IN_PLACE, Reason.LOST_DIRECTORY)
    judged.put(rows[~is_current], ReplicaState.FUTURE, Reason.COPIED)
    promoted = ~is_current & is_real & is_here
    judged.put(rows[promoted], ReplicaState.FUTURE, Reason.PROMOTED)
    judged.put(rows[is_current & is_other], ReplicaState.GHOST, Reason.OTHER_NAME)
    key = _of_broker(found.broker[rows], at)
    is_replaced = is_current & ~is_other & np.isin(key, key[promoted & ~is_other])
    judged.put(rows[is_replaced], ReplicaState.REPLACED, Reason.REPLACED)
    judged.present = key[(is_current | promoted) & ~is_other]


def _take_by_name(judged: Judged, found: Found, image: Image) -> None:
    """Find the partitions of directories by their names, where they can't tell their topic ids."""
    rows = np.flatnonzero(judged.are(ReplicaState.MALFORMED, ReplicaState.UNREADABLE))
    at = _partition_rows(image, _named(found, image)[found.topic[rows]], found.partition[rows])
    rows, at = rows[at >= 0], at[at >= 0]
    is_held, _ = _assigned(image, at, found.broker[rows])
    judged.at[rows[is_held]] = at[is_held]


def _named(found: Found, image: Image) -> I64:
    """The index in the image of each name of a topic: int64[n], -1 for none."""
    known = image.topics.by_name
    return np.array([known.get(name, -1) for name in found.topics], dtype=np.int64)


def topic_ids_by_name(found: Found, image: Image) -> AnyArray:
    """V16[n]: the ids of the topics that have the directories' names; zero for none."""
    named = _named(found, image)[found.topic]
    ids = np.zeros(len(named), "V16")
    ids[named >= 0] = image.topics.ids[named[named >= 0]]
    return ids


def _partition_rows(image: Image, topic: I64, partition: I32) -> I64:
    """The row of each partition in the image: int64[n], -1 for none."""
    partitions = image.partitions
    known = partitions.topic.astype(np.int64) << 32 | partitions.partition.view(np.uint32)
    return find_sorted(known, topic << 32 | partition)


def _assigned(image: Image, rows: I64, broker: I32) -> tuple[Bools, AnyArray]:
    """Whether a broker is among the replicas of a partition, and the directory id there: V16."""
    values, bounds = image.partitions.list_column("replicas").take(rows).gather()
    directories, _ = image.partitions.directories(rows)
    hits = np.flatnonzero(values == np.repeat(broker, np.diff(bounds)))
    of = np.searchsorted(bounds[1:], hits, side="right")
    is_held, assigned = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype="V16")
    is_held[of], assigned[of] = True, directories[hits]
    return is_held, assigned


def _is_real(ids: AnyArray) -> Bools:
    """Whether ids stand for a log directory: not for unassigned, lost or migrating."""
    pairs = id_pairs(ids)
    real: Bools = (pairs[:, 0] != 0) | (pairs[:, 1].byteswap() >= _RESERVED_IDS)
    return real


def _find_twice(judged: Judged, found: Found, rows: I64) -> None:
    """Find replicas that a broker has twice under one name, of those that it would load."""
    strays = judged.are(ReplicaState.BECOMES_STRAY)
    rows = rows[~strays[rows]]
    # Nothing tells the node: then no two log directories are of one.
    owner = np.where(found.broker >= 0, found.broker, -1 - found.log_dir)[rows]
    key = np.stack(
        [owner, found.name_state[rows], found.topic[rows], found.partition[rows]], axis=1
    )
    order = np.lexsort(key.T)
    same = (key[order[1:]] == key[order[:-1]]).all(axis=1)
    twice = np.zeros(len(rows), dtype=np.bool_)
    twice[order[1:][same]] = twice[order[:-1][same]] = True
    judged.put(rows[twice], ReplicaState.DUPLICATE, Reason.TWICE)


def missing_replicas(
    found: Found, judged: Judged, image: Image, *, is_whole: bool = False
) -> Missing:
    """Find the replicas that the brokers should have and do not.

    A broker of which fewer log directories are here than it registered may have others in these;
    not if a configuration names no more (`is_whole`).
    """
    values, bounds = image.partitions.list_column("replicas").gather()
    hits = np.flatnonzero(np.isin(values, found.brokers[found.brokers >= 0]))
    row, broker = np.searchsorted(bounds[1:], hits, side="right"), values[hits]
    there = np.concatenate(
        [judged.present, _not_readable(found, judged), _deleted(found, judged, image)]
    )
    is_missing = ~np.isin(_of_broker(broker, row), there)
    row, broker = row[is_missing], broker[is_missing]
    _, assigned = _assigned(image, row, broker)
    log_dir = np.full(len(row), -1, dtype=np.int32)
    for number, own in enumerate(id_pairs(found.directory_ids)):
        log_dir[(id_pairs(assigned) == own).all(axis=1)] = number
    is_elsewhere = _is_real(assigned) & (log_dir < 0) & ~np.isin(broker, _complete(found, image))
    is_elsewhere &= not is_whole
    elsewhere = row[is_elsewhere]
    is_alone = roles_of(image, elsewhere, broker[is_elsewhere]).is_alone
    row, broker, log_dir = row[~is_elsewhere], broker[~is_elsewhere], log_dir[~is_elsewhere]
    roles = roles_of(image, row, broker)
    reason = np.full(len(row), REASONS.index(Reason.CREATED), dtype=np.int8)
    # A broker that starts before those with the data is elected, and they cut their logs to its.
    reason[(roles.has_data | roles.unclean) & ~roles.is_led] = REASONS.index(Reason.LEADS)
    reason[roles.is_alone] = REASONS.index(Reason.LOST)
    return Missing(row, broker, log_dir, reason, roles, elsewhere, elsewhere[is_alone])


def _complete(found: Found, image: Image) -> list[int]:
    """Brokers of which as many log directories are here as they registered."""
    of, brokers = found.brokers[found.brokers >= 0], image.brokers
    registered = dict(zip(brokers.ids.tolist(), brokers.log_dirs.counts.tolist(), strict=True))
    ids, counts = np.unique(of, return_counts=True)
    pairs = zip(ids.tolist(), counts.tolist(), strict=True)
    return [broker for broker, n in pairs if n >= registered.get(broker, n + 1)]


def _not_readable(found: Found, judged: Judged) -> I64:
    """Partitions, as of `Judged.present`, whose directory can't tell its topic id."""
    lost = judged.are(ReplicaState.MALFORMED, ReplicaState.UNREADABLE) & (judged.at >= 0)
    return _of_broker(found.broker[lost], judged.at[lost])


def _deleted(found: Found, judged: Judged, image: Image) -> I64:
    """Partitions, as of `Judged.present`, that a broker deletes: it knows newer metadata."""
    rows = np.flatnonzero(judged.are(ReplicaState.DELETE))
    topic = image.topics.index_of(found.topic_id[rows])
    rows, topic = (each[topic == _named(found, image)[found.topic[rows]]] for each in (rows, topic))
    at = _partition_rows(image, topic, found.partition[rows])
    return _of_broker(found.broker[rows], at)[at >= 0]


def _of_broker(broker: I32, row: I64) -> I64:
    """One number for a broker and a row of partitions: int64[n]."""
    return broker.astype(np.int64) << 32 | row
