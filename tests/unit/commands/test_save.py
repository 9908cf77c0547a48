"""``save``: what is written can be read again, and nothing else is touched."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.framework.local_places import refuse_kafkas
from metashell.errors import ExitCode, MetashellError
from metashell.log.names import METADATA_DIRECTORY
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture, fixture_names
from support.live import Cluster
from support.logs import make_directory, topic_batch, topic_record, topics_of
from support.shell import run_on

REAL = [
    name
    for name in fixture_names()
    if name.startswith("real-") and fixture(name).kind == "directory"
]
LIVE = "real-44-live"


def small(parent: Path) -> Source:
    """A source of three topics, made by three batches of two epochs."""
    parent.mkdir()
    batches = [topic_batch(0), topic_batch(1), topic_batch(2, leader_epoch=4)]
    return metashell.open(make_directory(parent, (0, b"".join(batches))))


def checksum(source: Source) -> str:
    """What ``checksum`` prints."""
    ran = run_on(source, "checksum")
    assert ran.status == 0
    return ran.out


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", REAL)
def test_saved_is_the_same_cluster(name: str, tmp_path: Path) -> None:
    """It has the same digest, tree and records, and check finds no error that was not there."""
    source = metashell.open(fixture(name).input, show_secrets=True)
    ran = run_on(source, f"save {tmp_path}/out")
    again = metashell.open(tmp_path / "out", show_secrets=True)

    assert ExitCode.OK == ran.status, ran.err
    assert checksum(source) == checksum(again)
    assert run_on(source, "tree /image").out == run_on(again, "tree /image").out
    assert source.cluster_id == again.cluster_id
    assert 0 == run_on(again, "check").status
    assert ran.out.splitlines() == [
        str(tmp_path / "out" / name)
        for name in ran.out.replace(f"{tmp_path}/out/", "").splitlines()
        if (tmp_path / "out" / name).is_file()
    ]


def test_a_quorum_is_saved(tmp_path: Path) -> None:
    """What was fetched, under the cluster's id."""
    cluster = Cluster(topic_batch(0, 3), topic_batch(3, leader_epoch=2))
    assert 0 == run_on(cluster.source(), f"save {tmp_path}/out").status
    again = metashell.open(tmp_path / "out")
    assert cluster.cluster_id == again.cluster_id
    assert checksum(cluster.source()) == checksum(again)


@pytest.mark.parametrize("offset", [300, 900, 1500])
def test_an_earlier_state_is_saved(offset: int, tmp_path: Path) -> None:
    """What `at` shows is what is there again, and no later record is."""
    source = metashell.open(fixture(LIVE).input).at(offset)
    assert 0 == run_on(source, f"save {tmp_path}/out").status
    again = metashell.open(tmp_path / "out")
    assert source.moment_offset == again.status().offset
    assert run_on(source, "tree /image").out == run_on(again, "tree /image").out


def test_a_batch_is_never_cut(tmp_path: Path) -> None:
    """A record inside a batch: the batch is left out, which is told."""
    values = [topic_record(i) for i in range(1, 4)]
    data = topic_batch(0) + encode_batch(values, base_offset=1, leader_epoch=1)
    source = metashell.open(make_directory(tmp_path, (0, data))).at(2, record=True)
    (tmp_path / "copies").mkdir()
    ran = run_on(source, f"save {tmp_path}/copies/out")
    assert {0} == topics_of(metashell.open(tmp_path / "copies" / "out"))
    assert "their batch goes on to 3" in ran.err[0]


def test_only_sound_batches_are_saved(tmp_path: Path) -> None:
    """A torn tail is left out and told."""
    data = topic_batch(0) + topic_batch(1)
    source = metashell.open(make_directory(tmp_path, (0, data[:-5])))
    ran = run_on(source, f"save {tmp_path}/out")
    saved = tmp_path / "out" / METADATA_DIRECTORY / f"{0:020d}.log"
    assert topic_batch(0) == saved.read_bytes()
    assert "only sound batches are saved" in ran.err[0]


def test_files_beside_the_log(tmp_path: Path) -> None:
    """Epochs are those of the batches; without a cluster id there is no meta.properties."""
    run_on(small(tmp_path / "log"), f"save {tmp_path}/out")
    inner = tmp_path / "out" / METADATA_DIRECTORY
    assert "0\n2\n1 0\n4 2\n" == (inner / "leader-epoch-checkpoint").read_text()
    assert b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ" == (
        (inner / "partition.metadata").read_bytes()
    )
    assert {METADATA_DIRECTORY} == set(os.listdir(tmp_path / "out"))


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    """Whatever the umask; stderr says why, how much and up to where."""
    source = small(tmp_path / "log")
    before = os.umask(0)
    try:
        ran = run_on(source, f"save {tmp_path}/out")
    finally:
        os.umask(before)
    for directory, _, files in os.walk(tmp_path / "out"):
        assert 0o700 == stat.S_IMODE(os.stat(directory).st_mode)
        for file in files:
            assert 0o600 == stat.S_IMODE(os.stat(os.path.join(directory, file)).st_mode)
    (told,) = ran.err
    assert "up to offset 2" in told
    assert "credentials" in told


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    """One that is there and empty is as good as none."""
    (tmp_path / "out").mkdir()
    assert 0 == run_on(small(tmp_path / "log"), f"save {tmp_path}/out").status
    assert {0, 1, 2} == topics_of(metashell.open(tmp_path / "out"))


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    """It prints the same paths."""
    source = small(tmp_path / "log")
    said = run_on(source, f"save --dry-run {tmp_path}/out").out
    assert not (tmp_path / "out").exists()
    assert said == run_on(source, f"save {tmp_path}/out").out


@pytest.mark.parametrize("place", ["full", "file", "none/out", "link"])
def test_nothing_is_written_over(place: str, tmp_path: Path) -> None:
    """What is there stays as it was, and nothing comes beside it."""
    source = small(tmp_path / "log")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "file").write_text("y")
    (tmp_path / "link").symlink_to(tmp_path / "full")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    ran = run_on(source, f"save {tmp_path}/{place}")
    assert (ExitCode.FAILED, "") == (ran.status, ran.out)
    assert before == sorted(str(path) for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("below", ["copy", f"{METADATA_DIRECTORY}/copy", "a/../copy"])
def test_kafkas_directories_are_left_alone(below: str, tmp_path: Path) -> None:
    """Nothing is saved in a node's log dir, the source's or another's."""
    log_dir = copy_of(LIVE, tmp_path)
    (log_dir / "a").mkdir()
    before = sorted(log_dir.rglob("*"))
    ran = run_on(metashell.open(log_dir), f"save {log_dir}/{below}")
    assert ExitCode.FAILED == ran.status
    assert "a Kafka directory" in ran.err[0]
    assert before == sorted(log_dir.rglob("*"))


def test_directories_of_a_fleet_are_left_alone(tmp_path: Path) -> None:
    """Whatever they are called: a copy of a log tells nobody that it is one."""
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        small(tmp_path / f"log-{path.name}")
        shutil.copytree(tmp_path / f"log-{path.name}" / METADATA_DIRECTORY, path)
    fleet = open_fleet(list(map(str, paths)))
    for path in paths:
        with pytest.raises(MetashellError, match="a Kafka directory"):
            refuse_kafkas("x", str(path / "x"), fleet.local_directories)
    refuse_kafkas("x", str(tmp_path / "x"), fleet.local_directories)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what failed and how much was to be written."""
    source = small(tmp_path / "log")
    n_left = 2

    def write(fd: int, data: bytes) -> int:
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.writev(fd, [data[:7]])

    monkeypatch.setattr("metashell.commands.save.writing.os.write", write)
    ran = run_on(source, f"save {tmp_path}/out")
    assert ExitCode.FAILED == ran.status
    assert f"save: {tmp_path}/out: No space left on device" == ran.err[0]
    assert ["log"] == os.listdir(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_parent_that_is_read_only(tmp_path: Path) -> None:
    """The reason is the system's."""
    source = small(tmp_path / "log")
    (tmp_path / "closed").mkdir(mode=0o500)
    ran = run_on(source, f"save {tmp_path}/closed/out")
    assert (ExitCode.FAILED, f"save: {tmp_path}/closed/out: Permission denied") == (
        ran.status,
        ran.err[0],
    )


def test_interrupted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """^C in the middle."""
    source = small(tmp_path / "log")

    def sync(fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("metashell.commands.save.writing.os.fsync", sync)
    with pytest.raises(KeyboardInterrupt):
        run_on(source, f"save {tmp_path}/out")
    assert ["log"] == os.listdir(tmp_path)


@pytest.mark.parametrize(
    "line", ["save", "save a b", "save --no /tmp/x", "save /tmp/x.rar", "save /tmp/x.tar.xz"]
)
def test_wrong_usage(line: str, tmp_path: Path) -> None:
    """Says so, with status 2."""
    assert ExitCode.USAGE == run_on(small(tmp_path / "log"), line).status
