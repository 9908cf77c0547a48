"""An archive, or another file that is no log, is never taken for one."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pyarrow
import pytest

import metashell
from kraftgen.files import segment_name
from metashell.errors import SourceError
from metashell.places.archives import OPENED, UNPACK_HINT
from metashell.places.place import expand
from metashell.sources.node_places import nodes_at
from metashell.sources.opening import open_fleet
from support.logs import make_directory, topic_batch
from support.shell import run

SEGMENT = topic_batch(0, 20) + topic_batch(20, 20)


def tar_of(how: int) -> bytes:
    """A tar archive of a segment, in a format."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=how) as tar:
        info = tarfile.TarInfo(segment_name(0))
        info.size = len(SEGMENT)
        tar.addfile(info, io.BytesIO(SEGMENT))
    return out.getvalue()


def zip_of(how: int) -> bytes:
    """A zip archive of a segment."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        archive.writestr(segment_name(0), SEGMENT)
    return out.getvalue()


TAR = tar_of(tarfile.USTAR_FORMAT)
OLD_TAR = TAR[:148] + b"%06o\0 " % (
    sum(TAR[:148]) + 256 + sum(TAR[156:257]) + sum(TAR[265:512])
) + TAR[156:257] + bytes(8) + TAR[265:]  # fmt: skip
ARCHIVES = {
    "ustar": (TAR, "a tar archive"),
    "gnu": (tar_of(tarfile.GNU_FORMAT), "a tar archive"),
    "pax": (tar_of(tarfile.PAX_FORMAT), "a tar archive"),
    "old": (OLD_TAR, "a tar archive"),
    "gzip": (gzip.compress(TAR), "a gzip file"),
    "stored": (zip_of(zipfile.ZIP_STORED), "a zip archive"),
    "zip": (zip_of(zipfile.ZIP_DEFLATED), "a zip archive"),
    "xz": (lzma.compress(TAR), "an xz file"),
    "bzip2": (bz2.compress(TAR), "a bzip2 file"),
    "zstd": (pyarrow.compress(TAR, codec="zstd", asbytes=True), "a zstd file"),
    "lz4": (pyarrow.compress(TAR, codec="lz4", asbytes=True), "an lz4 file"),
}
each_archive = pytest.mark.parametrize(
    ("data", "what"), [pytest.param(*found, id=name) for name, found in ARCHIVES.items()]
)


@pytest.mark.cases(11)
@pytest.mark.parametrize("name", ["backup", "00000000000000000000.log"])
@each_archive
def test_an_archive_is_no_file_of_a_log(data: bytes, what: str, name: str, tmp_path: Path) -> None:
    """Whatever it is called."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SourceError) as refused:
        metashell.open_file(path)
    assert (f"{path}: {what}", UNPACK_HINT) == (refused.value.message, refused.value.hint)


@pytest.mark.cases(11)
@each_archive
def test_an_archive_is_opened_or_refused(data: bytes, what: str, tmp_path: Path) -> None:
    """The segment in it is the log; an archive of another format is named."""
    path = tmp_path / "backup"
    path.write_bytes(data)
    if what in OPENED:
        assert 39 == metashell.open(path).status().offset
        return
    with pytest.raises(SourceError) as refused:
        metashell.open(path)
    assert (f"{path}: {what}", UNPACK_HINT) == (refused.value.message, refused.value.hint)


def test_an_archive_in_a_fleet_is_told(tmp_path: Path) -> None:
    """It is one of the places that a pattern names: the hint says what to do."""
    (tmp_path / "a").mkdir()
    log = make_directory(tmp_path / "a", (0, SEGMENT))
    packed = tmp_path / "b.tar.xz"
    packed.write_bytes(lzma.compress(TAR))
    first, other = nodes_at([str(log), str(packed)])
    assert ((f"{packed}: an xz file: {UNPACK_HINT}",), ()) == (first.notes, other.notes)


def test_an_archive_in_a_log_is_damage(tmp_path: Path) -> None:
    """A segment that somebody packed: nothing of what is in it counts."""
    directory = make_directory(tmp_path, (0, SEGMENT), (40, TAR))
    log = metashell.open(directory, engine="local").log
    assert ["a tar archive, which is not read"] == [fault.reason for fault in log.faults]
    assert 39 == max(file.chain.last_offset for file in log.loaded.files)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (bytes(4096), "it is empty"),
        (b"root:x:0:0:root:/root:/bin/bash\n" * 9, "no record batch"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(250)), "no record batch"),
        (b"\x7fELF" + bytes(range(250)) + SEGMENT, "does not begin with a record batch"),
    ],
)
def test_what_is_no_log_is_refused(data: bytes, reason: str, tmp_path: Path) -> None:
    """Also where a batch lies somewhere in it."""
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=reason):
        metashell.open_file(path)


def test_a_damaged_segment_is_read_by_its_name(tmp_path: Path) -> None:
    """What is sound behind a damaged beginning is what an operator has left."""
    path = tmp_path / segment_name(0)
    path.write_bytes(bytes(range(1, 90)) + SEGMENT)
    assert 39 == metashell.open_file(path).status().offset


def test_a_fleet_says_which_backups_are_packed(tmp_path: Path) -> None:
    """A pattern finds archives too; one that can't be opened has its row. Others are left out."""
    (tmp_path / "n1").mkdir()
    make_directory(tmp_path / "n1", (0, SEGMENT))
    (tmp_path / "n2.tar.gz").write_bytes(gzip.compress(TAR))
    (tmp_path / "n3.tar.gz").write_bytes(gzip.compress(SEGMENT))
    (tmp_path / "n4.tar.xz").write_bytes(lzma.compress(TAR))
    (tmp_path / "notes.txt").write_text("n2 was packed")
    packed = [f"{tmp_path}/{name}" for name in ("n2.tar.gz", "n3.tar.gz", "n4.tar.xz")]
    assert [f"{tmp_path}/n1", *packed] == expand(f"{tmp_path}/*")
    fleet = open_fleet(expand(f"{tmp_path}/*"))
    ran = run(fleet.root, "fleet -o csv --columns directory,error", source=fleet)
    assert 1 == ran.status
    assert [
        f"{tmp_path}/n1,",
        f"{packed[0]},",
        f"{packed[1]},{packed[1]}: a gzip file that holds no tar archive",
        f"{packed[2]},{packed[2]}: an xz file",
    ] == ran.out.splitlines()[1:]
