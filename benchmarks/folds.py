"""The figures of whole directories decoded and folded, by Spark and by the local engine.

What several figures take from one run of `spark_worker` or `fleet_worker` is measured once and
kept. None is pinned
to one CPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from children import check, report, table_rows
from directories import LOG_DIR, Cluster, Directories
from measure import Measurement, SkippedError

_START_MASTER: Final = "local[2]"


def spark_start(directories: Directories, runs: int) -> Measurement:
    """A session and its first query, each time in a process of its own."""
    if runs == 1 or directories.sizes.one_session:
        # A session takes seconds: the one that `spark-fold-2` needs anyway will do.
        return Measurement(**_folded(directories, _START_MASTER, runs)["start"])
    whole = Measurement()
    for _ in range(runs):
        one = Measurement(**_ran(_START_MASTER, 0, directories, [])["start"])
        whole.wall_s += one.wall_s
        whole.user_s += one.user_s
        whole.peak_rss_bytes = max(whole.peak_rss_bytes, one.peak_rss_bytes)
        for name, seconds in one.parts.items():
            whole.parts.setdefault(name, []).extend(seconds)
    return whole


def spark_fold(n_cores: int) -> Callable[[Directories, int], Measurement]:
    """All directories folded on some cores."""

    def run(directories: Directories, runs: int) -> Measurement:
        master = _START_MASTER if directories.sizes.one_session else f"local[{n_cores}]"
        return Measurement(**_folded(directories, master, runs)["fold"])

    return run


def worker_memory(directories: Directories, runs: int) -> Measurement:
    """The largest Python worker of `spark-fold-2`."""
    found = _folded(directories, "local[2]", runs)
    if not found["worker_peak_bytes"]:
        raise SkippedError("this system has no /proc that tells of Spark's processes")
    measurement = Measurement(**found["fold"])
    measurement.peak_rss_bytes = found["worker_peak_bytes"]
    return measurement


def fleet(question: str, engine: str) -> Callable[[Directories, int], Measurement]:
    """A question of `fleet_worker` to all fleets of `Sizes.members`."""

    def run(directories: Directories, runs: int) -> Measurement:
        del runs  # Ten thousand directories are runs enough.
        asked = _asked(directories, engine)[question]
        measurement = Measurement(disturbed=any(map(_is_disturbed, asked.values())))
        for fleet, found in asked.items():
            measurement.members[found["members"]] = found["cpu_s"]
            measurement.wall_s = [found["wall_s"]]
            measurement.user_s = [sum(found["cpu_s"].values())]
            measurement.peak_rss_bytes = found["peak_rss_bytes"]
            # Each engine is the judge of the other.
            other = _asked(directories, "local")[question][fleet]
            check(found["digest"] == other["digest"], f"{question}: engines answer differently")
        return measurement

    return run


def _is_disturbed(found: Mapping[str, Any]) -> bool:
    """Whether other work took a tenth of the CPUs or more."""
    return bool(found["others_s"] > found["wall_s"] * (os.cpu_count() or 1) / 10)


@cache
def _asked(directories: Directories, engine: str) -> Any:
    if engine == "spark" and directories.sizes.one_session:
        return _folded(directories, _START_MASTER, 1)["fleets"]
    found = report("fleet_worker.py", [engine, _START_MASTER, *_fleets(directories)])
    if "skipped" in found:
        raise SkippedError(found["skipped"])
    return found


def _fleets(directories: Directories) -> list[str]:
    return [str(directories.members(n)) for n in directories.sizes.members]


def local_fold(directories: Directories, runs: int) -> Measurement:
    """The same without Spark, a process for each directory."""
    clusters = directories.incident()
    paths = [str(cluster.log_dir) for cluster in clusters]
    found = report("local_worker.py", [str(runs), *paths])
    _check(clusters, found["counts"], directories)
    return Measurement(**found["fold"])


@cache
def _folded(directories: Directories, master: str, runs: int) -> Any:
    clusters = directories.incident()
    found = _ran(master, runs, directories, clusters)
    _check(clusters, found["counts"], directories)
    return found


def _ran(
    master: str, runs: int, directories: Directories, clusters: Sequence[Cluster]
) -> dict[str, Any]:
    paths = [str(cluster.log_dir) for cluster in clusters]
    sizes = directories.sizes
    fleets = _fleets(directories) if sizes.one_session else []
    options = [str(sizes.split_bytes), sizes.java_options, os.pathsep.join(fleets)]
    found: dict[str, Any] = report("spark_worker.py", [master, str(runs), *options, *paths])
    if "skipped" in found:
        raise SkippedError(found["skipped"])
    return found


def _check(
    clusters: Sequence[Cluster],
    counts: Mapping[str, Mapping[str, int]],
    directories: Directories,
) -> None:
    """Compare the rows of all tables with what the generator was asked for, and with those of the
    checkpoint, as changes of partitions neither add nor remove one.
    """
    sizes = directories.sizes
    check(len(counts) == len(clusters), f"{len(counts)} directories are folded")
    for cluster in clusters:
        expected = {
            **table_rows(cluster.checkpoint),
            "topics": sizes.incident_topics,
            "partitions": sizes.incident_topics * sizes.incident_partitions,
        }
        own = str(cluster.log_dir)
        found = [rows for place, rows in counts.items() if place in (own, f"{own}/{LOG_DIR}")]
        check(found == [expected], f"{own}: {found} rows where {expected} are right")
