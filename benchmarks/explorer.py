"""The figures of the explorer: what is pressed on a terminal, on which directory."""

from __future__ import annotations

from typing import Final

from children import BY_NAME, middle_topic
from directories import Directories
from measure import Measurement
from terminal import DOWN_AND_UP, bytes_of_views, first_paint, key_press, keys_while_busy, search

_PRESSES_A_RUN: Final = 15
"""Of `tui-busy-keys`: seven runs take as long as the work."""
PATTERN: Final = r"partitionId=7 .*isr=\[1,"
"""A few of all records match it; `log-grep` takes it, too."""
_OPEN: Final = b"end of the log"
"""What the explorer draws once its source is open."""


def tui_first_paint(_: Directories, runs: int) -> Measurement:
    """The explorer on the bundled sample, until its first picture is on the terminal."""
    return first_paint(["demo", "tui"], b"Explorer", runs)


def tui_first_paint_large(directories: Directories, runs: int) -> Measurement:
    """The same on a large directory, until the first panel of Home has its rows."""
    arguments = ["-d", str(directories.changed().log_dir), "--engine", "local", "tui"]
    return first_paint(arguments, b"leader ", runs)


def tui_key(directories: Directories, runs: int) -> Measurement:
    """An arrow key among the topics of a large directory."""
    return _tui_keys(directories, runs, DOWN_AND_UP)


def tui_focus(directories: Directories, runs: int) -> Measurement:
    """To another part of the view and back."""
    return _tui_keys(directories, runs, (b"\t", b"\x1b[Z"))


def tui_view(directories: Directories, runs: int) -> Measurement:
    """To another view and back."""
    return _tui_keys(directories, runs, (b"4", b"1"))


def tui_busy_keys(directories: Directories, runs: int) -> Measurement:
    """Arrow keys in the tree while Health folds all partitions of a large directory."""
    arguments = _tui_among_topics(directories)
    presses = _PRESSES_A_RUN * runs
    return keys_while_busy(arguments, _OPEN, (b"3", b"1"), presses)


def tui_view_bytes(directories: Directories, runs: int) -> Measurement:
    """What a switch between the views sends."""
    keys = (b"1", b"2", b"3", b"4", b"5")
    return bytes_of_views(_tui_among_topics(directories), _OPEN, keys, runs)


def tui_search(directories: Directories, runs: int) -> Measurement:
    """A regular expression over the records of a large log."""
    return search(_tui_among_topics(directories), _OPEN, PATTERN, runs)


def _tui_among_topics(directories: Directories) -> list[str]:
    log_dir = directories.changed().log_dir
    path = f"{BY_NAME}/{middle_topic(log_dir)}"
    return ["-d", str(log_dir), "--engine", "local", "tui", path]


def _tui_keys(directories: Directories, runs: int, keys: tuple[bytes, bytes]) -> Measurement:
    log_dir = str(directories.changed().log_dir)
    arguments = ["-d", log_dir, "--engine", "local", "tui", BY_NAME]
    return key_press(arguments, _OPEN, runs, keys)
