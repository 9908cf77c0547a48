"""Processes that compute rows: what they give, and that none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.sources.fleet.pool import run_all
from support import fleet_jobs
from support.programs import ended
from support.waiting import LIMIT_S, wait_until


def test_one_worker_is_this_process() -> None:
    """As is one job, however many workers there might be."""
    alone = list(run_all(fleet_jobs.tell, [("a",), ("b",)], 1))
    single = list(run_all(fleet_jobs.tell, [("a",)], 4))

    assert [0, 1] == [i for i, _ in alone]
    assert {os.getpid()} == {row["pid"] for _, row in [*alone, *single] if row is not None}


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_own_row() -> None:
    """The others come from other processes."""
    words = ["a", "die", "b", "c"]
    found = dict(run_all(fleet_jobs.tell, [(word,) for word in words], 2))

    assert found[1] is None
    others = [row for i, row in found.items() if i != 1]
    assert ["a", "b", "c"] == sorted(str(row and row["word"]) for row in others)
    assert os.getpid() not in {row and row["pid"] for row in others}


def test_stopping_ends_what_is_under_way(tmp_path: Path) -> None:
    """^C does not wait for a directory to be read."""

    def stop() -> None:
        if (tmp_path / "first").exists() and (tmp_path / "second").exists():
            raise KeyboardInterrupt

    jobs = [(str(tmp_path), "first"), (str(tmp_path), "second")]
    with pytest.raises(KeyboardInterrupt):
        list(run_all(fleet_jobs.hang, jobs, 2, stop=stop))
    assert_gone(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_do_not_outlive_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    """Neither ^C on the terminal's whole group nor the parent's sudden end leaves one."""
    program = subprocess.Popen(
        [sys.executable, fleet_jobs.__file__, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    with ended(program):
        wait_until(
            lambda: (tmp_path / "first").exists() and (tmp_path / "second").exists(),
            lambda: "both workers are at work",
        )
        if number == signal.SIGINT:
            os.killpg(program.pid, number)
        else:
            program.send_signal(number)
        _, printed = program.communicate(timeout=LIMIT_S)
    assert (130 if number == signal.SIGINT else -number) == program.returncode
    assert b"Traceback" not in printed
    assert_gone(tmp_path)


def assert_gone(directory: Path) -> None:
    """Fail unless the workers that told their ids there end."""
    for name in ("first", "second"):
        pid = int((directory / name).read_text())
        wait_until(lambda pid=pid: not is_running(pid), lambda pid=pid: f"process {pid} ends")  # type: ignore[misc]


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
