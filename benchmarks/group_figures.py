"""Figures of a group coordinator's logs: one large partition, and a broker's fifty.

Answers are compared with what the logs come to, which was counted while they were written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from children import PROGRAM, check
from directories import Directories
from group_logs import EXPECTED
from measure import Measurement, run_often


def _asked(
    place: Path, line: str, expected: int, runs: int, *, by_lines: bool = False
) -> Measurement:
    """Ask something of a directory; the answer is a number, or so many lines."""
    output, measurement = run_often([*PROGRAM, "-d", str(place), *line.split()], runs)
    found = output.n_lines if by_lines else int(output.head)
    check(found == expected, f"{line}: {found} where {expected} is right")
    return measurement


def _expected(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / EXPECTED).read_text(encoding="utf-8"))
    return found


def _partition(directories: Directories) -> tuple[Path, dict[str, Any]]:
    place = directories.group_log()
    return place / "__consumer_offsets-0", _expected(place)


def groups(directories: Directories, runs: int) -> Measurement:
    """The groups of a large partition."""
    place, expected = _partition(directories)
    return _asked(place, "groups --count", expected["groups"], runs)


def offsets(directories: Directories, runs: int) -> Measurement:
    """The committed offsets in it."""
    place, expected = _partition(directories)
    return _asked(place, "offsets --count", expected["keys"], runs)


def find(directories: Directories, runs: int) -> Measurement:
    """The committed offsets in it, as leaves of the tree."""
    place, expected = _partition(directories)
    line = "find /groups -path */offsets/*/*"
    return _asked(place, line, expected["keys"], runs, by_lines=True)


def list_groups(directories: Directories, runs: int) -> Measurement:
    """Its groups with their last changes."""
    place, expected = _partition(directories)
    return _asked(place, "ls -l /groups", expected["groups"], runs, by_lines=True)


def one_group(directories: Directories, runs: int) -> Measurement:
    """One group in a broker's directory."""
    argv = [*PROGRAM, "-d", str(directories.broker()), "cat", "/groups/search-service-00001/state"]
    output, measurement = run_often(argv, runs)
    check(b"Stable" in output.head, f"{output.head!r} where Stable is right")
    return measurement


def log_json(directories: Directories, runs: int) -> Measurement:
    """All its records as JSON."""
    place, expected = _partition(directories)
    return _asked(place, "log --json", expected["records"], runs, by_lines=True)


def check_log(directories: Directories, runs: int) -> Measurement:
    """``check`` of it."""
    place, _ = _partition(directories)
    return run_often([*PROGRAM, "-d", str(place), "check"], runs)[1]


def node(directories: Directories, runs: int) -> Measurement:
    """The groups in all partitions of a broker's directory."""
    place = directories.broker()
    return _asked(place, "groups --count", _expected(place)["groups"], runs)
