"""How far growing directories are followed: batches pass once, whatever happens to the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kraftgen.batch import encode_batch
from metashell.errors import SourceError
from metashell.log.chain import METADATA
from metashell.spark_backend.cursor import NO_LIMIT, Cursor, ListedLog, Walk, records_between


def batch(offset: int, n: int = 1, fill: bytes = b"x") -> bytes:
    """A batch of n records that hold nothing of use."""
    return encode_batch([fill * 20] * n, base_offset=offset)


class Growing:
    """A directory, and what a query that follows it was given."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cursor: Cursor | None = None
        self.read: list[int] = []

    def append(self, base: int, data: bytes) -> None:
        """Add bytes to a segment."""
        with (self.path / f"{base:020d}.log").open("ab") as file:
            file.write(data)

    def segments(self) -> ListedLog:
        """What is there now."""
        return ListedLog.at(str(self.path))

    def poll(self, *, fail: bool = True, limit: int = NO_LIMIT) -> list[int]:
        """One micro-batch, its cursors having gone through Spark's checkpoint: offsets read."""
        start = self.cursor
        end = Walk(self.segments(), fail=fail, limit=limit).run(start)
        if end is None or end == start:
            return []
        end = Cursor.from_json(json.loads(json.dumps(end.to_json())))
        if start is None or end.begun is not None:
            assert end.begun is not None
            start = Cursor(*end.begun)
        found = self.between(start, end.offset, fail=fail)
        self.cursor = end
        self.read += found
        return found

    def between(self, start: Cursor, last: int, *, fail: bool = True) -> list[int]:
        """The offsets behind a cursor up to one."""
        found = []
        for loaded in records_between(str(self.path), METADATA, start, last, fail=fail):
            view = memoryview(loaded.buffer)
            for at in loaded.files[0].chain.positions:
                base = int.from_bytes(view[at : at + 8], "big")
                found += range(base, base + int.from_bytes(view[at + 23 : at + 27], "big") + 1)
        return found


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    """An empty directory."""
    return Growing(tmp_path)


def test_every_batch_passes_once(growing: Growing) -> None:
    """Over appends, a torn tail that becomes whole, and a new segment."""
    assert [] == growing.poll()
    growing.append(0, batch(0, 3))
    assert [0, 1, 2] == growing.poll()
    assert [] == growing.poll()
    whole = batch(3, 2)
    growing.append(0, whole[:40])
    assert [] == growing.poll()
    growing.append(0, whole[40:])
    assert [3, 4] == growing.poll()
    growing.append(0, batch(5))
    growing.append(6, batch(6, 2))
    growing.append(6, batch(8)[:70])
    assert [5, 6, 7] == growing.poll()
    growing.append(6, batch(8)[70:])
    assert [8] == growing.poll()


def test_limit_is_kept_and_every_poll_gets_on(growing: Growing) -> None:
    """One batch at least, about as many bytes as allowed, until nothing is left."""
    for offset in range(10):
        growing.append(0 if offset < 5 else 5, batch(offset))
    size = len(batch(0))
    assert [0] == growing.poll(limit=1)
    assert [1, 2, 3] == growing.poll(limit=3 * size)
    assert [4, 5] == growing.poll(limit=2 * size)
    assert [6, 7, 8, 9] == growing.poll()


def test_segments_deleted_after_they_were_read_are_no_loss(growing: Growing) -> None:
    """The next segment begins with the next offset."""
    growing.append(0, batch(0, 4))
    growing.poll()
    growing.append(4, batch(4))
    (growing.path / f"{0:020d}.log").unlink()
    assert [4] == growing.poll()


def test_segments_deleted_before_they_were_read_are_told(growing: Growing) -> None:
    """With the offsets that are missing; or left out, if that is asked for."""
    growing.append(0, batch(0, 4))
    growing.poll()
    growing.append(4, batch(4, 3))
    growing.append(7, batch(7))
    for base in (0, 4):
        (growing.path / f"{base:020d}.log").unlink()
    with pytest.raises(SourceError, match=r"offsets 4 to 6 were deleted .*failOnDataLoss=false"):
        growing.poll()
    assert [7] == growing.poll(fail=False)
    assert [] == growing.poll()


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_truncation_is_told(growing: Growing, kept: int) -> None:
    """Even where other records took the place of those that are gone, to the byte."""
    growing.append(0, batch(0) + batch(1) + batch(2))
    growing.poll()
    name = growing.path / f"{0:020d}.log"
    name.write_bytes(b"".join(map(batch, range(kept))))
    for offset in range(kept, 3):
        growing.append(0, batch(offset, fill=b"y"))
    growing.append(0, batch(3))
    with pytest.raises(SourceError, match="truncated or replaced"):
        growing.poll()
    assert [3] == growing.poll(fail=False)


def test_a_segment_that_a_truncation_removed_is_told(growing: Growing) -> None:
    """The one before is there, and shorter than what was delivered."""
    growing.append(0, batch(0))
    growing.append(1, batch(1) + batch(2))
    growing.poll()
    (growing.path / f"{1:020d}.log").unlink()
    with pytest.raises(SourceError, match=r"00001\.log is gone, which held offset 2"):
        growing.poll()
    assert [] == growing.poll(fail=False)
    growing.append(1, batch(1, fill=b"z"))
    assert [1] == growing.poll(fail=False)


def test_damage_is_told_once_it_has_passed(growing: Growing) -> None:
    """At the end it may still become whole; behind a sound batch or in a closed segment not."""
    bad = bytearray(batch(1))
    bad[-1] ^= 1
    growing.append(0, batch(0) + bad)
    assert [0] == growing.poll()
    growing.append(0, batch(2))
    with pytest.raises(SourceError, match="CRC mismatch"):
        growing.poll()
    end = Walk(growing.segments(), fail=False).run(growing.cursor)
    assert end is not None
    assert 2 == end.offset


def test_torn_segment_that_is_closed_is_told(growing: Growing) -> None:
    """Another begins behind it."""
    growing.append(0, batch(0) + batch(1)[:65])
    growing.append(2, batch(2))
    with pytest.raises(SourceError, match="cut off"):
        growing.poll()
    assert 2 in growing.poll(fail=False)


def test_missing_segment_in_the_middle_is_told(growing: Growing) -> None:
    """Offsets between two segments are missing."""
    growing.append(0, batch(0))
    growing.append(5, batch(5))
    with pytest.raises(SourceError, match="offsets 1 to 4 are missing between"):
        growing.poll()
    assert [0, 5] == growing.poll(fail=False)


def test_records_that_are_written_meanwhile_wait(growing: Growing) -> None:
    """A query that ends with what was there when it began reads up to there and no further."""
    growing.append(0, batch(0))
    growing.append(0, batch(1))
    growing.append(2, batch(2))
    end = Walk(growing.segments(), fail=True, last_offset=0).run(None)
    assert end is not None
    assert 0 == end.offset
    assert end == Walk(growing.segments(), fail=True, last_offset=0).run(end)


def test_range_planned_before_and_gone_since_is_told(growing: Growing) -> None:
    """A query that was stopped reads it again from its checkpoint, and can't."""
    growing.append(0, batch(0))
    growing.append(1, batch(1))
    end = Walk(growing.segments(), fail=True).run(None)
    assert end is not None
    assert end.begun is not None
    start = Cursor(*end.begun)
    (growing.path / f"{0:020d}.log").unlink()
    with pytest.raises(SourceError, match=r"00000\.log was deleted before it was read"):
        growing.between(start, end.offset)
    assert [1] == growing.between(start, end.offset, fail=False)
