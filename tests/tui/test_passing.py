"""Messages go with the next key that changes what is shown, and once they were read with any."""

from __future__ import annotations

from unittest.mock import patch

from support.fixtures import fixture
from support.pilot import Driver, drive, session_on


def test_pass_with_what_is_shown() -> None:
    """Another view, node or moment, a prompt or help takes a message away, no other key does."""

    async def test(driver: Driver) -> None:
        app = driver.app
        backs = {"2": "1", "down": "up", "left_square_bracket": "E", "at": "escape", "f1": "f1"}
        for key, back in backs.items():
            app.tell("no later change")
            await driver.settled()
            await driver.press("tab", "shift+tab")
            assert ["no later change"] == driver.told
            await driver.press(key)
            assert not driver.told, key
            await driver.press(back)

    drive(test, session_on(fixture("real-44-broker-down").input))


def test_what_a_key_says_stays() -> None:
    """What a key tells is not taken away by what the same key changes, nor is an error."""

    async def test(driver: Driver) -> None:
        app = driver.app
        app.tell("broken", "error")
        await driver.press("down")
        assert ["broken"] == driver.told
        app.tell("told by the key")
        app.show_view("records")
        await driver.settled()
        assert ["told by the key"] == driver.told

    drive(test)


def test_one_message_at_a_time() -> None:
    """A new message takes the place of the one before, also if both come at once."""

    async def test(driver: Driver) -> None:
        driver.app.tell("first", "error")
        driver.app.tell("second")
        await driver.settled()
        assert ["second"] == driver.told
        places = set()
        for text in ("third", "fourth", "fifth"):
            driver.app.tell(text)
            await driver.settled()
            assert [text] == driver.told
            lines = driver.screen().split("\n")
            places.add(next(y for y, line in enumerate(lines) if f"▌ {text}" in line))
        assert len(places) == 1

    drive(test)


def test_what_was_read_goes_with_any_key() -> None:
    """Once a message was there for a while, it goes with a key that changes nothing."""

    async def test(driver: Driver) -> None:
        driver.app.tell("broken", "error")
        await driver.settled()
        with patch("metashell.tui.frame.passing._READ_S", 0):
            await driver.press("tab")
        assert not driver.told

    drive(test)


def test_remark_of_the_timeline_passes() -> None:
    """It stays while the same is shown, and goes with another view."""

    async def test(driver: Driver) -> None:
        def says() -> bool:
            timeline = driver.app.timeline
            assert timeline is not None
            return "no later change of /" in timeline.render().plain

        await driver.press("right_curly_bracket", "tab", "shift+tab")
        assert says()
        await driver.press("2")
        assert not says()

    drive(test, session_on(fixture("real-44-broker-down").input))
