"""Checkpoint files with an offset for each log: sound ones, and others."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.node_files import checkpoint_file
from metashell.node_files.checkpoint_file import (
    OffsetCheckpoint,
    parse_offset_checkpoint,
    read_offset_checkpoint,
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"0\n0\n", {}),
        (b"0\n1\norders 0 17\n", {("orders", 0): 17}),
        (b"0\r\n2\r\na.b-c 10 0\r\n__x 2147483647 9223372036854775807",
         {("a.b-c", 10): 0, ("__x", 2**31 - 1): 2**63 - 1}),
        (b"0\n1\norders  0\t-1 \n", {("orders", 0): -1}),
        (b"0\n2\na 0 1\na 0 2\n", {("a", 0): 2}),
    ],
)  # fmt: skip
def test_parses(data: bytes, expected: dict[tuple[str, int], int]) -> None:
    """Of two entries the last counts."""
    assert expected == parse_offset_checkpoint(data, "f")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"\0" * 100, "f: nothing but zero bytes"),
        (b"1\n0\n", "f:1: version 1 is unknown"),
        (b"\xff\xfe\n0\n", "f:1: not a number"),
        (b"0\n2147483647\n", "f:2: 2147483647 entries announced, 0 found"),
        (b"0\n2\na 0 1\n", "f:2: 2 entries announced, 1 found"),
        (b"0\n1\na 0\n", "f:3: not a topic, a partition and an offset"),
        (b"0\n1\na 0 1 2\n", "f:3: not a topic"),
        (b"0\n1\na -1 1\n", "f:3: not a topic"),
        (b"0\n1\na 2147483648 1\n", "f:3: not a topic"),
        (b"0\n1\na 0 9223372036854775808\n", "f:3: not a topic"),
        (b"0\n2\na 0 1\n\x1b[2J 0 1\n", "f:4: not a topic"),
        (b"0\n1\n" + b"a" * 250 + b" 0 1\n", "f:3: not a topic"),
        (b"0\n1\n" + b"9" * 100_000, "f:3: not a topic"),
    ],
)
def test_refuses(data: bytes, part: str) -> None:
    """Each error names the file and the line, in a bounded message without control characters."""
    with pytest.raises(SourceError) as caught:
        parse_offset_checkpoint(data, "f")
    message = caught.value.message
    assert message.startswith(part)
    assert len(message) < 120
    assert message.isprintable()


def test_more_entries_than_a_broker_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused before they are made."""
    monkeypatch.setattr(checkpoint_file, "_ENTRIES_MAX", 5)
    with pytest.raises(SourceError, match="f: more than 5 entries"):
        parse_offset_checkpoint(b"0\n6\n" + b"a 0 1\n" * 6, "f")


@given(st.binary(max_size=60))
def test_random_bytes(data: bytes) -> None:
    """Nothing but a SourceError comes out."""
    for head in (b"", b"0\n", b"0\n1\n"):
        with suppress(SourceError):
            parse_offset_checkpoint(head + data, "f")


def test_reads_a_file(tmp_path: Path) -> None:
    """None where there is none; the name is that of the kind."""
    assert read_offset_checkpoint(tmp_path, OffsetCheckpoint.LOG_START) is None
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\na 1 5\n")
    assert {("a", 1): 5} == read_offset_checkpoint(tmp_path, OffsetCheckpoint.LOG_START)
