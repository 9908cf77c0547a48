"""Files and directories that are not what they should be: an error or a fault that names them."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import (
    checkpoint_bytes,
    checkpoint_name,
    segment_name,
    write_indexes,
    write_meta_properties,
    write_partition_metadata,
)
from metashell.cli import main
from metashell.errors import SourceError
from metashell.log import directory as directories
from metashell.log.changed import DirectoryState, list_directory
from metashell.log.fault import FaultKind
from metashell.places.place import Place
from support.fixtures import copy_of
from support.logs import make_directory, topic_batch, topic_log, topic_record, topics_of
from support.shell import run
from support.waiting import LIMIT_S

SEGMENT = segment_name(0)


def checkpoint(n_topics: int) -> bytes:
    """A whole checkpoint that holds the topics from 0 on."""
    return checkpoint_bytes([topic_record(i) for i in range(n_topics)])


def refusal(path: Path) -> str:
    """Open a directory that must be refused; the error and its hint."""
    with pytest.raises(SourceError) as caught:
        metashell.open(path)
    assert str(path) in caught.value.message
    return f"{caught.value.message} {caught.value.hint}"


# Directories of the wrong kind.


def test_no_such_directory(tmp_path: Path) -> None:
    """A directory that is not there is named."""
    assert "No such file or directory" in refusal(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="nowhere"):
        metashell.open_file(tmp_path / "nowhere.log")


def test_empty_directory(tmp_path: Path) -> None:
    """An empty directory is refused, a metadata one too."""
    assert "no segment or checkpoint" in refusal(tmp_path)
    assert "no segment or checkpoint" in refusal(make_directory(tmp_path))


def test_only_index_files(tmp_path: Path) -> None:
    """Indexes alone are nothing to read."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    write_indexes(directory / SEGMENT)
    (directory / SEGMENT).unlink()

    assert "no segment or checkpoint" in refusal(directory)


def test_only_files_that_do_not_count(tmp_path: Path) -> None:
    """Unfinished, deleted and foreign files are not read."""
    directory = make_directory(tmp_path)
    for name in (
        f"{checkpoint_name(5, 1)}.part",
        f"{checkpoint_name(5, 1)}.deleted",
        f"{SEGMENT}.deleted",
        f"{SEGMENT}.swap",
        "00000000000000000005.snapshot",
        "0.log",
        "quorum-state",
    ):
        (directory / name).write_bytes(b"x")

    assert "no segment or checkpoint" in refusal(directory)


@pytest.mark.parametrize("with_metadata", [True, False])
def test_ordinary_topic(tmp_path: Path, with_metadata: bool) -> None:
    """The directory of an ordinary topic opens as a topic's log, and has no metadata."""
    directory = tmp_path / "orders-eu-3"
    directory.mkdir()
    (directory / SEGMENT).write_bytes(topic_batch(0))
    if with_metadata:
        (directory / "partition.metadata").write_text(
            "version: 0\ntopic_id: 4lyd1-cDSWKVfGlfFvO9cw"
        )
    with metashell.open(directory) as source, pytest.raises(SourceError) as caught:
        _ = source.image
    assert "orders-eu-3 is a topic's log, and has no cluster metadata" in caught.value.message


def test_log_dir_without_metadata(tmp_path: Path) -> None:
    """The log dir of a broker alone is told from an empty directory."""
    write_meta_properties(tmp_path, cluster_id="c", node_id=1)

    assert "a log directory without a metadata log" in refusal(tmp_path)


def test_file_for_a_directory(tmp_path: Path) -> None:
    """A file given as a directory is told how to be opened, and the other way round."""
    path = tmp_path / SEGMENT
    path.write_bytes(topic_batch(0))

    assert "-s" in refusal(path)
    with pytest.raises(SourceError, match="not a regular file"):
        metashell.open_file(tmp_path)


def test_copy_under_another_name(tmp_path: Path) -> None:
    """A copy of a metadata directory can have any name."""
    made = make_directory(tmp_path, (0, topic_batch(0)))
    write_partition_metadata(made)
    for name in ("backup", "copy-1"):
        assert {0} == topics_of(metashell.open(shutil.copytree(made, tmp_path / name)))


# Files that can't be read.


@pytest.mark.parametrize("kind", ["fifo", "directory", "socket", "device"])
def test_no_regular_file(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe, directory, socket or device in a segment's place is refused at once."""
    directory = make_directory(tmp_path)
    path = directory / SEGMENT
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        monkeypatch.chdir(directory)  # The path of a socket may not be long.
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(SEGMENT)
    else:
        path.symlink_to("/dev/zero")
    for opener, what in ((metashell.open, directory), (metashell.open_file, path)):
        with pytest.raises(SourceError, match=SEGMENT):
            opener(what)


def test_dangling_link(tmp_path: Path) -> None:
    """A link to nothing is a file that is not there, and is not looked for forever."""
    directory = make_directory(tmp_path)
    (directory / SEGMENT).symlink_to(tmp_path / "nothing")

    assert "vanish" in refusal(directory)


def test_links_are_followed(tmp_path: Path) -> None:
    """A segment may be a link to a file."""
    directory = make_directory(tmp_path)
    (tmp_path / "elsewhere").write_bytes(topic_batch(0))
    (directory / SEGMENT).symlink_to(tmp_path / "elsewhere")

    assert {0} == topics_of(metashell.open(directory))


PROGRAM = [sys.executable, "-m", "metashell"]


def call(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the program as a process of its own."""
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, check=False, **options
    )


@pytest.fixture
def unprivileged() -> Iterator[Callable[[], None]]:
    """Become a user who may not read everything, and in the end again who it was."""
    user = os.geteuid()

    def drop() -> None:
        if user == 0:
            os.seteuid(65_534)

    yield drop
    os.seteuid(user)


@pytest.mark.parametrize("what", ["segment", "directory"])
def test_no_permission(
    what: str, unprivileged: Callable[[], None], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A file or directory that may not be read is named, and who may read it."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        directory = make_directory(Path(parent), (0, topic_batch(0)))
        forbidden = directory if what == "directory" else directory / SEGMENT
        command = ["-d", str(directory), "ls", "/image/topics"]
        # What is imported when first needed may lie where only this user reads.
        assert 0 == main(command)
        capsysbinary.readouterr()
        forbidden.chmod(0)
        unprivileged()
        with pytest.raises(SourceError, match=rf"{forbidden}: Permission denied") as caught:
            metashell.open(directory)
        code = main(command)
        printed = capsysbinary.readouterr()
        if os.getuid() == 0:
            os.seteuid(0)
        forbidden.chmod(0o755)

    assert "user" in (caught.value.hint or "")
    assert (3, b"") == (code, printed.out)
    assert b"Permission denied" in printed.err


def test_read_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails while a file is read is an error that names the file."""

    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    directory = make_directory(tmp_path, (0, topic_batch(0)))
    monkeypatch.setattr("metashell.log.read.os.preadv", fail)
    with pytest.raises(SourceError, match=rf"{SEGMENT}.*Input/output error"):
        metashell.open(directory)


# Files that change meanwhile.


def test_vanishes_between_listing_and_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is deleted after it was listed makes the directory be listed again."""
    batches = topic_log(3)
    directory = make_directory(tmp_path, (0, batches[0]), (2, batches[1]), (4, batches[2]))
    (directory / checkpoint_name(4, 1)).write_bytes(checkpoint(4))
    old = checkpoint_name(2, 1)
    gone = [(old, "00000000000000000009-0000000001.checkpoint")]

    def stale(place: Place) -> DirectoryState:
        state = list_directory(place)
        return replace(state, names=(*state.names, *gone.pop())) if gone else state

    monkeypatch.setattr(directories, "list_directory", stale)
    source = metashell.sources.source.Source(directories.read_directory(str(directory)))

    assert {0, 1, 2, 3, 4, 5} == topics_of(source)
    assert [] == source.all_faults()


def test_keeps_vanishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory whose files vanish again and again is given up, not chased forever."""
    directory = make_directory(tmp_path, (0, topic_batch(0)))
    state = DirectoryState(str(directory), (segment_name(7),), {})
    monkeypatch.setattr(directories, "list_directory", lambda _: state)
    with pytest.raises(SourceError, match="vanish"):
        directories.read_directory(str(directory))


@pytest.mark.parametrize("change", ["shrinks", "grows", "is emptied"])
def test_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """A segment that grows or is cut while it is read is shown to the end of a whole batch."""
    batches = topic_log(4)
    path = make_directory(tmp_path, (0, b"".join(batches[:3])), (6, batches[3])) / SEGMENT
    real, pending = os.preadv, [change]

    def meddle(fd: int, buffers: Any, pos: int) -> int:
        if pending:
            match pending.pop():
                case "shrinks":
                    os.truncate(path, len(batches[0]) + 20)
                case "is emptied":
                    os.truncate(path, 0)
                case _:
                    with path.open("ab") as file:
                        file.write(topic_batch(20))
        return real(fd, buffers, pos)

    monkeypatch.setattr("metashell.log.read.os.preadv", meddle)
    source = metashell.open(path.parent)
    kinds = [fault.kind for fault in source.all_faults()]

    match change:
        case "shrinks":
            assert {0, 1, 6, 7} == topics_of(source)
            assert {FaultKind.TORN, FaultKind.GAP} == set(kinds)
        case "is emptied":
            assert {6, 7} == topics_of(source)
        case _:
            assert (set(range(8)), []) == (topics_of(source), kinds)


def test_vanishes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file deleted after it was opened is read to its end."""
    path = make_directory(tmp_path, (0, topic_batch(0, 3))) / SEGMENT
    real = os.preadv

    def meddle(fd: int, buffers: Any, pos: int) -> int:
        path.unlink(missing_ok=True)
        return real(fd, buffers, pos)

    monkeypatch.setattr("metashell.log.read.os.preadv", meddle)

    assert {0, 1, 2} == topics_of(metashell.open(path.parent))


# Files that do not fit together.


def test_empty_segment(tmp_path: Path) -> None:
    """The empty segment of a new node is a log without records."""
    directory = make_directory(tmp_path, (0, b""))
    source = metashell.open(directory)

    assert (set(), []) == (topics_of(source), source.all_faults())
    assert source.status().offset is None
    with pytest.raises(SourceError, match=rf"{SEGMENT}.*empty"):
        metashell.open_file(directory / SEGMENT)


def test_duplicate_segments(tmp_path: Path) -> None:
    """Records that stand in two segments count once; the second ones are told."""
    batches = topic_log(4)
    directory = make_directory(tmp_path, (0, b"".join(batches[:3])), (4, b"".join(batches[2:])))
    source = metashell.open(directory)
    (fault,) = source.all_faults()

    assert set(range(8)) == topics_of(source)
    assert 4 == len(source.image.records.rows("TopicRecord")) // 2
    assert (FaultKind.GAP, segment_name(4), 0, 6) == (
        fault.kind,
        fault.file,
        fault.pos,
        fault.offset,
    )


def test_missing_segment(tmp_path: Path) -> None:
    """A segment that is missing between two others is a gap that is told."""
    batches = topic_log(3)
    source = metashell.open(make_directory(tmp_path, (0, batches[0]), (4, batches[2])))
    (fault,) = source.all_faults()

    assert {0, 1, 4, 5} == topics_of(source)
    assert (FaultKind.GAP, segment_name(4), 0, 2) == (
        fault.kind,
        fault.file,
        fault.pos,
        fault.offset,
    )
    assert "2 to 3" in fault.reason
    assert str(fault) in source.warnings


def test_gap_behind_the_checkpoint(tmp_path: Path) -> None:
    """Offsets that lack between the checkpoint and the first segment are told."""
    directory = make_directory(tmp_path, (5, topic_batch(5)))
    (directory / checkpoint_name(3, 1)).write_bytes(checkpoint(3))
    source = metashell.open(directory)
    (fault,) = source.all_faults()

    assert {0, 1, 2, 5} == topics_of(source)
    assert (FaultKind.GAP, segment_name(5), 3) == (fault.kind, fault.file, fault.offset)


def test_checkpoint_beyond_the_segments(tmp_path: Path) -> None:
    """A checkpoint newer than every segment is the whole state."""
    directory = make_directory(tmp_path, (0, topic_batch(0)), (1, topic_batch(1)))
    (directory / checkpoint_name(9, 4)).write_bytes(checkpoint(3))
    source = metashell.open(directory)

    assert ({0, 1, 2}, []) == (topics_of(source), source.all_faults())
    assert (8, 4) == (source.status().offset, source.status().epoch)


def test_segment_without_its_base(tmp_path: Path) -> None:
    """A later segment alone is shown, and that its base is missing."""
    directory = make_directory(tmp_path, (7, topic_batch(7)))
    for source in (metashell.open(directory), metashell.open_file(directory / segment_name(7))):
        assert {7} == topics_of(source)
        assert any("base" in warning and "7" in warning for warning in source.warnings)


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "no footer": lambda data: data[: data.rindex(b"\x00\x00\x00\x04") - 61],
    "torn": lambda data: data[:-5],
    "no header": lambda data: encode_batch([topic_record(9)]) + data,
    "wrong CRC": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "empty": lambda _: b"",
    "zeros": lambda _: bytes(300),
    "garbage": lambda _: b"not a checkpoint" * 20,
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("older", [True, False])
def test_broken_checkpoint(tmp_path: Path, how: str, older: bool) -> None:
    """Of the checkpoints the newest that is whole is used; what is wrong with others is told."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 3)), (3, topic_batch(3, 4)))
    newest = checkpoint_name(5, 1)
    (directory / newest).write_bytes(BROKEN[how](checkpoint(5)))
    if older:
        (directory / checkpoint_name(3, 1)).write_bytes(checkpoint(3))
    source = metashell.open(directory)
    (fault,) = source.all_faults()

    assert set(range(7)) == topics_of(source)
    assert newest == fault.file
    assert fault.pos is not None
    assert any(newest in w and "not used" in w for w in source.warnings)
    listed = source.ls("/log")
    assert (checkpoint_name(3, 1) in listed) is older
    assert newest not in listed


def test_every_checkpoint_broken(tmp_path: Path) -> None:
    """Where no checkpoint is whole the segments alone are shown, with all that is missing told."""
    directory = make_directory(tmp_path, (5, topic_batch(5)))
    for end in (3, 5):
        (directory / checkpoint_name(end, 1)).write_bytes(checkpoint(end)[:-1])
    source = metashell.open(directory)

    assert {5} == topics_of(source)
    assert 2 == sum("not used" in warning for warning in source.warnings)
    assert any("base" in warning for warning in source.warnings)


# Nothing is changed.


def snapshot(directory: Path) -> dict[str, tuple[object, ...]]:
    """Everything about a directory's files but when they were read."""
    out: dict[str, tuple[object, ...]] = {}
    for path in [directory, *directory.rglob("*")]:
        s = path.lstat()
        out[str(path)] = (s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_nlink)
    return out


@pytest.mark.parametrize("name", ["real-44-live", "real-44-trimmed"])
def test_read_only(name: str, tmp_path: Path) -> None:
    """All that can be looked at is, in a directory that may not be written, and nothing changes."""
    copy = copy_of(name, tmp_path)
    lock = copy / ".lock"
    lock.touch()
    for path in [*copy.rglob("*"), copy]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = snapshot(copy)
    with lock.open("rb") as held:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX)
        source = metashell.open(copy)
        assert 0 == run(source.root, "tree /").status
        source.all_faults()

    assert before == snapshot(copy)
    assert stat.S_ISREG(lock.stat().st_mode)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755)


def test_opens_nothing_for_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is opened for reading alone, and the lock not at all."""
    copy = copy_of("real-44-live", tmp_path)
    (copy / ".lock").touch()
    opened: list[tuple[str, object]] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if active and event == "open" and str(copy) in str(arguments[0]):
            opened.append((str(arguments[0]), arguments[2]))

    active = True
    sys.addaudithook(watch)
    source = metashell.open(copy)
    run(source.root, "tree /")
    active = False

    assert opened
    assert not any(name.endswith(".lock") for name, _ in opened)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    assert not any(isinstance(flags, int) and flags & writing for _, flags in opened)


# Through the program.


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("sound", 0),
        ("torn", 0),
        ("damaged", 0),
        ("no directory", 3),
        ("empty directory", 3),
        ("ordinary topic", 1),
        ("fifo", 3),
        ("garbage file", 3),
    ],
)
def test_exit_codes(tmp_path: Path, case: str, code: int) -> None:
    """The program ends with 0 where something can be shown and with 3 where not."""
    data = b"".join(topic_log(3))
    directory = make_directory(tmp_path, (0, data))
    flag, path = "-d", directory
    match case:
        case "torn":
            (directory / SEGMENT).write_bytes(data[:-3])
        case "damaged":
            (directory / SEGMENT).write_bytes(data[:130] + b"\xff" + data[131:])
        case "no directory":
            path = tmp_path / "nowhere"
        case "empty directory":
            (directory / SEGMENT).unlink()
        case "ordinary topic":
            path = directory.rename(tmp_path / "orders-0")
        case "fifo":
            (directory / SEGMENT).unlink()
            os.mkfifo(directory / SEGMENT)
        case "garbage file":
            (directory / SEGMENT).write_bytes(b"garbage" * 99)
            flag, path = "-s", directory / SEGMENT
    ran = call(flag, path, "ls", "/image/topics/byName")

    assert code == ran.returncode, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "t0" in ran.stdout if code == 0 else path.name in ran.stderr
    assert bool(ran.stderr) is (case != "sound")
