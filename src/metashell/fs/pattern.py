"""Wildcard patterns as matchers: ``* ? [a-z] [!a-z] [^...] {a,b}`` and a backslash that quotes.

A pattern is parsed once into alternatives without braces; each knows its literal beginning, so that
in sorted names only a range is looked at. Matching takes time linear in the name: what stands
between two stars is matched at the first place that fits and never tried again, which is right
because no part of an alternative but a star varies in length.

Patterns are hostile input: they are parsed without recursion, and what braces multiply is capped.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import methodcaller

from metashell.dataclass import dataclass
from metashell.errors import UsageError

MAX_LENGTH = 1024
"""Characters of a pattern."""
MAX_WORK = 400_000
"""Tokens that expanding the braces of one pattern may copy."""

_STAR, _ANY = "*", "?"
_CLASSES = {
    "alnum": "^\\W_",
    "alpha": "^\\W\\d_",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "lower": "a-z",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_NAMED_CLASS = re.compile(r"\[:(\w+):\]")
_WILD = frozenset("*?[{\\")


@dataclass(frozen=True, slots=True)
class Token:
    """One unit of a pattern: a literal character, or a wildcard with its regular expression."""

    kind: str
    """``lit``, ``*``, ``?``, ``[``, or one of the braces and the comma: ``{``, ``,``, ``}``."""
    text: str
    """The literal character, or the regular expression of a class."""


_STAR_TOKEN = Token(_STAR, "")
_ANY_TOKEN = Token(_ANY, ".")


@dataclass(frozen=True, slots=True)
class Alternative:
    """A pattern without braces."""

    tokens: tuple[Token, ...]
    prefix: str
    """The literal characters before the first wildcard."""

    @property
    def literal(self) -> bool:
        """Whether nothing but `prefix` matches."""
        return len(self.prefix) == len(self.tokens)

    def regex(self) -> str:
        """The regular expression to be matched against a whole name."""
        parts: list[str] = []
        for i, segment in enumerate(_segments(self.tokens)):
            body = "".join(re.escape(t.text) if t.kind == "lit" else t.text for t in segment)
            parts.append(body if i == 0 else f"(?>.*?{body})")
        if len(parts) > 1:
            # The text behind the last star must be at the end of the name, not at the first match.
            parts[-1] = ".*" + parts[-1].removeprefix("(?>.*?").removesuffix(")")
        return "".join(parts)


class Pattern:
    """A compiled pattern; `match` says whether a whole string fits."""

    __slots__ = ("alternatives", "match", "source")

    def __init__(self, source: str, *, braces: bool = True, ignore_case: bool = False) -> None:
        """Compile a pattern.

        Raises:
            UsageError: The pattern is too long or its braces multiply beyond measure.
        """
        self.source = source
        self.alternatives = _alternatives(source, braces=braces)
        self.match = _matcher(self.alternatives, ignore_case=ignore_case)
        if ignore_case:
            # A prefix in one case says nothing of where names in the other are sorted.
            self.alternatives = tuple(Alternative(a.tokens, "") for a in self.alternatives)

    @property
    def literals(self) -> tuple[str, ...] | None:
        """The only strings that match, sorted, or None where there is a wildcard."""
        if all(a.literal for a in self.alternatives):
            return tuple(sorted({a.prefix for a in self.alternatives}))
        return None

    @property
    def prefix(self) -> str:
        """A literal beginning that every match has."""
        prefixes = [a.prefix for a in self.alternatives]
        low, high = min(prefixes), max(prefixes)
        same = 0
        while same < min(len(low), len(high)) and low[same] == high[same]:
            same += 1
        return low[:same]

    @property
    def longest_literal(self) -> str:
        """The longest literal that every match holds, but for its case where that is ignored."""
        if len(self.alternatives) != 1:
            return ""
        runs = [""]
        for token in self.alternatives[0].tokens:
            if token.kind == "lit":
                runs[-1] += token.text
            else:
                runs.append("")
        return max(runs, key=len)

    def select(self, names: Sequence[str]) -> list[int]:
        """Indices of the names that match, ascending; `names` are sorted.

        Cost: logarithmic in the names that do not share an alternative's literal beginning.
        """
        match = self.match
        found: list[int] = []
        for start, stop in self._spans(names):
            found += [i for i, name in enumerate(_slice(names, start, stop), start) if match(name)]
        return found

    def _spans(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """Disjoint ascending ranges of `names` outside of which nothing matches."""
        spans: list[tuple[int, int]] = []
        for prefix in sorted({a.prefix for a in self.alternatives}):
            start, stop = prefix_span(names, prefix)
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
            elif start < stop:
                spans.append((start, stop))
        return spans


def prefix_span(names: Sequence[str], prefix: str) -> tuple[int, int]:
    """Range of the sorted names that begin with a prefix."""
    if not prefix:
        return 0, len(names)
    start = bisect_left(names, prefix)
    size = len(prefix)
    return start, bisect_right(names, prefix, lo=start, key=lambda name: name[:size])


def has_wildcard(text: str) -> bool:
    """Whether text holds a character that a pattern gives a meaning."""
    return not _WILD.isdisjoint(text)


def quote(text: str) -> str:
    """Write a literal string as a pattern that matches it alone."""
    return re.sub(r"([*?\[\]{},\\])", r"\\\1", text)


def _slice(names: Sequence[str], start: int, stop: int) -> Sequence[str]:
    return names if stop - start == len(names) else names[start:stop]


def _matcher(alternatives: Sequence[Alternative], *, ignore_case: bool) -> Callable[[str], object]:
    """Pick the fastest test that says the same as the regular expression."""
    if len(alternatives) == 1 and not ignore_case:
        fast = _plain_matcher(alternatives[0])
        if fast is not None:
            return fast
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else re.NOFLAG)
    # No alternative contains another's end, so each is closed off for itself.
    joined = "|".join(f"(?:{a.regex()})\\Z" for a in alternatives)
    return re.compile(joined, flags).match


def _plain_matcher(alternative: Alternative) -> Callable[[str], object] | None:
    """A test by string methods where there is no wildcard but stars."""
    if any(token.kind not in ("lit", _STAR) for token in alternative.tokens):
        return None
    first, *rest = ["".join(t.text for t in s) for s in _segments(alternative.tokens)]
    if not rest:
        return first.__eq__
    if len(rest) == 1:
        last = rest[0]
        size = len(first) + len(last)
        if size == 0:
            return lambda name: True
        if not (first and last):
            # Names are matched by the hundred thousand: without a frame of ours for each.
            return methodcaller("startswith", first) if first else methodcaller("endswith", last)
        return lambda name: len(name) >= size and name.startswith(first) and name.endswith(last)
    *middles, last = rest
    if not first and not last and len(middles) == 1:
        return methodcaller("__contains__", middles[0])
    return _sequence_matcher(first, middles, last)


def _sequence_matcher(first: str, middles: list[str], last: str) -> Callable[[str], object]:
    """A test for literals in order, each at the first place that fits."""

    def match(name: str) -> bool:
        if not (name.endswith(last) and name.startswith(first)):
            return False
        pos, stop = len(first), len(name) - len(last)
        for middle in middles:
            found = name.find(middle, pos, stop)
            if found < 0:
                return False
            pos = found + len(middle)
        return pos <= stop

    return match


def _segments(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split at the stars; as many segments as stars and one more, neighbouring stars as one."""
    segments: list[list[Token]] = [[]]
    previous: Token | None = None
    for token in tokens:
        if token.kind != _STAR:
            segments[-1].append(token)
        elif previous is None or previous.kind != _STAR:
            segments.append([])
        previous = token
    return segments


def _alternatives(source: str, *, braces: bool) -> tuple[Alternative, ...]:
    if len(source) > MAX_LENGTH:
        raise UsageError(f"pattern of {len(source)} characters: longer than {MAX_LENGTH}")
    tokens = _tokens(source, braces=braces)
    made: dict[tuple[Token, ...], Alternative] = {}
    for flat in _expand(source, tokens):
        literal: list[str] = []
        for token in flat:
            if token.kind != "lit":
                break
            literal.append(token.text)
        made.setdefault(flat, Alternative(flat, "".join(literal)))
    return tuple(made.values())


def _tokens(source: str, *, braces: bool) -> list[Token]:
    """Read a pattern; braces that do not close, and commas outside of them, are literal."""
    tokens: list[Token] = []
    opened: list[int] = []
    paired: set[int] = set()
    commas: list[list[int]] = []
    pos = 0
    while pos < len(source):
        character = source[pos]
        pos += 1
        if character == "\\" and pos < len(source):
            tokens.append(Token("lit", source[pos]))
            pos += 1
        elif character == _STAR:
            tokens.append(_STAR_TOKEN)
        elif character == _ANY:
            tokens.append(_ANY_TOKEN)
        elif character == "[":
            end, regex = _character_class(source, pos)
            tokens.append(Token("[", regex) if end else Token("lit", "["))
            pos = end or pos
        elif braces and character in "{,}":
            at = len(tokens)
            tokens.append(Token(character, character))
            if character == "{":
                opened.append(at)
                commas.append([])
            elif character == "," and commas:
                commas[-1].append(at)
            elif character == "}" and opened:
                paired.update((opened.pop(), at), commas.pop())
        else:
            tokens.append(Token("lit", character))
    return [
        Token("lit", token.text) if token.kind in "{,}" and i not in paired else token
        for i, token in enumerate(tokens)
    ]


def _expand(source: str, tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Multiply out the braces, with a stack of open groups and a cap on the tokens copied."""
    done: list[list[tuple[Token, ...]]] = [[]]
    current: list[list[tuple[Token, ...]]] = [[()]]
    run: list[Token] = []
    work = 0

    def append(tails: Sequence[tuple[Token, ...]]) -> None:
        nonlocal work
        heads = current[-1]
        work += sum(map(len, heads)) * len(tails) + sum(map(len, tails)) * len(heads) + 1
        if work > MAX_WORK or len(heads) * len(tails) > MAX_WORK:
            raise UsageError(f"{source[:40]}...: too many alternatives in the braces")
        current[-1] = [head + tail for head in heads for tail in tails]

    for token in tokens:
        if token.kind not in "{,}":
            run.append(token)
            continue
        append([tuple(run)])
        run.clear()
        if token.kind == "{":
            done.append([])
            current.append([()])
        elif token.kind == ",":
            done[-1] += current[-1]
            current[-1] = [()]
        else:
            group = done.pop() + current.pop()
            append(group)
    append([tuple(run)])
    return current[0]


def _character_class(source: str, pos: int) -> tuple[int, str]:
    """Read a class after its ``[``.

    Returns:
        The position after its ``]`` and its regular expression; 0 where it does not close.
    """
    negated = source[pos : pos + 1] in ("!", "^")
    pos += negated
    start = pos
    items: list[str] = []
    outside: list[str] = []
    while pos < len(source) and (source[pos] != "]" or pos == start):
        named = _NAMED_CLASS.match(source, pos)
        if named and named[1] in _CLASSES:
            body = _CLASSES[named[1]]
            (outside if body.startswith("^") else items).append(body)
            pos = named.end()
            continue
        low, pos = _class_character(source, pos)
        if source[pos : pos + 1] == "-" and source[pos + 1 : pos + 2] not in ("", "]"):
            high, pos = _class_character(source, pos + 1)
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            items.append(re.escape(low))
    if pos >= len(source):
        return 0, ""
    choices = [f"[{body}]" for body in outside] + ([f"[{''.join(items)}]"] if items else [])
    inside = "|".join(choices) or "(?!)"
    return pos + 1, f"(?:(?!{inside}).)" if negated else f"(?:{inside})"


def _class_character(source: str, pos: int) -> tuple[str, int]:
    if source[pos] == "\\" and pos + 1 < len(source):
        return source[pos + 1], pos + 2
    return source[pos], pos + 1
