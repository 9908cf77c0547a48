"""`leader-epoch-checkpoint`: sound ones, and others."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.node_files.epoch_checkpoint import (
    EpochStart,
    parse_epoch_checkpoint,
    read_epoch_checkpoint,
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"0", []),
        (b"0\n", []),
        (b"0\n0\n", []),
        (b"0\n1\n1 0\n", [(1, 0)]),
        (b"0\n3\n1 0\n2 148\n4 214", [(1, 0), (2, 148), (4, 214)]),
        (b"0\r\n1\r\n5 9223372036854775807\r\n", [(5, 2**63 - 1)]),
    ],
)
def test_parses(data: bytes, expected: list[tuple[int, int]]) -> None:
    """Entries in order, with or without a last line end; a file that ends before has none."""
    assert tuple(EpochStart(*pair) for pair in expected) == parse_epoch_checkpoint(data, "f")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"\0\0\0\0", "f: nothing but zero bytes"),
        (b"\n", "f:1: not a number"),
        (b"0\n\n", "f:2: not a number"),
        (b"0\n1\n1 0\n\n", "f:2: 1 entries announced, 2 found"),
        (b"x\n", "f:1: not a number: 'x'"),
        (b"1\n0\n", "f:1: version 1 is unknown"),
        (b"0\n-1\n", "f:2: not a number"),
        (b"0\n2\n1 0\n", "f:2: 2 entries announced, 1 found"),
        (b"0\n1\n1 0\n2 5\n", "f:2: 1 entries announced, 2 found"),
        (b"0\n1\n1\n", "f:3: not an epoch and an offset"),
        (b"0\n1\n1 0 0\n", "f:3: not an epoch and an offset"),
        (b"0\n1\n\xb2 0\n", "f:3: not an epoch and an offset"),
        (b"0\n1\n1 9223372036854775808\n", "f:3: not an epoch and an offset"),
        (b"0\n1\n1 " + b"9" * 10_000, "f:3: not an epoch and an offset"),
        (b"0\n2\n2 0\n1 5\n", "f:4: not above the entry before it"),
        (b"0\n2\n1 5\n2 4\n", "f:4: not above the entry before it"),
    ],
)
def test_refuses(data: bytes, part: str) -> None:
    """Each error names the file and the line, in a bounded message."""
    with pytest.raises(SourceError) as caught:
        parse_epoch_checkpoint(data, "f")
    assert caught.value.message.startswith(part)
    assert len(caught.value.message) < 120


@given(st.text("0123456789 \n\r-x", max_size=40))
def test_random_text(text: str) -> None:
    """Nothing but a SourceError comes out."""
    with suppress(SourceError):
        parse_epoch_checkpoint(text.encode(), "f")


def test_reads_a_file(tmp_path: Path) -> None:
    """None where there is none."""
    file = tmp_path / "leader-epoch-checkpoint"
    assert read_epoch_checkpoint(file) is None
    file.write_text("0\n1\n1 0\n")
    assert (EpochStart(1, 0),) == read_epoch_checkpoint(file)
