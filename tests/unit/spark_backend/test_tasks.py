"""What runs in executors, run here: splits reduced, parts folded and searched, put together."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import metashell
from metashell.errors import SourceError
from metashell.image.arrow import image_table, table_names
from metashell.image.image import Image
from metashell.read_settings import ReadSettings
from metashell.redact import Redaction
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.spark_backend.tasks import Failure, FoldJob, log_of, log_or_whole
from support.fixtures import copy_of, differing_directories, fixture
from support.fleets import backups
from support.in_parts import InParts, folded, groups, make_job, of_job, pieces_of, reduced
from support.reduced import assert_same_image
from support.seeds import seeds
from support.shell import Ran, run

DIRECTORIES = differing_directories()
ALL_WORDS = ("all-records-findable-dir", "real-44-trimmed")
SIZES = (700, 5_000, 1 << 20)
HIDDEN = Redaction()


@cache
def opened(name: str) -> Source:
    """A fixture's source, made once."""
    return metashell.open(fixture(name).input)


def drawn_job(name: str, rng: Random) -> FoldJob:
    """A fixture cut at random, for a random number of parts."""
    return make_job(fixture(name).input, rng.choice(SIZES), rng.choice((0, 1, 2, 5)))


def faults_of(faults: object) -> list[str]:
    """Faults but those of records, which come with the fold."""
    return sorted(str(f) for f in faults)  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("name", DIRECTORIES)
def test_put_together_it_is_the_local_image(name: str, seed: int) -> None:
    """However it is cut, spread over parts and reduced again, in whatever order pieces come."""
    rng, source = Random(f"{name} {seed}"), opened(name)
    job = pickle.loads(pickle.dumps(drawn_job(name, rng)))
    pieces = pieces_of([job], rng)
    for these in (pieces, reduced([job], pieces, rng)):
        log = folded(job, these)
        image = Image(log.records)
        assert_same_image(image, source.image, HIDDEN, faults=not log.records.merges_at_fault)
        assert faults_of(source.log.faults) == faults_of(log.faults)
        facts = [(f.name, f.size, f.first_offset, f.last_offset, f.n_batches) for f in log.files]
        loaded = source.log.loaded
        assert facts == [
            (f.name, f.size, f.chain.first_offset, f.chain.last_offset, f.chain.n_batches)
            for f in loaded.files
        ]
        latest = [facts.latest_timestamp_ms for facts in log.files]
        assert latest == [loaded.latest_timestamp_ms(file) for file in loaded.files]


@pytest.mark.parametrize("name", DIRECTORIES)
def test_parts_folded_apart_are_the_local_tables(name: str) -> None:
    """Rows of partitions and topics come from their parts, all others from part 0."""
    rng, source = Random(name), opened(name)
    job = make_job(fixture(name).input, rng.choice(SIZES), 3)
    images = {}
    for (part,), pieces in groups(pieces_of([job], rng), "part"):
        images[part] = Image(folded(job, pieces).records)
    for table in table_names():
        expected = image_table(table, source.image, HIDDEN)
        in_parts = table in ("partitions", "topics")
        chosen = [image for part, image in images.items() if (part != 0) == in_parts]
        own = [image_table(table, image, HIDDEN) for image in chosen]
        found = pa.concat_tables([expected.slice(0, 0), *own])
        assert sorted(map(repr, expected.to_pylist())) == sorted(map(repr, found.to_pylist())), (
            table
        )


def test_secrets_are_not_in_the_pieces_unless_asked_for() -> None:
    """Pieces go over the network and to disks of executors."""
    place = fixture("real-44-live").input
    shown = metashell.open(place, show_secrets=True).table("scram_credentials").to_pylist()
    secrets = {
        value
        for row in shown
        for key, value in row.items()
        if key in ("salt", "stored_key", "server_key")
    }
    assert secrets
    assert all(isinstance(secret, bytes) for secret in secrets)
    for show in (False, True):
        job = make_job(place, 5_000, 2, ReadSettings(show_secrets=show))
        rng = Random(1)
        pieces = pieces_of([job], rng)
        for these in (pieces, reduced([job], pieces, rng)):
            log = folded(job, these)
            values = bytes(log.records.frames.arena.slice(0, log.records.frames.arena.size))
            assert [show] * len(secrets) == [secret in values for secret in secrets]


# Search.

TOPICS = "/image/topics"
WORDS = (
    "/",
    "",
    "/ -print0",
    "/ -type d",
    "/ -type f -name '*0*'",
    "--encode /",
    "--encode /image/topics -type d",
    "/ -name 0",
    "/ -iname '*TOPIC*'",
    "/ -path '*topic*'",
    "/ -path '/image/topics/byName/*'",
    "/ -ipath '*/BYNAME/*/0'",
    "/ -regex '.*/byId/.*/name'",
    "/ -regex '.*e.*' ! -path '/image/*'",
    "/image -maxdepth 1",
    "/image -mindepth 3 -maxdepth 4",
    "/ -mindepth 5",
    "/ -maxdepth 0",
    "/image/topics -maxdepth 2",
    "/ -name topics -prune -o -print",
    "/ -name byName -prune -o -type f -print",
    "/ -path '/image/topics/by*/*' -prune -o -print",
    "/ -path '/image/topics/by*/*' -prune",
    "/ -name id -print -quit",
    "/ -name 0 -print -quit",
    "/ -quit",
    "/ -name byName -quit -o -print",
    "/ -type f -path '*/byName/*' -print -quit",
    "/nowhere / -maxdepth 1 -print -quit",
    "/image/acls /nowhere /image/topics/byName -maxdepth 1",
    "/nowhere",
    "/image/topics/byName/nothing*",
    "/image/topics/by* -maxdepth 1",
    "/image/topics/byName/*",
    "/image/topics/byName/* -type f",
    "/image/topics/byName/*/0 /image/topics/byId/*/name",
    "/image/topics/*/* -maxdepth 0",
    "'/image/topics/byName/*'",
    "/*/* -maxdepth 0",
    "/log /quorum /local /bootstrap",
    "/log/faults /quorum/epochs",
    "/ / -name version",
    "//image///cluster/./",
    "/image/.. -maxdepth 1",
    "/image/topics/byName/../byId -maxdepth 1",
    "/image/topics/byName/*/.. -maxdepth 1",
    "/ -name version -print -print0 -o -name id -print0",
    "/ ( -type d -name 'b*' -o -name leader ) -print",
    "/ -false -o -name name",
    "/image/provenance -print",
    "/image/provenance/",
    "/ -count",
    "/ -name 0 -count -print",
    "/image/topics /image/cluster -type d -count",
    "/ -name byName -prune -count -o -name '*0*' -count",
    "/ -name 0 -count -quit",
    "/ -printf '%p %P %H %f %h %d %y\\n'",
    "/image/topics/by* -maxdepth 2 -printf '%d-%f%%'",
)
RELATIVE = (
    ("/image", ". -maxdepth 1"),
    ("/image", "topics -maxdepth 2"),
    ("/image/topics", "-maxdepth 1"),
    ("/image/topics", "byName byId -maxdepth 1 -type d"),
    ("/image/topics", "by*/* -name 0"),
    ("/image/topics/byName", ".. -maxdepth 1"),
    ("/image/topics/byName", ""),
    ("/image/topics/byName", ". -type f -print -quit"),
    ("/log", "faults ./ -type f"),
)


def compared(local: Ran, found: Ran, line: str) -> None:
    """Output and status are the same; so are the starts told of, at the end and in fewer words."""
    assert local.out == found.out, line
    assert (local.status, told(local)) == (found.status, told(found)), line


def told(ran: Ran) -> list[str]:
    """The starts that a search complains of; hints aside, for which a cluster is opened here."""
    lines = (line for line in ran.err if not line.startswith("  hint: "))
    return sorted(line.rpartition(": ")[0] for line in lines)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ALL_WORDS else name
        for name in DIRECTORIES
    ],
)
def test_find_prints_what_the_local_one_prints(name: str) -> None:
    """Every kind of test, action, start and depth, on a directory in parts."""
    rng, source = Random(name), opened(name)
    place = fixture(name).input
    parts = [InParts([make_job(place, rng.choice(SIZES), n)], rng) for n in (0, 1, 3)]
    topics = source.ls(f"{TOPICS}/byName")
    own = []
    if topics:
        topic = rng.choice(topics)
        typed = "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):02X}" for c in topic)
        own = [f"{TOPICS}/byName/{typed}", f"{TOPICS}/byName/{typed}/0 {TOPICS} -name id"]
        if topic.isascii() and topic.replace("-", "").isalnum():
            own.append(f"'{TOPICS}/byName/{topic}/'* {TOPICS}/byName/[{topic[0]}]* -type d")
    lines = [("/", f"find {words}") for words in (*WORDS, *own)]
    lines += [(cwd, f"find {words}") for cwd, words in RELATIVE]
    chosen = lines if name in ALL_WORDS else rng.sample(lines, 20)
    for cwd, line in chosen:
        local = run(source.root, line, cwd=cwd, source=source)
        # One part or none is less than several: each line has one of these on one directory.
        few = [rng.choice(parts[:2])] if name == ALL_WORDS[0] else []
        for part in [*few, parts[2]] if name in ALL_WORDS else [rng.choice(parts)]:
            found = run(source.root, line, cwd=cwd, source=part)  # type: ignore[arg-type]
            compared(local, found, f"{cwd} {line} {part.jobs[0].n_parts}")


# Several directories.


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two nodes of a cluster, one of another, and two directories that are none."""
    parent = tmp_path_factory.mktemp("fleet")
    backups(parent)
    (parent / "empty").mkdir()
    (parent / "nothing" / "__cluster_metadata-0").mkdir(parents=True)
    return sorted(parent.iterdir())


def fleet_in_parts(fleet: FleetSource, rng: Random) -> InParts:
    """A fleet's directories as jobs, also those that can't be planned."""
    jobs = []
    for number, member in enumerate(fleet.members.values()):
        try:
            jobs.append(make_job(member.path, rng.choice(SIZES), number % 3))
        except SourceError as error:
            jobs.append(FoldJob.failed(member.path, Failure(error.message, error.hint)))
    return InParts(jobs, rng, list(fleet.members))


@pytest.mark.slow
def test_find_in_a_fleet(places: list[Path]) -> None:
    """Below the names of the directories; those that can't be read are empty and told of."""
    fleet = open_fleet(list(map(str, places)))
    parts = fleet_in_parts(fleet, Random(1))
    names = list(fleet.members)
    # What a directory alone answers is above; here a few of those show that names come in front.
    lines = [("/", f"find {words}") for words in Random(2).sample(WORDS, 12)]
    lines += [
        ("/", f"find {words}")
        for words in (
            "/clusters",
            "/clusters -maxdepth 1",
            "/clusters -maxdepth 2",
            "/clusters -mindepth 1 -maxdepth 3 -type d",
            "/clusters/*/image -name 0",
            "/clusters/*/image/topics/by* -maxdepth 1",
            "/clusters/*/image/topics/byName/*/0",
            f"/clusters/{names[1]} /clusters/{names[0]} -maxdepth 2",
            f"/clusters/{names[2]}/image/topics -type d",
            "/clusters/nowhere /clusters -maxdepth 0",
            f"/clusters -name {names[1]} -prune -o -print",
            "/clusters -name byName -print -quit",
            "/clusters -name 0 -print -quit",
            "/clusters/../clusters/*/.. -maxdepth 1",
            "/clusters/* -maxdepth 0",
            "'/clusters/*'",
            "/clusters/empty",
            "/clusters/empty -maxdepth 0",
            "/clusters/empty/image",
            "/clusters/*/image/nothing",
            "--encode /clusters -path '*/log/*'",
            "/clusters -name 0 -count",
            "/clusters/*/image -count -printf '%P %d\\n'",
        )
    ]
    lines += [
        ("/clusters", "find . -maxdepth 2"),
        ("/clusters", "find */image -maxdepth 1"),
        (f"/clusters/{names[0]}", "find image/topics"),
        (f"/clusters/{names[0]}", "find -name 0"),
        (f"/clusters/{names[0]}/image/topics/byName", "find"),
    ]
    for cwd, line in lines:
        fleet.begin()
        local = run(fleet.root, line, cwd=cwd)
        failures = fleet.failures()
        parts.failures.clear()
        found = run(fleet.root, line, cwd=cwd, source=parts)  # type: ignore[arg-type]
        compared(local, found, f"{cwd} {line}")
        if "-quit" not in line and ".." not in line:
            assert failures.keys() == parts.failures.keys(), line


@pytest.mark.slow
def test_directories_do_not_mix() -> None:
    """Many directories in one heap of pieces are each their own."""
    rng = Random(7)
    jobs = [drawn_job(name, rng) for name in DIRECTORIES]
    pieces = reduced(jobs, pieces_of(jobs, rng), rng)
    for number, name in enumerate(DIRECTORIES):
        log = folded(jobs[number], of_job(pieces, number))
        faults = not log.records.merges_at_fault
        assert_same_image(Image(log.records), opened(name).image, HIDDEN, faults=faults)


# What is wrong with directories.


def forged(job: FoldJob, by: int) -> tuple[FoldJob, str]:
    """A plan of which a cut lies where no batch begins; the file that is cut there."""
    splits = list(job.plan.splits)
    i = next(i for i, s in enumerate(splits[1:], 1) if s.name == splits[i - 1].name)
    splits[i - 1] = replace(splits[i - 1], end=splits[i - 1].end + by)
    splits[i] = replace(splits[i], begin=splits[i].begin + by)
    return replace(job, plan=replace(job.plan, splits=tuple(splits))), splits[i].name


@pytest.mark.parametrize("n_parts", [0, 2])
def test_a_file_cut_wrongly_is_read_uncut(n_parts: int) -> None:
    """Each part says which file it is; who folds a part alone reduces the directory once."""
    source, rng = opened("real-44-admin"), Random(3)
    job, file = forged(make_job(fixture("real-44-admin").input, 700, n_parts), 7)
    pieces = pieces_of([job], rng)
    failed = log_of(job, pieces)
    assert isinstance(failed, Failure)
    assert file == failed.file
    failures = [log_of(job, part) for _, part in groups(pieces, "part")]
    assert [file] * (n_parts + 1) == [getattr(f, "file", None) for f in failures]
    whole, is_whole = log_or_whole(job, pieces)
    assert is_whole
    assert not isinstance(whole, Failure)
    assert_same_image(Image(whole.records), source.image, HIDDEN)
    local = run(source.root, "find /", source=source)
    found = run(source.root, "find /", source=InParts([job], rng))  # type: ignore[arg-type]
    compared(local, found, "find /")


@pytest.mark.parametrize("n_parts", [0, 2])
def test_a_file_that_vanishes(tmp_path: Path, n_parts: int) -> None:
    """Every part of the directory fails, in one sentence; others are not touched."""
    place = copy_of("real-44-admin", tmp_path) / "__cluster_metadata-0"
    rng = Random(5)
    jobs = [
        make_job(place, 700, n_parts),
        make_job(fixture("real-40-static").input, 700, n_parts),
    ]
    shutil.rmtree(place)
    pieces = pieces_of(jobs, rng)
    for these in (pieces, reduced(jobs, pieces, rng)):
        for _, part in groups(of_job(these, 0), "part"):
            assert isinstance(log_of(jobs[0], part), Failure)
            failure, _ = log_or_whole(jobs[0], part)
            assert isinstance(failure, Failure)
            assert failure.file is None
            assert "No such file" in failure.message
        log = folded(jobs[1], of_job(these, 1))
        assert_same_image(Image(log.records), opened("real-40-static").image, HIDDEN)
    root = opened("real-40-static").root
    found = run(root, "find /image", source=InParts(jobs[:1], rng))  # type: ignore[arg-type]
    assert (3, "") == (found.status, found.out)
    assert "No such file" in found.err[0]


def test_a_directory_without_a_split_is_there() -> None:
    """Nothing of it is known to be committed; it is searched and folded all the same."""
    settings = ReadSettings(committed_only=True)
    place = fixture("real-40-static").input
    source, rng = metashell.open(place, committed_only=True), Random(0)
    job = make_job(place, 700, 2, settings)
    compared(
        run(source.root, "find /", source=source),
        run(source.root, "find /", source=InParts([job], rng, None, settings)),  # type: ignore[arg-type]
        "find /",
    )
    assert_same_image(Image(folded(job, pieces_of([job], rng)).records), source.image, HIDDEN)


@pytest.mark.parametrize("seed", seeds(4))
def test_damaged_directories(tmp_path: Path, seed: int) -> None:
    """Bytes overwritten anywhere: as the local engine, faults and all."""
    rng = Random(seed)
    place = copy_of("real-44-admin", tmp_path) / "__cluster_metadata-0"
    for file in sorted([*place.glob("*.log"), *place.glob("*.checkpoint")]):
        data = bytearray(file.read_bytes())
        for _ in range(rng.randint(0, 3)):
            at = rng.randrange(len(data))
            data[at : at + 8] = rng.randbytes(8)
        file.write_bytes(data[: rng.randint(len(data) // 2, len(data))])
    source = metashell.open(place)
    job = make_job(place, rng.choice(SIZES), rng.choice((0, 2)))
    log, _ = log_or_whole(job, pieces_of([job], rng))
    assert not isinstance(log, Failure), log
    faults = not log.records.merges_at_fault
    assert_same_image(Image(log.records), source.image, HIDDEN, faults=faults)
    assert faults_of(source.log.faults) == faults_of(log.faults)
    parts = InParts([job], rng)
    local = run(source.root, "find /", source=source)
    found = run(source.root, "find /", source=parts)  # type: ignore[arg-type]
    compared(local, found, "find /")
    # A damaged file of the formatter's ends the search, here and there.
    assert local.status == 3 or set(source.log.notes) <= {text for _, text in parts.warnings}
