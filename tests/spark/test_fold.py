"""The distributed fold and search on a session: what the local engine has, for every fixture."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import metashell
from metashell.commands.find.parser import parse
from metashell.commands.find.parts import FindTask, PartsSearch
from metashell.errors import SourceError
from metashell.image.arrow import table_names
from metashell.image.image import Image
from metashell.read_settings import ReadSettings
from metashell.redact import Redaction
from metashell.reduced.topic_shards import TopicShards
from metashell.sources.source import Source
from metashell.spark_backend.find import find
from metashell.spark_backend.fold import Fold, fold_directories
from metashell.spark_backend.tasks import Failure, FoldJob, from_bytes
from support.fixtures import copy_of, differing_directories, fixture
from support.kraft import as_spark, rows
from support.reduced import assert_same_image
from support.shell import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DIRECTORIES = differing_directories()
SPLIT_BYTES = 30_000
HIDDEN = Redaction()


@cache
def opened(path: str) -> Source:
    """A directory opened here, once."""
    return metashell.open(path)


def in_parts(fold: Fold, n_parts: int = 2) -> Fold:
    """Have parts where there is anything to spread, however small."""
    jobs = [
        replace(j, shards=TopicShards(n_parts if len(j.plan.splits) > 1 else 0)) for j in fold.jobs
    ]
    return replace(fold, jobs=jobs)


def cut_wrongly(job: FoldJob) -> FoldJob:
    """A plan of which a cut lies where no batch begins."""
    splits = list(job.plan.splits)
    i = next(i for i, s in enumerate(splits[1:], 1) if s.name == splits[i - 1].name)
    splits[i - 1] = replace(splits[i - 1], end=splits[i - 1].end + 7)
    splits[i] = replace(splits[i], begin=splits[i].begin + 7)
    return replace(job, plan=replace(job.plan, splits=tuple(splits)))


def of_directory(table: pa.Table, path: str) -> pa.Table:
    """The rows of one directory."""
    return table.filter(pc.equal(table["directory"], path))


@pytest.fixture(scope="module")
def fold(spark: SparkSession) -> Fold:
    """All fixtures in one fold; those of several splits in parts."""
    places = [str(fixture(name).input) for name in DIRECTORIES]
    fold = in_parts(fold_directories(spark, places, split_bytes=SPLIT_BYTES))
    assert sorted(places) == sorted(site.directory for site in fold.sites)
    assert sum(job.n_parts > 0 for job in fold.jobs) >= len(DIRECTORIES) // 3
    assert [] == list(fold.bad)
    return fold


@pytest.fixture(scope="module")
def decoded(fold: Fold) -> Iterator[Fold]:
    """The same, whose files are read once for all tables."""
    kept = replace(fold).persist()
    yield kept
    kept.unpersist()


@pytest.mark.cases(2)
@pytest.mark.parametrize("table", table_names())
def test_tables_are_the_local_ones(decoded: Fold, table: str) -> None:
    """Of every directory, in every column and row, in no order."""
    found = decoded.table(table).toArrow()
    for site in decoded.sites:
        source = opened(site.opened_by)
        wanted = as_spark(source.table(table))
        own = of_directory(found, site.directory)
        assert sorted(rows(wanted)) == sorted(rows(own.select(wanted.column_names)))
        if len(own):
            assert [source.cluster_id] == own["cluster_id"].unique().to_pylist()
            assert [source.node_id] == own["node_id"].unique().to_pylist()


def test_logs_are_images(fold: Fold) -> None:
    """Brought here, each is its directory's image with epochs, faults and all."""
    for site, log in zip(fold.sites, fold.logs(), strict=True):
        assert not isinstance(log, Failure)
        source, faults = opened(site.opened_by), not log.records.merges_at_fault
        assert_same_image(Image(log.records), source.image, HIDDEN, faults=faults)
        assert sorted(map(str, source.log.faults)) == sorted(map(str, log.faults))


@pytest.mark.parametrize("show", [False, True])
def test_no_secret_leaves_a_task_unless_asked_for(spark: SparkSession, show: bool) -> None:
    """Pieces go over the network and to the disks of executors."""
    place = str(fixture("real-44-live").input)
    source = metashell.open(place, show_secrets=True)
    secrets = {
        row[key]
        for row in source.table("scram_credentials").to_pylist()
        for key in ("salt", "stored_key", "server_key")
    }
    assert len(secrets) >= 3
    settings = ReadSettings(show_secrets=show)
    fold = in_parts(fold_directories(spark, place, settings, split_bytes=SPLIT_BYTES))
    pieces = fold.pieces().toArrow()["table"].to_pylist()
    values = b"".join(
        value for p in pieces if p is not None for value in from_bytes(p)["value"].to_pylist()
    )
    assert {show} == {secret in values for secret in secrets}
    wanted = as_spark(source.table("scram_credentials")) if show else None
    found = fold.table("scram_credentials").toArrow()
    if wanted is not None:
        assert sorted(rows(wanted)) == sorted(rows(found.select(wanted.column_names)))
    else:
        assert not secrets & {value for row in found.to_pylist() for value in row.values()}


def test_bad_and_vanishing_directories_fail_alone(spark: SparkSession, tmp_path: Path) -> None:
    """Before the job they are told of, in it they are failures; the others have their rows."""
    good, gone = copy_of("real-40-static", tmp_path), copy_of("real-44-admin", tmp_path)
    (tmp_path / "bad" / "__cluster_metadata-0").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    fold = in_parts(fold_directories(spark, f"{tmp_path}/*", split_bytes=SPLIT_BYTES))
    assert ["bad", "other"] == sorted(
        bad.directory.removeprefix(f"{tmp_path}/").partition("/")[0] for bad in fold.bad
    )
    shutil.rmtree(gone)
    table = fold.table("partitions").toArrow()
    wanted = as_spark(metashell.open(good).table("partitions"))
    assert sorted(rows(wanted)) == sorted(rows(table.select(wanted.column_names)))
    by_name = dict(zip([site.directory for site in fold.sites], fold.logs(), strict=True))
    failure = by_name[str(gone / "__cluster_metadata-0")]
    assert isinstance(failure, Failure)
    assert "No such file" in failure.message
    log = by_name[str(good / "__cluster_metadata-0")]
    assert not isinstance(log, Failure)
    assert_same_image(Image(log.records), metashell.open(good).image, HIDDEN)
    shutil.rmtree(good)
    with pytest.raises(SourceError):
        fold_directories(spark, f"{tmp_path}/*")


@pytest.mark.slow
def test_files_cut_wrongly_are_read_uncut(spark: SparkSession) -> None:
    """Tables, logs and searches are right all the same."""
    place = str(fixture("real-44-admin").input)
    source = opened(place)
    fold = in_parts(fold_directories(spark, place, split_bytes=1_000))
    fold = replace(fold, jobs=[cut_wrongly(job) for job in fold.jobs])
    for table in ("partitions", "features"):
        wanted, found = as_spark(source.table(table)), fold.table(table).toArrow()
        assert sorted(rows(wanted)) == sorted(rows(found.select(wanted.column_names)))
    assert run(source.root, "find /", source=source).out == "".join(search(fold, ["/"]))
    (log,) = fold.logs()
    assert not isinstance(log, Failure)
    assert_same_image(Image(log.records), source.image, HIDDEN)


# Search; its breadth is in tests/unit/spark_backend/test_tasks.py.


def search(fold: Fold, args: Sequence[str], names: Sequence[str] | None = None) -> PartsSearch:
    """A search at the root."""
    assert parse(args).is_for_parts
    return find(fold, FindTask(args, "/", escapes=False), names)


@pytest.mark.parametrize(
    "args",
    [
        ["/", "-print0"],
        ["/image/topics/by*", "-type", "d", "-name", "*o*"],
        ["/", "-name", "topics", "-prune", "-o", "-print"],
        ["/nowhere", "/image", "-name", "0", "-print", "-quit"],
    ],
)
def test_find_is_the_local_one(fold: Fold, args: Sequence[str]) -> None:
    """What executors find is printed in the order of one walk."""
    for number in (DIRECTORIES.index(name) for name in ("real-44-trimmed", "real-40-static")):
        one = replace(fold, sites=[fold.sites[number]], jobs=[fold.jobs[number]])
        source = opened(fold.sites[number].opened_by)
        local = run(source.root, "find " + " ".join(args), source=source)
        finding = search(one, args)
        assert local.out == "".join(finding)
        assert (args[0] != "/nowhere") == (0 in finding.matched)


def test_find_below_the_names_of_a_fleet(fold: Fold) -> None:
    """All fixtures in one search, in the order of their names."""
    names = [f"c{i:02}" for i in range(len(fold.sites))]
    found = "".join(search(fold, ["/clusters/*/image/topics", "-name", "0"], names))
    wanted = [
        f"/clusters/{name}{line}"
        for name, site in zip(names, fold.sites, strict=True)
        for line in run(opened(site.opened_by).root, "find /image/topics -name 0").out.splitlines()
    ]
    assert wanted == found.splitlines()
