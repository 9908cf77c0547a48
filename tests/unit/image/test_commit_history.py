"""Since when an offset stands still, and how often a group rebalanced."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.image.coordinators.group_log import GroupLog, last_moves, rebalances_since
from metashell.schema.coordinators import CoordinatorLog
from support.keyed_logs import START_MS, End, Put, commit, records_of

_COMMIT = st.tuples(st.integers(0, 1), st.one_of(st.none(), st.integers(0, 2)), st.integers(-1, 1))
_EVENT = st.one_of(_COMMIT, st.builds(End, st.integers(0, 1), st.booleans()))


@pytest.fixture(scope="module", name="path")
def fixture_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a segment's path, which examples write again and again."""
    return tmp_path_factory.mktemp("history") / f"{0:020d}.log"


def _entry(event: tuple[int, int | None, int] | End) -> Put | End:
    if isinstance(event, End):
        return event
    partition, offset, producer = event
    return commit("g", "t", offset, partition, producer_id=producer)


def _applied(events: list[tuple[int, int | None, int] | End]) -> dict[int, list[tuple[int, int]]]:
    """By partition the commits that count since it was last deleted: row and offset."""
    ended: dict[int, bool] = {}
    counts: list[tuple[int, int, int | None]] = []
    for row in range(len(events) - 1, -1, -1):
        event = events[row]
        if isinstance(event, End):
            ended[event.producer_id] = event.is_commit
            continue
        partition, offset, producer = event
        if offset is None or producer < 0 or ended.get(producer, False):
            counts.append((row, partition, offset))
    found: dict[int, list[tuple[int, int]]] = {}
    for row, partition, offset in reversed(counts):
        if offset is None:
            found.pop(partition, None)
        else:
            found.setdefault(partition, []).append((row, offset))
    return found


@given(events=st.lists(_EVENT, max_size=20))
def test_last_moves(path: Path, events: list[tuple[int, int | None, int] | End]) -> None:
    """As one reads the commits that count from the end."""
    log = GroupLog(records_of(path, CoordinatorLog.GROUPS, map(_entry, events)), 0)
    moves = last_moves(log)
    partition = log.commits.keys(log.offsets.last).partition.tolist()
    found = {
        number: (int(log.commits.rows[moved]), repeats)
        for number, moved, repeats in zip(
            partition, moves.moved.tolist(), moves.repeats.tolist(), strict=True
        )
    }
    expected = {}
    for partition, commits in _applied(events).items():
        run = len(commits)
        while run > 1 and commits[run - 2][1] == commits[-1][1]:
            run -= 1
        expected[partition] = (commits[run - 1][0], len(commits) - run)
    assert expected == found


def _group(name: str, epoch: int, at_ms: int) -> Put:
    key = {"group_id": name}
    return Put(name="ConsumerGroupMetadata", key=key, value={"epoch": epoch}, at_ms=at_ms)


def test_rebalances(path: Path) -> None:
    """Epochs since a time; without one from before, the first that is left counts as one."""
    hour = START_MS + 3_600_000
    entries = [
        _group("before", 4, START_MS),
        _group("before", 7, hour + 1),
        _group("before", 9, hour + 2),
        _group("alone", 5, hour + 3),
        _group("late", 5, hour + 3),
        _group("late", 8, hour + 4),
        _group("old", 5, START_MS + 3),
        Put(
            name="GroupMetadata",
            key={"group": "classic"},
            value={"protocol_type": "consumer", "generation": 3, "protocol": None, "leader": None},
            at_ms=hour + 9,
        ),
        commit("simple", "t", 5, at_ms=hour + 9),
    ]
    log = GroupLog(records_of(path, CoordinatorLog.GROUPS, entries), 0)
    counts = rebalances_since(log, hour)[log.state.group].tolist()
    names = log.names(log.state.made).texts()
    assert {"before": 5, "alone": 1, "late": 4, "old": 0, "classic": 1, "simple": 0} == dict(
        zip(names, counts, strict=True)
    )
