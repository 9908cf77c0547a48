"""Recorded logs of coordinators, and what Kafka's own classes read in each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

from metashell.log.chain import COMPACTED
from metashell.log.read import Loaded, load
from support.fixtures import NODES, fixture_dir

RECORDS, NODE = NODES

_PRINTED: Final = re.compile(
    r"\| offset: (?P<offset>\d+) .*? key: (?P<key>\{.*\}) payload: (?P<payload>\{.*\}|<DELETE>)$"
)


@dataclass(frozen=True)
class RecordedSegment:
    """A segment of a coordinator's log."""

    name: str
    path: Path
    dump: Path
    text: Path
    """What kafka-dump-log printed of the partition."""

    @property
    def topic(self) -> str:
        """The coordinators' topic that it is of; that of ``broken-crc`` and its like, too."""
        for topic in ("__transaction_state", "__share_group_state"):
            if topic in str(self.path):
                return topic
        return "__consumer_offsets"

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """All that Kafka's classes said, in the order of the file."""
        with self.dump.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    @property
    def batches(self) -> list[dict[str, Any]]:
        """The headers of batches."""
        return [line for line in self.lines if line.get("batch")]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Records, but those of batches whose CRC is wrong."""
        wrong = {batch["baseOffset"] for batch in self.batches if not batch["isValid"]}
        found = (line for line in self.lines if "offset" in line)
        return [line for line in found if line["batchOffset"] not in wrong]

    @cached_property
    def printed(self) -> dict[int, tuple[str, str]]:
        """Key and payload of records as kafka-dump-log printed them, by offset.

        Records that it could not read are left out.
        """
        (section,) = (
            section
            for section in self.text.read_text(encoding="utf-8").split("Dumping ")[1:]
            if Path(section.partition("\n")[0]).name == self.path.name
        )
        lines = filter(None, map(_PRINTED.match, section.split("\n")))
        return {int(line["offset"]): (line["key"], line["payload"]) for line in lines}

    def load(self) -> Loaded:
        """Read it."""
        return load([str(self.path)], kind=COMPACTED)


@cache
def recorded_segments() -> tuple[RecordedSegment, ...]:
    """Every segment of a coordinator's log: made ones, then those of all brokers of a cluster."""
    return (*_made(), *_of_brokers())


@cache
def differing_segments() -> tuple[RecordedSegment, ...]:
    """One of each: brokers hold replicas of the same bytes, of which Kafka says the same."""
    first: dict[tuple[str, str, bytes, bytes], RecordedSegment] = {}
    for segment in recorded_segments():
        path = segment.path
        key = path.parent.name, path.name, path.read_bytes(), segment.dump.read_bytes()
        first.setdefault(key, segment)
    return tuple(first.values())


def _made() -> Iterator[RecordedSegment]:
    for directory in sorted(fixture_dir(RECORDS).iterdir()):
        if (dump := directory / "dump.jsonl").is_file():
            (path,) = directory.glob("*.log")
            yield RecordedSegment(directory.name, path, dump, directory / "kafka-dump-log.txt")


def _of_brokers() -> Iterator[RecordedSegment]:
    node = fixture_dir(NODE)
    for dump in sorted((node / "golden").glob("broker*/*.jsonl")):
        place, _, base_offset = dump.stem.rpartition("_")
        disk, _, partition = place.partition("_")
        path = node / dump.parent.name / disk / partition / f"{base_offset}.log"
        name = f"{dump.parent.name}-{partition}-{int(base_offset)}"
        yield RecordedSegment(name, path, dump, dump.with_name(f"{place}.dump-log.txt"))


IDS: Final = [segment.name for segment in differing_segments()]
"""A name for each of them."""


class AllRead:
    """A report for logs of which everything can be read."""

    def unread(self, text: str) -> None:
        raise AssertionError(text)

    def remark(self, text: str) -> None:
        raise AssertionError(text)


class Told:
    """A report that keeps what it is told."""

    def __init__(self) -> None:
        self.unread_texts: list[str] = []
        self.remarks: list[str] = []

    def unread(self, text: str) -> None:
        self.unread_texts.append(text)

    def remark(self, text: str) -> None:
        self.remarks.append(text)
