"""Lines of a terminal's width: where they break, and where they never do."""

from __future__ import annotations

import pytest

from metashell.commands.shared.columns import display_width
from metashell.commands.shared.wrapped import sentence_lines, wrapped

PATH = "/image/topics/byName/orders/0"


def test_lines_break_between_words() -> None:
    """A path and a key with dots are one word each; spaces between columns stay."""
    text = f"1891  12:39  see {PATH} about min.insync.replicas"
    assert wrapped(text, 34) == ["1891  12:39  see", PATH, "about min.insync.replicas"]
    assert wrapped("", 10) == [""]
    assert wrapped("a b c", 3, "  ") == ["a b", "  c"]


@pytest.mark.parametrize(
    ("word", "width", "expected"),
    [
        (
            "INTERNAL://10.0.0.1:9092,CLIENTS://h:1",
            26,
            ["INTERNAL://10.0.0.1:9092,", "CLIENTS://h:1"],
        ),
        ("/image/topics/orders", 14, ["/image/topics/", "orders"]),
        ("min.insync.replicas", 12, ["min.insync.", "replicas"]),
        ("host-10.0.0.1", 9, ["host-10.0.0.1"]),
        ("__consumer_offsets", 11, ["__consumer_", "offsets"]),
        ("a,b,c,d", 4, ["a,b,", "c,d"]),
    ],
)
def test_a_word_that_is_too_wide_breaks_behind_a_sign(
    word: str, width: int, expected: list[str]
) -> None:
    """Between entries of a list first, then in a path, then in a name; an address never breaks."""
    assert wrapped(word, width) == expected


@pytest.mark.parametrize("width", range(1, 30))
@pytest.mark.parametrize("text", ["日本語 e\u0301x/y", "a,,,;b", "....", "x" * 40 + " y", " a  b "])
def test_nothing_is_lost(text: str, width: int) -> None:
    """Whatever stands in a text; only what has no place to break is wider than a line."""
    lines = wrapped(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(display_width(line) <= width or " " not in line.strip() for line in lines)


def test_a_command_in_a_diagnostic_stays_on_a_line() -> None:
    """So that it can be copied; a hint's lines begin where it begins."""
    hint = "  hint: run `metashell demo config --unknown` to see more of it"
    assert sentence_lines(hint, 44) == [
        "  hint: run",
        "    `metashell demo config --unknown` to see",
        "    more of it",
    ]
