"""Counts a method's parameters once: Textual does it anew whenever something is called later.

A key calls dozens of things later, and reading a signature takes as long as drawing a line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType, MethodType
from typing import Any, Final

from textual import _callback

_count: Final[Callable[[Callable[..., Any]], int]] = _callback._count_parameters


@lru_cache(maxsize=4096)
def _count_of_method(function: FunctionType) -> int:
    return _count(MethodType(function, object()))


def _count_once(called: Callable[..., Any]) -> int:
    """How many parameters there are; those of functions in functions are not kept."""
    function = getattr(called, "__func__", None)
    return _count_of_method(function) if isinstance(function, FunctionType) else _count(called)


def count_parameters_once() -> None:
    """Put this in the library's place, for all programs of the process."""
    vars(_callback)["_count_parameters"] = _count_once
