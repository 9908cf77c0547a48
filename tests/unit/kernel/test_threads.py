"""Work on several threads: how many, what each gets, and what happens where one fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread, current_thread
from threading import enumerate as running
from types import ModuleType

import pytest

from metashell.kernel import threads
from support.waiting import LIMIT_S


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("3", 3), (" 2 ", 2), ("0", 1), ("99999", 1024), ("", None), ("-1", None),
     ("many", None), ("9" * 30, None), ("²", None)],
)  # fmt: skip
def test_count(monkeypatch: pytest.MonkeyPatch, text: str, expected: int | None) -> None:
    """The variable says how many threads work; what is no number says nothing."""
    monkeypatch.setenv(threads.VARIABLE, text)
    monkeypatch.setattr(threads, "_n_cpus", lambda: 7)

    assert (7 if expected is None else expected) == threads.count()


@pytest.mark.parametrize(("text", "n_cpus", "expected"), [("", 7, 6), ("", 1, 1), ("3", 7, 3)])
def test_a_thread_that_leaves_a_cpu(
    monkeypatch: pytest.MonkeyPatch, text: str, n_cpus: int, expected: int
) -> None:
    """Its work takes one CPU less unless the variable says how many; that of others takes all."""
    monkeypatch.setenv(threads.VARIABLE, text)
    monkeypatch.setattr(threads, "_n_cpus", lambda: n_cpus)
    before, found = threads.count(), list[int]()

    def leave() -> None:
        threads.leave_a_cpu()
        found.append(threads.count())

    thread = Thread(target=leave)
    thread.start()
    thread.join()
    assert (found, threads.count()) == ([expected], before)


def test_a_process_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task of Spark works on one thread, whatever the variable says."""
    monkeypatch.setenv(threads.VARIABLE, "4")
    threads._is_worker_of_spark.cache_clear()
    monkeypatch.setitem(sys.modules, "pyspark.worker", ModuleType("pyspark.worker"))
    try:
        assert 1 == threads.count()
    finally:
        threads._is_worker_of_spark.cache_clear()


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, 2.0),
        ("0::/gone\n", {"cpu.max": "50000 100000"}, 0.5),
        ("0::/../..\n", {"cpu.max": "50000 100000"}, 0.5),
        (
            "4:memory:/x\n3:cpu,cpuacct:/x\n",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "300000",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
                "cpu,cpuacct/cpu.cfs_quota_us": "-1",
                "cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            3.0,
        ),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("", {}, None),
        ("nonsense\n", {"cpu.max": "\n"}, None),
    ],
)
def test_quota(tmp_path: Path, own: str, files: dict[str, str], expected: float | None) -> None:
    """The least quota of the control groups around the process counts, of either version."""
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "own").write_text(own)

    assert expected == threads._quota(tmp_path / "groups", tmp_path / "own")
    assert None is threads._quota(tmp_path / "groups", tmp_path / "none")


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_piece_once(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    """Each piece is worked on once, and no thread is left behind."""
    monkeypatch.setattr(threads, "count", lambda: n_threads)
    done: list[int] = []
    before = set(running())
    threads.run(done.append, range(100))

    assert list(range(100)) == sorted(done)
    assert before == set(running())


def test_two_threads_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are worked on by several threads, and the one that calls is among them."""
    monkeypatch.setattr(threads, "count", lambda: 2)
    together = Barrier(2, timeout=60)
    names = set()

    def work(_: int) -> None:
        together.wait()
        names.add(current_thread().name)

    threads.run(work, range(2))

    assert {current_thread().name, "kernel-1"} == names


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_first_error_ends_the_work(
    monkeypatch: pytest.MonkeyPatch, n_threads: int, error: type[BaseException]
) -> None:
    """Pieces behind the one that fails are left, and its error is raised."""
    monkeypatch.setattr(threads, "count", lambda: n_threads)
    begun: list[int] = []

    def work(piece: int) -> None:
        begun.append(piece)
        if piece == 2:
            raise error("at two")

    with pytest.raises(error, match="at two"):
        threads.run(work, range(100_000))
    assert len(begun) < 100_000


def test_no_more_threads_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system allows no thread, the one that calls does all the work."""
    monkeypatch.setattr(threads, "count", lambda: 4)

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads.Thread, "start", refuse)
    done: list[int] = []
    threads.run(done.append, range(20))

    assert list(range(20)) == done


CHILD = """
import os, sys
from metashell.kernel import threads
threads.count = lambda: 2
done = []
threads.run(done.append, range(10))
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
threads.run(done.append, range(10))
os._exit(0 if len(done) == 20 else 1)
"""


def test_a_child_works_too() -> None:
    """A process that forked after threads worked can let threads work itself."""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", CHILD], timeout=LIMIT_S, check=False)

    assert 0 == ran.returncode
