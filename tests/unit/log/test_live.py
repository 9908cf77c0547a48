"""The fetched log: what comes in, what counts, what goes away, and what was handed out."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftgen.batch import Damage, encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name, segment_name
from metashell.errors import DecodeError
from metashell.log import live
from metashell.log.directory import MetadataLog
from metashell.log.live import LiveLog
from metashell.log.read import load
from metashell.places.place import MemoryFile
from support.logs import topic_batch, topic_log, topic_record
from support.plain_batches import read_records


def view(*parts: bytes) -> memoryview:
    """Join what one answer carries."""
    return memoryview(b"".join(parts))


def offsets(log: MetadataLog) -> list[int]:
    """Offsets of the records of the segment, as its bytes say."""
    return [record.offset for record in read_records(segment_bytes(log))]


def segment_bytes(log: MetadataLog) -> bytes:
    """The bytes of the segment."""
    file = log.path_of(log.listing.segments[0].name)
    assert isinstance(file, MemoryFile)
    return bytes(file.content)


def committed(log: LiveLog) -> MetadataLog:
    """The files as they are."""
    return log.metadata_log("quorum")[0]


def filled(*epochs: int, high_watermark: int = 0) -> LiveLog:
    """A log of batches of two records, one for each epoch given."""
    log = LiveLog()
    for i, epoch in enumerate(epochs):
        log.append(view(topic_batch(2 * i, 2, leader_epoch=epoch)))
    log.commit(high_watermark)
    return log


def snapshot(n: int = 5, *, epoch: int = 3) -> bytes:
    """A checkpoint of topics."""
    return checkpoint_bytes([topic_record(i) for i in range(n)], epoch=epoch)


def with_snapshot(end_offset: int = 20, epoch: int = 3) -> LiveLog:
    """A log that begins with a checkpoint."""
    log, data = LiveLog(), snapshot(epoch=epoch)
    log.begin_snapshot(end_offset, epoch)
    assert log.add_snapshot(0, memoryview(data), len(data))
    return log


# What is appended.


def test_empty() -> None:
    """Before anything came there is an empty segment at offset 0."""
    log = LiveLog()
    assert (log.end_offset, log.last_epoch, log.committed_end, log.held_back) == (0, 0, 0, None)
    assert offsets(committed(log)) == []


def test_append() -> None:
    """Batches count from their last offset on, however many records each has."""
    log = LiveLog()
    assert log.append(view(topic_batch(0, 3), topic_batch(3, 1, leader_epoch=4))) == 2
    assert (log.end_offset, log.last_epoch) == (4, 4)
    assert log.append(view(topic_batch(4, 2, leader_epoch=4))) == 1
    assert log.end_offset == 6


def test_cut_at_every_byte() -> None:
    """A batch that an answer cuts off is left out, and comes whole with the next."""
    whole = b"".join(topic_log(3))
    ends = [0]
    for batch in topic_log(3):
        ends.append(ends[-1] + len(batch))
    for cut in range(len(whole) + 1):
        log = LiveLog()
        n = log.append(memoryview(whole[:cut]))
        assert n == sum(end <= cut for end in ends[1:])
        assert log.append(memoryview(whole[ends[n] :])) == 3 - n
        log.commit(6)
        assert segment_bytes(committed(log)) == whole


@pytest.mark.parametrize("at", range(12, 80))
def test_damaged_byte(at: int) -> None:
    """A byte that is not what it was is found, but for the epoch, which no CRC covers."""
    log, first = LiveLog(), topic_batch(0, 2)
    data = bytearray(first + topic_batch(2, 2))
    data[len(first) + at] ^= 0x40
    if at == 12:  # the epoch's highest bits: far too new, and nothing that a batch could tell
        assert log.append(memoryview(data)) == 2
        return
    if 13 <= at < 16:
        log.append(memoryview(data))
        return
    with pytest.raises(DecodeError):
        log.append(memoryview(data))
    assert log.end_offset == 0


def test_damaged_crc() -> None:
    """A batch whose sum is wrong is not taken, nor are those before it in the same answer."""
    log = LiveLog()
    bad = encode_batch([topic_record(9)], base_offset=2, damage=Damage(crc_xor=1))
    with pytest.raises(DecodeError, match="CRC mismatch"):
        log.append(view(topic_batch(0, 2), bad, topic_batch(3)))
    assert log.end_offset == 0


@pytest.mark.parametrize("base", [0, 1, 3, 2**40])
def test_offsets_that_do_not_follow(base: int) -> None:
    """A gap, or what is here already, is refused."""
    log = filled(1)
    with pytest.raises(DecodeError):
        log.append(view(topic_batch(base, 2)))
    with pytest.raises(DecodeError):
        log.append(view(topic_batch(2, 2), topic_batch(base + 2, 2 if base != 2 else 1)))
    assert log.end_offset == 2


def test_epoch_goes_back() -> None:
    """Epochs never fall, within an answer or from one to the next."""
    log = filled(5)
    with pytest.raises(DecodeError):
        log.append(view(topic_batch(2, 2, leader_epoch=4)))
    with pytest.raises(DecodeError):
        log.append(view(topic_batch(2, 2, leader_epoch=7), topic_batch(4, 2, leader_epoch=6)))
    assert log.end_offset == 2


def test_zeros() -> None:
    """Zeros are no batches."""
    log = filled(1)
    assert log.append(memoryview(bytes(300))) == 0
    assert log.end_offset == 2


# What counts.


def test_hold_back() -> None:
    """What lies at or above the high watermark is not shown until it is passed."""
    log = filled(1, 1, 1)
    assert offsets(committed(log)) == []
    assert (log.committed_end, log.held_back) == (0, 1)
    assert log.commit(2)
    assert offsets(committed(log)) == [0, 1]
    assert not log.commit(3)  # inside a batch
    assert offsets(committed(log)) == [0, 1]
    assert not log.commit(1)  # never backwards
    assert log.commit(100)
    assert offsets(committed(log)) == [0, 1, 2, 3, 4, 5]
    assert (log.committed_end, log.held_back) == (6, None)


def test_generation() -> None:
    """It grows with what is committed, and with nothing else."""
    log, seen = LiveLog(), []
    log.append(view(*topic_log(3)))
    seen.append(log.generation)
    log.commit(4)
    seen.append(log.generation)
    log.commit(4)
    seen.append(log.generation)
    assert log.truncate(1, 4)
    seen.append(log.generation)
    log.append(view(topic_batch(4, 2, leader_epoch=2)))
    seen.append(log.generation)
    log.commit(6)
    seen.append(log.generation)
    assert seen == [0, 1, 1, 1, 1, 2]


def test_lineage() -> None:
    """It is kept while the log grows, and changed by a snapshot or a new beginning."""
    log = filled(1, 1, high_watermark=2)
    lineages = [log.metadata_log("")[2]]
    log.commit(4)
    lineages.append(log.metadata_log("")[2])
    assert log.truncate(1, 4)
    lineages.append(log.metadata_log("")[2])
    data = snapshot()
    log.begin_snapshot(20, 3)
    log.add_snapshot(0, memoryview(data[:10]), len(data))
    lineages.append(log.metadata_log("")[2])
    assert all(lineage is lineages[0] for lineage in lineages)
    log.add_snapshot(10, memoryview(data[10:]), len(data))
    assert log.metadata_log("")[2] is not lineages[0]
    latest = log.lineage
    log.forget()
    assert log.lineage is not latest


def test_files() -> None:
    """The files have the names, the places and the last facts of those on disk."""
    log = with_snapshot(20, 3)
    log.append(view(topic_batch(20, 2, leader_epoch=4), topic_batch(22, 1, leader_epoch=5)))
    log.commit(23)
    found, generation, _ = log.metadata_log("quorum")
    assert generation == 2
    assert [file.name for file in found.loaded.files] == [checkpoint_name(20, 3), segment_name(20)]
    assert found.checkpoint is not None
    assert (found.checkpoint.end_offset, found.checkpoint.epoch) == (20, 3)
    first, second = found.loaded.files
    assert (first.start, first.size) == (0, len(snapshot()))
    assert first.is_checkpoint
    assert not second.is_checkpoint
    again = load([found.path_of(file.name) for file in found.loaded.files])
    assert again.files[1].chain == second.chain or (
        list(again.files[1].chain.positions) == list(second.chain.positions)
        and again.files[1].chain.last_offset == second.chain.last_offset == 22
        and again.files[1].chain.last_epoch == second.chain.last_epoch == 5
        and again.files[1].chain.first_offset == second.chain.first_offset == 20
        and again.files[1].chain.last_timestamp_ms == second.chain.last_timestamp_ms
    )
    with pytest.raises(TypeError):
        segment = found.path_of(segment_name(20))
        assert isinstance(segment, MemoryFile)
        segment.content[0] = 1


@pytest.mark.long
def test_growth_keeps_what_was_handed_out() -> None:
    """Earlier results stay byte for byte what they were, while the log outgrows its memory."""
    log, handed, n = LiveLog(), [], 0
    batch_size = 200
    for _ in range(60):
        log.append(view(topic_batch(n, batch_size), topic_batch(n + batch_size, 1)))
        n += batch_size + 1
        log.commit(n - 1)
        found = committed(log)
        handed.append((found, segment_bytes(found)))
        assert log.truncate(1, n - 1)
        n -= 1
    assert len(handed[-1][1]) > 1 << 18
    log.append(view(encode_batch([bytes(1 << 20)], base_offset=n)))
    for i, (found, data) in enumerate(handed):
        assert segment_bytes(found) == data
        assert found.loaded.files[-1].chain.last_offset == (i + 1) * batch_size - 1
        chain = load([found.path_of(found.loaded.files[-1].name)]).files[0].chain
        assert chain.positions == found.loaded.files[-1].chain.positions


# What goes away.


@pytest.mark.parametrize(
    ("epoch", "end_offset", "left"),
    [
        (5, 9, 9),  # inside a batch of the epoch: the whole batch goes
        (5, 10, 10),
        (5, 100, 10),  # beyond what we have of the epoch
        (4, 100, 6),  # we lack that epoch: back to the end of the one before
        (4, 5, 6),  # and no further, as it is not known where that ends for the leader
        (3, 5, 4),
        (3, 4, 4),
        (2, 3, 2),  # between: epoch 1 ends at 2
        (1, 2, 2),
        (1, 9, 2),
        (9, 100, 10),  # all of ours is older
    ],
)
def test_truncate(epoch: int, end_offset: int, left: int) -> None:
    """What diverges is dropped by Kafka's rule: the smaller end of the epoch, ours or theirs."""
    log = filled(1, 3, 3, 5, 5)
    assert log.truncate(epoch, end_offset)
    assert log.end_offset == left // 2 * 2
    assert log.last_epoch == (0, 1, 3, 3, 5, 5)[log.end_offset // 2]


def test_truncate_appends_again() -> None:
    """Behind what was dropped others come, and count."""
    log = filled(1, 1, 2, high_watermark=4)
    assert log.truncate(1, 4)
    log.append(view(topic_batch(4, 1, leader_epoch=3), topic_batch(5, 4, leader_epoch=3)))
    log.commit(9)
    assert offsets(committed(log)) == list(range(9))
    assert log.last_epoch == 3


def test_truncate_what_was_committed() -> None:
    """Committed records are not dropped: the caller is told."""
    log = filled(1, 1, high_watermark=4)
    assert not log.truncate(1, 3)
    assert log.end_offset == 4


@pytest.mark.parametrize(("epoch", "end_offset"), [(3, 20), (3, 99), (2, 7), (2, 20), (1, 30)])
def test_truncate_to_the_snapshot(epoch: int, end_offset: int) -> None:
    """A snapshot is committed: dropping ends at it."""
    log = with_snapshot(20, 3)
    log.append(view(topic_batch(20, 2, leader_epoch=4)))
    assert log.truncate(epoch, end_offset)
    assert (log.end_offset, log.last_epoch) == (20, 3)


def test_truncate_below_the_snapshot() -> None:
    """Where the leader has less than the snapshot all has to be fetched again."""
    assert not with_snapshot(20, 3).truncate(3, 19)


@pytest.mark.slow
@given(st.data())
def test_truncate_is_kafkas(data: st.DataObject) -> None:
    """For any two logs, rounds of divergence end at their longest common prefix of epochs."""
    # An epoch has one leader: where both logs have records of it they begin at the same offset.
    shared = sorted(data.draw(st.lists(st.integers(1, 4), max_size=5)))
    last = shared[-1:] or [1]
    ours = shared + last * data.draw(st.integers(0, 2))
    theirs = shared + last * data.draw(st.integers(0, 2))
    common = min(len(ours), len(theirs))
    for epoch, is_ours in data.draw(st.dictionaries(st.integers(5, 9), st.booleans())).items():
        (ours if is_ours else theirs).extend([epoch] * data.draw(st.integers(1, 2)))
    ours, theirs = sorted(ours), sorted(theirs)
    log = filled(*ours)
    for _ in range(20):
        answer = _kafkas_answer(theirs, log.end_offset, log.last_epoch)
        if answer is None:
            break
        before = log.end_offset
        assert log.truncate(*answer)
        assert log.end_offset < before
    assert log.end_offset <= 2 * len(theirs)
    n = log.end_offset // 2
    assert ours[:n] == theirs[:n]
    assert n == common


def _kafkas_answer(theirs: list[int], offset: int, epoch: int) -> tuple[int, int] | None:
    """The diverging epoch that a leader with a log of these epochs answers, None for none."""
    if offset == 0:
        return None
    found = [e for e in theirs if e <= epoch]
    floor = found[-1] if found else epoch if theirs else 0
    end = (floor, 2 * len(found))
    return end if end[0] != epoch or end[1] < offset else None


def test_forget() -> None:
    """Nothing stays but what was handed out."""
    log = with_snapshot()
    found = committed(log)
    log.forget()
    assert (log.end_offset, log.last_epoch, log.committed_end, log.held_back) == (0, 0, 0, None)
    assert found.loaded.files[0].name == checkpoint_name(20, 3)


# Snapshots.


@pytest.mark.parametrize("step", [1, 7, 61, 100, 10_000])
def test_snapshot_in_pieces(step: int) -> None:
    """Pieces of any size make the whole, and only then does it take the place of what was here."""
    log, data = filled(1, high_watermark=2), snapshot()
    log.begin_snapshot(20, 3)
    for pos in range(0, len(data), step):
        assert log.end_offset == 2
        whole = log.add_snapshot(pos, memoryview(data)[pos : pos + step], len(data))
        assert whole == (pos + step >= len(data))
    assert (log.end_offset, log.last_epoch, log.committed_end) == (20, 3, 20)
    found = committed(log)
    file = found.path_of(checkpoint_name(20, 3))
    assert isinstance(file, MemoryFile)
    assert bytes(file.content) == data


def test_large_snapshot(tmp_path: Path) -> None:
    """One that outgrows what was set aside is whole all the same."""
    data = checkpoint_bytes([bytes([i]) * 100_000 for i in range(25)], batch_records=1)
    log = LiveLog()
    log.begin_snapshot(7, 1)
    for pos in range(0, len(data), 300_000):
        log.add_snapshot(pos, memoryview(data)[pos : pos + 300_000], len(data))
    log.append(view(topic_batch(7)))
    log.commit(8)
    found = committed(log)
    assert bytes(memoryview(found.loaded.buffer)[: len(data)]) == data
    (tmp_path / checkpoint_name(7, 1)).write_bytes(data)
    on_disk = load([str(tmp_path / checkpoint_name(7, 1))]).files[0].chain
    assert on_disk.positions == found.loaded.files[0].chain.positions


def test_wrong_position() -> None:
    """A piece that does not continue the last is refused, as is one that nobody asked for."""
    log, data = LiveLog(), snapshot()
    with pytest.raises(DecodeError):
        log.add_snapshot(0, memoryview(data), len(data))
    log.begin_snapshot(20, 3)
    log.add_snapshot(0, memoryview(data[:50]), len(data))
    for pos in (0, 49, 51, -1, 2**62):
        with pytest.raises(DecodeError, match="position"):
            log.add_snapshot(pos, memoryview(data[50:]), len(data))
    assert log.add_snapshot(50, memoryview(data[50:]), len(data))


@pytest.mark.parametrize("size", [0, -1, 49, -(2**63)])
def test_size_below_what_came(size: int) -> None:
    """A size that is passed is a lie."""
    log = LiveLog()
    log.begin_snapshot(20, 3)
    with pytest.raises(DecodeError, match="bytes of a snapshot of"):
        log.add_snapshot(0, memoryview(snapshot()[:50]), size)


def test_size_that_changes() -> None:
    """The size is the same with every piece."""
    log, data = LiveLog(), snapshot()
    log.begin_snapshot(20, 3)
    log.add_snapshot(0, memoryview(data[:50]), len(data))
    with pytest.raises(DecodeError, match="size"):
        log.add_snapshot(50, memoryview(data[50:]), len(data) + 1)


def test_size_that_nobody_has() -> None:
    """An announced size is no reason to take that much memory."""
    log = LiveLog()
    log.begin_snapshot(20, 3)
    assert not log.add_snapshot(0, memoryview(snapshot()), 2**62)


@pytest.mark.parametrize("length", [-1, 48, (64 << 20) + 1, 2**31 - 1])
@pytest.mark.parametrize("step", [1, 30, 1000])
def test_no_batch(length: int, step: int) -> None:
    """What can't become a batch is refused as soon as its head is here."""
    head = snapshot()[:8] + struct.pack(">iiB", length, 1, 2)
    for data in (head.ljust(1000, b"x"), bytes(1000)):
        log = LiveLog()
        log.begin_snapshot(20, 3)
        with pytest.raises(DecodeError, match="the snapshot is damaged"):
            for pos in range(0, max(step, 17), step):
                log.add_snapshot(pos, memoryview(data)[pos : pos + step], 2**62)
        assert log.n_proved == 0


def test_longer_than_kafka_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sound batches, too, are taken only up to what Kafka opens."""
    data, log = snapshot(), LiveLog()
    monkeypatch.setattr(live, "_SNAPSHOT_MAX", len(data) - 1)
    log.begin_snapshot(20, 3)
    log.add_snapshot(0, memoryview(data)[:-1], 2**62)
    with pytest.raises(DecodeError, match="bytes of a snapshot"):
        log.add_snapshot(len(data) - 1, memoryview(data)[-1:], 2**62)


@pytest.mark.parametrize("step", [1, 3])
def test_damaged_snapshot(step: int) -> None:
    """A whole that is no sound checkpoint leaves what was here."""
    data = snapshot()
    for at in range(16, len(data), 40 * step):
        log, damaged = filled(1, high_watermark=2), bytearray(data)
        damaged[at] ^= 1
        log.begin_snapshot(20, 3)
        with pytest.raises(DecodeError, match="the snapshot is damaged"):
            log.add_snapshot(0, memoryview(damaged), len(data))
        assert (log.end_offset, log.committed_end, log.generation) == (2, 2, 1)


def test_unfinished_snapshot() -> None:
    """One without its footer is not whole."""
    data, log = snapshot(), LiveLog()
    cut = data[: data.rfind(topic_record(4)[-8:]) + 9]
    log.begin_snapshot(20, 3)
    with pytest.raises(DecodeError, match="the snapshot is damaged"):
        log.add_snapshot(0, memoryview(cut), len(cut))


def test_batch_across_the_snapshots_end() -> None:
    """The first batch behind a snapshot may begin before its end, later ones may not."""
    log = with_snapshot(20, 3)
    assert log.append(view(topic_batch(18, 4, leader_epoch=3))) == 1
    assert log.end_offset == 22
    log = with_snapshot(20, 3)
    with pytest.raises(DecodeError):
        log.append(view(topic_batch(18, 2, leader_epoch=3)))
