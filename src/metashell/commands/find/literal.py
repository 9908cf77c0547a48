"""Text that a path must hold to pass a test, and where in a grid such paths can be. Pure.

Asking millions of paths takes seconds; most can be left out a directory at a time, by what stands
literally in the pattern. Both functions are allowed to leave in too much, never too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import Final

from metashell.dataclass import dataclass

_COUNTS = re.compile(r"\{\d*,?\d*\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\\\]])*\]", re.DOTALL)
_CHUNK_NAMES = 512
_ENDS_MOST = 16
"""Endings looked for in a chunk of names at once."""
_ESCAPES_OF_ONE_PLACE = frozenset("dDwWsSbBAZ")


@dataclass(frozen=True, slots=True)
class Needle:
    """A literal that every path with an effect holds; nothing is known where it is empty."""

    text: str = ""
    """In lower case where case is ignored."""
    ignore_case: bool = False

    @classmethod
    def of(cls, text: str, *, ignore_case: bool = False) -> Needle:
        """Make one of a literal as it stands in a pattern."""
        if not ignore_case:
            return cls(text)
        # Case is more than lower() outside of ASCII.
        return cls(text.lower() if text.isascii() else "", ignore_case=True)

    def may_be_in(self, path: str) -> bool:
        """Whether a path, or a text of several, may hold it."""
        if self.ignore_case:
            return not path.isascii() or self.text in path.lower()
        return self.text in path

    def candidates(
        self,
        base: str,
        names: Sequence[str],
        shape_of: Sequence[int],
        shapes: Sequence[Sequence[str]],
        among: Iterable[int],
    ) -> Iterable[int]:
        """Indices, of those among, of directories that may hold it in a path of theirs.

        Args:
            base: The text before each directory's name.
            names: The directories as written into paths.
            shape_of: Index into `shapes` for each.
            shapes: The names of their leaves, as written.
            among: The indices to choose from.
        """
        if not self.text:
            return among
        ends = [_ends(self.text, [self._folded(leaf) for leaf in shape]) for shape in shapes]
        all_ends = {end for some in ends for end in some}
        found: list[int] = []
        for chunk in _chunks(among):
            lines = f"/\n{base}".join([names[i] for i in chunk])
            whole = f"{base}{lines}/\n"
            if self.may_be_in(whole) or _any_ends(all_ends, self._folded(whole)):
                found += [i for i in chunk if self._may(f"{base}{names[i]}/", ends[shape_of[i]])]
        return found

    def _may(self, directory: str, ends: tuple[str, ...]) -> bool:
        """Whether a directory's path, or one in it, may hold it."""
        return self.may_be_in(directory) or self._folded(directory).endswith(ends)

    def _folded(self, text: str) -> str:
        return text.lower() if self.ignore_case else text


NO_NEEDLE: Final = Needle()


def _chunks(indices: Iterable[int]) -> Iterator[list[int]]:
    iterator = iter(indices)
    while chunk := list(islice(iterator, _CHUNK_NAMES)):
        yield chunk


def _any_ends(ends: Set[str], lines: str) -> bool:
    """Whether a line may end in one of them."""
    return len(ends) > _ENDS_MOST or any(f"{end}\n" in lines for end in ends)


def _ends(text: str, leaves: Sequence[str]) -> tuple[str, ...]:
    """How a directory's path must end for the text to end in one of its leaves.

    The empty string stands for any path: a leaf holds the text by itself, or is not plain.
    """
    ends: set[str] = set()
    for leaf in leaves:
        if text in leaf or not leaf.isascii():
            return ("",)
        for size in range(1, min(len(leaf), len(text) - 1) + 1):
            if text.endswith(leaf[:size]):
                ends.add(text[:-size])
    return tuple(ends)


def required_literal(regex: str) -> str:
    """The longest plain text that every string matched by a regular expression holds.

    Only what stands outside of groups is looked at; where the expression is not plain, the result
    is empty.
    """
    if "|" in regex or "(?" in regex:
        return ""
    runs = [""]
    depth = pos = 0
    while pos < len(regex):
        character, size, is_literal = _atom(regex, pos)
        if not size:
            return ""
        depth += (character == "(" and not is_literal) - (character == ")" and not is_literal)
        if is_literal and depth == 0:
            runs[-1] += character
        else:
            if character in "*?+{" and not is_literal:
                runs[-1] = runs[-1][:-1]  # it may be there or not
            runs.append("")
        pos += size
    return max(runs, key=len)


def _atom(regex: str, pos: int) -> tuple[str, int, bool]:
    """The character at a place, its size (0: not plain), and whether it is literal."""
    character = regex[pos]
    if character == "\\":
        escaped = regex[pos + 1 : pos + 2]
        if escaped.isalnum():
            return character, 2 if escaped in _ESCAPES_OF_ONE_PLACE else 0, False
        return escaped, 2, True
    if character in "[{":
        found = (_CLASS if character == "[" else _COUNTS).match(regex, pos)
        return character, len(found[0]) if found else 0, False
    return character, 1, character not in "().^$*?+"
