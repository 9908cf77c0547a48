"""Values computed once, also when two threads ask: a toolbar's while a command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class lazy(Generic[_T]):
    """As `functools.cached_property`, which since Python 3.12 may compute a value twice.

    The object's ``lock`` is held while a value is computed, so that one lazy value can use another.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[_T]: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> _T: ...
    def __get__(self, instance: Any, owner: type) -> lazy[_T] | _T:
        if instance is None:
            return self
        with instance.lock:
            values = instance.__dict__
            if self._name not in values:
                values[self._name] = self._compute(instance)
            value: _T = values[self._name]
            return value
