"""Measures Spark: how long a session takes to start, and the distributed fold.

Started by `folds` as ``python spark_worker.py MASTER RUNS SPLIT_BYTES JAVA_OPTIONS FLEETS
[DIR...]``, on all CPUs; prints what it measured as one line of JSON, or why there is no Spark here.
Without directories only the start is measured. Fleets are folders, separated as in a PATH; those
that are given are searched by `fleet_worker` in the same session. Only the first answer is checked
here, the others by `folds`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fleet_worker
from measure import Measurement, WrongOutputError
from processes import user_seconds, watched

Counts = dict[str, dict[str, int]]
"""Rows of each table, by directory."""


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    from metashell.spark_backend.needs import missing_requirement

    master, runs, split_bytes, java_options, fleets, *paths = argv
    reason = missing_requirement(master)
    if reason is not None:
        print(json.dumps({"skipped": reason.message}))
        return 0
    try:
        options = int(split_bytes), java_options, [f for f in fleets.split(os.pathsep) if f]
        print(json.dumps(measure(master, int(runs), *options, paths)))
    except WrongOutputError as error:
        print(f"spark_worker: {error}", file=sys.stderr)
        return 1
    return 0


def measure(
    master: str,
    runs: int,
    split_bytes: int,
    java_options: str,
    fleets: Sequence[str],
    paths: Sequence[str],
) -> dict[str, Any]:
    """Start a session, ask it the first query, then fold all directories and search all fleets.

    Args:
        master: The session's master.
        runs: Folds, after one that is timed by itself and brings the files into memory.
        split_bytes: As for `fold_directories`; 0 for its default.
        java_options: Of Spark's Java process.
        fleets: Folders of directories.
        paths: The directories.
    """
    conf = {"spark.driver.extraJavaOptions": java_options} if java_options else {}
    start, fold = Measurement(), Measurement()
    counts: list[Counts] = []
    with watched() as peaks:
        begin, user = time.perf_counter(), user_seconds()
        from metashell.spark_backend.session import SparkSettings, session

        with session(SparkSettings(master=master, conf=conf)) as spark:
            started = time.perf_counter()
            first = folded(spark, [str(sample())])
            ended = time.perf_counter()
            start.wall_s.append(ended - begin)
            start.user_s.append(user_seconds() - user)
            start.parts = {"session": [started - begin], "first query": [ended - started]}
            peaks.look()
            start.peak_rss_bytes = peaks.any_process
            check_first(first)
            for i in range(runs + 1 if paths else 0):
                begin, user = time.perf_counter(), user_seconds()
                workers = user_seconds(of_python_workers=True)
                counts.append(folded(spark, paths, split_bytes))
                wall = time.perf_counter() - begin
                workers = user_seconds(of_python_workers=True) - workers
                if i == 0:
                    fold.first_s = wall
                else:
                    fold.wall_s.append(wall)
                    fold.user_s.append(user_seconds() - user)
                    fold.parts.setdefault("python workers", []).append(workers)
            # While there still are workers.
            peaks.look()
            # It uses the session that is there.
            searched = fleet_worker.measure_spark(master, fleets) if fleets else {}
    fold.peak_rss_bytes = peaks.any_process
    if any(found != counts[0] for found in counts):
        raise WrongOutputError("two folds of the same directories differ")
    return {
        "start": asdict(start),
        "fold": asdict(fold),
        "worker_peak_bytes": peaks.python_worker,
        "counts": counts[0] if counts else {},
        "fleets": searched,
    }


def folded(spark: Any, paths: Sequence[str], split_bytes: int = 0) -> Counts:
    """Decode and fold directories, and only count what comes out."""
    from metashell.spark_backend.fold import fold_directories

    options = {"split_bytes": split_bytes} if split_bytes else {}
    fold = fold_directories(spark, paths, **options)
    if fold.bad:
        raise WrongOutputError(f"{fold.bad[0].directory}: {fold.bad[0].reason}")
    found: Counts = {}
    for row in fold.counts().collect():
        found.setdefault(row.directory, {})[row.table] = row.rows
    return found


def sample() -> Path:
    """The bundled sample, a small directory."""
    import metashell

    return Path(metashell.__file__).with_name("sample")


def check_first(found: Counts) -> None:
    """Compare the rows of the sample with those of the local engine."""
    import metashell

    source = metashell.open(sample())
    expected = {name: len(source.table(name)) for name in source.tables}
    if list(found.values()) != [expected]:
        raise WrongOutputError(f"rows of the sample: {found} where {expected} are right")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
