"""Compressed batches that expand to gigabytes are refused within bounded memory.

Each case runs in a process of its own whose address space is limited.
"""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import pyarrow as pa
import pytest

import metashell
from kraftgen.batch import Record, encode_batch_record, encode_raw_batch
from kraftgen.old_messages import encode_message
from metashell.cli import main
from metashell.log import compression
from metashell.log.compression import MAX_BATCH_BYTES
from metashell.log.payloads import INFLATED_BYTES
from metashell.schema.encode import encode_uvarint
from support.logs import make_directory, topic_batch
from support.shell import run_on
from support.waiting import LIMIT_S

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
    "snappy that claims 4 GB": (2, lambda: encode_uvarint(2**32 - 1) + bytes(40)),
    "snappy block that claims 4 GB": (
        2,
        lambda: XERIAL + (45).to_bytes(4, "big") + encode_uvarint(2**32 - 1) + bytes(40),
    ),
    "snappy block of 2 GB": (2, lambda: XERIAL + (2**31 - 1).to_bytes(4, "big") + bytes(40)),
    "lz4": (3, lambda: _stream("lz4", GIB)),
    "zstd": (4, lambda: _stream("zstd", 4 * GIB)),
}


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


@pytest.mark.slow
@pytest.mark.cases(4)
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


@pytest.mark.slow
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


UNKNOWN = b"\x01\xf6\x03\x00"
INFLATED = MAX_BATCH_BYTES - (64 << 10)
"""As much as is read of a batch."""

CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (1, lambda data: gzip.compress(data, 9, mtime=0)),
    "snappy": (2, lambda data: bytes(pa.compress(data, codec="snappy", asbytes=True))),
    "lz4": (3, lambda data: bytes(pa.compress(data, codec="lz4", asbytes=True))),
    "zstd": (4, lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True))),
}
CONTENTS: dict[str, Callable[[], bytes]] = {
    "one record": lambda: encode_batch_record(Record(value=UNKNOWN + bytes(INFLATED)), 0),
    "more than is read": lambda: bytes(60 << 20),
}
PEAK = """
import resource, sys
from metashell.cli import main
sys.argv[1:1] = ["-d"]
try:
    main()
except SystemExit:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def _peak(directory: Path, lines: Sequence[str]) -> int:
    """The most memory that commands of one process take, in KB; what they print goes nowhere.

    No command of them takes more, so a bound that holds for all holds for each.
    """
    words = [word for line in lines for word in ("-c", line)]
    ran = subprocess.run(
        [sys.executable, "-c", PEAK, str(directory), "--keep-going", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return int(ran.stderr.splitlines()[-1])


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sequence[str]], int]:
    """What commands take of a log of one record; measured once for each choice of them."""
    directory = make_directory(tmp_path_factory.mktemp("bare"), (0, topic_batch(0)))
    return cache(lambda lines: _peak(directory, lines))


@pytest.mark.slow
@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("codec", "content", "lines"),
    [
        *((codec, "one record", ("check",)) for codec in CODECS),
        ("zstd", "one record", ("log --all", "nodes")),
        ("zstd", "one record", ("log --all --show-secrets",)),
        ("zstd", "more than is read", ("log --all",)),
    ],
    ids=str,
)
def test_a_small_file_takes_little_memory(
    tmp_path: Path,
    bare: Callable[[Sequence[str]], int],
    codec: str,
    content: str,
    lines: Sequence[str],
) -> None:
    """At most four times its size and 150 MB more than what a command takes of an empty log."""
    number, compress = CODECS[codec]
    bomb = encode_raw_batch(
        compress(CONTENTS[content]()),
        count=1,
        base_offset=1,
        last_offset_delta=0,
        leader_epoch=1,
        timestamp=0,
        attributes=number,
    )
    peak = _peak(make_directory(tmp_path, (0, topic_batch(0) + bomb)), lines)

    assert peak - bare(lines) < (4 * len(bomb) + (150 << 20)) >> 10


def _tiny(value: bytes | None, size: int = MAX_BATCH_BYTES - (64 << 10)) -> tuple[bytes, int]:
    """Records of one value as many as fit, each of which says that its offset delta is 0."""
    record = encode_batch_record(Record(value=value), 0)
    n = size // len(record)
    return record * n, n


TINY: dict[str, bytes | None] = {
    "no value": None,
    "unknown": b"\x01\xf6\x03\x00",
    "no operation": b"\x01\x14\x00\x00",
    "cut off": b"\x01\x02\x00",
}
KEPT_BYTES = 9 << 19
"""Of tiny records about as much as is still kept."""


@pytest.mark.parametrize(
    ("value", "lines", "size", "n_batches", "bound_mb"),
    [
        *((value, ("check",), MAX_BATCH_BYTES - (64 << 10), 1, 150) for value in TINY),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("unknown", ("check",), KEPT_BYTES, 1, 150),
                ("cut off", ("check", "nodes", "health"), KEPT_BYTES, 1, 150),
                # Each line takes time: half as many, whose bound shows what a line leaves behind.
                ("unknown", ("log --all",), KEPT_BYTES // 2, 1, 90),
                ("no operation", ("check", "nodes", "log --all"), KEPT_BYTES, 12, 150),
            )
        ),
    ],
    ids=str,
)
def test_tiny_records_take_little_memory(
    tmp_path: Path,
    bare: Callable[[Sequence[str]], int],
    value: str,
    lines: Sequence[str],
    size: int,
    n_batches: int,
    bound_mb: int,
) -> None:
    """A million records in a kilobyte, and many such batches, stay within a bound."""
    content, n = _tiny(TINY[value], size)
    compress = CODECS["zstd"][1]
    data = topic_batch(0)
    for i in range(n_batches):
        data += _batch(compress(content), n, 1 + i * n)
    peak = _peak(make_directory(tmp_path, (0, data)), lines)

    assert peak - bare(lines) < (4 * len(data) + (bound_mb << 20)) >> 10


def test_more_than_is_kept_is_said(tmp_path: Path) -> None:
    """What does not fit beside other batches is left out of the state with its place and why."""
    content, n = _tiny(TINY["no operation"], KEPT_BYTES)
    bomb = CODECS["zstd"][1](content)
    first = topic_batch(0)
    batches = [_batch(bomb, n, 1 + i * n) for i in range(3)]
    directory = make_directory(tmp_path, (0, first + b"".join(batches) + topic_batch(1 + 3 * n)))
    why = "batch left out: compressed batches of this log inflate to more than is kept in memory"

    assert [
        f"t0 t{1 + 3 * n}",
        *(f"{len(first) + i * len(batches[0])} {1 + i * n} {why}" for i in (1, 2)),
    ] == _read(directory)


@pytest.mark.slow
def test_a_stream_lets_go_of_batches(tmp_path: Path) -> None:
    """What the state can't keep at once is printed by `log`, batch after batch."""
    n, record = 300_000, Record(value=TINY["no operation"])
    bomb = CODECS["zstd"][1](b"".join(encode_batch_record(record, i) for i in range(n)))
    data = topic_batch(0) + b"".join(_batch(bomb, n, 1 + i * n) for i in range(3))
    directory = make_directory(tmp_path, (0, data + topic_batch(1 + 3 * n)))

    ran = run_on(metashell.open(directory), "log --all --type TopicRecord")

    assert (0, ()) == (ran.status, ran.err)
    assert ["0", str(1 + 3 * n)] == [line.split(" ")[0] for line in ran.out.splitlines()]


def _batch(content: bytes, count: int, offset: int) -> bytes:
    return encode_raw_batch(
        content,
        count=count,
        base_offset=offset,
        last_offset_delta=count - 1,
        leader_epoch=1,
        timestamp=0,
        attributes=4,
    )


def _read(directory: Path) -> list[str]:
    """Open a directory in a limited process and return the lines that it prints."""
    ran = subprocess.run(
        [sys.executable, "-c", READ, str(directory)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        preexec_fn=_limit,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    return ran.stdout.splitlines()


N_BOMBS = 60
"""Enough to inflate to many times what is kept."""

WASTE: dict[str, Callable[[int], bytes]] = {
    "kept": lambda codec: _packed(codec, bytes(INFLATED)),
    "over the limit": lambda codec: _packed(codec, bytes(MAX_BATCH_BYTES + (4 << 20))),
    "damaged at its end": lambda codec: _packed(codec, bytes(INFLATED))[:-9],
}
"""By what becomes of it: what a batch holds, by its codec."""


@cache
def _packed(codec: int, data: bytes) -> bytes:
    (compress,) = (make for number, make in CODECS.values() if number == codec)
    return compress(data)


def _bombs(topic: str, codec: int, payload: bytes) -> bytes:
    """Batches, or messages of format 1 that wrap others, whose CRCs hold."""
    if topic == "old":
        one = partial(encode_message, 1, key=None, value=payload, attributes=codec)
        return b"".join(one(offset=i) for i in range(N_BOMBS))
    one = partial(
        *(encode_raw_batch, payload),
        count=1,
        last_offset_delta=0,
        leader_epoch=1,
        timestamp=0,
        attributes=codec,
    )
    return b"".join(one(base_offset=i) for i in range(N_BOMBS))


READERS = [
    ("__cluster_metadata", "check"),
    ("__cluster_metadata", "health"),
    ("__consumer_offsets", "check --quick"),
    ("__consumer_offsets", "groups"),
    ("__consumer_offsets", "du --by group"),
    ("__consumer_offsets", "stats"),
    ("__consumer_offsets", "log"),
    ("old", "offsets"),
]
"""A topic, or messages of format 1, and a command that reads it in its own way."""


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    ("topic", "line", "codec", "what"),
    [
        *((*READERS[0], codec, what) for codec in (2, 3, 4) for what in WASTE),
        *((*reader, 1, what) for reader in READERS for what in WASTE),
    ],
)
def test_what_does_not_fit_is_not_inflated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    topic: str,
    line: str,
    codec: int,
    what: str,
) -> None:
    """Once the memory is used up batches are left out uninflated, and the status is 1."""
    data = _bombs(topic, codec, WASTE[what](codec))
    directory = tmp_path / (f"{topic}-0" if topic != "old" else "__consumer_offsets-0")
    directory.mkdir()
    (directory / f"{0:020}.log").write_bytes(data)
    counted: list[int] = []
    pieces = compression._pieces

    def counting(codec: int, payload: memoryview, limit: int) -> Iterator[bytes]:
        for piece in pieces(codec, payload, limit):
            counted.append(len(piece))
            yield piece

    monkeypatch.setattr(compression, "_pieces", counting)
    assert 1 == main(["--no-config", "-d", str(directory), *line.split(" ")])
    # `log` lets go of batches: it keeps those of one window at a time.
    assert sum(counted) <= 2 * (INFLATED_BYTES + 2 * len(data))
    assert "batch left out" in "".join(capsys.readouterr())
