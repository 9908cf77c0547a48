"""The chain of batches in one file: where they are, which offsets they have, what is odd."""

from __future__ import annotations

import pytest

from kraftgen.batch import HEADER
from kraftgen.files import segment_name
from metashell.log.chain import Chain, Chainer
from metashell.log.fault import Fault, FaultKind
from support.logs import topic_batch

pytestmark = pytest.mark.usefixtures("implementation")

NAME = segment_name(0)


def chain(*batches: bytes, before: bytes = b"", after: int = -1) -> Chain:
    """Chain batches that lie in a buffer behind other bytes."""
    data = bytearray(before + b"".join(batches))
    return Chainer(memoryview(data), len(before), len(data), NAME, after).run()


def with_offset(batch: bytes, offset: int) -> bytes:
    """Change a batch's base offset, which its CRC does not cover."""
    return offset.to_bytes(8, "big", signed=True) + batch[8:]


def test_nothing() -> None:
    """No bytes are a whole file without batches."""
    empty = chain()

    assert (0, -1, -1, True) == (
        len(empty.positions),
        empty.first_offset,
        empty.last_offset,
        empty.is_whole,
    )


def test_sound() -> None:
    """Positions are those in the buffer; offsets, epoch and time are the file's."""
    a, b = topic_batch(0, 3), topic_batch(3, 2, leader_epoch=2)
    found = chain(a, b, before=b"xyz")

    assert [3, 3 + len(a)] == list(found.positions)
    assert (0, 4, 2, 1_790_000_000_000) == (
        found.first_offset,
        found.last_offset,
        found.last_epoch,
        found.last_timestamp_ms,
    )
    assert found.is_whole


def test_positions_in_faults_are_the_files() -> None:
    """A fault names a position in the file, wherever that lies in the buffer."""
    a = topic_batch(0)
    found = chain(a, a[:-1], before=b"xyz")

    assert [(FaultKind.TORN, len(a), 1)] == [(f.kind, f.pos, f.offset) for f in found.faults]


@pytest.mark.parametrize(
    ("offsets", "kept", "faults"),
    [
        ((0, 1, 2), (0, 1, 2), ()),
        ((5, 6, 7), (5, 6, 7), ()),
        ((0, 1, 9), (0, 1, 9), ((FaultKind.GAP, 2),)),
        ((0, 4, 5), (0, 4, 5), ((FaultKind.GAP, 1),)),
        ((0, 9, 2), (0, 2), ((FaultKind.DAMAGED, 1), (FaultKind.GAP, 1))),
        ((9, 1, 2), (1, 2), ((FaultKind.DAMAGED, 0),)),
        ((0, 0, 1), (0, 1), ((FaultKind.GAP, 1),)),
        ((3, 2, 4), (2, 4), ((FaultKind.DAMAGED, 0), (FaultKind.GAP, 3))),
        ((-5, 0, 1), (0, 1), ((FaultKind.GAP, 0),)),
        ((0, 1, 2**63 - 1), (0, 1, 2**63 - 1), ((FaultKind.GAP, 2),)),
    ],
)
def test_offsets(
    offsets: tuple[int, ...], kept: tuple[int, ...], faults: tuple[tuple[FaultKind, int], ...]
) -> None:
    """Missing offsets are told; a batch whose offset can't be right is skipped."""
    batches = [with_offset(topic_batch(0), offset) for offset in offsets]
    found = chain(*batches)
    positions = [pos // len(batches[0]) for pos in found.positions]

    assert faults == tuple((f.kind, f.offset) for f in found.faults)
    assert kept == tuple(offsets[i] for i in positions)
    assert (kept[0], kept[-1]) == (found.first_offset, found.last_offset)


def test_offsets_beyond_int64() -> None:
    """A batch that would end beyond the largest offset is skipped."""
    found = chain(topic_batch(0), with_offset(topic_batch(0, 3), 2**63 - 2))

    assert [FaultKind.DAMAGED] == [f.kind for f in found.faults]
    assert 0 == found.last_offset


def test_epoch_that_goes_back() -> None:
    """A leader epoch below the one before is told, and the batch counts."""
    found = chain(topic_batch(0, leader_epoch=5), topic_batch(1, leader_epoch=4))

    assert ["the leader epoch goes back from 5 to 4"] == [f.reason for f in found.faults]
    assert 2 == len(found.positions)


def test_behind_another_file() -> None:
    """Batches that the file before holds already are skipped."""
    found = chain(topic_batch(0), topic_batch(1), after=0)

    assert (1, 1, 1) == (found.first_offset, found.last_offset, len(found.positions))
    assert [FaultKind.GAP] == [f.kind for f in found.faults]
    assert -1 == chain(topic_batch(0), after=5).last_offset


def test_padding() -> None:
    """Zeros at the end are counted and are no fault."""
    found = chain(topic_batch(0), bytes(70))

    assert (70, True) == (found.padding, found.is_whole)


def test_search_skips_what_goes_back() -> None:
    """Behind damage an older copy of a batch is not taken for the next one."""
    found = chain(topic_batch(0, 2), b"\xff" * HEADER.size, topic_batch(1), topic_batch(2))

    assert 2 == found.last_offset
    assert 1 == len(found.faults)


def test_text_of_a_fault() -> None:
    """A fault reads as a sentence with what it knows of the place in front."""
    assert "f, position 3, offset 9: bad" == str(Fault(FaultKind.TORN, "bad", "f", 3, 9))
    assert "f: bad" == str(Fault(FaultKind.TORN, "bad", "f"))
