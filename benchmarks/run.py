#!/usr/bin/env python3
"""Measure what metashell promises: ``python benchmarks/run.py``.

Owns the command line and the table. Checks every answer and judges no time: a figure that misses
its target is printed like any other, a wrong answer ends the run with exit status 1.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from directories import SMOKE, Directories, Sizes
from figures import FIGURES, Figure
from measure import RSS_UNIT_BYTES, Measurement, SkippedError, WrongOutputError, median

_RUNS: Final = 7
_HEADINGS: Final = (
    "figure", "what", "target", "result", "fastest", "first", "user CPU", "peak memory", "runs",
)  # fmt: skip
_MEGABYTE: Final = 1_000_000
_CACHE_VARIABLE: Final = "METASHELL_CACHE_DIR"
BEGIN: Final = "<!-- results -->\n"
END: Final = "\n<!-- end of results -->"
"""Marks around the table in a document."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    # A run in the background of a script begins with ^C ignored, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments = _parser().parse_args(argv)
    if arguments.list:
        print("\n".join(f"{figure.name:<22}{figure.what}" for figure in FIGURES))
        return 0
    chosen = choose(arguments.only)
    if not chosen:
        print(f"no figure is called {' or '.join(arguments.only)}; see --list", file=sys.stderr)
        return 2
    sizes = SMOKE if arguments.smoke else Sizes()
    for name in ("topics", "changes", "siblings"):
        if getattr(arguments, name) is not None:
            sizes = replace(sizes, **{name: getattr(arguments, name)})
    runs = arguments.runs or (1 if arguments.smoke else _RUNS)
    with ExitStack() as stack:
        folder = arguments.directory or Path(tempfile.gettempdir()) / "metashell-benchmarks"
        if arguments.smoke and arguments.directory is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="metashell-smoke-")))
        directories = Directories(folder, sizes)
        stack.enter_context(nothing_kept(directories))
        results, wrong = measure(chosen, directories, runs)
        print(as_json(results, sizes) if arguments.json else as_table(results))
    if arguments.write is not None:
        write_into(arguments.write, as_table(results))
    for line in wrong:
        print(f"wrong output: {line}", file=sys.stderr)
    return 1 if wrong else 0


@contextmanager
def nothing_kept(directories: Directories) -> Iterator[None]:
    """Let no child answer from images that were kept before, but where a figure wants that."""
    before = os.environ.get(_CACHE_VARIABLE)
    os.environ[_CACHE_VARIABLE] = str(directories.no_cache())
    try:
        yield
    finally:
        if before is None:
            del os.environ[_CACHE_VARIABLE]
        else:
            os.environ[_CACHE_VARIABLE] = before


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py",
        description="Measure metashell on made-up clusters. Every answer is checked, no time is.",
        epilog="What each figure means stands in docs/benchmarks.md.",
    )
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[],
        help="measure this figure alone; * and ? match; may be given several times",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the figures")
    parser.add_argument(
        "--smoke", action="store_true", help="run everything once at a tiny size, in seconds"
    )
    parser.add_argument("--json", action="store_true", help="print every run as JSON, not a table")
    parser.add_argument(
        "--write", type=Path, metavar="FILE",
        help="put the table into a document too, in place of the one there (docs/benchmarks.md)",
    )  # fmt: skip
    parser.add_argument("--runs", type=_count, metavar="N", help=f"runs of each figure ({_RUNS})")
    parser.add_argument(
        "--directory", type=Path, metavar="DIR",
        help="where the made-up directories are kept (the system's folder for temporary files); "
        "those of the same size are used again",
    )  # fmt: skip
    defaults = Sizes()
    parser.add_argument(
        "--topics", type=_count, metavar="N",
        help=f"topics of {defaults.partitions} partitions ({defaults.topics:,})",
    )  # fmt: skip
    parser.add_argument(
        "--changes", type=_count, metavar="N",
        help=f"PartitionChangeRecords after the checkpoint ({defaults.changes:,})",
    )  # fmt: skip
    parser.add_argument(
        "--siblings", type=_count, metavar="N",
        help=f"children of the directory in which names are completed ({defaults.siblings:,})",
    )  # fmt: skip
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def choose(patterns: Sequence[str]) -> list[Figure]:
    """The figures whose name one of the patterns matches; all where there is none."""
    if not patterns:
        return list(FIGURES)
    return [
        figure
        for figure in FIGURES
        if any(fnmatch.fnmatchcase(figure.name, pattern) for pattern in patterns)
    ]


def measure(
    figures: Sequence[Figure], directories: Directories, runs: int
) -> tuple[list[tuple[Figure, Measurement]], list[str]]:
    """Measure figures one after the other.

    Returns:
        (the figures whose answers are right and what they took, what is wrong with the others).
    """
    results, wrong = [], []
    for figure in figures:
        print(f"{figure.name} ...", file=sys.stderr, flush=True)
        try:
            results.append((figure, figure.run(directories, runs)))
        except SkippedError as error:
            print(f"skipped: {figure.name}: {error}", file=sys.stderr, flush=True)
        except WrongOutputError as error:
            wrong.append(f"{figure.name}: {error}")
    return results, wrong


def as_table(results: Sequence[tuple[Figure, Measurement]]) -> str:
    """The results as a table in Markdown, as it stands in docs/benchmarks.md."""
    lines = [machine(), "", _row(_HEADINGS), _row(["---"] * len(_HEADINGS))]
    lines += [_row(_cells(figure, measurement)) for figure, measurement in results]
    return "\n".join(lines)


def write_into(document: Path, table: str) -> None:
    """Replace what stands between the marks of a document by a table."""
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{document}: there is no {BEGIN.strip()} and {END.strip()}")
    document.write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8", newline="\n")


def _cells(figure: Figure, measurement: Measurement) -> list[str]:
    unit = "ms" if figure.unit.startswith("ms") else "s"
    first = measurement.first_s
    return [
        f"`{figure.name}`",
        figure.what,
        figure.target,
        figure.result(measurement),
        "-" if measurement.disturbed else _time(min(measurement.wall_s), unit),
        "-" if first is None else _time(first, unit),
        _time(median(measurement.user_s), unit),
        _memory(measurement.peak_rss_bytes),
        str(len(measurement.wall_s)),
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _time(seconds: float, unit: str) -> str:
    return f"{seconds * 1e3:.2f} ms" if unit == "ms" else f"{seconds:.3f} s"


def _memory(peak_rss_bytes: int) -> str:
    """A peak; where it is no more than our own, a child may have needed less (see `measure`)."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT_BYTES
    sign = "≤ " if peak_rss_bytes <= own else ""
    return f"{sign}{peak_rss_bytes / _MEGABYTE:.0f} MB"


def machine() -> str:
    """The machine and the Python, in one line."""
    return (
        f"{_processor()}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, numpy {_version('numpy')}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def as_json(results: Sequence[tuple[Figure, Measurement]], sizes: Sizes) -> str:
    """Every run of every figure, for a program that compares."""
    figures: list[dict[str, Any]] = [
        {
            "name": figure.name,
            "what": figure.what,
            "target": figure.target,
            "unit": figure.unit,
            "result": figure.result(measurement),
            "wall_s": measurement.wall_s,
            "user_s": measurement.user_s,
            "first_s": measurement.first_s,
            "parts_s": measurement.parts or None,
            "cpu_s": measurement.members or None,
            "disturbed": measurement.disturbed,
            "records": measurement.n_items or None,
            "peak_rss_bytes": measurement.peak_rss_bytes,
        }
        for figure, measurement in results
    ]
    return json.dumps({"machine": machine(), "sizes": asdict(sizes), "figures": figures}, indent=2)


if __name__ == "__main__":
    sys.exit(main())
