"""What ours shows of every fixture equals what Kafka shows, but for the named differences."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path as FilePath
from typing import Any

import pytest

import metashell
from golden.differences import expected_tree
from metashell.fs.node import Directory, Leaf
from support.fixtures import copy_of, fixture, tree_fixture_names
from support.golden_tree import Path, Tree, find_output, joined, product_tree, tree_output
from support.shell import run
from support.waiting import LIMIT_S

IMAGE: Path = ("image",)

FAULT_OFFSETS = {
    "quirks/begin-inside-open": {4},
    "quirks/broker-change-bad": {2, 3, 4},
    "quirks/end-without-begin": {2, 4},
    "quirks/faulty-records": {1, 3, 4, 5, 6, 7},
    "quirks/partition-changes": {14, 19},
    "quirks/principal-without-colon": {1},
    "quirks/undecodable-records": {2, 3, 4, 5, 6, 7, 8, 9, 10, 12},
}
"""Offsets of the records that Kafka reports as faulty, or can't read."""

MAY_HAVE_FAULTS = frozenset(
    {
        # A level that nobody knows, or none, may be worth a fault; Kafka shows nothing at all.
        "quirks/metadata-version-1",
        "quirks/metadata-version-34",
        "quirks/metadata-version-6",
        "quirks/no-metadata-version",
        # Kafka's listing throws at these.
        "quirks/quota-entity-empty",
        "quirks/quota-entity-unknown",
        "quirks/scram-unknown-mechanism",
        # The last batch is cut off.
        "real-44-torn",
    }
)

TOKEN_NAMES = frozenset({"[redacted]", "issueTimestamp", "maxTimestamp", "expiryTimestamp"})
"""What may stand in the text of a delegation token that is hidden."""

all_trees = pytest.mark.parametrize("name", tree_fixture_names())


@cache
def opened(name: str) -> Any:
    """Open a fixture as its golden outputs were made: a directory whole, or one file."""
    source = fixture(name)
    if source.kind == "file":
        return metashell.open_file(source.input, show_secrets=True)
    return metashell.open(source.input, show_secrets=True)


@cache
def expected(name: str) -> Tree:
    """Build the expected tree once for all tests of a fixture."""
    return expected_tree(fixture(name))


def encoded(path: Path) -> str:
    """Write a path so that it can be typed, whatever its names hold."""
    parts: list[str] = []
    for name in path:
        special = name in {"", ".", ".."}
        keep = "" if special else "-_.~"
        text = "".join(
            c if c.isascii() and (c.isalnum() or c in keep) else _percent(c) for c in name
        )
        parts.append(text or "%00")
    return "/" + "/".join(parts)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


@all_trees
def test_names_and_texts(name: str) -> None:
    """Every directory lists the same names and every leaf has the same text."""
    actual = product_tree(opened(name).root, IMAGE)

    assert expected(name).texts == actual.texts
    assert expected(name).children == actual.children


@all_trees
def test_local_has_kafkas_names(name: str) -> None:
    """``/local`` has the same two leaves; what they say is ours."""
    root = opened(name).root
    local = root.child("local")

    assert {"image", "local"} <= set(root.names())
    assert isinstance(local, Directory)
    assert ["commitId", "version"] == list(local.names())
    version = local.child("version")
    assert isinstance(version, Leaf)
    assert metashell.__version__ == version.text()


@all_trees
def test_find(name: str) -> None:
    """``find /image`` prints every path once, in the order of a walk."""
    ran = run(opened(name).root, "find /image")

    assert (0, ()) == (ran.status, ran.err)
    assert find_output(expected(name), IMAGE) == ran.out


@all_trees
def test_tree(name: str) -> None:
    """``tree /image`` prints names and texts as Kafka does."""
    ran = run(opened(name).root, "tree /image")

    assert (0, ()) == (ran.status, ran.err)
    assert tree_output(expected(name), IMAGE) == ran.out


@all_trees
def test_ls(name: str) -> None:
    """``ls`` of every directory prints its names one a line where there is no terminal."""
    root = opened(name).root
    for path, names in expected(name).children.items():
        if path[:1] != IMAGE:
            continue
        ran = run(root, f"ls '{encoded(path)}'")

        assert (0, "".join(f"{n}\n" for n in names), ()) == (ran.status, ran.out, ran.err), path


@all_trees
def test_cat(name: str) -> None:
    """``cat`` of every leaf prints its text, whatever its path holds."""
    root = opened(name).root
    for path, text in expected(name).texts.items():
        ran = run(root, f"cat '{encoded(path)}'")

        assert (0, f"{text}\n", ()) == (ran.status, ran.out, ran.err), path


@all_trees
def test_cat_of_paths_as_printed(name: str) -> None:
    """A path that `find` printed can be given back to `cat` where no part needs escaping."""
    root = opened(name).root
    plain = [
        path
        for path in expected(name).texts
        if all(part.isascii() and part.replace("_", "").replace("-", "").isalnum() for part in path)
    ]
    line = "cat " + " ".join(joined(path) for path in plain)

    assert "".join(f"{expected(name).texts[path]}\n" for path in plain) == run(root, line).out


@all_trees
def test_faults(name: str) -> None:
    """Kafka's faulty records are faults at the same offsets, and nothing else is one."""
    offsets = {fault.offset for fault in opened(name).all_faults()}

    if name not in MAY_HAVE_FAULTS:
        assert FAULT_OFFSETS.get(name, set()) == offsets


@pytest.mark.parametrize("name", ["real-44-torn", "quirks/open-transaction-at-end"])
def test_unusual_ends_are_told(name: str) -> None:
    """A torn tail and an open transaction are no failure, and are not passed over in silence."""
    source = opened(name)
    source.all_faults()

    assert source.warnings


@pytest.mark.parametrize("name", ["real-44-live", "real-40-static", "real-44-trimmed"])
def test_log_dir_opens_like_its_metadata_directory(name: str) -> None:
    """A node's log dir means the ``__cluster_metadata-0`` in it."""
    whole = metashell.open(fixture(name).directory, show_secrets=True)

    assert product_tree(opened(name).root, IMAGE) == product_tree(whole.root, IMAGE)


@pytest.mark.parametrize("name", ["real-44-live", "real-44-torn", "real-40-truncated"])
def test_opening_leaves_no_trace(name: str, tmp_path: FilePath) -> None:
    """Reading a node's directory changes no name, size, time or byte in it."""
    directory = copy_of(name, tmp_path)
    before = _state(directory)

    source = metashell.open(directory)
    run(source.root, "tree /")

    assert before == _state(directory)


def _state(directory: FilePath) -> dict[str, tuple[int, int, int]]:
    state: dict[str, tuple[int, int, int]] = {}
    for path in [directory, *directory.rglob("*")]:
        stat = path.stat()
        state[str(path)] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return state


@pytest.mark.long
@pytest.mark.parametrize("name", ["real-44-live", "all-records-dir", "all-records-checkpoint"])
def test_one_shot_through_a_pipe(name: str) -> None:
    """The program itself writes the same bytes to a pipe, whatever the names hold."""
    source = fixture(name)
    flag = "-s" if source.kind == "file" else "-d"
    command = [sys.executable, "-m", "metashell", flag, str(source.input), "--show-secrets"]

    ran = subprocess.run(
        [*command, "tree", "/image"], capture_output=True, timeout=LIMIT_S, check=False
    )

    assert (0, tree_output(expected(name), IMAGE)) == (ran.returncode, ran.stdout.decode())


@all_trees
def test_secrets_are_hidden_by_default(name: str) -> None:
    """Without ``show_secrets`` no salt, key or token is left, and other texts are the same."""
    source = fixture(name)
    opener = metashell.open_file if source.kind == "file" else metashell.open
    hidden = product_tree(opener(source.input).root, IMAGE)
    shown = expected(name)

    assert shown.children == hidden.children
    for path, text in hidden.texts.items():
        match path[1]:
            case "scram":
                hidden_parts = "salt=[redacted], storedKey=[redacted], serverKey=[redacted]"
                iterations = shown.texts[path].rpartition(", ")[2]
                assert f"ScramCredentialData({hidden_parts}, {iterations}" == text, path
            case "delegationToken":
                assert set() == set(re.findall(r"[=,] ?([^,()=]+)", text)) - TOKEN_NAMES, path
            case "configs" if text != shown.texts[path]:
                assert "[redacted]" == text, path
            case _:
                assert shown.texts[path] == text, path
