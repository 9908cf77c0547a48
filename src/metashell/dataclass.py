"""Dataclasses that take little time to define: the program starts often, and does little then.

Python compiles up to six methods for each dataclass. Here the constructor is compiled when it is
first called, and the other methods are shared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter, eq, ge, gt, le, lt
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


def _dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    order: bool = False,
    kw_only: bool = False,
) -> Any:
    """`dataclasses.dataclass`, quicker to define; `fields` and `replace` accept its classes."""

    def define(cls: type) -> Any:
        # Without a text, Python writes the constructor's parameters into one, which takes long.
        cls.__doc__ = cls.__doc__ or cls.__name__
        # With these options Python compiles nothing.
        made: Any = dataclasses.dataclass(  # noqa: TID251
            init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
        )(cls)
        methods: dict[str, Any] = {"__init__": _late_init(made, frozen)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods |= _comparisons(made, frozen, order)
        if frozen:
            methods |= _frozen(made)
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name, method in methods.items():
            # A method that the class itself defines is kept.
            if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
                setattr(made, name, method)
        return made

    return define if cls is None else define(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass  # noqa: TID251
else:
    dataclass = _dataclass


def _late_init(cls: type, frozen: bool) -> Callable[..., None]:
    """A constructor that compiles the real one and leaves it in its place."""

    def __init__(self: object, *values: object, **named: object) -> None:
        made = _compiled_init(cls, frozen)
        # Another constructor may have been put in its place, as tests do.
        if cls.__dict__.get("__init__") is __init__:
            cls.__init__ = made  # type: ignore[misc]
        made(self, *values, **named)

    return __init__


def _compiled_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """Compile a constructor with the fields as parameters, in their order."""
    parameters: list[str] = []
    named_only: list[str] = []
    lines: list[str] = []
    names: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": dataclasses.MISSING}
    for f in dataclasses.fields(cls):
        value, default = f.name, ""
        if f.default is not dataclasses.MISSING:
            names[f"_default_{f.name}"] = f.default
            default = f"=_default_{f.name}"
            value = f.name if f.init else f"_default_{f.name}"
        elif f.default_factory is not dataclasses.MISSING:
            names[f"_make_{f.name}"] = f.default_factory
            default = "=_MISSING"
            value = f"_make_{f.name}()"
            if f.init:
                value += f" if {f.name} is _MISSING else {f.name}"
        elif not f.init:
            continue
        if f.init:
            (named_only if f.kw_only else parameters).append(f.name + default)
        lines.append(f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    listed = ", ".join(["self", *parameters, *(["*", *named_only] if named_only else [])])
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({listed}):\n    {body}\n", names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparisons(cls: type, frozen: bool, order: bool) -> dict[str, Any]:
    """Compare the values of objects of one class; those that never change have a hash."""
    compared = [f.name for f in dataclasses.fields(cls) if f.compare]
    if len(compared) > 1:
        values: Callable[[object], tuple[object, ...]] = attrgetter(*compared)
    else:

        def values(self: object) -> tuple[object, ...]:
            return tuple(getattr(self, name) for name in compared)

    def by(compare: Callable[[Any, Any], Any]) -> Callable[[object, object], Any]:
        def method(self: object, other: object) -> Any:
            if type(other) is not type(self):
                return NotImplemented
            return compare(values(self), values(other))

        return method

    def __hash__(self: object) -> int:
        return hash(values(self))

    compares = (eq, lt, le, gt, ge) if order else (eq,)
    methods: dict[str, Any] = {f"__{compare.__name__}__": by(compare) for compare in compares}
    return {**methods, "__hash__": __hash__ if frozen else None}


def _frozen(cls: Any) -> dict[str, Any]:
    """Refuse to change a field, or any attribute of this class itself."""
    names = frozenset(f.name for f in dataclasses.fields(cls))

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(self: Any) -> list[object]:
    """The values that are pickled of an object without a dictionary."""
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
