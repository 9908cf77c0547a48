"""Below a cluster of a fleet everything prints what it prints for the directory alone."""

from __future__ import annotations

import json
from functools import cache

import pytest

import metashell
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import DEMO, differing_directories, fixture
from support.shell import Ran, run

PATHS = {"demo": DEMO} | {name: fixture(name).input for name in differing_directories()}

TREES = ("find {}", "tree {}", "ls -R {}", "ls -lR {}", "ls -ltd {}/image/*", "cat {}/image/*/*")
OF_ONE = (
    "checksum",
    "log --tail 5 --json",
    "changes image/topics",
    "du --by topic",
    "stats --json --section types",
)


@cache
def fleet() -> FleetSource:
    """All these directories together."""
    return open_fleet(list(map(str, PATHS.values())))


@cache
def alone(name: str) -> Source:
    """One of them by itself."""
    return metashell.open(PATHS[name])


@cache
def root_of(name: str) -> str:
    """The path of a fixture in the fleet."""
    member = next(m for m in fleet().members.values() if m.path == str(PATHS[name]))
    return f"/clusters/{member.name}"


def on_fleet(line: str, cwd: str = "/") -> Ran:
    """Run a command line on the fleet."""
    return run(fleet().root, line, cwd=cwd, source=fleet())


@pytest.mark.cases(17)
@pytest.mark.parametrize("line", TREES)
@pytest.mark.parametrize("name", PATHS)
def test_trees(name: str, line: str) -> None:
    """With the cluster's path in front, and from inside it without."""
    source, root = alone(name), root_of(name)
    # A path that ends with a slash keeps it alone: `/` is no prefix of `/image`.
    wanted = run(source.root, line.format("/image" if "*" not in line else ""), source=source)
    path = f"{root}/image" if "*" not in line else root
    found = on_fleet(line.format(path))
    inside = on_fleet(line.format("image" if "*" not in line else "."), root)
    plain = run(
        source.root, line.format("image" if "*" not in line else "."), cwd="/", source=source
    )

    assert (wanted.status, wanted.out) == (found.status, found.out.replace(root, ""))
    assert (plain.status, plain.out) == (inside.status, inside.out)


@pytest.mark.parametrize("name", PATHS)
def test_whole_roots(name: str) -> None:
    """All of it: the files, the quorum, what the formatter wrote."""
    source, root = alone(name), root_of(name)
    for line in ("find", "tree", "ls -R"):
        wanted, found = run(source.root, line, source=source), on_fleet(line, root)
        assert (wanted.status, wanted.out) == (found.status, found.out)


@pytest.mark.parametrize("name", PATHS)
def test_times(name: str) -> None:
    """Each member's own records tell them."""
    source, root = alone(name), root_of(name)
    lines = run(source.root, "stat --json /image/*/* /log/*", source=source).out
    found = on_fleet(f"stat --json {root}/image/*/* {root}/log/*").out
    wanted = [{**row, "path": root + row["path"]} for row in json.loads(lines)]
    assert wanted == json.loads(found)

    offset = source.status().offset
    for test in (f"-changed-since {offset}", f"-changed-before {offset}", "-newer-than 2020-01-01"):
        line = f"find {{}}/image {test}"
        wanted_paths = run(source.root, line.format(""), source=source).out
        assert wanted_paths == on_fleet(line.format(root)).out.replace(root, "")


def test_times_from_above() -> None:
    """One walk over all members gives what a walk of each gives."""
    line = "find {} -newer-than 2026-11-21T08:28 -name orders"
    each = "".join(on_fleet(line.format(f"/clusters/{name}")).out for name in fleet().members)
    assert each
    for start in ("/", "/clusters"):
        ran = on_fleet(line.format(start))
        assert each == ran.out
        # A cluster whose records all lie before that time is named, and the others are searched.
        assert ran.status == 1
        assert any("is not covered" in told for told in ran.err)


@pytest.mark.cases(19)
@pytest.mark.parametrize("line", OF_ONE)
@pytest.mark.parametrize("name", PATHS)
def test_commands_of_one_cluster(name: str, line: str) -> None:
    """In the cluster's directory they are at home."""
    source, root = alone(name), root_of(name)
    wanted, found = run(source.root, line, source=source), on_fleet(line, root)
    assert (wanted.status, wanted.out, wanted.err) == (found.status, found.out, found.err)
