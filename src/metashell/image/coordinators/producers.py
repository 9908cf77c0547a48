"""The state of a partition's producers: a snapshot, and what the batches behind it change.

A batch of data gives its producer an epoch, a sequence and a time, and begins a transaction where
it is transactional and none is open. A marker ends it, and gives an epoch, a time and the epoch of
the coordinator that wrote it. A new epoch forgets the sequence.

Source: org.apache.kafka.storage.internals.log.ProducerStateManager, ProducerAppendInfo,
ProducerStateEntry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import last_marked, sort_events
from metashell.log.batch_headers import MarkedHeaders
from metashell.log.log_tail import ProducerHistory
from metashell.schema.arena import I32, I64, AnyArray

_TRANSACTIONAL: Final = 0x10
_NONE: Final = -1
_MAX_INT32: Final = (1 << 31) - 1


@dataclass(slots=True)
class ProducersState:
    """The producers of a partition, by id; -1 stands for none in every column.

    ``producer_id``: int64[k]; ``producer_epoch``: int16[k]; ``last_sequence``: int32[k];
    ``last_offset``: int64[k], of its last batch of data in this epoch; ``last_timestamp``:
    int64[k], ms since the epoch; ``coordinator_epoch``: int32[k], of its last marker;
    ``current_txn_first_offset``: int64[k], where its open transaction begins.
    """

    producer_id: I64
    producer_epoch: AnyArray
    last_sequence: I32
    last_offset: I64
    last_timestamp: I64
    coordinator_epoch: I32
    current_txn_first_offset: I64

    def __len__(self) -> int:
        return len(self.producer_id)

    @property
    def first_open_offset(self) -> int | None:
        """Where the oldest open transaction begins, behind which no last stable offset lies."""
        found = self.current_txn_first_offset[self.current_txn_first_offset >= 0]
        return int(found.min()) if len(found) else None

    @property
    def shown(self) -> Mapping[str, AnyArray]:
        """The fields of each, by the names of `kafka-transactions.sh`."""
        return {
            "producerEpoch": self.producer_epoch,
            "lastSequence": self.last_sequence,
            "lastOffset": self.last_offset,
            "lastTimestamp": self.last_timestamp,
            "coordinatorEpoch": self.coordinator_epoch,
            "currentTxnStartOffset": self.current_txn_first_offset,
        }


_FIELDS: Final = tuple(each.name for each in fields(ProducersState))


def fold_producers(history: ProducerHistory) -> ProducersState:
    """Read off the state of every producer at the end of a log.

    A broker forgets producers that were idle for ``producer.id.expiration.ms``; they are kept.
    """
    snapshot, behind = history.snapshot, history.behind
    events = _events(snapshot, behind)
    ids = events["producer_id"]
    order = sort_events(ids, np.arange(len(ids)))
    sorted_events = {name: values[order.order] for name, values in events.items()}
    last = order.last
    epoch, is_marker = sorted_events["producer_epoch"], sorted_events["is_marker"]
    starts = order.first == np.arange(len(ids))
    changes = starts.copy()
    changes[1:] |= epoch[1:] != epoch[:-1]
    changed = last_marked(order, changes)[last]
    data = last_marked(order, ~is_marker)[last]
    in_epoch = data >= changed
    marker = last_marked(order, is_marker)[last]
    newest = last_marked(order, is_marker | (order.order < len(snapshot)))[last]
    return ProducersState(
        sorted_events["producer_id"][last],
        epoch[last],
        np.where(in_epoch, sorted_events["last_sequence"][data], _NONE).astype(np.int32),
        np.where(in_epoch, sorted_events["last_offset"][data], _NONE),
        sorted_events["last_timestamp"][last],
        np.where(newest >= 0, sorted_events["coordinator_epoch"][newest], _NONE).astype(np.int32),
        _first_open(sorted_events["current_txn_first_offset"], order.first[last], marker, last),
    )


def _first_open(begins: I64, first: I32, marker: I32, last: I32) -> I64:
    """Where the transaction that is open at the end began: the first such event behind a marker."""
    candidates = np.flatnonzero(begins >= 0)
    if not len(candidates):
        return np.full(len(last), _NONE, dtype=np.int64)
    behind = np.where(marker >= 0, marker + 1, first)
    at = np.searchsorted(candidates, behind)
    found = candidates[np.minimum(at, len(candidates) - 1)]
    is_open = (at < len(candidates)) & (found <= last)
    return np.where(is_open, begins[found], _NONE)


def _entries(snapshot: AnyArray) -> dict[str, Any]:
    """The entries of a snapshot as the columns of the state."""
    dtypes = {name: snapshot.dtype[name].newbyteorder("=") for name in _FIELDS}
    columns: dict[str, Any] = {name: snapshot[name].astype(dtypes[name]) for name in _FIELDS}
    # An offset tells whether there is a batch of data.
    columns["last_sequence"][columns["last_offset"] < 0] = _NONE
    return columns


def _events(snapshot: AnyArray, behind: MarkedHeaders) -> dict[str, AnyArray]:
    """Entries and headers as events, one after the other: the columns of the state, and
    ``is_marker``.
    """
    header, is_marker = behind.header, behind.marker >= 0
    base, delta = header["base_sequence"].astype(np.int64), header["last_delta"].astype(np.int64)
    sequence = base + delta
    sequence[sequence > _MAX_INT32] -= _MAX_INT32 + 1
    first = header["base_offset"].astype(np.int64)
    transactional = header["attributes"] & _TRANSACTIONAL != 0
    columns: dict[str, Any] = {
        "producer_id": header["producer_id"].astype(np.int64),
        "producer_epoch": header["producer_epoch"].astype(np.int16),
        "last_sequence": np.where(base < 0, _NONE, sequence).astype(np.int32),
        "last_offset": first + delta,
        "last_timestamp": header["max_timestamp"].astype(np.int64),
        "coordinator_epoch": behind.coordinator_epoch,
        "current_txn_first_offset": np.where(transactional & ~is_marker, first, _NONE),
    }
    entries = _entries(snapshot)
    found = {name: np.concatenate([entries[name], columns[name]]) for name in _FIELDS}
    found["is_marker"] = np.concatenate([np.zeros(len(snapshot), dtype=np.bool_), is_marker])
    return found
