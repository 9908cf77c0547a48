"""The timeline's second line: when partitions were offline or under-replicated."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftgen.batch import encode_batch
from metashell.tui.timeline.timeline import Timeline
from support.logs import make_directory, record
from support.pilot import SMALL, Driver, drive, session_on

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


@pytest.mark.long
def test_second_line(tmp_path: Path) -> None:
    """It shows when partitions were in each state, by signs that differ without colour."""

    async def test(driver: Driver) -> None:
        assert 3 == driver.one(Timeline).size.height
        signs = rows(driver)[1]
        assert SMALL[0] == len(signs)
        runs = [signs[0]]
        for sign in signs[1:]:
            if sign != runs[-1]:
                runs.append(sign)
        assert [" ", "▓", "█", " ", "█", " "] == runs
        assert signs.rstrip() in driver.screen()
        assert "offline" not in rows(driver)[2]
        driver.app.travel(3)
        await driver.settled()
        assert "1 offline, 1 unde" in rows(driver)[2]

    drive(test, session_on(log(tmp_path)))


@pytest.mark.long
def test_jumps_stop_where_numbers_rise(tmp_path: Path) -> None:
    """Each rise of either number is a stop, and the text tells it."""

    async def test(driver: Driver) -> None:
        told = []
        for offset in (5, 3, 2):
            await driver.press("comma")
            await driver.until(
                lambda offset=offset: driver.one(Timeline).shown == offset,  # type: ignore[misc]
                "not there",
            )
            await driver.settled()
            told.append(rows(driver)[2])
        assert "offline 0 → 1 " in told[0]
        assert "offline 0 → 1 " in told[1]
        assert "under-replicated 0 → 1 " in told[2]
        await driver.press("comma")
        assert "no earlier rise; here: under-replicated 0 → 1 " in rows(driver)[2]
        await driver.press("full_stop")
        await driver.until(lambda: driver.one(Timeline).shown == 3, "not there")

    drive(test, session_on(log(tmp_path)))


@pytest.mark.parametrize(("size", "height"), [((80, 24), 2), ((40, 12), 2)])
def test_no_second_line(tmp_path: Path, size: tuple[int, int], height: int) -> None:
    """Not where all was well, nor on a low screen."""

    async def test(driver: Driver) -> None:
        assert height == driver.one(Timeline).size.height == len(rows(driver))

    drive(test, session_on((well if size == SMALL else log)(tmp_path)), size)


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
        assert any(getattr(style, "reverse", False) for style in styles)

    drive(test, session_on(log(tmp_path)))
