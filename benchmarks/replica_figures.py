"""Figures of a broker's disk with very many replicas."""

from __future__ import annotations

import json

from children import PROGRAM, check
from directories import Directories
from measure import Measurement, run_often


def few(directories: Directories, runs: int) -> Measurement:
    """The replicas of a large broker."""
    return _listed(directories, directories.sizes.disk_topics, runs)


def many(directories: Directories, runs: int) -> Measurement:
    """The replicas of a very large broker."""
    return _listed(directories, 20 * directories.sizes.disk_topics, runs)


def start(directories: Directories, runs: int) -> Measurement:
    """What a start makes of the disk of a large broker."""
    return _foretold(directories, directories.sizes.disk_topics, runs)


def start_many(directories: Directories, runs: int) -> Measurement:
    """What a start makes of the disk of a very large broker."""
    return _foretold(directories, 20 * directories.sizes.disk_topics, runs)


def _foretold(directories: Directories, topics: int, runs: int) -> Measurement:
    place = directories.disk(topics)
    argv = [*PROGRAM, "-d", str(place / "disk"), "preflight", "--columns=code,count", "-o", "tsv"]
    output, measurement = run_often(argv, runs, status=1)
    expected = json.loads((place / "expected.json").read_text(encoding="utf-8"))["strays"]
    found = f"becomes-stray\t{expected}".encode()
    check(found in output.head, f"preflight does not tell {expected} strays")
    return measurement


def _listed(directories: Directories, topics: int, runs: int) -> Measurement:
    place = directories.disk(topics)
    argv = [*PROGRAM, "-d", str(place / "disk"), "replicas"]
    output, measurement = run_often([*argv, "--sort=-bytes"], runs)
    expected = json.loads((place / "expected.json").read_text(encoding="utf-8"))
    n = output.n_lines - 1
    check(n == expected["replicas"], f"{n} replicas where {expected['replicas']} are right")
    summary, _ = run_often([*argv, "--summary=broker", "--columns=stray", "-o", "tsv"], 1)
    strays = int(summary.head.split()[-1])
    check(strays == expected["strays"], f"{strays} strays where {expected['strays']} are right")
    return measurement
