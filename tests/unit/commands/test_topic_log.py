"""`log`, `check` and `stats` of a topic's log: batches are told, and no record is."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any, Final

import pytest

from kraftgen.batch import HEADER, Damage, Record, control_record, encode_batch
from kraftgen.old_messages import encode_message
from metashell.errors import SourceError
from metashell.log.log_tail import LogTail
from metashell.read_settings import ReadSettings
from metashell.sources.directory import open_place
from metashell.sources.opening import open_file
from metashell.sources.topic import TopicSource
from support.shell import Ran, run_on

FIRST: Final = f"{0:020d}.log"
START_MS: Final = 1_790_000_000_000
KEY, VALUE, HEADER_KEY = b"key-of-a-customer", b"value-of-a-customer", b"header-of-a-customer"


def batch(offset: int, n: int = 2, **options: Any) -> bytes:
    """A batch of records, which begins at an offset."""
    records = [Record(key=KEY, value=VALUE, headers=((HEADER_KEY, VALUE),)) for _ in range(n)]
    at = START_MS + offset * 1000
    return encode_batch(records, base_offset=offset, timestamp=at, **options)


def log_dir(tmp_path: Path, *segments: bytes, bases: tuple[int, ...] = (0,)) -> Path:
    """A log with segments."""
    place = tmp_path / "d1" / "orders-3"
    place.mkdir(parents=True)
    (place / "partition.metadata").write_text("version: 0\ntopic_id: AQEBAQEBAQEBAQEBAQEBAQ\n")
    for base, content in zip(bases, segments, strict=True):
        (place / f"{base:020d}.log").write_bytes(content)
    return place


def opened(place: Path, **settings: Any) -> TopicSource:
    """Open it."""
    source = open_place(str(place), ReadSettings(**settings))
    assert isinstance(source, TopicSource)
    return source


def rows(source: TopicSource, line: str) -> list[dict[str, Any]]:
    """The rows of a command."""
    return [json.loads(row) for row in run_on(source, f"{line} -o jsonl").out.splitlines()]


def codes(source: TopicSource) -> list[str]:
    """The codes that `check` finds."""
    return [row["code"] for row in rows(source, "check")]


@pytest.fixture
def two(tmp_path: Path) -> TopicSource:
    """A log of two segments: codecs, a transaction, leader epochs, a gap of compaction."""
    first = batch(0) + batch(2, codec="zstd", producer_id=7, transactional=True)
    marker = control_record(1, struct.pack(">hi", 0, 0))
    first += encode_batch(
        [marker],
        base_offset=4,
        producer_id=7,
        control=True,
        transactional=True,
        timestamp=START_MS + 4000,
    )
    second = batch(9, 1, leader_epoch=4) + batch(10, 3, leader_epoch=4, codec="gzip")
    return opened(log_dir(tmp_path, first, second, bases=(0, 9)))


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ("", [0, 2, 4, 9, 10]),
        ("--offset 3", [2]),
        ("--offset 3..9", [2, 4, 9]),
        ("--offset 3 --context 1", [2, 4]),
        ("--since 9", [9, 10]),
        ("--until 2", [0, 2]),
        ("--epoch 4", [9, 10]),
        ("--epoch ..3", [0, 2, 4]),
        ("--control", [4]),
        ("--grep codec=gzip", [10]),
        ("--limit 2", [0, 2]),
        ("--tail 3", [4, 9, 10]),
        ("--tail 2 --control", [4]),
        (f"--file {9:020d}.log", [9, 10]),
        (f"--since {START_MS + 9000}", []),
    ],
)
def test_selection(two: TopicSource, options: str, offsets: list[int]) -> None:
    """Each option takes the batches that it says."""
    if options.startswith("--since 179"):
        options, offsets = "--since 2026-09-21T14:13:29Z", [9, 10]
    assert offsets == [row["base_offset"] for row in rows(two, f"log {options}")]
    lines = run_on(two, f"log {options}").out.splitlines()
    assert [str(offset) for offset in offsets] == [line.partition("..")[0] for line in lines]


def test_line(two: TopicSource) -> None:
    """A line has offsets, time and epoch, and what else says something."""
    line = run_on(two, "log --offset 2").out
    assert line.startswith("2..3 2026-09-21T14:13:22.000Z 1 records=2 bytes=")
    assert " codec=zstd producerId=7 producerEpoch=-1 transactional pos=" in line


def test_no_such_offset(two: TopicSource) -> None:
    """An offset that compaction took."""
    found = run_on(two, "log --offset 6")
    assert (1, "", ("log: no record at offset 6",)) == (found.status, found.out, found.err)


@pytest.mark.parametrize("flag", ["--type Foo", "--topic x", "--broker 1", "--checkpoints", "-f"])
def test_what_it_lacks(two: TopicSource, flag: str) -> None:
    """Options about records are refused, and the message says which work."""
    found = run_on(two, f"log {flag}")
    assert (2, "") == (found.status, found.out)
    assert "of orders-3, a topic's log, only batches are told" in found.err[0]


@pytest.mark.parametrize(
    "line", ["topics", "ls /", "cat /image/features", "health", "find /", "sql 'table topics'"]
)
def test_no_metadata(two: TopicSource, line: str) -> None:
    """It is never taken for metadata, and the message says what works."""
    found = run_on(two, line)
    assert found.status != 0
    assert any("orders-3 is a topic's log, and has no cluster metadata" in e for e in found.err)
    assert any("`log` and `stats` tell its batches, and `check`" in e for e in found.err)


def test_stats(two: TopicSource) -> None:
    """Counts by file, codec, leader epoch and producer; bytes are those of batches."""
    sizes = [row["bytes"] for row in rows(two, "log")]
    assert [(9, sum(sizes), 5, 2, 1, 0, 12)] == [
        (
            row["records"],
            row["bytes"],
            row["batches"],
            row["transactional_records"],
            row["control_records"],
            row["first_offset"],
            row["last_offset"],
        )
        for row in rows(two, "stats")
    ]
    codec = {row["codec"]: row["records"] for row in rows(two, "stats --section codecs")}
    assert {"none": 4, "zstd": 2, "gzip": 3} == codec | {"none": codec["none"]}
    epochs = [(row["epoch"], row["records"]) for row in rows(two, "stats --section epochs")]
    assert [(1, 5), (4, 4)] == epochs
    producers = rows(two, "stats --section producers")
    assert [(-1, 6), (7, 3)] == [(row["producer_id"], row["records"]) for row in producers]
    files = rows(two, "stats --section files")
    assert [(FIRST, 3, 0, 4), (f"{9:020d}.log", 2, 9, 12)] == [
        (row["file"], row["batches"], row["first_offset"], row["last_offset"]) for row in files
    ]
    text = run_on(two, "stats").out
    assert "9 records in 5 batches of 2 files" in text
    assert "2 records of transactions, 1 control record\n" in text


_COMMANDS: Final = [
    *("log", "log --json", "log -o csv", "log --grep customer", "log --batches", "check"),
    *("check -o jsonl", "stats", "stats -o json", "stats --section batches -o csv", "du", "health"),
    *("sql 'select * from topics'", "find /", "cat /log/faults", "changes", "stat /", "save x"),
    *("export", "describe orders", "groups", "producers", "replicas", "log --type Topic"),
]


@pytest.mark.parametrize("line", _COMMANDS)
def test_nothing_of_records(tmp_path: Path, line: str) -> None:
    """No output has a byte of a record, whole or damaged, also where secrets may be shown."""
    damaged = batch(4)[:-1] + b"\xff"
    content = batch(0) + batch(2) + damaged + batch(6)[:-20]
    os.chdir(tmp_path)
    for source in (
        opened(log_dir(tmp_path, content), show_secrets=True),
        open_file(tmp_path / "d1/orders-3" / FIRST, show_secrets=True),
    ):
        found = run_on(source, line)
        text = "\n".join([found.out, *found.err])
        for secret in (KEY, VALUE, HEADER_KEY):
            assert secret.decode() not in text
            assert secret.hex() not in text
        assert "customer" not in text.replace("customer", "", line.count("customer"))


def test_payload_says_nothing(tmp_path: Path) -> None:
    """Outputs but that of `check` are the same whatever the records are."""
    content = batch(0) + batch(2, codec="lz4") + batch(4)
    place = log_dir(tmp_path, content)
    lines = ("log", "log --json", "stats", "stats -o json")
    before = [run_on(opened(place), line) for line in lines]
    emptied, at = bytearray(content), 0
    while at < len(content):
        end = at + 12 + HEADER.unpack_from(content, at)[1]
        emptied[at + HEADER.size : end] = os.urandom(end - at - HEADER.size)
        at = end
    (place / FIRST).write_bytes(emptied)

    assert before == [run_on(opened(place), line) for line in lines]
    assert [] == [code for code in codes(opened(place)) if code not in ("crc-mismatch",)]


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        (b"", None),
        (batch(4)[:-5], "torn-tail"),
        (batch(4)[:20], "torn-tail"),
        (bytes(500), "preallocated-tail"),
        (b"\x00" * 16 + b"\x57" * 90, "bad-magic"),
        (batch(4, damage=Damage(crc_xor=1)), "crc-mismatch"),
        (batch(4, damage=Damage(batch_length=-7)), "bad-length"),
        (batch(4, damage=Damage(last_offset_delta=-1)), "bad-offset-range"),
        (batch(0), "offsets-go-back"),
        (b"\xff" * 700, "bad-magic"),
    ],
)
def test_damage(tmp_path: Path, tail: bytes, code: str | None) -> None:
    """Damage is a finding, and the batches before it are rows all the same."""
    source = opened(log_dir(tmp_path, batch(0) + batch(2) + tail))
    found = rows(source, "log")
    assert [0, 2] == [row["base_offset"] for row in found][:2]
    assert ([] if code is None else [code]) == codes(source)[:1]
    logged, stats = run_on(source, "log"), run_on(source, "stats")
    is_told = code not in (None, "preallocated-tail", "crc-mismatch")
    assert is_told == bool(logged.err)
    assert is_told == bool(stats.err)
    assert (1 if is_told and code != "torn-tail" else 0) == logged.status


@pytest.mark.parametrize("case", ["killed", "flushed", "clean"])
def test_recovery(tmp_path: Path, case: str) -> None:
    """What a start would cut: from the recovery point on, and nothing after a clean stop."""
    first = batch(0) + batch(2, damage=Damage(crc_xor=1)) + batch(4)
    place = log_dir(tmp_path, first, batch(6), batch(8), bases=(0, 6, 8))
    point = 6 if case == "flushed" else 5
    (tmp_path / "d1" / "recovery-point-offset-checkpoint").write_text(f"0\n1\norders 3 {point}\n")
    if case == "clean":
        (tmp_path / "d1" / ".kafka_cleanshutdown").write_text("")
    found = [row for row in rows(opened(place), "check") if row["code"] == "recovery-cut"]
    if case == "flushed":
        assert [] == found
        return
    ((file, pos, text),) = ((row["file"], row["pos"], row["message"]) for row in found)
    n = len(first) - len(batch(0))
    assert (FIRST, len(batch(0))) == (file, pos)
    assert f"{n} bytes of this segment and 2 segments behind it, with sound batches" in text
    assert " up to offset 9" in text
    assert (case == "clean") == ("its next start cuts nothing" in text)


def test_tail_alone(tmp_path: Path) -> None:
    """Where nothing sound follows, nothing sound is cut."""
    source = opened(log_dir(tmp_path, batch(0) + batch(2)[:-1]))
    assert ["torn-tail"] == codes(source)


def test_indexes(tmp_path: Path) -> None:
    """An index that leads to no batch, and leader epochs that are others than the batches'."""
    place = log_dir(tmp_path, batch(0) + batch(2, leader_epoch=5))
    index = place / f"{0:020d}.index"
    index.write_bytes(struct.pack(">ii", 3, len(batch(0))))
    epochs = place / "leader-epoch-checkpoint"
    epochs.write_text("0\n2\n1 0\n5 1\n")
    assert [] == codes(opened(place))
    index.write_bytes(struct.pack(">ii", 3, 17))
    assert ["index-entry"] == codes(opened(place))
    epochs.write_text("0\n2\n1 0\n3 1\n")
    assert ["epoch-entry", "index-entry"] == sorted(codes(opened(place)))
    epochs.write_text("nonsense")
    assert 3 == run_on(opened(place), "check").status


def test_segments_overlap(tmp_path: Path) -> None:
    """A segment that begins with offsets that the one before has."""
    place = log_dir(tmp_path, batch(0, 5), batch(3) + batch(5), bases=(0, 3))
    assert ["offsets-go-back"] == codes(opened(place))


def test_old_messages(tmp_path: Path) -> None:
    """Messages of formats 0 and 1 are batches of one record."""
    old = encode_message(0, 0, KEY, VALUE) + encode_message(1, 1, KEY, VALUE, timestamp=START_MS)
    source = opened(log_dir(tmp_path, old + batch(2)))
    found = [
        (row["base_offset"], row["magic"], row["timestamp_type"]) for row in rows(source, "log")
    ]
    assert [(0, 0, "NoTimestampType"), (1, 1, "CreateTime"), (2, 2, "CreateTime")] == found
    assert [] == codes(source)


def test_many_batches(tmp_path: Path) -> None:
    """Headers come block by block, and each batch once."""
    n = 140_000
    one = bytearray(encode_batch([], base_offset=0))
    content = bytearray(bytes(one) * n)
    for i in range(n):
        struct.pack_into(">q", content, i * len(one), i)
    place = log_dir(tmp_path, bytes(content))
    log = LogTail(str(place), "orders-3", os.listdir(place))
    blocks = list(log.batches(log.segments[0]))
    assert len(blocks) > 1
    offsets = [int(o) for found in blocks for o in found.header["base_offset"]]
    assert list(range(n)) == offsets
    assert [n - 1] == [row["base_offset"] for row in rows(opened(place), "log --tail 1")]


def test_committed(tmp_path: Path) -> None:
    """With --committed-only up to the high watermark that the broker wrote."""
    place = log_dir(tmp_path, batch(0) + batch(2) + batch(4))
    with pytest.raises(SourceError, match="nothing there says which records are committed"):
        opened(place, committed_only=True)
    (tmp_path / "d1" / "replication-offset-checkpoint").write_text("0\n1\norders 3 4\n")
    found = rows(opened(place, committed_only=True), "log")
    assert [0, 2] == [row["base_offset"] for row in found]


def test_vanished(tmp_path: Path) -> None:
    """A segment that is gone, and one that is a FIFO: told, and the others are read."""
    place = log_dir(tmp_path, batch(0), batch(2), batch(4), bases=(0, 2, 4))
    source = opened(place)
    (place / f"{2:020d}.log").unlink()
    (place / f"{4:020d}.log").unlink()
    os.mkfifo(place / f"{4:020d}.log")
    found: Ran = run_on(source, "log")
    assert 1 == found.status
    assert 1 == len(found.out.splitlines())
    assert 2 == len(found.err)
    assert 1 == run_on(source, "stats").status
    assert ["file-unreadable", "file-vanished"] == codes(source)


def test_segment_alone(tmp_path: Path) -> None:
    """One segment by itself is a topic's by what stands beside it, and alone is checked alone."""
    place = log_dir(tmp_path, batch(0), batch(2), bases=(0, 2))
    (place / f"{2:020d}.index").write_bytes(b"\x01" * 8)
    source = open_file(place / f"{2:020d}.log")
    assert isinstance(source, TopicSource)
    assert [2] == [row["base_offset"] for row in rows(source, "log")]
    assert [] == codes(source)


def test_metadata_stays(tmp_path: Path) -> None:
    """A renamed copy of a metadata log is none."""
    place = log_dir(tmp_path, batch(0))
    (place / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    assert not isinstance(open_place(str(place), ReadSettings()), TopicSource)
