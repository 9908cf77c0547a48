"""Figures of the commands that answer questions, over 1,000,000 partitions.

Each is asked twice: by a program of its own, which reads and decodes everything first, and in a
shell whose image is loaded, where the second and later askings count. Answers are compared with
counts over the image's Arrow tables, which are made by other code.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from children import PROGRAM, ask, check, middle_topic, work
from directories import Directories
from measure import Measurement, run_often


@dataclass(frozen=True, slots=True)
class Question:
    """One command line that is asked."""

    name: str
    """Of its figures, after ``ask-`` and ``shell-ask-``."""
    line: str
    """A command that prints a line a row, or a number."""
    expected: str
    """A Python expression of how many: ``t(name)`` is a table, ``pc`` pyarrow.compute."""


_UNDER: Final = (
    "pc.sum(pc.less(pc.list_value_length(t('partitions')['isr']),"
    " pc.list_value_length(t('partitions')['replicas']))).as_py()"
)

QUESTIONS: Final = (
    Question(
        "offline", "partitions --offline --count",
        "pc.sum(pc.equal(t('partitions')['leader'], -1)).as_py()",
    ),
    Question("under-replicated", "partitions --under-replicated --count", _UNDER),
    Question(
        "partitions-of", "partitions --leader 7 --no-preferred-leader -o jsonl",
        "sum(leader == 7 != replicas[0] for leader, replicas in zip("
        "t('partitions')['leader'].to_pylist(), t('partitions')['replicas'].to_pylist()))",
    ),
    Question(
        "summary", "partitions --under-min-isr --summary rack --count",
        "len(set(t('brokers')['rack'].to_pylist()))"
        " if pc.any(pc.less(pc.list_value_length(t('partitions')['isr']), 1)).as_py() else -1",
    ),
    Question("brokers", "brokers --count", "len(t('brokers'))"),
    Question("without", "brokers --without 1,2 --count", "-1"),
    Question("topics", "topics --sort -partitions --count", "len(t('topics'))"),
    Question("nodes", "nodes --count", "len(t('brokers')) + len(t('controllers'))"),
    Question(
        "config", "config min.insync.replicas --count",
        "-1",
    ),
    Question("who-can", "who-can READ topic:{topic} --count", "-1"),
    Question(
        "sql", "sql -o tsv 'select count(*) as n from partitions where leader = -1'", "-1",
    ),
    Question("find", "find / -under-replicated -count", _UNDER),
    # By a number that columns know, and by what stands in one text alone.
    Question("grep", "grep -c leader=7, /image/topics/byName", "-1"),
    Question("grep-text", "grep -c {topic} /image/topics/byName", "-1"),
)  # fmt: skip
"""What is asked; -1 for an answer that is not checked here but in tests."""

_BY_LINES: Final = "-o jsonl"


def cold(question: Question) -> Callable[[Directories, int], Measurement]:
    """Ask once, by a program of its own."""

    def run(directories: Directories, runs: int) -> Measurement:
        log_dir = directories.changed().log_dir
        words = shlex.split(_filled(question.line, log_dir))
        argv = [*PROGRAM, "-d", str(log_dir), *words]
        output, measurement = run_often(argv, runs)
        if _BY_LINES in question.line:
            found = output.n_lines
        else:
            text = output.head.decode().split()
            found = int(text[0]) if text and text[0].isdigit() else -1
        expected = _right_answers(log_dir)[question.name]
        check(expected in (-1, found), f"{question.line}: {found} where {expected} is right")
        return measurement

    return run


def warm(question: Question) -> Callable[[Directories, int], Measurement]:
    """Ask again and again in a shell."""

    def run(directories: Directories, runs: int) -> Measurement:
        log_dir = directories.changed().log_dir
        return work("question", log_dir, runs, [_filled(question.line, log_dir)])

    return run


def _filled(line: str, log_dir: Path) -> str:
    return line.replace("{topic}", middle_topic(log_dir)) if "{topic}" in line else line


@cache
def _right_answers(log_dir: Path) -> dict[str, int]:
    """The right answer to each question, all by one program."""
    answers = ask(
        "import sys, functools, pyarrow.compute as pc; from metashell import open\n"
        "t = functools.cache(open(sys.argv[1]).table)\n"
        "print(*(int(eval(expression)) for expression in sys.argv[2:]))",
        str(log_dir), *(question.expected for question in QUESTIONS),
    )  # fmt: skip
    names = (question.name for question in QUESTIONS)
    return dict(zip(names, map(int, answers.split()), strict=True))
