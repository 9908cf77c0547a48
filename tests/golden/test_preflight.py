"""What a start is foretold to do is what a real broker did and said when it started."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from metashell.findings.kind import AtStart, StopKind
from metashell.judgement.start import Start, StartOptions, start_of
from metashell.node_files.config import read_config
from metashell.read_settings import ReadSettings
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.starting import nodes_to_start
from support.fixtures import DATA, fixture_dir
from support.logs import make_directory, topic_batch

_VARIANTS: Final = (
    "abandoned-future all-offline bad-dir-name dir-gone dir-without-dash directory-id-changed "
    "directory-id-lost directory-ids-swapped dup-directory-id dup-partition "
    "future-partition-metadata-version garbage-partition-metadata no-meta-properties "
    "no-partition-metadata offline-dir two-futures wrong-cluster-id wrong-node-id zero-topic-id"
)
CASES: Final = ("story", *(f"variants/{name}" for name in _VARIANTS.split()))
_TOLD: Final = re.compile(
    r"(ERROR|Exception:|INFO \[KafkaRaftServer nodeId=\d+\] Rewriting|Stopping serving logs in dir)"
)
"""Lines of the broker's log about refusals, offline directories and ids."""
_FOLLOWS: Final = re.compile(
    r"Exiting Kafka|Encountered fatal fault|There was an error in one of the threads"
    r"|FileSystemException|Encountered metadata publishing fault|KafkaStorageException: Can not"
    r"|Failed to load \S+ during"
)
"""Lines that follow from others."""


@cache
def _start(name: str) -> Start:
    case = fixture_dir(f"node-disk-44/{name}")
    paths = (str(case / "d1"), str(case / "d2"))
    (node,) = nodes_to_start(OpenRequest(choice=Choice(paths[0], paths=paths)))
    return start_of(node, StartOptions())


def _log(name: str) -> list[str]:
    """The lines of the broker's log about errors, with the directories' real names."""
    lines = json.loads((DATA / "disk-44-errors.json").read_text())[name]
    return [
        line.replace("BROKER102_DIR", str(fixture_dir(f"node-disk-44/{name}"))) for line in lines
    ]


@pytest.mark.parametrize("name", CASES)
def test_starts(name: str) -> None:
    """It is foretold to start where it started."""
    did_start = _log(name)[-1] == "[process: running; server started: True]"
    assert did_start == (not _start(name).count(AtStart.REFUSES))
    assert did_start == _start(name).verdict.startswith("starts")


@pytest.mark.parametrize("name", CASES)
def test_each_text_was_said(name: str) -> None:
    """Each text of Kafka's stands in the broker's log, and each refusal has one."""
    log = _log(name)
    for event in _start(name).events:
        assert event.kafka is not None or event.effect not in (AtStart.REFUSES, AtStart.OFFLINE)
        for text in (event.kafka or "").splitlines():
            assert any(text in line for line in log), text


@pytest.mark.parametrize("name", CASES)
def test_each_line_is_foretold(name: str) -> None:
    """Each line about refusals, offline directories and ids has its event."""
    events = _start(name).events
    texts = [text for event in events for text in (event.kafka or "").splitlines()]
    offline = {event.directory for event in events if event.effect is AtStart.OFFLINE}
    for line in _log(name):
        stopped = re.search(r"Stopping serving logs in dir (\S+)", line)
        if stopped is not None:
            assert stopped[1] in offline
        elif _TOLD.search(line) and not _FOLLOWS.search(line):
            assert any(text in line for text in texts), line


@pytest.mark.parametrize("name", ["garbage-partition-metadata", "zero-topic-id", "offline-dir"])
def test_only_copies_in_an_offline_directory(name: str) -> None:
    """The broker's only copies there are named: after the start they had no leader."""
    offline = [one for one in _start(f"variants/{name}").events if one.effect is AtStart.OFFLINE]
    assert offline[0].directory is not None
    assert offline[0].directory.endswith("/d2")
    assert offline[0].meaning.endswith(
        "; replicas in it: 12; no other broker has all data of only-on-b-0"
    )


def test_only_copies_in_a_directory_without_its_id() -> None:
    """The broker's only copy there is named: it had no leader until the next start."""
    events = _start("variants/directory-id-lost").events
    (found,) = (one for one in events if one.code == "replica-elsewhere")
    assert found.meaning.endswith("; no other broker has all data of only-on-b-0")
    assert "write the old one into its meta.properties" in found.what_to_do


@pytest.mark.parametrize(
    ("content", "starts"),
    [
        ("version=1\ncluster.id=c\nnode.id=1\n", True),
        ("version=1\ncluster.id=c\n", False),
        ("version=1\nnode.id=1\n", False),
        ("version=2\nnode.id=1\ndirectory.id=bm90IGEgcmVhbCBpZCEhIQ\n", True),
        ("version=0\n", True),
    ],
)
def test_ids_that_a_version_needs(content: str, starts: bool, tmp_path: Path) -> None:
    """Without one a node can't read the file: MetaProperties.Builder."""
    make_directory(tmp_path, (0, topic_batch(0)))
    (tmp_path / "meta.properties").write_text(content)
    (node,) = nodes_to_start(OpenRequest(choice=Choice(str(tmp_path))))
    start = start_of(node, StartOptions())
    assert starts == start.verdict.startswith("starts")
    said = [event.kafka or "" for event in start.events]
    assert starts != any("No readable meta.properties files found." in text for text in said)


@pytest.mark.parametrize("name", ["broker101", "broker102", "broker103", "controller1"])
def test_settings_of_real_nodes(name: str, tmp_path: Path) -> None:
    """Nodes that ran with these settings on these directories start with them."""
    place = fixture_dir("node-44") / name
    text = (place / "server.properties").read_text()
    text = re.sub(r"(BROKER\d+_DIR|CONTROLLER1_DIR(/data)?)", str(place), text)
    (tmp_path / "server.properties").write_text(text)
    config = read_config(tmp_path / "server.properties")
    dirs = [str(one.path) for one in config.log_dirs()]
    choice = Choice(dirs[0], log_dirs=tuple(dirs[1:]))
    settings = replace(ReadSettings(), config=config.of_quorum())
    (node,) = nodes_to_start(OpenRequest(choice=choice, settings=settings))
    start = start_of(node, StartOptions(after=StopKind.CLEAN))
    assert "starts" == start.verdict
    assert ("controller" if name == "controller1" else "broker") == start.roles
    assert not {event.code for event in start.events} & {"config-refused", "config-unlike-quorum"}
