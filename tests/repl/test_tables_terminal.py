"""Tables of one-shot commands on a real terminal, as an operator sees them."""

from __future__ import annotations

import sys

import pytest

from support.fixtures import DEMO
from support.pty import Terminal

pytestmark = pytest.mark.pty

COMMAND = [sys.executable, "-m", "metashell", "-d", str(DEMO)]


def lines_of(words: list[str], *, rows: int = 24, columns: int = 80) -> tuple[list[str], bytes]:
    """What stands on the screen in the end, and what was sent."""
    env = {"TERM": "xterm-256color"}
    with Terminal([*COMMAND, *words], env=env, rows=rows, columns=columns) as terminal:
        assert 0 == terminal.read_to_end()
        return terminal.lines, terminal.raw


def test_offline_partitions_at_80_columns() -> None:
    """Each row is a line, and what is wrong is red."""
    lines, raw = lines_of(["partitions", "--offline"])
    assert lines[0].startswith("TOPIC        PARTITION  LEADER")
    assert lines[1].startswith("csv-imports          1       -")
    assert lines[1].endswith("12:39:49")
    assert lines[4].startswith("… times of 2026-11-22 UTC; more columns")
    assert b"\x1b[31m" in raw


def test_a_summary_stands_below_more_rows_than_the_screen() -> None:
    """The first lines are out of sight; the last ones say what they say together, and the date."""
    lines, _ = lines_of(["partitions", "--under-replicated"], rows=10)
    last = " ".join(line.strip() for line in lines if line).partition("… ")[2]
    assert last.startswith("13 partitions of 6 topics are under-replicated, since 12:39:49")
    assert "times of 2026-11-22 UTC; more columns (--columns, -o json): replicas, " in last


def test_no_rows_on_a_terminal() -> None:
    """One sentence, and no head of a table."""
    lines, _ = lines_of(["partitions", "--offline", "payments"])
    assert ["partitions: no partition of payments is offline"] == [line for line in lines if line]
