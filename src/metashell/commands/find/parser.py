"""The words of ``find``, parsed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from metashell.commands.find.actions import PATH, check_words
from metashell.commands.find.expression import (
    FALSE,
    TRUE,
    Act,
    Changed,
    Exec,
    Expression,
    Holds,
    Name,
    Not,
    Operands,
    Path,
    Printf,
    Query,
    TypeTest,
    WalkEffect,
    chain,
)
from metashell.commands.find.literal import Needle, required_literal
from metashell.commands.find.options import OPTIONS
from metashell.commands.find.printf import ROW, parse_format
from metashell.commands.partitions.columns import STATES
from metashell.commands.rows.query import ROW_OPTIONS
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.log.time_spec import parse_time_spec

ENCODE = "--encode"
PLAIN_TESTS = (*(state.flags[0][1:] for state in STATES), "-fenced", "-controlled-shutdown")
BROKER_TESTS = ("-leader", "-replica", "-isr")
_DEEPEST = 100
"""Parentheses within parentheses."""
_MOST_DIGITS = 9
_MOST_ASKED = 60
"""Tests that nodes answer: each is a bit of an int64."""
_ROW_OPTIONS = {
    flag: option.metavar is not None
    for option in ROW_OPTIONS
    for flag in option.flags
    if flag.startswith("--")
}
"""Options of rows, and whether each takes a value."""
_NOT_WITH_ROWS = ("-print0", "-printf", "-count", "-exec")
_BY_ID = "byId"
_UUID = re.compile("[A-Za-z0-9_-]{22}")
_TIME_TESTS = ("-changed-since", "-changed-before", "-newer-than")


def parse(words: Sequence[str], *, as_rows: bool = False) -> Query:
    """Parse the words after ``find``.

    Args:
        words: They.
        as_rows: Whether what is printed are rows.

    Raises:
        UsageError: A predicate is unknown, lacks its argument or has a wrong one.
    """
    found = Query()
    while words and (words[0] in (ENCODE, "--") or is_row_option(words[0])):
        n = n_words_of(words)
        found.encode = found.encode or words[0] == ENCODE
        found.row_words += words[:n] if is_row_option(words[0]) else ()
        words = words[n:]
    split = next((i for i, word in enumerate(words) if _begins_expression(word)), len(words))
    found.starts = tuple(words[:split])
    found.expression = _Parser(found, words[split:], as_rows=as_rows).whole()
    # A list of all paths has both, as that of Kafka's shell.
    found.once = (len(words) > split or as_rows) and not any(map(_names_ids, words))
    return found


def _names_ids(word: str) -> bool:
    """Whether a word asks for topics by their ids: it names the directory, or is an id."""
    return _BY_ID in word or _UUID.fullmatch(word) is not None


def is_row_option(word: str) -> bool:
    """Whether a word is an option of rows: of these only the long names."""
    return word.partition("=")[0] in _ROW_OPTIONS


def n_words_of(words: Sequence[str]) -> int:
    """How many words an option takes that stands first."""
    flag, equals, _ = words[0].partition("=")
    return 2 if _ROW_OPTIONS.get(flag) and not equals else 1


def _begins_expression(word: str) -> bool:
    return (word.startswith("-") and word != "-") or word in ("(", ")", "!")


class _Parser:
    """Recursive descent over the words, its depth capped."""

    def __init__(self, query: Query, words: Sequence[str], *, as_rows: bool) -> None:
        self._query = query
        self._as_rows = as_rows
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
        if isinstance(expression, Operands) and not expression.decisive:
            operands = expression.operands
        return chain([o for o in operands if o is not TRUE] + [self._print()], False)

    def _print(self) -> Expression:
        """``-print``, or what stands for a row."""
        if not self._as_rows:
            return Act(WalkEffect.PRINT)
        self._query.formats.append(Printf(ROW))
        return self._query.formats[-1]

    def _peek(self) -> str | None:
        return self._words[self._pos] if self._pos < len(self._words) else None

    def _either(self) -> Expression:
        """Operands joined by ``-o``."""
        operands = [self._all()]
        while self._peek() in ("-o", "-or"):
            self._pos += 1
            operands.append(self._all())
        return operands[0] if len(operands) == 1 else Operands(tuple(operands), True)

    def _all(self) -> Expression:
        """Operands joined by ``-a`` or by nothing."""
        operands = [self._one()]
        while (word := self._peek()) not in (None, ")", "-o", "-or"):
            if word in ("-a", "-and"):
                self._pos += 1
            operands.append(self._one())
        return operands[0] if len(operands) == 1 else Operands(tuple(operands), False)

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
        if is_row_option(word):
            start = self._pos - 1
            self._pos = start + n_words_of(self._words[start:])
            self._query.row_words += self._words[start : self._pos]
            return TRUE
        if self._as_rows and word in _NOT_WITH_ROWS:
            raise UsageError(f"{word} does not go with rows", hint="they stand for -print")
        if word == "-print":
            self._prints = False
            return self._print()
        if word in _ACTIONS:
            effect = _ACTIONS[word]
            self._prints = self._prints and effect is WalkEffect.PRUNE
            self._query.counts = self._query.counts or effect is WalkEffect.COUNT
            self._query.quits = self._query.quits or effect is WalkEffect.QUIT
            return Act(effect)
        if word == "-printf":
            self._prints = False
            form = parse_format(self._argument(word))
            if form in _LIKE_PRINTS:
                return Act(_LIKE_PRINTS[form])
            self._query.formats.append(Printf(form))
            return self._query.formats[-1]
        if word == "-exec":
            self._prints = False
            return self._exec()
        if word in ("-true", "-false"):
            return TRUE if word == "-true" else FALSE
        if word == ENCODE:
            self._query.encode = True
            return TRUE
        if word in ("-maxdepth", "-mindepth"):
            depth = _levels(word, self._argument(word))
            if word == "-maxdepth":
                self._query.max_depth = depth
            else:
                self._query.min_depth = depth
            return TRUE
        if word in _TIME_TESTS:
            return self._changed(word, self._argument(word))
        if word in PLAIN_TESTS:
            return self._holds(word)
        if word in BROKER_TESTS:
            return self._holds(word, number=_broker(word, self._argument(word)))
        if word == "-config":
            key, equals, value = self._argument(word).partition("=")
            return self._holds(word, key=_glob(key), value=_glob(value) if equals else None)
        make = _TESTS.get(word)
        if make is None:
            if not _begins_expression(word):
                raise UsageError(f"{word}: paths stand before the expression")
            raise UsageError(f"unknown predicate {word}", hint=_test_hint(word))
        return make(word, self._argument(word))

    def _changed(self, predicate: str, text: str) -> Expression:
        try:
            time_spec = parse_time_spec(text)
        except UsageError as error:
            raise UsageError(f"{predicate} {error.message}", hint=error.hint) from error
        if predicate == "-newer-than" and time_spec.offset is not None:
            raise UsageError(
                f"{predicate} {text}: neither an age nor a time",
                hint=f"such as 2h or 2026-09-21T14:14; -changed-since takes the offset {text}",
            )
        test = Changed(self._bit(), predicate == "-changed-before", time_spec)
        self._query.time_tests.append(test)
        return test

    def _holds(
        self,
        test: str,
        *,
        number: int | None = None,
        key: Pattern | None = None,
        value: Pattern | None = None,
    ) -> Expression:
        holds = Holds(self._bit(), test, number, key, value)
        self._query.content_tests.append(holds)
        return holds

    def _bit(self) -> int:
        """The next bit of codes."""
        n = len(self._query.time_tests) + len(self._query.content_tests)
        if n == _MOST_ASKED:
            raise UsageError(f"more than {_MOST_ASKED} tests of times and contents")
        return n

    def _exec(self) -> Expression:
        """The words up to ``;`` or ``{} +``."""
        start = self._pos
        while (word := self._peek()) is not None:
            takes_many = word == "+" and self._pos > start and self._words[self._pos - 1] == PATH
            self._pos += 1
            if word == ";" or takes_many:
                words = tuple(self._words[start : self._pos - 1])
                check_words(words, takes_many=takes_many)
                self._query.execs.append(Exec(len(self._query.execs), words, takes_many))
                return self._query.execs[-1]
        raise UsageError(f"-exec needs ; or {PATH} + at its end")

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
    return TypeTest("d" in kinds, "f" in kinds)


def _levels(predicate: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise UsageError(f"{predicate} {text}: not a number of levels")
    return int(text)


def _broker(predicate: str, text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or not -(2**31) <= int(text[:12]) < 2**31:
        raise UsageError(f"{predicate} {text}: not the id of a broker")
    return int(text[:12])


def _glob(text: str) -> Pattern:
    return Pattern(text, braces=False)


_ACTIONS = {
    "-print0": WalkEffect.PRINT0,
    "-prune": WalkEffect.PRUNE,
    "-quit": WalkEffect.QUIT,
    "-count": WalkEffect.COUNT,
}
_LIKE_PRINTS = {
    parse_format("%p\\n"): WalkEffect.PRINT,
    parse_format("%p\\0"): WalkEffect.PRINT0,
}
"""Formats that say what another action does faster."""
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


def _test_hint(word: str) -> str:
    """A hint at the test that an unknown word was meant to be."""
    from metashell.commands.framework.near import near_option

    flags = [flag for option in (*OPTIONS, *ROW_OPTIONS) for flag in option.flags]
    near = near_option(word, dict.fromkeys(flags))
    return "`man find` lists the tests" if near is None else f"did you mean {near}?"
