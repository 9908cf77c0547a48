"""Leaps over many batches find what hopping over each of them finds, whatever is odd."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from kraftgen.batch import Damage, Record, encode_batch
from kraftgen.old_messages import encode_message
from metashell.log import keyed_chain, leap
from metashell.log.chain import Carry, Chain
from metashell.log.keyed_chain import KeyedChainer, UncompactedChainer
from metashell.log.read import SLACK

ODD = ("crc", "magic", "old", "gap", "back", "base", "epoch", "zeros", "noise", "long", "empty")


@contextmanager
def _leaps(*, never: bool = False) -> Iterator[None]:
    """Leap after few bytes, and from near places; or never."""
    with (
        patch.object(keyed_chain, "_BEFORE_A_LEAP", 1 << 40 if never else 300),
        patch.object(keyed_chain, "_FIRST_LEAP", 1_500),
        patch.object(keyed_chain, "_LAST_LEAP", 6_000),
        patch.object(leap, "_LANE_BYTES", 400),
        patch.object(leap, "_FEW_LANES", 2),
        patch.object(leap, "_SUMMED_TOGETHER", 7),
    ):
        yield


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


def _chain(data: bytes, chainer: type[KeyedChainer]) -> Chain:
    view = memoryview(data + bytes(SLACK))
    return chainer(view, 0, len(data), "0.log").run()


def _chains_of_windows(data: bytes, size: int) -> list[Chain]:
    carry, found = Carry(len(data)), []
    while carry.pos < carry.size:
        begin = carry.pos
        length = min(max(size, carry.need), carry.size - begin)
        view = memoryview(data[begin : begin + length] + bytes(SLACK))
        found.append(KeyedChainer(view, 0, length, "0.log", carry=carry).run())
    return found


@given(
    st.integers(0, 1 << 30),
    st.integers(0, 160),
    st.dictionaries(st.integers(0, 160), st.sampled_from(ODD), max_size=6),
    st.integers(0, 60),
    st.sampled_from((KeyedChainer, UncompactedChainer)),
)
@example(1, 120, dict.fromkeys(range(20, 100, 9), "base"), 0, KeyedChainer)
def test_leaps_find_what_hops_find(
    seed: int, n: int, odd: dict[int, str], cut: int, chainer: type[KeyedChainer]
) -> None:
    """Batches, faults and ends are the same, also of a log that is cut off."""
    data = _log(random.Random(seed), n, odd)
    data = data[: max(len(data) - cut, 0)]
    with _leaps(never=True):
        expected = _chain(data, chainer)
        expected_in_windows = _chains_of_windows(data, 2_500)
    with _leaps():
        assert expected == _chain(data, chainer)
        assert expected_in_windows == _chains_of_windows(data, 2_500)


def test_most_batches_are_leapt_over() -> None:
    """Of a log without anything odd, and of a compacted one, few batches are hopped over."""
    for odd in ({}, dict.fromkeys(range(0, 2_000, 2), "gap")):
        data = _log(random.Random(1), 2_000, odd)
        hops: list[int] = []
        hop_to = KeyedChainer._hop_to

        def counted(
            self: KeyedChainer, pos: int, bound: int, hops: list[int] = hops, hop_to=hop_to
        ) -> int:
            end = hop_to(self, pos, bound)
            hops.append(end - pos)
            return end

        with _leaps(), patch.object(KeyedChainer, "_hop_to", counted):
            assert 2_000 == len(_chain(data, KeyedChainer).positions)
        assert sum(hops) < len(data) / 5
