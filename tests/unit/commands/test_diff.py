"""diff: against a plain walk of both trees, and what it prints."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME, segment_name
from metashell.commands.diff.command import COMMAND as DIFF
from metashell.commands.framework.command import Context, Nowhere
from metashell.fs.nodes.root import image_node
from metashell.fs.path import encode_path
from metashell.read_settings import ReadSettings
from metashell.redact import Redaction
from metashell.sources.opening import open_like
from metashell.sources.source import Source
from support.fixtures import Fixture, differing_directories, fixture, fixture_names
from support.logs import make_directory, record
from support.shell import run_on

T1, T2 = bytes([1]) * 16, bytes([2]) * 16


def leaves(source: Source, below: str) -> dict[str, Any]:
    """Every leaf of an image by its path: value and text, nothing redacted; the slow way."""
    found: dict[str, Any] = {}
    stack: list[tuple[tuple[str, ...], Any]] = [
        (("image",), image_node(lambda: source.image, Redaction(show_secrets=True)))
    ]
    while stack:
        names, node = stack.pop()
        if node.is_dir:
            stack += [((*names, name), node.child(name)) for name in node.names()]
        elif names[1] != "provenance" and (below in names or "topics" not in names):
            found[encode_path(names)] = (node.value(), node.text())
    return found


def slow_diff(left: Source, right: Source, below: str = "byName") -> list[tuple[str, str, Any]]:
    """Compare all leaves of two trees."""
    return slow_diff_of(leaves(left, below), leaves(right, below))


def slow_diff_of(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Compare what `leaves` found."""
    out: list[tuple[str, str, Any]] = []
    for path in before.keys() | after.keys():
        if path not in after:
            out.append(("removed", path, None))
        elif path not in before:
            out.append(("added", path, None))
        elif before[path][1] != after[path][1]:
            (old, _), (new, _) = before[path], after[path]
            if not isinstance(old, dict):
                old, new = {"value": old}, {"value": new}
            out.append(("changed", path, {n: [old[n], new[n]] for n in old if old[n] != new[n]}))
    return sorted(out, key=lambda entry: (entry[1], entry[0]))


def fast_diff(source: Source, line: str) -> list[tuple[str, str, Any]]:
    """What the command says, in the same form."""
    ran = run_on(source, f"diff --json --all {line}")
    entries = json.loads(ran.out)
    logs_differ = any("the logs differ" in warning for warning in ran.err)
    assert ran.status == (1 if entries or logs_differ else 0), ran.err
    return sorted(
        ((e["change"], e["path"], e.get("fields")) for e in entries),
        key=lambda entry: (entry[1], entry[0]),
    )


# Another node has log directories and a configuration of its own.
OF_ANOTHER = [f.name for f in fields(ReadSettings) if f.name not in ("log_dirs", "config")]


@pytest.mark.parametrize("name", OF_ANOTHER)
def test_another_directory_is_opened_with_all_settings(name: str, tmp_path: Path) -> None:
    """Each setting of the source, whichever there are."""
    definition = {"apiKey": 20_001, "type": "metadata", "name": "Extra", "fields": []}
    (tmp_path / "extra.json").write_text(
        json.dumps({**definition, "validVersions": "0", "flexibleVersions": "0+"})
    )
    value = (tmp_path,) if name == "schemas" else True
    given = replace(ReadSettings(), **{name: value})
    directory = fixture("real-44-admin").input
    here = Source(metashell.open(directory, committed_only=given.committed_only).log, given)

    assert given == open_like(here, directory).settings
    checkpoint = next(Path(directory).glob("*.checkpoint"))
    assert given == open_like(here, checkpoint).settings


def test_a_directory_and_itself_are_the_same_as_far_as_committed() -> None:
    """What may not be committed is left out on both sides."""
    directory = fixture("real-44-admin").input
    source = metashell.open(directory, committed_only=True)

    ran = run_on(source, f"diff --with {directory}")

    assert (0, "") == (ran.status, ran.out)


DIRECTORIES = [
    name
    for name in differing_directories()
    if name.startswith("real-") or name in {"all-records-findable-dir", "quota-defaults"}
]


@pytest.mark.long
@pytest.mark.cases(2)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_two_offsets_against_a_walk(name: str) -> None:
    """Added, removed and changed leaves with their fields are those of both trees, walked."""
    source = metashell.open(fixture(name).input, show_secrets=True)
    low, high = source.history.range()
    points = [low + (high - low) * n // 4 for n in range(5)]
    by_name, by_id = (
        {point: leaves(source.at(point), below) for point in points} for below in ("byName", "byId")
    )
    for a, b in [*pairwise(points), (low, high), (high, low)]:
        found = fast_diff(source, f"{a} {b}")
        assert slow_diff_of(by_name[a], by_name[b]) == found
        assert slow_diff_of(by_id[a], by_id[b]) == sorted(
            [
                *fast_diff(source, f"{a} {b} /image/topics/byId"),
                *(e for e in found if "/image/topics/" not in e[1]),
            ],
            key=lambda entry: (entry[1], entry[0]),
        )


@pytest.mark.slow
def test_strange_sources_against_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fixture with the one after it, as if they were of one cluster.

    Any kind of fault, name and code is in one of them.
    """
    monkeypatch.setattr("metashell.commands.diff.command.are_two", lambda _: False)
    sources = []
    for name in fixture_names():
        found = fixture(name)
        opener = metashell.open if found.kind == "directory" else metashell.open_file
        source = opener(found.input, show_secrets=True)
        sources.append((source, leaves(source, "byName"), found.input))
    for (left, before, _), (_, after, path) in pairwise(sources):
        assert slow_diff_of(before, after) == fast_diff(left, f"--with '{path}'")


def test_paths_narrow_it(real_directory: Fixture) -> None:
    """Below a path or a glob are exactly the lines that the whole has there, in order."""
    source = metashell.open(real_directory.input)
    low, high = source.history.range()
    whole = run_on(source, f"diff --all {low} {high}").out.splitlines()
    for path, belongs in [
        ("/image/topics", "/image/topics/byName/"),
        ("/image/configs", "/image/configs/"),
        ("/image/cluster", "/image/cluster/"),
        ("/image/topics/byName/topic-00*", "/image/topics/byName/topic-00"),
    ]:
        part = run_on(source, f"diff --all {low} {high} {path}").out.splitlines()
        assert [line for line in whole if line[2:].startswith(belongs)] == part
        assert part


def test_one_topic_does_not_fold_all(
    real_directory: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions of the others are not even decoded."""
    source = metashell.open(real_directory.input)
    low, high = source.history.range()
    made: list[Source] = []

    def at(point: str) -> Source:
        made.append(Source.at(source, point))
        return made[-1]

    monkeypatch.setattr(source, "at", at)
    ran = run_on(source, f"diff {low} {high} /image/topics/byName/orders")

    assert 2 == len(made)
    assert ran.status in (0, 1)
    assert not any(then.image.has_folded("partitions") for then in made)


def partition(topic_id: bytes, number: int, **fields: object) -> bytes:
    """Encode a PartitionRecord."""
    every: dict[str, object] = {"replicas": [3, 5, 7], "isr": [3, 5, 7], "leader": 3, **fields}
    return record(
        "PartitionRecord",
        topic_id=topic_id,
        partition_id=number,
        leader_epoch=0,
        partition_epoch=0,
        **every,
    )


def topic(topic_id: bytes, name: str) -> bytes:
    """Encode a TopicRecord."""
    return record("TopicRecord", topic_id=topic_id, name=name)


def config(value: str | None, name: str = "retention.ms") -> bytes:
    """Encode a config of the topic t."""
    return record("ConfigRecord", resource_type=2, resource_name="t", name=name, value=value)


@pytest.fixture
def story(tmp_path: Path) -> Source:
    """A batch an offset: t is made, changed, removed, and made again."""
    values = [
        [topic(T1, "t"), partition(T1, 0), partition(T1, 1)],
        [record("PartitionChangeRecord", topic_id=T1, partition_id=0, leader=5, isr=[5, 7])],
        [config("1")],
        [config("2"), config("s3cret", "sasl.jaas.config")],
        [config("0ther", "sasl.jaas.config")],
        [record("RemoveTopicRecord", topic_id=T1)],
        [topic(T2, "t"), partition(T2, 0)],
    ]
    data, offset = b"", 0
    for batch in values:
        data += encode_batch(batch, base_offset=offset)
        offset += len(batch)
    return metashell.open(make_directory(tmp_path, (0, data)))


TOPIC = "/image/topics/byName/t"


def test_scram_says_which_field(tmp_path: Path) -> None:
    """Of secrets that differ the names, never the values."""

    def scram(salt: bytes) -> bytes:
        return record(
            "UserScramCredentialRecord",
            name="u",
            mechanism=1,
            salt=salt,
            stored_key=b"k",
            server_key=b"e",
            iterations=4096,
        )

    data = encode_batch([scram(b"a")]) + encode_batch([scram(b"b")], base_offset=1)
    source = metashell.open(make_directory(tmp_path, (0, data)))

    assert (
        "~ /image/scram/SCRAM-SHA-256/u  salt [redacted] → [redacted]\n"
        == run_on(source, "diff 0 1").out
    )


def test_names_and_values_that_steer_a_terminal(tmp_path: Path) -> None:
    """A line is a line, whatever a name or a value holds."""
    values = [config("a\nb\x1b[31m", "x\n/y")]
    data = encode_batch([topic(T1, "t")]) + encode_batch(values, base_offset=1)
    source = metashell.open(make_directory(tmp_path, (0, data)))
    ran = run_on(source, "diff 0 1")

    assert 1 == ran.out.count("\n")
    assert "\x1b" not in ran.out
    path = ran.out.split("  ")[0][2:]
    assert "a\nb\x1b[31m" == source.cat(path)


def test_a_directory_with_this_one(story: Source, tmp_path: Path) -> None:
    """The same log elsewhere is no difference; one that is shorter says so and is."""
    other = tmp_path / "other" / LOG_DIR_NAME
    other.mkdir(parents=True)
    data = Path(story.path, segment_name(0)).read_bytes()
    (other / segment_name(0)).write_bytes(data)
    ran = run_on(story, f"diff --with {other}")
    assert (0, ()) == (ran.status, ran.err)

    (other / segment_name(0)).write_bytes(data[: len(data) - 1])
    ran = run_on(story, f"diff --with {other}")
    assert (1, f"+ {TOPIC}"[2:]) == (ran.status, ran.out.split("  ")[0][2:])
    assert "at two offsets" in ran.err[0]
    assert 0 == run_on(story, f"diff --with {other} --at 7").status
    assert 0 == run_on(story, f"diff --with {other / segment_name(0)} --at 7").status


def test_counts_are_those_of_the_lines(real_directory: Fixture) -> None:
    """``--stat`` counts what the lines tell."""
    source = metashell.open(real_directory.input)
    low, high = source.history.range()
    lines = run_on(source, f"diff {low} {high} /image/configs").out.splitlines()
    counts = Counter(line[0] for line in lines)
    (stat,) = run_on(source, f"diff --stat {low} {high} /image/configs").out.splitlines()

    assert ["configs", *(f"{mark}{counts[mark]}" for mark in "+-~")] == stat.split()


def test_completion(story: Source) -> None:
    """Where a POINT comes no node is proposed, whose name may look like an offset."""
    context = Context(
        root=story.root, out=Nowhere(), warn=lambda _: None, cwd="/image", source=story
    )

    def proposed(*args: str) -> list[str]:
        *before, word = args
        return [each.text for each in DIFF.complete(context, before, word)]

    assert ["end"] == proposed("") == proposed("1", "e")
    assert [] == proposed("c")
    assert "topics/" in proposed("1", "end", "to")
    assert "cluster/" in proposed("--stat", "1", "2", "cl")
    assert "--stat" in proposed("--st")
