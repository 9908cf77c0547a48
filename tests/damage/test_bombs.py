"""Compressed batches that expand to gigabytes are refused within bounded memory.

Each case runs in a process of its own whose address space is limited.
"""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from kraftgen.batch import encode_raw_batch
from kraftgen.encode import uvarint
from support.logs import make_directory, topic_batch

GIB = 1 << 30
LIMIT_BYTES = 3 * GIB // 2
"""Of address space, of which the libraries alone reserve about half."""

READ = """
import sys, metashell
source = metashell.open(sys.argv[1])
print(*source.ls("/image/topics/byName"))
for fault in source.all_faults():
    print(fault.pos, fault.offset, fault.reason)
"""


def _stream(codec: str, total: int) -> bytes:
    sink = pa.BufferOutputStream()
    zeros = bytes(1 << 24)
    with pa.CompressedOutputStream(sink, codec) as stream:
        for _ in range(total // len(zeros)):
            stream.write(zeros)
    return bytes(sink.getvalue().to_pybytes())


def _gzip(total: int) -> bytes:
    import zlib

    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 24)
    pieces = [compressor.compress(zeros) for _ in range(total // len(zeros))]
    return b"".join([*pieces, compressor.flush()])


XERIAL = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2


def _snappy_block(total: int) -> bytes:
    return bytes(pa.compress(bytes(total), codec="snappy", asbytes=True))


def _snappy_blocks(total: int) -> bytes:
    block = _snappy_block(1 << 20)
    return XERIAL + (len(block).to_bytes(4, "big") + block) * (total >> 20)


BOMBS: dict[str, tuple[int, Callable[[], bytes]]] = {
    "gzip": (1, lambda: _gzip(GIB // 4)),
    "snappy blocks": (2, lambda: _snappy_blocks(256 << 20)),
    "snappy block": (2, lambda: _snappy_block(128 << 20)),
    "snappy that claims 4 GB": (2, lambda: uvarint(2**32 - 1) + bytes(40)),
    "snappy block that claims 4 GB": (
        2,
        lambda: XERIAL + (45).to_bytes(4, "big") + uvarint(2**32 - 1) + bytes(40),
    ),
    "snappy block of 2 GB": (2, lambda: XERIAL + (2**31 - 1).to_bytes(4, "big") + bytes(40)),
    "lz4": (3, lambda: _stream("lz4", GIB)),
    "zstd": (4, lambda: _stream("zstd", 4 * GIB)),
}


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


@pytest.mark.parametrize("what", BOMBS)
def test_bomb(tmp_path: Path, what: str) -> None:
    """A batch of gigabytes is left out with its place, and the batches around it count."""
    codec, make = BOMBS[what]
    first = topic_batch(0)
    bomb = encode_raw_batch(
        make(),
        count=1,
        base_offset=1,
        last_offset_delta=0,
        leader_epoch=1,
        timestamp=0,
        attributes=codec,
    )
    directory = make_directory(tmp_path, (0, first + bomb + topic_batch(2)))
    ran = _read(directory)

    assert ["t0 t2", f"{len(first)} 1 batch left out:"] == [
        ran[0],
        " ".join(ran[1].split(" ")[:5]),
    ]
    assert 2 == len(ran)


def test_many_bombs(tmp_path: Path) -> None:
    """Bombs that each stay below a batch's limit may not add up without bound."""
    content = gzip.compress(bytes(60 << 20), 9, mtime=0)
    data = topic_batch(0)
    for i in range(1, 16):
        data += encode_raw_batch(
            content,
            count=1,
            base_offset=i,
            last_offset_delta=0,
            leader_epoch=1,
            timestamp=0,
            attributes=1,
        )
    ran = _read(make_directory(tmp_path, (0, data)))

    assert "t0" == ran[0]
    assert 15 == len(ran) - 1


def _read(directory: Path) -> list[str]:
    """Open a directory in a limited process and return the lines that it prints."""
    ran = subprocess.run(
        [sys.executable, "-c", READ, str(directory)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=_limit,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    return ran.stdout.splitlines()
