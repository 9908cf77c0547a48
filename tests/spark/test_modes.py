"""Fold and search where workers are other processes: a cluster, Spark Connect, and a store."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metashell
from metashell.image.image import Image
from metashell.redact import Redaction
from spark.conftest import missing
from support.fixtures import fixture
from support.kraft import as_spark, rows
from support.reduced import assert_same_image
from support.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from support.shell import run
from support.spark_programs import Marked
from support.waiting import LIMIT_S, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

PLACES = ("real-44-admin", "real-40-static")

BEGIN = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
import metashell
from metashell.image.image import Image
from metashell.reduced.topic_shards import TopicShards
from metashell.redact import Redaction
from metashell.spark_backend.find import find
from metashell.commands.find.parts import FindTask
from metashell.spark_backend.fold import fold_directories
from metashell.spark_backend.session import SparkSettings, session
from support.reduced import assert_same_image
from support.kraft import as_spark, rows
from support.shell import run
from support.spark_programs import MARK, WORKER, Marked

places = sys.argv[2:]
sources = {place: metashell.open(place) for place in places}

def check_logs(fold):
    for site, log in zip(fold.sites, fold.logs(), strict=True):
        assert_same_image(Image(log.records), sources[site.opened_by].image, Redaction())

def check_table(table, found):
    for place, source in sources.items():
        wanted = as_spark(source.table(table))
        own = found.where(found.directory == place).toArrow().select(wanted.column_names)
        assert sorted(rows(wanted)) == sorted(rows(own)), table

def check_find(fold):
    args = ["/clusters/*/image", "/clusters/a/log", "-name", "[0b]*"]
    found = "".join(find(fold, FindTask(args, "/", escapes=False), ["a", "b"][:len(places)]))
    wanted = ""
    for name, place in zip("ab", places):
        root = sources[place].root
        for line in run(root, "find /image -name [0b]*").out.splitlines():
            wanted += f"/clusters/{name}{line}\\n"
    for line in run(sources[places[0]].root, "find /log -name [0b]*").out.splitlines():
        wanted += f"/clusters/a{line}\\n"
    assert wanted == found, (len(wanted), len(found))

def in_parts(fold):
    return replace(fold, jobs=[replace(job, shards=TopicShards(2)) for job in fold.jobs])
"""

CLUSTER = (
    BEGIN
    + """
killed = []
marked = Marked(os.environ[MARK], Path("."))

def kill_one(done, total):
    if not killed and 1 <= done < total:
        worker = next(p for p, command in marked.running().items() if WORKER in command)
        os.kill(worker, signal.SIGKILL)
        killed.append(worker)

conf = {
    "spark.executor.extraJavaOptions": os.environ["SPARK_SUBMIT_OPTS"],
    "spark.driver.host": "127.0.0.1",
    "spark.pyspark.python": sys.executable,
    "spark.sql.shuffle.partitions": "4",
}
settings = SparkSettings(master=sys.argv[1], conf=conf)
with session(settings, progress=kill_one) as spark:
    fold = in_parts(fold_directories(spark, places, split_bytes=1_500))
    assert sum(len(job.plan.splits) for job in fold.jobs) > 30
    check_logs(fold)
    assert killed
    fold = in_parts(fold_directories(spark, places, split_bytes=30_000))
    check_find(fold)
    check_table("partitions", fold.table("partitions"))
"""
)

CONNECT = (
    BEGIN
    + """
from metashell.spark_backend import KRaftDataSource

with session(SparkSettings(master=sys.argv[1])) as spark:
    fold = in_parts(fold_directories(spark, places, split_bytes=20_000))
    check_table("partitions", fold.table("partitions"))
    check_logs(fold)
    check_find(fold)
    spark.dataSource.register(KRaftDataSource)
    reader = spark.read.format("kraft").option("table", "topics")
    for place in places:
        wanted = as_spark(sources[place].table("topics"))
        found = reader.load(place).toArrow().select(wanted.column_names)
        assert rows(wanted) == rows(found)
"""
)


JOB = """
import sys

import metashell
from pyspark.sql import SparkSession

from metashell.spark_backend import KRaftDataSource


def where(_):
    import metashell

    return [metashell.__file__]


spark = SparkSession.builder.getOrCreate()
spark.dataSource.register(KRaftDataSource)
found = [metashell.__file__, *spark.sparkContext.parallelize([1], 1).mapPartitions(where).collect()]
assert all("sent.zip/metashell/" in place for place in found), found
rows = spark.read.format("kraft").option("table", "topics").load(sys.argv[1])
print("topics:", rows.count())
spark.stop()
"""


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    """Where programs run."""
    return Marked(uuid.uuid4().hex, tmp_path)


def places() -> list[str]:
    """The directories of the programs."""
    return [str(fixture(name).input) for name in PLACES]


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker(marked: Marked) -> None:
    """A master and two workers; one worker is killed in the middle, and the result is the same.

    So is what is asked for afterwards.
    """
    with marked.cluster(workers=2) as master:
        assert (0, "", "") == marked.program(CLUSTER, master, *places())
    wait_until(lambda: not marked.running(), lambda: str(marked.running()))


@pytest.mark.slow
def test_a_job_brings_the_pure_wheel(marked: Marked, tmp_path: Path) -> None:
    """By `spark-submit --py-files`: driver and executors import metashell from it."""
    import pyspark

    root, home = Path(__file__).parents[2], Path(pyspark.__file__).parent
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, env={**os.environ, "METASHELL_KERNEL": "off"}, check=True)
    (wheel,) = tmp_path.glob("*-py3-none-any.whl")
    sent, job = wheel.rename(tmp_path / "sent.zip"), tmp_path / "job.py"
    job.write_text(JOB, encoding="utf-8")
    place = fixture(PLACES[0]).input
    submit = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--py-files", str(sent)]
    environment = {**marked.environment, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    environment.pop("PYTHONPATH")
    ran = subprocess.run(
        ["bash", str(home / "bin" / "spark-submit"), *submit, str(job), str(place)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    topics = len(metashell.open(place).ls("/image/topics/byName"))
    # PySpark itself warns about pandas, also on standard output.
    last = ran.stdout.splitlines()[-1:]
    assert (0, [f"topics: {topics}"]) == (ran.returncode, last), ran.stderr


@pytest.mark.slow
def test_through_spark_connect(marked: Marked, connect_url: str) -> None:
    """The server has what it needs from here: folds, a search and the data source."""
    assert (0, "", "") == marked.program(CONNECT, connect_url, *places())


@pytest.mark.slow
def test_directories_in_a_store(spark: SparkSession, s3: S3Server) -> None:
    """A glob over a bucket: tables, logs and a search, and no key in what is shown."""
    from metashell.commands.find.parts import FindTask
    from metashell.spark_backend.find import find
    from metashell.spark_backend.fold import fold_directories
    from metashell.spark_backend.tasks import Failure

    for name in PLACES:
        s3.upload(fixture(name).directory, f"folded/{name}")
    key = {"access_key": ACCESS_KEY, "secret_key": SECRET_KEY}
    uri = s3.uri("folded/*/__cluster_metadata-0", **key)
    fold = fold_directories(spark, uri, split_bytes=30_000)
    sources = {
        f"s3://bucket/folded/{name}/__cluster_metadata-0": metashell.open(fixture(name).input)
        for name in PLACES
    }
    assert sorted(sources) == sorted(site.directory for site in fold.sites)
    found = fold.table("topics").toArrow()
    wanted = [as_spark(source.table("topics")) for source in sources.values()]
    assert sorted(r for t in wanted for r in rows(t)) == rows(found.select(wanted[0].column_names))
    assert SECRET_KEY not in repr(found.to_pylist())
    for site, log in zip(fold.sites, fold.logs(), strict=True):
        assert not isinstance(log, Failure)
        assert_same_image(Image(log.records), sources[site.directory].image, Redaction())
    names = [Path(site.directory).parent.name for site in fold.sites]
    search = FindTask(["/clusters/*/image/topics"], "/", escapes=False)
    assert "".join(find(fold, search, names)).splitlines() == [
        f"/clusters/{name}{line}"
        for name in sorted(PLACES)
        for line in run(metashell.open(fixture(name).input).root, "find /image/topics").out.split()
    ]
