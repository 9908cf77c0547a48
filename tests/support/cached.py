"""Directories whose reduced log is kept and opened again, and what must then be equal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import metashell
from metashell.fs.node import Directory, FixedDirectory, Node
from metashell.fs.nodes.root import image_node
from metashell.image.image import Image
from metashell.log.splits import plan_splits
from metashell.redact import Redaction
from metashell.reduced.log import ReducedLog, Reducing, reduce_directory, reduce_split
from metashell.reduced.table import records_of
from metashell.sources.cache.lazy_records import LazyLog
from metashell.sources.cache.opening import CachedLog, open_cached
from metashell.sources.cache.writing import store
from support.reduced import assert_same_image

HIDDEN = Redaction()


def keep(directory: Path | str) -> bool:
    """Reduce a directory and store what is left."""
    plan = plan_splits(str(directory))
    how = Reducing.of_plan(plan)
    return store(str(directory), reduce_directory(plan, how), how)


def opened(directory: Path | str) -> LazyLog | ReducedLog | None:
    """A directory by what is kept of it and what is not; None without anything kept."""
    cached = open_cached(str(directory))
    return None if cached is None else finished(cached)


def finished(cached: CachedLog) -> LazyLog | ReducedLog:
    """What is kept with the rest reduced."""
    return cached.finish(reduce_split(split, cached.how) for split in cached.plan.splits)


def assert_as_whole(directory: Path | str, log: LazyLog | ReducedLog) -> None:
    """The image is that of all files, and of the same records when they are all there."""
    source = metashell.open(directory, engine="local")
    assert_same_nodes(Image(log.records), source.image)
    log.__dict__.pop("records", None)
    assert_same_image(Image(log.records), source.image, HIDDEN, faults=False)
    log.__dict__.pop("records", None)
    eager = records_of([*log.closed, *log.active], log.files, log.registry)
    assert_same_image(Image(log.records), Image(eager), HIDDEN)
    assert [str(f) for f in source.log.faults] == [str(f) for f in log.faults]


def assert_same_nodes(actual: Image, expected: Image) -> None:
    """Every path, in a walk's order, and the text of every leaf."""
    wanted, found = (list(_walk(root_of(image), ())) for image in (expected, actual))
    assert wanted == found


def root_of(image: Image) -> Directory:
    """The part of the file system that shows an image."""
    return FixedDirectory({"image": lambda: image_node(lambda: image, HIDDEN)})


def _walk(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    if not isinstance(node, Directory):
        yield path, node.text()
        return
    yield path, None
    for name in node.names():
        child = node.child(name)
        if child is not None:
            yield from _walk(child, (*path, name))


def append(path: Path, data: bytes) -> None:
    """Append to a file as a running node does."""
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
