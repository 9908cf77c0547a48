"""Measures the same fold as `spark_worker`, by the local engine: a process for each directory.

Started by `folds` as ``python local_worker.py RUNS DIR...``, on all CPUs; prints what it measured
and the rows of all tables as one line of JSON.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

from measure import RSS_UNIT_BYTES, Measurement, WrongOutputError
from spark_worker import sample


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    runs, *paths = argv
    print(json.dumps(measure(int(runs), paths)))
    return 0


def measure(runs: int, paths: Sequence[str]) -> dict[str, Any]:
    """Decode every directory `runs` times, after once timed by itself.

    The processes are up before the clock starts: each has decoded the bundled sample.
    """
    context = multiprocessing.get_context("spawn")
    ends: list[Connection] = []
    processes = []
    for path in paths:
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, path), daemon=True)
        process.start()
        theirs.close()
        ends.append(ours)
        processes.append(process)
    for end in ends:
        end.recv()
    measurement, rows = Measurement(), []
    for i in range(runs + 1):
        begin = time.perf_counter()
        for end in ends:
            end.send(True)
        answers = [end.recv() for end in ends]
        wall = time.perf_counter() - begin
        rows.append([answer["rows"] for answer in answers])
        measurement.peak_rss_bytes = max(answer["peak_rss_bytes"] for answer in answers)
        if i == 0:
            measurement.first_s = wall
        else:
            measurement.wall_s.append(wall)
            measurement.user_s.append(sum(answer["user_s"] for answer in answers))
    for end, process in zip(ends, processes, strict=True):
        end.send(False)
        process.join()
    if any(found != rows[0] for found in rows):
        raise WrongOutputError("two runs over the same directories differ")
    return {"fold": asdict(measurement), "counts": dict(zip(paths, rows[0], strict=True))}


def serve(end: Connection, path: str) -> None:
    """Decode a directory whenever it is asked for."""
    decoded(str(sample()))
    end.send(True)
    while end.recv():
        user = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        rows = decoded(path)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        peak = usage.ru_maxrss * RSS_UNIT_BYTES
        end.send({"rows": rows, "user_s": usage.ru_utime - user, "peak_rss_bytes": peak})
        gc.collect()


def decoded(path: str) -> dict[str, int]:
    """Rows of every table of the image, each made as an Arrow table."""
    import metashell

    source = metashell.open(path, engine="local")
    return {name: len(source.table(name)) for name in source.tables}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
