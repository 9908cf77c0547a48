"""Names of logs' directories, as LogManager reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.node_files.log_name import LogName, LogState, is_ignored, parse_log_name
from support.strategies import CHARACTERS

ID = "8fe2f09b59ed47f2a9808570c5b82f47"


@pytest.mark.parametrize(
    ("name", "topic", "partition", "state"),
    [
        ("orders-0", "orders", 0, LogState.CURRENT),
        ("a-b.c_d-12", "a-b.c_d", 12, LogState.CURRENT),
        ("a--5", "a-", 5, LogState.CURRENT),
        ("--5", "-", 5, LogState.CURRENT),
        ("orders-007", "orders", 7, LogState.CURRENT),
        ("orders-+7", "orders", 7, LogState.CURRENT),
        ("orders-2147483647", "orders", 2**31 - 1, LogState.CURRENT),
        ("user-delete-3", "user-delete", 3, LogState.CURRENT),
        ("x.y-future-3", "x.y-future", 3, LogState.CURRENT),
        (f"orders-0.{ID}-delete", "orders", 0, LogState.DELETE),
        (f"a.b-c-10.{ID}-future", "a.b-c", 10, LogState.FUTURE),
        (f"a.b-c-10.{ID}-stray", "a.b-c", 10, LogState.STRAY),
        ("orders-0.x-delete", "orders", 0, LogState.DELETE),
        (f"orders-0.{ID}-delete.{ID}-stray", None, None, None),
        (f"a-delete-0.{ID}-delete", "a-delete", 0, LogState.DELETE),
        ("__cluster_metadata-0", "__cluster_metadata", 0, LogState.CURRENT),
        ("", None, None, None),
        ("backup", None, None, None),
        ("lost+found", None, None, None),
        ("keep-x", None, None, None),
        ("-5", None, None, None),
        ("orders-", None, None, None),
        ("orders--", None, None, None),
        ("orders-2147483648", None, None, None),
        ("orders-" + "9" * 5000, None, None, None),
        ("orders-²", None, None, None),
        ("orders-0-delete", None, None, None),
        ("orders-0.-delete", None, None, None),
        ("orders 1-0.x-delete", None, None, None),
        (f"orders.{ID}-delete", None, None, None),
        (f"-0.{ID}-delete", None, None, None),
    ],
)
def test_names(name: str, topic: str | None, partition: int | None, state: LogState | None) -> None:
    """The last dash stands before the partition, the last dot before the id."""
    found = parse_log_name(name)
    if topic is None or partition is None or state is None:
        assert found is None
    else:
        assert LogName(topic, partition, state, name) == found


@given(st.text("abc.-_", min_size=1), st.integers(0, 2**31 - 1), st.sampled_from(LogState))
def test_written_names_are_read(topic: str, partition: int, state: LogState) -> None:
    """As Kafka writes them."""
    name = f"{topic}-{partition}"
    if state is not LogState.CURRENT:
        name += f".{ID}-{state}"
    assert LogName(topic, partition, state, name) == parse_log_name(name)


@given(st.text(CHARACTERS))
def test_any_text(name: str) -> None:
    """A name, or none."""
    found = parse_log_name(name)
    assert found is None or (found.name == name and 0 <= found.partition < 2**31)


def test_what_is_ignored() -> None:
    """The cache of tiered storage alone, which is no log by its name either."""
    assert is_ignored("remote-log-index-cache")
    assert parse_log_name("remote-log-index-cache") is None
    assert not is_ignored("orders-0")
