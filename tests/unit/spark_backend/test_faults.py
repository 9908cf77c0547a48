"""What is wrong with a log, told by who has only what other processes sent of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import metashell
from kraftgen.batch import Damage, Record, encode_batch
from metashell.errors import ExitCode
from metashell.fs.node import FixedDirectory
from metashell.image.arrow import image_table
from metashell.image.image import Image
from metashell.log.fault import FaultKind
from metashell.read_settings import ReadSettings
from metashell.redact import Redaction
from metashell.sources.reduced import source_of
from support.fixtures import METADATA_DIRECTORY, copy_of
from support.in_parts import InParts, folded, groups, make_job, pieces_of, reduced
from support.kraft import read
from support.logs import make_directory, record, topic_record
from support.marked import MARK, marked_directory
from support.shell import run


@pytest.mark.parametrize("n_parts", [0, 1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_same_words_and_order(tmp_path: Path, n_parts: int, seed: int) -> None:
    """The faults are those of who reads the files, whoever reduced which part of them."""
    directory = marked_directory(tmp_path)
    local = metashell.open(directory)
    expected = [str(fault) for fault in local.all_faults()]
    rng = Random(seed)
    job = make_job(directory, 1, n_parts)
    pieces = pieces_of([job], rng)
    assert MARK not in b"".join(data or b"" for data in pieces["facts"].to_pylist())
    for sent in (pieces, reduced([job], pieces, rng)):
        log = folded(job, sent)
        source = source_of(log, ReadSettings(), str(directory))
        assert expected == [str(fault) for fault in source.all_faults()]
        assert list(local.warnings) == list(source.warnings)
        tables = (*log.closed, *log.active)
        values = [value for table in tables for value in table["value"].to_pylist()]
        assert not [value for value in values if MARK in value]


def in_table(directory: Path, **options: bool) -> list[tuple[str, str, str, int, int]]:
    """The rows of the table `faults` of the data source, in its order."""
    names = ("kind", "reason", "file", "pos", "offset")
    rows = read("faults", directory, **options).to_pylist()
    return [tuple(row[name] for name in names) for row in rows]


def test_table_has_the_same_words_and_order(tmp_path: Path) -> None:
    """The table `faults` begins with what the local engine tells, as it tells it."""
    pytest.importorskip("pyspark")
    directory = marked_directory(tmp_path)
    faults = metashell.open(directory).all_faults()
    expected = [(str(f.kind), f.reason, f.file, f.pos, f.offset) for f in faults]
    assert len(expected) > 20
    assert expected == in_table(directory)


def test_table_tells_of_files_that_are_not_replayed(tmp_path: Path) -> None:
    """What stands in older files, or before the checkpoint's end, follows behind; nothing twice."""
    pytest.importorskip("pyspark")
    directory = copy_of("quota-defaults", tmp_path) / METADATA_DIRECTORY
    for path in (min(directory.glob("*.log")), max(directory.glob("*.log"))):
        data = bytearray(path.read_bytes())
        data[66] ^= 1
        path.write_bytes(data)
    faults = metashell.open(directory).all_faults()
    expected = [(str(f.kind), f.reason, f.file, f.pos, f.offset) for f in faults]
    found = in_table(directory)
    assert expected == found[: len(expected)]
    assert {min(path.name for path in directory.glob("*.log"))} == {
        row[2] for row in found[len(expected) :]
    }
    assert len(found) == len(set(found))


@pytest.mark.parametrize("options", [{"strict": True}, {"at": 0}], ids=str)
def test_table_tells_of_the_replay_that_is_asked_for(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    """A replay that ends early has fewer faults than the files: what is behind is not replayed."""
    pytest.importorskip("pyspark")
    change = record("PartitionChangeRecord", partition_id=0, topic_id=bytes([9]) * 16, leader=1)
    damages = (Damage(), Damage(crc_xor=1), Damage())
    batches = [
        encode_batch([change], base_offset=i, damage=damage) for i, damage in enumerate(damages)
    ]
    rows = in_table(make_directory(tmp_path, (0, b"".join(batches))), **options)
    assert [0] == [offset for kind, _, _, _, offset in rows if kind == FaultKind.REPLAY]


def test_faults_without_the_directory_end(tmp_path: Path) -> None:
    """Where nobody can look into the files again, the faults that are known are told."""
    directory = marked_directory(tmp_path, odd=True)
    log = folded(make_job(directory, 1, 0), pieces_of([make_job(directory, 1, 0)], Random(1)))
    source = source_of(log, ReadSettings(), str(directory))
    assert source.all_faults()
    assert log.records.merges_at_fault


@pytest.mark.slow
@pytest.mark.parametrize("file", ["quorum-state", "leader-epoch-checkpoint"])
def test_find_goes_on(file: str, tmp_path: Path) -> None:
    """A node that can't be looked at is told of, the rest is printed, whichever part has it."""
    directory = copy_of("quota-defaults", tmp_path) / METADATA_DIRECTORY
    (directory / file).write_text("{")
    rng = Random(1)
    parts = [InParts([make_job(directory, 1, n)], rng) for n in (0, 3)]
    for line in (
        "find /",
        "find / -type f",
        "find /quorum/* /image/topics/by*",
        "find --encode /quorum/{quorum-state,epochs} /nowhere",
        "find /quorum/quorum-state/leaderId",
    ):
        source = metashell.open(directory)
        local = run(source.root, line, source=source)
        for in_parts in parts:
            found = run(source.root, line, source=in_parts)  # type: ignore[arg-type]
            assert (local.status, local.out) == (found.status, found.out), line
            assert sorted(set(local.err)) == sorted(found.err), line
        assert (ExitCode.FAILED, True) == (local.status, bool(local.err)) or "Id" in line


def test_find_goes_on_in_a_fleet(tmp_path: Path) -> None:
    """It is told whose node it is; the others are searched, and so is the rest of that one."""
    for name in ("a", "b"):
        copy_of("quota-defaults", tmp_path / name)
    places = [tmp_path / name / "quota-defaults" / METADATA_DIRECTORY for name in "ab"]
    (places[0] / "quorum-state").write_text("{")
    jobs = [make_job(place, 1, n) for n, place in enumerate(places)]
    source = InParts(jobs, Random(1), ["a", "b"])
    ran = run(FixedDirectory({}), "find /", source=source)  # type: ignore[arg-type]
    assert ExitCode.FAILED == ran.status
    (told,) = ran.err
    assert told.startswith("find: /clusters/a/quorum/quorum-state: ")
    assert {} == source.failures
    for line in ("/clusters/a/image/features", "/clusters/b/quorum/quorum-state/leaderId"):
        assert f"{line}\n" in ran.out


def lying_directory(parent: Path) -> Path:
    """Batches of sound CRCs whose records repeat an offset, or go back."""
    values = [topic_record(i) for i in range(40)]
    removed = [record("RemoveTopicRecord", topic_id=i.to_bytes(16, "big")) for i in range(40)]
    again = [topic_record(i) for i in range(100, 104)]
    lies = [
        # Removed before it is made, by its offset: replay goes by the place.
        [Record(value=values[3], offset_delta=1), Record(value=removed[3], offset_delta=0)],
        [Record(value=values[4], offset_delta=1), Record(value=removed[4], offset_delta=1)],
        [Record(value=again[0], offset_delta=1), Record(value=again[0], offset_delta=1)],
        [Record(value=removed[9], offset_delta=2), Record(value=values[9], offset_delta=1)],
    ]
    data = bytearray()
    for i, lie in enumerate(lies):
        for part in (lie, [Record(value=again[1 + i % 3]), Record(value=values[20 + i])]):
            base = 3 * n_batches(data)
            damage = Damage(last_offset_delta=2)
            data += encode_batch(part, base_offset=base, damage=damage)
    return make_directory(parent, (0, bytes(data)))


def n_batches(data: bytes) -> int:
    """How many batches there are."""
    found = at = 0
    while at < len(data):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        found += 1
    return found


@pytest.mark.parametrize("size", [1, 200, 1 << 20])
def test_offsets_that_repeat_or_go_back(tmp_path: Path, size: int) -> None:
    """Records are replayed as they stand in the file, and none is lost, however it is cut."""
    directory = lying_directory(tmp_path)
    local = metashell.open(directory)
    expected = [str(fault) for fault in local.all_faults()]
    assert expected
    rng = Random(1)
    for merges in (True, False):
        job = make_job(directory, size, 0)
        job = replace(job, how=replace(job.how, merges=merges))
        pieces = pieces_of([job], rng)
        for sent in (pieces, reduced([job], pieces, rng)):
            log = folded(job, sent)
            found = source_of(log, ReadSettings(), str(directory))
            if not merges:
                assert expected == [str(fault) for fault in found.all_faults()]
            assert local.table("topics").to_pylist() == found.table("topics").to_pylist()


@pytest.mark.parametrize("merges", [True, False])
@pytest.mark.parametrize("n_parts", [1, 4])
def test_offsets_that_repeat_in_parts(tmp_path: Path, n_parts: int, merges: bool) -> None:
    """Each part has its own records as they stand, and of all together none is lost."""
    directory = lying_directory(tmp_path)
    local = metashell.open(directory)
    rng, names = Random(1), []
    job = make_job(directory, 1, n_parts)
    job = replace(job, how=replace(job.how, merges=merges))
    pieces = pieces_of([job], rng)
    for (part,), own in groups(pieces, "part"):
        if part:
            rows = image_table("topics", Image(folded(job, own).records), Redaction())
            names += rows["topic"].to_pylist()
    assert sorted(local.table("topics")["topic"].to_pylist()) == sorted(names)
    alone = folded(make_job(directory, 1, 0), pieces_of([make_job(directory, 1, 0)], rng))
    assert len(folded(job, pieces).records.frames) >= len(alone.records.frames)
