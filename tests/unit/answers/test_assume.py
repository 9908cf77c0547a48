"""What a user vouches for, from a server.properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.answers.assume import NO_ASSUMPTIONS, load_assumptions
from metashell.errors import SourceError


def test_a_file_is_read_as_kafka_reads_it(tmp_path: Path) -> None:
    """Escapes, continued lines; the last of two equal keys wins."""
    file = tmp_path / "server.properties"
    file.write_text("a=1\n# b=2\nc : 3\\\n  4\na = 5\n", "utf-8")
    found = load_assumptions(file)
    assert ("5", "34", None) == (found.get("a"), found.get("c"), found.get("b"))
    assert str(file) == found.path
    assert found


def test_nothing_is_assumed_without_a_file() -> None:
    """Every key is unknown."""
    assert NO_ASSUMPTIONS.get("min.insync.replicas") is None
    assert not NO_ASSUMPTIONS


def test_passwords_stay_out_of_a_repr(tmp_path: Path) -> None:
    """Such a file holds them."""
    file = tmp_path / "f"
    file.write_text("ssl.key.password=hunter2\n", "utf-8")
    assert "hunter2" not in repr(load_assumptions(file))


@pytest.mark.parametrize("content", [None, b"a=\\u12zz hunter2", b"x" * (5 << 20)])
def test_a_file_that_cannot_be_read_is_told_by_its_name(
    tmp_path: Path, content: bytes | None
) -> None:
    """Missing, malformed, too large."""
    file = tmp_path / "f"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SourceError) as error:
        load_assumptions(file)
    assert str(file) in error.value.message
    assert "hunter2" not in error.value.message
