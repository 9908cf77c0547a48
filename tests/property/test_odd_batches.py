"""The kernel finds the batches that plain hops find, whatever is odd."""

from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from kraftgen.batch import Damage, Record, encode_batch
from kraftgen.old_messages import encode_message
from metashell.log.chain import COMPACTED, UNCOMPACTED, Carry, Chain, Chainer, LogKind
from metashell.log.read import SLACK
from support.implementations import implemented_by

ODD = ("crc", "magic", "old", "gap", "back", "base", "epoch", "zeros", "noise", "long", "empty")


def _log(rng: random.Random, n: int, odd: dict[int, str]) -> bytes:
    """Batches one behind the other, some of them odd."""
    data, offset, epoch = bytearray(), 7, 3
    for i in range(n):
        what = odd.get(i, "")
        records = [
            Record(key=rng.randbytes(rng.randrange(40)), value=bytes(rng.randrange(40)))
            for _ in range(rng.choice((1, 1, 1, 2, 3)))
        ]
        if what == "long":
            records.append(Record(value=rng.randbytes(700)))
        if what == "gap":
            offset += 5
        epoch += what == "empty"
        batch = encode_batch(
            [] if what == "empty" else records,
            base_offset=offset - 4 if what == "back" else offset + 1 if what == "base" else offset,
            leader_epoch=epoch - 2 if what == "epoch" else epoch,
            damage=Damage(
                crc_xor=4 if what == "crc" else 0, magic=3 if what == "magic" else None
            ),
        )  # fmt: skip
        if what == "old":
            batch = encode_message(1, offset, b"key", b"value")
            records = records[:1]
        offset += 1 if what == "empty" else len(records)
        data += bytes(90) if what == "zeros" else rng.randbytes(90) if what == "noise" else batch
    return bytes(data)


def _chain(data: bytes, kind: LogKind) -> Chain:
    view = memoryview(bytearray(data + bytes(SLACK)))
    return Chainer(view, 0, len(data), "0.log", kind=kind).run()


def _chains_of_windows(data: bytes, size: int) -> list[Chain]:
    carry, found = Carry(len(data)), []
    while carry.pos < carry.size:
        begin = carry.pos
        length = min(max(size, carry.need), carry.size - begin)
        view = memoryview(bytearray(data[begin : begin + length] + bytes(SLACK)))
        found.append(Chainer(view, 0, length, "0.log", carry=carry, kind=COMPACTED).run())
    return found


@given(
    st.integers(0, 1 << 30),
    st.integers(0, 160),
    st.dictionaries(st.integers(0, 160), st.sampled_from(ODD), max_size=6),
    st.integers(0, 60),
    st.sampled_from((COMPACTED, UNCOMPACTED)),
)
@example(1, 120, dict.fromkeys(range(20, 100, 9), "base"), 0, COMPACTED)
def test_kernel_finds_the_same(
    seed: int, n: int, odd: dict[int, str], cut: int, kind: LogKind
) -> None:
    """Batches, faults and ends are the same, also of a log that is cut off."""
    data = _log(random.Random(seed), n, odd)
    data = data[: max(len(data) - cut, 0)]
    with implemented_by("numpy"):
        expected = _chain(data, kind)
        expected_in_windows = _chains_of_windows(data, 2_500)
    with implemented_by("kernel"):
        assert expected == _chain(data, kind)
        assert expected_in_windows == _chains_of_windows(data, 2_500)
