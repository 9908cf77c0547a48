"""The policy: each rule forced, and what is counted for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metashell.sources.engine import (
    COEFFICIENTS,
    Coefficients,
    DecodeLoad,
    EngineDecision,
    EngineSettings,
    cores_of,
    decide,
    free_memory_bytes,
    is_local,
    measure_load,
    shown_master,
)

GB = 1_000_000_000
FREE_TIME = Coefficients(
    memory_per_byte=0,
    local_seconds_per_byte=0,
    local_seconds_per_directory=0,
    spark_seconds_per_byte=0,
    spark_seconds_per_directory=0,
    spark_seconds_per_task=0,
    spark_start_seconds=5,
    worker_start_seconds=5,
)


def decision(
    size: int = 1_000_000,
    *,
    directories: int = 1,
    largest: int = 0,
    in_turn: bool = False,
    remote: bool = False,
    free_bytes: int = 64 * GB,
    n_cores: int = 2,
    available: bool = True,
    coefficients: Coefficients = COEFFICIENTS,
    **settings: Any,
) -> EngineDecision:
    """What is decided about a load, a small local directory unless it says otherwise."""
    return decide(
        DecodeLoad(
            bytes_to_decode=size,
            n_directories=directories,
            is_remote=remote,
            largest_bytes=largest or size // directories,
            is_in_turn=in_turn,
        ),
        EngineSettings(**settings),
        free_bytes=free_bytes,
        n_cores=n_cores,
        spark_available=available,
        coefficients=coefficients,
    )


def test_a_small_directory_never_pays_a_java_process() -> None:
    """Nothing is said about it either."""
    assert EngineDecision("local") == decision()
    assert EngineDecision("local") == decision(0)
    assert EngineDecision("local") == decision(available=False)
    assert EngineDecision("local") == decision(500_000_000, n_cores=64)
    assert EngineDecision("local") == decision(21_000_000, directories=200)
    assert EngineDecision("local") == decision(21_000_000, directories=200, in_turn=True)


def test_an_engine_asked_for_is_taken() -> None:
    """Whatever the load."""
    assert "local" == decision(500 * GB, engine="local", remote=True).engine
    assert "spark" == decision(0, engine="spark").engine


def test_memory() -> None:
    """The decoded log must fit into half of the free memory."""
    found = decision(3_100_000_000, free_bytes=20 * GB, n_cores=1)
    assert "spark" == found.engine
    assert (
        "using Spark: 3.1 GB to decode take about 15.8 GB of memory, 20 GB are free" == found.reason
    )
    limit = int(20 * GB / 2 / COEFFICIENTS.memory_per_byte)
    assert "local" == decision(limit - 1000, free_bytes=20 * GB, n_cores=1).engine
    assert "spark" == decision(limit + 1000, free_bytes=20 * GB, n_cores=1).engine


def test_threshold() -> None:
    """More than the threshold, not as much."""
    assert "local" == decision(1000, threshold_bytes=1000).engine
    found = decision(2_000_000, threshold_bytes=1_500_000)
    assert ("spark", False) == (found.engine, found.falls_back)
    assert "using Spark: 2 MB to decode are more than `--spark-threshold` (1.5 MB)" == found.reason
    assert "spark" == decision(1, threshold_bytes=0).engine


def test_remote() -> None:
    """A remote source, of whatever size."""
    assert EngineDecision("spark", "using Spark: the source is remote") == decision(0, remote=True)


ROUND = Coefficients(
    memory_per_byte=5,
    local_seconds_per_byte=20e-9,
    local_seconds_per_directory=0.02,
    spark_seconds_per_byte=20e-9,
    spark_seconds_per_directory=0.03,
    spark_seconds_per_task=0.1,
    spark_start_seconds=8,
    worker_start_seconds=6,
)
"""About what they are, in numbers that can be reckoned with."""


@pytest.mark.parametrize(
    ("directories", "each", "n_cores", "master", "in_turn", "engine"),
    [
        # However many small ones there are, all cores of this machine are used without Spark too.
        (37, 100_000, 2, None, False, "local"),
        (200, 105_000, 2, None, False, "local"),
        (2_000, 105_000, 2, None, False, "local"),
        (10_000, 200_000, 2, None, False, "local"),
        (10_000, 200_000, 64, None, False, "local"),
        # A search goes from one to the next: (0.02 + 20e-9 each) against Spark's on all cores.
        (200, 105_000, 2, None, True, "local"),
        (1_000, 105_000, 2, None, True, "local"),
        (10_000, 200_000, 2, None, True, "spark"),
        (1_000, 105_000, 16, None, True, "spark"),
        (10_000, 200_000, 2, "local[1]", True, "local"),
        # Large ones take longer than a session takes to start, few of them too.
        (2, 300_000_000, 2, None, True, "local"),
        (4, 300_000_000, 16, None, True, "spark"),
        (4, 300_000_000, 16, None, False, "local"),
        (40, 1_000_000_000, 4, None, True, "spark"),
    ],
)
def test_many_directories(
    directories: int, each: int, n_cores: int, master: str | None, in_turn: bool, engine: str
) -> None:
    """Spark is weighed by bytes, members, its start and its tasks; no number of them decides."""
    found = decision(
        directories * each,
        directories=directories,
        in_turn=in_turn,
        n_cores=n_cores,
        master=master,
        coefficients=ROUND,
    )
    assert engine == found.engine, found.reason


def test_what_is_said_of_many_directories() -> None:
    """How many there are, how much, and what it takes either way."""
    found = decision(2_000_000_000, directories=10_000, in_turn=True, coefficients=ROUND)
    # 14 + (40 + 300 + 29 * 0.1) / 2 and 40 + 200.
    assert (
        "using Spark: 10000 directories with 2 GB to decode take about 185 s with it, "
        "240 s without" == found.reason
    )


@pytest.mark.parametrize(
    ("directories", "each", "largest", "n_cores", "free", "engine"),
    [
        # One directory is held whole, 5 bytes of memory for each.
        (1, 3_000_000_000, 0, 1, 40, "local"),
        (1, 3_000_000_000, 0, 1, 20, "spark"),
        # Of a fleet no more than what is kept open, or what the processes are at.
        (10_000, 1_000_000, 0, 1, 6, "local"),
        (10_000, 1_000_000, 0, 1, 5, "spark"),
        (100, 1_000_000_000, 0, 1, 20, "local"),
        (100, 1_000_000_000, 0, 1, 10, "spark"),
        (100, 1_000_000_000, 0, 8, 100, "local"),
        (100, 1_000_000_000, 0, 8, 70, "spark"),
        (100, 100_000_000, 3_000_000_000, 1, 40, "local"),
        (100, 100_000_000, 3_000_000_000, 1, 20, "spark"),
    ],
)
def test_memory_of_many_directories(
    directories: int, each: int, largest: int, n_cores: int, free: int, engine: str
) -> None:
    """What is decoded at the same time must fit into half of the free memory."""
    found = decision(
        directories * each,
        directories=directories,
        largest=largest,
        n_cores=n_cores,
        free_bytes=free * GB,
        coefficients=ROUND,
    )
    assert engine == found.engine, found.reason
    assert ("of memory" in found.reason) == (engine == "spark")


@pytest.mark.parametrize(
    ("master", "engine"),
    [
        ("local", "local"),
        ("local[*]", "local"),
        ("local[4]", "local"),
        ("local[4, 2]", "local"),
        ("local-cluster[2,1,1024]", "local"),
        ("spark://h:7077", "spark"),
        ("k8s://https://h:6443", "spark"),
        ("sc://h:15002", "spark"),
    ],
)
def test_master(master: str, engine: str) -> None:
    """One that is not local means Spark."""
    assert engine == decision(master=master).engine
    assert (engine == "local") == is_local(master)


def test_a_token_is_not_told() -> None:
    """Neither in the reason nor where settings are printed."""
    master = "sc://user:word@h:15002/;use_ssl=true;token=tok3n"
    assert "`--master sc://h:15002` is not this machine" in decision(master=master).reason
    settings = EngineSettings(master=master, conf=(("spark.hadoop.fs.s3a.secret.key", "k3y"),))
    assert "tok3n" not in repr(settings)
    assert "k3y" not in repr(settings)
    assert "fs.s3a.secret.key" in repr(settings)
    assert "k8s://https://h:443" == shown_master("k8s://https://h:443/")


def test_time() -> None:
    """Spark where it is done sooner, its start included."""
    slow = replace(FREE_TIME, local_seconds_per_byte=10e-9, spark_seconds_per_byte=12e-9)
    assert "local" == decision(2 * GB, n_cores=2, coefficients=slow).engine
    found = decision(3 * GB, n_cores=2, coefficients=slow)
    assert EngineDecision(
        "spark", "using Spark: 3 GB to decode take about 28 s with it, 30 s without"
    ) == (found)
    assert "local" == decision(3 * GB, n_cores=2, master="local[1]", coefficients=slow).engine
    # This process decodes a fleet on all cores too.
    assert "local" == decision(3 * GB, n_cores=2, directories=2, coefficients=slow).engine
    assert "local" == decision(900 * GB, coefficients=FREE_TIME).engine


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        (None, 6),
        ("local[*]", 6),
        ("local", 1),
        ("local[3]", 3),
        ("local-cluster[2,3,1024]", 6),
        ("spark://h:1", 6),
    ],
)
def test_cores(master: str | None, cores: int) -> None:
    """Of a cluster nothing is known beforehand."""
    assert cores == cores_of(master, 6)


def test_without_spark_it_is_local_and_says_what_was_wanted() -> None:
    """Only where Spark would have been chosen."""
    found = decision(remote=True, available=False)
    assert ("local", True) == (found.engine, found.falls_back)
    assert "Spark is preferred (the source is remote), but cannot run" == found.reason


def test_bytes_are_those_of_what_is_replayed(tmp_path: Path) -> None:
    """The newest checkpoint, the segment in which it ends, and what follows; nothing is read."""
    for name, size in (
        ("00000000000000000000.log", 1),
        ("00000000000000000100.log", 20),
        ("00000000000000000200.log", 300),
        ("00000000000000000000.index", 5000),
        ("00000000000000000000-0000000000.checkpoint", 60000),
        ("00000000000000000150-0000000003.checkpoint", 700000),
        ("00000000000000000090-0000000002.checkpoint", 8000000),
        ("00000000000000000250-0000000003.checkpoint.part", 90000000),
    ):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    load = measure_load([str(tmp_path)])
    whole = DecodeLoad(
        bytes_to_decode=700320, n_directories=1, is_remote=False, largest_bytes=700320
    )
    assert whole == load
    assert load == measure_load([tmp_path.as_uri()])
    log_dir = tmp_path / "node"
    log_dir.mkdir()
    tmp_path.rename(tmp_path.with_name("moved"))
    moved = tmp_path.with_name("moved")
    (moved / "node").rename(tmp_path)
    moved.rename(tmp_path / "__cluster_metadata-0")
    assert load == measure_load([str(tmp_path)])
    two = measure_load([str(tmp_path)] * 2, is_in_turn=True)
    assert replace(load, bytes_to_decode=1400640, n_directories=2, is_in_turn=True) == two


def test_what_is_not_there_counts_nothing(tmp_path: Path) -> None:
    """Opening it says what is wrong."""
    assert 0 == measure_load([str(tmp_path / "none"), str(tmp_path)]).bytes_to_decode


def test_a_uri_is_remote(tmp_path: Path) -> None:
    """A remote place is not listed: it is for Spark whatever its size."""
    assert measure_load(["s3://bucket/x/__cluster_metadata-0"]).is_remote
    assert measure_load([str(tmp_path), "abfs://c@a/x"]).is_remote


def write(root: Path, **files: str) -> None:
    """Make files below a root; ``__`` stands for a slash and ``DOT`` for a dot."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_free_memory_is_what_the_kernel_says(tmp_path: Path) -> None:
    """Where no container limits it."""
    write(tmp_path, proc__meminfo="MemTotal: 900 kB\nMemAvailable:    500 kB\n")
    assert 500 * 1024 == free_memory_bytes(str(tmp_path))
    write(tmp_path, sys__fs__cgroup__memoryDOTmax="max\n", sys__fs__cgroup__memoryDOTcurrent="5\n")
    assert 500 * 1024 == free_memory_bytes(str(tmp_path))


def test_free_memory_heeds_cgroup_v2(tmp_path: Path) -> None:
    """The tightest of the group and those above it; cached files are free."""
    write(
        tmp_path,
        proc__meminfo="MemAvailable: 500 kB\n",
        proc__self__cgroup="0::/a/b\n",
        sys__fs__cgroup__a__memoryDOTmax="100000\n",
        sys__fs__cgroup__a__memoryDOTcurrent="60000\n",
        sys__fs__cgroup__a__memoryDOTstat="anon 1\ninactive_file 20000\n",
        sys__fs__cgroup__a__b__memoryDOTmax="90000\n",
        sys__fs__cgroup__a__b__memoryDOTcurrent="10000\n",
    )
    assert 60_000 == free_memory_bytes(str(tmp_path))


def test_free_memory_heeds_cgroup_v1(tmp_path: Path) -> None:
    """Inside of a container its own group is the root of the tree."""
    write(
        tmp_path,
        proc__meminfo="MemAvailable: 500 kB\n",
        proc__self__cgroup="4:memory:/docker/abc\n3:cpu:/x\n",
        sys__fs__cgroup__memory__memoryDOTlimit_in_bytes="70000\n",
        sys__fs__cgroup__memory__memoryDOTusage_in_bytes="90000\n",
        sys__fs__cgroup__memory__memoryDOTstat="total_inactive_file 30000\n",
    )
    assert 10_000 == free_memory_bytes(str(tmp_path))


def test_free_memory_is_known_anyhow(tmp_path: Path) -> None:
    """Where none of these files is."""
    assert free_memory_bytes(str(tmp_path)) > 0
    assert free_memory_bytes() > 0
