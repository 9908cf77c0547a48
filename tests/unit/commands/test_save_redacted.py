"""``save --redact``: a copy for others, as a directory or as an archive."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.errors import ExitCode
from metashell.log.names import METADATA_DIRECTORY
from metashell.node_files.bundle import WARNING
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.version import __version__
from support.fixtures import DEMO, fixture, fixture_names
from support.live import Cluster
from support.logs import make_directory, record, secret_config, topic_batch, topic_record
from support.secrets import only_with_secrets
from support.shell import run_on

DIRECTORIES = [name for name in fixture_names() if fixture(name).kind == "directory"]
ARCHIVES = ("tar", "tar.gz", "tgz", "zip")
UNKNOWN = b"\x01\xf6\x03\x00hunter2"


def opened(name: str) -> Source:
    """The bundled cluster, or a recorded directory."""
    return metashell.open(DEMO if name == "demo" else fixture(name).input)


def small(parent: Path) -> Source:
    """A topic, a secret config, and a record of an unknown type, in a node's log dir."""
    parent.mkdir()
    batches = [topic_batch(0), encode_batch([secret_config(), UNKNOWN], base_offset=1)]
    directory = make_directory(parent, (0, b"".join(batches)))
    (directory / "quorum-state").write_text('{"leaderId":1,"data_version":1}')
    (parent / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    (parent / "orders-0").mkdir()
    (parent / "__consumer_offsets-0").mkdir()
    (parent / "__consumer_offsets-1").mkdir()
    return metashell.open(directory)


def bundle(source: Source, path: Path) -> Source:
    """The redacted copy, opened."""
    ran = run_on(source, f"save --redact {path}")
    assert ExitCode.OK == ran.status, ran.err
    return metashell.open(path)


def answers(source: Source) -> list[str]:
    """All that redacted output shows of a cluster and of its records, but positions."""
    lines = ("tree /image", "log --all -o json --columns offset,time,epoch,type,version,data")
    return [run_on(source, line).out for line in lines]


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", ["demo", *DIRECTORIES])
def test_it_is_the_same_cluster_without_secrets(name: str, tmp_path: Path) -> None:
    """Redacted answers are equal, only secrets differ, and check finds no other damage."""
    run_on(opened(name), f"save {tmp_path}/plain")
    source = metashell.open(tmp_path / "plain")
    again = bundle(opened(name), tmp_path / "out")
    assert answers(source) == answers(again)
    assert run_on(source, "checksum").out == run_on(again, "checksum").out
    assert source.cluster_id == again.cluster_id
    told = run_on(again, "diff --with " + str(source.path)).out.splitlines()
    assert all("[redacted]" in line for line in told)
    assert any(line.startswith("~ /image/scram/") for line in told) or not source.ls("/image/scram")
    checked = run_on(again, "check")
    assert run_on(source, "check").status == checked.status
    assert WARNING in checked.out
    for file in again.log.loaded.files:
        assert not file.chain.faults
    data = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    secrets = only_with_secrets(source.log.loaded)
    assert not [secret for secret in secrets if secret in data]


def test_no_answer_of_a_copy_has_a_secret(tmp_path: Path) -> None:
    """Even to those who ask for secrets, and where the source shows them."""
    source = metashell.open(DEMO, show_secrets=True)
    bundle(source, tmp_path / "out")
    again = metashell.open(tmp_path / "out", show_secrets=True)
    texts = [
        run_on(again, line).out
        for line in ("log --all --json", "tree /image", "tokens", "users", "cat /image/scram/*/*")
    ]
    shown = "".join(texts).encode()
    assert not [s for s in only_with_secrets(source.log.loaded) if s in shown]
    assert all(text for text in texts)


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_an_archive(suffix: str, tmp_path: Path) -> None:
    """It is its owner's alone, holds one directory, and is opened as it is."""
    path = tmp_path / f"copy.{suffix}"
    source = opened("demo")
    before = os.umask(0)
    try:
        ran = run_on(source, f"save --redact {path}")
    finally:
        os.umask(before)
    assert (ExitCode.OK, f"{path}\n") == (ran.status, ran.out)
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert [path.name] == os.listdir(tmp_path)
    bundle(source, tmp_path / "out")
    with zipfile.ZipFile(path) if suffix == "zip" else tarfile.open(path) as archive:
        names = archive.namelist() if suffix == "zip" else archive.getnames()
    files = [str(p.relative_to(tmp_path)) for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert sorted(name.replace("out/", "cluster-copy/") for name in files) == sorted(names)
    assert answers(metashell.open(tmp_path / "out")) == answers(metashell.open(path))


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_the_log_in_an_archive_is_that_of_a_directory(suffix: str, tmp_path: Path) -> None:
    """Byte for byte, also without ``--redact``."""
    source = opened("real-44-live")
    run_on(source, f"save {tmp_path}/out")
    assert 0 == run_on(source, f"save {tmp_path}/out.{suffix}").status
    (tmp_path / "unpacked").mkdir()
    shutil.unpack_archive(
        tmp_path / f"out.{suffix}",
        tmp_path / "unpacked",
        "zip" if suffix == "zip" else "tar" if suffix == "tar" else "gztar",
    )
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) > 4
    for path in files:
        other = tmp_path / "unpacked" / "cluster-copy" / path.relative_to(tmp_path / "out")
        assert path.read_bytes() == other.read_bytes()


def test_equal_logs_make_equal_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes them, and when, but for the time in the manifest."""
    monkeypatch.setattr("metashell.commands.save.contents.time.time_ns", lambda: 10**18)
    source = opened("demo")
    for suffix in ARCHIVES:
        paths = [tmp_path / one / f"copy.{suffix}" for one in ("a", "b")]
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            run_on(source, f"save --redact {path}")
        first, second = (path.read_bytes() for path in paths)
        assert first == second


def test_the_manifest(tmp_path: Path) -> None:
    """What, from where, by which version; what was replaced, left out and not taken."""
    source = small(tmp_path / "node")
    bundle(source, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "redacted.json").read_text())
    made = manifest.pop("made")
    assert made.endswith("Z")
    segment = f"{0:020d}.log"
    assert {
        "warning": WARNING,
        "metashell": __version__,
        "source": str(tmp_path / "node" / METADATA_DIRECTORY),
        "cluster_id": "c",
        "last_offset": 2,
        "files": [
            f"{METADATA_DIRECTORY}/{segment}",
            f"{METADATA_DIRECTORY}/leader-epoch-checkpoint",
            f"{METADATA_DIRECTORY}/partition.metadata",
            "meta.properties",
        ],
        "redacted": {"ConfigRecord.value": 1},
        "left_out": [
            {
                "what": "UNKNOWN(502) version 0 is not known",
                "count": 1,
                "places": [f"{segment}: offset 2"],
            }
        ],
        "damaged": [],
        "not_taken": [
            f"{METADATA_DIRECTORY}/quorum-state",
            "partitions of __consumer_offsets: 2",
            "partitions of other topics: 1",
        ],
    } == manifest


def test_a_node_has_no_identity(tmp_path: Path) -> None:
    """The copy has no node.id, no directory.id and no vote."""
    bundle(small(tmp_path / "node"), tmp_path / "out")
    assert "version=1\ncluster.id=c\n" == (tmp_path / "out" / "meta.properties").read_text()
    assert not (tmp_path / "out" / METADATA_DIRECTORY / "quorum-state").exists()


@pytest.mark.parametrize("line", ["check", "health", "health -o json"])
def test_it_says_that_it_is_redacted(line: str, tmp_path: Path) -> None:
    """A finding of its own, in place of those about files that a node needs."""
    out = run_on(bundle(small(tmp_path / "node"), tmp_path / "out"), line).out
    assert WARNING in " ".join(out.split())
    assert "node-file-missing" not in out
    assert "file-missing" not in out


def test_no_start_is_foretold(tmp_path: Path) -> None:
    """The reason comes first, and nobody is told to write ids into the file."""
    bundle(small(tmp_path / "node"), tmp_path / "out")
    ran = run_on(metashell.open(tmp_path / "out"), "preflight")
    assert ExitCode.FAILED == ran.status
    assert "does not start" in ran.out.splitlines()[0]
    assert ran.out.index(WARNING) < ran.out.index("No readable meta.properties files found")
    assert "write" not in ran.out


def test_a_dry_run_tells_and_writes_nothing(tmp_path: Path) -> None:
    """The same path and the same counts."""
    source = small(tmp_path / "node")
    dry = run_on(source, f"save --redact --dry-run {tmp_path}/copy.zip")
    assert ["node"] == os.listdir(tmp_path)
    wet = run_on(source, f"save --redact {tmp_path}/copy.zip")
    assert dry.out == wet.out
    assert "secrets replaced: 1, left out: 1;" in dry.err[-1]
    assert dry.err[-1].replace("would save", "saved") == wet.err[-1]


def test_an_archive_is_never_written_over(tmp_path: Path) -> None:
    """It stays as it was."""
    (tmp_path / "copy.tar").write_text("mine")
    ran = run_on(opened("demo"), f"save --redact {tmp_path}/copy.tar")
    assert ExitCode.FAILED == ran.status
    assert "mine" == (tmp_path / "copy.tar").read_text()


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an archive nor a part of one."""
    source = small(tmp_path / "node")

    def sync(fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("metashell.commands.save.writing.os.fsync", sync)
    for suffix in ARCHIVES:
        with pytest.raises(KeyboardInterrupt):
            run_on(source, f"save --redact {tmp_path}/copy.{suffix}")
    assert ["node"] == os.listdir(tmp_path)


def test_a_quorum(tmp_path: Path) -> None:
    """What was fetched, without secrets."""
    data = topic_batch(0, 2) + encode_batch([secret_config()], base_offset=2, leader_epoch=1)
    again = bundle(Cluster(data).source(), tmp_path / "out")
    assert {"t0", "t1"} == set(again.ls("/image/topics/byName"))
    assert b"hunter2" not in next((tmp_path / "out").rglob("*.log")).read_bytes()


def test_an_earlier_state(tmp_path: Path) -> None:
    """Only what is kept is counted."""
    directory = make_directory(
        tmp_path,
        (0, topic_batch(0) + encode_batch([secret_config()], base_offset=1, leader_epoch=1)),
    )
    ran = run_on(metashell.open(directory).at(0), f"save --redact {tmp_path}/copy.tar")
    assert "secrets replaced: 0;" in ran.err[-1]


def test_a_compressed_batch_is_written_plain(tmp_path: Path) -> None:
    """Whether it has secrets or not: nothing but records is in what was unpacked."""
    data = topic_batch(0, 9, codec="gzip")
    data += encode_batch([secret_config()] * 3, base_offset=9, leader_epoch=1, codec="zstd")
    again = bundle(metashell.open(make_directory(tmp_path, (0, data))), tmp_path / "out")
    assert 9 == len(again.ls("/image/topics/byName"))
    assert topic_record(3) in next((tmp_path / "out").rglob("*.log")).read_bytes()


def test_tokens_of_a_copy(tmp_path: Path) -> None:
    """Ids and types of principals stay; nobody knows whether one has expired."""
    token = record(
        "DelegationTokenRecord", owner="User:alice", requester="User:bob", renewers=["User:eve"],
        issue_timestamp=1, max_timestamp=2, expiration_timestamp=3, token_id="id",
    )  # fmt: skip
    source = metashell.open(make_directory(tmp_path, (0, encode_batch([token]))))
    (row,) = json.loads(run_on(bundle(source, tmp_path / "out"), "tokens -o json").out)
    assert ("id", "User:[redacted]", ["User:[redacted]"], None, None) == tuple(
        row[name] for name in ("token_id", "owner", "renewers", "expired", "expiry_time")
    )


def test_copies_of_several_nodes_in_one_archive(tmp_path: Path) -> None:
    """They are a fleet, and each says that it is redacted."""
    for name in ("a", "b"):
        bundle(small(tmp_path / f"node-{name}"), tmp_path / name)
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as tar:
        for name in ("a", "b"):
            tar.add(tmp_path / name, name)
    fleet = open_fleet([str(tmp_path / "all.tar.gz")])
    assert {"a", "b"} == {*fleet.members}
    for name in ("a", "b"):
        assert WARNING in run_on(fleet, "check", cwd=f"/clusters/{name}").out
