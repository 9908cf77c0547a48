"""The rules of records stand in columns, in the replay of single partitions, and in changes.

These hold `changes` to the other two: what it tells adds up to what the image has, of partitions,
whose rules are many, and of every part that is put and removed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.fs.changes import find_changes
from metashell.fs.node import Directory, Node
from metashell.fs.nodes.features import NO_METADATA_VERSION
from metashell.fs.path import encode_path
from metashell.redact import Redaction
from metashell.sources.source import Source
from support.fixtures import differing_directories, fixture_dir
from support.logs import make_directory
from support.seeds import seeds
from support.shell import run_on
from support.stories import Teller

TOLD_ALIKE = (
    # By id: two topics may have one name.
    ("topics", "byId"),
    ("configs",),
    ("clientQuotas",),
    ("acls",),
    ("scram",),
    ("features",),
)
"""Directories below ``/image`` of what `changes` tells as the leaves have it."""


def added_up(source: Source, names: Sequence[str]) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
    """What the changes of each node below a directory add up to, by path."""
    states: dict[tuple[str, ...], dict[str, Any]] = {}
    tests = [name.__eq__ for name in names]
    shown = Redaction(show_secrets=True)
    for change in find_changes(source.history_records, shown, tests, names, {}):
        if change.verb == "removed":
            states.pop(change.path, None)
        elif change.verb != "refused":
            new = {name: new for name, (_, new) in change.fields.items()}
            states.setdefault(change.path, {}).update(new)
    return states


def leaves(node: Node | None, path: tuple[str, ...]) -> Mapping[tuple[str, ...], Any]:
    """The value of each leaf at or below a node."""
    if not isinstance(node, Directory):
        return {} if node is None else {path: node.value()}
    found: dict[tuple[str, ...], Any] = {}
    for name in node.names():
        found.update(leaves(node.child(name), (*path, name)))
    return found


@pytest.mark.parametrize("seed", seeds(25))
def test_changes_add_up_to_the_image(seed: int, tmp_path: Path) -> None:
    """Every leaf that the image has is what its changes made it."""
    data = encode_batch(Teller(seed).tell(120), base_offset=0)
    source = metashell.open(make_directory(tmp_path, (0, data)), show_secrets=True)
    for names in TOLD_ALIKE:
        path = ("image", *names)
        states, node = added_up(source, path), source.root
        for name in path:
            assert isinstance(node, Directory)
            node = node.child(name)  # type: ignore[assignment]
        for leaf, value in leaves(node, path).items():
            if leaf[-1] in ("id", "name") and names[0] == "topics":
                assert value == states[leaf[:-1]][leaf[-1]], leaf
            elif value != NO_METADATA_VERSION:
                expected = value if isinstance(value, Mapping) else {"": value}
                assert expected == states[leaf], leaf


DATED = (
    *differing_directories(),
    "voters-static-3/voter-1",
    "node-44/broker101/d1",
)
"""Directories whose nodes are all of kinds that differ."""
_OF_A_KIND = 3
"""Nodes of one kind that are asked for."""


def dated(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Each node at or below one whose last record is known: its path and that row."""
    times = node.times()
    if times is not None and times.changed is not None:
        yield path, times.changed
    if isinstance(node, Directory):
        for name in node.names():
            child = node.child(name)
            if child is not None:
                yield from dated(child, (*path, name))


def kind(path: tuple[str, ...]) -> object:
    """What nodes of one kind have in common: depth, the part, and the name of what has one."""
    return (
        len(path),
        path[:3] if path[:2] == ("image", "topics") else path[:2],
        path[-1:] == ("id",),
    )


@pytest.mark.cases(12)
@pytest.mark.parametrize("name", DATED)
def test_what_stat_can_date_has_changes(name: str) -> None:
    """Some nodes of each kind: `changes` tells of each, and not of what `stat` does not know."""
    directory = fixture_dir(name)
    source = metashell.open(directory)
    kinds: dict[object, list[tuple[str, ...]]] = {}
    for part in ("image", "quorum", *source.coordinator_directories):
        child = source.history_root.child(part)
        if child is not None:
            for path, _ in dated(child, (part,)):
                kinds.setdefault(kind(path), []).append(path)
    drawn = Random(name)
    paths = [p for each in kinds.values() for p in drawn.sample(each, min(_OF_A_KIND, len(each)))]
    assert paths
    for path in paths:
        assert run_on(source, f"changes --records 1 {shlex.quote(encode_path(path))}").out, path


@pytest.mark.cases(6)
@pytest.mark.parametrize("name", DATED)
def test_the_newest_are_the_last_of_all(name: str) -> None:
    """``--records N`` tells what ``changes`` tells last, between two points too."""
    source = metashell.open(fixture_dir(name))
    drawn = Random(name)
    paths = [path for path, _ in dated(source.history_root) if path[:1] != ("provenance",)]
    last = source.image.provenance.offset
    for path in drawn.sample(paths, min(25, len(paths))):
        for bounds in ("", f"--until {last // 2}", f"--since {last // 2}"):
            n = drawn.choice([1, 2, 3, 9])
            line = f"changes {bounds} {shlex.quote(encode_path(path))} -o json"
            # One record may tell of several nodes, and of some only where more is known.
            every, newest = (
                [offset for offset, _ in groupby(row["offset"] for row in json.loads(out or "[]"))]
                for out in (run_on(source, line).out, run_on(source, f"{line} --records {n}").out)
            )
            assert every[len(every) - len(newest) :] == newest, (path, bounds, n)
            # A checkpoint has many records, and no offset for each.
            assert None in newest or min(n, len(every)) == len(newest), (path, bounds, n)
