"""Committed and pending offsets by columns are those of a replay with dicts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metashell.image.coordinators.commits import fold_offsets
from metashell.records.keyed_records import Markers

_EVENT = st.one_of(
    st.tuples(st.just("commit"), st.integers(0, 3), st.integers(-1, 2)),
    st.tuples(st.just("delete"), st.integers(0, 3), st.integers(-1, 2)),
    st.tuples(st.sampled_from(["COMMIT", "ABORT"]), st.just(0), st.integers(0, 2)),
)


def replay(events: list[tuple[str, int, int]]) -> tuple[dict[int, int], set[int]]:
    """What OffsetMetadataManager does, one record after the other: stored, and pending rows."""
    stored: dict[int, int] = {}
    pending: dict[int, dict[int, int]] = {}
    for row, (what, key, producer) in enumerate(events):
        if what == "commit" and producer < 0:
            stored[key] = row
        elif what == "commit":
            pending.setdefault(producer, {})[key] = row
        elif what == "delete":
            stored.pop(key, None)
            for waiting in pending.values():
                waiting.pop(key, None)
        else:
            for waited, at in pending.pop(producer, {}).items():
                if what == "COMMIT" and at > stored.get(waited, -1):
                    stored[waited] = at
    return stored, {at for waiting in pending.values() for at in waiting.values()}


@given(st.lists(_EVENT, max_size=40))
def test_columns_are_the_replay(events: list[tuple[str, int, int]]) -> None:
    """Whatever is committed, deleted, ended and left open, in whatever order."""
    rows = np.array([i for i, e in enumerate(events) if e[0] in ("commit", "delete")], np.int64)
    ends = np.array([i for i, e in enumerate(events) if e[0].isupper()], np.int64)
    keys = np.array([events[i][1] for i in rows], np.int64)
    state = fold_offsets(
        keys,
        rows,
        np.array([events[i][2] for i in rows], np.int64),
        np.array([events[i][0] == "delete" for i in rows], np.bool_),
        Markers(
            ends,
            np.array([events[i][2] for i in ends], np.int64),
            np.array([events[i][0] == "COMMIT" for i in ends], np.bool_),
            np.zeros(len(ends), np.int32),
        ),
    )
    stored, pending = replay(events)
    assert stored == {int(keys[i]): int(rows[i]) for i in state.last}
    assert pending == set(rows[state.pending].tolist())
