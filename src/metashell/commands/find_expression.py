"""The expression of ``find``: parsed, and evaluated as far as what is known of a node allows.

`Expression.given` takes what is known of a node, or of many at once (their kind and depth, perhaps
their name), and returns what is left to be asked: constants where nothing is. So a grid of millions
of leaves is decided once for each distinct list of names. The result has the same effects in the
same order as evaluating the whole from left to right for each node.

Nothing here walks or writes; `Expression.run` says what to do in a list of `Effect`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from metashell.commands.find_literal import NO_NEEDLE, Needle, required_literal
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.log.point import Point, parse_point

ENCODE = "--encode"
_DEEPEST = 100
"""Parentheses within parentheses."""
_MOST_DIGITS = 9
_MOST_TIME_TESTS = 32
_TIME_TESTS = ("-changed-since", "-changed-before", "-newer-than")


class Effect(Enum):
    """What a node's evaluation asks for."""

    PRINT = "\n"
    PRINT0 = "\0"
    PRUNE = "prune"
    QUIT = "quit"


class Expression(ABC):
    """A test, an action, or several of them."""

    @abstractmethod
    def run(self, path: str, effects: list[Effect]) -> bool:
        """Evaluate what is left when all but the path was given, noting the effects."""

    def given(
        self, *, is_dir: bool, name: str | None = None, times: int | None = None
    ) -> Expression:
        """What is left to be asked of a node of that kind, and of that name and those outcomes
        of the time tests (bit i: test i passes) where they are given.
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

    def run(self, path: str, effects: list[Effect]) -> bool:
        return self.value


TRUE, FALSE = Constant(True), Constant(False)


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """``-name`` and ``-iname``."""

    pattern: Pattern

    def given(
        self, *, is_dir: bool, name: str | None = None, times: int | None = None
    ) -> Expression:
        if name is None:
            return self
        return TRUE if self.pattern.match(name) else FALSE

    def run(self, path: str, effects: list[Effect]) -> bool:
        raise AssertionError("a name is given before a path is")


@dataclass(frozen=True, slots=True)
class Kind(Expression):
    """``-type``."""

    directories: bool
    leaves: bool

    def given(
        self, *, is_dir: bool, name: str | None = None, times: int | None = None
    ) -> Expression:
        return TRUE if (self.directories if is_dir else self.leaves) else FALSE

    def run(self, path: str, effects: list[Effect]) -> bool:
        raise AssertionError("a kind is given before a path is")


@dataclass(frozen=True, slots=True)
class Path(Expression):
    """``-path``, ``-regex`` and their like: a test of the whole printed path."""

    match: Callable[[str], object]
    prefix: str = ""
    """A literal beginning of all paths that match."""
    needle: Needle = NO_NEEDLE
    """A literal that all paths that match hold."""

    def run(self, path: str, effects: list[Effect]) -> bool:
        return bool(self.match(path))


@dataclass(frozen=True, slots=True)
class Changed(Expression):
    """``-changed-since``, ``-changed-before`` and ``-newer-than``."""

    index: int
    """Its number among the time tests of the query."""
    before: bool
    """Whether the last change must lie before the point, else at or after it."""
    point: Point

    def given(
        self, *, is_dir: bool, name: str | None = None, times: int | None = None
    ) -> Expression:
        if times is None:
            return self
        return TRUE if times >> self.index & 1 else FALSE

    def run(self, path: str, effects: list[Effect]) -> bool:
        raise AssertionError("times are given before a path is")


@dataclass(frozen=True, slots=True)
class Act(Expression):
    """An action; always true."""

    effect: Effect

    def run(self, path: str, effects: list[Effect]) -> bool:
        effects.append(self.effect)
        return True

    @property
    def acts(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """``!`` and ``-not``."""

    operand: Expression

    def given(
        self, *, is_dir: bool, name: str | None = None, times: int | None = None
    ) -> Expression:
        operand = self.operand.given(is_dir=is_dir, name=name, times=times)
        if isinstance(operand, Constant):
            return FALSE if operand.value else TRUE
        return Not(operand)

    def run(self, path: str, effects: list[Effect]) -> bool:
        return not self.operand.run(path, effects)

    @property
    def acts(self) -> bool:
        return self.operand.acts


@dataclass(frozen=True, slots=True)
class Chain(Expression):
    """Operands joined by "and" or "or", evaluated until one decides."""

    operands: tuple[Expression, ...]
    decisive: bool
    """The value that ends the evaluation: False in a chain of "and", True in one of "or"."""

    def given(
        self, *, is_dir: bool, name: str | None = None, times: int | None = None
    ) -> Expression:
        left: list[Expression] = []
        for operand in self.operands:
            known = operand.given(is_dir=is_dir, name=name, times=times)
            if not isinstance(known, Constant):
                left.append(known)
            elif known.value == self.decisive:
                left.append(known)
                break
        return _chain(left, self.decisive)

    def run(self, path: str, effects: list[Effect]) -> bool:
        for operand in self.operands:
            if operand.run(path, effects) == self.decisive:
                return self.decisive
            if effects and effects[-1] is Effect.QUIT:
                return False
        return not self.decisive

    @property
    def acts(self) -> bool:
        return any(operand.acts for operand in self.operands)


@dataclass(frozen=True, slots=True)
class Query:
    """What ``find``'s words ask for."""

    starts: tuple[str, ...]
    expression: Expression
    min_depth: int
    max_depth: int | None
    encode: bool
    time_tests: tuple[Changed, ...] = ()

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
        if isinstance(expression, Chain) and not expression.decisive:
            operands = expression.operands
        for operand in operands:
            if operand.acts:
                return
            yield operand


def _chain(operands: Sequence[Expression], decisive: bool) -> Expression:
    """Join operands, without what changes nothing."""
    # What stands before a constant that decides is only kept where it has an effect.
    kept = list(operands)
    if kept and isinstance(kept[-1], Constant) and kept[-1].value == decisive:
        while len(kept) > 1 and not kept[-2].acts:
            del kept[-2]
    if not kept:
        return FALSE if decisive else TRUE
    return kept[0] if len(kept) == 1 else Chain(tuple(kept), decisive)


def parse(words: Sequence[str]) -> Query:
    """Parse the words after ``find``.

    Raises:
        UsageError: A predicate is unknown, lacks its argument or has a wrong one.
    """
    encode = False
    while words and words[0] in (ENCODE, "--"):
        encode = encode or words[0] == ENCODE
        words = words[1:]
    split = next((i for i, word in enumerate(words) if _begins_expression(word)), len(words))
    parser = _Parser(words[split:])
    expression = parser.whole()
    return Query(
        tuple(words[:split]),
        expression,
        parser.min_depth,
        parser.max_depth,
        encode or parser.encode,
        tuple(parser.time_tests),
    )


def _begins_expression(word: str) -> bool:
    return (word.startswith("-") and word != "-") or word in ("(", ")", "!")


class _Parser:
    """Recursive descent over the words, its depth capped."""

    def __init__(self, words: Sequence[str]) -> None:
        self.min_depth = 0
        self.max_depth: int | None = None
        self.encode = False
        self.time_tests: list[Changed] = []
        self._words = words
        self._pos = 0
        self._depth = 0
        self._prints = True
        """Whether printing is implied: no action but -prune was met."""

    def whole(self) -> Expression:
        """Parse all words."""
        expression = self._either() if self._words else TRUE
        if self._peek() is not None:
            raise UsageError(") without a ( before it")
        if not self._prints:
            return expression
        operands: tuple[Expression, ...] = (expression,)
        if isinstance(expression, Chain) and not expression.decisive:
            operands = expression.operands
        return _chain([o for o in operands if o is not TRUE] + [Act(Effect.PRINT)], False)

    def _peek(self) -> str | None:
        return self._words[self._pos] if self._pos < len(self._words) else None

    def _either(self) -> Expression:
        """Operands joined by ``-o``."""
        operands = [self._all()]
        while self._peek() in ("-o", "-or"):
            self._pos += 1
            operands.append(self._all())
        return operands[0] if len(operands) == 1 else Chain(tuple(operands), True)

    def _all(self) -> Expression:
        """Operands joined by ``-a`` or by nothing."""
        operands = [self._one()]
        while (word := self._peek()) not in (None, ")", "-o", "-or"):
            if word in ("-a", "-and"):
                self._pos += 1
            operands.append(self._one())
        return operands[0] if len(operands) == 1 else Chain(tuple(operands), False)

    def _one(self) -> Expression:
        """A predicate or a group, perhaps negated."""
        negated = False
        while self._peek() in ("!", "-not"):
            negated = not negated
            self._pos += 1
        word = self._peek()
        if word is None or word in (")", "-o", "-or", "-a", "-and"):
            before = self._words[self._pos - 1] if self._pos else word
            raise UsageError(f"a test is missing beside {before}")
        self._pos += 1
        found = self._group() if word == "(" else self._predicate(word)
        return Not(found) if negated else found

    def _group(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UsageError(f"more than {_DEEPEST} parentheses within each other")
        expression = self._either()
        if self._peek() != ")":
            raise UsageError("( without a ) after it")
        self._pos += 1
        self._depth -= 1
        return expression

    def _predicate(self, word: str) -> Expression:
        if word in _ACTIONS:
            effect = _ACTIONS[word]
            self._prints = self._prints and effect is Effect.PRUNE
            return Act(effect)
        if word in ("-true", "-false"):
            return TRUE if word == "-true" else FALSE
        if word == ENCODE:
            self.encode = True
            return TRUE
        if word in ("-maxdepth", "-mindepth"):
            depth = _levels(word, self._argument(word))
            if word == "-maxdepth":
                self.max_depth = depth
            else:
                self.min_depth = depth
            return TRUE
        if word in _TIME_TESTS:
            return self._changed(word, self._argument(word))
        make = _TESTS.get(word)
        if make is None:
            if not _begins_expression(word):
                raise UsageError(f"{word}: paths stand before the expression")
            raise UsageError(f"unknown predicate {word}", hint="man find lists them")
        return make(word, self._argument(word))

    def _changed(self, predicate: str, text: str) -> Expression:
        try:
            point = parse_point(text)
        except UsageError as error:
            raise UsageError(f"{predicate} {error.message}", hint=error.hint) from error
        if predicate == "-newer-than" and point.offset is not None:
            raise UsageError(
                f"{predicate} {text}: neither an age nor a time",
                hint=f"2h or 2026-09-21T14:14; of an offset: -changed-since {text}",
            )
        if len(self.time_tests) == _MOST_TIME_TESTS:
            raise UsageError(f"more than {_MOST_TIME_TESTS} tests of times")
        test = Changed(len(self.time_tests), predicate == "-changed-before", point)
        self.time_tests.append(test)
        return test

    def _argument(self, predicate: str) -> str:
        word = self._peek()
        if word is None:
            raise UsageError(f"{predicate} needs an argument")
        self._pos += 1
        return word


def _name(predicate: str, text: str) -> Expression:
    return Name(Pattern(text, braces=False, ignore_case=predicate == "-iname"))


def _path(predicate: str, text: str) -> Expression:
    ignore_case = predicate == "-ipath"
    pattern = Pattern(text, braces=False, ignore_case=ignore_case)
    return Path(
        pattern.match, pattern.prefix, Needle.of(pattern.longest_literal, ignore_case=ignore_case)
    )


def _regex(predicate: str, text: str) -> Expression:
    ignore_case = predicate == "-iregex"
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else re.NOFLAG)
    try:
        match = re.compile(text, flags).fullmatch
        return Path(match, needle=Needle.of(required_literal(text), ignore_case=ignore_case))
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"{predicate} {text}: {error}") from error


def _kind(predicate: str, text: str) -> Expression:
    kinds = text.split(",")
    if not set(kinds) <= {"d", "f"}:
        raise UsageError(f"{predicate} {text}: d is a directory, f a leaf")
    return Kind("d" in kinds, "f" in kinds)


def _levels(predicate: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise UsageError(f"{predicate} {text}: not a number of levels")
    return int(text)


_ACTIONS = {
    "-print": Effect.PRINT,
    "-print0": Effect.PRINT0,
    "-prune": Effect.PRUNE,
    "-quit": Effect.QUIT,
}
_TESTS: dict[str, Callable[[str, str], Expression]] = {
    "-name": _name,
    "-iname": _name,
    "-path": _path,
    "-wholename": _path,
    "-ipath": _path,
    "-regex": _regex,
    "-iregex": _regex,
    "-type": _kind,
}
