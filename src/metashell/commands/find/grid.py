"""The decisions of ``find`` for whole grids: by lists of leaf names and outcomes of tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from metashell.commands.find.expression import (
    Act,
    Constant,
    Expression,
    Name,
    Operands,
    Path,
    WalkEffect,
)
from metashell.dataclass import dataclass
from metashell.image.fold import distinct

if TYPE_CHECKING:
    from metashell.commands.find.times import GridChanges
    from metashell.fs.walk import GridVisit
    from metashell.schema.arena import I64

PRINTS = (WalkEffect.PRINT, WalkEffect.PRINT0)
COUNTS = Act(WalkEffect.COUNT)


class Leaves:
    """The action to take on the leaves of one shape."""

    __slots__ = ("counted", "end", "match", "printed", "rest")

    def __init__(self) -> None:
        self.printed: list[str] = []
        """Leaves, as written, that are printed, and `end` after each; empty where `rest` is not."""
        self.end = ""
        self.match: Callable[[str], object] | None = None
        """A test that the whole path must pass to be printed, or None."""
        self.rest: list[tuple[int, Expression]] = []
        """Leaves, by where they stand in the shape, and what is left to be asked of their paths."""
        self.counted = 0
        """How many leaves are only counted; then the others are empty."""


@dataclass(frozen=True, slots=True)
class WrittenGrid:
    """A grid's directories with their names, real and as written."""

    visit: GridVisit
    base: str
    real: Sequence[str]
    names: Sequence[str]
    shape_of: Sequence[int]
    shapes: Sequence[Sequence[str]]
    """The names of leaves as written."""
    changes: GridChanges
    """When they were last changed."""


NOTHING = Leaves()


def decide(expression: Expression, real: Sequence[str], written: Sequence[str]) -> Leaves:
    """Evaluate an expression for the leaves of a shape as far as their names allow."""
    decided = Leaves()
    if isinstance(expression, Constant):
        return decided
    left = []
    for i, name in enumerate(real):
        rest = expression.given(is_dir=False, name=name)
        if not isinstance(rest, Constant):
            left.append((i, rest))
    match, end = _test_and_print(left[0][1]) if left else (None, "")
    if end and all(_test_and_print(rest) == (match, end) for _, rest in left):
        decided.printed = [written[i] for i, _ in left]
        decided.match, decided.end = match, end
    elif left and all(rest == COUNTS for _, rest in left):
        decided.counted = len(left)
    else:
        decided.rest = left
    return decided


def codes_left(expression: Expression, codes: I64, *, is_dir: bool) -> list[int]:
    """Codes with which something may happen, of those that occur."""
    if isinstance(expression, Constant):
        return []
    occurring = distinct(codes).tolist()
    rests = (expression.given(is_dir=is_dir, code=code) for code in occurring)
    return [
        code for code, rest in zip(occurring, rests, strict=True) if not isinstance(rest, Constant)
    ]


def only_count(expression: Expression, codes: Sequence[int], *, is_dir: bool) -> bool:
    """Whether all that is left of an expression for nodes of some codes is to count them."""
    return all(expression.given(is_dir=is_dir, code=code) == COUNTS for code in codes)


def _test_and_print(expression: Expression) -> tuple[Callable[[str], object] | None, str]:
    """The one test of the path, and what is printed after it, where there is nothing else."""
    if (
        isinstance(expression, Operands)
        and not expression.decisive
        and len(expression.operands) == 2
    ):
        test, act = expression.operands
        if isinstance(test, Path):
            return test.match, only_print(act)
    return None, only_print(expression)


def only_print(expression: Expression) -> str:
    """The terminator of a printed path if nothing else is left to do, else an empty string."""
    if isinstance(expression, Act) and expression.effect in PRINTS:
        return str(expression.effect.value)
    return ""


def first_name(expression: Expression) -> Name | None:
    """A name test that must pass before anything can happen."""
    if isinstance(expression, Operands) and not expression.decisive:
        expression = expression.operands[0]
    return expression if isinstance(expression, Name) else None
