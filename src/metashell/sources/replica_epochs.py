"""Replicas of several brokers whose leader epochs can't be of one log.

Only ``leader-epoch-checkpoint`` of partitions that several brokers here have is read. A broker that
follows cuts its log where it leaves the leader's.

Source: org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache; KIP-101, KIP-279.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metashell.answers.replica_states import Found, Judged, ReplicaState
from metashell.checks.agreement import Epochs, first_epoch_conflict
from metashell.errors import SourceError
from metashell.node_files.epoch_checkpoint import FILE_NAME, read_epoch_checkpoint
from metashell.places.place import Place, child_of
from metashell.schema.arena import I64
from metashell.schema.id_table import id_pairs

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.sources.coordinator_logs import ReadReport

_NO_BATCHES = np.zeros((0, 4), dtype=np.int64)


def diverging_at(
    found: Found,
    judged: Judged,
    image: Image | None,
    ends: I64,
    places: Sequence[Place],
    report: ReadReport,
) -> I64:
    """Where each replica leaves the log of the leader, or else of the one that reaches furthest.

    Args:
        found: The directories.
        judged: Their states.
        image: The metadata, which tells leaders.
        ends: int64[n]: the log end offset of each; -1 for none.
        places: n places.
        report: Told of what could not be read.

    Returns:
        int64[n]: an offset; -1 where nothing shows that it leaves it.
    """
    out = np.full(len(ends), -1, dtype=np.int64)
    rows = np.flatnonzero(judged.are(ReplicaState.IN_PLACE) & ~found.is_metadata & (ends >= 0))
    broker = found.broker
    if len(np.unique(broker[rows])) < 2:
        return out
    key = np.column_stack([id_pairs(found.topic_id[rows]), found.partition[rows].astype(np.uint64)])
    group = np.unique(key, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    leaders = None if image is None else image.partitions.leader
    for some in np.split(rows[order], np.flatnonzero(np.diff(group[order])) + 1):
        if len(np.unique(broker[some])) < 2:
            continue
        read = ((row, _epochs(places[row], int(ends[row]), report)) for row in some.tolist())
        known = {row: epochs for row, epochs in read if epochs.ranges}
        leader = -1 if leaders is None or judged.at[some[0]] < 0 else leaders[judged.at[some[0]]]
        # The leader's first; else by the last epoch, and then by the end.
        reach = {row: (broker[row] == leader, *one.ranges[-1][:0:-1]) for row, one in known.items()}
        best = max(known, default=-1, key=reach.__getitem__)
        for row, epochs in known.items():
            at = first_epoch_conflict(known[best], epochs)
            out[row] = -1 if at is None else at
    return out


def _epochs(place: Place, end: int, report: ReadReport) -> Epochs:
    """The leader epochs of a replica; none where its checkpoint file can't be read."""
    try:
        found = read_epoch_checkpoint(child_of(place, FILE_NAME))
    except SourceError as error:
        report.unread(f"{error.message}: its leader epochs are not compared")
        found = None
    entries = [(one.epoch, one.start_offset) for one in found or ()]
    return Epochs.of(_NO_BATCHES, entries, (), end - 1)
