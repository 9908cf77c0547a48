"""Commands where a file beside the log can't be used: the rest is shown, and the status is 1."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import metashell
from metashell.errors import ExitCode, SourceError
from metashell.findings.kind import Need
from metashell.findings.known import all_kinds
from metashell.fs.node import Directory, FixedDirectory, Node, TextLeaf
from metashell.image.quorum_members import voters_of
from metashell.node_files.checkpoint_file import OffsetCheckpoint
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import SAMPLE, copy_of, fixture_dir
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


BROKER: Final = fixture_dir("node-44/broker102/d1")
OF_LOG_DIRECTORY: Final = (*OffsetCheckpoint, "meta.properties", ".kafka_cleanshutdown")
ANSWERS: Final = {
    "groups -o csv": None,
    "producers -o csv": None,
    "transactions -o csv": None,
    "transactions --hanging -o csv": None,
    "offsets --stalled -o csv": None,
    "offsets -o csv --lag": OffsetCheckpoint.HIGH_WATERMARK,
    "share -o csv": None,
}
"""Commands, and the file that one of its columns needs."""


@pytest.mark.long
@pytest.mark.cases(6)
@pytest.mark.parametrize("how", ["empty", *HOW])
@pytest.mark.parametrize("file", OF_LOG_DIRECTORY)
def test_broker_files(file: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beside a broker's logs costs the column that needs it, and no row."""
    sound = metashell.open(BROKER)
    directory = tmp_path / "d1"
    shutil.copytree(BROKER, directory)
    (directory / file).write_text("")
    if how != "empty":
        spoil(directory / file, how, monkeypatch)
    source = metashell.open(directory)
    for line, needed in ANSWERS.items():
        ran = run_on(source, line)
        # A directory of that name, or a link that leads nowhere, is no file of the node.
        is_lost = needed == file and how in ("brace", "denied", "pipe", "huge")

        assert (ExitCode.FAILED if is_lost else ExitCode.OK) == ran.status, line
        if needed == file:
            assert is_lost == any(file in told for told in ran.err), line
        else:
            assert run_on(sound, line).out == ran.out


def test_a_producer_snapshot_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one before is read with the batches behind it, and the status is 1."""
    sound = metashell.open(BROKER)
    directory = tmp_path / "d1"
    shutil.copytree(BROKER, directory)
    newest = max(directory.glob("__consumer_offsets-2/*.snapshot"))
    spoil(newest, "denied", monkeypatch)
    ran = run_on(metashell.open(directory), "producers __consumer_offsets -o csv")

    assert ExitCode.FAILED == ran.status
    assert any(newest.name in told for told in ran.err)
    assert run_on(sound, "producers __consumer_offsets -o csv").out == ran.out


@pytest.mark.parametrize("content", ["", "0\n", "0\n0\n"])
def test_an_empty_checkpoint_of_epochs(content: str, tmp_path: Path) -> None:
    """A node starts with it, so that it is a note for check and nothing for health."""
    directory = copy_of("real-44-admin", tmp_path)
    (directory / "__cluster_metadata-0" / "leader-epoch-checkpoint").write_text(content)
    source = metashell.open(directory)
    found = [json.loads(line) for line in run_on(source, "check -o jsonl").out.splitlines()]

    assert [("note", "leader-epoch-checkpoint")] == [
        (one["severity"], one["file"]) for one in found if "epoch" in one["code"]
    ]
    assert [] == source.ls("/quorum/disagreements")


def told_of(source: Source, file: str) -> dict[str, dict[str, Any]]:
    """What ``check`` finds about a file, by code."""
    lines = run_on(source, "check -o jsonl").out.splitlines()
    return {one["code"]: one for one in map(json.loads, lines) if one["file"] == file}


@pytest.mark.parametrize("content", [None, "root:x:0\n"])
def test_lost_ids(content: str | None, tmp_path: Path) -> None:
    """The finding says that no node starts so, and a note what the log proves of the ids."""
    directory = copy_of("real-40-dynamic-broker", tmp_path)
    path = directory / "meta.properties"
    path.unlink() if content is None else path.write_text(content)
    source = metashell.open(directory)
    found = told_of(source, "meta.properties")
    note = found.pop("meta-properties-content")
    (one,) = found.values()

    assert "does not start" in one["message"] + one["action"]
    assert {"node-file-missing" if content is None else "file-malformed"} == found.keys()
    assert "cluster.id is in no record" in note["message"]
    for voter in voters_of(source.image.quorum, None):
        assert f"{voter.directory_id} of voter {voter.id}" in note["message"]
    assert " of broker 101" in note["message"]
    problems = json.loads(run_on(source, "health -o json").out)
    assert [one["code"]] == [
        row["code"] for row in problems if row["subject"] == "file meta.properties"
    ]
    beside = {code for code, kind in all_kinds().items() if kind.needs is Need.SIDE_FILES}
    assert [one["code"]] == [row["code"] for row in problems if row["code"] in beside]


@pytest.mark.parametrize("content", [None, "{", ""])
def test_a_lost_vote(content: str | None, tmp_path: Path) -> None:
    """Whoever goes on without quorum-state is told that the node may vote twice."""
    directory = copy_of("real-44-admin", tmp_path)
    path = directory / "__cluster_metadata-0" / "quorum-state"
    path.unlink() if content is None else path.write_text(content)
    (one,) = told_of(metashell.open(directory), "quorum-state").values()

    assert ("warning" if content is None else "critical") == one["severity"]
    assert "may vote twice in one epoch" in one["action"]


def test_no_advice_loses_what_it_should_save() -> None:
    """No text of the program tells a reader to format a directory, or to take an old vote back."""
    words = ("format the log dir", "take it from a backup", "remove this file", "remove the file")
    sources = Path(metashell.__file__).parent.rglob("*.py")
    texts = {path: path.read_text() for path in sources}

    assert [] == [(path, word) for path, text in texts.items() for word in words if word in text]


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
