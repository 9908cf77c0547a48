"""The records view: the log as a list, filters, details, going from a record to its node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftgen.batch import Codec, Record, encode_batch, encode_batch_record
from metashell.schema.model import load_registry
from metashell.tui.records.filtered import ChipBar, ChipPrompt
from metashell.tui.records.model import Gap
from metashell.tui.records.stream import TYPE
from metashell.tui.screens.export import ExportScreen
from metashell.tui.views.records import RecordsView
from support.live import Cluster
from support.logs import make_directory, record, secret_config, topic_batch
from support.pilot import WIDE, Driver, drive, session_on

_FIRST, _LAST = 2881, 4107


def _view(driver: Driver) -> RecordsView:
    assert isinstance(driver.view, RecordsView)
    return driver.view


async def _open(driver: Driver) -> RecordsView:
    await driver.look("records")
    view = _view(driver)
    await driver.until(lambda: view.reader is not None and view.model.is_complete, "not read")
    await driver.settled()
    view.focus_content()
    return view


async def _chip(driver: Driver, typed: str) -> None:
    await driver.press("a")
    assert isinstance(driver.app.screen, ChipPrompt)
    await driver.type(typed)
    await driver.press("enter")


def test_a_wide_list_cuts_no_type() -> None:
    """The longest one fits."""
    types = [spec.type_name.removesuffix("_RECORD") for spec in load_registry().metadata.values()]
    assert max(map(len, types)) == TYPE


def _position(text: str) -> tuple[int, int]:
    """Position and length in what is said of a place."""
    found = re.fullmatch(r"(\d+) \(0x[0-9a-f]+\)(?: of the inflated batch)?, (\d+) bytes", text)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_positions(tmp_path: Path, codec: Codec) -> None:
    """Record, value and batch have theirs in the file, or in what the batch inflates to."""
    value = record("TopicRecord", name="orders", topic_id=b"\x07" * 16)
    made = [Record(value=value, headers=((b"k", b"v" * 40), (b"n", None))), Record(value=value)]
    before, batch = topic_batch(0), encode_batch(made, base_offset=1, codec=codec)
    directory = make_directory(tmp_path, (0, before + batch))
    records = b"".join(encode_batch_record(one, at) for at, one in enumerate(made))
    inside = before + batch if codec == "none" else records

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        for at in (1, 0):
            detail = view.detail
            assert detail is not None
            whole = encode_batch_record(made[at], at)
            begin, size = _position(dict(detail.place)["position"])
            assert whole == inside[begin : begin + size]
            assert detail.value.data == value
            assert inside[detail.value.position :].startswith(value)
            assert f"value: position {detail.value.position} (0x" in driver.screen()
            # The lines of bytes count from there: 16 or 8 a line.
            texts = [line.text for line in view.pane.lines]
            rows = texts[1 + next(i for i, text in enumerate(texts) if "── value" in text) :]
            starts = [int(row.split()[0], 16) for row in rows if row]
            each = 16 if len(starts) == -(-len(value) // 16) else 8
            first = detail.value.position
            assert list(range(first, first + len(value), each)) == starts
            assert _position(dict(detail.batch)["position"]) == (len(before), len(batch))
            await driver.press("up")

    drive(test, session_on(directory), size=WIDE)


def test_a_click_takes_the_chip_below_it() -> None:
    """The first cell of a chip is its own, and so is the last one."""

    async def test(driver: Driver) -> None:
        await _open(driver)
        await _chip(driver, "topic topic-027")
        await _chip(driver, "type PartitionChange")
        line = driver.one(ChipBar).render().plain
        await driver.pilot.click(ChipBar, offset=(line.index("type"), 0))
        await driver.settled()
        assert isinstance(driver.app.screen, ChipPrompt)
        assert "type PartitionChange" == driver.app.screen.line.value
        await driver.press("escape")
        await driver.pilot.click(ChipBar, offset=(line.index("×"), 0))
        await driver.settled()
        assert ["type PartitionChange"] == [chip.text for chip in _view(driver).chips]

    drive(test)


def test_secrets() -> None:
    """Records that may hold secrets show no bytes, and say so."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        detail = view.detail
        assert detail is not None
        assert detail.value.hidden is not None
        assert detail.value.data is None
        assert "may hold secrets" in driver.screen()
        assert "hunter2" not in detail.json
        assert "hunter2" not in driver.screen()
        assert detail.target is not None
        assert detail.target.path == "/image/configs/BROKER:1/ssl.key.password"

    drive(test, session_on(_cluster([secret_config()]).source), size=WIDE)


def test_hostile_names() -> None:
    """Markup and control characters of a name are shown, not done."""
    name = "[bold]x[/]\x1b[31m\n\u202e" + "w" * 300

    async def test(driver: Driver) -> None:
        await _open(driver)
        screen = driver.screen()
        assert "[bold]x[/]" in screen
        assert "\x1b" not in screen
        assert "\u202e" not in screen

    topic = record("TopicRecord", name=name, topic_id=b"\x07" * 16)
    drive(test, session_on(_cluster([topic]).source))


def test_live_tail() -> None:
    """New records are followed on the last line, and counted above it."""
    cluster = Cluster(*(topic_batch(i) for i in range(30)))

    async def test(driver: Driver) -> None:
        async def commit(first: int) -> None:
            cluster.commit(topic_batch(first, 2))
            driver.app.news(cluster.source())
            await driver.settled()

        view = await _open(driver)
        assert view.records.here == 29
        await commit(30)
        assert (view.records.here, view.n_new) == (31, 0)
        await driver.press("up", "up")
        await commit(32)
        await commit(34)
        assert (view.records.here, view.n_new) == (29, 4)
        assert "▼ 4 new" in driver.screen()
        await driver.press("end")
        assert (view.records.here, view.n_new) == (35, 0)
        assert "new" not in driver.screen().splitlines()[2]

    drive(test, session_on(cluster.source))


def test_looking_through_can_be_cancelled() -> None:
    """What was not looked through is a line, and is looked through when asked for."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        pieces = view.model.pieces
        view.model.plan(pieces, view.wanted, anew=True)
        view.records.reshape()
        gap = view.records.here
        assert gap == Gap(_FIRST, 4111)
        await driver.pilot.pause()
        assert "not looked through yet" in driver.screen()
        await driver.press("enter")
        assert view.model.at(len(view.model) - 1) == _LAST

    drive(test)


def test_export() -> None:
    """What matches is read as rows of `log` first."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await _chip(driver, "type RemoveTopic")
        await driver.press("x")
        screen = driver.app.screen
        assert isinstance(screen, ExportScreen)
        ((name, table),) = screen.contents
        assert (name, len(table)) == ("log", view.model.n_records)
        assert table.column("type").unique().to_pylist() == ["REMOVE_TOPIC_RECORD"]
        assert table.column("topic").null_count == 0

    drive(test)


def _cluster(*batches: list[bytes]) -> Cluster:
    """A log of batches."""
    from kraftgen.batch import encode_batch

    encoded, base = [], 0
    for values in batches:
        encoded.append(encode_batch(values, base_offset=base, leader_epoch=1))
        base += len(values)
    return Cluster(*encoded)
