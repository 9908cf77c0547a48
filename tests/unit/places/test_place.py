"""Places on this machine and in stores: what they mean, list, read, show and match."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.errors import SourceError, UsageError
from metashell.fs.escape import diagnostic
from metashell.log.changed import signature
from metashell.log.directory import find_metadata_directory, read_directory
from metashell.log.read import load, opened, windows
from metashell.places import connecting, remote
from metashell.places.archives import UNPACK_HINT
from metashell.places.parallel import in_parallel
from metashell.places.place import (
    base_name,
    child_of,
    entries_in,
    expand,
    file_in,
    has_glob,
    is_directory,
    is_file,
    is_uri,
    name_of,
    names_in,
    parent_of,
    place_of,
    read_beginning,
    shown,
)
from metashell.places.remote import PIECE_BYTES, RemoteFile, RemotePlace, remote_place
from metashell.places.store_errors import explain
from metashell.places.uri import holds_credentials, parse_uri, quoted, without_credentials
from metashell.places.vanished import VanishedError
from support.fixtures import Fixture
from support.shell import run_on
from support.waiting import LIMIT_S

SECRET = "s3cret/of+the=store"
TYPED = "s3cret%2Fof+the=store"


class Mock:
    """A store in memory: pyarrow's own, which forgets all with its connection."""

    def __init__(self, uri: str = "mock:///") -> None:
        self.root = remote_place(uri)
        self.fs: Any = connecting.connected(self.root.store, os.getpid())[0]

    def put(self, path: str, content: bytes = b"") -> None:
        """Write a file and the directories above it."""
        self.fs.create_dir(os.path.dirname(path), recursive=True)
        with self.fs.open_output_stream(path) as out:
            out.write(content)

    def upload(self, directory: Path, path: str) -> None:
        """Write the files of a directory."""
        for file in directory.iterdir():
            if file.is_file() and "index" not in file.name:
                self.put(f"{path}/{file.name}", file.read_bytes())


@pytest.fixture
def mock() -> Iterator[Mock]:
    """A store that is empty."""
    connecting.connected.cache_clear()
    yield Mock()
    connecting.connected.cache_clear()


class Disk:
    """A store that is a local directory, to be read with faults and counts."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from pyarrow.fs import LocalFileSystem

        self._fs, self.reads = LocalFileSystem(), []
        self.failure: Exception | None = None
        monkeypatch.setattr(remote, "connected", lambda store, process: (self, f"{directory}/"))

    def open_input_file(self, path: str) -> Disk._File:
        """Open a file that counts what is read of it."""
        return Disk._File(self, self._fs.open_input_file(path))

    def get_file_info(self, what: Any) -> Any:
        """As the local file system has it."""
        return self._fs.get_file_info(what)

    class _File:
        def __init__(self, disk: Disk, file: Any) -> None:
            self._disk, self._file = disk, file
            self.size, self.close = file.size, file.close

        def read_at(self, size: int, pos: int) -> bytes:
            if self._disk.failure is not None:
                raise self._disk.failure
            self._disk.reads.append((pos, size))
            return bytes(self._file.read_at(size, pos))


# What texts mean.


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/var/lib", "/var/lib"),
        ("some/where", "some/where"),
        ("C:/x", "C:/x"),
        ("file:///var/a%20b", "/var/a b"),
        ("file:/var/lib", "/var/lib"),
        ("file://localhost/var", "/var"),
        ("FILE:///var", "/var"),
    ],
)
def test_paths_and_file_uris_are_paths(text: str, path: str) -> None:
    """What is on this machine is a plain path."""
    assert path == place_of(text)


def test_path_objects_are_paths(tmp_path: Path) -> None:
    """`os.PathLike` is taken as it is."""
    assert str(tmp_path) == place_of(tmp_path)


@pytest.mark.parametrize("text", ["file://elsewhere/var", "file://elsewhere"])
def test_file_uri_of_another_host_is_refused(text: str) -> None:
    """Another machine's files are not those of this one."""
    with pytest.raises(SourceError, match="names"):
        place_of(text)


def test_uri_is_a_remote_place() -> None:
    """A URI names a store and a path in it."""
    place = place_of("s3://bucket/a%20b/c/?region=eu-west-1")
    assert isinstance(place, RemotePlace)
    assert ("a b/c", "c", "a b") == (place.path, base_name(place), parent_of(place).path)  # type: ignore[union-attr]
    assert "s3://bucket/a%20b/c" == str(place)
    assert "s3://bucket/a%20b/c?region=eu-west-1" == place.uri
    assert "s3://bucket/a%20b/c/d%3F" == str(child_of(place, "d?"))


@pytest.mark.parametrize(("alias", "scheme"), [("s3a", "s3"), ("s3n", "s3"), ("gcs", "gs")])
def test_other_names_of_a_scheme(alias: str, scheme: str) -> None:
    """What Hadoop calls a scheme is the same place."""
    assert remote_place(f"{alias}://bucket/x") == remote_place(f"{scheme}://bucket/x")


def test_root_of_a_store() -> None:
    """The root is its own parent, and is called as the store."""
    root = remote_place("s3://bucket")
    assert ("bucket", root) == (root.name, root.parent)
    assert "s3://bucket/x" == str(root.child("x"))


def test_path_that_is_not_utf8_is_refused() -> None:
    """Stores name things in UTF-8."""
    with pytest.raises(SourceError, match="not UTF-8"):
        place_of("s3://bucket/%ff")


def test_text_that_is_no_uri() -> None:
    """Only what has a scheme and two slashes is a URI."""
    assert not is_uri("a:b/c")
    assert not is_uri("/s3://x")
    assert is_uri("gs://b")


def test_question_mark_of_a_pattern_is_not_the_query() -> None:
    """A query is keys and values at the end; any other question mark belongs to the path."""
    uri = parse_uri("s3://b/c?/d?region=x&endpoint_override=http://h:1")
    assert ("c?/d", "http://h:1") == (uri.path, uri.settings["endpoint_override"])


# What may be shown.


@pytest.mark.parametrize(
    "uri",
    [
        f"s3://AKIAKEY:{TYPED}@bucket/x",
        f"s3://bucket/x?access_key=AKIAKEY&secret_key={TYPED}&region=r",
        f"abfs://container:{TYPED}@account.dfs.core.windows.net/x",
        f"abfs://container@account.dfs.core.windows.net/x?sig={TYPED}",
        f"hdfs://user:{TYPED}@namenode:8020/x",
        f"other://user:{TYPED}@host/x",
        f"s3://AKIAKEY:ab/cd{TYPED}@bucket/x",
        f"https://host/x?X-Amz-Signature={TYPED}",
    ],
)
def test_credentials_of_a_uri_are_never_shown(uri: str) -> None:
    """Names, texts, representations and errors of a place hold no secret."""
    place = remote_place(uri)
    file = RemoteFile(place)
    told = explain(
        OSError(f"UNKNOWN {SECRET} {TYPED} {uri}"),
        str(place),
        place.store.uri.scheme,
        place.store.uri.secrets,
        has_credentials=True,
    )
    texts = [
        shown(uri), str(place), repr(place), str(file), repr(file), repr(place.store),
        repr(place.store.uri), str(place.child("y")), name_of(file), told.message,
    ]  # fmt: skip
    for text in texts:
        assert SECRET not in text
        assert TYPED not in text
        assert "AKIAKEY" not in text
    assert TYPED in place.uri, "what opens it has them"
    assert holds_credentials(f"diff --with {uri}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file://user:PW@/x: names", "file:///x: names"),
        ("`file://user:PW@host/x`", "`file://host/x`"),
        ("s3:/KEY:PW@bucket/x", "s3:/bucket/x"),
        ("s3:///KEY:PW@bucket/x", "s3:///bucket/x"),
        ("https:/PW@host/x", "https:/host/x"),
        ("gs://user:P/W@b and s3://K:PW@c/?region=r", "gs://b and s3://c/?region=r"),
        ("abfs://c:PW@account/x?sig=PW", "abfs://c@account/x"),
        ("https://h/x?token=PW", "https://h/x"),
        ("s3//KEY:PW@bucket/x: No such file", "s3//bucket/x: No such file"),
        ("s3//KEY:P/W@bucket/x", "s3//bucket/x"),
        ("S3A//KEY:PW@bucket/x", "S3A//bucket/x"),
        ("s3/KEY:PW@bucket/x", "s3/bucket/x"),
        ("s3:KEY:PW@bucket/x", "s3:bucket/x"),
        ("s3;//KEY:PW@bucket/x", "s3;//bucket/x"),
        ("-d=//KEY:PW@bucket/x", "-d=//bucket/x"),
        ("://KEY:PW@bucket/x", "://bucket/x"),
        ("/data/s3//KEY:PW@bucket/x", "/data/s3//bucket/x"),
        ("abfs//c:PW@account/x", "abfs//c@account/x"),
        ("s3//bucket/x?secret_key=PW", "s3//bucket/x"),
    ],
)
def test_credentials_in_a_text(text: str, expected: str) -> None:
    """What is printed has every URI without its credentials, one with a slip among them."""
    assert expected == without_credentials(text)
    assert expected.replace("`", "") == diagnostic(text).replace("`", "")


@pytest.mark.parametrize(
    "text",
    [
        "diff --with s3://bucket/x?region=r END",
        "ls /a:b@c",
        "backup:/node@3",
        "hdfs://namenode:8020/user/a@b",
        "CONTROLLER://[::1]:9093",
        "file:///data/a@b",
        "/data//a@b",
        "s3/node@3",
        "gs: a:b@c",
        "User:kafka/host@REALM",
        "//server/a@b",
        "backup//x?y",
        "/backups//[a-c]?",
    ],
)
def test_lines_without_credentials(text: str) -> None:
    """A URI that holds none may be written anywhere."""
    assert not holds_credentials(text)


@pytest.mark.parametrize("host", ["", "host"])
def test_user_of_a_file(host: str) -> None:
    """A `file:` URI with a password is refused without it."""
    with pytest.raises(SourceError) as caught:
        place_of(f"file://user:PW@{host}/x")
    assert "PW" not in caught.value.message


def test_words_of_a_store_stay_whole() -> None:
    """A short name in a URI does not cut words of an error."""
    error = explain(
        OSError("GCS URIs do not accept username"),
        "gs://b",
        "gs",
        ("user", "PW"),
        has_credentials=True,
    )
    assert error.message == "gs://b: GCS URIs do not accept username"


def test_shown_leaves_paths_alone() -> None:
    """A path is shown as it is."""
    assert "/a?b=c" == shown("/a?b=c")


def test_container_and_user_stay_in_what_is_shown() -> None:
    """They are where something is."""
    uri = "abfs://container@account.dfs.core.windows.net/x"
    assert uri == str(remote_place(uri))


def test_names_cannot_act_on_a_terminal() -> None:
    """What is not printable is quoted."""
    assert "a%0A%1B%5B31m/é" == quoted("a\n\x1b[31m/é")


def test_a_place_can_be_pickled() -> None:
    """A process that gets a place opens it by itself, credentials included."""
    place = remote_place(f"s3://AKIAKEY:{TYPED}@bucket/x")
    again = pickle.loads(pickle.dumps(RemoteFile(place)))
    assert RemoteFile(place) == again
    assert place.uri == again.place.uri
    assert 1 == len({place, again.place})


# Directories.


def test_store_gives_what_the_directory_gives(mock: Mock, real_directory: Fixture) -> None:
    """A source of a store has the tables, the history and the node of the local one."""
    mock.upload(real_directory.input, "node/__cluster_metadata-0")
    mock.upload(real_directory.input.parent, "node")
    local, there = (
        metashell.open(real_directory.input),
        metashell.open("mock:///node", engine="local"),
    )
    assert ("mock:///node/__cluster_metadata-0", "__cluster_metadata-0") == (there.path, there.name)
    assert (local.cluster_id, local.node_id) == (there.cluster_id, there.node_id)
    assert local.leaders == there.leaders
    assert local.table("partitions").equals(there.table("partitions"))
    assert local.at(1000).table("topics").equals(there.at(1000).table("topics"))
    assert there.refreshed() is there
    mock.put("node/__cluster_metadata-0/00000000000000009999.log")
    assert there.refreshed() is not there


def test_one_file_of_a_store(mock: Mock, real_directory: Fixture) -> None:
    """A checkpoint is opened alone; a segment is not asked what is committed."""
    mock.upload(real_directory.input, "d")
    name = max(path.name for path in real_directory.input.glob("*.checkpoint"))
    local = metashell.open_file(real_directory.input / name)
    there = metashell.open_file(f"mock:///d/{name}")
    assert local.table("topics").equals(there.table("topics"))
    assert (name, f"mock:///d/{name}") == (there.name, there.path)
    with pytest.raises(SourceError, match=r"mock:///d/0+\.log: a segment does not say"):
        metashell.open_file(f"mock:///d/{0:020}.log?a=b", committed_only=True)
    with pytest.raises(SourceError, match=r"mock:///d/x\.checkpoint: No such file or directory"):
        metashell.open_file("mock:///d/x.checkpoint")
    with pytest.raises(SourceError, match=r"(?i)mock:///d: not a regular file"):
        metashell.open_file("mock:///d")
    with pytest.raises(SourceError, match="not a directory") as caught:
        metashell.open(f"mock:///d/{name}", engine="local")
    assert "open a single file with -s" == caught.value.hint


def test_store_without_a_log(mock: Mock) -> None:
    """What is no metadata log is refused as it is on this machine."""
    mock.put("topic-3/00000000000000000000.log", encode_batch([b"x"]))
    mock.put("empty/x")
    topic = metashell.open("mock:///topic-3", engine="local")
    assert run_on(topic, "log").out.startswith("0..0 2026-09-21T14:13:20.000Z 1 records=1 ")
    assert 0 == run_on(topic, "check").status
    for path, message in (
        ("empty", "no segment or checkpoint there"),
        ("nowhere", "No such file or directory"),
    ):
        with pytest.raises(SourceError, match=f"mock:///{path}: {message}"):
            metashell.open(f"mock:///{path}", engine="local")


def test_file_uri_opens_the_directory(real_directory: Fixture) -> None:
    """A `file:` URI is the path it means, also in names."""
    source = metashell.open(real_directory.input.as_uri())
    assert str(real_directory.input) == source.path
    assert source.log.remote is None


def test_listings_are_alike(mock: Mock, tmp_path: Path) -> None:
    """Names, kinds and sizes of a directory, wherever it is."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.log").write_bytes(b"12345")
    mock.put("d/sub/x")
    mock.put("d/a.log", b"12345")
    place = place_of("mock:///d")
    for here in (str(tmp_path), place):
        found = {entry.name: entry for entry in entries_in(here)}
        assert ["a.log", "sub"] == sorted(found) == sorted(names_in(here))
        assert (5, False, True) == (
            found["a.log"].size, found["a.log"].is_directory, found["sub"].is_directory
        )  # fmt: skip
        assert found["a.log"].mtime_ns
        assert is_directory(here)
        assert is_file(child_of(here, "a.log"))
        assert b"123" == read_beginning(child_of(here, "a.log"), 3)
        assert read_beginning(child_of(here, "b.log"), 3) is None


def test_listing_what_is_not_there(tmp_path: Path, mock: Mock) -> None:
    """A directory that is not there, or is a file, is said to be so."""
    (tmp_path / "f").touch()
    for list_it in (names_in, entries_in):
        with pytest.raises(SourceError, match="No such file or directory"):
            list_it(str(tmp_path / "x"))
        with pytest.raises(SourceError, match=r"(?i)not a directory"):
            list_it(str(tmp_path / "f"))
        with pytest.raises(SourceError, match="mock:///x: No such file or directory"):
            list_it(place_of("mock:///x"))


def test_signature_of_a_store(mock: Mock) -> None:
    """What was written shows in the signature; other files do not."""
    mock.put("d/00000000000000000000.log", b"1")
    place = find_metadata_directory("mock:///d")
    before = signature(place)
    mock.put("d/other", b"1")
    assert before == signature(place)
    mock.put("d/00000000000000000000.log", b"12")
    assert before != signature(place)


def test_small_files_of_a_store_are_bounded(mock: Mock) -> None:
    """A small file that is none is refused; one that is not there is None."""
    mock.put("big", bytes(2000))
    with pytest.raises(SourceError, match="mock:///big: larger than 1,999 bytes"):
        remote_place("mock:///big").read_whole(1999)
    assert bytes(2000) == remote_place("mock:///big").read_whole(2000)
    assert remote_place("mock:///none").read_whole(10) is None


# Reading.


def _large(tmp_path: Path, size: int) -> bytes:
    content = os.urandom(1 << 20) * (size // (1 << 20) + 1)
    (tmp_path / "large.log").write_bytes(content[:size])
    return content[:size]


def test_large_reads_are_cut_into_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading from front to back gives every byte and asks for each once."""
    disk = Disk(tmp_path, monkeypatch)
    content = _large(tmp_path, 5 * PIECE_BYTES + 77)
    file = RemoteFile(remote_place("test://h/large.log"))
    out, step = bytearray(), 2 * PIECE_BYTES + 11
    with opened(file) as source:
        assert len(content) == source.size
        while len(out) < len(content):
            target = bytearray(step)
            n = source.read_into(memoryview(target), len(out))
            assert n == min(step, len(content) - len(out))
            out += target[:n]
        assert 0 == source.read_into(memoryview(bytearray(5)), len(content))
    assert content == out
    assert sorted(set(disk.reads)) == sorted(disk.reads)
    assert max(size for _, size in disk.reads) <= PIECE_BYTES


def test_few_bytes_are_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for something in a large file does not read pieces of it."""
    disk = Disk(tmp_path, monkeypatch)
    content = _large(tmp_path, 3 * PIECE_BYTES)
    with opened(RemoteFile(remote_place("test://h/large.log"))) as source:
        target = bytearray(61)
        assert 61 == source.read_into(memoryview(target), 1000)
    assert content[1000:1061] == target
    assert [(1000, 61)] == disk.reads


def test_windows_and_load_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_directory: Fixture
) -> None:
    """Batches are those of the local file, read whole or a window at a time."""
    Disk(real_directory.input, monkeypatch)
    place = remote_place("test://h/")
    names = sorted(path.name for path in real_directory.input.glob("*.log"))
    seen: list[tuple[int, int]] = []
    local = load([str(real_directory.input / name) for name in names])
    there = load(
        [file_in(place, name) for name in names], lambda done, total: seen.append((done, total))
    )
    assert [f.chain.positions for f in local.files] == [f.chain.positions for f in there.files]
    assert [(f.name, f.start, f.size) for f in local.files] == [
        (f.name, f.start, f.size) for f in there.files
    ]
    assert local.buffer[:] == there.buffer[:]
    assert (there.size, there.size) == seen[-1]
    for name in names[:2]:
        here = windows(str(real_directory.input / name), 5000)
        found = windows(file_in(place, name), 5000)
        assert [w.files[0].chain.positions for w in here] == [
            w.files[0].chain.positions for w in found
        ]


def test_file_that_became_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_directory: Fixture
) -> None:
    """What a store has no more is not read; the batches before are."""
    disk = Disk(real_directory.input, monkeypatch)
    disk.failure = OSError("AWS Error UNKNOWN during GetObject: INVALID_RANGE")
    name = min(path.name for path in real_directory.input.glob("*.log"))
    loaded = load([file_in(remote_place("test://h/"), name)])
    assert (0, []) == (loaded.files[0].size, list(loaded.files[0].chain.positions))


@pytest.mark.parametrize(
    "text", ["AWS Error NO_SUCH_KEY during GetObject operation: gone", "[errno 2] No such file"]
)
def test_file_that_vanishes_while_it_is_read(
    text: str, monkeypatch: pytest.MonkeyPatch, real_directory: Fixture
) -> None:
    """It is the same as one that vanished before it was opened."""
    disk = Disk(real_directory.input, monkeypatch)
    disk.failure = OSError(text)
    name = min(path.name for path in real_directory.input.glob("*.log"))
    place = remote_place("test://h/")
    with pytest.raises(VanishedError):
        load([file_in(place, name)])
    with pytest.raises(VanishedError):
        load([file_in(place, "none.log")])
    with pytest.raises(SourceError, match="its files keep vanishing"):
        read_directory(place)


def test_first_error_ends_what_runs_in_parallel() -> None:
    """Results come in order; what was not begun is left."""
    assert [0, 1, 4] == in_parallel([lambda i=i: i * i for i in range(3)])  # type: ignore[misc]

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        in_parallel([fail, *([int] * 100)])


# Patterns.


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    """Directories as a backup makes them."""
    for name in ("b/c1", "b/c2", "b/c10", "b/.hidden", "b/odd[1]", "other/c1"):
        (tmp_path / name / "__cluster_metadata-0").mkdir(parents=True)
    (tmp_path / "b/c3").mkdir()
    (tmp_path / "b/README").touch()
    return tmp_path


PATTERNS = [
    ("b/*/__cluster_metadata-0", ["b/c1", "b/c10", "b/c2", "b/odd[1]"]),
    ("b/c?/__cluster_metadata-0", ["b/c1", "b/c2"]),
    ("b/c[!1]/__cluster_metadata-0", ["b/c2"]),
    ("b/c[^1]/__cluster_metadata-0", ["b/c2"]),
    ("{b,other}/c1/__cluster_metadata-0", ["b/c1", "other/c1"]),
    ("{b/c{1,2},other/*}/__cluster_metadata-0", ["b/c1", "b/c2", "other/c1"]),
    ("*/c1/__cl*", ["b/c1", "other/c1"]),
    ("b/.h*/__cluster_metadata-0", ["b/.hidden"]),
    ("b/odd[[]1]/__cluster_metadata-0", ["b/odd[1]"]),
]


@pytest.mark.parametrize(("pattern", "names"), PATTERNS)
def test_patterns_of_paths(pattern: str, names: list[str], backups: Path) -> None:
    """A pattern names directories, sorted by component."""
    expected = [str(backups / name / "__cluster_metadata-0") for name in names]
    assert expected == expand(f"{backups}/{pattern}")
    assert expected == expand(f"{backups.as_uri()}/{pattern}")


@pytest.mark.parametrize(("pattern", "names"), PATTERNS)
def test_patterns_of_uris(pattern: str, names: list[str], backups: Path) -> None:
    """A pattern names the same in a store, and what it names can be opened."""
    mock = Mock("mock:///?region=r")
    for path in backups.rglob("__cluster_metadata-0"):
        mock.fs.create_dir(f"p/{path.relative_to(backups)}", recursive=True)
    mock.put("p/b/README")
    found = expand(f"mock:///p/{pattern}?region=r")
    expected = [f"mock:///p/{quoted(name)}/__cluster_metadata-0" for name in names]
    assert expected == [shown(uri) for uri in found]
    assert all(uri.endswith("?region=r") for uri in found)
    assert [f"p/{name}/__cluster_metadata-0" for name in names] == [
        remote_place(uri).path for uri in found
    ]
    assert found == [uri for one in found for uri in expand(one)], "they are patterns no more"


def test_archives_of_a_store_match(mock: Mock, real_directory: Fixture) -> None:
    """An archive that a pattern matches comes out by its name, and opening it says what it is."""
    mock.upload(real_directory.input, "p/node/__cluster_metadata-0")
    mock.put("p/README")
    mock.put("p/.hidden.zip")
    mock.put("p/node.tar.gz", b"\x1f\x8b" + bytes(600))
    mock.put("p/node.ZIP", b"PK\x03\x04" + bytes(600))
    found = expand("mock:///p/*")
    assert [f"mock:///p/{name}" for name in ("node", "node.ZIP", "node.tar.gz")] == found
    for uri, what in ((found[1], "a zip archive"), (found[2], "a gzip file")):
        with pytest.raises(SourceError) as caught:
            metashell.open(uri, engine="local")
        assert (f"{uri}: {what}", UNPACK_HINT) == (caught.value.message, caught.value.hint)


def test_archives_at_the_end_of_a_pattern(mock: Mock, tmp_path: Path) -> None:
    """An archive that a fixed name names comes out like one that is listed, here and in a store."""
    for name, content in (("a", b"\x1f\x8b"), ("b", b"\x1f\x8b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n.tar.gz").write_bytes(content)
        mock.put(f"p/{name}/n.tar.gz", content)
        mock.put(f"p/{name}/README")
    assert [f"{tmp_path}/{name}/n.tar.gz" for name in "ab"] == expand(f"{tmp_path}/*/n.tar.gz")
    assert [f"mock:///p/{name}/n.tar.gz" for name in "ab"] == expand("mock:///p/*/n.tar.gz")
    for place in (f"{tmp_path}/*/none.tar.gz", "mock:///p/*/none.tar.gz", "mock:///p/*/README"):
        with pytest.raises(SourceError, match="no directory matches"):
            expand(place)


def test_relative_patterns(backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative pattern gives relative paths."""
    monkeypatch.chdir(backups)
    assert ["b/c1", "b/c10"] == expand("b/c1*")


@pytest.mark.parametrize(
    "place", ["/x/y", "relative", "s3://bucket/x?region=r", "file:///x", "/x/{a}", "/x/a,b", ""]
)
def test_place_without_wildcards_is_returned(place: str) -> None:
    """What is no pattern is not looked at."""
    assert not has_glob(place)
    assert [place] == expand(place)


def test_directory_that_is_called_like_a_pattern(backups: Path) -> None:
    """What is there by that very name is meant."""
    assert [f"{backups}/b/odd[1]"] == expand(f"{backups}/b/odd[1]")


@pytest.mark.parametrize("pattern", ["b/x*", "none/*/x", "b/*/none", "b/README*", "b/README/*"])
def test_pattern_that_matches_nothing(pattern: str, backups: Path) -> None:
    """The error names the pattern."""
    with pytest.raises(SourceError, match="no directory matches") as caught:
        expand(f"{backups}/{pattern}")
    assert caught.value.message.startswith(f"{backups}/{pattern}: ")


def test_uri_pattern_that_matches_nothing_shows_no_secret(mock: Mock) -> None:
    """The pattern is named as it may be shown."""
    with pytest.raises(SourceError) as caught:
        expand(f"mock:///x/*?secret_key={TYPED}")
    assert "mock:///x/*: no directory matches" == caught.value.message


def test_only_fixed_directories_are_listed(backups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed component is gone through without a listing."""
    listed, scandir = [], os.scandir

    def counted(path: str) -> Any:
        listed.append(os.path.relpath(path, backups))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    expand(f"{backups}/b/*/__cluster_metadata-0")
    assert ["b"] == listed


def test_too_many_alternatives() -> None:
    """A pattern can't stand for a million others."""
    with pytest.raises(UsageError, match="stands for more than 1,000 patterns"):
        expand("/x/" + "{a,b}" * 40)


def test_local_places_import_no_pyarrow(backups: Path, real_directory: Fixture) -> None:
    """Looking at local places, patterns included, costs no import of pyarrow."""
    code = (
        "import sys\n"
        "from metashell.log import changed, directory\nfrom metashell.places import place\n"
        f"place.expand({str(backups)!r} + '/b/*')\n"
        f"found = directory.find_metadata_directory({str(real_directory.directory)!r})\n"
        "changed.signature(found), directory.read_directory(found)\n"
        "sys.exit('pyarrow' in sys.modules)\n"
    )
    assert (
        0 == subprocess.run([sys.executable, "-c", code], timeout=LIMIT_S, check=False).returncode
    )


# What stores say.


@pytest.mark.parametrize(
    ("scheme", "text", "message", "hint"),
    [
        ("hdfs", "Unable to load libjvm: dlopen failed", "HDFS needs Java", "JAVA_HOME"),
        ("hdfs", "Prior attempt to load libhdfs failed", "HDFS needs libhdfs", "HADOOP_HOME"),
        (
            "gs",
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of"
            " PerformWork() - CURL error [7]=Could not connect to server error_info={reason=})",
            "the store can't be reached: Could not connect to server",
            "network",
        ),
        (
            "gs",
            "google::cloud::Status(UNAVAILABLE: Could not create a OAuth2 access token to ...)",
            "no credentials for the store",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        ("gs", "google::cloud::Status(PERMISSION_DENIED: no)", "access denied", "allowed"),
        (
            "gs",
            "google::cloud::Status(NOT_FOUND: The specified bucket does not exist.)",
            "no such bucket",
            None,
        ),
        (
            "abfss",
            "Unknown error: Check for HNS failed: Failed to get token from DefaultAzureCredential.",
            "no credentials for the store",
            "az login",
        ),
        ("abfs", "Azure Error: ContainerNotFound", "no such container", None),
        ("s3", "AWS Error ACCESS_DENIED during HeadObject", "access denied", "allowed"),
        ("s3", "AWS Error EXPIRED_TOKEN during X", "refuses the credentials", "AWS_PROFILE"),
        ("s3", "AWS Error SLOW_DOWN during ListObjectsV2 operation: x", "fewer requests", "later"),
        ("s3", "AWS Error UNKNOWN (HTTP status 503) during HeadObject", "fewer requests", "later"),
        ("abfs", "Azure Error: ServerBusy", "fewer requests", "later"),
        ("gs", "google::cloud::Status(RESOURCE_EXHAUSTED: x)", "fewer requests", "later"),
        ("s3", "HTTP status 301 ...", "the bucket is in another region", "region="),
        ("s3", "AWS Error NEW (Request ID: abc): x\ny\x1b[31m", "AWS Error NEW: x y [31m", None),
        ("s3", "x" * 5000, "x" * 200 + " ...", None),
        ("s3", "", "OSError", None),
    ],
)
def test_errors_of_stores(scheme: str, text: str, message: str, hint: str | None) -> None:
    """Each is one sentence that names the place, with what to do where that is known."""
    error = explain(OSError(text), f"{scheme}://b/x", scheme, (), has_credentials=True)
    assert error.message.startswith(f"{scheme}://b/x: ")
    assert message in error.message
    assert "\n" not in error.message
    assert (hint is None) == (error.hint is None)
    assert hint is None or hint in str(error.hint)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("nothing://h/x", "nothing://h/x: `nothing` is not a known scheme"),
        ("https://h/x", "https://h/x: `https` is not a known scheme"),
        ("s3:///x", "needs a bucket"),
        ("s3://bucket/x?region=r&colour=red", "`colour` is not a setting of an S3 URI"),
        ("s3://bucket/x?region=r&access_key=a", "both an access key"),
        ("s3://bucket/x?region=r&connect_timeout=soon", "`connect_timeout` must be a number"),
    ],
)
def test_uris_that_cannot_be_opened(uri: str, message: str) -> None:
    """What is wrong with a URI is said without asking anybody."""
    with pytest.raises(SourceError) as caught:
        metashell.open(uri, engine="local")
    assert message in caught.value.message
    assert caught.value.hint or "connect_timeout" in uri


def test_endpoint_of_the_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS_ENDPOINT_URL stands for what a URI does not say."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9/")
    values: dict[str, Any] = {}
    connecting._add_endpoint(values)
    assert {"endpoint_override": "127.0.0.1:9", "scheme": "http"} == values
    values = {"endpoint_override": "https://h:1"}
    connecting._add_endpoint(values)
    assert {"endpoint_override": "h:1", "scheme": "https"} == values
