"""When the thread that asks Spark may tell what it heard."""

from __future__ import annotations

import threading
from threading import Event

import pytest

from metashell.spark_backend import progress
from support.waiting import LIMIT_S


def test_nothing_is_told_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that takes long to answer is not waited for, nor told of afterwards."""
    monkeypatch.setattr(progress, "_POLL_S", 0.001)
    asked, answers, has_answered = Event(), Event(), Event()
    told: list[tuple[int, int]] = []

    def count() -> tuple[int, int]:
        asked.set()
        answers.wait(LIMIT_S)
        has_answered.set()
        return 1, 2

    with progress._polling(count, lambda done, known: told.append((done, known))):
        assert asked.wait(LIMIT_S)
    answers.set()
    assert has_answered.wait(LIMIT_S)
    for thread in threading.enumerate():
        if thread.name == "metashell-spark-progress":
            thread.join(LIMIT_S)
    assert told == []


def test_what_is_known_is_told() -> None:
    """As long as the block goes on."""
    told = Event()
    with progress._polling(lambda: (1, 2), lambda *_: told.set()):
        assert told.wait(LIMIT_S)
