"""The records view: the log as a list, filters, details, going from a record to its node."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from textual.message import Message

from kraftgen.batch import Codec, Record, encode_batch, encode_batch_record
from metashell.schema.registry import load_registry
from metashell.sources.source import Source
from metashell.tui.records.chips import ChipBar, ChipPrompt
from metashell.tui.records.filters import Chip
from metashell.tui.records.model import Gap
from metashell.tui.records.pane import RecordPane
from metashell.tui.records.stream import TYPE, RecordList
from metashell.tui.screens.export import ExportScreen
from metashell.tui.views.records import RecordsView
from support.fixtures import DEMO, fixture
from support.live import Cluster
from support.logs import make_directory, record, secret_config, topic_batch
from support.pilot import SMALL, WIDE, Driver, drive, session_on
from support.shell import run_on

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


def test_newest_first() -> None:
    """The list begins at the end of the log, NoOps hidden and counted."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        assert (view.records.here, view.records.follows) == (_LAST, True)
        assert (view.model.n_records, view.model.n_hidden) == (994, 237)
        assert "994 records · 237 NoOps hidden" in driver.screen()
        hidden = "Filter none: a adds one, / searches; 237 NoOpRecords hidden, h shows them"
        assert hidden in driver.screen()
        await driver.press("h")
        assert "Filter  NoOps shown" in driver.screen()
        assert "hidden" not in driver.screen().splitlines()[1]
        await driver.press("h")
        assert hidden in driver.screen()
        await driver.press("home")
        assert view.records.here == _FIRST
        line = view.records.line_at(0)
        assert line is not None
        assert line.type == "PARTITION_CHANGE_RECORD"
        assert line.summary.startswith("topic=topic-027 partitionId=2")
        assert driver.screen().splitlines()[3][2:].startswith("  2881 ")
        await driver.press("h")
        assert view.model.n_records == 1231

    drive(test)


def test_details() -> None:
    """Fields, batch and bytes of the record of the cursor; JSON to be copied."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("home")
        detail = view.detail
        assert detail is not None
        assert ("isr", "[101]") in detail.fields
        assert detail.span[0] == _FIRST <= detail.span[1]
        assert dict(detail.batch)["CRC"].endswith(" ok")
        assert detail.value.data is not None
        assert detail.value.data.startswith(b"\x01\x05")
        copied = view.copyable()
        assert copied is not None
        assert json.loads(copied[1])["offset"] == _FIRST
        assert "── value" in driver.screen()
        await driver.press("d")
        assert not view.pane.display
        await driver.press("d")
        assert view.pane.display

    drive(test, size=WIDE)


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


def test_enter_goes_to_the_node() -> None:
    """The node that the record is about, as of the record."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        view.records.go_to(3500)
        await driver.settled()
        detail = view.detail
        assert detail is not None
        assert detail.target is not None
        assert detail.target.path.startswith("/image/configs/TOPIC:")
        assert detail.target.offset == detail.span[1]
        await driver.press("enter")
        assert driver.app.path == detail.target.path
        assert driver.scene.source.moment_offset == detail.span[1]
        assert driver.view.id == "explorer"

    drive(test)


def test_batches() -> None:
    """A bracket joins the records of a batch, and keys go from batch to batch."""
    topics = [
        record("TopicRecord", name=f"topic-{i}", topic_id=bytes([i]) * 16) for i in range(1, 7)
    ]

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        records, model = view.records, view.model
        ends = [model.ends_of_batch(row) for row in range(len(model))]
        assert ends[:4] == [(True, False), (False, False), (False, True), (True, True)]
        assert ends[4:] == [(True, False), (False, True)]
        lines = driver.screen().splitlines()[records.region.y :][:6]
        assert [line[1] for line in lines] == ["┌", "│", "└", "─", "┌", "└"]
        assert records.here == 5
        await driver.press("K")
        assert records.here == 4
        await driver.press("K", "K")
        assert records.here == 0
        await driver.press("down", "J")
        assert records.here == 3
        assert view.detail is not None
        assert dict(view.detail.batch)["offsets"] == "3 to 3, 1 record"
        await driver.press("J", "J", "J")
        assert records.here == 5

    drive(test, session_on(_cluster(topics[:3], topics[3:4], topics[4:]).source))


def test_brackets_join_what_is_shown() -> None:
    """Records that a filter hides have no part in them, as the help says."""
    topics = [record("TopicRecord", name=name, topic_id=name.encode() * 16) for name in "abac"]

    async def test(driver: Driver) -> None:
        view = await _open(driver)

        def brackets() -> list[str]:
            lines = driver.screen().splitlines()[view.records.region.y :]
            return [line[1] for line in lines[: len(view.model)]]

        await _chip(driver, "grep name=a")
        assert ["┌", "└"] == brackets()
        await _chip(driver, "grep name=b")
        assert ["─"] == brackets()
        assert "joins the shown records of a batch; `─` means that one is shown" in RecordList.HELP

    drive(test, session_on(_cluster(topics).source))


def test_long_lines_scroll() -> None:
    """Sideways, with a sign that there is more; offset and type stay."""
    name = "0123456789" * 20 + "-end"

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        records = view.records

        def shown() -> str:
            return driver.screen().splitlines()[records.region.y][:79].rstrip()

        assert shown().endswith("…")
        assert "…" not in shown()[:-1]
        await driver.press("right")
        assert records.left > 0
        assert shown().startswith("▸─     0 TOPIC            …")
        assert driver.screen().splitlines()[records.region.y - 1].startswith("  offset type  ")
        assert shown().endswith("…")
        records.action_scroll_line(20)
        assert "-end" in driver.screen()
        assert not shown().endswith("…")
        last = records.left
        await driver.press("left")
        assert 0 < records.left < last
        records.action_scroll_line(-20)
        assert records.left == 0
        assert "…" not in shown()[:-1]

    topic = record("TopicRecord", name=name, topic_id=b"\x07" * 16)
    drive(test, session_on(_cluster([topic]).source))


def test_a_search_scrolls_to_the_match() -> None:
    """The match on the cursor's line is seen, wherever the lines were scrolled to."""
    topic = record("TopicRecord", name="0123456789" * 20 + "-end", topic_id=b"\x07" * 16)

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("right")
        await _chip(driver, "grep 9-end")
        assert view.records.left > 1
        assert "9-end" in driver.screen()
        await _chip(driver, "grep name=0")
        assert view.records.left == 0
        assert "name=0" in driver.screen()

    drive(test, session_on(_cluster([topic]).source))


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((40, 12), ["offset", "time", "09-21", "ep", "type"]),
        (SMALL, ["offset", "time", "09-21", "epoch", "type"]),
        ((200, 50), ["offset", "time", "09-21", "epoch", "type"]),
    ],
)
def test_header_of_the_columns(size: tuple[int, int], words: list[str]) -> None:
    """It has whole words where there is room, and the day that all times have."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        assert len(view.records._days) == 1
        head, row = driver.screen().splitlines()[view.records.region.y - 1 :][:2]
        assert head.split()[: len(words)] == words
        assert " 14:13:2" in row
        assert "2026" not in row

    topics = [record("TopicRecord", name=f"t{i}", topic_id=bytes([i + 1]) * 16) for i in range(20)]
    drive(test, session_on(_cluster(topics).source), size=size)


def test_details_are_as_wide_as_they_need() -> None:
    """Beside the list they take what the widest record needs; longer lines go on below."""
    short = record("TopicRecord", name="a", topic_id=b"\x07" * 16)
    long = record("TopicRecord", name="a" * 200, topic_id=b"\x08" * 16)

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("end")
        narrow = view.pane.outer_size.width
        assert narrow < 60
        widest = max(len(line.text) for line in view.pane.lines)
        assert narrow == widest + 4
        assert view.records.size.width > 90
        await driver.press("home")
        assert view.pane.outer_size.width == 52
        await driver.press("end")
        assert view.pane.outer_size.width == 52
        await _chip(driver, "grep name=a ")
        assert view.pane.outer_size.width == narrow

    drive(test, session_on(_cluster([long], [short]).source), size=WIDE)


def _marked(view: RecordsView) -> list[str]:
    """What is marked in the line of the cursor."""
    line = view.records.line_at(view.records.cursor)
    assert line is not None
    text = view.records._summary(line)
    return [text.plain[span.start : span.end] for span in text.spans if span.style]


def test_the_list_names_partitions() -> None:
    """In one word, which a search finds; only a match that the word leaves out shows all words."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        assert " csv-imports-1 " in driver.screen()
        assert "partitionId=" not in driver.screen()
        for typed, match in (
            ("csv-imports-1", "csv-imports-1"),
            ("ts-1", "ts-1"),
            ("csv-imports", "csv-imports"),
            ("isr=\\[\\]", "isr=[]"),
        ):
            await _chip(driver, f"grep '{typed}'")
            assert view.model.n_records > 1, typed
            assert match in _marked(view)
            assert "partitionId=" not in driver.screen()
        await _chip(driver, "grep csv-imports-1")
        assert "csv-imports-3" not in driver.screen()
        await _chip(driver, "grep partitionId=1")
        assert "topic=csv-imports partitionId=1" in driver.screen()
        assert ["partitionId=1"] == _marked(view)[:1]

    drive(test, session_on(DEMO), size=WIDE)


def test_the_list_names_configs() -> None:
    """As `/image/configs` does, so that the value is seen; a search finds these words."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        for typed, n_records, match in (
            ("TOPIC:payments", 3, "payments"),
            ("replicas=1", 5, "replicas=1"),
            ("BROKER:101", 6, "101"),
            ("TOPIC:payments min.insync.replicas=1", 1, "payments min.insync.replicas=1"),
        ):
            await _chip(driver, f"grep '{typed}'")
            assert (typed, n_records) == (typed, view.model.n_records)
            assert match in _marked(view)
            assert "resourceType=" not in driver.screen()
        assert "  TOPIC:payments min.insync.replicas=1" in driver.screen()
        await _chip(driver, "grep resourceName=payments")
        assert "resourceName=payments name=" in driver.screen()
        await driver.press("c")
        await _chip(driver, "type Config")
        await driver.press("home")
        assert "BROKER min.insync.replicas=2" in driver.screen()

    drive(test, session_on(DEMO))


def test_details_scroll_and_wrap() -> None:
    """Long lines go on below; `w` lets them go on to the right, where the arrows scroll."""
    name = "0123456789" * 20

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        view.pane.focus()
        assert view.pane.wraps
        await driver.press("w")
        assert view.pane.max_scroll_x > 0
        await driver.press("right", "right")
        assert view.pane.scroll_offset.x == 2
        await driver.press("w")
        assert view.pane.max_scroll_x == 0

    topic = record("TopicRecord", name=name, topic_id=b"\x07" * 16)
    drive(test, session_on(_cluster([topic]).source), size=WIDE)


def test_matches_are_marked() -> None:
    """What a search finds is marked where it stands."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await _chip(driver, "grep leader=-1")
        here = view.records.line_at(view.records.cursor)
        assert here is not None
        rest = view.records._summary(here)
        marked = [rest.plain[span.start : span.end] for span in rest.spans if span.style]
        assert "leader=-1" in marked
        await driver.press("c")
        assert view.records.pattern is None

    drive(test)


def test_removed_nodes_are_seen_before() -> None:
    """A record that removes a node leads to it as it was before."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await _chip(driver, "type RemoveTopic")
        await driver.press("home")
        detail = view.detail
        assert detail is not None
        assert detail.target is not None
        assert detail.target.path == f"/image/topics/byName/{detail.topic}"
        assert detail.target.offset == detail.span[0] - 1

    drive(test)


def test_as_of() -> None:
    """The whole cluster as of a record: the list ends there, and goes on later."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("pageup", "pageup")
        here = view.records.here
        assert isinstance(here, int)
        await driver.press("m")
        detail = view.detail
        assert detail is not None
        assert driver.scene.source.moment_offset == detail.span[1]
        last = view.model.at(len(view.model) - 1)
        assert isinstance(last, int)
        assert here <= last <= detail.span[1]
        driver.app.travel(None)
        await driver.settled()
        assert (view.records.here, view.records.follows) == (here, False)
        assert view.model.n_records == 994

    drive(test)


def test_changes_of_the_record_s_node() -> None:
    """`{` leads to the last change of what the record is about, not of a node elsewhere."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/cluster")
        await driver.settled()
        view = await _open(driver)
        await _chip(driver, "topic orders")
        await driver.press("end")
        detail = view.detail
        assert detail is not None
        assert detail.target is not None
        rows = run_on(driver.scene.source, f"changes -o tsv --columns offset {detail.target.path}")
        last = max(int(row) for row in rows.out.splitlines()[1:] if row)
        await driver.press("left_curly_bracket")
        await driver.until(lambda: not driver.scene.is_newest, "nobody travels")
        timeline = driver.app.timeline
        assert timeline is not None
        assert timeline.track is not None
        density = timeline.track.density
        assert driver.scene.source.moment_offset == density.last[density.applied(last - 1)]
        assert "/image/cluster" == driver.app.path

    drive(test)


@pytest.mark.parametrize("earlier", ["955", "2049"])
def test_e_goes_to_the_newest_record(earlier: str) -> None:
    """From an earlier state or from an earlier record, and stays there as `end` does."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("at", *earlier, "enter", "pageup", "E")
        assert driver.scene.is_newest
        assert (view.records.here, view.records.follows) == (1935, True)
        assert "1935" in driver.screen()

    drive(test, session_on(DEMO))


@pytest.mark.parametrize("key", ["m", "enter"])
def test_says_that_a_batch_counts_whole(key: str) -> None:
    """What is shown of a record inside a batch is the state after the batch, which is said."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await _chip(driver, "offset 3981..3981")
        assert view.records.here == 3981
        await driver.press(key)
        assert driver.scene.source.moment_offset == 4106
        (told,) = driver.told
        assert told.startswith("offset 3981 lies inside the batch of offsets")

    drive(test)


def test_goes_to_the_record_at_an_offset() -> None:
    """Also inside a batch: the list then ends with the batch, elsewhere the state is before it."""

    async def test(driver: Driver) -> None:
        await driver.press("at", *"1884", "enter")
        assert driver.scene.source.moment_offset == 1877
        view = await _open(driver)
        await driver.press("at", *"1884", "enter")
        assert driver.scene.source.moment_offset == 1891
        assert view.records.here == 1884
        (told,) = driver.told[-1:]
        assert told.startswith("offset 1884 lies inside the batch of offsets 1878 to 1891")
        await driver.press("at", *"1851", "enter")
        assert (driver.scene.source.moment_offset, view.records.here) == (1851, 1851)

    drive(test, session_on(DEMO))


def test_chips() -> None:
    """Filters are added, changed and removed, one holding beside the other."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await _chip(driver, "topic topic-027")
        assert view.chips == [Chip("--topic", "topic-027")]
        n_of_topic = view.model.n_records
        assert 0 < n_of_topic < 994
        await _chip(driver, "type PartitionChange")
        assert len(view.chips) == 2
        screen = driver.screen()
        assert "topic topic-027 ×" in screen
        assert "type PartitionChange ×" in screen
        bar = driver.one(ChipBar)
        bar.focus()
        await driver.press("right", "delete")
        assert view.chips == [Chip("--topic", "topic-027")]
        x = driver.screen().splitlines()[bar.region.y].index("×")
        await driver.pilot.click(ChipBar, offset=(x, 0))
        await driver.settled()
        assert view.chips == []
        assert view.model.n_records == 994

    drive(test)


def test_a_click_takes_the_chip_below_it() -> None:
    """The first cell of a chip is its own, and so is the last one."""

    async def test(driver: Driver) -> None:
        await _open(driver)
        await _chip(driver, "topic topic-027")
        await _chip(driver, "type PartitionChange")
        bar = driver.one(ChipBar)

        def clicked(x: int) -> list[Message]:
            told: list[Message] = []
            with patch.object(bar, "post_message", told.append):
                bar.on_click(Mock(x=x))
            return [each for each in told if isinstance(each, (ChipBar.Edited, ChipBar.Removed))]

        driver.screen()
        spans = list(bar._spans)
        assert 2 == len(spans)
        for i, (first, behind) in enumerate(spans):
            assert [ChipBar.Edited] == [type(each) for each in clicked(first)]
            assert i == bar.current
            assert [ChipBar.Removed] == [type(each) for each in clicked(behind - 1)]
            assert i == bar.current
        assert [] == clicked(spans[-1][1])

    drive(test)


def test_wrong_chips_are_told() -> None:
    """With the words of `log`, where they are typed."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await _chip(driver, "type Partitoin")
        assert isinstance(driver.app.screen, ChipPrompt)
        assert "no such type of record" in driver.screen()
        assert "did you mean" in driver.screen()
        await driver.press("escape")
        assert view.chips == []
        view.filter_by("(")
        await driver.until(lambda: "not a regular" in driver.one(ChipBar).problem, "not told")
        assert view.model.n_records == 994

    drive(test)


def test_proposals() -> None:
    """What `log` proposes is taken with tab, or with enter where it was chosen."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("a")
        await driver.type("top")
        await driver.press("tab")
        await driver.type("topic-02")
        assert "topic-021" in driver.screen()
        await driver.press("down", "down", "enter")
        assert view.chips == []
        await driver.press("enter")
        assert view.chips == [Chip("--topic", "topic-021")]

    drive(test)


def test_a_wrong_search_is_told_while_it_is_typed() -> None:
    """Once its line is closed a message tells it, and the line of filters is as before."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        bar = driver.one(ChipBar)
        for close in ("enter", "escape"):
            await driver.press("slash", "left_square_bracket")
            await driver.until(lambda: "not a regular" in bar.problem, "not told")
            await driver.press(close)
            await driver.until(lambda: not bar.problem, "still told")
            assert "not a regular" not in driver.screen().splitlines()[bar.region.y]
        (told,) = driver.told
        assert told.startswith("--grep [: not a regular expression")
        assert view.chips == []
        driver.app.clear_notifications()
        await driver.press("slash")
        await driver.pilot.press("left_square_bracket", "enter")
        await driver.settled()
        assert [told] == driver.told
        assert not bar.problem

    drive(test)


def test_keys_of_chips_are_offered_where_there_are_some() -> None:
    """Without a filter there is nothing to remove or to change."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        driver.one(ChipBar).focus()
        await driver.settled()
        keys = ("del Remove", "⏎ Change")
        assert not [key for key in keys if key in driver.screen().splitlines()[-1]]
        await _chip(driver, "topic topic-027")
        driver.one(ChipBar).focus()
        await driver.settled()
        assert all(key in driver.screen().splitlines()[-1] for key in keys)
        await driver.press("delete")
        assert view.chips == []
        assert not [key for key in keys if key in driver.screen().splitlines()[-1]]

    drive(test)


def test_search() -> None:
    """The view's filter is a regular expression over the lines."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        view.filter_by("leader=-1")
        await driver.until(lambda: view.chips, "no chip")
        await driver.settled()
        assert view.filter_text == "leader=-1"
        assert 0 < view.model.n_records < 994
        assert all(
            "leader=-1" in line.summary
            for row in range(3)
            if (line := view.records.line_at(row)) is not None
        )
        view.filter_by("no record says this")
        await driver.until(lambda: not len(view.model), "rows are left")
        await driver.settled()
        assert "no record matches" in driver.screen()
        await driver.press("c")
        assert (view.chips, view.filter_text) == ([], "")

    drive(test)


def test_a_search_counts_no_noops() -> None:
    """Also where all records of a piece are NoOps."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        assert view.model.n_hidden > 0
        await _chip(driver, "grep audit-log")
        assert (view.model.n_records, view.model.n_hidden) == (22, 0)
        assert "NoOps hidden" not in driver.screen()

    drive(test, session_on(DEMO))


def test_next_like_it() -> None:
    """The next record of the same topic, or of the same type where it is about none."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("home", "down", "down", "down", "down", "down", "down")
        assert view.records.here == 2887
        await driver.press("n")
        detail = view.detail
        assert detail is not None
        assert (detail.topic, detail.offset > 2887) == ("topic-027", True)
        await driver.press("N")
        assert view.records.here == 2887
        await driver.press("end", "n")
        assert any("no later record" in told for told in driver.told)

    drive(test)


def test_earlier_states_hide_earlier_noops() -> None:
    """What is hidden is counted up to the state that is shown: with the rest it is all records."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        every = view.model.n_records + view.model.n_hidden
        await driver.press("at", *"955", "enter")
        assert view.model.n_records + view.model.n_hidden == 956
        assert f"{view.model.n_hidden:,} NoOps hidden" in driver.screen()
        await driver.press("E")
        assert view.model.n_records + view.model.n_hidden == every

    drive(test, session_on(DEMO))


def test_a_search_says_where_it_ends() -> None:
    """At an earlier state it leaves out what comes later, which is said with the way there."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("at", *"955", "enter")
        assert view.records.here == 955
        await driver.press("n")
        assert ["no later record of payments up to offset 955: E shows the rest"] == driver.told
        await _chip(driver, "type RemoveTopic")
        assert not len(view.model)
        none = "no record matches up to offset 955: E shows the rest, c drops the filters"
        assert none in driver.screen()
        await driver.press("E")
        assert view.model.n_records > 0

    drive(test, session_on(DEMO))


def test_secrets() -> None:
    """Records that may hold secrets show no bytes, and say so."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        detail = view.detail
        assert detail is not None
        assert detail.is_hidden
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
        ((name, table),) = screen.tables
        assert (name, len(table)) == ("log", view.model.n_records)
        assert table.column("type").unique().to_pylist() == ["REMOVE_TOPIC_RECORD"]
        assert table.column("topic").null_count == 0

    drive(test)


def test_older_segments() -> None:
    """Segments from before the newest checkpoint are there too."""

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("home")
        assert view.model.n_faults == 0
        assert isinstance(view.records.here, int)
        assert view.detail is not None

    drive(test, session_on(fixture("real-44-broker-down").input))


def test_sides() -> None:
    """The details are below the list, or beside it where there is room."""

    async def narrow(driver: Driver) -> None:
        await _open(driver)
        assert driver.one(RecordPane).region.y > driver.one(RecordList).region.y

    async def wide(driver: Driver) -> None:
        await _open(driver)
        assert driver.one(RecordPane).region.x > driver.one(RecordList).region.x

    drive(narrow)
    drive(wide, size=WIDE)


def _cluster(*batches: list[bytes]) -> Cluster:
    """A log of batches."""
    from kraftgen.batch import encode_batch

    encoded, base = [], 0
    for values in batches:
        encoded.append(encode_batch(values, base_offset=base, leader_epoch=1))
        base += len(values)
    return Cluster(*encoded)


def test_a_file_by_itself() -> None:
    """The records of a checkpoint, as `log` shows them."""
    path = next(p for p in fixture("real-44-broker-down").input.rglob("*.checkpoint"))

    def open_it() -> Source:
        import metashell

        return metashell.open_file(path)

    async def test(driver: Driver) -> None:
        view = await _open(driver)
        await driver.press("home")
        detail = view.detail
        assert detail is not None
        assert (detail.offset, detail.type) == (0, "SnapshotHeader")

    drive(test, session_on(open_it))
