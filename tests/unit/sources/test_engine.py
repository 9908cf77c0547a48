"""The policy: each rule forced, and what is counted for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.sources.engine import (
    THRESHOLD_BYTES,
    EngineSettings,
    bytes_to_decode,
    cores_of,
    is_local,
    shown_master,
    why_spark,
)


def why(n_bytes: int = 1_000_000, **settings: Any) -> str | None:
    """Why Spark decodes a directory, a small one unless it says otherwise."""
    return why_spark(EngineSettings(**settings), n_bytes)


def test_a_small_directory_never_pays_a_java_process() -> None:
    """Up to the threshold this process decodes."""
    assert why(0) is None
    assert why(THRESHOLD_BYTES) is None
    assert why(THRESHOLD_BYTES + 1) is not None


def test_an_engine_asked_for_is_taken() -> None:
    """Whatever there is to decode, and wherever the master is."""
    assert why(1000 * THRESHOLD_BYTES, engine="local") is None
    assert why(1, engine="local", master="spark://h:7077") is None
    assert "`--engine spark`" == why(0, engine="spark")


def test_threshold() -> None:
    """More than the threshold, not as much."""
    assert why(1000, threshold_bytes=1000) is None
    told = why(2_000_000, threshold_bytes=1_500_000)
    assert "2 MB to decode are more than `--spark-threshold` (1.5 MB)" == told
    assert why(1, threshold_bytes=0) is not None


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
    assert (engine == "local") == (why(master=master) is None) == is_local(master)


def test_a_token_is_not_told() -> None:
    """Neither in the reason nor where settings are printed."""
    master = "sc://user:word@h:15002/;use_ssl=true;token=tok3n"
    assert "`--master sc://h:15002` is not this machine" == why(master=master)
    settings = EngineSettings(master=master, conf=(("spark.hadoop.fs.s3a.secret.key", "k3y"),))
    assert "tok3n" not in repr(settings)
    assert "k3y" not in repr(settings)
    assert "fs.s3a.secret.key" in repr(settings)
    assert "k8s://https://h:443" == shown_master("k8s://https://h:443/")


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
    assert 700320 == bytes_to_decode([str(tmp_path)])
    assert 700320 == bytes_to_decode([tmp_path.as_uri()])
    small = tmp_path.with_name("small")
    small.mkdir()
    (small / "00000000000000000000.log").write_bytes(b"1")
    assert 700320 == bytes_to_decode([str(small), str(tmp_path), str(small)])  # the largest
    log_dir = tmp_path.with_name("node")
    log_dir.mkdir()
    tmp_path.rename(log_dir / "__cluster_metadata-0")
    assert 700320 == bytes_to_decode([str(log_dir)])


def test_what_is_not_there_counts_nothing(tmp_path: Path) -> None:
    """Opening it says what is wrong."""
    assert 0 == bytes_to_decode([str(tmp_path / "none"), str(tmp_path)])
