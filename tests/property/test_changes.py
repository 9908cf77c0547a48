"""The rules of records stand in columns, in the replay of single partitions, and in changes.

These hold `changes` to the other two: what it tells adds up to what the image has, of partitions,
whose rules are many, and of every part that is put and removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.fs.changes import find_changes
from metashell.fs.node import Directory, Node
from metashell.fs.nodes.features import NO_METADATA_VERSION
from metashell.redact import Redaction
from metashell.sources.source import Source
from support.logs import make_directory
from support.seeds import seeds
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
