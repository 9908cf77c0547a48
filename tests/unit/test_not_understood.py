"""Bytes that were not understood may hold a credential: no output has them unless asked to."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import Record, control_record, encode_batch
from metashell.image.split_tables import fault_batches, record_batches
from metashell.log.splits import Split, plan_splits
from metashell.records.window import LogReader
from metashell.redact import REDACTED, Redaction
from metashell.sources.source import Source
from metashell.tui.records.detail import record_detail
from support.logs import make_directory, record
from support.shell import run_on
from support.small_cluster import level
from support.strategies import builtin_registry

SECRET = b"hunter2:canary"
FORMS = (
    SECRET.decode(),
    SECRET.hex(),
    SECRET.hex(" "),
    SECRET.hex(" ")[:20],
    *(base64.b64encode(bytes(n) + SECRET).decode()[4:16] for n in range(3)),
)
"""How it could be shown: as it is, in hex, in base64 wherever it begins."""

UNKNOWN_TYPE = b"\x01\xf6\x03\x00" + SECRET
NO_FRAME = b"\x80\x80\x80\x80\x80\x80" + SECRET
TRAILING = record("TopicRecord", name="t", topic_id=bytes(16)) + SECRET
NEWER_VERSION = b"\x01\x02\x63" + SECRET
TAGGED = record(
    "ConfigRecord",
    resource_type=2,
    resource_name="t",
    name="retention.ms",
    value="1",
    _unknown_tags=[(9, SECRET)],
)
"""A config that is no secret, with something that its definition does not know."""
KEYED = Record(key=SECRET, value=record("TopicRecord", name="u", topic_id=bytes(15) + b"u"))

LINES = (
    "log --all",
    "log --json",
    "log --batches",
    "log --grep .",
    "log --all -o json --columns all",
    "log --all -o csv --columns all",
    "log --all -o yaml --columns all",
    "log --all --columns all",
    "check",
    "check -o json --columns all",
    "health",
    "stats",
    "stats -o json",
    "du",
    "changes",
    "changes --json /",
    "cat -a /log/*",
    "grep . /log /image",
    "find / -ls",
    "tree /",
    "sql 'select * from records'",
    "sql -o json 'select * from records'",
    "sql -o json 'select * from faults'",
    "sql -o json 'select * from files'",
    "sql -o json 'select * from config_record'",
    "sql -o json 'select * from configs'",
    "export --format json /",
    "config --all -o json",
    "checksum",
    "quorum",
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A log with a secret in everything that can't be understood."""
    values = [level("metadata.version", 25), UNKNOWN_TYPE, NO_FRAME, TRAILING, NEWER_VERSION]
    last = len(values) + 2
    return make_directory(
        tmp_path,
        (
            0,
            encode_batch([*values, TAGGED, KEYED])
            + encode_batch([control_record(99, SECRET)], base_offset=last, control=True)
            + encode_batch([UNKNOWN_TYPE], base_offset=last + 1, codec="zstd"),
        ),
    )


def leaks(text: str) -> bool:
    """Whether a text has the secret in any form."""
    return any(form in text for form in FORMS)


@pytest.mark.parametrize("line", LINES)
def test_no_command_shows_them(directory: Path, line: str) -> None:
    """Neither data nor diagnostics of any command have the bytes."""
    ran = run_on(metashell.open(directory), line)

    assert not leaks(ran.out + "\n".join(ran.err)), line
    assert ran.out or ran.err


@pytest.mark.parametrize("options", ["--all", "--all --json", "--all -o jsonl --columns all"])
def test_they_are_shown_where_they_are_asked_for(directory: Path, options: str) -> None:
    """With secrets shown the bytes are there, in hex."""
    out = run_on(metashell.open(directory, show_secrets=True), f"log {options}").out

    for value in (UNKNOWN_TYPE, NO_FRAME, TRAILING, NEWER_VERSION, SECRET):
        assert value.hex() in out


def test_what_stands_in_their_place(directory: Path) -> None:
    """Length, position and a digest, so that records can be told apart."""
    (line,) = run_on(metashell.open(directory), "log --offset 1").out.splitlines()
    digest = sha256(UNKNOWN_TYPE).hexdigest()[:16]
    told = f"{len(UNKNOWN_TYPE)} bytes in the batch at position 0, sha256 {digest}"

    assert line.endswith(f' raw="[redacted] {told}"')


def test_grep_finds_nothing_in_them(directory: Path) -> None:
    """What is not shown can't be guessed by searching it."""
    source = metashell.open(directory)
    for wanted in (SECRET.hex(), SECRET.hex()[:4] + SECRET.hex()[4:8], "hunter2"):
        assert "" == run_on(source, f"log --all --grep {wanted}").out


def splits(directory: Path) -> list[Split]:
    """The log in pieces."""
    return list(plan_splits(str(directory), 2000, every=True).splits)


def test_tables_of_spark(directory: Path) -> None:
    """The column of raw bytes has them for records that were understood, and for no other."""
    registry = builtin_registry()
    tables = [
        batch
        for split in splits(directory)
        for batch in record_batches(split, registry, Redaction(), raw=True)
    ]
    raws = [raw for batch in tables for raw in batch["raw"].to_pylist()]

    assert level("metadata.version", 25) == raws[0]
    assert REDACTED.encode() == raws[5]
    assert KEYED.value == raws[6]
    assert all(raws[i].startswith(b"[redacted] ") for i in (1, 2, 3, 4, 7, 8))
    faults = [b for split in splits(directory) for b in fault_batches(split, registry)]
    assert not leaks(str([b.to_pylist() for b in (*tables, *faults)]))


def test_unknown_records_of_python(directory: Path) -> None:
    """The table of records without a definition tells of their bytes."""
    hidden = metashell.open(directory).unknown_records()["raw"].to_pylist()
    shown = metashell.open(directory, show_secrets=True).unknown_records()["raw"].to_pylist()

    assert all(raw.startswith(b"[redacted] ") for raw in hidden)
    assert [UNKNOWN_TYPE, NO_FRAME, NEWER_VERSION, UNKNOWN_TYPE] == shown


def in_the_explorer(source: Source) -> str:
    """All that the explorer shows of each record."""
    reader = LogReader(source.log, source.registry, source.redaction)
    texts = []
    for piece in reader.pieces:
        for offset in range(piece.first_offset, piece.last_offset + 1):
            detail = record_detail(reader, piece, offset)
            assert detail is not None
            texts.append(str(detail))
            found = (detail.key.data or b"", detail.value.data or b"")
            texts += [data.hex() for data in found]
        texts += map(str, reader.lines(piece, reader.records(piece).frames.offset))
    return "\n".join(texts)


def test_the_explorer(directory: Path) -> None:
    """Neither its hex nor its lines have them; unless secrets are shown, both do."""
    assert not leaks(in_the_explorer(metashell.open(directory)))
    assert leaks(in_the_explorer(metashell.open(directory, show_secrets=True)))
