"""What a mistyped word was meant to be, or nothing: never a word that is merely like it.

Pure functions over words and directories; looking costs a bounded number of comparisons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from metashell.errors import MetashellError
from metashell.fs.node import Directory
from metashell.fs.path import (
    NodePlace,
    encode_name,
    find_child,
    is_absolute,
    resolve,
)

_SMALL: Final = 20_000
"""Names of a directory that are all compared; of a larger one, those that sort beside the word."""
_BESIDE: Final = 500
_LONGEST: Final = 249
_IMAGE: Final = "image"


def near(word: str, names: Collection[str]) -> str | None:
    """The one name that a word was meant to be: it differs in case, is cut off, or has a slip.

    A slip is a letter too much, missing, wrong, or in its neighbour's place; a word of six letters
    may have two.
    """
    folded = word.casefold()
    if not folded or len(word) > _LONGEST:
        return None
    for name in names:
        if name.casefold() == folded and name != word:
            return name
    limit = _slips(len(folded))
    best: tuple[int, str] | None = None
    for name in names:
        if name == word or abs(len(name) - len(folded)) > limit:
            continue
        slips = distance(folded, name.casefold(), limit)
        if slips is not None and (best is None or (slips, name) < best):
            best = (slips, name)
    return _begun(folded, names) if best is None else best[1]


def _slips(length: int) -> int:
    """How many slips a word of that length may have."""
    return 0 if length < 3 else 1 if length < 6 else 2


def _begun(folded: str, names: Iterable[str]) -> str | None:
    """The name that a word begins, where that is one, or the beginning of all the others."""
    if len(folded) < 2:
        return None
    begun = sorted((name for name in names if name.casefold().startswith(folded)), key=len)
    return begun[0] if begun and all(name.startswith(begun[0]) for name in begun) else None


def distance(a: str, b: str, limit: int) -> int | None:
    """How many slips are between two words; None for more than `limit`."""
    if not limit:
        return 0 if a == b else None
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None


def near_option(flag: str, flags: Iterable[str]) -> str | None:
    """The long option that a flag was meant to be; single letters are like any other."""
    if not flag.startswith("-") or len(flag.lstrip("-")) < 2:
        return None
    names = {known.lstrip("-"): known for known in flags if len(known.lstrip("-")) > 1}
    found = flag.lstrip("-") if flag.lstrip("-") in names else near(flag.lstrip("-"), names)
    return None if found is None else names[found]


def near_path(root: Directory, typed: str, cwd: str) -> str | None:
    """The path that one was meant to be, as it can be typed; None where nothing is near.

    Cost: may decode the names of the directory where the path ends.
    """
    try:
        place = NodePlace(root) if is_absolute(typed) else resolve(root, cwd)
        found = _corrected(place, typed.split("/"))
    except MetashellError:
        return None
    if found is None and is_absolute(typed):
        return _below_image(root, typed)
    return None if found is None else "/".join(found)


def _corrected(place: NodePlace, parts: Sequence[str]) -> list[str] | None:
    """The components with the slip of each taken back; None where one is like no name."""
    found: list[str] = []
    for part in parts:
        node = place.node
        if not isinstance(node, Directory):
            return None if part else found
        if part in ("", "."):
            found.append(part)
            continue
        if part == "..":
            place = place.parent or place
            found.append(part)
            continue
        child = find_child(node, part)
        if child is None:
            name = near(part, _candidates(node, part))
            found_there = None if name is None else node.child(name)
            if name is None or found_there is None:
                return None
            child = (name, found_there)
        place = NodePlace(child[1], child[0], place)
        found.append(encode_name(child[0], node))
    return found


def _below_image(root: Directory, typed: str) -> str | None:
    """The same path below ``/image``, where all of a cluster's state is."""
    below = f"/{_IMAGE}{typed}"
    try:
        resolve(root, below)
    except MetashellError:
        return None
    return below


def _candidates(directory: Directory, part: str) -> Sequence[str]:
    """Names that are compared; none for a number, which is like any other."""
    if part.isdigit():
        return ()
    names = directory.names()
    if len(names) <= _SMALL:
        return names
    at = bisect_left(names, part)
    return names[max(at - _BESIDE, 0) : at + _BESIDE]
