"""How far a coordinator's log is followed: what compaction, brokers and faults do to the files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from kraftgen.batch import Record, encode_batch
from kraftgen.old_messages import encode_message
from metashell.errors import SourceError
from metashell.log.partition import CoordinatorPartition
from metashell.node_files.epoch_checkpoint import EpochStart
from metashell.schema.coordinators import CoordinatorLog
from metashell.spark_backend.cursor import (
    NO_LIMIT,
    Cursor,
    ListedLog,
    PartitionWalk,
    records_between,
)

GROUPS = CoordinatorPartition(CoordinatorLog.GROUPS, 3)
SHARE = CoordinatorPartition(CoordinatorLog.SHARE, 3)


def batch(offset: int, n: int = 1, epoch: int = 1, fill: bytes = b"x") -> bytes:
    """A batch of n records that hold nothing of use."""
    records = [Record(key=fill * 9, value=fill * 30)] * n
    return encode_batch(records, base_offset=offset, leader_epoch=epoch)


class Followed:
    """The directory of a partition, and what a query that follows it was given."""

    def __init__(self, path: Path, partition: CoordinatorPartition = GROUPS) -> None:
        self.path, self.partition = path, partition
        self.cursor: Cursor | None = None
        self.epochs: Sequence[EpochStart] = ()

    def write(self, base: int, *batches: bytes, end: str = ".log") -> Path:
        """Write a segment anew."""
        file = self.path / f"{base:020d}{end}"
        file.write_bytes(b"".join(batches))
        return file

    def poll(
        self, *, fail: bool = True, limit: int = NO_LIMIT, last_offset: int = NO_LIMIT
    ) -> list[int]:
        """One micro-batch, its cursor having gone through Spark's checkpoint: last offsets of the
        batches read.
        """
        walk = PartitionWalk(
            ListedLog.at(str(self.path)),
            self.partition.kind,
            lambda: self.epochs,
            fail=fail,
            limit=limit,
            last_offset=last_offset,
        )
        end, start = walk.run(self.cursor), self.cursor
        if end == start or end is None:
            return []
        end = Cursor.from_json(json.loads(json.dumps(end.to_json())))
        if start is None or (end.begun is not None and end.begun[2] != start.offset):
            assert end.begun is not None
            start = Cursor(*end.begun)
        self.cursor = end
        return self.between(start, end.offset, fail=fail)

    def between(self, start: Cursor, last: int, *, fail: bool = True) -> list[int]:
        """The last offset of each batch behind a cursor up to an offset."""
        found = []
        for loaded in records_between(str(self.path), self.partition.kind, start, last, fail=fail):
            (file,) = loaded.files
            view = memoryview(loaded.buffer)
            for at in file.chain.positions:
                delta = 0 if view[at + 16] < 2 else int.from_bytes(view[at + 23 : at + 27], "big")
                found.append(int.from_bytes(view[at : at + 8], "big") + delta)
        return found


@pytest.fixture
def log(tmp_path: Path) -> Followed:
    """An empty directory."""
    return Followed(tmp_path)


def test_what_is_written_passes_once(log: Followed) -> None:
    """A torn tail when it is whole; a new segment; no more than a limit, and one batch at least."""
    assert [] == log.poll()
    log.write(0, batch(0, 3), batch(3)[:40])
    assert [2] == log.poll()
    assert [] == log.poll()
    log.write(0, batch(0, 3), batch(3))
    log.write(4)
    assert [3] == log.poll()
    log.write(4, *map(batch, range(4, 10)))
    assert [4] == log.poll(limit=1)
    assert [5, 6] == log.poll(limit=2 * len(batch(5)))
    assert [7, 8] == log.poll(last_offset=8)
    assert [] == log.poll(last_offset=8)
    assert [9] == log.poll()


def test_compaction_is_followed(log: Followed) -> None:
    """It drops batches, those that were read last among them, and puts segments together."""
    log.write(0, batch(0), batch(1, 2), batch(3))
    log.write(4, batch(4), batch(5))
    assert [0, 2, 3, 4, 5] == log.poll()
    assert log.cursor is not None
    log.write(4).unlink()
    log.write(0, batch(1, 2), batch(4))
    log.write(6, batch(6))
    assert [6] == log.poll()
    log.write(6, batch(6), batch(7), batch(8))
    # What it dropped before it was read is not delivered.
    log.write(0)
    log.write(6, batch(8))
    log.write(9, batch(9))
    assert [8, 9] == log.poll()


def test_the_last_batch_that_was_read_is_dropped(log: Followed) -> None:
    """Nothing is repeated or lost, also while nothing follows."""
    log.write(0, batch(0), batch(1), batch(2))
    log.poll()
    log.write(0, batch(0))
    log.write(3)
    assert [] == log.poll()
    log.write(3, batch(3))
    assert [3] == log.poll()


def test_a_segment_that_takes_the_place_of_others(log: Followed) -> None:
    """For a moment it is called ``.swap``, and those may be there or not."""
    log.write(0, batch(0), batch(1))
    log.poll(limit=1)
    swap = log.write(0, batch(0), batch(1), batch(2), end=".log.swap")
    log.write(2, batch(2))
    log.write(3, batch(3))
    (log.path / f"{0:020d}.log").unlink()
    assert [1, 2, 3] == log.poll()
    (log.path / f"{2:020d}.log").unlink()
    assert [] == log.poll()
    swap.rename(log.path / f"{0:020d}.log")
    log.write(3, batch(3), batch(4))
    assert [4] == log.poll()


def test_segments_that_vanish_wait_for_the_next_look(log: Followed) -> None:
    """Compaction may take them away between being listed and being opened."""
    log.write(0, batch(0), batch(1))
    log.write(2, batch(2))
    log.poll(last_offset=0)
    listed = ListedLog.at(str(log.path))
    (log.path / f"{0:020d}.log").unlink()
    assert log.cursor is not None
    for cursor in (log.cursor, None):
        assert cursor == PartitionWalk(listed, GROUPS.kind, tuple, fail=True).run(cursor)
    log.write(0, batch(1))
    assert [1, 2] == log.poll()


def test_segments_deleted_from_the_front_are_no_loss(log: Followed) -> None:
    """Share coordinators delete what counts no more."""
    log.partition = SHARE
    log.write(0, batch(0))
    log.poll()
    log.write(0).unlink()
    log.write(5, batch(5))
    assert [5] == log.poll()
    log.write(7, batch(7))
    with pytest.raises(SourceError, match="offsets 6 to 6 are missing"):
        log.poll()
    assert [7] == log.poll(fail=False)


def test_truncation_is_told(log: Followed) -> None:
    """By the end of the log, or by the leader epoch that begins before what was read."""
    log.write(0, batch(0), batch(1), batch(2))
    log.poll()
    log.write(0, batch(0))
    with pytest.raises(SourceError, match=r"ends at offset 0, but offset 2 was read"):
        log.poll()
    log.write(0, batch(0), batch(1, epoch=2), batch(2, epoch=2), batch(3, epoch=2))
    log.epochs = [EpochStart(1, 0), EpochStart(2, 1)]
    with pytest.raises(SourceError, match=r"epoch 2 begins at offset 1.*failOnDataLoss=false"):
        log.poll()
    assert [3] == log.poll(fail=False)
    assert [] == log.poll()
    log.write(0, batch(0))
    log.epochs = ()
    assert [] == log.poll(fail=False)
    log.write(0, batch(0), batch(1))
    assert [1] == log.poll()


def test_a_newer_epoch_behind_what_was_read_is_no_truncation(log: Followed) -> None:
    """Though compaction dropped the batch that was read last."""
    log.write(0, batch(0), batch(1))
    log.poll()
    log.epochs = [EpochStart(1, 0), EpochStart(2, 2)]
    log.write(0)
    log.write(2, batch(2, epoch=2))
    assert [2] == log.poll()


def test_damage_is_told_once_it_has_passed(log: Followed) -> None:
    """At the end it may become whole."""
    bad = bytearray(batch(1))
    bad[-1] ^= 1
    log.write(0, batch(0), bytes(bad))
    assert [0] == log.poll()
    log.write(0, batch(0), bytes(bad), batch(2))
    with pytest.raises(SourceError, match="CRC mismatch"):
        log.poll()
    assert [2] == log.poll(fail=False)


def test_what_was_planned_is_read_later(log: Followed) -> None:
    """Less what compaction dropped meanwhile; damage and an end before it are errors."""
    log.write(0, *map(batch, range(4)))
    log.poll()
    assert log.cursor is not None
    start = Cursor(f"{0:020d}.log", 0, -1)
    log.write(0, batch(0), batch(3), batch(4))
    assert [0, 3] == log.between(start, 3)
    bad = bytearray(batch(1))
    bad[-1] ^= 1
    log.write(0, batch(0), bytes(bad), batch(3))
    with pytest.raises(SourceError, match="CRC mismatch"):
        log.between(start, 3)
    assert [0, 3] == log.between(start, 3, fail=False)
    log.write(0, batch(0))
    with pytest.raises(SourceError, match="it ends before offset 3"):
        log.between(start, 3)
    assert [0] == log.between(start, 3, fail=False)


@pytest.mark.parametrize("seed", range(8))
def test_every_poll_gives_what_is_behind_the_one_before(log: Followed, seed: int) -> None:
    """Whatever was appended, rolled or compacted meanwhile: what is there then, each once."""
    random = Random(seed)
    segments: dict[int, list[int]] = {0: []}
    end, read = 0, -1
    for _ in range(40):
        active = max(segments)
        match random.choice(("append", "append", "roll", "compact", "merge")):
            case "append":
                for offset in range(end, end := end + random.randint(1, 4)):
                    segments[active].append(offset)
            case "roll" if segments[active]:
                segments[end] = []
            case "compact":
                for base in segments.keys() - {active}:
                    segments[base] = [one for one in segments[base] if random.random() < 0.7]
            case "merge" if len(segments) > 2:
                first, second = sorted(segments)[:2]
                segments[first] += segments.pop(second)
        for file in log.path.iterdir():
            file.unlink()
        for base, offsets in segments.items():
            log.write(base, *map(batch, offsets))
        limit = random.choice((NO_LIMIT, 3 * len(batch(0))))
        there = [one for offsets in segments.values() for one in offsets if one > read]
        found = log.poll(limit=limit)
        assert sorted(there)[: len(found)] == found
        assert found or not there
        assert limit < NO_LIMIT or len(found) == len(there)
        read = max(found, default=read)


def test_messages_of_older_formats(log: Followed) -> None:
    """A message is shorter than a batch's header, and its batch is found again."""
    messages = [encode_message(magic, i, b"k", b"v") for i, magic in enumerate((0, 1, 1))]
    log.write(0, *messages[:2])
    assert [0, 1] == log.poll()
    log.write(0, *messages, batch(3))
    assert log.cursor is not None
    assert ListedLog.at(str(log.path)).holds(log.cursor)
    assert [2, 3] == log.poll()
