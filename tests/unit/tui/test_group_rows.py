"""What the view of groups shows of transactions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from metashell.tui.views.groups import answer_of, transactions_shown
from metashell.tui.views.question import ViewRows

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


def test_transactions_that_need_attention_come_first() -> None:
    """The oldest open one, then the newest of the others; open ones are counted."""
    known = transactions("Ongoing", "CompleteCommit", "PrepareAbort", "CompleteAbort")
    found = transactions_shown(ViewRows(table=known))
    assert found.heading == "Transactions: 4 transactional ids · 2 open"
    names = ["Ongoing-0", "PrepareAbort-2", "CompleteAbort-3", "CompleteCommit-1"]
    assert names == found.table["transactional_id"].to_pylist()


@pytest.mark.parametrize(
    ("words", "expected"),
    [((), None), (("undecided",), "1 hanging transaction"), (("yes", "undecided"), "2 hanging")],
)
def test_hanging_transactions_are_counted(words: Sequence[str], expected: str | None) -> None:
    """Their table is there where there are any."""
    known = pa.table({"hanging": pa.array(words, pa.string())})
    rows = answer_of(None, None, {"hanging": known}).rows
    headings = [shown.heading for shown in rows.values()]
    assert len(headings) == (expected is not None)
    assert all(heading.startswith(expected or "") for heading in headings)
