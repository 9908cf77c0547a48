"""Dataclasses that are quick to define are those of Python in everything else."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from metashell import dataclass as ours

OPTIONS: list[dict[str, bool]] = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "order": True},
    {"slots": True, "order": True},
    {"eq": False, "repr": False},
    {"frozen": True, "slots": True, "eq": False},
]


def three(dataclass: Callable[..., Any], options: dict[str, bool]) -> tuple[type, type, type]:
    """Classes with each kind of field, of which one derives from another."""

    @dataclass(**options)
    class Plain:
        """Two values."""

        a: int
        b: object = dataclasses.field(default=None, compare=False)

    @dataclass(**options)
    class Derived(Plain):
        """More values."""

        c: list[int] = dataclasses.field(default_factory=list, repr=False)
        d: int = dataclasses.field(default=7, kw_only=True)
        e: int = dataclasses.field(default=8, init=False)
        f: dict[str, int] = dataclasses.field(default_factory=dict, init=False)

        def __post_init__(self) -> None:
            self.c.append(self.d)

    @dataclass(**options)
    class Own:
        """Methods of its own, and no value."""

        def __init__(self) -> None:
            pass

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    return Plain, Derived, Own


def told(function: Callable[[], object]) -> object:
    """What a call gives, or the kind of its error."""
    try:
        return function()
    except (TypeError, AttributeError) as error:
        return type(error)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_behaves_as_pythons(options: dict[str, bool]) -> None:
    """Objects are made, shown, compared, copied and changed alike, and refuse the same."""
    seen = []
    for dataclass in (ours.dataclass, dataclasses.dataclass):
        plain, derived, own = three(dataclass, options)
        made: list[Any] = [
            *(plain(a=1), plain(a=1, b=2), plain(a=2)),
            *(derived(a=1), derived(a=1, c=[3], d=4), own()),
        ]
        one, other = made[0], made[3]
        seen.append(
            [
                told(lambda plain=plain: repr(plain(1)).partition(" at ")[0]),
                *(told(plain), told(lambda plain=plain: plain(1, 2, 3))),
                told(lambda plain=plain: plain(a=1, z=2)),
                told(lambda derived=derived: derived(a=1, e=2)),
                [a == b for a in made for b in made],
                [told(lambda a=a, b=b: a < b) for a in made for b in made],
                [told(lambda a=a, b=b: a >= b) for a in made for b in made],
                [told(lambda a=a: hash(a) == hash(copy.copy(a))) for a in made],
                [repr(a).partition(" at ")[0] for a in made],
                [dataclasses.asdict(a) for a in made],
                told(lambda one=one: dataclasses.replace(one, a=5).a),
                (other.e, other.f, other.c, derived(a=2).f is derived(a=2).f),
                told(lambda one=one: setattr(one, "a", 3)),
                # Python's own raise TypeError where there are slots, by mistake.
                isinstance(told(lambda one=one: setattr(one, "unknown", 3)), type),
                told(lambda one=one: delattr(one, "b")),
                (one.a, plain.__match_args__, hasattr(one, "__dict__")),
                dataclasses.asdict(copy.deepcopy(other)),
            ]
        )
    assert seen[0] == seen[1]


@ours.dataclass(frozen=True, slots=True)
class Frozen:
    """An object that is sent to other processes."""

    a: int
    b: tuple[str, ...] = ()
    inner: object = dataclasses.field(default=None, repr=False)


def test_pickled() -> None:
    """An object without a dictionary, whose fields can't be set, passes to another process."""
    one = Frozen(1, ("x",))
    assert pickle.loads(pickle.dumps(one)) == one


def test_values_that_contain_themselves() -> None:
    """They are shown as Python shows them."""

    @ours.dataclass
    class Link:
        """An object that points at another."""

        to: object = None

    link = Link()
    link.to = [link]
    assert f"{Link.__qualname__}(to=[...])" == repr(link)


def test_a_constructor_is_compiled_once() -> None:
    """The first object pays for it."""

    @ours.dataclass(slots=True)
    class Late:
        """One value."""

        a: int

    first = Late.__init__
    assert 1 == Late(1).a
    compiled = Late.__init__
    assert first is not compiled
    assert 2 == Late(2).a
    assert compiled is Late.__init__
