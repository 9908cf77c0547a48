"""`partition.metadata`: sound ones, and others."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.node_files.partition_metadata import (
    PartitionMetadata,
    parse_partition_metadata,
    read_partition_metadata,
)

ID = "ctMhabWdRhOwxC2mPFbG9A"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (f"version: 0\ntopic_id: {ID}", PartitionMetadata(0, ID)),
        (f"version: 0\ntopic_id: {ID}\n", PartitionMetadata(0, ID)),
        (f"version:  1\r\ntopic_id:\t{ID}==\r\nnew: x\n", PartitionMetadata(1, ID)),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", PartitionMetadata(0, "A" * 21 + "Q")),
    ],
)
def test_parses(data: str, expected: PartitionMetadata) -> None:
    """Later versions are read by the same lines."""
    assert expected == parse_partition_metadata(data.encode(), "f")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "f:1: no version: ''"),
        (b"nonsense", "f:1: no version: 'nonsense'"),
        (b"version: -1\ntopic_id: x", "f:1: no version"),
        (b"version: 2147483648\ntopic_id: x", "f:1: no version"),
        (b"version:0\ntopic_id: x", "f:1: no version"),
        (b"version: 0", "f:2: no topic id: ''"),
        (b"version: 0\ntopic_id: short", "f:2: no topic id"),
        (b"version: 0\ntopic_id: " + b"A" * 22, "f:2: the topic id is zero"),
        (b"version: 0\ntopic_id: " + b"+" * 22, "f:2: no topic id"),
        (b"version: 0\ntopic_id: " + b"A" * 24, "f:2: no topic id"),
        (b"version: 0\ntopic_id: " + b"A" * 22 + b"=", "f:2: no topic id"),
        (b"version: 0\ntopic_id: \x1b[2J" + b"A" * 3000, "f:2: no topic id"),
    ],
)
def test_refuses(data: bytes, part: str) -> None:
    """Each error names the file and the line, in a bounded message without control characters."""
    with pytest.raises(SourceError) as caught:
        parse_partition_metadata(data, "f")
    message = caught.value.message
    assert message.startswith(part)
    assert len(message) < 100
    assert message.isprintable()


@given(st.binary(max_size=60))
def test_random_bytes(data: bytes) -> None:
    """Nothing but a SourceError comes out."""
    for head in (b"", b"version: 0\n", b"version: 0\ntopic_id: "):
        with suppress(SourceError):
            parse_partition_metadata(head + data, "f")


def test_reads_a_file(tmp_path: Path) -> None:
    """None where there is none; a large one is refused."""
    assert read_partition_metadata(tmp_path) is None
    file = tmp_path / "partition.metadata"
    file.write_text(f"version: 0\ntopic_id: {ID}")
    assert PartitionMetadata(0, ID) == read_partition_metadata(tmp_path)
    file.write_bytes(b"version: 0\n" + bytes(5000))
    with pytest.raises(SourceError, match="larger than"):
        read_partition_metadata(tmp_path)
