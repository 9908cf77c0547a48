"""The memory that is free on this machine, of which a session's driver takes a part."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def free_memory_bytes(root: str = "/") -> int:
    """Memory that can be taken without swapping, within what a container allows.

    Args:
        root: Where ``proc`` and ``sys`` are looked for.
    """
    available = _meminfo(Path(root, "proc/meminfo"))
    if available is None:
        available = _physical()
    limits = [left for left in (_left_v2(Path(root)), _left_v1(Path(root))) if left is not None]
    return max(0, min([available, *limits]))


def _meminfo(file: Path) -> int | None:
    with suppress(OSError, ValueError):
        for line in file.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _physical() -> int:
    """Half of the memory there is, for systems that do not tell what is free."""
    with suppress(OSError, ValueError, AttributeError):
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES")) // 2
    return sys.maxsize


def _left_v2(root: Path) -> int | None:
    """The bytes that the control group and those above it leave, by version 2 of their files."""
    base = root / "sys/fs/cgroup"
    left = [
        remaining
        for group in _groups(root, base, "")
        if (remaining := _left(group / "memory.max", group / "memory.current", group)) is not None
    ]
    return min(left, default=None)


def _left_v1(root: Path) -> int | None:
    """The bytes that they leave by version 1."""
    base = root / "sys/fs/cgroup/memory"
    left = [
        remaining
        for group in _groups(root, base, "memory")
        if (
            remaining := _left(
                group / "memory.limit_in_bytes", group / "memory.usage_in_bytes", group
            )
        )
        is not None
    ]
    return min(left, default=None)


def _groups(root: Path, base: Path, controller: str) -> list[Path]:
    """The directories of this process's group and of those above; inside a container only `base`
    may be there.
    """
    name = ""
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text(errors="replace").splitlines():
            _, controllers, path = (*line.split(":", 2), "", "")[:3]
            if controller in controllers.split(","):
                name = path.strip("/")
    parts = [part for part in name.split("/") if part not in ("", "..")]
    return [base.joinpath(*parts[:n]) for n in range(len(parts), -1, -1)]


def _left(limit: Path, used: Path, group: Path) -> int | None:
    """Limit less use, what the system would give back at once not counted as used."""
    with suppress(OSError, ValueError):
        allowed = int(limit.read_text())  # "max" is no number
        cached = 0
        with suppress(OSError, ValueError):
            for line in (group / "memory.stat").read_text().splitlines():
                key, _, value = line.partition(" ")
                if key in ("inactive_file", "total_inactive_file"):
                    cached = max(cached, int(value))
        return max(0, allowed - max(0, int(used.read_text()) - cached))
    return None
