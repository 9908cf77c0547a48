"""The timeline's second line: when partitions were offline or under-replicated."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftgen.batch import encode_batch
from metashell.tui.timeline.timeline import Timeline
from support.logs import make_directory, record
from support.pilot import Driver, drive, session_on

TIME = 1_700_000_000_000
ID = (1).to_bytes(16, "big")


def change(**fields: object) -> bytes:
    """A change of the one partition."""
    return record("PartitionChangeRecord", partition_id=0, topic_id=ID, **fields)


def log(parent: Path) -> Path:
    """A partition loses a replica, then its leader, and is well again; twice."""
    values = [
        record("TopicRecord", name="orders", topic_id=ID),
        record("PartitionRecord", partition_id=0, topic_id=ID, leader=1, replicas=[1, 2],
               isr=[1, 2]),
        change(isr=[1]),
        change(leader=-1),
        change(leader=1, isr=[1, 2]),
        change(leader=-1),
        change(leader=1),
        record("NoOpRecord"),
    ]  # fmt: skip
    batches = [
        encode_batch([value], base_offset=i, timestamp=TIME + i * 10_000)
        for i, value in enumerate(values)
    ]
    return make_directory(parent, (0, b"".join(batches)))


def well(parent: Path) -> Path:
    """A log in which nothing ever goes wrong."""
    values = [record("TopicRecord", name="orders", topic_id=ID), record("NoOpRecord")]
    batches = [encode_batch([v], base_offset=i, timestamp=TIME + i) for i, v in enumerate(values)]
    return make_directory(parent, (0, b"".join(batches)))


def rows(driver: Driver) -> list[str]:
    """The lines of the timeline."""
    return driver.one(Timeline).render().plain.split("\n")


def test_the_cursor_is_seen_on_a_full_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without colour too: it has a sign of its own, reversed."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def test(driver: Driver) -> None:
        assert "▼" not in rows(driver)[0]
        driver.app.travel(3)
        await driver.settled()
        bar = rows(driver)[0]
        assert 1 == bar.count("▼")
        assert "█" in bar
        cursor = bar.index("▼")
        content = driver.one(Timeline).render()
        styles = [span.style for span in content.spans if span.start == cursor]
        assert any("reverse" in str(style) for style in styles)

    drive(test, session_on(log(tmp_path)))
