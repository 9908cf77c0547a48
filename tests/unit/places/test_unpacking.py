"""Archives in memory: sound ones are trees, hostile ones end in an error that names the member."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pyarrow
import pytest

from metashell.errors import SourceError
from metashell.places import unpacking
from metashell.places.archives import archive_or_self
from metashell.places.place import entries_in, place_of
from metashell.places.remote import RemoteFile, RemotePlace
from support.packed import rewritten, sparse, special, tar_of, zip_of

MIB = 1 << 20


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test's archives count."""
    monkeypatch.setattr(unpacking, "_held", {})
    monkeypatch.setattr(unpacking, "_archives", {})


def root_of(data: bytes, directory: Path, name: str = "a.tar") -> RemotePlace:
    """The root of an archive that is written to a file."""
    path = directory / name
    path.write_bytes(data)
    root = place_of(archive_or_self(str(path)))
    assert isinstance(root, RemotePlace)
    return root


def content(root: RemotePlace, *names: str) -> bytes:
    """The content of a file in an archive."""
    place: RemotePlace = root
    for name in names:
        place = place.child(name)
    with RemoteFile(place).opened() as file:
        return file.read(0, file.size)


def refused(data: bytes, directory: Path) -> str:
    """The error of an archive, without the directory that it lies in."""
    with pytest.raises(SourceError) as caught:
        entries_in(root_of(data, directory))
    return caught.value.message.removeprefix(f"{directory}/")


FILES = {"node/one": b"1" * 700, "node/inner/two": b"22", "three": b""}
TAR = tar_of(*FILES.items())


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "data",
    [
        TAR,
        gzip.compress(TAR),
        pyarrow.compress(TAR, codec="zstd", asbytes=True),
        zip_of(FILES),
        zip_of(FILES, zipfile.ZIP_STORED),
        gzip.compress(TAR[:1000]) + gzip.compress(TAR[1000:]),
    ],
    ids=["tar", "gzip", "zstd", "zip", "stored", "gzip in pieces"],
)
def test_members_are_a_tree(data: bytes, tmp_path: Path) -> None:
    """Directories are those of the names, whether they are members or not."""
    root = root_of(data, tmp_path)
    assert [("node", True, 2), ("three", False, 0)] == [
        (entry.name, entry.is_directory, entry.size) for entry in entries_in(root)
    ]
    assert ["one", "inner"] == [entry.name for entry in entries_in(root.child("node"))]
    assert (b"1" * 700, b"22") == (
        content(root, "node", "one"),
        content(root, "node", "inner", "two"),
    )
    assert root.child("node").is_directory()
    assert root.child("three").is_file()
    assert root.child("four").is_missing()
    assert f"{tmp_path}/a.tar/node/inner" == str(root.child("node").child("inner"))
    assert "a.tar" == root.name
    assert root.child("node") == place_of(root.child("node").uri)


def test_names_need_not_be_utf8(tmp_path: Path) -> None:
    """Nor printable; each is what opens its file again."""
    names = ["caf\udce9", "a b", "50%", "q?x=1", "[x]", "\x1b[2J", "ö"]
    root = root_of(tar_of(*((name, name.encode(errors="replace")) for name in names)), tmp_path)
    assert names == [entry.name for entry in entries_in(root)]
    for name in names:
        again = place_of(root.child(name).uri)
        assert root.child(name) == again
        assert name.encode(errors="replace") == content(root, name)


def test_the_last_of_two_members_counts(tmp_path: Path) -> None:
    """The rule of tar."""
    twice = [("log", b"old"), ("./log", b"new")]
    assert b"new" == content(root_of(tar_of(*twice), tmp_path), "log")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("log", b"old")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("log", b"new")
    assert b"new" == content(root_of(out.getvalue(), tmp_path, "a.zip"), "log")


@pytest.mark.parametrize("name", ["../etc/passwd", "a/../../b", "/etc/passwd", "a/.."])
def test_names_outside_of_it_are_refused(name: str, tmp_path: Path) -> None:
    """In tar and zip."""
    for data in (tar_of((name, b"x")), zip_of({name: b"x"})):
        assert f"a.tar: {name}: names no place in the archive" == refused(data, tmp_path)


def test_links(tmp_path: Path) -> None:
    """A hard link to a file before it is that file; any other can't be read, and hurts nobody."""
    root = root_of(
        tar_of(
            ("log/real", b"real"),
            special("log/hard", tarfile.LNKTYPE, "./log/real"),
            special("soft", tarfile.SYMTYPE, "log/real"),
            special("out", tarfile.SYMTYPE, "/etc/passwd"),
            special("up", tarfile.LNKTYPE, "../x"),
            special("directory", tarfile.LNKTYPE, "log"),
        ),
        tmp_path,
    )
    assert b"real" == content(root, "log", "hard")
    for name, reason in {
        "soft": "a link to log/real, which is not followed",
        "out": "a link to /etc/passwd, which is not followed",
        "up": "a link to ../x, which is no file of the archive",
        "directory": "a link to log, which is no file of the archive",
    }.items():
        for ask in (lambda name=name: content(root, name), root.child(name).list):
            with pytest.raises(SourceError) as caught:
                ask()
            assert f"{tmp_path}/a.tar: {name}: {reason}" == caught.value.message


@pytest.mark.parametrize(
    "kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"Z"], ids=["c", "b", "fifo", "Z"]
)
def test_devices_are_not_read(kind: bytes, tmp_path: Path) -> None:
    """They are listed, and reading one says what it is."""
    root = root_of(tar_of(special("dev", kind), ("log", b"x")), tmp_path)
    assert b"x" == content(root, "log")
    with pytest.raises(SourceError, match=r"a\.tar: dev: not a regular file"):
        content(root, "dev")


def test_a_name_is_a_file_or_a_directory(tmp_path: Path) -> None:
    """The last member counts here too."""
    assert b"x" == content(root_of(tar_of(("a", b""), ("a/b", b"x")), tmp_path), "a", "b")
    assert b"x" == content(root_of(tar_of(("a/b", b""), ("a", b"x")), tmp_path, "b.tar"), "a")


@pytest.mark.parametrize(
    ("n_bytes", "told"),
    [
        (700, "node/one: damaged or cut off: the archive ends inside of it"),
        (2100, "node/inner/two: damaged or cut off: unexpected end of data"),
        (2560, "node/inner/two: damaged or cut off: no end follows this member"),
        (3000, "node/inner/two: damaged or cut off: no header follows this member"),
        (3072, "three: damaged or cut off: no end follows this member"),
    ],
)
def test_an_archive_that_was_cut(n_bytes: int, told: str, tmp_path: Path) -> None:
    """Wherever that was, also behind a whole member: nothing is answered from a part of it."""
    assert f"a.tar: {told}" == refused(TAR[:n_bytes], tmp_path)


@pytest.mark.parametrize("packed", ["tar", "gzip", "zstd", "zip"])
def test_every_cut_is_told(packed: str, tmp_path: Path) -> None:
    """No cut is taken for a whole archive, and each error is one of ours."""
    tar = tar_of(("a", b"1" * 600), ("b", b"2"))
    data = {
        "tar": tar[:2560],
        "gzip": gzip.compress(tar),
        "zstd": pyarrow.compress(tar, codec="zstd", asbytes=True),
        "zip": zip_of({"a": b"1" * 600, "b": b"2"}),
    }[packed]
    for size in range(4 if packed != "tar" else 512, len(data), 1 if packed != "tar" else 101):
        path = tmp_path / "cut"
        path.write_bytes(data[:size])
        with pytest.raises(SourceError):
            unpacking.unpacked(str(path))


@pytest.mark.parametrize("packed", ["tar", "gzip", "zip"])
def test_damage_ends_in_an_error_of_ours(packed: str, tmp_path: Path) -> None:
    """Or in no error: a byte of a file's content is not ours to judge."""
    data = {"tar": TAR, "gzip": gzip.compress(TAR), "zip": zip_of(FILES)}[packed]
    for at in range(0, min(len(data), 3100), 3):
        path = tmp_path / "damaged"
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :])
        with suppress(SourceError):
            unpacking.unpacked(str(path))


@pytest.mark.parametrize(
    "size", [b"-1", b"\x80" + bytes(2) + b"\x7f" + bytes(8), b"\xff" * 11 + b"\0"]
)
def test_sizes_that_lie(size: bytes, tmp_path: Path) -> None:
    """A negative size leads back to the same header for ever, a large one over the end."""
    told = refused(rewritten(TAR, size=size), tmp_path)
    assert told.startswith("a.tar: "), told
    assert "damaged or cut off" in told, told


@pytest.mark.parametrize(
    "header",
    [
        {"size": "-1024"},
        {"comment": "1" * 200},
        {f"k{i}": "v" for i in range(9000)},
    ],
    ids=["negative", "digits", "large"],
)
def test_extended_headers_that_lie(header: dict[str, str], tmp_path: Path) -> None:
    """Negative sizes, numbers without end, and headers that are large."""
    info = tarfile.TarInfo("log")
    info.pax_headers = header
    assert "damaged or cut off: a header" in refused(tar_of(info), tmp_path)


def test_global_headers_are_few(tmp_path: Path) -> None:
    """Each member gets a copy of them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", pax_headers={f"k{i}": "v" for i in range(100)}) as tar:
        tar.addfile(tarfile.TarInfo("log"))
    assert "a.tar: log: damaged or cut off: a header" in refused(out.getvalue(), tmp_path)


def test_headers_of_headers_end(tmp_path: Path) -> None:
    """A chain of long names, each of which is the header of the next."""
    name = rewritten(tar_of(("x", b"y"))[:1024], name=b"././@LongLink", kind=b"L")
    assert "damaged or cut off" in refused(name * 3000 + TAR, tmp_path)


def test_sparse_files(tmp_path: Path) -> None:
    """Holes are zeros; a map that makes no sense is refused, and ends."""
    root = root_of(sparse("index", b"ab", "2\n3\n1\n9\n1\n", 12), tmp_path)
    assert b"\0\0\0a\0\0\0\0\0b\0\0" == content(root, "index")
    for holes in ("1\n-5\n1\n", "1\n0\n-1\n", "1\n11\n9\n", "1\n0\n600\n", "9\n1\n", "x\n"):
        told = refused(sparse("index", b"ab", holes, 12), tmp_path)
        assert "damaged or cut off" in told, (holes, told)


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: gzip.compress(tar_of(("log", bytes(9 * MIB)))), "a.tar"),
        (lambda: gzip.compress(bytes(90 * MIB)), "a.tar"),
        (lambda: pyarrow.compress(bytes(90 * MIB), codec="zstd", asbytes=True), "a.tar"),
        (lambda: zip_of({"log": bytes(90 * MIB)}), "a.tar: log"),
        (lambda: zip_of({f"log{i}": bytes(MIB) for i in range(9)}), "a.tar: log2"),
        (lambda: sparse("index", b"", "1\n0\n0\n", 1 << 50), "a.tar: index"),
    ],
    ids=["gzip", "zeros", "zstd", "zip", "many", "sparse"],
)
def test_bombs(make: object, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds while bytes are inflated: no more of them are in memory."""
    monkeypatch.setattr(unpacking, "LIMIT_BYTES", 2 * MIB)
    assert callable(make)
    root = root_of(make(), tmp_path)
    tracemalloc.start()
    with pytest.raises(SourceError) as caught:
        entries_in(root)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert f"{tmp_path}/{where}: more than 2 MiB, the limit for archives" == caught.value.message
    assert "unpack it" in str(caught.value.hint)
    assert peak < 12 * MIB


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to do."""
    monkeypatch.setattr(unpacking, "LIMIT_BYTES", MIB)
    root = root_of(tar_of(("log", bytes(MIB))), tmp_path)
    with pytest.raises(SourceError, match=r"a\.tar: larger than 1,048,576 bytes") as caught:
        entries_in(root)
    assert "unpack it" in str(caught.value.hint)


def test_a_failure_is_told_again_without_reading(tmp_path: Path) -> None:
    """Each look at a fleet's member asks; the file is read anew once it was replaced."""
    root = root_of(TAR[:700], tmp_path)
    told = [refused_again(root) for _ in range(2)]
    assert told[0] is told[1]
    root_of(TAR, tmp_path)
    assert b"22" == content(root, "node", "inner", "two")


def refused_again(root: RemotePlace) -> SourceError:
    """The error of a root."""
    with pytest.raises(SourceError) as caught:
        entries_in(root)
    return caught.value


def test_the_bound_is_for_all_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that failed counts no more."""
    monkeypatch.setattr(unpacking, "LIMIT_BYTES", 2 * MIB)
    first = root_of(tar_of(("log", bytes(MIB))), tmp_path, "1.tar")
    second = root_of(tar_of(("log", bytes(MIB))), tmp_path, "2.tar")
    third = root_of(tar_of(("log", bytes(9))), tmp_path, "3.tar")
    assert MIB == len(content(first, "log"))
    with pytest.raises(SourceError, match="2 MiB, with the archives before it, the limit"):
        entries_in(second)
    assert 9 == len(content(third, "log"))


def test_names_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And directories that no member is."""
    monkeypatch.setattr(unpacking, "_NODES_MAX", 9)
    assert "a.tar: more than 9 files" == refused(tar_of(("/".join("abcdefghij"), b"")), tmp_path)
    deep = "/".join("a" * 99)
    assert f"a.tar: {deep}: names no place in the archive" == refused(tar_of((deep, b"")), tmp_path)


def test_a_zip_archive_with_a_large_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before any of it is read."""
    monkeypatch.setattr(unpacking, "_DIRECTORY_BYTES", 400)
    data = zip_of({f"log{i}": b"" for i in range(9)})
    assert "damaged or cut off: a header of 450 bytes" in refused(data, tmp_path)


def test_members_of_zip_that_are_not_read(tmp_path: Path) -> None:
    """Links can't be read; encrypted members, and such as inflate without bound, end it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("log", b"x")
    root = root_of(out.getvalue(), tmp_path, "a.zip")
    assert b"x" == content(root, "log")
    with pytest.raises(SourceError, match=r"a\.zip: link: a link, which is not followed"):
        content(root, "link")
    data = bytearray(out.getvalue())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    others = [zip_of({"log": b"x" * 99}, how) for how in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)]
    for method, zipped in zip((0, 12, 14), (bytes(data), *others), strict=True):
        reason = f"encrypted, or packed by method {method}"
        assert f"a.tar: log: damaged or cut off: {reason}" == refused(zipped, tmp_path)


def test_an_archive_in_an_archive_is_a_file(tmp_path: Path) -> None:
    """It is named, and not opened."""
    root = root_of(tar_of(("inner.tar", TAR)), tmp_path)
    assert TAR == content(root, "inner.tar")
    with pytest.raises(SourceError, match=r"a\.tar/inner\.tar: a tar archive"):
        entries_in(root.child("inner.tar"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "the archive is empty"),
        (tar_of(), "the archive is empty"),
        (zip_of({}), "the archive is empty"),
        (gzip.compress(b""), "a gzip file that holds no tar archive"),
        (gzip.compress(zip_of(FILES)), "a gzip file that holds a zip archive"),
    ],
    ids=["nothing", "tar", "zip", "gzip", "zip in gzip"],
)
def test_archives_without_files(data: bytes, told: str, tmp_path: Path) -> None:
    """An empty tar archive is all zeros: its name tells that it is one."""
    assert f"a.tar: {told}" == refused(data, tmp_path)


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    """And one that is gone stays as it was read."""
    root = root_of(tar_of(("log", b"old")), tmp_path)
    assert b"old" == content(root, "log")
    root_of(tar_of(("log", b"newer")), tmp_path)
    assert b"newer" == content(root, "log")
    (tmp_path / "a.tar").unlink()
    assert b"newer" == content(root, "log")


def test_files_that_vanish_or_can_not_be_read(tmp_path: Path) -> None:
    """The error is that of the file; nothing is an archive by its name alone."""
    root = root_of(TAR, tmp_path)
    (tmp_path / "a.tar").unlink()
    with pytest.raises(SourceError, match=r"a\.tar: No such file or directory"):
        entries_in(root)
    os.mkfifo(tmp_path / "a.tar")
    assert f"{tmp_path}/a.tar" == archive_or_self(f"{tmp_path}/a.tar")
    (tmp_path / "b.tar").symlink_to("b.tar")
    assert f"{tmp_path}/b.tar" == archive_or_self(f"{tmp_path}/b.tar")
