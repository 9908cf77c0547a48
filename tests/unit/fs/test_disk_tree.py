"""`/disk`: names from listings, leaves from the rows of `replicas`."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.fs.node import Directory, Leaf
from metashell.fs.path import resolve
from metashell.read_settings import ReadSettings
from metashell.sources import replicas
from metashell.sources.directory import open_place
from metashell.sources.disk_tree import _names_of
from metashell.sources.source import Source
from support.fixtures import fixture_dir
from support.node_sources import NODE, opened
from support.shell import run_on

DISK = fixture_dir("node-disk-44")


@cache
def source_of(name: str) -> Source:
    """A broker's disks, with the controller's metadata where it is recorded."""
    if name == "node":
        return opened(NODE / "broker101" / "d1", NODE / "broker101" / "d2")
    return disks(name)


def disks(name: str) -> Source:
    """A case's log directories, opened anew."""
    case = DISK / name
    dirs = (str(case / "d1"), str(case / "d2"))
    return open_place(str(case / "controller1"), ReadSettings(log_dirs=dirs))


def rows(source: Source) -> dict[str, dict[str, Any]]:
    """The rows of `replicas` that have a directory, by the path of the node."""
    lines = run_on(source, "replicas -o jsonl --columns all").out.splitlines()
    return {
        f"/disk/{Path(row['directory']).name}/{row['name']}": row
        for row in map(json.loads, lines)
        if row["name"] is not None
    }


def camel(name: str) -> str:
    """A column's name as a field's."""
    words = name.replace("last_time", "last_timestamp").split("_")
    return words[0] + "".join(word.title() for word in words[1:])


def value_of(source: Source, path: str) -> Any:
    """The fields of a leaf."""
    node = resolve(source.root, path).node
    assert isinstance(node, Leaf)
    return node.value()


def expected(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row, without those that have no value."""
    fields = {camel(name): value for name, value in row.items() if value not in (None, [])}
    if "lastTimestamp" in fields:
        time = datetime.fromisoformat(fields["lastTimestamp"]).astimezone(UTC)
        fields["lastTimestamp"] = round(time.timestamp() * 1000)
    return fields


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", ["node", "story", "variants/two-futures", "variants/bad-dir-name"])
def test_fields(name: str) -> None:
    """Each leaf has the fields of its row, read alone or with all others."""
    source = source_of(name)
    found = rows(source)
    log_dirs = {path.split("/")[2] for path in found}
    assert {"d1", "d2"} <= log_dirs
    listed = run_on(source, "find /disk -type f").out.splitlines()
    assert sorted(found) == sorted(path for path in listed if path.split("/")[2] in log_dirs)
    for path, row in found.items():
        assert expected(row) == value_of(source, path), path


def test_one_alone() -> None:
    """A leaf that is read first is what it is when all are read, duplicates too."""
    found = rows(source_of("variants/dup-partition"))
    assert "duplicate" == found["/disk/d1/keep-0"]["state"]
    for path in ("/disk/d1/keep-0", "/disk/d2/keep-0", sorted(found)[-1]):
        assert expected(found[path]) == value_of(disks("variants/dup-partition"), path)
    alone = rows(source_of("variants/bad-dir-name"))
    path = next(path for path, row in alone.items() if row["state"] == "not-a-log")
    assert expected(alone[path]) == value_of(disks("variants/bad-dir-name"), path)


def test_text() -> None:
    """A leaf's text has its fields, and a search finds them."""
    text = run_on(source_of("node"), "cat /disk/d1/orders-2").out
    assert ", state=in-place, bytes=1649, segments=1, logStartOffset=0, " in text
    assert ", lastTimestamp=2026-11-22T11:57:04.876Z" in text
    found = run_on(source_of("story"), "grep -l state=stray /disk/d1 /disk/d2").out.splitlines()
    stray = [path for path, row in rows(source_of("story")).items() if row["state"] == "stray"]
    assert sorted(stray) == sorted(found)


def test_reads_nothing_before_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing the root and the directories reads no replica, and a leaf reads its own alone."""
    read: list[str] = []
    real = replicas.read_replica

    def noted(place: Any, name: str, *args: Any, **options: Any) -> Any:
        read.append(name)
        return real(place, name, *args, **options)

    monkeypatch.setattr(replicas, "read_replica", noted)
    source = opened(NODE / "broker101" / "d1", NODE / "broker101" / "d2")
    assert "disk" in run_on(source, "ls /").out.split()
    assert ["d1", "d2"] == run_on(source, "ls /disk").out.split()
    assert 13 == len(run_on(source, "ls /disk/d1").out.split())
    assert 23 < len(run_on(source, "find /disk").out.split())
    assert [] == read
    run_on(source, "cat /disk/d1/orders-2")
    assert ["orders-2"] == read
    run_on(source, "grep -l orders /disk")
    assert len(read) < 40


def test_many(tmp_path: Path) -> None:
    """Directories in great number are listed once, and odd names are escaped."""
    log_dir = tmp_path / "d1"
    log_dir.mkdir()
    (log_dir / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    for i in range(3000):
        (log_dir / f"t-{i}").mkdir()
    os.mkdir(os.fsencode(log_dir) + b"/caf\xe9-0")
    source = opened(log_dir)
    node = resolve(source.root, "/disk/d1").node
    assert isinstance(node, Directory)
    names = node.names()
    assert 3001 == len(names)
    assert "caf\\xe9-0" in names
    (log_dir / "t-9999").mkdir()
    assert 3001 == len(resolve(source.root, "/disk/d1").node.names())  # type: ignore[union-attr]


def test_no_disk() -> None:
    """A source without a node's disks has no such directory, and neither has an earlier state."""
    assert "disk" not in metashell.open(fixture_dir("shop")).root.names()
    assert "disk" not in source_of("node").at(1500).root.names()


@pytest.mark.parametrize(
    ("places", "names"),
    [
        ((), []),
        (("/a/d1", "/a/d2"), ["d1", "d2"]),
        (("/data1/kafka", "/data2/kafka"), ["data1-kafka", "data2-kafka"]),
        (("/a/b-c", "/a-b/c", "/x/c"), ["b-c", "c", "c"]),
    ],
)
def test_names(places: tuple[str, ...], names: list[str]) -> None:
    """As few names of the path as tell a log directory from others."""
    found = _names_of(places)
    assert len(set(found)) == len(places)
    if len(set(names)) == len(names):
        assert names == found
