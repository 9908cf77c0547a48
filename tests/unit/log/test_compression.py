"""Compressed payloads: what comes out, what is refused, and how much at most."""

from __future__ import annotations

import pytest

from kraftgen.batch import CODEC_IDS, Codec, compress
from metashell.errors import DecodeError
from metashell.log.compression import inflate, xxh32

CODECS: list[Codec] = ["gzip", "snappy", "snappy-raw", "lz4", "zstd"]
every_codec = pytest.mark.parametrize("codec", CODECS)


def refusal(codec: Codec, payload: bytes) -> str | None:
    """Inflate a payload; why it is refused, None if it is not."""
    try:
        inflate(CODEC_IDS[codec], memoryview(payload))
    except DecodeError as e:
        return e.message
    return None


@every_codec
@pytest.mark.parametrize("size", [0, 1, 1_000, 70_000, 300_000])
def test_whole(codec: Codec, size: int) -> None:
    """What was compressed comes out, also of several blocks."""
    data = bytes(i * i % 251 for i in range(size))

    assert data == inflate(CODEC_IDS[codec], memoryview(compress(data, codec)))


@every_codec
def test_limit(codec: Codec) -> None:
    """Exactly the limit may come out, and not a byte more."""
    payload = memoryview(compress(bytes(1_000), codec))

    assert bytes(1_000) == inflate(CODEC_IDS[codec], payload, 1_000)
    with pytest.raises(DecodeError, match="limit"):
        inflate(CODEC_IDS[codec], payload, 999)
    with pytest.raises(DecodeError, match="limit"):
        inflate(CODEC_IDS[codec], payload, 0)


@every_codec
def test_damaged(codec: Codec) -> None:
    """Damaged data is our error or, where no checksum tells, other data; nothing else is raised."""
    whole = compress(b"metadata " * 40, codec)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        message = refusal(codec, bytes(damaged))
        assert message is None or "\n" not in message


@every_codec
def test_empty_payload(codec: Codec) -> None:
    """No bytes at all are no compressed data, or hold none."""
    message = refusal(codec, b"")
    assert message is None or codec.removesuffix("-raw") in message


@pytest.mark.parametrize("number", [0, 5, 6, 7])
def test_unknown_codec(number: int) -> None:
    """A number that stands for no codec is refused by its number."""
    with pytest.raises(DecodeError, match=str(number)):
        inflate(number, memoryview(b"x"))


def test_lz4_with_the_checksum_of_old_messages() -> None:
    """The header's checksum may be wrong, as in messages of format 0; the data may not."""
    frame = bytearray(compress(b"some text" * 9, "lz4"))
    at = 14 if frame[4] & 0x08 else 6
    frame[at] ^= 0x55

    assert b"some text" * 9 == inflate(CODEC_IDS["lz4"], memoryview(bytes(frame)))
    assert refusal("lz4", bytes(frame[:-9])) is not None
    assert refusal("lz4", bytes(frame[:5])) is not None


def test_xxh32() -> None:
    """The sums of short texts are those of the reference implementation."""
    assert (0x02CC5D05, 0x550D7456, 0x32D153FF) == tuple(map(xxh32, (b"", b"a", b"abc")))


def test_a_block_longer_than_its_payload() -> None:
    """The refusal names the size that a block claims, and what is left of the payload."""
    whole = bytearray(compress(b"metadata " * 40, "snappy"))
    whole[16:20] = (10_000).to_bytes(4, "big")

    message = refusal("snappy", bytes(whole))
    assert message is not None
    assert f"a block of 10000 bytes where {len(whole) - 20} are left" in message
