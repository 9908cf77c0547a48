"""Names and values that try to be something else: markup, keys, sequences of a terminal, paths."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import metashell
from kraftgen.batch import encode_batch
from metashell.sources.source import Source
from support.logs import make_directory, record
from support.small_cluster import TIME, broker, config, level, voters_batch

NAMES: Final = (
    "[bold red]x[/]",
    "[@click=app.quit]q[/]",
    "[/]",
    "[link=file:///etc/passwd]l[/link]",
    "$primary",
    "{x}",
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[31mred",
    "\x9b31m\x90q\x9c",
    "line\nfeed\r\ttab\x00\x0b\x0c\x85\u2028\u2029",
    "\u202egnp.exe\u202c\u2067x\u2069\u200f",
    "\u200b\u200d\ufeff\u00ad\u2060",
    "e\u0301\u0301\u0301\u0301\u0327" * 4,
    "漢字" * 20,
    "👩‍👩‍👧‍👦🇩🇪👍🏽",
    "n" * 249,
    "漢" * 83,
    "$(touch x)`touch y`;touch z",
    "%2F%00%",
    "/",
    "//a/../b",
    "-rf",
    "--help",
    ".",
    "..",
    "...",
    " ",
    " lead and trail ",
    "'\"\\",
    "*?[a-z]",
    "~",
    "#note",
    "!ls",
    "a|b>c",
    "\udc80\ud800",
    "\U0010ffff\ufffe\ue000",
    "ﷺ",
    "a\u0300" * 120,
)
"""What no name should be able to do harm with."""


def in_utf8(text: str) -> bytes:
    """A text as a record has it; lone surrogates as a careless writer leaves them."""
    return text.encode("utf-8", "surrogatepass")


def records_of(names: Sequence[str]) -> Iterator[bytes]:
    """Everything that has a name of someone's choice, with each of the names."""
    yield level("metadata.version", 25)
    yield broker(1)
    for i, text in enumerate(names, 1):
        name = in_utf8(text)
        topic_id = bytes([i // 256, i % 256, 7]) + bytes(13)
        yield record("TopicRecord", name=name, topic_id=topic_id)
        yield record(
            "PartitionRecord", partition_id=0, topic_id=topic_id, replicas=[1], isr=[1], leader=1
        )
        yield config(2, name, "retention.ms", name)  # type: ignore[arg-type]
        yield config(2, "t", name, name)  # type: ignore[arg-type]
        yield config(4, "1", name, name)  # type: ignore[arg-type]
        yield record(
            "AccessControlEntryRecord", id=topic_id, resource_type=2, resource_name=name,
            pattern_type=3, principal=name, host=name, operation=3, permission_type=3,
        )  # fmt: skip
        yield record(
            "ClientQuotaRecord", entity=[{"entity_type": "user", "entity_name": name}],
            key="consumer_byte_rate", value=1.5, remove=False,
        )  # fmt: skip
        yield record(
            "UserScramCredentialRecord", name=name, mechanism=1, salt=b"s", stored_key=b"k",
            server_key=b"v", iterations=4096,
        )  # fmt: skip
        yield broker(i + 1, rack=name, end_points=[
            {"name": name, "host": name, "port": 9092, "security_protocol": 0}
        ])  # fmt: skip


def write_cluster(parent: Path, names: Sequence[str]) -> Path:
    """Write a metadata directory with the names in it, a record an offset."""
    batches = [voters_batch([1], dynamic=True)]
    for i, value in enumerate(records_of(names)):
        batches.append(encode_batch([value], base_offset=2 + i, timestamp=TIME + i * 1000))
    return make_directory(parent, (0, b"".join(batches)))


@contextmanager
def hostile_cluster(
    names: Sequence[str] = NAMES, *, show_secrets: bool = False
) -> Iterator[Source]:
    """Open a cluster with the names in it."""
    with tempfile.TemporaryDirectory() as parent:
        yield metashell.open(write_cluster(Path(parent), names), show_secrets=show_secrets)
