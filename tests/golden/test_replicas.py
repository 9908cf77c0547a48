"""The states of replicas on disks are what a real broker made of these directories at its start."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pytest

from metashell.cli import main
from metashell.judgement.evidence import Evidence
from metashell.judgement.stop_findings import of_stop
from metashell.node_files.log_name import LogState, parse_log_name
from metashell.read_settings import ReadSettings
from metashell.sources.directory import open_place
from metashell.sources.replicas import log_directories_here, replicas_table
from metashell.sources.source import Source
from support.coordinators import Told
from support.fixtures import fixture_dir
from support.shell import run_on

Captures: TypeAlias = pytest.CaptureFixture[str]

_BROKER: Final = 102
_REFUSED: Final = {
    "bad-dir-name": {("not-a-log", "d1/keep-x")},
    "dir-without-dash": {("not-a-log", "d2/backup")},
    "dup-partition": {("duplicate", "d1/keep-0"), ("duplicate", "d2/keep-0")},
}
"""Directories on which the broker did not start because of what lies in them."""
_CAME_UP: Final = (
    "story",
    "variants/abandoned-future",
    "variants/directory-id-changed",
    "variants/directory-id-lost",
    "variants/directory-ids-swapped",
    "variants/future-partition-metadata-version",
    "variants/no-partition-metadata",
)
"""Cases in which the broker came up with all its directories."""
_WITHOUT_A_DIRECTORY: Final = (
    "variants/garbage-partition-metadata",
    "variants/zero-topic-id",
    "variants/offline-dir",
)
"""Cases in which it came up without one of them."""
_NOT_STARTED: Final = tuple(
    f"variants/{name}"
    for name in (
        "all-offline",
        "bad-dir-name",
        "dir-gone",
        "dir-without-dash",
        "dup-directory-id",
        "dup-partition",
        "no-meta-properties",
        "two-futures",
        "wrong-cluster-id",
        "wrong-node-id",
    )
)
"""Cases in which it did not start."""
_DIRS: Final = ("d1", "d2")
_LATER: Final = ("__consumer_offsets", "__transaction_state")
"""Topics that came into being between the copy and the start."""
_PATH: Final = r"BROKER102_DIR/(\S+?)"


def _case(name: str) -> Path:
    return fixture_dir(f"node-disk-44/{name}")


@cache
def _rows(name: str) -> list[dict[str, Any]]:
    """The broker's rows, by the metadata of the controller."""
    case = _case(name)
    dirs = tuple(str(case / log_dir) for log_dir in ("d1", "d2"))
    source = open_place(str(case / "controller1"), ReadSettings(log_dirs=dirs))
    told = Told()
    table = _table(source, told)
    assert [] == told.unread_texts
    return [
        {**row, "place": row["directory"] and Path(row["directory"]).name}
        for row in table.to_pylist()
        if row["broker"] == _BROKER
    ]


def _table(source: Source, told: Told) -> pa.Table:
    return replicas_table(source, log_directories_here(source, told), told)


def _in_state(name: str, *states: str) -> set[str]:
    """Directories in some states, such as ``d1/keep-0``."""
    return {
        f"{Path(row['directory']).name}/{row['name']}"
        for row in _rows(name)
        if row["state"] in states
    }


def _told(name: str, pattern: str) -> set[str]:
    """Directories that lines of the broker's log name."""
    return set(re.findall(pattern, (_case(name) / "log-lines.txt").read_text()))


def _after(name: str) -> set[str]:
    """Directories after the start."""
    lines = (_case(name) / "after-listing.txt").read_text().splitlines()
    return {line.partition("/ ")[0] for line in lines if "/ [" in line}


def _current(directories: Collection[str]) -> set[str]:
    """Of directories the names of current logs, without the topics that came later."""
    parsed = [parse_log_name(one.partition("/")[2]) for one in directories]
    return {
        one.name
        for one in parsed
        if one is not None and one.state is LogState.CURRENT and one.topic not in _LATER
    }


@pytest.mark.parametrize("name", [*_CAME_UP, "variants/garbage-partition-metadata"])
def test_strays(name: str) -> None:
    """Exactly the logs that the broker renamed become stray, and it loads those it renamed once."""
    marked = _told(name, rf"Log in {_PATH} marked stray")
    assert marked == _in_state(name, "becomes-stray")
    loaded = {one for one in _told(name, rf"Loaded stray log: {_PATH} ") if one not in marked}
    assert loaded == _in_state(name, "stray")


def test_reasons() -> None:
    """The reasons for which the broker called a log stray."""
    reasons = {row["name"]: row["reason"] for row in _rows("story") if row["name"]}
    log = (_case("story") / "log-lines.txt").read_text()
    unknown = re.findall(rf"{_PATH}, topicId[^\n]*: the topicId \S+ does not exist", log)
    moved = re.findall(rf"{_PATH}, topicId[^\n]*: the current replica assignment", log)
    assert 8 == len(unknown)
    assert 3 == len(moved)
    assert {reasons[one.partition("/")[2]] for one in unknown} == {
        "no topic has this topic id",
        "the topic of this name has another topic id",
    }
    assert {reasons[one.partition("/")[2]] for one in moved} == {
        "the broker is not among the replicas"
    }
    assert "it has no partition.metadata" == reasons["empty-dir-0"]
    assert "the topic of this name has another topic id" == reasons["keep-2"]


@pytest.mark.parametrize("name", _CAME_UP)
def test_missing(name: str) -> None:
    """Exactly the current logs that lay there after the start are in place or were missing."""
    kept = _current(_in_state(name, "in-place", "ghost", "replaced"))
    promoted, created = set(), set()
    for row in _rows(name):
        log = f"{row['topic']}-{row['partition']}"
        if row["state"] == "future" and row["reason"].startswith("it takes"):
            promoted.add(log)
        if row["state"] == "missing" and row["topic"] not in _LATER:
            created.add(log)
    assert not created & kept
    assert _current(_after(name)) == kept | promoted | created


def test_promoted() -> None:
    """A future without a current log, where the metadata has it, is promoted."""
    rows = [row for row in _rows("variants/abandoned-future") if row["topic"] == "keep"]
    (future,) = (row for row in rows if row["state"] == "future")
    assert "it takes the place of the current log at the next start" == future["reason"]
    after = f"{Path(future['directory']).name}/keep-{future['partition']}"
    assert after in _after("variants/abandoned-future")


@pytest.mark.parametrize("name", [*_CAME_UP, *_WITHOUT_A_DIRECTORY, *_NOT_STARTED])
def test_actions(name: str, tmp_path: Path, capsys: Captures) -> None:
    """Each action that the broker's log tells has its row, and each row its action.

    The node's own configuration names its log directories, and its own metadata log is compared
    with, but for the story, in which that log is older than the cluster.
    """
    case, log = _case(name), (_case(name) / "log-lines.txt").read_text()
    if not any((case / log_dir).is_dir() for log_dir in _DIRS):
        pytest.skip("no log directory can be listed, and nothing is opened")
    rows = _rows(name) if name == "story" else _own_rows(case, tmp_path, capsys)
    before = {f"{row['place']}/{row['name']}" for row in rows if row["name"]}
    told = {
        state: {f"{row['place']}/{row['name']}" for row in rows if row["state"] == state}
        for state in ("becomes-stray", "stray", "ghost", "replaced", "delete")
    }
    marked = set(re.findall(rf"Log in {_PATH} marked stray", log))
    assert marked == told["becomes-stray"]
    loaded = set(re.findall(rf"Loaded stray log: {_PATH} ", log)) - marked
    starts = "server started: True" in log
    assert loaded <= told["stray"]
    assert not starts or name in _WITHOUT_A_DIRECTORY or loaded == told["stray"]
    recovered = set(re.findall(rf"recover abandoned future log for \S+ at Log\(dir={_PATH},", log))
    futures = [row for row in rows if row["state"] == "future"]
    promoted = {row["name"] for row in futures if row["reason"].startswith("it takes")}
    assert {one.partition("/")[2] for one in recovered} == promoted
    copied = {f"{row['topic']}-{row['partition']}" for row in futures} - {
        one.rpartition(".")[0] for one in promoted
    }
    assert copied == set(re.findall(r"replace current log .* for (\S+) \(org", log))
    assert not told["replaced"]
    after = _after(name)
    if not starts:
        assert before - {"d1/__cluster_metadata-0"} <= after
        assert not [row for row in rows if row["state"] == "missing"]
    if starts and name not in _WITHOUT_A_DIRECTORY:
        created = _current(after) - _current(before - marked)
        missing = {
            f"{row['topic']}-{row['partition']}" for row in rows if row["state"] == "missing"
        }
        assert created - {one.rpartition(".")[0] for one in promoted} == {
            one for one in missing if one.rpartition("-")[0] not in _LATER
        }
        # A broker deletes after a minute; the listing was made after 20 s.
        assert told["ghost"] | told["delete"] <= after


def _own_rows(case: Path, tmp_path: Path, capsys: Captures) -> list[dict[str, Any]]:
    """The broker's rows with its own configuration; ``place`` is the log directory's name."""
    properties = tmp_path / "server.properties"
    dirs = ",".join(str(case / log_dir) for log_dir in _DIRS)
    properties.write_text(f"process.roles=broker\nnode.id={_BROKER}\nlog.dirs={dirs}\n")
    capsys.readouterr()
    main(["--config", str(properties), "replicas", "-o", "jsonl"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [
        {**row, "place": row["directory"] and Path(row["directory"]).name}
        for row in rows
        if row["broker"] == _BROKER or row["broker"] is None
    ]


@pytest.mark.parametrize("name", _REFUSED)
def test_refused(name: str) -> None:
    """The directories for which the broker did not start."""
    states = ("not-a-log", "duplicate")
    found = {(state, one) for state in states for one in _in_state(f"variants/{name}", state)}
    assert _REFUSED[name] == found


def test_two_futures() -> None:
    """Both futures of a replica."""
    found = _in_state("variants/two-futures", "duplicate")
    assert {"d1", "d2"} >= {one.partition("/")[0] for one in found}
    assert 2 == len(found)
    assert all(one.endswith("-future") for one in found)


@pytest.mark.parametrize("name", ["garbage-partition-metadata", "zero-topic-id"])
def test_malformed(name: str) -> None:
    """A partition.metadata that took a log directory offline."""
    assert {"d2/keep-3"} == _in_state(f"variants/{name}", "malformed")


def test_offsets() -> None:
    """Where the broker found the ends of the logs that it renamed."""
    ends = {row["name"]: row["log_end_offset"] for row in _rows("story") if row["name"]}
    log = (_case("story") / "log-lines.txt").read_text()
    found = re.findall(rf"stray log dir Log\(dir={_PATH},[^\n]*logEndOffset=(\d+)", log)
    assert 11 == len(found)
    assert {one.partition("/")[2]: int(end) for one, end in found}.items() <= ends.items()


def test_offline_directory() -> None:
    """A log directory that can't be listed is told of; nothing in it counts as missing."""
    case = _case("variants/offline-dir")
    dirs = tuple(str(case / log_dir) for log_dir in ("d1", "d2"))
    source = open_place(str(case / "controller1"), ReadSettings(log_dirs=dirs))
    told = Told()
    rows = _table(source, told).to_pylist()
    assert any("d2" in text for text in told.unread_texts)
    assert {str(case / "d1")} == {row["directory"] for row in rows if row["broker"] == _BROKER}


def test_unclean_starts() -> None:
    """How many partitions the broker leaves with its registration is what the controller wrote.

    Each case's log is the beginning of the next one's, so the last one has every registration.
    """
    whole = _controller("variants/zero-topic-id")
    log = [json.loads(line) for line in run_on(whole, "log -o jsonl").out.splitlines()]
    names = ["story", *(f"variants/{one.name}" for one in _case("variants").iterdir())]
    ends = {name: _controller(name).image.provenance.offset for name in names}
    seen = []
    for at, row in enumerate(log):
        if row["type"] != "REGISTER_BROKER_RECORD" or row["data"]["brokerId"] != _BROKER:
            continue
        # The controller writes the changes of partitions in front of the registration.
        changed = 0
        while (one := log[at - changed - 1])["time"] == row["time"]:
            changed += one["type"] == "PARTITION_CHANGE_RECORD"
        before = [name for name, end in ends.items() if end < row["offset"]]
        if before:
            name = max(before, key=ends.__getitem__)
            assert changed == _leaves(name, whole, row["offset"] - changed - 1), name
            seen.append(changed)
    assert {0, 1, 2} == set(seen)
    assert 13 == len(seen)


def _controller(name: str, *log_dirs: str) -> Source:
    return open_place(str(_case(name) / "controller1"), ReadSettings(log_dirs=log_dirs))


def _leaves(name: str, source: Source, offset: int) -> int:
    """How many partitions' ISR and ELR the broker leaves, by the metadata at an offset."""
    image = source.at(offset).image
    places = [str(_case(name) / log_dir) for log_dir in _DIRS]
    of = _controller(name, *filter(os.path.isdir, places))
    own = of.log_directories[1:]
    rows = replicas_table(of, own, Told(), image=image)
    asked = Evidence(source=of, image=image, starts=True)
    found = of_stop(asked, _BROKER, own, rows, is_whole=len(own) == len(_DIRS))
    return sum(one.count for one in found if one.code == "unclean-start")


def test_described() -> None:
    """Bytes as DescribeLogDirs, offsets as ListOffsets, open producers as DescribeProducers."""
    node = fixture_dir("node-44")
    lines = (node / "captured" / "answers.jsonl").read_text().splitlines()
    answers = [json.loads(line) for line in lines]
    offsets = json.loads((node / "captured" / "list-offsets.json").read_text())
    opened = {
        (topic["name"], told["partitionIndex"]): sum(
            one["currentTxnStartOffset"] >= 0 for one in told["activeProducers"]
        )
        for answer in answers
        if answer["api"] == "DescribeProducers"
        for topic in answer["response"]["topics"]
        for told in topic["partitions"]
    }
    compared = 0
    for answer in answers:
        if answer["api"] != "DescribeLogDirs":
            continue
        for log_dir in answer["response"]["results"]:
            place = node / f"broker{answer['broker']}" / Path(log_dir["logDir"]).name
            source = open_place(str(node / "controller1"), ReadSettings(log_dirs=(str(place),)))
            rows = {
                (row["topic"], row["partition"]): row
                for row in _table(source, Told()).to_pylist()
                if row["directory"] == str(place) and row["state"] == "in-place"
            }
            for topic in log_dir["topics"]:
                for told in topic["partitions"]:
                    key = (topic["name"], told["partitionIndex"])
                    row, known = rows[key], offsets[key[0]][str(key[1])]
                    compared += 1
                    assert told["partitionSize"] == row["bytes"], key
                    assert known["logStartOffset"] == row["log_start_offset"], key
                    assert known["highWatermark"] == row["log_end_offset"], key
                    assert known["highWatermark"] == row["high_watermark"], key
                    assert opened.get(key, 0) == row["open_producers"], key
    assert 94 == compared
    assert sum(opened.values()) > 2
