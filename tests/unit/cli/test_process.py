"""The program as a process: broken pipes, full disks, signals, closed streams, locales."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.programs import ended
from support.waiting import LIMIT_S

Shell = Callable[..., subprocess.CompletedProcess[bytes]]
HAS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def test_reader_that_leaves(shell: Shell) -> None:
    """`| head -1` ends the program quietly, with 0."""
    done = shell("{ $M -d x flood 200000; echo $? >&3; } 3>&2 | head -1")
    assert (b"0 " + b"x" * 60 + b"\n", b"0\n") == (done.stdout, done.stderr)


def test_reader_that_left_before(environment: dict[str, str]) -> None:
    """So does a reader that is gone when the last piece is written."""
    reader, writer = os.pipe()
    os.close(reader)
    fake = Path(__file__).with_name("fake_program.py")
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            [sys.executable, fake, "-d", "x", "echo", "hi"],
            env=environment, stdout=stdout, stderr=subprocess.PIPE, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    assert (0, b"") == (done.returncode, done.stderr)


@HAS_FULL
@pytest.mark.parametrize("command", ["-d x echo hi", "-d x flood 100000", "--help"])
def test_full_disk(shell: Shell, command: str) -> None:
    """One line, exit status 1."""
    done = shell(f"$M {command} >/dev/full")
    line = b"metashell: standard output: No space left on device\n"
    assert (1, line) == (done.returncode, done.stderr)


@pytest.mark.long
def test_closed_standard_output(shell: Shell) -> None:
    """It matters only to what writes."""
    writes, does_not = shell("$M -d x echo hi >&-"), shell("$M -d x exit >&-")
    assert (1, b"metashell: standard output: Bad file descriptor\n") == (
        writes.returncode,
        writes.stderr,
    )
    assert (0, b"") == (does_not.returncode, does_not.stderr)


def test_closed_standard_error(shell: Shell) -> None:
    """Diagnostics nobody can read change nothing."""
    done = shell("$M -d x fail 2>&-")
    assert (1, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_closed_standard_input(shell: Shell) -> None:
    """An absent script is an empty one."""
    done = shell("$M -d x <&-")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_interrupt_signal(environment: dict[str, str]) -> None:
    """SIGINT ends the program with 130 and without a traceback."""
    fake = Path(__file__).with_name("fake_program.py")
    process = subprocess.Popen(
        [sys.executable, fake, "-d", "x", "wait"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with ended(process):
        assert process.stderr is not None
        assert b"waiting\n" == process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)
    assert (130, b"", b"") == (process.returncode, out, err)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_is_utf8_whatever_the_locale(shell: Shell, encoding: str) -> None:
    """Names come out as Kafka holds them."""
    done = shell(
        "printf 'echo snow\\342\\230\\203' | $M -d x", PYTHONIOENCODING=encoding, LC_ALL="C"
    )
    assert (0, "snow☃\n".encode()) == (done.returncode, done.stdout)


def test_diagnostics_stand_where_they_belong(shell: Shell) -> None:
    """With both streams in one file, a diagnostic comes after the data before it."""
    done = shell("$M -d x --keep-going -c 'echo a' -c fail -c 'echo b' 2>&1")
    assert b"a\nfail: /nope: No such file or directory\nb\n" == done.stdout


def test_help_imports_nothing_heavy(environment: dict[str, str]) -> None:
    """`--help` must be there at once."""
    code = (
        "import sys; from metashell.cli import main; main(['--help']);"
        "print(sorted({'numpy', 'pyarrow', 'argparse', 'json', 'javaproperties', 'prompt_toolkit'}"
        " & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (0, b"[]\n") == (done.returncode, done.stderr)


def test_runs_as_a_module(environment: dict[str, str]) -> None:
    """`python -m metashell` is the program too."""
    done = subprocess.run(
        [sys.executable, "-m", "metashell", "--nonsense"],
        env=environment, capture_output=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert 2 == done.returncode
    assert b"metashell: unknown option `--nonsense`\n" in done.stderr


@pytest.mark.long
def test_ends_before_its_threads_do(environment: dict[str, str]) -> None:
    """A thread that is within a library when the program ends can't abort the process."""
    code = (
        "import atexit, sys, threading, duckdb; from metashell.cli import run_process\n"
        "begun = threading.Event()\n"
        "def run():\n"
        "    connection = duckdb.connect()\n"
        "    while True:\n"
        "        connection.execute('select sum(i) from range(100000) as t(i)').fetchall()\n"
        "        begun.set()\n"
        "def end(): print('end', flush=False)\n"
        "threading.Thread(target=run, daemon=True).start(); begun.wait()\n"
        "sys.argv = ['metashell', '--nonsense']\n"
        "try: run_process()\n"
        "finally: atexit.register(end)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, capture_output=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert (2, b"end\n") == (done.returncode, done.stdout)
    assert b"metashell: unknown option `--nonsense`\n" in done.stderr
