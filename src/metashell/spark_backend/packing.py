"""Work packed into tasks, by what it weighs, and run: a task costs something by itself, and carries
only its own work.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from metashell.log.splits import SPLIT_BYTES
from metashell.spark_backend.schemas import to_struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
Batches = Iterator[pa.RecordBatch]

FILE_BYTES: Final = 64 << 10
"""The cost of opening a file, as bytes that could be read meanwhile."""
TASKS_PER_CORE: Final = 6
"""Tasks that a core has in turn where there is that much to do: they differ in length."""
_TASKS: Final = pa.schema([("task", pa.int32()), ("work", pa.binary())])
_RESULTS: Final = pa.schema([("number", pa.int32()), ("result", pa.binary())])
_TASK_BYTES: Final = 1 << 20
"""Less is not worth a task of its own."""


def packed(work: Iterable[tuple[int, T]], task_bytes: int, n_tasks: int) -> list[list[T]]:
    """Pack work into tasks, in its order.

    Args:
        work: Each piece behind its weight in bytes.
        task_bytes: About how much a task has at most; a heavier piece is alone.
        n_tasks: Tasks that are worth having: where there is less work, they have less each.
    """
    weighed = list(work)
    enough = max(sum(weight for weight, _ in weighed) // max(n_tasks, 1), _TASK_BYTES)
    room = min(task_bytes, enough)
    tasks: list[list[T]] = []
    filled = 0
    for weight, piece in weighed:
        if not tasks or filled + weight > room:
            tasks.append([])
            filled = 0
        tasks[-1].append(piece)
        filled += weight
    return tasks


def parallelism(spark: SparkSession) -> int:
    """About how many tasks run at the same time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:
        # A server of Spark Connect does not tell.
        return 8


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[Sequence[Any]],
    run: Callable[[Any], Batches],
    schema: pa.Schema,
) -> DataFrame:
    """Call a function with each piece of work that is packed into tasks.

    A task gets its own work as data. Variables that a function closes over go to every task.
    """
    rows = [
        pa.RecordBatch.from_pylist([{"task": i, "work": pickle.dumps(list(task))}], schema=_TASKS)
        for i, task in enumerate(tasks or [[]])
    ]

    def run_all(batches: Batches) -> Batches:
        for batch in batches:
            for own in batch["work"].to_pylist():
                for piece in pickle.loads(own):
                    yield from run(piece)

    frame = spark.createDataFrame(pa.Table.from_batches(rows, _TASKS))
    placed = frame.repartitionById(len(rows), "task")
    return placed.mapInArrow(run_all, to_struct(schema))


def run_packed(
    spark: SparkSession,
    work: Iterable[tuple[int, T]],
    run: Callable[[T], Batches],
    schema: pa.Schema,
) -> DataFrame:
    """Call a function with each piece of work behind its weight in bytes; see `run_tasks`."""
    tasks = packed(work, SPLIT_BYTES, TASKS_PER_CORE * parallelism(spark))
    return run_tasks(spark, tasks, run, schema)


def run_each(
    spark: SparkSession, work: Iterable[tuple[int, T]], function: Callable[[T], object]
) -> DataFrame:
    """The results of a function for each piece of work: rows for `result_of`."""

    def run(numbered: tuple[int, T]) -> Batches:
        number, piece = numbered
        row = {"number": number, "result": pickle.dumps(function(piece))}
        yield pa.RecordBatch.from_pylist([row], schema=_RESULTS)

    numbered = ((weight, (i, piece)) for i, (weight, piece) in enumerate(work))
    return run_packed(spark, numbered, run, _RESULTS)


def result_of(row: Any) -> tuple[int, Any]:
    """The place of a piece of work, and what the function returned for it."""
    return row["number"], pickle.loads(row["result"])


def results(
    spark: SparkSession, work: Sequence[tuple[int, T]], function: Callable[[T], Any]
) -> list[Any]:
    """The results of a function for each piece of work, in the order of the work.

    A single piece is done here.
    """
    if len(work) <= 1:
        return [function(piece) for _, piece in work]
    found = dict(map(result_of, run_each(spark, work, function).toArrow().to_pylist()))
    return [found[i] for i in range(len(work))]
