"""What the view of groups shows of transactions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from metashell.tui.views.group_rows import Extra, GroupRows

TIME = pa.timestamp("ms", tz="UTC")


def transactions(*states: str) -> pa.Table:
    """Of ``transactions``: each began a second behind the one before, and changed then."""
    n = len(states)
    times = pa.array([1_000 * i for i in range(n)], TIME)
    return pa.table(
        {
            "transactional_id": [f"{state}-{i}" for i, state in enumerate(states)],
            "state": states,
            "producer_id": pa.array(range(n), pa.int64()),
            "producer_epoch": pa.array([0] * n, pa.int32()),
            "partitions": pa.array([[]] * n, pa.list_(pa.string())),
            "started_time": times,
            "last_update_time": times,
            "coordinator": pa.array([1] * n, pa.int32()),
        }
    )


def hanging(*words: str) -> pa.Table:
    """Of ``transactions --hanging``: of producers from 100 on."""
    n = len(words)
    return pa.table(
        {
            "topic": ["orders"] * n,
            "partition": pa.array(range(n), pa.int32()),
            "hanging": words,
            "transactional_id": pa.nulls(n, pa.string()),
            "producer_id": pa.array([100 + i for i in range(n)], pa.int64()),
            "producer_epoch": pa.array([0] * n, pa.int32()),
            "last_time": pa.array([0] * n, TIME),
            "command": [""] * n,
        }
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ""),
        (("undecided",), " · 1 undecided"),
        (("yes", "undecided", "undecided"), " · 1 hanging · 2 undecided"),
    ],
)
def test_transactions_that_need_attention_come_first(words: Sequence[str], expected: str) -> None:
    """Those that nobody ends, the oldest open one, the newest of the others; each is counted."""
    known = transactions("Ongoing", "CompleteCommit", "PrepareAbort", "CompleteAbort")
    found = GroupRows(None, known).with_extra(Extra(hanging=hanging(*words)))
    assert f"4 transactional ids · 2 open{expected}" == found.transaction_heading
    names = [f"producer {100 + i}" for i in range(len(words))]
    names += ["Ongoing-0", "PrepareAbort-2", "CompleteAbort-3", "CompleteCommit-1"]
    assert found.transaction_table is not None
    assert names == found.transaction_table["transaction"].to_pylist()
