"""The figures: what each measures, on what, and what must come out of it.

One entry of `FIGURES` a figure. Each is a function of the directories and the number of runs; it
raises `WrongOutputError` where the program answers wrongly, and never judges a time.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import group_figures
import replica_figures
from children import BY_NAME, PROGRAM, ask, check, environment, middle_topic, oracle_text, work
from directories import HERE, Cluster, Directories, Sizes
from explorer import (
    PATTERN,
    tui_busy_keys,
    tui_first_paint,
    tui_first_paint_large,
    tui_focus,
    tui_key,
    tui_search,
    tui_view,
    tui_view_bytes,
)
from fleet_worker import QUESTIONS as FLEET_QUESTIONS
from folds import fleet as fleet_by
from folds import local_fold, spark_fold, spark_start, worker_memory
from live_quorum import printed, serving
from measure import Measurement, Output, run_often, run_once
from questions import QUESTIONS, cold, warm

PARTS_OF_IMAGE: Final = 10
_RECORDS_A_RUN: Final = 10
"""Of `live-print`: one takes too little time to tell much."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that is measured."""

    name: str
    what: str
    target: str
    """What is promised; ``-`` where it is there to compare with."""
    unit: str
    """``s``, ``ms``, ``M/s`` (millions of records a second), ``MB`` (of memory); ``ms at most``
    (the slowest), ``KB at most`` (sent to the terminal), ``CPU`` (of each member of a fleet)."""
    run: Callable[[Directories, int], Measurement]

    def result(self, measurement: Measurement) -> str:
        """The median, or the peak, in the figure's unit."""
        if self.unit == "CPU":
            return "; ".join(
                f"{n:,}: {1e3 * sum(cpu.values()) / n:.1f} ms each ("
                + ", ".join(f"{kind} {s / sum(cpu.values()):.0%}" for kind, s in cpu.items() if s)
                + ")"
                for n, cpu in measurement.members.items()
            )
        if self.unit == "MB":
            return f"{measurement.peak_rss_bytes / 1e6:.0f} MB"
        if self.unit == "M/s":
            return f"{measurement.items_per_s / 1e6:.2f} M/s"
        if self.unit == "KB at most":
            return f"{measurement.sent_bytes / 1e3:.1f} KB"
        if self.unit == "ms at most":
            return f"{max(measurement.wall_s) * 1e3:.2f} ms"
        if self.unit == "ms":
            return f"{measurement.median_s * 1e3:.2f} ms"
        return f"{measurement.median_s:.3f} s"


def help_text(_: Directories, runs: int) -> Measurement:
    """``metashell --help``."""
    output, measurement = run_often([*PROGRAM, "--help"], runs)
    check(b"More:" in output.head, "--help does not end with where the rest is")
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


def _cat(
    cluster: Cluster, partition: int, runs: int, variables: Mapping[str, str] | None = None
) -> Measurement:
    topic = middle_topic(cluster.log_dir)
    argv = [*PROGRAM, "-d", str(cluster.log_dir), "cat", f"{BY_NAME}/{topic}/{partition}"]
    output, measurement = run_often(argv, runs, variables)
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
    with serving(directories.whole().checkpoint) as quorum:
        argv = [*PROGRAM, "-q", f"127.0.0.1:{quorum.port}", "pwd"]
        output, measurement = run_often(argv, runs)
    check(output.head == b"/\n", f"{output.head!r} where / is right")
    return measurement


def live_copy(directories: Directories, runs: int) -> Measurement:
    """A program that only copies the snapshot from the same quorum."""
    with serving(directories.whole().checkpoint) as quorum:
        output, measurement = run_often(
            [sys.executable, str(HERE / "live_copy.py"), str(quorum.port)], runs
        )
    size = directories.whole().checkpoint.stat().st_size
    check(output.head == f"{size}\n".encode(), f"{output.head!r} bytes of {size}")
    return measurement


def live_directory(directories: Directories, runs: int) -> Measurement:
    """The same as `live_prompt` with ``-d`` on the same bytes."""
    output, measurement = run_often([*PROGRAM, "-d", str(directories.whole().log_dir), "pwd"], runs)
    check(output.head == b"/\n", f"{output.head!r} where / is right")
    return measurement


def live_print(directories: Directories, runs: int) -> Measurement:
    """From the commit of a record to its line by ``log --follow``."""
    with serving(directories.whole().checkpoint) as quorum:
        return printed(quorum, ["log", "--follow", "--all"], _RECORDS_A_RUN * runs)


def log_json(directories: Directories, runs: int) -> Measurement:
    """Every record of the log as JSON, to a pipe."""
    argv = [*PROGRAM, "-d", str(directories.changed().log_dir), "log", "--all", "--json"]
    output, measurement = run_often(argv, runs)
    check(output.n_lines >= directories.sizes.changes, f"{output.n_lines} records")
    return measurement


def log_grep(directories: Directories, runs: int) -> Measurement:
    """The records whose line matches a regular expression."""
    log = [*PROGRAM, "-d", str(directories.changed().log_dir), "log"]
    output, measurement = run_often([*log, "--grep", PATTERN], runs)
    lines = subprocess.run(log, env=environment(), stdout=subprocess.PIPE, check=True).stdout
    found = sum(1 for line in lines.decode().splitlines() if re.search(PATTERN, line))
    check(output.n_lines == found, f"{output.n_lines} lines where {found} match")
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


def kept_ls(directories: Directories, runs: int) -> Measurement:
    """``ls /image/topics/byName`` with the image in the cache."""
    argv = [*PROGRAM, "-d", str(directories.changed().log_dir), "ls", BY_NAME]
    output, measurement = run_often(argv, runs, _keeping(directories))
    check(output.n_lines == directories.sizes.topics, f"{output.n_lines} topics")
    expected, *_ = run_once(argv)
    check(output == expected, "what is kept has other topics")
    return measurement


def kept_cat(directories: Directories, runs: int) -> Measurement:
    """``cat`` of one partition likewise."""
    partition = directories.sizes.partitions - 1
    return _cat(directories.changed(), partition, runs, _keeping(directories))


@cache
def _keeping(directories: Directories) -> dict[str, str]:
    """Keep the image of `Directories.changed`; the variables by which the program finds it."""
    variable = {"METASHELL_CACHE_DIR": str(directories.cache())}
    n_bytes = ask(
        "import sys; from metashell.sources.cache.opening import open_cached\n"
        "from metashell.sources.cache.writing import store\n"
        "from metashell.reduced.log import Reducing, reduce_place\n"
        "from metashell.log.directory import find_metadata_directory\n"
        "from metashell.log.splits import plan_splits\n"
        "place = find_metadata_directory(sys.argv[1])\n"
        "how = Reducing.of_plan(plan_splits(place))\n"
        "store(place, reduce_place(place), how)\n"
        "print(open_cached(place).tail_bytes)",
        str(directories.changed().log_dir), **variable,
    )  # fmt: skip
    # The last batch vouches for what is kept, and is read each time.
    check(int(n_bytes) < 1 << 16, f"{n_bytes} bytes are not kept")
    return environment(**variable)


def fleet(directories: Directories, runs: int) -> Measurement:
    """``fleet`` of many directories, by as many processes as there are CPUs."""
    clusters, sizes = directories.fleet(), directories.sizes
    places = [word for cluster in clusters for word in ("-d", str(cluster.log_dir))]
    argv = [*PROGRAM, *places, "--engine", "local", "fleet"]
    output, measurement = run_often(argv, runs, pinned=False)
    rows = [line.split() for line in output.head.decode().splitlines()[1:]]
    n_topics = sizes.fleet_topics
    expected = [str(n_topics), str(n_topics * sizes.partitions)]
    found = [row[5:7] for row in rows]
    check(found == [expected] * len(clusters), f"{len(rows)} rows, such as {rows[:1]}")
    return measurement


def quorum_copies(directories: Directories, runs: int) -> Measurement:
    """``quorum --copies`` of three voters' disks."""
    places = [word for disk in directories.voters() for word in ("-d", str(disk))]
    output, measurement = run_often([*PROGRAM, *places, "quorum", "--copies"], runs, pinned=False)
    first = output.head.decode().partition("\n")[0]
    expected = "Voter 3000's copy wins; start 3000 and 3001, or 3000 and 3002."
    check(first == expected, f"{first!r} where {expected!r} is right")
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
    task: str, suffix: str = "", *, scalar: bool = False, pinned: bool = True, **variables: str
) -> Callable[[Directories, int], Measurement]:
    """A task of `worker` on one of the files of a directory."""

    def run(directories: Directories, runs: int) -> Measurement:
        cluster = directories.changed()
        path = cluster.checkpoint if suffix == ".checkpoint" else cluster.segment
        extra = [str(directories.sizes.scalar_records)] if scalar else []
        measurement = work(task, path, runs, extra, pinned=pinned, **variables)
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
    *(
        Figure(
            f"{task}-{kind}{how}", f"{what} of {records}{words}",
            target if not how else "-", "M/s",
            in_process(f"{task}-only", suffix, pinned=how != "-2", **variables),
        )
        for task, what, targets in (
            ("frames", "chain, CRC and frames", ("≥ 25 M/s", "≥ 25 M/s")),
            ("columns", "columns", ("≥ 20 M/s", "≥ 14 M/s")),
        )
        for kind, records, suffix, target in (
            ("changes", "PartitionChangeRecords", ".log", targets[0]),
            ("partitions", "PartitionRecords", ".checkpoint", targets[1]),
        )
        for how, words, variables in (
            ("", "", {}),
            ("-2", ", on two threads", {"METASHELL_THREADS": "2"}),
            ("-numpy", ", by numpy", {"METASHELL_KERNEL": "off"}),
        )
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
    Figure(
        "live-print", "from the commit of a record to its line by `log --follow`",
        "≤ 30 ms", "ms", live_print,
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
    Figure(
        "log-grep", "`log --grep` of a regular expression that a few records match",
        "-", "s", log_grep,
    ),
    Figure("log-topic", "`log --topic` of one topic", "≤ 1.5 s", "s", log_topic),
    Figure("check", "`check`", "≤ 6 s", "s", check_all),
    Figure(
        "groups", "`groups` of a partition of `__consumer_offsets`",
        "≤ 1.5 s, ≤ 550 MB", "s", group_figures.groups,
    ),
    Figure("groups-offsets", "`offsets` of the same", "-", "s", group_figures.offsets),
    Figure("groups-find", "`find` of the same below `/groups`", "-", "s", group_figures.find),
    Figure("groups-ls", "`ls -l /groups` of it", "-", "s", group_figures.list_groups),
    Figure("groups-check", "`check` of it", "-", "s", group_figures.check_log),
    Figure("groups-log-json", "`log --json` of it", "-", "s", group_figures.log_json),
    Figure("groups-broker", "`groups` of a broker's directory", "-", "s", group_figures.node),
    Figure("groups-cat", "`cat` of a group there", "≤ 0.6 s", "s", group_figures.one_group),
    Figure(
        "replicas", "`replicas --sort=-bytes` of a disk with 10,000 replicas",
        "≤ 2 s", "s", replica_figures.few,
    ),
    Figure(
        "replicas-many", "the same of 200,000 replicas",
        "≤ 30 s, ≤ 500 MB", "s", replica_figures.many,
    ),
    Figure(
        "quorum-copies", "`quorum --copies` of three logs of 1,000,000 records",
        "≤ 3 s", "s", quorum_copies,
    ),
    Figure(
        "replicas-start", "`preflight` of the disk with 10,000 replicas",
        "≤ 2 s", "s", replica_figures.start,
    ),
    Figure(
        "replicas-start-many", "the same of 200,000 replicas",
        "≤ 30 s, ≤ 500 MB", "s", replica_figures.start_many,
    ),
    Figure("checksum", "`checksum`", "-", "s", checksum),
    Figure(
        "shell-complete", "completion of a topic's name", "≤ 100 ms", "ms", complete_topic
    ),
    Figure(
        "shell-complete-wide", "completion among 1,000,000 children",
        "≤ 100 ms", "ms", complete_wide,
    ),
    *(
        Figure(f"ask-{q.name}", f"`{q.line}`", "≤ 1.5 s", "s", cold(q))
        for q in QUESTIONS
    ),
    *(
        Figure(f"shell-ask-{q.name}", "the same in the shell", "≤ 300 ms", "ms", warm(q))
        for q in QUESTIONS
    ),
    Figure(
        "spark-start", "a session on `local[2]` and its first query, by Python workers",
        "-", "s", spark_start,
    ),
    Figure(
        "spark-fold-1", "2 GB of segments decoded and folded on `local[1]`",
        "-", "s", spark_fold(1),
    ),
    Figure(
        "spark-fold-2", "the same on `local[2]`",
        "≤ `spark-fold-1` / 1.7, ≤ 1.3 × `local-fold-2`", "s", spark_fold(2),
    ),
    Figure(
        "local-fold-2", "the same without Spark by two processes, a directory each",
        "-", "s", local_fold,
    ),
    Figure(
        "spark-worker-memory", "the largest Python worker of `spark-fold-2`",
        "≤ 16 × the split's bytes (64 MiB)", "MB", worker_memory,
    ),
    *(
        Figure(
            f"fleet-{name}-{engine}",
            "the same by processes here" if engine == "local" else
            f"`{' '.join(words)}` in {Sizes().members[-1]:,} directories of 200 KB on `local[2]`",
            "-" if engine == "local" else
            f"≤ 2 × `fleet-{name}-local`, ≤ 120 s, ≤ 600 MB", "CPU", fleet_by(name, engine),
        )
        for name, words in FLEET_QUESTIONS.items()
        for engine in ("spark", "local")
    ),
    Figure(
        "kept-ls", "`ls /image/topics/byName`, the image in the cache", "≤ 1 s", "s", kept_ls
    ),
    Figure(
        "kept-cat", "`cat` of one partition, the image in the cache", "≤ 1 s", "s", kept_cat
    ),
    Figure(
        "fleet-local", "`fleet` of 40 small directories on all CPUs", "-", "s", fleet
    ),
    Figure(
        "tui-first-paint", "from the start of `demo tui` to the first picture",
        "≤ 0.4 s", "s", tui_first_paint,
    ),
    Figure(
        "tui-first-paint-large", "from the start of `tui` to the first rows on Home",
        "≤ 1.5 s", "s", tui_first_paint_large,
    ),
    Figure(
        "tui-key", "an arrow key in `tui` among the topics", "≤ 50 ms", "ms", tui_key
    ),
    Figure(
        "tui-focus", "`tab` there, to another part and back", "≤ 50 ms", "ms", tui_focus
    ),
    Figure(
        "tui-view", "`4` and `1` there, to another view and back", "≤ 50 ms", "ms", tui_view
    ),
    Figure(
        "tui-busy-keys", "the slowest arrow key in the tree while Health folds all partitions",
        "≤ 50 ms, ≤ 700 MB", "ms at most", tui_busy_keys,
    ),
    Figure(
        "tui-search", "the same search in Records, from `enter` until all is counted and drawn",
        "≤ `log-grep`", "s", tui_search,
    ),
    Figure(
        "tui-view-bytes", "the most that a switch between views sends, at 120 × 35",
        "≤ 26 KB", "KB at most", tui_view_bytes,
    ),
)  # fmt: skip
"""Every figure, in the order of the table."""
