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
from metashell.checks.replicas import reach_of
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
    broker = found.broker
    if len(np.unique(broker[broker >= 0])) < 2:
        return out
    rows = np.flatnonzero(judged.are(ReplicaState.IN_PLACE) & ~found.is_metadata & (ends >= 0))
    key = np.column_stack([id_pairs(found.topic_id[rows]), found.partition[rows].astype(np.uint64)])
    _, group, counts = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    order = np.argsort(group, kind="stable")
    for some in np.split(rows[order], np.cumsum(counts)[:-1]):
        if len(np.unique(broker[some])) < 2:
            continue
        epochs = {row: _entries(places[row], report) for row in some.tolist()}
        known = {row: entries for row, entries in epochs.items() if entries}
        if len(known) < 2:
            continue
        row_of = judged.at[some[0]]
        leader = -1 if image is None or row_of < 0 else int(image.partitions.leader[row_of])
        best = max(
            known,
            key=lambda row: (
                int(broker[row]) == leader,
                *reach_of(-1, (epoch for epoch, _ in known[row]), int(ends[row])),
            ),
        )
        of = {row: _epochs(entries, int(ends[row])) for row, entries in known.items()}
        for row, told in of.items():
            at = None if row == best else first_epoch_conflict(of[best], told)
            out[row] = -1 if at is None else at
    return out


def _entries(place: Place, report: ReadReport) -> Sequence[tuple[int, int]]:
    """(epoch, first offset) of a replica's checkpoint file; none where it can't be read."""
    try:
        found = read_epoch_checkpoint(child_of(place, FILE_NAME))
    except SourceError as error:
        report.unread(f"{error.message}: its leader epochs are not compared")
        return ()
    return [(one.epoch, one.start_offset) for one in found or ()]


def _epochs(entries: Sequence[tuple[int, int]], end: int) -> Epochs:
    return Epochs.of(_NO_BATCHES, entries, (), end - 1)
