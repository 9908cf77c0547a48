"""Bytes as people read them."""

from __future__ import annotations

from metashell.tui.records.short_lines import fitting_width, hex_lines


def test_hex_lines() -> None:
    """Position, hex in two halves, and ASCII; the last line is padded."""
    data = bytes(range(0x20, 0x33))
    assert list(hex_lines(data, 0x10)) == [
        "0010  20 21 22 23 24 25 26 27  28 29 2a 2b 2c 2d 2e 2f  " + " !\"#$%&'()*+,-./",
        "0020  30 31 32" + " " * 42 + "012",
    ]


def test_what_steers_a_terminal_is_a_dot() -> None:
    """No byte but printable ASCII is shown as itself."""
    (line,) = hex_lines(b"\x1b[31m\x00\xff\n", width=8)
    assert line.endswith("  .[31m...")


def test_long_bytes_are_cut() -> None:
    """How many bytes are left is told."""
    lines = list(hex_lines(b"x" * 100, most=32))
    assert len(lines) == 3
    assert lines[-1] == "... 68 more bytes"


def test_no_bytes() -> None:
    """Nothing is no line."""
    assert list(hex_lines(b"")) == []


def test_fitting_width() -> None:
    """A narrow screen shows half as many bytes a line."""
    assert (fitting_width(80), fitting_width(60)) == (16, 8)
