"""The batches of topics' logs are those that kafka-dump-log prints, in every column."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from metashell.log.log_tail import LogTail
from metashell.read_settings import READ_DEFAULTS
from metashell.records.batches import BatchMaker
from metashell.records.line_forms import JsonForm
from metashell.sources.directory import open_place
from metashell.sources.topic import TopicSource
from support.coordinators import IDS, RecordedSegment, differing_segments
from support.fixtures import fixture_dir
from support.shell import run_on

NODE: Final = fixture_dir("node-44")
_LOGS: Final = sorted((NODE / "golden").glob("*/*.dump-log.txt"))
_TOPICS: Final = [path for path in _LOGS if "___" not in path.name]
_SEGMENT: Final = re.compile(r"Dumping \S+?/(\d{20}\.log)")
_NUMBERS: Final = (
    *("baseOffset", "lastOffset", "count", "baseSequence", "lastSequence", "producerId"),
    *("producerEpoch", "partitionLeaderEpoch", "position", "size", "magic", "crc"),
)
_TIME: Final = re.compile(r" (CreateTime|LogAppendTime|NoTimestampType): (-?\d+) size:")
_HORIZON: Final = re.compile(r"deleteHorizonMs: OptionalLong(?:\[(\d+)\]|\.empty)")


_OURS: Final = {
    "partitionLeaderEpoch": "epoch",
    "isTransactional": "transactional",
    "isControl": "control",
    "deleteHorizonMs": "deleteHorizon",
    "timestamp": "maxTimestamp",
    "size": "bytes",
    "compresscodec": "codec",
}
"""Names of fields that are others in kafka-dump-log."""


def dumped(path: Path) -> list[dict[str, Any]]:
    """The lines of batches of all segments."""
    found, file = [], ""
    for line in path.read_text().splitlines():
        segment = _SEGMENT.match(line)
        if segment is not None:
            file = segment[1]
        if not line.startswith("baseOffset:"):
            continue
        assert line.endswith(" isvalid: true")
        time, horizon = _TIME.search(line), _HORIZON.search(line)
        assert time is not None
        assert horizon is not None
        batch: dict[str, Any] = {
            name: int(re.search(rf"\b{name}: (-?\d+)", line)[1])  # type: ignore[index]
            for name in _NUMBERS
        }
        batch |= {name: f"{name}: true" in line for name in ("isTransactional", "isControl")}
        batch |= {"file": file, "timestampType": time[1], "timestamp": int(time[2])}
        batch["deleteHorizonMs"] = None if horizon[1] is None else int(horizon[1])
        batch["compresscodec"] = re.search(r"compresscodec: (\w+)", line)[1]  # type: ignore[index]
        found.append(batch)
    return found


def directory(path: Path) -> Path:
    """The log that a file was dumped of."""
    log_dir, _, name = path.name.removesuffix(".dump-log.txt").partition("_")
    return NODE / path.parent.name / log_dir / name


def as_dumped(line: str) -> dict[str, Any]:
    """A JSON line with the fields of kafka-dump-log."""
    read = json.loads(line)
    batch = read["batch"] | {"crc": int(read["batch"]["crc"], 16)}
    names = [*_NUMBERS, "timestampType", *_OURS]
    of = {name: batch[_OURS.get(name, name)] for name in names if name != "position"}
    return of | {"file": read["file"], "position": read["pos"]}


def lines_of(log: LogTail) -> list[dict[str, Any]]:
    """The batches of a log."""
    return [
        as_dumped(line)
        for segment in log.segments
        for found in log.batches(segment)
        for line in BatchMaker(JsonForm().batch).lines(found, np.arange(len(found.pos)))
    ]


def opened(path: Path) -> TopicSource:
    """Open a topic's log."""
    source = open_place(str(path), READ_DEFAULTS)
    assert isinstance(source, TopicSource)
    return source


def test_all_are_compared() -> None:
    """There are logs of coordinators, which are compacted, and of others."""
    assert 96 == len(_LOGS)
    assert 68 == len(_TOPICS)


@pytest.mark.cases(68)
@pytest.mark.parametrize("path", _TOPICS, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_topics(path: Path) -> None:
    """`log --json` of a topic's log; `check` finds its CRCs and indexes right, as Kafka does."""
    source, expected = opened(directory(path)), dumped(path)
    lines = [as_dumped(line) for line in run_on(source, "log --json").out.splitlines()]
    sanity = path.with_name(path.name.replace("dump-log", "indexes")).read_text()

    assert expected == lines
    assert 2 * len(source.tail.segments) == sanity.count("passed sanity check")
    checked = run_on(source, "check")
    assert checked.out.endswith(" records: no damage found\n")
    assert f"{len(expected)} batch" in checked.out


@pytest.mark.cases(28)
@pytest.mark.parametrize(
    "path", sorted({*_LOGS} - {*_TOPICS}), ids=lambda p: f"{p.parent.name}-{p.name}"
)
def test_compacted(path: Path) -> None:
    """Headers of compacted logs, some of them without records."""
    place = directory(path)
    names = [child.name for child in place.iterdir()]
    assert dumped(path) == lines_of(LogTail(str(place), place.name, names))


@pytest.mark.cases(28)
@pytest.mark.parametrize("segment", differing_segments(), ids=IDS)
def test_formats(segment: RecordedSegment) -> None:
    """Every codec, messages of formats 0 and 1, batches with a wrong CRC, and torn tails."""
    place = segment.path
    log = LogTail(str(place.parent), "log-0", [place.name])
    names = {
        "position": "position",
        "sizeInBytes": "size",
        "magic": "magic",
        "lastOffset": "lastOffset",
        "compression": "compresscodec",
        "crc": "crc",
        "timestampType": "timestampType",
        "maxTimestamp": "timestamp",
    }
    expected = [
        {names[name]: batch[name] for name in names if name in batch} for batch in segment.batches
    ]
    lines = lines_of(log)
    found = [{name: line[name] for name in of} for line, of in zip(lines, expected, strict=False)]
    assert expected[: len(found)] == found
    # What comes behind another magic is not told by headers alone.
    assert len(found) == (1 if segment.name == "broken-magic" else len(expected)) == len(lines)
