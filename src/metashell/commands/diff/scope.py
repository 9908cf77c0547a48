"""The part of two states that ``diff`` compares: what a path or the name of a resource means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import matches
from metashell.commands.shared.resources import meant_paths
from metashell.errors import PathError, UsageError
from metashell.fs.path import resolve

if TYPE_CHECKING:
    from metashell.fs.differences import Names, Scope
    from metashell.sources.source import Source

ROOT: Final = "image"
PROVENANCE: Final = "provenance"


def scope_of(context: Context, left: Source, right: Source, path: str | None) -> Scope:
    """The scope that a path names in either state.

    Raises:
        PathError: Nothing in both.
        UsageError: It is not of the image.
    """
    from metashell.fs.differences import Scope

    if path is None:
        return Scope([(ROOT,) if left.capabilities.has_image else ()])
    found, errors = _named_in(context, (left, right), [path])
    with_image = [source for source in (right, left) if source.capabilities.has_image]
    if not found and with_image:
        meant = meant_paths(with_image[0].image, path)
        found, _ = _named_in(context, with_image, meant)
    if not found and errors:
        raise errors[0]
    roots = {ROOT}.union(left.coordinator_directories, right.coordinator_directories)
    compared = [n for n in found if not n or (n[0] in roots and n[:2] != (ROOT, PROVENANCE))]
    if not compared:
        below = ", ".join(f"/{root}" for root in sorted(roots))
        raise UsageError(f"{path}: only what is below {below} is compared, {PROVENANCE} aside")
    return Scope(compared)


def _named_in(
    context: Context, sources: Sequence[Source], paths: Sequence[str]
) -> tuple[set[Names], list[PathError]]:
    """The nodes that paths name in any of some states, and what is said where one names none."""
    found: set[Names] = set()
    errors: list[PathError] = []
    for source in sources:
        there = replace(context, root=source.root, cwd=_cwd_in(source, context.cwd))
        for path in paths:
            try:
                found.update(match.place.names() for match in matches(there, path))
            except PathError as missing:
                errors.append(missing)
    return found, errors


def _cwd_in(source: Source, cwd: str) -> str:
    """The current directory, which need not be there in both states."""
    try:
        resolve(source.root, cwd)
    except PathError:
        return "/"
    return cwd
