"""docs/guides/spark.md and the reference of its data source do what stands there.

The blocks of both pages are run in their order, as the cells of a notebook. `/backups` stands for a
directory with copies of three nodes' directories, `/var/lib/kafka` for one with the bundled sample,
and `/checkpoints` and `/lake` for empty ones.
"""

from __future__ import annotations

import doctest
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.examples import blocks, check_sessions
from support.fixtures import DEMO, fixture_dir
from support.fleets import backups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "spark.md"
REFERENCE = GUIDE.parents[1] / "reference" / "data-source.md"
LIBRARIES = ("deltalake", "pyiceberg")
"""Of other people, which only their recipes need."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept yet."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of all tests, which then is as it was before."""
    key = "spark.sql.session.timeZone"
    zone = spark.conf.get(key)
    spark.conf.set(key, "UTC")
    yield spark
    for query in spark.streams.active:
        query.stop()
    for table in spark.catalog.listTables():
        drop = spark.catalog.dropTempView if table.isTemporary else _drop_table(spark)
        drop(table.name)
    spark.conf.set(key, str(zone))


def _drop_table(spark: SparkSession) -> Any:
    return lambda name: spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_sessions_show_what_is_printed(session: SparkSession, tmp_path: Path) -> None:
    """Every command prints what stands below it."""
    directory = tmp_path / "here"
    directory.mkdir()
    text, wrong = check_sessions(GUIDE.read_text("utf-8"), directory)
    if os.environ.get("METASHELL_UPDATE_DOCS"):
        GUIDE.write_text(text, "utf-8")
    assert [] == wrong


@pytest.mark.slow
def test_python_works(session: SparkSession, tmp_path: Path) -> None:
    """Every block, in the order in which it stands."""
    places = {
        "/backups/": f"{backups(tmp_path / 'backups')}/",
        "/mnt/kafka/": f"{fixture_dir('node-44')}/",
        "/var/lib/kafka/": f"{tmp_path / 'kafka'}/",
        "/checkpoints/": f"{tmp_path / 'checkpoints'}/",
        "/lake/": f"{tmp_path / 'lake'}/",
    }
    shutil.copytree(DEMO, tmp_path / "kafka" / "data")
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    names: dict[str, Any] = {"__name__": "guide", "spark": session}
    report: list[str] = []
    n_run = 0
    for page, block in ((p, b) for p in (GUIDE, REFERENCE) for b in blocks(p.read_text("utf-8"))):
        if any(f"from {library}" in block.text for library in LIBRARIES):
            continue
        code = block.text
        for shown, path in places.items():
            code = code.replace(f'"{shown}', f'"{path}')
        if block.language == "python":
            exec(compile(code, f"{page.name}:{block.line}", "exec"), names)
        elif block.language == "pycon":
            parser = doctest.DocTestParser()
            test = parser.get_doctest(code, names, page.name, str(page), block.line - 1)
            runner.run(test, out=report.append, clear_globs=False)
            names = test.globs
        else:
            continue
        n_run += 1
    assert 0 == runner.failures, "".join(report)
    assert n_run > 5


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_recipes_work(session: SparkSession, tmp_path: Path, library: str) -> None:
    """The recipe of a library writes a table that the library reads."""
    arrow = pytest.importorskip(library)
    (tmp_path / "lake").mkdir()
    fleet = str(backups(tmp_path / "backups"))
    setting, *others = (b.text for b in blocks(GUIDE.read_text("utf-8")) if b.language == "python")
    names: dict[str, Any] = {"__name__": "guide"}
    for code in (setting, *(text for text in others if f"from {library}" in text)):
        exec(code.replace("/backups", fleet).replace("/lake", str(tmp_path / "lake")), names)
    if library == "deltalake":
        found = arrow.DeltaTable(str(tmp_path / "lake" / "delta" / "topics")).to_pyarrow_table()
    else:
        found = names["catalog"].load_table("kafka.topics").scan().to_arrow()
    assert names["metadata"]("topics").count() == found.num_rows > 0
