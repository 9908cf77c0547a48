"""The free memory, by the files of made-up kernels and containers."""

from __future__ import annotations

from pathlib import Path

from metashell.spark_backend.free_memory import free_memory_bytes


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
