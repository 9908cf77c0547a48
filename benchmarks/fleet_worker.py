"""Measures a search of fleets of small directories by Spark: how it grows with their members.

Started by `folds` as ``python fleet_worker.py MASTER RUNS FLEET...``, on all CPUs, with folders of
directories, the smallest first; prints what it measured as one line of JSON, or why there is no
Spark here. Each answer is checked, and the number of tasks is bounded.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from measure import Measurement, WrongOutputError
from processes import user_seconds, watched

_TASKS: Final = 64
"""Of those that do nothing."""
_MEMBERS_PER_TASK: Final = 50
_TASKS_BESIDES: Final = 100


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    from metashell.spark_backend.needs import missing_requirement

    master, runs, *fleets = argv
    reason = missing_requirement(master)
    if reason is not None:
        print(json.dumps({"skipped": reason.message}))
        return 0
    try:
        print(json.dumps(measure(master, int(runs), fleets)))
    except WrongOutputError as error:
        print(f"fleet_worker: {error}", file=sys.stderr)
        return 1
    return 0


def measure(master: str, runs: int, fleets: Sequence[str]) -> dict[str, Any]:
    """Search each fleet in one session, `runs` times."""
    from metashell.sources.engine import core_count, cores_of
    from metashell.spark_backend.session import SparkSettings, session

    found: dict[str, Any] = {}
    with watched() as peaks, session(SparkSettings(master=master)) as spark:
        task_s = [_idle_task_s(spark) * cores_of(master, core_count()) for _ in range(runs + 1)]
        for fleet in fleets:
            measurement, members = Measurement(), sorted(map(str, Path(fleet).iterdir()))
            for _ in range(runs):
                begin, user, known = time.perf_counter(), user_seconds(), _jobs(spark)
                text = searched(spark, members)
                measurement.wall_s.append(time.perf_counter() - begin)
                measurement.user_s.append(user_seconds() - user)
                check(text, len(members), _n_tasks(spark, _jobs(spark) - known))
            peaks.look()
            measurement.peak_rss_bytes = peaks.any_process
            # The first waits for Python workers.
            measurement.parts = {"task": task_s[1:]}
            found[fleet] = asdict(measurement)
    return found


def searched(spark: Any, members: Sequence[str]) -> str:
    """The directories called ``byName`` of all members."""
    from metashell.commands.find.parts import FindTask
    from metashell.spark_backend.find import find
    from metashell.spark_backend.fold import fold_directories

    search = FindTask(["/", "-name", "byName"], "/", escapes=False)
    names = [Path(member).name for member in members]
    return "".join(find(fold_directories(spark, members), search, names))


def check(text: str, n_members: int, n_tasks: int) -> None:
    """Raise unless each member was searched, by few tasks."""
    if n_members != text.count("/image/topics/byName\n"):
        raise WrongOutputError(f"{n_members} members are searched: {text[:200]!r}")
    if n_tasks > _TASKS_BESIDES + n_members // _MEMBERS_PER_TASK:
        raise WrongOutputError(f"{n_tasks} tasks for {n_members} members")


def _idle_task_s(spark: Any) -> float:
    """Seconds that a task takes which does nothing, by the wall."""
    from metashell.spark_backend.tasks import PIECES, run_tasks

    begin = time.perf_counter()
    run_tasks(spark, [[]] * _TASKS, lambda _: iter(()), PIECES).count()
    return (time.perf_counter() - begin) / _TASKS


def _jobs(spark: Any) -> set[int]:
    return set(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def _n_tasks(spark: Any, jobs: set[int]) -> int:
    """Tasks of all stages that these jobs ran."""
    tracker = spark.sparkContext.statusTracker()
    stages = {stage for job in jobs for stage in tracker.getJobInfo(job).stageIds}
    infos = [tracker.getStageInfo(stage) for stage in stages]
    return sum(info.numCompletedTasks for info in infos if info is not None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
