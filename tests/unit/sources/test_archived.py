"""Archives are opened as the directories in them are: one node, several directories, a fleet."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import metashell
from metashell.cli import main
from metashell.errors import SourceError
from metashell.log.names import METADATA_DIRECTORY
from metashell.places import unpacking
from metashell.places.place import is_uri
from metashell.sources.opening import open_fleet, open_like
from support.fixtures import SAMPLE, copy_of, fixture, fixture_dir
from support.fleets import OTHER_ID, backups
from support.packed import special, tar_of, tar_of_directories, zip_of
from support.waiting import LIMIT_S

Captures = pytest.CaptureFixture[str]
NODE = "node-44"
FILES = {
    f"{METADATA_DIRECTORY}/{path.name}": path.read_bytes()
    for path in (SAMPLE / METADATA_DIRECTORY).iterdir()
    if path.is_file()
}


def packed(parent: Path, *directories: Path) -> str:
    """An archive of directories, named from their parent on."""
    path = parent / "bundle.tar.gz"
    path.write_bytes(gzip.compress(tar_of_directories(directories, directories[0].parent), 1))
    return str(path)


def program(*words: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own, with a pipe as standard input."""
    return subprocess.run(
        [sys.executable, "-m", "metashell", *words],
        input=stdin, capture_output=True, timeout=LIMIT_S, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def told(*words: str, capsys: Captures) -> str:
    """What a command line prints."""
    main(words)
    return capsys.readouterr().out


@pytest.mark.parametrize("inside", ["", "data/", f"var/lib/kafka/data/{METADATA_DIRECTORY}/../"])
def test_a_node_is_found_wherever_it_lies(inside: str, tmp_path: Path, capsys: Captures) -> None:
    """An archive answers as its directory does, and nothing is written beside it."""
    inside = inside.replace(f"{METADATA_DIRECTORY}/../", "")
    path = tmp_path / "node.tar"
    meta = (SAMPLE / "meta.properties").read_bytes()
    path.write_bytes(
        tar_of(
            *((inside + name, data) for name, data in FILES.items()),
            (f"{inside}meta.properties", meta),
        )
    )
    for words in (("quorum",), ("check",), ("cat", "/image/provenance"), ("log", "--tail", "3")):
        expected = told("-d", str(SAMPLE), *words, capsys=capsys)
        found = told("-d", str(path), *words, capsys=capsys)
        assert expected.replace(str(SAMPLE), f"{path}/{inside}".rstrip("/")) == found, words
    assert ["node.tar"] == os.listdir(tmp_path)


def test_segments_alone(tmp_path: Path) -> None:
    """The files of the metadata log, without its directory."""
    path = tmp_path / "bundle"
    path.write_bytes(zip_of({name.rpartition("/")[2]: data for name, data in FILES.items()}))
    source = metashell.open(path)
    assert metashell.open(SAMPLE).status().offset == source.status().offset


def test_several_nodes_are_a_fleet(tmp_path: Path, capsys: Captures) -> None:
    """Its rows are those of the directories."""
    parent = backups(tmp_path / "backups")
    columns = ["fleet", "-o", "csv", "--columns", "cluster,cluster_id,offset,error"]
    expected = told("-d", f"{parent}/*", *columns, capsys=capsys)
    path = packed(tmp_path, parent)
    assert 4 == len(expected.splitlines())
    assert expected == told("-d", path, *columns, capsys=capsys)
    assert f"controller-1\ncontroller-2\n{OTHER_ID}\n" == told(
        "-d", path, "ls", "/clusters", capsys=capsys
    )
    with pytest.raises(SourceError, match="3 log directories in it, and one is wanted"):
        metashell.open(path)
    assert 3 == len(open_fleet([path]).members)
    fleet = open_fleet([path, str(parent / "staging")])
    assert 4 == len(fleet.members)


def test_log_directories_of_one_node_are_one_source(tmp_path: Path, capsys: Captures) -> None:
    """As two `-d` are: the coordinators' logs of both count."""
    broker = fixture_dir(NODE) / "broker101"
    path = packed(tmp_path, broker / "d1", broker / "d2")
    assert "28\n" == told("-d", path, "groups", "--count", capsys=capsys)


def test_a_fleet_in_an_archive_is_read_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes have no part in its memory."""
    monkeypatch.setattr("metashell.sources.fleet.source.SMALL_BYTES", 0)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 4)
    monkeypatch.setattr("metashell.sources.fleet.pool._pool", lambda n: pytest.fail("a process"))
    fleet = open_fleet([packed(tmp_path, backups(tmp_path / "backups"))])
    assert [None] * 3 == [row.get("error") for row in fleet.directory_rows()]


def test_an_archive_that_fails_is_a_row(tmp_path: Path) -> None:
    """The others are read."""
    parent = backups(tmp_path / "backups")
    whole = Path(packed(tmp_path, parent / "staging"))
    (tmp_path / "cut.tgz").write_bytes(whole.read_bytes()[:5000])
    fleet = open_fleet([str(whole), f"{tmp_path}/cut.tgz"])
    errors = [str(row["error"]) for row in fleet.directory_rows() if row.get("error") is not None]
    assert 1 == len(errors)
    assert errors[0].startswith(f"{tmp_path}/cut.tgz: damaged or cut off: ")


def test_what_holds_no_log(tmp_path: Path) -> None:
    """An archive in an archive is named; so is a link that leads out."""
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of(("bundle/node1.tar.gz", gzip.compress(tar_of(*FILES.items())))))
    with pytest.raises(SourceError, match="no log directory of Kafka in it") as caught:
        metashell.open(path)
    assert "archives in it, such as node1.tar.gz, are not opened" in str(caught.value.hint)
    path.write_bytes(tar_of(("orders-0/00000000000000000000.log", b"x")))
    with pytest.raises(SourceError, match="no log directory of Kafka in it"):
        metashell.open(path)
    path.write_bytes(tar_of(special(f"data/{METADATA_DIRECTORY}", tarfile.SYMTYPE, "/disk2/x")))
    with pytest.raises(SourceError, match=r"a\.tar: data/__cluster_metadata-0: a link to /disk2/x"):
        metashell.open(path)


def test_the_other_side_of_a_comparison(tmp_path: Path) -> None:
    """`diff --with` takes an archive of one log directory."""
    source = metashell.open(fixture("real-44-live").directory)
    one = packed(tmp_path, SAMPLE)
    assert metashell.open(SAMPLE).status() == open_like(source, one).status()
    with pytest.raises(SourceError, match="3 log directories in it, and one is wanted"):
        open_like(source, packed(tmp_path, backups(tmp_path / "backups")))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("log", "--follow"), "an archive does not grow"),
        (("watch", "brokers"), "an archive does not grow"),
        (("--engine", "spark", "brokers"), "read by this process, not by Spark"),
    ],
)
def test_what_an_archive_does_not_do(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: Captures
) -> None:
    """The message says so."""
    assert 2 == main(["-d", packed(tmp_path, SAMPLE), *words])
    assert message in capsys.readouterr().err


def test_it_can_be_saved_as_a_directory(tmp_path: Path, capsys: Captures) -> None:
    """The log in it is that of the archive."""
    copy = copy_of("real-40-static", tmp_path / "node")
    assert 0 == main(["-d", packed(tmp_path, copy), "save", f"{tmp_path}/saved"])
    capsys.readouterr()
    assert metashell.open(copy).status() == metashell.open(tmp_path / "saved").status()


def test_a_pipe() -> None:
    """A tar archive on standard input, plain and in gzip, with meta.properties or without."""
    meta = ("meta.properties", (SAMPLE / "meta.properties").read_bytes())
    whole, alone = tar_of(*FILES.items(), meta), tar_of(*FILES.items())
    expected = program("-d", str(SAMPLE), "health", stdin=b"")
    for data in (whole, gzip.compress(whole)):
        done = program("-d", "-", "health", stdin=data)
        assert (expected.returncode, expected.stdout, b"") == (
            done.returncode, done.stdout, done.stderr,
        )  # fmt: skip
    done = program("-d", "-", "-c", "pwd", "-c", "cat /image/features/metadataVersion", stdin=alone)
    assert (0, b"/\n4.4-IV2\n", b"") == (done.returncode, done.stdout, done.stderr)


def test_a_fleet_in_a_pipe(tmp_path: Path) -> None:
    """Its members are named after the directories."""
    parent = backups(tmp_path / "backups")
    done = program(
        "-d", "-", "fleet", "-o", "csv", "--columns", "directory,error",
        stdin=tar_of_directories([parent], tmp_path),
    )  # fmt: skip
    assert (0, b"") == (done.returncode, done.stderr)
    names = ("controller-1", "controller-2", "staging")
    assert [f"/dev/stdin/backups/{name}," for name in names] == done.stdout.decode().splitlines()[
        1:
    ]


@pytest.mark.parametrize(
    ("words", "stdin", "status", "message"),
    [
        (("health",), b"", 3, "/dev/stdin: the archive is empty"),
        (("health",), b"not a tar\n" * 99, 3, "/dev/stdin: not an archive"),
        (("health",), tar_of(*FILES.items())[:9999], 3, "damaged or cut off"),
        (
            ("health",),
            gzip.compress(tar_of(*FILES.items()))[:9999],
            3,
            "/dev/stdin: damaged or cut off",
        ),
        (("health",), tar_of(("caf\udce9/../x", b"")), 3, "names no place in the archive"),
        ((), b"ls\n", 2, "can't be a terminal or give commands too"),
        (("-f", "-"), b"ls\n", 2, "can't be a terminal or give commands too"),
        (("tui",), b"", 2, "can't be a terminal or give commands too"),
        (("-d", "-", "health"), b"", 2, "can't be a terminal or give commands too"),
    ],
    ids=["empty", "text", "cut", "gzip", "name", "shell", "script", "explorer", "twice"],
)
def test_pipes_that_can_not_be_meant(
    words: tuple[str, ...], stdin: bytes, status: int, message: str
) -> None:
    """A sentence with a hint, and no traceback."""
    done = program("-d", "-", *words, stdin=stdin)
    assert status == done.returncode
    assert message in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert b"" == done.stdout


def test_a_terminal_is_no_archive(monkeypatch: pytest.MonkeyPatch, capsys: Captures) -> None:
    """It is not waited for; nor is a standard input that is closed."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stdin in (Terminal(), None):
        monkeypatch.setattr("sys.stdin", stdin)
        assert 2 == main(["-d", "-", "health"])
        assert "can't be a terminal" in capsys.readouterr().err


def test_a_pipe_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read up to the bound."""
    monkeypatch.setattr(unpacking, "LIMIT_BYTES", 4 << 20)
    with pytest.raises(SourceError, match="/dev/zero: larger than 4,194,304 bytes"):
        unpacking.unpacked("/dev/zero")


def test_completion_reads_no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is the user's terminal then."""
    from metashell.cli.arguments import parse_arguments
    from metashell.cli.choices import choose_source

    monkeypatch.setattr(unpacking, "unpacked", lambda _: pytest.fail("read"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    choice = choose_source(parse_arguments(["-d", "-", "ls", "/im"]))
    assert choice is not None
    assert is_uri(choice.path)
