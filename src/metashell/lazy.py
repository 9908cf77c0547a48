"""Values computed once, also when two threads ask: a toolbar's while a command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, overload

_T = TypeVar("_T")
_UNKNOWN: Final = object()


class lazy(Generic[_T]):
    """A cached property that computes its value once, also when several threads ask for it.

    `functools.cached_property` may compute a value twice since Python 3.12.

    The object's ``lock`` is held while a value is computed, so that one lazy value can use another.
    A known value is read without the lock.
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
        values = instance.__dict__
        found = values.get(self._name, _UNKNOWN)
        if found is not _UNKNOWN:
            return found  # type: ignore[no-any-return]
        with instance.lock:
            if self._name not in values:
                values[self._name] = self._compute(instance)
            value: _T = values[self._name]
            return value

    def is_known(self, instance: object) -> bool:
        """Whether an object has the value already; computes nothing."""
        return self._name in instance.__dict__

    def known(self, instance: object) -> _T | None:
        """The value that an object has already, or None; waits for nobody who computes it."""
        return instance.__dict__.get(self._name)

    def preset(self, instance: object, value: _T) -> None:
        """Give an object its value, in place of computing it."""
        instance.__dict__[self._name] = value

    def forget(self, instance: object) -> None:
        """Have an object compute its value anew when it is next asked for."""
        instance.__dict__.pop(self._name, None)
