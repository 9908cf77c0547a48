"""`meta.properties` of every version, and of none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.node_files.meta_properties import (
    MetaProperties,
    parse_meta_properties,
    read_meta_properties,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version=0\nbroker.id=3\n", MetaProperties(0, None, 3, None)),
        ("version=0\nbroker.id=3\ncluster.id=c\n", MetaProperties(0, "c", 3, None)),
        ("version=0\nbroker.id=-1\n", MetaProperties(0, None, None, None)),
        (
            "#\n#Sat Nov 21 08:44:57 UTC 2026\nnode.id=1\ndirectory.id=LrVB96P2TA2PKrSUwMtEqw\n"
            "version=1\ncluster.id=9GMRdWz9QsGCCMbJUkvJ7w\n",
            MetaProperties(1, "9GMRdWz9QsGCCMbJUkvJ7w", 1, "LrVB96P2TA2PKrSUwMtEqw"),
        ),
        ("version=2\nnode.id=1\nnew=x\n", MetaProperties(2, None, 1, None)),
        ("version = 1 \nnode.id : 7 \ncluster.id=\n", MetaProperties(1, None, 7, None)),
    ],
)
def test_parses(text: str, expected: MetaProperties) -> None:
    """Later versions are read by the same names."""
    assert expected == parse_meta_properties(text.encode(), "f")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "no `version`"),
        (b"\x00\x01\xff" * 100, "no `version`"),
        (b"version=x", "`version` is not a number"),
        (b"version=1\nnode.id=2147483648", "`node.id` is not a number"),
        (b"version=1\nnode.id=" + b"9" * 5000, "`node.id` is not a number"),
        (b"version=1\nnode.id=\xb2", "`node.id` is not a number"),
        (b"version=1\ncluster.id=a\x1b[2Jb", "`cluster.id` is not an id"),
        (b"version=1\ncluster.id=" + b"a" * 300, "`cluster.id` is not an id"),
        (b"version=1\\u00", "malformed"),
    ],
)
def test_refuses(data: bytes, part: str) -> None:
    """Each error names the file and the key, in a bounded line without control characters."""
    with pytest.raises(SourceError) as caught:
        parse_meta_properties(data, "dir/meta.properties")
    message = caught.value.message
    assert message.startswith("dir/meta.properties: ")
    assert part in message
    assert len(message) < 200
    assert message.isprintable()


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    """Nothing but a SourceError comes out."""
    with suppress(SourceError):
        parse_meta_properties(b"version=1\n" + data, "f")


def test_reads_a_file(tmp_path: Path) -> None:
    """None where there is none."""
    file = tmp_path / "meta.properties"
    assert read_meta_properties(file) is None
    file.write_text("version=1\nnode.id=5\n")
    assert MetaProperties(1, None, 5, None) == read_meta_properties(file)
