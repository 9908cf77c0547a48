"""Commands where a file beside the log can't be used: the rest is shown, and the status is 1."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

import metashell
from metashell.errors import ExitCode, SourceError
from metashell.fs.node import Directory, FixedDirectory, Node, TextLeaf
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import SAMPLE, copy_of
from support.shell import from_yaml, run, run_on

NODES: Final = {
    "__cluster_metadata-0/quorum-state": "/quorum/quorum-state",
    "meta.properties": "/quorum/meta.properties",
    "__cluster_metadata-0/leader-epoch-checkpoint": "/quorum/epochs",
}
HOW: Final = ("brace", "denied", "directory", "pipe", "link", "huge")


def spoil(path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file one that can't be used."""
    path.unlink()
    if how == "directory":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "link":
        path.symlink_to(path)
    else:
        path.write_text("{")
    if how == "huge":
        os.truncate(path, 1 << 40)
    if how == "denied":
        # For root no mode keeps a file closed.
        real = os.open

        def denied(where: Any, *args: Any, **options: Any) -> int:
            if where == str(path):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return real(where, *args, **options)

        monkeypatch.setattr("os.open", denied)


def spoilt(parent: Path, file: str, how: str, monkeypatch: pytest.MonkeyPatch) -> Source:
    """A real directory in which a file can't be used."""
    directory = copy_of("quota-defaults", parent)
    spoil(directory / file, how, monkeypatch)
    return metashell.open(directory)


@pytest.mark.cases(6)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("file", NODES)
def test_walks_go_on(file: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every walk tells which node needs the file, and shows all others."""
    bad = NODES[file]
    source = spoilt(tmp_path, file, how, monkeypatch)
    for line in (
        "tree /",
        "ls -R /",
        "ls -lR /",
        "ls -R -o jsonl /",
        "grep . /",
        "find /",
        "find / -type f -count",
        "export /",
        "export / --format yaml",
        "cat /quorum/{quorum-state,meta.properties,epochs}/*",
    ):
        ran = run_on(source, line)
        name = line.split()[0]

        assert ExitCode.FAILED == ran.status, line
        (told,) = ran.err
        assert told.startswith(f"{name}: {bad}: "), line
        assert os.path.basename(file) in told
        assert ran.out, line


def test_what_a_document_has_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that can't be looked at is null, in a document that is whole."""
    source = spoilt(tmp_path, "__cluster_metadata-0/quorum-state", "brace", monkeypatch)
    document = json.loads(run_on(source, "export /").out)

    assert document == from_yaml(run_on(source, "export / --format yaml").out)
    assert document["quorum"]["quorum-state"] is None
    assert document["quorum"]["meta.properties"]["node.id"]
    assert "null\n" == run_on(source, "export /quorum/quorum-state").out


@pytest.mark.cases(9)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("file", NODES)
def test_quorum_goes_on(
    file: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows what the log says; a file that only says otherwise is no failure."""
    source = spoilt(tmp_path, file, how, monkeypatch)
    for options in ("", " --json", " -o csv", " --status -o csv", " --epochs"):
        line = f"quorum{options}"
        ran = run_on(source, line)

        assert ExitCode.FAILED == ran.status, line
        assert any(os.path.basename(file) in told for told in ran.err)
        assert ran.out


def test_quorum_of_files_that_disagree(tmp_path: Path) -> None:
    """Files that say something else were read."""
    directory = copy_of("quota-defaults", tmp_path)
    ran = run_on(metashell.open(directory), "quorum")

    assert ExitCode.OK == ran.status
    assert any("directory-id" in told for told in ran.err)


@pytest.mark.parametrize("how", HOW)
def test_changes_go_on(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who leads by quorum-state is left out, which is told once."""
    source = spoilt(tmp_path, "__cluster_metadata-0/quorum-state", how, monkeypatch)
    ran = run_on(source, "changes /image/cluster /image/features")

    assert ExitCode.FAILED == ran.status
    assert 1 == sum("quorum-state" in line for line in ran.err)
    assert ran.out


@pytest.mark.parametrize("how", HOW)
def test_ids_that_are_not_known(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without meta.properties a directory's row lacks the ids, and has a fault."""
    source = spoilt(tmp_path, "meta.properties", how, monkeypatch)
    fleet: Any = open_fleet([source.path])
    for opened in (source, fleet):
        ran = run_on(opened, "fleet -o jsonl")
        row = json.loads(ran.out)

        assert ExitCode.FAILED == ran.status
        assert (None, None, None) == (row["error"], row["cluster_id"], row["node_id"])
        assert "meta.properties" in row["fault"]
        assert row["topics"]
    ran = run_on(source, f"diff --with {source.path}")
    assert (ExitCode.OK, "") == (ran.status, ran.out)
    assert all("its cluster is not known" in line for line in ran.err)


@pytest.mark.parametrize("how", HOW)
def test_no_topic_id(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory's name is enough, and nobody waits for a pipe."""
    source = spoilt(tmp_path, "__cluster_metadata-0/partition.metadata", how, monkeypatch)

    assert ExitCode.OK == run_on(source, "tree /").status
    assert "partition.metadata" in run_on(source, "check").out


class Bad(Directory):
    """Fails in one of the ways in which a node can."""

    def __init__(self, way: str) -> None:
        self._way = way

    def names(self) -> list[str]:
        if self._way == "names":
            raise SourceError("no names")
        return ["a", "b"]

    def child(self, name: str) -> Node | None:
        if name == "b":
            return TextLeaf("fine")
        if self._way == "child":
            raise SourceError("no child")

        def fail() -> str:
            raise SourceError("no text")

        return TextLeaf(fail)


@pytest.mark.parametrize("way", ["names", "child", "text"])
@pytest.mark.parametrize("line", ["tree", "grep .", "export", "export --format yaml", "ls -lR"])
def test_any_node(way: str, line: str) -> None:
    """Names, a child and a text may fail; what comes behind is there."""
    root = FixedDirectory({"bad": lambda: Bad(way), "last": lambda: TextLeaf("behind")})
    name, *options = line.split()
    command = " ".join([name, *options, "--format json" if line == "export" else "", "/"])
    ran = run(root, command, source=metashell.open(SAMPLE))
    if name == "ls" and way == "text":
        assert (ExitCode.OK, ()) == (ran.status, ran.err)
        return
    where = "/bad" if way == "names" or name == "ls" else "/bad/a"

    assert (ExitCode.FAILED, (f"{name}: {where}: no {way}",)) == (ran.status, ran.err)
    assert "last" in ran.out
