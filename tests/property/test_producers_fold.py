"""The state of producers by columns is that of a replay, one batch after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.image.coordinators.producers import fold_producers
from metashell.log.batch_headers import MarkedHeaders
from metashell.log.frames import HEADER
from metashell.log.log_tail import NO_PRODUCERS, ProducerHistory

_SMALL = st.integers(0, 3)
_ENTRY = st.tuples(_SMALL, st.integers(0, 2), st.integers(-1, 5), st.integers(-1, 3))
_EVENT = st.tuples(
    st.sampled_from(["data", "transactional", "marker"]),
    _SMALL,
    st.integers(0, 2),
    st.integers(-1, 5),
)
_FIRST = 100


def _history(
    entries: list[tuple[int, int, int, int]], events: list[tuple[str, int, int, int]]
) -> ProducerHistory:
    snapshot = np.zeros(len(entries), NO_PRODUCERS.dtype)
    for i, (producer, epoch, sequence, begins) in enumerate(entries):
        last_offset = -1 if sequence < 0 else i
        snapshot[i] = (producer, epoch, sequence, last_offset, 0, i, epoch, begins)
    header = np.zeros(len(events), HEADER)
    header["base_offset"] = np.arange(len(events)) * 2 + _FIRST
    header["last_delta"] = 1
    header["producer_id"] = [event[1] for event in events]
    header["producer_epoch"] = [event[2] for event in events]
    header["base_sequence"] = [event[3] for event in events]
    header["max_timestamp"] = np.arange(len(events)) + 1000
    header["attributes"] = [{"data": 0, "transactional": 16, "marker": 48}[e[0]] for e in events]
    is_marker = np.array([event[0] == "marker" for event in events], np.bool_)
    epochs = np.array([event[3] for event in events], np.int32)
    marker = np.where(is_marker, 1, -1).astype(np.int32)
    behind = MarkedHeaders(header, marker, np.where(is_marker, epochs, -1).astype(np.int32))
    return ProducerHistory(snapshot, _FIRST, behind, 0, -1)


def _replay(
    entries: list[tuple[int, int, int, int]], events: list[tuple[str, int, int, int]]
) -> dict[int, list[int]]:
    """ProducerAppendInfo: epoch, sequence, offset, time, coordinator epoch, first open offset."""
    there = {
        producer: [epoch, sequence, -1 if sequence < 0 else i, i, epoch, begins]
        for i, (producer, epoch, sequence, begins) in enumerate(entries)
    }
    for i, (what, producer, epoch, number) in enumerate(events):
        state = there.setdefault(producer, [epoch, -1, -1, -1, -1, -1])
        if state[0] != epoch:
            state[:3] = [epoch, -1, -1]
        state[3] = i + 1000
        if what == "marker":
            state[4], state[5] = number, -1
            continue
        state[1:3] = [-1 if number < 0 else number + 1, i * 2 + _FIRST + 1]
        if what == "transactional" and state[5] < 0:
            state[5] = i * 2 + _FIRST
    return there


@settings(max_examples=300)
@given(
    entries=st.lists(_ENTRY, max_size=4, unique_by=lambda entry: entry[0]),
    events=st.lists(_EVENT, max_size=25),
)
def test_columns_are_the_replay(
    entries: list[tuple[int, int, int, int]], events: list[tuple[str, int, int, int]]
) -> None:
    """Whatever the snapshot says and producers and coordinators then write."""
    state = fold_producers(_history(entries, events))
    columns = (
        state.producer_epoch,
        state.last_sequence,
        state.last_offset,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_first_offset,
    )
    rows = map(list, zip(*(column.tolist() for column in columns), strict=True))
    expected = dict(sorted(_replay(entries, events).items()))
    assert expected == dict(zip(state.producer_id.tolist(), rows, strict=True))
