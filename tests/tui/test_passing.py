"""Messages go with the next key that changes what is shown."""

from __future__ import annotations

from support.fixtures import fixture
from support.pilot import Driver, drive, session_on


def test_pass_with_what_is_shown() -> None:
    """Another view, node or moment takes a message away; a key that changes nothing leaves it."""

    async def test(driver: Driver) -> None:
        app = driver.app
        for key in ("2", "1", "down", "left_square_bracket"):
            app.tell("no later change")
            await driver.settled()
            await driver.press("tab", "shift+tab")
            assert ["no later change"] == driver.told
            await driver.press(key)
            assert not driver.told, key

    drive(test, session_on(fixture("real-44-broker-down").input))


def test_what_a_key_says_stays() -> None:
    """What a key tells is not taken away by what the same key changes, nor is an error."""

    async def test(driver: Driver) -> None:
        app = driver.app
        app.tell("broken", "error")
        await driver.press("down")
        app.tell("told by the key")
        app.show_view("records")
        await driver.settled()
        assert ["broken", "told by the key"] == driver.told

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
