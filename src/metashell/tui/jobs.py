"""Work that takes time, in threads: decoding, walking, the network.

A job computes and touches no widget; what it has to say is carried out in the thread that draws.
The result of one that was cancelled, or whose widget is gone, is dropped. A thread can't be killed:
work that may take long asks `Job.cancelled` now and then, as commands do. The thread that draws
goes first where several wait for a processor, and jobs leave it one.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar

from textual.message import Message
from textual.widget import Widget

from metashell.errors import MetashellError
from metashell.kernel.threads import leave_a_cpu

if TYPE_CHECKING:
    from textual.app import App
    from textual.dom import DOMNode
    from textual.message_pump import MessagePump


_SWITCH_S: Final = 0.0005
"""How long a job may keep the thread that draws waiting for the interpreter."""
_GARBAGE: Final = (50_000, 20, 100)
"""Thresholds of the collector: to look at all objects takes longer than a key press may."""
_ARENA_MAX: Final = -8
"""M_ARENA_MAX of glibc's mallopt."""
_MMAP_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of it."""
_COLUMN_BYTES: Final = 1 << 20
"""Larger blocks are columns, and go back to the system as soon as they are freed."""


@contextmanager
def ready_for_keys() -> Iterator[None]:
    """Let the thread that draws go first, and have glibc's allocator keep one heap.

    Glibc has a heap for each few threads by default. Jobs run in threads: one job can't use the
    memory that another job freed, and 400 MB stayed unused. Large blocks stay out of the heap,
    where small blocks behind them would keep them from being freed.
    """
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    gc.set_threshold(*_GARBAGE)
    sys.setswitchinterval(_SWITCH_S)
    _call_allocator("mallopt", _ARENA_MAX, 1)
    _call_allocator("mallopt", _MMAP_THRESHOLD, _COLUMN_BYTES)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.unfreeze()


def release_freed() -> None:
    """Give memory that was freed back to the system: glibc's, and that of Arrow's own pool."""
    arrow: Any = sys.modules.get("pyarrow")
    if hasattr(arrow, "default_memory_pool"):
        arrow.default_memory_pool().release_unused()
    _call_allocator("malloc_trim", 0)


def _call_allocator(name: str, *arguments: int) -> None:
    """Call a function that only glibc has; elsewhere nothing is done."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None)[name](*arguments)


_T = TypeVar("_T")

THREAD_NAME = "metashell-explorer"
"""Name of the threads."""
READING_OLDER = "reading older files: since when"
"""Title of the jobs that fill in times."""
OPENING = "open"
"""Key of the job that opens the source: nothing is left to be shown without it."""
_NICENESS = 10
"""How much a job gives way to the thread that draws, and to other programs."""
_LOOK_S = 0.05
"""How often a job that waits for the others looks whether they have ended."""
_PASS_S = 0.5
"""How long a job lets others pass that are worth more."""
_PASS_LOOK_S = 0.01
"""How often it looks whether they have."""


class Job:
    """One piece of work."""

    def __init__(
        self,
        title: str,
        owner: MessagePump,
        key: str,
        post: Callable[[Told], Any],
        turn: threading.Lock,
        *,
        leads: bool = False,
        is_awaited: bool = False,
        comes_last: bool = False,
    ) -> None:
        self.title = title
        """The text for the user, such as ``listing /image/topics``."""
        self.owner = owner
        self.key = key
        self.began = time.monotonic()
        self.leads = leads
        """Whether the keys typed behind it are for where it leads: they wait for it, and so do
        other jobs for a moment."""
        self.is_awaited = is_awaited
        """Whether keys alone wait for it."""
        self.progress: tuple[int, int] | None = None
        """(done, in all) where it tells."""
        self.waits = comes_last
        """Whether it waits for the others to end."""
        self._post, self._turn = post, turn
        self._cancelled = threading.Event()

    def cancelled(self) -> bool:
        """Whether nobody wants the result any more; may be asked from any thread."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Want the result no more."""
        self._cancelled.set()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other job works on all partitions: together they take the memory of each.

        Raises:
            KeyboardInterrupt: It was cancelled meanwhile.
        """
        while not self._turn.acquire(timeout=_LOOK_S):
            if self.cancelled():
                raise KeyboardInterrupt
        try:
            yield
        finally:
            self._turn.release()
            release_freed()

    def rest(self, seconds: float) -> None:
        """Sleep, no longer than the result is wanted; from within the work."""
        self._cancelled.wait(max(seconds, 0.0))

    def tell(self, action: Callable[..., object], *args: object) -> None:
        """Have something done in the thread that draws, from within the work."""
        self._post(Told(self, lambda: action(*args)))


def _give_way() -> None:
    """Have the thread that calls it run after others: on Linux each has its own priority."""
    leave_a_cpu()
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS)


class Told(Message):
    """A job's message to the thread that draws."""

    bubble = False

    def __init__(self, job: Job, action: Callable[[], object], *, is_end: bool = False) -> None:
        super().__init__()
        self.job, self.action, self.is_end = job, action, is_end


class Jobs:
    """All jobs of the program.

    Args:
        app: Gets a `Told` for everything that a job has to say.
        fails: Called with what went wrong with a job that has no `failed` of its own.
        changed: Called whenever a job begins or ends.
    """

    def __init__(
        self,
        app: App[Any],
        fails: Callable[[Exception], object],
        changed: Callable[[], object],
    ) -> None:
        self._app, self._fails, self._changed = app, fails, changed
        self._running: list[Job] = []
        self._turn = threading.Lock()
        self.spent_s = 0.0
        """How long all took that have ended, but for those in the background."""

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs that run and are not cancelled, oldest first."""
        return tuple(job for job in self._running if not job.cancelled())

    def goes_on(self, job: Job | None) -> TypeGuard[Job]:
        """Whether a job, if there is one, has not ended and is wanted."""
        return job in self.running

    @property
    def busy(self) -> tuple[Job, ...]:
        """The running jobs with a title. Jobs that wait for news in the background have none."""
        return tuple(job for job in self.running if job.title)

    def start(
        self,
        title: str,
        work: Callable[[Job], _T],
        done: Callable[[_T], object],
        *,
        owner: MessagePump,
        key: str = "",
        failed: Callable[[MetashellError], object] | None = None,
        leads: bool = False,
        is_awaited: bool = False,
        comes_last: bool = False,
    ) -> Job:
        """Begin a job; one of the same owner and key is cancelled.

        Args:
            title: The text for the user; empty for a job that runs in the background all the time.
            work: Called in a thread of its own.
            done: Called in the thread that draws, with what `work` returned.
            owner: The widget that it works for; its result is dropped if the widget is gone.
            key: The name of the job among the owner's jobs.
            failed: Called in place of `done` for an error that is no defect; else it is shown.
            leads: Whether the keys typed after it are for the place that it leads to.
            is_awaited: Whether these keys are for its result, which may take long.
            comes_last: Whether it begins only once the user waits for no other job: two jobs that
                fold all partitions take the memory of both.
        """
        self.cancel(owner, key)
        job = Job(
            *(title, owner, key, self._post, self._turn),
            leads=leads,
            is_awaited=is_awaited,
            comes_last=comes_last,
        )
        older = tuple(self._running)

        def run() -> None:
            end: Callable[[], object]
            if key != OPENING:
                _give_way()
            try:
                if title:  # others without a title are short
                    self._let_pass(job, older)
                self._wait_for_others(job)
                result = work(job)
                end = lambda: done(result)  # noqa: E731
            except KeyboardInterrupt:
                end = job.cancel  # how commands end that were cancelled
            except MetashellError as error:
                problem = error
                end = lambda: (failed or self._fails)(problem)  # noqa: E731
            except Exception as error:
                defect = error
                end = lambda: self._fails(defect)  # noqa: E731
            self._post(Told(job, end, is_end=True))

        self._running.append(job)
        threading.Thread(target=run, name=THREAD_NAME, daemon=True).start()
        self._changed()
        return job

    def _post(self, told: Told) -> None:
        """Send what a job has to say to the thread that draws; from within the work.

        The program may end, and its loop with it, while the message is on its way.
        """
        try:
            self._app.post_message(told)
        except RuntimeError:
            if self._app.is_running:
                raise

    @property
    def leading(self) -> tuple[Job, ...]:
        """The jobs that keys wait for, newest first."""
        awaited = (job for job in reversed(self.running) if job.leads or job.is_awaited)
        return tuple(job for job in awaited if job.owner.is_attached)

    def lead(self, part: DOMNode, *keys: str) -> None:
        """Have keys wait for what goes on in a part: they are for what it will show.

        Args:
            part: The owner of the jobs, or what it is in.
            keys: Which jobs.
        """
        for job in self.running:
            owner: Any = job.owner
            if job.key in keys and part in owner.ancestors_with_self:
                job.leads = True

    def _let_pass(self, job: Job, older: tuple[Job, ...]) -> None:
        """Wait a moment for jobs that keys wait for, and for the job that this one replaces.

        All jobs share one lock and few processors. While the user passes nodes by, no node's job
        begins.

        Args:
            job: The job, in whose thread it is called.
            older: The jobs that ran when it was started.

        Raises:
            KeyboardInterrupt: It was cancelled meanwhile.
        """
        end = time.monotonic() + _PASS_S
        while not job.leads and any(self._passes(other, job) for other in older):
            if job.cancelled():
                raise KeyboardInterrupt
            if time.monotonic() >= end:
                return
            job.rest(_PASS_LOOK_S)

    def _passes(self, other: Job, job: Job) -> bool:
        """Whether a job goes on that another one lets pass."""
        if other not in self._running:
            return False
        if other.cancelled():
            return other.owner is job.owner and other.key == job.key
        return other.leads

    def _wait_for_others(self, job: Job) -> None:
        """Wait until a job may begin; in its thread.

        Raises:
            KeyboardInterrupt: It was cancelled meanwhile.
        """
        while job.waits:
            if job.cancelled():
                raise KeyboardInterrupt
            if any(not other.waits for other in self.busy):
                job.rest(_LOOK_S)
            else:
                job.waits = False

    def cancel(self, owner: MessagePump, key: str = "") -> None:
        """Cancel a widget's job of that key."""
        for job in self.running:
            if job.owner is owner and job.key == key:
                job.cancel()

    def cancel_newest(self) -> Job | None:
        """Cancel what was begun last and shows; returns it, or None where nothing goes on.

        Opening the source is ended by leaving.
        """
        for job in reversed(self.busy):
            if job.key == OPENING:
                continue
            job.cancel()
            self._changed()
            return job
        return None

    def cancel_all(self) -> None:
        """Cancel everything: the program ends."""
        for job in self._running:
            job.cancel()

    def carry_out(self, told: Told) -> None:
        """Do what a job has to say; called in the thread that draws.

        It waits for a widget that is not composed yet. Nothing is done for a widget whose own
        message pump, or that of a part around it, has stopped: its children are going.
        """
        job = told.job
        owner: Any = job.owner
        is_early = isinstance(owner, Widget) and owner.is_attached and not owner.is_mounted
        if is_early and owner.call_later(self._app.post_message, told):
            return
        if told.is_end and job in self._running:
            self._running.remove(job)
            if job.title:
                self.spent_s += time.monotonic() - job.began
            self._changed()
        stands = owner.is_attached and all(part.is_running for part in owner.ancestors_with_self)
        if not job.cancelled() and stands:
            told.action()
