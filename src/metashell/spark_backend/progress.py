"""How far Spark's jobs have come, in tasks.

Owns the thread that asks a classic session; a Connect session tells by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

Progress = Callable[[int, int], None]

_POLL_S: Final = 0.2


@contextmanager
def watch(session: Any, progress: Progress | None) -> Iterator[None]:
    """Report (tasks done, tasks known) of all jobs that a block runs in a session."""
    if progress is None:
        yield
    elif _is_connect(session):
        handler = _ConnectHandler(progress)
        session.registerProgressHandler(handler)
        try:
            yield
        finally:
            with suppress(ValueError):
                session.removeProgressHandler(handler)
    else:
        with _polling(_ClassicCount(session), progress):
            yield


def _is_connect(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect.")


class _ConnectHandler:
    """The handler that a Connect session calls with the stages of an operation."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._operations: dict[str | None, tuple[int, int]] = {}

    def __call__(
        self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: Any, done: bool
    ) -> None:
        """Note the state of one operation and report the sum of all."""
        known = list(stages or ())
        n_tasks = sum(stage.num_tasks for stage in known)
        n_done = n_tasks if done else sum(stage.num_completed_tasks for stage in known)
        if n_tasks:
            self._operations[operation_id] = (n_done, n_tasks)
            counts = self._operations.values()
            self._progress(sum(n for n, _ in counts), sum(n for _, n in counts))


class _ClassicCount:
    """The tasks of all stages of the jobs seen since this was made."""

    def __init__(self, session: Any) -> None:
        self._tracker = session.sparkContext.statusTracker()
        self._stages: dict[int, tuple[int, int]] = {}
        self._stages_of: dict[int, tuple[int, ...]] = {}

    def __call__(self) -> tuple[int, int]:
        """(done, known)."""
        active = set(self._tracker.getActiveJobsIds())
        for job in active:
            info = self._tracker.getJobInfo(job)
            if info is not None:
                self._stages_of[job] = tuple(info.stageIds)
        for job, stages in self._stages_of.items():
            for stage in stages:
                self._note(stage, job in active)
        counts = self._stages.values()
        return sum(n for n, _ in counts), sum(n for _, n in counts)

    def _note(self, stage: int, is_active: bool) -> None:
        done, known = self._stages.get(stage, (0, 0))
        if is_active and not (known and done == known):
            info = self._tracker.getStageInfo(stage)
            if info is not None:
                self._stages[stage] = (int(info.numCompletedTasks), int(info.numTasks))
        else:
            self._stages[stage] = (known, known)


@contextmanager
def _polling(count: Callable[[], tuple[int, int]], progress: Progress) -> Iterator[None]:
    """Report a count now and then, on a thread, until the block ends; never after it."""
    end, telling = threading.Event(), threading.Lock()

    def poll() -> None:
        # A session that is ended meanwhile has nothing more to say.
        with suppress(Exception):
            while not end.wait(_POLL_S):
                done, known = count()
                # Asking can take longer than anybody waits for this thread.
                with telling:
                    if known and not end.is_set():
                        progress(done, known)

    thread = threading.Thread(target=poll, daemon=True, name="metashell-spark-progress")
    thread.start()
    try:
        yield
    finally:
        with telling:
            end.set()
        thread.join(_POLL_S * 10)
