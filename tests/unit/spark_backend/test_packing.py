"""Work packed into tasks: how many there are, and what each carries."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from metashell.log.splits import SPLIT_BYTES
from metashell.read_settings import ReadSettings
from metashell.reduced.topic_shards import TopicShards
from metashell.spark_backend.fold import heaviest_first, job_of
from metashell.spark_backend.tasks import NOT_SPREAD, TASKS_PER_CORE, FoldJob, packed
from support.fixtures import fixture
from support.fleets import node, topics
from support.kraft import source

HALF = SPLIT_BYTES // 2


@pytest.mark.parametrize(
    ("weights", "n_tasks", "expected"),
    [
        ([], 4, []),
        ([0, 0, 0], 4, [[0, 1, 2]]),
        ([1] * 5, 4, [[0, 1, 2, 3, 4]]),
        ([HALF] * 4, 4, [[0], [1], [2], [3]]),
        ([HALF] * 8, 4, [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ([HALF] * 4, 0, [[0, 1], [2, 3]]),
        ([9 * HALF, 1, 1], 1, [[0], [1, 2]]),
        ([1, 9 * HALF, 1], 1, [[0], [1], [2]]),
    ],
)
def test_packed(weights: list[int], n_tasks: int, expected: list[list[int]]) -> None:
    """In order, as many tasks as are worth having, none with more than two halves of a split."""
    work = [(weight, i) for i, weight in enumerate(weights)]
    assert expected == packed(work, n_tasks)


def fleet(n: int) -> list[FoldJob]:
    """Jobs as of so many small directories."""
    job = job_of(str(fixture("real-40-static").input), ReadSettings())
    return [
        replace(job, origin=(None, None, f"/backups/{i:06}"), shards=NOT_SPREAD) for i in range(n)
    ]


@pytest.mark.parametrize(("n", "n_tasks"), [(500, 13), (2_000, 13), (9_000, 46)])
def test_tasks_of_a_fleet_grow_with_it(n: int, n_tasks: int) -> None:
    """There are few, each directory is in one, and each task carries no other."""
    jobs = fleet(n)
    works = heaviest_first([work for i, job in enumerate(jobs) for work in job.work(i)])
    tasks = packed(works, 2 * TASKS_PER_CORE)
    assert n_tasks == len(tasks)
    assert list(range(n)) == sorted(work.directory for task in tasks for work in task)
    sizes = [len(pickle.dumps(task)) for task in tasks]
    assert sum(sizes) < 2_000 * n
    assert max(sizes) < 2_000 * max(map(len, tasks))


def test_a_directory_that_is_shards_is_sent_once() -> None:
    """Its splits go to tasks of their own, which carry theirs alone."""
    job = job_of(str(fixture("real-44-admin").input), ReadSettings(), 500)
    n_splits = len(job.plan.splits)
    assert n_splits > 40
    works = replace(job, shards=TopicShards(3)).work(7, 40)
    assert [[i] for i in range(n_splits)] == [[n for n, _ in work.splits] for work in works]
    assert {(7, 40, 3)} == {(work.directory, work.group, work.n_parts) for work in works}
    assert [True] + [False] * (n_splits - 1) == [work.job is not None for work in works]
    assert max(len(pickle.dumps(work)) for work in works[1:]) < 2_000


def test_a_small_directory_is_not_shards(tmp_path: Path) -> None:
    """However many files it has, one task does all of it."""
    place = str(node(tmp_path, "a", {i: topics(i, i + 1) for i in range(0, 20, 2)}, None))
    job = job_of(place, ReadSettings())
    assert (0, 10) == (job.n_parts, len(job.plan.splits))
    (work,) = job.work(3, 40)
    assert list(enumerate(job.plan.splits)) == list(work.splits)
    # One that a task has no room for is.
    assert 1 == job_of(place, ReadSettings(), 100).n_parts


@pytest.mark.cases(2)
@pytest.mark.parametrize("table", ["topics", "records", "nodes", "faults"])
def test_tasks_of_the_data_source_carry_their_own_directories(tmp_path: Path, table: str) -> None:
    """Neither a task nor the function that reads it names any other."""
    pytest.importorskip("pyspark")
    paths = [node(tmp_path, f"member-{i:03}", {1: topics(1)}, None) for i in range(40)]
    made = source(table, *paths)
    reader = pickle.loads(pickle.dumps(made)).reader(made.schema())
    made.reader(made.schema())
    # Spark makes the function that goes with each task of both, before it asks for tasks.
    sent = pickle.dumps((made, reader.read))
    assert b"member-" not in sent
    name, read = pickle.loads(sent)
    assert "kraft" == name.name()
    tasks = reader.partitions()
    assert tasks
    found = set()
    for task in tasks:
        own = {str(piece.site.directory) for piece in task.pieces}
        data = pickle.dumps(task)
        named = {str(path) for path in paths if path.name.encode() in data}
        assert {str(Path(directory).parent) for directory in own} == named
        for batch in read(pickle.loads(data)):
            found |= set(batch.column("directory").to_pylist())
    if table != "faults":
        assert len(paths) == len(found)


def test_tasks_of_a_stream_carry_their_own_directory(tmp_path: Path) -> None:
    """What goes with each of them has no other's, however far the stream has come."""
    pytest.importorskip("pyspark")
    paths = [node(tmp_path, f"member-{i:03}", {1: topics(1)}, None) for i in range(5)]
    made = source("records", *paths)
    reader = made.streamReader(made.schema())
    start = reader.initialOffset()
    tasks = reader.partitions(start, reader.latestOffset(start, reader.getDefaultReadLimit()))
    sent = pickle.dumps((made, reader.read))
    assert b"member-" not in sent
    assert {1} == {pickle.dumps(task).count(b"member-0") > 0 for task in tasks}
    _, read = pickle.loads(sent)
    found = [row for task in tasks for batch in read(task) for row in batch.to_pylist()]
    assert 5 == len(found)
