"""What completion makes of a line, the lines entered before, and text as it may be drawn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from rich.text import Text
from textual.app import App, ComposeResult

from metashell.commands.framework.command import Completion
from metashell.errors import UsageError
from metashell.tui.screens import output_lines as lines
from metashell.tui.screens.completing import EnteredLines, common_beginning, completed, taken_by_tab
from metashell.tui.screens.find import find_words
from metashell.tui.screens.output_lines import Stream, cleaned


def proposal(text: str, start: int) -> Completion:
    """A proposal in place of the last characters."""
    return Completion(text, start, text)


def test_takes_a_proposal() -> None:
    """A space follows a whole word, and nothing a directory or what takes a value."""
    assert completed("par", proposal("partitions", -3)) == "partitions "
    assert completed("ls /im", proposal("image/", -2)) == "ls /image/"
    assert completed("par", proposal("partitions", -3), " -x") == "partitions"


def test_takes_what_is_common() -> None:
    """Only what all proposals go on with is taken, and no half of a quoted character."""
    items = [proposal("topic-000", -2), proposal("topic-001", -2)]
    assert common_beginning("cat to", items) == "cat topic-00"
    assert common_beginning("cat topic-00", [proposal(t.text, -8) for t in items]) == (
        "cat topic-00"
    )
    assert common_beginning("a", [proposal("ab\\ c", -1), proposal("ab\\*d", -1)]) == "ab"
    assert common_beginning("a", []) == "a"


def test_history() -> None:
    """Back goes to earlier lines and forward to what was typed; secrets are not kept."""
    history = EnteredLines([])
    for text in ("ls", "ls", "cat x", " hidden", "at end", "x s3://key:secret@host/b"):
        history.add(text)
    assert history.lines == ["ls", "cat x", "at end"]
    assert [history.back("ty"), history.back("ty")] == ["at end", "cat x"]
    assert [history.forward(), history.forward(), history.forward()] == ["at end", "ty", None]
    assert not history.is_back


def test_text_is_cleaned() -> None:
    """Colours of ours become styles; whatever else steers a terminal is escaped."""
    assert cleaned("a\x1b]0;x\x07\x9b\u202eb") == "a\\x1b]0;x\\x07\\x9b\\u202eb"
    assert cleaned("[bold]x[/]") == "[bold]x[/]"
    red = cleaned("a \x1b[1;31mred\x1b[0m \x1b[2Jb")
    assert isinstance(red, Text)
    assert red.plain == "a red \\x1b[2Jb"
    assert [red.plain[span.start : span.end] for span in red.spans] == ["red"]


class FakeJob:
    """Does at once, or later, what it is told."""

    def __init__(self) -> None:
        self.actions: list[Callable[..., object]] = []

    def tell(self, action: Callable[..., object], *args: object) -> None:
        """Remember it."""
        self.actions.append(action)


def test_stream_has_one_message_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is written, the drawing thread gets pieces of a bounded size, one at a time."""
    monkeypatch.setattr(lines, "_AT_ONCE", 3)
    job, shown = FakeJob(), list[list[str]]()
    stream = Stream(job, shown.append)  # type: ignore[arg-type]
    for n in range(7):
        stream.write(f"line {n}\nli"[: 7 if n == 6 else 6 + 1])
    stream.write("end")
    stream.finish()
    while job.actions:
        assert len(job.actions) == 1
        job.actions.pop()()
    assert [len(piece) for piece in shown] == [3, 3, 2]
    assert shown[-1] == ["line 6", "end"]


def test_stream_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What writes too much is ended, and of what is followed the newest lines are kept."""
    monkeypatch.setattr(lines, "MOST_LINES", 5)
    job, shown = FakeJob(), list[list[str]]()
    stream = Stream(job, shown.append)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        stream.write("x\n" * 8)
    assert stream.is_full
    job.actions.pop()()
    assert shown == [["x"] * 5]
    following = Stream(job, shown.append, follows=True)  # type: ignore[arg-type]
    following.write("".join(f"{n}\n" for n in range(8)))
    job.actions.pop()()
    assert shown[-1] == ["3", "4", "5", "6", "7"]


@pytest.mark.parametrize(
    ("follows", "above", "at"),
    [(True, 0, "end"), (True, 3, "where it was"), (False, 0, "where it was")],
)
def test_newest_line_stays_in_sight(follows: bool, above: int, at: str) -> None:
    """Where it is followed, and nobody scrolled away from it."""

    class Program(App[None]):
        def compose(self) -> ComposeResult:
            yield lines.TextLines()

    async def test() -> None:
        async with Program().run_test(size=(20, 6)) as pilot:
            shown = pilot.app.query_one(lines.TextLines)
            shown.follows = follows
            shown.write([f"line {number}" for number in range(20)])
            await pilot.pause()
            shown.scroll_end(animate=False, immediate=True)
            shown.scroll_to(y=shown.max_scroll_y - above, animate=False, immediate=True)
            before = shown.scroll_y
            shown.write(["one", "two"])
            await pilot.pause()
            assert shown.scroll_y == (shown.max_scroll_y if at == "end" else before)
            assert shown.max_scroll_y == before + above + 2

    asyncio.run(test())


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("orders", ["-name", "*orders*"]),
        ("ord*", ["-name", "ord*"]),
        ("'a*b'", ["-name", "*a\\*b*"]),
        ("orders -offline", ["-path", "*orders*", "-offline"]),
        ("-name x -o -fenced", ["-name", "x", "-o", "-fenced"]),
    ],
)
def test_find_line(text: str, tests: list[str]) -> None:
    """A bare word is a part of a name, or of a path where tests follow."""
    assert find_words(text, "/image") == ["find", "--encode", "/image", "-mindepth", "1", *tests]


def test_find_line_only_finds() -> None:
    """What does more than to find is refused, and nothing asks for nothing."""
    assert find_words("  ", "/") is None
    with pytest.raises(UsageError, match="-exec"):
        find_words("-name x -exec cat {} ;", "/")


def test_tab_chooses_nothing() -> None:
    """It takes the proposal that was chosen, or the only one; of several what they share."""
    items = [proposal("image/", -1), proposal("local/", -1)]
    assert "ls /" == taken_by_tab("ls /", "", items, None, behind=" ")
    assert "ls local/" == taken_by_tab("ls /", "", items, items[1], behind=" ")
    assert "ls image/" == taken_by_tab("ls /", "", items[:1], None, behind=" ")
    assert "par" == taken_by_tab("p", "", [proposal("par", -1)], None, behind="")
