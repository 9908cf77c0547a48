"""Parameters of what is called later are counted as the library does, methods once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from textual import _callback

from metashell.tui.frame import callbacks


class _Part:
    def none(self) -> None: ...

    def two(self, _first: int, _second: int = 0) -> None: ...

    def any(self, *_all: int) -> None: ...

    def odd(*_all: int) -> None: ...

    @classmethod
    def made(cls, _what: str) -> None: ...


PART = _Part()


@pytest.mark.parametrize(
    "called",
    [PART.none, PART.two, PART.any, PART.odd, _Part.made, _Part.two, lambda _a, _b: None],
    ids=lambda called: called.__name__,
)
def test_counts_as_the_library_does(called: Callable[..., Any]) -> None:
    """Also what is bound to some of its arguments."""
    assert callbacks._count_once(called) == callbacks._count(called)


def test_a_method_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is called later, and of whichever part."""
    n_read = 0

    def read(called: Callable[..., Any]) -> int:
        nonlocal n_read
        n_read += 1
        return count(called)

    count = callbacks._count
    monkeypatch.setattr(_callback, "_count_parameters", _callback._count_parameters)
    callbacks._count_of_method.cache_clear()
    monkeypatch.setattr(callbacks, "_count", read)
    callbacks.count_parameters_once()
    for _ in range(5):
        assert _callback.count_parameters(partial(_Part().two, 1)) == 1
    assert n_read == 1
