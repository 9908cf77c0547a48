"""What the status line says, and what of it fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from metashell.commands.shared.columns import display_width
from metashell.commands.shared.status import SourceStatus
from metashell.fs.escape import escape
from metashell.tui.frame.status import LineState, pieces, work_text
from metashell.tui.text import cut, cut_front, fitting, line
from support.strategies import CHARACTERS

STATUS = SourceStatus(
    offset=4111, epoch=7, timestamp_ms=0, metadata_version="4.4-IV2", notes=("torn tail",)
)
LIVE = SourceStatus(offset=9, is_live=True, leader=2, lag=0, last_word_s=0.4, epoch=7)


def said(standing: LineState) -> list[str]:
    """The texts."""
    return [piece.text for piece in pieces(standing)]


@pytest.mark.parametrize(
    ("standing", "texts"),
    [
        (
            LineState(status=STATUS),
            ["end of the log", "offset 4111", "torn tail", "1970-01-01 00:00:00Z", "epoch 7",
             "4.4-IV2"],
        ),
        (LineState(status=SourceStatus(offset=3, notes=("at offset 3",)), is_newest=False),
         ["earlier state", "E: newest", "offset 3"]),
        (LineState(status=SourceStatus(metadata_version="4.3"), is_newest=False, newest_key="Z"),
         ["earlier state", "Z: newest", "4.3"]),
        (LineState(), ["end of the log", "…"]),
        (LineState(n_clusters=3), ["fleet of 3 directories"]),
        (LineState(n_clusters=1), ["fleet of 1 directory"]),
        (LineState(status=SourceStatus(offset=1), cluster="prod"),
         ["prod", "end of the log", "offset 1"]),
        (LineState(status=SourceStatus(), cluster="voters-two-epochs-3-voter-1"),
         ["…rs-two-epochs-3-voter-1", "end of the log"]),
        (LineState(status=LIVE), ["live", "offset 9", "leader 2", "lag 0", "0.4 s ago", "epoch 7"]),
        (LineState(status=SourceStatus(is_live=True, problem="nobody answers")),
         ["no answer yet", "nobody answers", "live", "no leader"]),
        (LineState(status=SourceStatus(offset=1), is_paused=True), ["paused", "offset 1"]),
        (
            LineState(
                status=SourceStatus(offset=1), is_paused=True, n_newer_states=1, n_newer_records=1
            ),
            ["paused: 1 newer state, 1 record", "offset 1"],
        ),
        (
            LineState(status=SourceStatus(), is_paused=True, n_newer_states=2),
            ["paused: 2 newer states"],
        ),
        (LineState(status=SourceStatus(), show_secrets=True), ["end of the log", "secrets shown"]),
        (LineState(status=SourceStatus(), problem="gone\x1b[m"), [r"gone\x1b[m", "end of the log"]),
    ],
)  # fmt: skip
def test_pieces(standing: LineState, texts: list[str]) -> None:
    """What matters most comes first; nothing in it steers the terminal."""
    assert texts == said(standing)


def test_kinds() -> None:
    """What is wrong is no mere fact."""
    kinds = {
        p.text: p.kind for p in pieces(LineState(status=SourceStatus(is_live=True, problem="x")))
    }
    assert {
        "x": "problem",
        "live": "place",
        "no leader": "problem",
        "no answer yet": "fact",
    } == kinds


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (80, "place  offset 12  epoch 3"),
        (24, "place  offset 12"),
        (15, "place  epoch 3"),
        (13, "place"),
        (4, "pla…"),
        (0, ""),
    ],
)
def test_facts_that_fit(width: int, expected: str) -> None:
    """A fact without room is left out whole; of none is a part shown but of the first."""
    facts = [Content("place"), Content("offset 12"), Content("epoch 3")]
    assert expected == fitting(facts, width).plain


@given(st.lists(st.text(CHARACTERS, max_size=12), max_size=6), st.integers(0, 40))
def test_facts_are_never_too_wide(texts: list[str], width: int) -> None:
    """Whatever the words and the width; wide characters count twice."""
    assert fitting([line(text) for text in texts], width).cell_length <= width


@given(st.text(CHARACTERS, max_size=40), st.integers(0, 30))
def test_cut(text: str, width: int) -> None:
    """A text that fits stays; another ends, or begins, with an ellipsis."""
    for shown, where in (
        (cut(text, width), str.endswith),
        (cut_front(text, width), str.startswith),
    ):
        assert display_width(shown) <= width
        assert shown == escape(text) or not width or where(shown, "…")


@pytest.mark.parametrize(
    ("progress", "n_more", "width", "expected"),
    [
        (None, 0, 80, "⠋ listing /image  esc cancels"),
        ((1, 3), 0, 80, "⠋ listing /image 33%  esc cancels"),
        ((5, 3), 2, 80, "⠋ listing /image 100% +2  esc cancels"),
        ((0, 0), 0, 80, "⠋ listing /image  esc cancels"),
        (None, 0, 28, "⠋ listing /ima…  esc cancels"),
        ((1, 2), 0, 20, "⠋ listing /image 50%"),
        ((1, 2), 0, 12, "⠋ listi… 50%"),
    ],
)
def test_work(progress: tuple[int, int] | None, n_more: int, width: int, expected: str) -> None:
    """What goes on; how to stop it is left out first."""
    text = work_text("listing /image", progress, n_more=n_more, width=width)
    assert expected == text


def test_spinner_moves() -> None:
    """Each frame differs from the one before."""
    assert len({work_text("x", None, frame=i) for i in range(10)}) == 10
