"""Log directories without a metadata log: formatted ones, surviving disks, and missing ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import metashell
from kraftgen.files import checkpoint_bytes
from metashell.cli import main
from metashell.errors import SourceError
from metashell.sources.opening import open_fleet
from support.fixtures import fixture_dir
from support.fleets import node, topics
from support.logs import record
from support.shell import run, run_on
from support.small_cluster import level

Captures = pytest.CaptureFixture[str]
IDENTITY = "version=1\ncluster.id=id\nnode.id=1\n"
TOPIC_ID = "WloAAAAAAAAAAAAAAAAACg"


def formatted(parent: Path) -> Path:
    """A directory that was formatted with a SCRAM user, and has not run."""
    made = parent / "formatted"
    made.mkdir()
    (made / "meta.properties").write_text(IDENTITY)
    user = record(
        "UserScramCredentialRecord",
        name="admin",
        mechanism=2,
        salt=b"s",
        stored_key=b"k",
        server_key=b"k",
        iterations=4096,
    )
    values = [level("metadata.version", 25), user]
    (made / "bootstrap.checkpoint").write_bytes(checkpoint_bytes(values))
    return made


def partition(log_dir: Path, name: str, topic_id: str | None = TOPIC_ID) -> None:
    """The log of a partition."""
    (log_dir / name).mkdir(parents=True)
    if topic_id is not None:
        text = f"version: 0\ntopic_id: {topic_id}\n"
        (log_dir / name / "partition.metadata").write_text(text)


def hint_of(path: Path) -> str:
    """Why a directory can't be opened, or has no metadata, and what to do."""
    with pytest.raises(SourceError) as caught:
        _ = metashell.open(path).image
    return f"{caught.value.message}; {caught.value.hint}"


# A directory that was formatted only.


def test_it_was_formatted_and_has_not_run(tmp_path: Path, capsys: Captures) -> None:
    """The records of bootstrap.checkpoint are opened, and that is said."""
    made = formatted(tmp_path)
    assert 0 == main(["-d", str(made), "--no-config", "users", "-o", "json"])
    told = capsys.readouterr()
    assert ["admin"] == [row["user"] for row in json.loads(told.out)]
    assert "no node has started on it, or its metadata log is elsewhere or gone" in told.err
    source = metashell.open(made)
    assert any("bootstrap.checkpoint" in text for text in source.warnings)
    assert ["4.0-IV3"] == source.cat("/image/features/metadataVersion").split()


def test_a_formatted_member_of_a_fleet(tmp_path: Path) -> None:
    """It is a row like others, under the id of its cluster."""
    other = node(tmp_path, "n1", {0: topics(0)}, "other")
    fleet = open_fleet([str(formatted(tmp_path)), str(other)])
    ran = run(fleet.root, "users -o json", source=fleet)
    assert [("id", "admin")] == [(r["cluster"], r["user"]) for r in json.loads(ran.out)]


@pytest.mark.parametrize("data", [b"", b"nonsense" * 40, bytes(61)])
def test_what_it_was_formatted_with_is_damaged(tmp_path: Path, data: bytes) -> None:
    """The error names the file."""
    made = formatted(tmp_path)
    (made / "bootstrap.checkpoint").write_bytes(data)
    assert "bootstrap.checkpoint" in hint_of(made)


def test_a_node_that_ran_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    """There are logs of topics beside bootstrap.checkpoint."""
    made = formatted(tmp_path)
    partition(made, "orders-0")
    assert not metashell.open(made).capabilities.has_image


# A disk that survived.


def test_a_disk_without_the_metadata_log(tmp_path: Path) -> None:
    """Topics that lie there are named with their ids, the first of many."""
    disk = tmp_path / "d2"
    for name in ("orders-0", "orders-2", "a.b-c-11", "orders-2.0123-delete", "not a log"):
        partition(disk, name)
    partition(disk, "payments-0", None)
    partition(disk, "bad-0", "!!")
    (disk / "meta.properties").write_text(IDENTITY)
    told = hint_of(disk)
    assert "give the node's other log directories too" in told
    assert f"orders (id {TOPIC_ID}, 2 partitions)" in told
    assert f"a.b-c (id {TOPIC_ID}, 1 partition)" in told
    assert "payments (1 partition)" in told
    assert "bad (1 partition)" in told
    (disk / "meta.properties").unlink()
    assert f"orders (id {TOPIC_ID}, 2 partitions)" in hint_of(disk)
    for i in range(9):
        partition(disk, f"t{i}-0")
    assert "and 8 more topics" in hint_of(disk)


def test_a_directory_of_anything(tmp_path: Path) -> None:
    """Names that end with a number are no logs without their ids."""
    partition(tmp_path, "backup-1", None)
    assert "logs of topics" not in hint_of(tmp_path)


def test_a_disk_with_groups() -> None:
    """The logs that lie there are told with what needs the metadata log."""
    source = metashell.open(fixture_dir("node-44") / "broker101" / "d2")
    (*_, hint) = run_on(source, "topics").err
    assert "orders (id VIi5alKCQbqKZ30L69X85g, 3 partitions)" in hint


# Log directories that a configuration names.


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A node's log directory."""
    return node(tmp_path, "d1", {0: topics(0)}, "id")


def configured(parent: Path, *log_dirs: Path) -> list[str]:
    """The words that open a node by its configuration."""
    file = parent / "server.properties"
    file.write_text(f"process.roles=broker\nlog.dirs={','.join(map(str, log_dirs))}\n")
    return ["--config", str(file)]


@pytest.mark.parametrize("is_empty", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_log_directory_is_gone(
    tmp_path: Path, ran: Path, capsys: Captures, *, is_empty: bool, is_first: bool
) -> None:
    """Or it is an empty mount point: check and health are critical, wherever it is named."""
    gone = tmp_path / "d2"
    if is_empty:
        gone.mkdir()
    words = configured(tmp_path, *((gone, ran) if is_first else (ran, gone)))
    for command in (["check"], ["check", "--quick"], ["health"]):
        assert 1 == main([*words, *command, "-o", "json"])
        told = [f for f in json.loads(capsys.readouterr().out) if f["severity"] == "critical"]
        (row,) = [f for f in told if f["code"] == "log-directory-missing"]
        assert str(gone) in row.get("message", row.get("explanation"))
    main([*configured(tmp_path, ran), "check"])
    assert "log-directory-missing" not in capsys.readouterr().out


def test_all_log_directories_are_gone(tmp_path: Path, ran: Path, capsys: Captures) -> None:
    """Then nothing can be opened."""
    shutil.rmtree(ran)
    assert 3 == main([*configured(tmp_path, ran, tmp_path / "d2"), "check"])
    assert f"{ran}: No such file or directory" in capsys.readouterr().err
