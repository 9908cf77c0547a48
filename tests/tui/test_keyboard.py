"""Bytes of a keyboard: what they mean, whatever they are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import constants
from textual.events import Key, MouseDown, Paste
from textual.message import Message

from metashell.tui.keyboard import MOST_PASTED, Keyboard

BEGIN, END = b"\x1b[200~", b"\x1b[201~"


def told(messages: Iterable[Message]) -> list[str]:
    """Names of keys, and what was pasted."""
    shown = {Key: lambda m: m.key, Paste: lambda m: f"paste {m.text!r}"}
    return [shown.get(type(m), lambda m: type(m).__name__)(m) for m in messages]


def after(*pieces: bytes) -> list[str]:
    """What pieces mean that come one after the other, with a pause behind each."""
    with patch.object(constants, "ESCAPE_DELAY", 0.0):
        keyboard = Keyboard()
        return [name for piece in pieces for name in (
            *told(keyboard.feed(piece)), *told(keyboard.tick())
        )]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"aZ", ["a", "Z"]),
        ("é✓".encode(), ["é", "check_mark"]),
        (b"\x1b[A\x1b[1;5C", ["up", "ctrl+right"]),
        (b"\x1bOP\x1b[[A\x1b[7$", ["f1", "f1", "shift+home"]),
        (b"\x1b", ["escape"]),
        (b"\x1bq", ["alt+q"]),
        (b"\x1b[", ["left_square_bracket"]),
        (b"\x1b[<0;3;4M", ["MouseDown"]),
        (b"\x1b[97u", ["a"]),
        (b"\0", ["ctrl+@"]),
        (b"\r\n", ["enter", "enter"]),
        (BEGIN + b"two\nlines" + END + b"x", ["paste 'two\\nlines'", "x"]),
    ],
)
def test_keys(data: bytes, keys: list[str]) -> None:
    """What terminals send."""
    assert keys == after(data)


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"\xff", ["replacement_character"]),
        (b"\xe9t", ["replacement_character", "t"]),  # Latin-1
        (b"\xc3\x28", ["replacement_character", "left_parenthesis"]),
        (b"\xed\xa0\x80", 3 * ["replacement_character"]),  # half of a surrogate pair
        (b"\x1b[99999999u", []),  # no such character
        (b"\x1b[97;1:3u", []),  # the kind of an event, which was not asked for
        (b"\x1b[::;:u", []),
        (b"\x1b[999q", []),
        (b"\x1b[12", []),
        (b"\x1b[" + 80 * b"1;" + b"q", []),
        (b"\x1b[" + 80 * b"1;" + b"\x1b[A", ["up"]),
        (b"\x1b]11;rgb:0000/0000/0000\x1b\\", []),
        (b"\x1b]0;q\\q\a", []),
        (b"\x1bP1$r0 q\x1b\\", []),
        (b"\x1b[M !!", []),  # the mouse, as terminals told it once
        (b"\x1b[48;0;0;0;0t\x1b[<0;3;4M", ["MouseDown"]),  # a size: the kernel has it
        (b"\x1b[48;99999;99999;9;9t", []),
        (b"\x1b[?2048;2$y", []),
    ],
)
def test_what_is_no_key(data: bytes, keys: list[str]) -> None:
    """What is broken or unknown is no key, in one piece or byte by byte; the next key is one."""
    keyboard = Keyboard()
    assert keys == [
        key for at in range(len(data)) for key in told(keyboard.feed(data[at : at + 1]))
    ]
    assert [*keys, "j"] == after(data, b"j")


def test_mouse_is_where_it_was_clicked() -> None:
    """A size in pixels scales nothing."""
    keyboard = Keyboard()
    (found,) = keyboard.feed(b"\x1b[48;10;10;1000;1000t\x1b[<0;31;41M")
    assert isinstance(found, MouseDown)
    assert (30.0, 40.0) == (found.x, found.y)


def test_string_without_an_end() -> None:
    """What never ends is over after a moment."""
    assert ["q"] == after(b"\x1b]52;c;", b"q")


@pytest.mark.parametrize("size", [1, 3, 4096])
def test_paste_holds_sequences(size: int) -> None:
    """What is pasted is text, escape sequences too, however it is cut."""
    text = "x\x1b" + 60 * "q" + "\x1b[A\x1b[201é\n"
    data = BEGIN + text.encode() + END + b"j"
    keyboard = Keyboard()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    found = [name for piece in pieces for name in told(keyboard.feed(piece))]
    assert [f"paste {text!r}", "j"] == found


def test_paste_without_nul() -> None:
    """NUL is left out of what is pasted."""
    assert ["paste 'ab'"] == after(BEGIN + b"a\0b" + END)


def test_huge_paste() -> None:
    """Of a huge one the beginning is kept, and that there was more."""
    keyboard = Keyboard()
    list(keyboard.feed(BEGIN))
    tracemalloc.start()
    try:
        for _ in range(64):
            assert [] == list(keyboard.feed(b"y" * (1 << 16)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
    (paste, key) = keyboard.feed(END + b"j")
    assert isinstance(paste, Paste)
    assert MOST_PASTED + 1 == len(paste.text)
    assert ["j"] == told([key])


def test_paste_without_an_end() -> None:
    """^C that is typed gets out of a paste whose end never comes; pasted it is text."""
    assert ["ctrl+c", "q"] == after(BEGIN + b"abc\x03def", b"\x03", b"q")


@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([b"\x1b[", BEGIN, b"\x1b]"]))))
def test_any_bytes(pieces: list[bytes]) -> None:
    """Nothing ends it, and after a moment and ^C every key is itself again."""
    assert after(*pieces, b"\x03", b"a\x03", b"j")[-1] == "j"
