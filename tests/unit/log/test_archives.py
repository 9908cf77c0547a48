"""An archive, or another file that is no log, is refused: nothing in it is answered from."""

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
from metashell.places.archives import UNPACK_HINT
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
def test_an_archive_is_refused(data: bytes, what: str, name: str, tmp_path: Path) -> None:
    """Whatever it is called, and however it is opened."""
    path = tmp_path / name
    path.write_bytes(data)
    for open_it in (metashell.open_file, metashell.open):
        with pytest.raises(SourceError) as refused:
            open_it(path)
        assert f"{path}: {what}" == refused.value.message
        assert UNPACK_HINT == refused.value.hint
    assert "directory with -d" in UNPACK_HINT
    assert "file alone with -s" in UNPACK_HINT


def test_an_archive_in_a_fleet_is_told(tmp_path: Path) -> None:
    """It is one of the places that a pattern names: the hint says what to do."""
    (tmp_path / "a").mkdir()
    log = make_directory(tmp_path / "a", (0, SEGMENT))
    packed = tmp_path / "b.tar"
    packed.write_bytes(TAR)
    first, other = nodes_at([str(log), str(packed)])
    assert ((f"{packed}: a tar archive: {UNPACK_HINT}",), ()) == (first.notes, other.notes)


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
    """A pattern finds archives too, which can't be read; it leaves other files out."""
    (tmp_path / "n1").mkdir()
    make_directory(tmp_path / "n1", (0, SEGMENT))
    (tmp_path / "n2.tar.gz").write_bytes(gzip.compress(TAR))
    (tmp_path / "notes.txt").write_text("n2 was packed")
    packed = f"{tmp_path}/n2.tar.gz"
    assert [f"{tmp_path}/n1", packed] == expand(f"{tmp_path}/*")
    fleet = open_fleet(expand(f"{tmp_path}/*"))
    ran = run(fleet.root, "fleet -o csv --columns directory,error", source=fleet)
    assert 1 == ran.status
    assert [f"{tmp_path}/n1,", f"{packed},{packed}: a gzip file"] == ran.out.splitlines()[1:]
