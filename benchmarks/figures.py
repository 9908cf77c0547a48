"""The figures: what each measures, on what, and what must come out of it.

One entry of `FIGURES` a figure. Each is a function of the directories and the number of runs; it
raises `WrongOutputError` where the program answers wrongly, and never judges a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from directories import HERE, Cluster, Directories, Sizes, python_path
from measure import Measurement, Output, WrongOutputError, one_cpu, run_often

PROGRAM: Final = (sys.executable, "-m", "metashell")
BY_NAME: Final = "/image/topics/byName"
PARTS_OF_IMAGE: Final = 10


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that is measured."""

    name: str
    what: str
    target: str
    """What is promised; ``-`` where it is there to compare with."""
    unit: str
    """``s``, ``ms`` or ``M/s`` (millions of records a second)."""
    run: Callable[[Directories, int], Measurement]

    def result(self, measurement: Measurement) -> str:
        """The median in the figure's unit."""
        if self.unit == "M/s":
            return f"{measurement.items_per_s / 1e6:.2f} M/s"
        if self.unit == "ms":
            return f"{measurement.median_s * 1e3:.2f} ms"
        return f"{measurement.median_s:.3f} s"


def check(holds: bool, what: str) -> None:
    """Raise unless the program's answer is right."""
    if not holds:
        raise WrongOutputError(what)


def help_text(_: Directories, runs: int) -> Measurement:
    """``metashell --help``."""
    output, measurement = run_often([*PROGRAM, "--help"], runs)
    check(b"Exit status:" in output.head, "--help does not end with the exit codes")
    return measurement


def bare_python(_: Directories, runs: int) -> Measurement:
    """A Python that does nothing."""
    return run_often([sys.executable, "-c", "pass"], runs)[1]


def import_numpy(_: Directories, runs: int) -> Measurement:
    """A Python that imports numpy."""
    return run_often([sys.executable, "-c", "import numpy"], runs)[1]


def ls_image(_: Directories, runs: int) -> Measurement:
    """``ls /image`` of the bundled sample."""
    output, measurement = run_often([*PROGRAM, "demo", "ls", "/image"], runs)
    check(output.n_lines == PARTS_OF_IMAGE, f"{output.n_lines} parts of the image")
    return measurement


def cat_small(_: Directories, runs: int) -> Measurement:
    """``cat`` of a partition of the bundled sample."""
    output, measurement = run_often([*PROGRAM, "demo", "cat", f"{BY_NAME}/orders/0"], runs)
    check(output.head.startswith(b"PartitionRegistration(replicas=["), "no partition")
    return measurement


def cat_whole(directories: Directories, runs: int) -> Measurement:
    """``cat`` of one partition, of a checkpoint alone."""
    return _cat(directories.whole(), directories.sizes.partitions - 1, runs)


def cat_changed(directories: Directories, runs: int) -> Measurement:
    """The same with the changes after it."""
    return _cat(directories.changed(), directories.sizes.partitions - 1, runs)


def _cat(cluster: Cluster, partition: int, runs: int) -> Measurement:
    topic = middle_topic(cluster.log_dir)
    argv = [*PROGRAM, "-d", str(cluster.log_dir), "cat", f"{BY_NAME}/{topic}/{partition}"]
    output, measurement = run_often(argv, runs)
    expected = oracle_text(cluster.log_dir, topic, partition)
    check(output.head.decode() == f"{expected}\n", f"{output.head!r} where {expected} is right")
    return measurement


def ls_topics(directories: Directories, runs: int) -> Measurement:
    """``ls /image/topics/byName``."""
    argv = [*PROGRAM, "-d", str(directories.whole().log_dir), "ls", BY_NAME]
    output, measurement = run_often(argv, runs)
    check(output.n_lines == directories.sizes.topics, f"{output.n_lines} topics")
    return measurement


def find_topics(directories: Directories, runs: int) -> Measurement:
    """``find /image/topics/byName`` to a pipe."""
    argv = [*PROGRAM, "-d", str(directories.whole().log_dir), "find", BY_NAME]
    output, measurement = run_often(argv, runs)
    _check_paths(output, 1 + _paths_of_topics(directories), exactly=True)
    return measurement


def find_all(directories: Directories, runs: int) -> Measurement:
    """``find /`` to a pipe."""
    argv = [*PROGRAM, "-d", str(directories.whole().log_dir), "find", "/"]
    output, measurement = run_often(argv, runs)
    _check_paths(output, 2 * _paths_of_topics(directories), exactly=False)
    return measurement


def changes_cold(directories: Directories, runs: int) -> Measurement:
    """``changes`` of one partition."""
    log_dir, partition = directories.changed().log_dir, directories.sizes.partitions - 1
    path = f"{BY_NAME}/{middle_topic(log_dir)}/{partition}"
    output, measurement = run_often([*PROGRAM, "-d", str(log_dir), "changes", path], runs)
    check(output.n_lines >= 1 and path.encode() in output.head, "no changes")
    return measurement


def live_prompt(directories: Directories, runs: int) -> Measurement:
    """From the start to where a prompt can be drawn, on a live quorum."""
    with _serving(directories) as port:
        argv = [*PROGRAM, "-q", f"127.0.0.1:{port}", "pwd"]
        output, measurement = run_often(argv, runs)
    check(output.head == b"/\n", f"{output.head!r} where / is right")
    return measurement


def live_copy(directories: Directories, runs: int) -> Measurement:
    """A program that only copies the snapshot from the same quorum."""
    with _serving(directories) as port:
        output, measurement = run_often(
            [sys.executable, str(HERE / "live_copy.py"), str(port)], runs
        )
    size = directories.whole().checkpoint.stat().st_size
    check(output.head == f"{size}\n".encode(), f"{output.head!r} bytes of {size}")
    return measurement


def live_directory(directories: Directories, runs: int) -> Measurement:
    """The same as `live_prompt` with ``-d`` on the same bytes."""
    output, measurement = run_often([*PROGRAM, "-d", str(directories.whole().log_dir), "pwd"], runs)
    check(output.head == b"/\n", f"{output.head!r} where / is right")
    return measurement


@contextmanager
def _serving(directories: Directories) -> Iterator[int]:
    """Serve the checkpoint alone from another process; gives the port."""
    argv = [sys.executable, str(HERE / "live_server.py"), str(directories.whole().checkpoint)]
    environment = {**os.environ, "PYTHONPATH": python_path()}
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.stdin.close()


def log_json(directories: Directories, runs: int) -> Measurement:
    """Every record of the log as JSON, to a pipe."""
    argv = [*PROGRAM, "-d", str(directories.changed().log_dir), "log", "--all", "--json"]
    output, measurement = run_often(argv, runs)
    check(output.n_lines >= directories.sizes.changes, f"{output.n_lines} records")
    return measurement


def log_topic(directories: Directories, runs: int) -> Measurement:
    """The records of one topic."""
    log_dir = directories.changed().log_dir
    argv = [*PROGRAM, "-d", str(log_dir), "log", "--topic", middle_topic(log_dir), "--json"]
    output, measurement = run_often(argv, runs)
    check(output.n_lines <= directories.sizes.changes, f"{output.n_lines} records")
    return measurement


def check_all(directories: Directories, runs: int) -> Measurement:
    """``check`` of a sound directory."""
    argv = [*PROGRAM, "-d", str(directories.changed().log_dir), "check"]
    return run_often(argv, runs)[1]


def checksum(directories: Directories, runs: int) -> Measurement:
    """``checksum``."""
    output, measurement = run_often(
        [*PROGRAM, "-d", str(directories.changed().log_dir), "checksum"], runs
    )
    check(output.n_lines == 1, "no digest")
    return measurement


def jump(directories: Directories, runs: int) -> Measurement:
    """``at`` another offset each time, and a partition there."""
    return work("jump", directories.changed().log_dir, runs)


def _paths_of_topics(directories: Directories) -> int:
    """Paths below one of the two directories of topics: each topic, its id and name, partitions."""
    return directories.sizes.topics * (1 + 2 + directories.sizes.partitions)


def _check_paths(output: Output, n_least: int, *, exactly: bool) -> None:
    holds = output.n_lines == n_least if exactly else output.n_lines > n_least
    check(holds and output.head.startswith(b"/"), f"{output.n_lines} paths, {n_least} expected")


def in_process(
    task: str, suffix: str = "", *, scalar: bool = False
) -> Callable[[Directories, int], Measurement]:
    """A task of `worker` on one of the files of a directory."""

    def run(directories: Directories, runs: int) -> Measurement:
        cluster = directories.changed()
        path = cluster.checkpoint if suffix == ".checkpoint" else cluster.segment
        extra = [str(directories.sizes.scalar_records)] if scalar else []
        measurement = work(task, path, runs, extra)
        sizes = directories.sizes
        n_expected = sizes.n_partitions if suffix == ".checkpoint" else sizes.changes
        n_expected = min(n_expected, sizes.scalar_records) if scalar else n_expected
        check(measurement.n_items == n_expected, f"{measurement.n_items} records are decoded")
        return measurement

    return run


def in_shell(
    line: str, kind: str, answer: Callable[[Sizes], str]
) -> Callable[[Directories, int], Measurement]:
    """A command line on the loaded image, and what it must print: see `worker.command`."""

    def run(directories: Directories, runs: int) -> Measurement:
        extra = [line, kind, answer(directories.sizes)]
        return work("command", directories.changed().log_dir, runs, extra)

    return run


def complete_topic(directories: Directories, runs: int) -> Measurement:
    """Completion of a topic's name on the loaded image."""
    return work("completion", directories.changed().log_dir, runs, ["3"])


def complete_wide(directories: Directories, runs: int) -> Measurement:
    """Completion in a directory of very many children."""
    return work("completion", directories.wide().log_dir, runs, ["4"])


def work(task: str, path: Path, runs: int, extra: Sequence[str] = ()) -> Measurement:
    """Run a task of `worker` in a process of its own, on one CPU."""
    argv = [sys.executable, str(HERE / "worker.py"), task, str(path), str(runs), *extra]
    with one_cpu():
        ran = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False, env=_env())
    check(not ran.returncode, f"{task}: exit status {ran.returncode}")
    return Measurement(**json.loads(ran.stdout))


@cache
def middle_topic(log_dir: Path) -> str:
    """The name of a topic in the middle of a directory's topics."""
    return _ask(
        "from metashell import open; import sys; names = open(sys.argv[1]).ls(sys.argv[2])\n"
        "print(names[len(names) // 2])",
        str(log_dir), BY_NAME,
    )  # fmt: skip


def oracle_text(log_dir: Path, topic: str, partition: int) -> str:
    """What ``cat`` of a partition must print, by the scalar decoder."""
    return _ask(
        "import sys; from pathlib import Path; from oracle import partition_text\n"
        "inner = Path(sys.argv[1]) / '__cluster_metadata-0'\n"
        "files = [*inner.glob('*.checkpoint'), *inner.glob('*.log')]\n"
        "print(partition_text(files, sys.argv[2], int(sys.argv[3])))",
        str(log_dir), topic, str(partition),
    )  # fmt: skip


def _ask(code: str, *arguments: str) -> str:
    """Run code in a process of its own, so that its memory is not counted to anyone."""
    argv = [sys.executable, "-c", code, *arguments]
    ran = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, env=_env())
    return ran.stdout.rstrip("\n")


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": python_path()}


FIGURES: Final = (
    Figure(
        "cat-partition", "`cat` of one partition, a checkpoint alone",
        "≤ 0.6 s, ≤ 350 MB", "s", cat_whole,
    ),
    Figure(
        "cat-partition-changes", "`cat` of one partition, with the changes after it",
        "≤ 0.9 s", "s", cat_changed,
    ),
    Figure(
        "decode-changes", "PartitionChangeRecords to columns",
        "≥ 4 M/s", "M/s", in_process("decode-columns", ".log"),
    ),
    Figure(
        "decode-partitions", "PartitionRecords to columns",
        "≥ 2.5 M/s", "M/s", in_process("decode-columns", ".checkpoint"),
    ),
    Figure(
        "table-changes", "PartitionChangeRecords to a `pyarrow.Table`, with uuids as text",
        "-", "M/s", in_process("decode-table", ".log"),
    ),
    Figure(
        "table-partitions", "PartitionRecords to a `pyarrow.Table`, with uuids as text",
        "-", "M/s", in_process("decode-table", ".checkpoint"),
    ),
    Figure(
        "scalar-changes", "PartitionChangeRecords by the scalar decoder",
        "-", "M/s", in_process("decode-scalar", ".log", scalar=True),
    ),
    Figure(
        "scalar-partitions", "PartitionRecords by the scalar decoder",
        "-", "M/s", in_process("decode-scalar", ".checkpoint", scalar=True),
    ),
    Figure("ls-image", "`ls /image` of a small directory", "≤ 0.15 s", "s", ls_image),
    Figure("cat-small", "`cat` of one partition of a small directory", "-", "s", cat_small),
    Figure("help", "`--help`", "≤ 0.08 s", "s", help_text),
    Figure("python", "a Python that does nothing", "-", "s", bare_python),
    Figure("numpy", "a Python that imports numpy", "-", "s", import_numpy),
    Figure("find-all", "`find /` to a pipe, a checkpoint alone", "≤ 2 s", "s", find_all),
    Figure("find-topics", "the same of `/image/topics/byName`", "-", "s", find_topics),
    Figure(
        "live-prompt", "from the start to the first prompt, a quorum with a checkpoint alone",
        "≤ 1.5 × (`live-copy` + `live-directory`)", "s", live_prompt,
    ),
    Figure(
        "live-copy", "the same bytes copied from the same quorum by a bare client",
        "-", "s", live_copy,
    ),
    Figure(
        "live-directory", "the first prompt on a directory with the same bytes",
        "-", "s", live_directory,
    ),
    Figure("ls-topics", "`ls /image/topics/byName`, a checkpoint alone", "≤ 0.7 s", "s", ls_topics),
    Figure(
        "shell-ls", "`ls` of a topic", "≤ 100 ms", "ms",
        in_shell(f"ls -1 {BY_NAME}/{{topic}}", "lines", lambda sizes: str(sizes.partitions + 2)),
    ),
    Figure(
        "shell-cat", "`cat` of a partition", "≤ 100 ms", "ms",
        in_shell(f"cat {BY_NAME}/{{topic}}/1", "partition", lambda _: "1"),
    ),
    Figure(
        "shell-cd", "`cd` into a topic", "≤ 100 ms", "ms",
        in_shell(f"cd {BY_NAME}/{{topic}}", "cwd", lambda _: f"{BY_NAME}/{{topic}}"),
    ),
    Figure(
        "shell-tree", "`tree` of a topic", "≤ 100 ms", "ms",
        in_shell(f"tree {BY_NAME}/{{topic}}", "lines", lambda sizes: str(2 * sizes.partitions + 4)),
    ),
    Figure(
        "shell-find-name", "`find / -name` of a topic's name", "≤ 100 ms", "ms",
        in_shell("find / -name {topic}", "text", lambda _: f"{BY_NAME}/{{topic}}\n"),
    ),
    Figure(
        "shell-find-pattern", "`find /image/topics -name` of the end of one", "≤ 100 ms", "ms",
        in_shell(
            "find /image/topics -name '*{end}' -type d", "text", lambda _: f"{BY_NAME}/{{topic}}\n"
        ),
    ),
    Figure(
        "shell-glob", "`ls -d` of a glob among the topics", "≤ 100 ms", "ms",
        in_shell(f"ls -d {BY_NAME}/*{{end}}/0", "text", lambda _: f"{BY_NAME}/{{topic}}/0\n"),
    ),
    Figure("changes", "`changes` of one partition", "≤ 1.5 s", "s", changes_cold),
    Figure(
        "shell-changes", "`changes` of a topic", "≤ 150 ms", "ms",
        in_shell(f"changes {BY_NAME}/{{topic}}/1", "any", lambda _: ""),
    ),
    Figure(
        "shell-at", "`at` another offset, then `cat` of a partition there",
        "≤ 500 ms", "ms", jump,
    ),
    Figure("log-json", "`log --all --json` of every record", "≤ 8 s", "s", log_json),
    Figure("log-topic", "`log --topic` of one topic", "≤ 1.5 s", "s", log_topic),
    Figure("check", "`check`", "≤ 6 s", "s", check_all),
    Figure("checksum", "`checksum`", "-", "s", checksum),
    Figure(
        "shell-complete", "completion of a topic's name", "≤ 100 ms", "ms", complete_topic
    ),
    Figure(
        "shell-complete-wide", "completion among 1,000,000 children",
        "≤ 100 ms", "ms", complete_wide,
    ),
)  # fmt: skip
"""Every figure, in the order of the table."""
