"""The toolbar's contents, and that nobody waits for them."""

from __future__ import annotations

import threading

import pytest

from metashell.commands.shared.status import SourceStatus, format_time, items
from metashell.errors import SourceError
from metashell.repl.appearance import StatusWatcher
from support.waiting import LIMIT_S, wait_until


def test_items() -> None:
    """Facts come first, remarks behind."""
    status = SourceStatus(
        offset=264, epoch=3, timestamp_ms=1_000, metadata_version="4.4-IV2", notes=("torn tail",)
    )
    assert [
        ("fact", "offset 264"),
        ("fact", "epoch 3"),
        ("fact", "1970-01-01 00:00:01Z"),
        ("fact", "4.4-IV2"),
        ("note", "torn tail"),
        ("note", "secrets shown"),
    ] == items(status, show_secrets=True)


@pytest.mark.parametrize("status", [SourceStatus(), SourceStatus(timestamp_ms=-1)])
def test_unknown_is_left_out(status: SourceStatus) -> None:
    """What is not known is not named."""
    assert [] == items(status)


@pytest.mark.parametrize(
    ("timestamp_ms", "expected"),
    [
        (0, "1970-01-01 00:00:00Z"),
        (1_790_000_049_411, "2026-09-21 14:14:09Z"),
        (-2_000, "1969-12-31 23:59:58Z"),
        (2**63 - 1, f"{2**63 - 1} ms"),
        (-(2**63), f"{-(2**63)} ms"),
    ],
)
def test_format_time(timestamp_ms: int, expected: str) -> None:
    """Any 64-bit time has a text."""
    assert expected == format_time(timestamp_ms)


def test_refresh_does_not_wait() -> None:
    """The caller goes on while the status is computed, and a second request starts nothing."""
    release, changed = threading.Event(), threading.Event()
    n_calls = 0

    def compute() -> SourceStatus:
        nonlocal n_calls
        n_calls += 1
        assert release.wait(LIMIT_S)
        return SourceStatus(offset=1)

    watcher = StatusWatcher(compute, changed.set)
    watcher.refresh()
    watcher.refresh()
    assert watcher.latest is None
    release.set()
    wait_until(changed.is_set, "the new status is told")
    assert SourceStatus(offset=1) == watcher.latest
    assert 1 == n_calls


@pytest.mark.parametrize(
    ("error", "expected"),
    [(SourceError("disk gone"), "disk gone"), (KeyError("x"), "no status: KeyError")],
)
def test_failure_is_a_note(error: Exception, expected: str) -> None:
    """A status that fails says so, and the next is tried anew."""
    changed = threading.Event()

    def compute() -> SourceStatus:
        raise error

    watcher = StatusWatcher(compute, changed.set)
    watcher.refresh()
    wait_until(changed.is_set, "the failure is told")
    assert SourceStatus(notes=(expected,)) == watcher.latest
