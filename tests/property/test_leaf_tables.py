"""Transactions and share partitions that are listed from columns are those asked one by one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.fs import leaf_table
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog
from support.group_trees import check_grids, directory_of, nodes_below
from support.keyed_logs import START_MS, Put, records_of
from support.seeds import examples

NAMES = ("a", "b", "", "a/b", "%", "é", 'x"\\', "x\ny", "🎉", "long" * 300)
NUMBERS = st.sampled_from((-1, 0, 1, 9, 10, 2**31 - 1, -(2**31)))
LONGS = st.sampled_from((-1, 0, 1, START_MS, 2**63 - 1, -(2**63)))
TIMES = st.sampled_from((START_MS, START_MS + 1, START_MS + 1000, 0))

_TRANSACTIONS = st.fixed_dictionaries(
    {
        "producer_id": LONGS,
        "previous_producer_id": LONGS,
        "producer_epoch": st.sampled_from((-1, 0, 7)),
        "next_producer_epoch": st.sampled_from((-1, 3)),
        "transaction_timeout_ms": NUMBERS,
        "transaction_status": st.sampled_from((0, 1, 2, 5, 7, 8, -1)),
        "transaction_partitions": st.none()
        | st.lists(
            st.fixed_dictionaries(
                {
                    "topic": st.sampled_from(NAMES),
                    "partition_ids": st.lists(NUMBERS, max_size=3),
                }
            ),
            max_size=3,
        ),
        "transaction_last_update_timestamp_ms": LONGS,
        "transaction_start_timestamp_ms": LONGS,
        "client_transaction_version": st.sampled_from((0, 2)),
    }
)
_BATCHES = st.lists(
    st.fixed_dictionaries(
        {
            "first_offset": st.integers(0, 20),
            "last_offset": st.integers(0, 20),
            "delivery_state": st.sampled_from((0, 2, 4, 9, -3)),
            "delivery_count": st.sampled_from((0, 1, 7)),
        }
    ),
    max_size=3,
)
_SHARES = st.fixed_dictionaries(
    {
        "snapshot_epoch": NUMBERS,
        "leader_epoch": NUMBERS,
        "start_offset": LONGS,
        "create_timestamp": LONGS,
        "write_timestamp": LONGS,
        "state_batches": _BATCHES,
    }
)


def _transaction(name: str, value: Any, version: int, at_ms: int) -> Put:
    key = {"transactional_id": name}
    return Put(name="TransactionLog", key=key, value=value, version=version, at_ms=at_ms)


def _share(group: str, topic: int, partition: int, value: Any, at_ms: int) -> Put:
    key = {"group_id": group, "topic_id": bytes(15) + bytes([topic]), "partition": partition}
    return Put(name="ShareSnapshot", key=key, value=value, at_ms=at_ms)


def _of(log: CoordinatorLog, partitions: list[list[Put]]) -> list[KeyedRecords]:
    with tempfile.TemporaryDirectory() as place:
        return [records_of(Path(place) / "0.log", log, entries) for entries in partitions]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are made a few at a time."""
    monkeypatch.setattr(leaf_table, "_TOGETHER", 3)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.lists(
            st.builds(
                _transaction,
                st.sampled_from(NAMES),
                st.none() | _TRANSACTIONS,
                st.sampled_from((0, 1)),
                TIMES,
            ),
            max_size=12,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_transactions(partitions: list[list[Put]]) -> None:
    """In one partition or in several, whatever they hold."""
    check_grids(directory_of(*_of(CoordinatorLog.TRANSACTIONS, partitions)))


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.lists(
            st.builds(
                _share,
                st.sampled_from(NAMES[:3]),
                st.integers(0, 2),
                st.sampled_from((0, 1, 2, 10)),
                st.none() | _SHARES,
                TIMES,
            ),
            max_size=20,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_share_partitions(partitions: list[list[Put]]) -> None:
    """Of a group that may be in several partitions; alone it is the same as among all."""
    records = _of(CoordinatorLog.SHARE, partitions)
    share = directory_of(*records)
    check_grids(share)
    for group in share.names():
        alone = directory_of(*records).child(group)
        among = share.child(group)
        assert alone is not None
        assert among is not None
        assert _told(alone) == _told(among)


def test_share_groups_that_were_changed_at_once() -> None:
    """The last partition counts, whichever name was found first."""
    snapshot = dict.fromkeys(
        ("snapshot_epoch", "leader_epoch", "start_offset", "create_timestamp", "write_timestamp"),
        -1,
    )
    at_once = _share("a", 0, 0, {**snapshot, "state_batches": []}, START_MS)
    other = _share("", 0, 0, {**snapshot, "state_batches": []}, START_MS)
    check_grids(directory_of(*_of(CoordinatorLog.SHARE, [[at_once], [at_once, other]])))


def _told(node: Any) -> list[Any]:
    return [node.times(), *((names, each.times()) for names, each in nodes_below(node))]
