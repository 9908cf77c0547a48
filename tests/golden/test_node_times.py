"""The times of every node of the real directories equal those of a slow scalar replay."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from metashell.fs.node import Directory, Node
from metashell.fs.nodes.root import ImageDirectory
from metashell.fs.path import resolve
from metashell.fs.walk import GridVisit, walk
from metashell.records.records import Records
from metashell.sources.source import Source
from support.fixtures import fixture, tree_fixture_names
from support.replay import Base
from support.touches import Touches

REAL = [name for name in tree_fixture_names() if name.startswith("real-")]


def touches_of(directory: Path, source: Source) -> Touches:
    """Replay the files that a source was folded from."""
    loaded = image_of(source.root).image.records.loaded.files
    base, base_file, segments = None, "", []
    for file in loaded:
        data = (directory / file.name).read_bytes()
        if file.end_offset is not None:
            base, base_file = Base(file.end_offset, file.epoch, data), file.name
        else:
            segments.append((file.name, data))
    return Touches(base, base_file, segments)


def image_of(root: Directory) -> ImageDirectory:
    """The directory ``/image``."""
    image = root.child("image")
    assert isinstance(image, ImageDirectory)
    return image


def place_of(records: Records, row: int | None) -> tuple[str, int] | None:
    """File and offset of a row."""
    if row is None:
        return None
    return records.file_of(row).name, int(records.frames.offset[row])


def nodes_below(directory: Directory, names: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Real names of everything below a directory, itself included."""
    found = [names]
    for name in directory.names():
        child = directory.child(name)
        if isinstance(child, Directory):
            found += nodes_below(child, (*names, name))
        else:
            found.append((*names, name))
    return found


def node_at(root: Directory, names: tuple[str, ...]) -> Node:
    """The node of real names."""
    node: Node | None = root
    for name in names:
        assert isinstance(node, Directory)
        node = node.child(name)
    assert node is not None
    return node


@pytest.mark.parametrize("name", REAL)
def test_last_touch(name: str) -> None:
    """What last changed each node is the record that a replay says; what made it likewise."""
    source = metashell.open(fixture(name).input)
    touches = touches_of(fixture(name).input, source)
    image = image_of(source.root)
    records = image.image.records
    got, expected = {}, {}
    for path in nodes_below(image):
        times = node_at(image, path).times()
        got[path] = place_of(records, None if times is None else times.changed)
        expected[path] = touches.changed.get(path)
        is_made = len(path) == 3 and path[0] == "topics"
        if path != ("provenance",) and (is_made or path in touches.created):
            got[*path, "made"] = place_of(records, None if times is None else times.created)
            expected[*path, "made"] = touches.created.get(path)
    assert got == expected
    assert any(got.values())


@pytest.mark.parametrize("name", REAL)
def test_bulk(name: str) -> None:
    """What a directory says of its children, and of its grid, is what each says of itself."""
    source = metashell.open(fixture(name).input)
    n_grids = 0
    for visit in walk(source.root, "/"):
        directory = visit.directory if isinstance(visit, GridVisit) else visit.node
        if not isinstance(directory, Directory):
            continue
        names = [*directory.names(), "no such name"]
        each = [getattr(directory.child(child), "times", lambda: None)() for child in names]
        rows = [
            tuple(-1 if row is None else row for row in (t.created, t.changed)) if t else (-1, -1)
            for t in each
        ]
        created, changed = directory.child_times(names)
        assert list(zip(created.tolist(), changed.tolist(), strict=True)) == rows
        if isinstance(visit, GridVisit):
            n_grids += 1
            times = visit.grid.times()
            assert times.directories.tolist() == changed[:-1].tolist()
            for i, child in enumerate(visit.grid.names):
                shape = visit.grid.shapes[visit.grid.shape_of[i]]
                below = directory.child(child)
                assert isinstance(below, Directory)
                leaves = times.leaves[times.bounds[i] : times.bounds[i + 1]]
                assert leaves.tolist() == below.child_times(shape)[1].tolist()
    assert n_grids >= 2


@pytest.mark.parametrize("name", REAL)
def test_newest_of_subtree(name: str) -> None:
    """A directory's last change is none older than that of anything below it."""
    source = metashell.open(fixture(name).input)

    def newest(node: Node) -> int:
        times = node.times()
        own = -1 if times is None or times.changed is None else times.changed
        if isinstance(node, Directory):
            for child in node.names():
                below = node.child(child)
                assert below is not None
                assert newest(below) <= own
        return own

    assert newest(source.root) >= 0


@pytest.mark.parametrize("name", REAL)
def test_one_topic_alone(name: str) -> None:
    """A topic asked first, and folded alone, says the same as among all."""
    source = metashell.open(fixture(name).input)
    all_of = resolve(metashell.open(fixture(name).input).root, "/image/topics/byName").node
    assert isinstance(all_of, Directory)
    names = all_of.names()[:5]
    _, changed = all_of.child_times(names)
    for topic, row in zip(names, changed.tolist(), strict=True):
        times = resolve(source.root, f"/image/topics/byName/{topic}").node.times()
        assert times is not None
        assert times.changed == row
