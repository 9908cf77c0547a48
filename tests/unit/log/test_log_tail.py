"""The end of a log without its records: snapshots, indexes, markers, what is wrong with them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import crc32c
import pytest

from kraftgen.batch import Damage, control_record, encode_batch
from kraftgen.old_messages import encode_message
from metashell.errors import SourceError
from metashell.image.coordinators.producers import fold_producers
from metashell.log.log_tail import LogTail

COMMIT: Final = 1
_TIME: Final = 1_790_000_000_000


def data(
    offset: int, producer: int, *, n: int = 1, size: int = 10, transactional: bool = True
) -> bytes:
    """A batch of data."""
    return encode_batch(
        [b"x" * size] * n,
        base_offset=offset,
        producer_id=producer,
        transactional=transactional,
        timestamp=_TIME + offset,
    )


def marker(offset: int, producer: int, damage: Damage | None = None) -> bytes:
    """A marker that commits."""
    return encode_batch(
        [control_record(COMMIT, struct.pack(">hi", 0, 7))],
        base_offset=offset,
        producer_id=producer,
        control=True,
        transactional=True,
        timestamp=_TIME + offset,
        damage=damage,
    )


def snapshot(*producers: tuple[int, int]) -> bytes:
    """A snapshot of producers: id, and where a transaction is open."""
    body = struct.pack(">i", len(producers)) + b"".join(
        struct.pack(">qhiqiqiq", producer, 0, 3, 5, 0, _TIME, -1, begins)
        for producer, begins in producers
    )
    return struct.pack(">hI", 1, crc32c.crc32c(body)) + body


def write(place: Path, base: int, *batches: bytes) -> LogTail:
    """Add a segment."""
    (place / f"{base:020d}.log").write_bytes(b"".join(batches))
    return LogTail(str(place), "t-0")


def open_transactions(tail: LogTail) -> dict[int, int]:
    """Where each producer's transaction is open."""
    state = fold_producers(tail.producers())
    return dict(
        zip(state.producer_id.tolist(), state.current_txn_first_offset.tolist(), strict=True)
    )


def test_only_what_lies_behind_the_snapshot_counts(tmp_path: Path) -> None:
    """Batches before it are not looked at, even those in the same segment."""
    write(tmp_path, 0, data(0, 1), data(1, 2))
    tail = write(tmp_path, 2, data(2, 3), data(3, 4))
    (tmp_path / f"{3:020d}.snapshot").write_bytes(snapshot((9, 1)))
    assert {4: 3, 9: 1} == open_transactions(tail)
    (tmp_path / f"{4:020d}.snapshot").write_bytes(snapshot())
    assert {} == open_transactions(LogTail(str(tmp_path), "t-0"))


def test_a_broken_snapshot_gives_way_to_an_older_one(tmp_path: Path) -> None:
    """As a broker does; and where there is none, the whole log tells."""
    tail = write(tmp_path, 0, data(0, 1), data(1, 2), marker(2, 1), data(3, 3))
    broken = bytearray(snapshot((9, 1)))
    broken[-1] ^= 1
    for offset, content in ((2, bytes(broken)), (3, b"\0\1"), (1, b"\0\2" + bytes(40))):
        (tmp_path / f"{offset:020d}.snapshot").write_bytes(content)
    history = tail.producers()
    assert {1: -1, 2: 1, 3: 3} == open_transactions(tail)
    assert ["cut off", "CRC mismatch", "unknown version"] == [
        next(w for w in ("cut off", "CRC mismatch", "unknown version") if w in fault.reason)
        for fault in history.faults
    ]
    (tmp_path / f"{1:020d}.snapshot").write_bytes(snapshot((8, 0)))
    assert {1: -1, 2: 1, 3: 3, 8: 0} == open_transactions(LogTail(str(tmp_path), "t-0"))


def test_a_snapshot_behind_the_end_is_of_a_log_that_was_cut(tmp_path: Path) -> None:
    """A broker drops it."""
    tail = write(tmp_path, 0, data(0, 1), data(1, 2))
    (tmp_path / f"{1:020d}.snapshot").write_bytes(snapshot((8, 0)))
    (tmp_path / f"{7:020d}.snapshot").write_bytes(snapshot((9, 5)))
    assert {2: 1, 8: 0} == open_transactions(tail)


@pytest.mark.parametrize("size", [10, 200_000])
def test_markers_end_transactions(tmp_path: Path, size: int) -> None:
    """However far apart the batches are."""
    tail = write(
        tmp_path, 0, data(0, 1, size=size), data(1, 2, size=size), marker(2, 1), data(3, 2)
    )
    assert {1: -1, 2: 1} == open_transactions(tail)
    state = fold_producers(tail.producers())
    assert [7, -1] == state.coordinator_epoch.tolist()
    end = tail.end()
    assert (0, 4, _TIME + 3) == (end.start_offset, end.end_offset, end.last_timestamp_ms)


def test_a_marker_with_a_wrong_crc_is_told(tmp_path: Path) -> None:
    """It ends nothing."""
    tail = write(tmp_path, 0, data(0, 1), marker(1, 1, Damage(crc_xor=1)), data(2, 2))
    assert {1: 0, 2: 2} == open_transactions(tail)
    (fault,) = tail.producers().faults
    assert "CRC mismatch of a marker" in fault.reason


def test_what_is_no_batch_ends_the_walk(tmp_path: Path) -> None:
    """That is told, but of a tail which a broker may be writing, and of what is preallocated."""
    whole = data(2, 2)
    for behind, faults in ((bytes(300), 0), (whole[:-3], 0), (whole[:30], 0), (b"\xff" * 99, 1)):
        tail = write(tmp_path, 0, data(0, 1), data(1, 1), behind)
        assert 2 == tail.end().end_offset
        assert faults == len(tail.producers().faults), behind
    write(tmp_path, 0, data(0, 1), whole[:-3])
    tail = write(tmp_path, 5, data(5, 3))
    assert {1: 0, 3: 5} == open_transactions(tail)
    (fault,) = tail.producers().faults
    assert "cut off" in fault.reason


def test_older_formats_have_no_producers(tmp_path: Path) -> None:
    """They are hopped over."""
    tail = write(
        tmp_path,
        0,
        encode_message(0, 0, b"k", b"v"),
        encode_message(1, 1, b"", b"", timestamp=_TIME),
        data(2, 1),
    )
    assert {1: 2} == open_transactions(tail)
    assert [None, _TIME, _TIME + 2, None] == tail.batch_times([0, 1, 2, 3])


def test_indexes_are_believed_where_a_batch_begins(tmp_path: Path) -> None:
    """A right index leads past the batches before, a wrong one leads nowhere."""
    batches = [data(i, i) for i in range(6)]
    tail = write(tmp_path, 0, *batches)
    index = tmp_path / f"{0:020d}.index"
    right = struct.pack(">II", 3, sum(map(len, batches[:3])))
    for content in (right, right + bytes(64), struct.pack(">II", 3, 77), b"\1\2\3", b"", bytes(80)):
        index.write_bytes(content)
        assert 6 == tail.end().end_offset
        assert [_TIME + 1, _TIME + 4, None] == tail.batch_times([1, 4, 6])


def test_gaps_and_several_segments(tmp_path: Path) -> None:
    """The time behind a gap is that of the next batch, in the next segment if need be."""
    write(tmp_path, 0, data(0, 1))
    write(tmp_path, 10, data(12, 1))
    tail = write(tmp_path, 20)
    assert [_TIME + 12, _TIME + 12, None] == tail.batch_times([5, 11, 13])
    end = tail.end()
    assert (20, _TIME + 12) == (end.end_offset, end.last_timestamp_ms)


def test_nothing_there(tmp_path: Path) -> None:
    """A directory without segments is no log."""
    with pytest.raises(SourceError, match="no segment of t-0 there"):
        LogTail(str(tmp_path), "t-0").end()
    with pytest.raises(SourceError):
        LogTail(str(tmp_path / "no"), "t-0").producers()
