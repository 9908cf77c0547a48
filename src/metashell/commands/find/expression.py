"""The expression of ``find``: parsed, and evaluated as far as what is known of a node allows.

`Expression.given` takes what is known of a node, or of many at once (their kind and depth, perhaps
their name), and returns what is left to be asked: constants where nothing is. So a grid of millions
of leaves is decided once for each distinct list of names. The result has the same effects in the
same order as evaluating the whole from left to right for each node.

Nothing here walks or writes; what is to be done `Expression.run` tells a `Doer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from metashell.commands.find.literal import NO_NEEDLE, Needle
from metashell.dataclass import dataclass
from metashell.fs.pattern import Pattern

if TYPE_CHECKING:
    from metashell.commands.find.printf import Format
    from metashell.log.time_spec import TimeSpec


class WalkEffect(Enum):
    """The effects that evaluating a node can ask for."""

    PRINT = "\n"
    PRINT0 = "\0"
    PRUNE = "prune"
    QUIT = "quit"
    COUNT = "count"


class Doer(Protocol):
    """Who does what an evaluation asks for."""

    @property
    def quits(self) -> bool:
        """Whether the search ends here."""

    def do(self, action: Action, path: str) -> bool:
        """Act on a path; returns whether it passes."""


class Expression:
    """A test, an action, or several of them."""

    def run(self, path: str, doer: Doer) -> bool:
        """Evaluate what is left when all but the path was given."""
        raise AssertionError(f"{type(self).__name__} is given before a path is")

    def given(
        self, *, is_dir: bool, name: str | None = None, code: int | None = None
    ) -> Expression:
        """The rest of the expression that must be evaluated for a node of that kind.

        Where they are given, the node's name and the outcomes of the tests that nodes answer (bit
        i: test i passes) are taken into account.
        """
        return self

    @property
    def acts(self) -> bool:
        """Whether it can have an effect."""
        return False


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """Always true or false."""

    value: bool

    def run(self, path: str, doer: Doer) -> bool:
        return self.value


TRUE, FALSE = Constant(True), Constant(False)


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """``-name`` and ``-iname``."""

    pattern: Pattern

    def given(
        self, *, is_dir: bool, name: str | None = None, code: int | None = None
    ) -> Expression:
        if name is None:
            return self
        return TRUE if self.pattern.match(name) else FALSE


@dataclass(frozen=True, slots=True)
class TypeTest(Expression):
    """``-type``."""

    directories: bool
    leaves: bool

    def given(
        self, *, is_dir: bool, name: str | None = None, code: int | None = None
    ) -> Expression:
        return TRUE if (self.directories if is_dir else self.leaves) else FALSE


@dataclass(frozen=True, slots=True)
class Path(Expression):
    """``-path``, ``-regex`` and their like: a test of the whole printed path."""

    match: Callable[[str], object]
    prefix: str = ""
    """A literal beginning of all paths that match."""
    needle: Needle = NO_NEEDLE
    """A literal that all paths that match hold."""

    def run(self, path: str, doer: Doer) -> bool:
        return bool(self.match(path))


@dataclass(frozen=True, slots=True)
class NodeTest(Expression):
    """A test that nodes answer."""

    index: int
    """Its bit in codes."""

    def given(
        self, *, is_dir: bool, name: str | None = None, code: int | None = None
    ) -> Expression:
        if code is None:
            return self
        return TRUE if code >> self.index & 1 else FALSE


@dataclass(frozen=True, slots=True)
class Changed(NodeTest):
    """``-changed-since``, ``-changed-before`` and ``-newer-than``."""

    before: bool
    """Whether the last change must lie before the point, else at or after it."""
    time_spec: TimeSpec


@dataclass(frozen=True, slots=True)
class Holds(NodeTest):
    """A test of contents, such as ``-offline``."""

    test: str
    number: int | None = None
    """The broker that it asks for."""
    key: Pattern | None = None
    """The pattern of keys of ``-config``."""
    value: Pattern | None = None


class Action(Expression):
    """An expression with an effect."""

    def run(self, path: str, doer: Doer) -> bool:
        return doer.do(self, path)

    @property
    def acts(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Act(Action):
    """An action; always true."""

    effect: WalkEffect


@dataclass(frozen=True, slots=True)
class Printf(Action):
    """``-printf``; always true."""

    format: Format


@dataclass(frozen=True, slots=True)
class Exec(Action):
    """``-exec``: true where the command succeeds, or always where it takes many paths."""

    index: int
    """Its number among those of the query."""
    words: tuple[str, ...]
    takes_many: bool


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """``!`` and ``-not``."""

    operand: Expression

    def given(
        self, *, is_dir: bool, name: str | None = None, code: int | None = None
    ) -> Expression:
        operand = self.operand.given(is_dir=is_dir, name=name, code=code)
        if isinstance(operand, Constant):
            return FALSE if operand.value else TRUE
        return Not(operand)

    def run(self, path: str, doer: Doer) -> bool:
        return not self.operand.run(path, doer)

    @property
    def acts(self) -> bool:
        return self.operand.acts


@dataclass(frozen=True, slots=True)
class Operands(Expression):
    """Operands joined by "and" or "or", evaluated until one decides."""

    operands: tuple[Expression, ...]
    decisive: bool
    """The value that ends the evaluation: False in a chain of "and", True in one of "or"."""

    def given(
        self, *, is_dir: bool, name: str | None = None, code: int | None = None
    ) -> Expression:
        left: list[Expression] = []
        for operand in self.operands:
            known = operand.given(is_dir=is_dir, name=name, code=code)
            if not isinstance(known, Constant):
                left.append(known)
            elif known.value == self.decisive:
                left.append(known)
                break
        return chain(left, self.decisive)

    def run(self, path: str, doer: Doer) -> bool:
        for operand in self.operands:
            if operand.run(path, doer) == self.decisive:
                return self.decisive
            if doer.quits:
                return False
        return not self.decisive

    @property
    def acts(self) -> bool:
        return any(operand.acts for operand in self.operands)


@dataclass(slots=True)
class Query:
    """The meaning of the words of ``find``."""

    starts: tuple[str, ...] = ()
    expression: Expression = TRUE
    min_depth: int = 0
    max_depth: int | None = None
    encode: bool = False
    time_tests: list[Changed] = field(default_factory=list)
    content_tests: list[Holds] = field(default_factory=list)
    formats: list[Printf] = field(default_factory=list)
    execs: list[Exec] = field(default_factory=list)
    counts: bool = False
    """Whether what is to be told at the end is a number."""
    quits: bool = False
    """Whether it may end before all was searched."""
    row_words: list[str] = field(default_factory=list)
    """The options of rows among the words."""
    row_times: bool = False
    """Whether rows tell when nodes were changed."""
    once: bool = False
    """Whether what has two paths is taken by one of them."""

    @property
    def is_for_parts(self) -> bool:
        """Whether parts of a tree can be searched apart, and what they found be put together.

        Names and paths decide everything then. A start that leads up again can begin in one part
        and be in all.
        """
        return not (
            self.needs_times
            or self.content_tests
            or self.execs
            or (self.counts and self.quits)
            or any(".." in start.split("/") for start in self.starts)
        )

    @property
    def needs_times(self) -> bool:
        """Whether it asks when nodes were changed."""
        has_times = bool(self.time_tests) or self.row_times
        return has_times or any(p.format.needs_times for p in self.formats)

    @property
    def since(self) -> int:
        """The time tests, as bits, that a node must pass to have any effect, and without which
        nothing below it does either.
        """
        bits = 0
        for test in self._leading():
            if isinstance(test, Changed) and not test.before:
                bits |= 1 << test.index
        return bits

    @property
    def path_prefix(self) -> str:
        """A literal beginning of every path that can have an effect."""
        return max((path.prefix for path in self._paths()), key=len, default="")

    @property
    def needle(self) -> Needle:
        """A literal that every path that can have an effect holds."""
        needles = (path.needle for path in self._paths())
        return max(needles, key=lambda needle: len(needle.text), default=NO_NEEDLE)

    def _paths(self) -> Iterator[Path]:
        return (test for test in self._leading() if isinstance(test, Path))

    def _leading(self) -> Iterator[Expression]:
        """The tests that must pass before any effect."""
        expression = self.expression
        operands: tuple[Expression, ...] = (expression,)
        if isinstance(expression, Operands) and not expression.decisive:
            operands = expression.operands
        for operand in operands:
            if operand.acts:
                return
            yield operand


def chain(operands: Sequence[Expression], decisive: bool) -> Expression:
    """Join operands, without what changes nothing."""
    # Operands before a constant that decides are kept only up to the last one with an effect.
    kept = list(operands)
    if kept and isinstance(kept[-1], Constant) and kept[-1].value == decisive:
        while len(kept) > 1 and not kept[-2].acts:
            del kept[-2]
    if not kept:
        return FALSE if decisive else TRUE
    return kept[0] if len(kept) == 1 else Operands(tuple(kept), decisive)
