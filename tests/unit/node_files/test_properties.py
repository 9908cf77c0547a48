"""Java properties: the quick parser and the library agree."""

from __future__ import annotations

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.node_files.properties import parse_properties

_PIECES = st.sampled_from(
    [b"a", b"b.c", b"=", b":", b" ", b"\t", b"\f", b"#", b"!", b"\n", b"\r", b"\r\n", b"\xe9",
     b"\x85", b"\x0b", b"\0", b"\x1c"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=30).map(b"".join))
def test_quick_parser_equals_library(data: bytes) -> None:
    """Files without a backslash are read as the library reads them."""
    assert dict(javaproperties.loads(data)) == parse_properties(data, "f")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", {}),
        (b"a=1\na=2", {"a": "2"}),
        (b"a\\ b=c\\u00e9\\\n   d", {"a b": "c\xe9d"}),
        (b"path=C:\\\\x", {"path": "C:\\x"}),
        (b"a = b = c ", {"a": "b = c "}),
    ],
)
def test_parses(data: bytes, expected: dict[str, str]) -> None:
    """Escapes, continued lines, blanks around the separator, the last of two."""
    assert expected == parse_properties(data, "f")


def test_malformed_escape_shows_no_value() -> None:
    """The error names the file and nothing of its content."""
    with pytest.raises(SourceError) as caught:
        parse_properties(b"password=hunter2\\u12zz", "f.properties")
    assert "f.properties: a malformed \\uXXXX escape" == caught.value.message
    assert caught.value.__cause__ is None
