"""Groups by columns are those of a replay, one record after the other."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.image.coordinators import groups as fold
from metashell.image.coordinators.groups import (
    GroupEvent,
    GroupEvents,
    GroupsState,
    GroupType,
    replay_groups,
)
from support.seeds import examples

_MEMBERS = 2
_EVENT = st.tuples(
    st.sampled_from(GroupEvent),
    st.integers(0, 2),
    st.integers(0, _MEMBERS - 1),
    st.booleans(),
    st.sampled_from([-1, 0, 5]),
    st.booleans(),
    st.sampled_from([GroupType.CONSUMER, GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS]),
)
_LEAVES = (GroupEvent.CURRENT, GroupEvent.TARGET, GroupEvent.MEMBER)


def _events(drawn: list[tuple[int, ...]], types: bool) -> GroupEvents:
    """Drawn events; of one type a group where types are not drawn."""
    table = np.array(drawn, dtype=np.int64).reshape(len(drawn), 7)
    event, group, member, is_put, epoch, is_simple, kind = table.T
    has_member = np.isin(event, _LEAVES)
    modern = kind if types else group % 3 + 1
    return GroupEvents(
        np.arange(len(drawn)) * 2,
        group,
        np.where(has_member, group * _MEMBERS + member, -1),
        event.astype(np.int8),
        np.where(event >= GroupEvent.GROUP, modern, 0).astype(np.int8),
        is_put.astype(np.bool_),
        np.where(is_put & np.isin(event, (4, 6)), epoch, 0).astype(np.int32),
        is_simple.astype(np.bool_),
    )


def _rows(state: GroupsState) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[int]]:
    columns = [getattr(state, each.name).tolist() for each in fields(state)]
    return (
        sorted(zip(*columns[:5], strict=True)),
        sorted(zip(*columns[5:10], strict=True)),
        columns[10],
    )


@pytest.mark.parametrize("types", [False, True])
@settings(max_examples=examples(150))
@given(drawn=st.lists(_EVENT, max_size=30))
def test_columns_are_the_replay(types: bool, drawn: list[tuple[int, ...]]) -> None:
    """Whatever is put, removed and refused, in whatever order."""
    events = _events(drawn, types)
    expected = replay_groups(events, np.arange(len(drawn)))
    assert _rows(expected) == _rows(fold.fold_groups(events))


def test_what_coordinators_write_needs_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that come, change, lose members in the right order, go and come again."""
    monkeypatch.setattr(fold, "replay_groups", None)
    gone = [(event, 0, 0, 0, 0, 0, 1) for event in _LEAVES]
    story = [
        (GroupEvent.COMMIT, 0, 0, 1, 0, 0, 1),
        (GroupEvent.MEMBER, 0, 0, 1, 0, 0, 1),
        (GroupEvent.GROUP, 0, 0, 1, 0, 0, 1),
        (GroupEvent.TARGET, 0, 0, 1, 0, 0, 1),
        (GroupEvent.TARGET_EPOCH, 0, 0, 1, 5, 0, 1),
        (GroupEvent.CURRENT, 0, 0, 1, 5, 0, 1),
        *gone,
        (GroupEvent.TARGET_EPOCH, 0, 0, 0, 0, 0, 1),
        (GroupEvent.GROUP, 0, 0, 0, 0, 0, 1),
        (GroupEvent.CLASSIC, 0, 0, 1, 0, 0, 1),
        (GroupEvent.CLASSIC, 0, 0, 0, 0, 0, 1),
        (GroupEvent.GROUP, 0, 0, 1, 0, 0, 1),
        (GroupEvent.MEMBER, 0, 1, 1, 0, 0, 1),
    ]
    state = fold.fold_groups(_events(story, types=False))
    assert ([(0, 1, 13, 13, -1)], [(0, 1, 14, -1, -1)], []) == _rows(state)


def test_a_simple_group_becomes_a_consumer_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of the consumer group describes it, not that of the group before."""
    drawn = [(GroupEvent.CLASSIC, 0, 0, 1, 0, 1, 1), (GroupEvent.GROUP, 0, 0, 1, 0, 0, 1)]
    events = _events(drawn, types=False)
    expected = replay_groups(events, np.arange(len(drawn)))
    monkeypatch.setattr(fold, "replay_groups", None)
    assert _rows(expected) == _rows(fold.fold_groups(events))
