"""Programs that the figures start beside those they measure, and what these must answer.

Owns how a piece of code is run in a process of its own, so that its memory is not counted to the
harness, and the right answers that several figures share. Must stay as small as `measure`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Final

from directories import HERE, python_path
from measure import Measurement, WrongOutputError, one_cpu

BY_NAME: Final = "/image/topics/byName"
PROGRAM: Final = (sys.executable, "-m", "metashell")


def check(holds: bool, what: str) -> None:
    """Raise unless the program's answer is right."""
    if not holds:
        raise WrongOutputError(what)


def environment(**more: str) -> dict[str, str]:
    """The variables of children that import the modules here."""
    return {**os.environ, "PYTHONPATH": python_path(), **more}


def work(
    task: str, path: Path, runs: int, extra: Sequence[str] = (), *, pinned: bool = True, **more: str
) -> Measurement:
    """Run a task of `worker` in a process of its own, on one CPU or, not pinned, on all."""
    with one_cpu() if pinned else nullcontext():
        return Measurement(**report("worker.py", [task, str(path), str(runs), *extra], **more))


def report(script: str, argv: Sequence[str], **more: str) -> Any:
    """Run a script that lies here to its end; returns the JSON that it prints."""
    ran = subprocess.run(
        [sys.executable, str(HERE / script), *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=environment(**more),
    )
    check(not ran.returncode, f"{script} {argv[0]}: exit status {ran.returncode}")
    return json.loads(ran.stdout)


def ask(code: str, *arguments: str, **variables: str) -> str:
    """Run code in a process of its own; returns what it prints."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment(**variables),
    )
    return ran.stdout.rstrip("\n")


@cache
def middle_topic(log_dir: Path) -> str:
    """The name of a topic in the middle of a directory's topics."""
    return ask(
        "from metashell import open; import sys; names = open(sys.argv[1]).ls(sys.argv[2])\n"
        "print(names[len(names) // 2])",
        str(log_dir), BY_NAME,
    )  # fmt: skip


@cache
def oracle_text(log_dir: Path, topic: str, partition: int) -> str:
    """What ``cat`` of a partition must print, by the scalar decoder."""
    return ask(
        "import sys; from pathlib import Path; from oracle import partition_text\n"
        "inner = Path(sys.argv[1]) / '__cluster_metadata-0'\n"
        "files = [*inner.glob('*.checkpoint'), *inner.glob('*.log')]\n"
        "print(partition_text(files, sys.argv[2], int(sys.argv[3])))",
        str(log_dir), topic, str(partition),
    )  # fmt: skip


@cache
def table_rows(checkpoint: Path) -> dict[str, int]:
    """Rows of each table of the image of a checkpoint alone."""
    text = ask(
        "import json, sys; from metashell import open_file\n"
        "source = open_file(sys.argv[1])\n"
        "print(json.dumps({name: len(source.table(name)) for name in source.tables}))",
        str(checkpoint),
    )
    rows: dict[str, int] = json.loads(text)
    return rows
