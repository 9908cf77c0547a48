"""What Spark gets for a fleet: few tasks, and functions that carry none of its members."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from metashell.commands.find.parts import FindTask
from metashell.read_settings import ReadSettings
from metashell.sources.fleet.reading import Reading
from metashell.sources.fleet.rows import fleet_row
from metashell.spark_backend.find import find
from metashell.spark_backend.fold import fold_directories
from metashell.spark_backend.opening import _runner
from metashell.spark_backend.session import Engine, SparkSettings
from support.fleets import node, topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@dataclass
class NodeInspector:
    """The functions that executors get."""

    functions: list[int] = field(default_factory=list)
    """Bytes of each, as it is sent."""
    tasks: list[int] = field(default_factory=list)
    """In how many tasks it is called."""


@pytest.fixture
def seen(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> NodeInspector:
    """What is seen from now on."""
    from pyspark.serializers import CloudPickleSerializer

    found, kind = NodeInspector(), type(spark.range(1))
    real = kind.mapInArrow

    def noted(frame: DataFrame, function: Callable[..., Any], *arguments: Any) -> DataFrame:
        found.functions.append(len(CloudPickleSerializer().dumps(function)))
        found.tasks.append(frame.rdd.getNumPartitions())
        return real(frame, function, *arguments)

    monkeypatch.setattr(kind, "mapInArrow", noted)
    return found


def members(parent: Path, n: int) -> list[str]:
    """A fleet of links to one small directory."""
    first = node(parent, "first", {0: topics(0, 1)}, "c") / "__cluster_metadata-0"
    for i in range(n):
        own = parent / "all" / f"{i:04}" / "__cluster_metadata-0"
        own.mkdir(parents=True)
        for file in first.iterdir():
            os.link(file, own / file.name)
    return [str(path) for path in sorted((parent / "all").iterdir())]


@pytest.mark.slow
@pytest.mark.parametrize("work", ["table", "kept", "find", "fleet"])
def test_tasks_carry_their_own_members_alone(
    spark: SparkSession, seen: NodeInspector, tmp_path: Path, work: str
) -> None:
    """For ten times as many, functions are as large; a task has many members."""

    def run(n: int) -> NodeInspector:
        paths = members(tmp_path / str(n), n)
        if work == "fleet":
            engine = Engine(SparkSettings(), None, lambda: None)
            runner = _runner(engine)
            jobs = [(path, Reading(settings=ReadSettings())) for path in paths]
            rows = dict(runner(fleet_row, jobs, [1_000] * n, lambda: None))
            assert {(i, 2, None) for i in range(n)} == {
                (i, row["topics"], row["error"]) for i, row in rows.items()
            }
            engine.close()
        else:
            fold = fold_directories(spark, paths)
            if work == "find":
                search = FindTask(["/", "-name", "byName"], "/", escapes=False)
                names = [f"c{i:04}" for i in range(n)]
                wanted = [f"/clusters/{name}/image/topics/byName" for name in names]
                assert wanted == "".join(find(fold, search, names)).splitlines()
            else:
                if work == "kept":
                    fold.persist()
                for table in ("topics", "features"):
                    found = fold.table(table).groupBy("directory").count().collect()
                    assert table != "topics" or n == len(found)
                    assert {2 if table == "topics" else 1} >= {row["count"] for row in found}
                fold.unpersist()
        found = NodeInspector(list(seen.functions), list(seen.tasks))
        seen.functions.clear()
        seen.tasks.clear()
        return found

    few, many = run(12), run(120)
    assert few.functions
    # Numbers in them may have a digit more.
    assert max(abs(a - b) for a, b in zip(few.functions, many.functions, strict=True)) < 64
    assert max(*few.tasks, *many.tasks) <= 13
