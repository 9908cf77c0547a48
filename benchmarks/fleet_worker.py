"""Measures questions to fleets of small directories: the CPU time of each kind of process.

Started by `folds` as ``python fleet_worker.py ENGINE MASTER FLEET...``, on all CPUs, with folders
of directories; prints what it measured as one line of JSON, or why there is no Spark here. Commands
run in this process, as the command line runs them, in one session of Spark.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from measure import WrongOutputError
from processes import busy_seconds, cpu_seconds, peak_bytes, reset_peak

QUESTIONS: Final = {
    "rows": ("fleet",),
    "find": ("find", "/", "-name", "{topic}"),
    "offline": ("partitions", "--offline"),
    "health": ("health", "--summary"),
}
"""Commands; ``{topic}`` stands for the name of a topic that each directory has."""

_FIRST: Final = 16
"""Directories that are asked before the clock starts."""


def main(argv: Sequence[str]) -> int:
    """Measure and print."""
    engine, master, *fleets = argv
    try:
        if engine == "local":
            print(json.dumps(measure(["--engine", "local"], fleets)))
            return 0
        from metashell.spark_backend.needs import missing_requirement

        reason = missing_requirement(master)
        if reason is not None:
            print(json.dumps({"skipped": reason.message}))
            return 0
        from metashell.spark_backend.session import SparkSettings, session

        with session(SparkSettings(master=master)):
            print(json.dumps(measure_spark(master, fleets)))
    except WrongOutputError as error:
        print(f"fleet_worker: {error}", file=sys.stderr)
        return 1
    return 0


def measure_spark(master: str, fleets: Sequence[str]) -> dict[str, Any]:
    """Ask Spark, in the session that is there."""
    return measure(["--engine", "spark", "--master", master], fleets)


def measure(options: Sequence[str], fleets: Sequence[str]) -> dict[str, Any]:
    """Ask each fleet each question.

    Returns:
        By question and fleet: seconds by the wall and of CPU, and what was printed, as a digest.
    """
    import metashell

    found: dict[str, Any] = {}
    some = sorted(map(str, Path(fleets[0]).iterdir()))[:_FIRST]
    topic = metashell.open(some[0]).ls("/image/topics/byName")[0]
    # So that modules are imported, and Spark's processes run.
    ask([*options, *(word for path in some for word in ("-d", path)), *QUESTIONS["rows"]])
    for name, words in QUESTIONS.items():
        line = [word.format(topic=topic) for word in words]
        own = found[name] = {}
        for fleet in fleets:
            reset_peak()
            begin, busy, cpu = time.perf_counter(), busy_seconds(), cpu_seconds()
            digest, n_lines = ask([*options, "-d", f"{fleet}/*", *line])
            wall, after = time.perf_counter() - begin, cpu_seconds()
            spent = {kind: after[kind] - cpu[kind] for kind in after}
            n_members = len(os.listdir(fleet))
            if name in ("rows", "find") and n_lines < n_members:
                raise WrongOutputError(f"{name}: {n_lines} lines of {n_members} directories")
            own[fleet] = {
                "members": n_members,
                "wall_s": wall,
                "cpu_s": spent,
                "others_s": max(busy_seconds() - busy - sum(spent.values()), 0.0),
                "peak_rss_bytes": peak_bytes(os.getpid()),
                "digest": digest,
            }
    return found


def ask(argv: Sequence[str]) -> tuple[str, int]:
    """Run the command line in this process; returns a digest of what it prints, and its lines."""
    from metashell.cli import main as run

    with tempfile.TemporaryFile() as file:
        with _stdout_into(file):
            status = run(argv)
        if status not in (0, 1):
            raise WrongOutputError(f"exit status {status}: {' '.join(argv)}")
        file.seek(0)
        digest, n_lines = hashlib.sha256(), 0
        for line in file:
            digest.update(line)
            n_lines += 1
    return digest.hexdigest(), n_lines


@contextmanager
def _stdout_into(file: BinaryIO) -> Iterator[None]:
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(file.fileno(), 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
