"""Globs: which places of the file system a path with wildcards names.

Each component is a `metashell.fs.pattern.Pattern`; one without a wildcard is a plain lookup that
decodes ``%XX`` as every path does. Matches come in the order of a walk (by component), one at a
time, and what can't match is not opened: a literal beginning narrows the names by bisection, and a
directory with a grid opens only the children whose leaves fit.

A pattern that matches nothing is tried as a literal path, as in every shell. Nothing here knows
what a command does with a match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, NoSuchPathError, PathError
from metashell.fs.node import Directory, Grid, Node
from metashell.fs.path import NodePlace, find_child, is_absolute, join, resolve, step
from metashell.fs.pattern import Pattern, has_wildcard
from metashell.fs.walk import Failed, refuse


@dataclass(frozen=True, slots=True)
class Match:
    """A place that a typed path names."""

    path: str
    """The path as typed, its wildcards replaced by the names that matched."""
    place: NodePlace


@dataclass(frozen=True, slots=True)
class _Component:
    """One part of a path that has a wildcard or a backslash somewhere."""

    typed: str
    """The component without its quoting."""
    pattern: Pattern | None
    """None for a component to be looked up as typed."""

    @property
    def literals(self) -> tuple[str, ...] | None:
        return (self.typed,) if self.pattern is None else self.pattern.literals


def expand(
    root: Directory,
    typed: str,
    pattern: str | None = None,
    cwd: str = "/",
    failed: Failed = refuse,
) -> Iterator[Match]:
    """Yield the places that a typed path names, at least one.

    Args:
        root: The root of the file system.
        typed: The path without its quoting.
        pattern: The path with a backslash before each character that was quoted; `typed` is the
            pattern where it is None.
        cwd: Where a relative path starts.
        failed: Told of what a wildcard meets and can't be looked at.

    Raises:
        NoSuchPathError: Nothing matches.
        NotADirectoryPathError: A path without a wildcard goes on after a leaf.
        UsageError: A pattern is hostile.
    """
    source = typed if pattern is None else pattern
    if not has_wildcard(source):
        yield Match(typed, resolve(root, typed, cwd))
        return
    components = _compile(typed, source)
    found = False

    def fail(path: str, error: MetashellError) -> None:
        nonlocal found
        found = True
        failed(path, error)

    for match in _matches(_start(root, typed, cwd), components, is_absolute(typed), fail):
        found = True
        yield match
    if not found:
        yield Match(typed, _literally(root, typed, cwd))


def _literally(root: Directory, typed: str, cwd: str) -> NodePlace:
    """Look up a pattern that matched nothing as if it had no wildcards."""
    try:
        return resolve(root, typed, cwd)
    except PathError:
        raise NoSuchPathError(typed) from None


def _start(root: Directory, typed: str, cwd: str) -> NodePlace:
    return NodePlace(root) if is_absolute(typed) else resolve(root, cwd)


def _compile(typed: str, source: str) -> list[_Component]:
    """Split both forms of a path at its slashes and compile the components that need it."""
    # Quoting neither adds nor removes a slash, and a quoted slash is still a separator.
    components: list[_Component] = []
    pairs = zip(typed.split("/"), source.split("/"), strict=True)
    for i, (plain, raw) in enumerate(pairs):
        text = raw[:-1] if _ends_in_open_backslash(raw) else raw
        pattern = Pattern(text) if text != raw or has_wildcard(text) else None
        if not plain and (i == 0 or (components and components[-1].typed == "")):
            continue
        components.append(_Component(plain, pattern))
    return components


def _ends_in_open_backslash(raw: str) -> bool:
    return (len(raw) - len(raw.rstrip("\\"))) % 2 == 1


def _matches(
    start: NodePlace, components: Sequence[_Component], absolute: bool, failed: Failed
) -> Iterator[Match]:
    """Walk the components depth first with a stack of iterators, one a component."""
    begin = "/" if absolute else ""
    stack: list[tuple[str, Iterator[Match]]] = [(begin, iter((Match(begin, start),)))]
    while stack:
        path, matches = stack[-1]
        try:
            match = next(matches, None)
        except MetashellError as error:
            failed(path, error)
            match = None
        if match is None:
            stack.pop()
        elif len(stack) > len(components):
            yield match
        else:
            stack.append((match.path, _children(match, components, len(stack) - 1)))


def _children(match: Match, components: Sequence[_Component], i: int) -> Iterator[Match]:
    """The nodes that component `i` names below a match."""
    component = components[i]
    place = match.place
    node = place.node
    if not isinstance(node, Directory):
        return
    if component.typed in ("", ".", ".."):
        yield Match(_append(match.path, component.typed), step(place, component.typed, ""))
        return
    pattern = component.pattern
    literals = component.literals
    if literals is not None:
        yield from _looked_up(match, node, component.typed, literals)
        return
    assert pattern is not None
    for name in _matching_names(node, pattern, components, i):
        child = node.child(name)
        if child is not None:
            yield Match(_append(match.path, name), NodePlace(child, name, place))


def _looked_up(
    match: Match, node: Directory, typed: str, literals: Sequence[str]
) -> Iterator[Match]:
    """Children by literal names, sorted, each once; a single one by its name as typed first."""
    found: dict[str, tuple[str, Node]] = {}
    for name in (typed, *literals) if len(literals) == 1 else literals:
        child = find_child(node, name)
        if child is not None:
            found.setdefault(child[0], (name, child[1]))
            if len(literals) == 1:
                break
    for real in sorted(found):
        name, child_node = found[real]
        yield Match(_append(match.path, name), NodePlace(child_node, real, match.place))


def _matching_names(
    node: Directory, pattern: Pattern, components: Sequence[_Component], i: int
) -> Iterator[str]:
    names = node.names()
    selected = pattern.select(names)
    grid = node.grid() if i + 1 < len(components) else None
    if grid is None:
        return (names[k] for k in selected)
    fits = _shapes_that_fit(grid, components[i + 1 :])
    shape_of = grid.shape_of
    return (names[k] for k in selected if fits[shape_of[k]])


def _shapes_that_fit(grid: Grid, rest: Sequence[_Component]) -> list[bool]:
    """For each shape, whether a directory of it can hold what the rest of the path names."""
    first = rest[0]
    if first.typed in ("", ".", ".."):
        return [True] * len(grid.shapes)
    if len(rest) > 1:
        return [False] * len(grid.shapes)
    literals = first.literals
    if literals is not None:
        # A literal may still be decoded: leave that to the lookup.
        if any("%" in literal for literal in (first.typed, *literals)):
            return [True] * len(grid.shapes)
        wanted = {first.typed, *literals}
        return [not wanted.isdisjoint(shape) for shape in grid.shapes]
    pattern = first.pattern
    assert pattern is not None
    return [any(pattern.match(leaf) for leaf in shape) for shape in grid.shapes]


def _append(path: str, name: str) -> str:
    return join(path, name) if path else name
