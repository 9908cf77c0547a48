"""Whether a log only grew by NoOps, told from what came."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from kraftgen.batch import Codec, encode_batch
from metashell.records.noops import only_noops_came
from support.logs import make_directory, record, topic_batch, topic_record

NOOP = record("NoOpRecord")
_FIRST = topic_batch(0, 4)


def batch(*values: bytes, base: int = 4, codec: Codec = "none") -> bytes:
    """A batch behind the first."""
    return encode_batch(list(values), base_offset=base, codec=codec)


def is_quiet(parent: Path, added: bytes, before: bytes = _FIRST) -> bool:
    """What is said of a log that grew."""
    directories = [parent / "before", parent / "after"]
    for directory in directories:
        directory.mkdir()
    first = metashell.open(make_directory(directories[0], (0, before)))
    second = metashell.open(make_directory(directories[1], (0, _FIRST + added)))
    return only_noops_came(first.log, second.log, first.registry)


_QUIET = {
    "one": batch(NOOP),
    "three": batch(NOOP) + batch(NOOP, base=5) + batch(NOOP, base=6),
}
_LOUD = {
    "nothing": b"",
    "topic beside it": batch(NOOP, topic_record(7)),
    "topic behind it": batch(NOOP) + batch(topic_record(7), base=5),
    "topic before it": batch(topic_record(7)) + batch(NOOP, base=5),
    "compressed": batch(NOOP, codec="gzip"),
    "unknown type": batch(NOOP[:1] + b"\x7f" + NOOP[2:]),
    "unknown frame": batch(b"\x02" + NOOP[1:]),
    "early access": batch(b"\0" + NOOP[1:]),
    "unknown version": batch(NOOP[:2] + b"\x09" + NOOP[3:]),
    "cut": batch(NOOP[:1]),
    "empty": batch(b""),
    "torn": batch(NOOP) + batch(NOOP, base=5)[:-1],
    "too many": b"".join(batch(NOOP, base=4 + i) for i in range(65)),
}


@pytest.mark.parametrize(
    ("added", "expected"),
    [(data, True) for data in _QUIET.values()] + [(data, False) for data in _LOUD.values()],
    ids=[*_QUIET, *_LOUD],
)
def test_what_came(tmp_path: Path, added: bytes, expected: bool) -> None:
    """NoOps that stand alone say nothing; another record, a damaged or a strange one does."""
    assert expected == is_quiet(tmp_path, added)


def test_another_log(tmp_path: Path) -> None:
    """Where the last batch that was known is another one, everything is new."""
    assert not is_quiet(tmp_path, batch(NOOP), topic_batch(0, 4, leader_epoch=0))


def test_nothing_known(tmp_path: Path) -> None:
    """Behind a log without batches anything is new."""
    assert not is_quiet(tmp_path, batch(NOOP), b"")
