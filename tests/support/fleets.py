"""Small fleets for tests: copies of nodes' directories, as backups of several clusters lie."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from support.fixtures import SAMPLE, copy_of, fixture
from support.logs import make_directory, topic_batch

SAMPLE_ID = "FOEwebgxRXOFbKdSIiDwwg"
OTHER_ID = "dvOdIo6vQp6CkKMatfeSWQ"
"""The cluster of ``real-40-static``."""


def backups(parent: Path) -> Path:
    """Lay down three directories: two nodes of one cluster, one of another."""
    parent.mkdir(parents=True, exist_ok=True)
    for name, source in (
        ("controller-1", fixture("real-44-live").directory),
        ("controller-2", SAMPLE),
        ("staging", fixture("real-40-static").directory),
    ):
        shutil.copytree(source, parent / name, ignore=shutil.ignore_patterns("golden", ".lock"))
    return parent


def node(parent: Path, name: str, segments: Mapping[int, bytes], cluster_id: str | None) -> Path:
    """Write a node's log dir with those segments."""
    directory = parent / name
    directory.mkdir(parents=True)
    make_directory(directory, *segments.items())
    if cluster_id is not None:
        text = f"version=1\ncluster.id={cluster_id}\nnode.id=1\n"
        (directory / "meta.properties").write_text(text)
    return directory


def topics(*firsts: int) -> bytes:
    """A segment of batches of one topic each, at the offsets of their numbers."""
    return b"".join(topic_batch(first) for first in firsts)


def torn(name: str, parent: Path, n_bytes: int) -> Path:
    """A copy of a fixture whose last segment lacks its last bytes."""
    directory = copy_of(name, parent)
    last = sorted((directory / "__cluster_metadata-0").glob("*.log"))[-1]
    last.write_bytes(last.read_bytes()[:-n_bytes])
    return directory
