"""The lines of ``diff --with`` about the logs of two sources, beside the differences of states.

The part of two states that ``diff`` compares: what a path or the name of a resource means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import matches
from metashell.commands.shared.resources import meant_paths
from metashell.errors import PathError, SourceError, UsageError
from metashell.fs.path import resolve
from metashell.log.time_spec import TimeSpec, parse_time_spec
from metashell.sources.log_clock import clock_of

if TYPE_CHECKING:
    from metashell.checks.agreement import LogFacts
    from metashell.fs.differences import Names, Scope
    from metashell.fs.node import Directory
    from metashell.image.image import Image
    from metashell.records.records import Records
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
    found, errors = _named_in(context, (left.root, right.root), [path])
    with_image = [source for source in (right, left) if source.capabilities.has_image]
    if not found and with_image:
        meant = meant_paths(with_image[0].image, path)
        found, _ = _named_in(context, [source.root for source in with_image], meant)
    if not found and errors:
        raise errors[0]
    roots = {ROOT}.union(left.coordinator_directories, right.coordinator_directories)
    compared = [n for n in found if not n or (n[0] in roots and n[:2] != (ROOT, PROVENANCE))]
    if not compared:
        below = ", ".join(f"/{root}" for root in sorted(roots))
        raise UsageError(f"{path}: only what is below {below} is compared, {PROVENANCE} aside")
    return Scope(compared)


def scope_of_settings(
    context: Context, images: Sequence[Image], trees: Sequence[Directory], path: str | None
) -> Scope:
    """The scope that a path names in trees of settings.

    Raises:
        PathError: Nothing in all of them.
    """
    from metashell.fs.differences import Scope

    if path is None:
        return Scope([()])
    found, errors = _named_in(context, trees, [path])
    if not found:
        meant = [one for image in images for one in meant_paths(image, path)]
        found, _ = _named_in(context, trees, meant)
    if not found and errors:
        raise errors[0]
    return Scope(found)


def _named_in(
    context: Context, roots: Sequence[Directory], paths: Sequence[str]
) -> tuple[set[Names], list[PathError]]:
    """The nodes that paths name in any of some trees, and what is said where one names none."""
    found: set[Names] = set()
    errors: list[PathError] = []
    for root in roots:
        there = replace(context, root=root, cwd=_cwd_in(root, context.cwd))
        for path in paths:
            try:
                found.update(match.place.names() for match in matches(there, path))
            except PathError as missing:
                errors.append(missing)
    return found, errors


def _cwd_in(root: Directory, cwd: str) -> str:
    """The current directory, which need not be there in both states."""
    try:
        resolve(root, cwd)
    except PathError:
        return "/"
    return cwd


END: Final = "end"
"""The point of the newest state."""


def cluster_ids(
    left: Source, right: Source, failed: Callable[[SourceError], None] = lambda _: None
) -> list[str | None]:
    """The cluster id of each source; None for one that is not known.

    Args:
        left: One source.
        right: The other.
        failed: Told why an id can't be read.
    """
    ids: list[str | None] = [None, None]
    for i, side in enumerate((left, right)):
        try:
            ids[i] = side.newest.cluster_id
        except SourceError as error:
            failed(error)
    return ids


def are_two(ids: Sequence[str | None]) -> bool:
    """Whether ids are known to be of different clusters."""
    return None not in ids and len(set(ids)) > 1


def offset_in(time_spec: str | None) -> int | None:
    """The offset that a point is; None for a time and for the end."""
    return None if time_spec is None or time_spec == END else parse_time_spec(time_spec).offset


def one_point(here: Source, text: str) -> str | TimeSpec:
    """A point that means the same time in two sources; `END` is the end of each.

    An age counts from the last record of the first.
    """
    if text == END:
        return END
    time_spec = parse_time_spec(text)
    return clock_of(here.newest).resolve(time_spec) if time_spec.is_relative else time_spec


def both_whole(context: Context, here: Source, there: Source) -> tuple[Source, Source]:
    """Two states as of an offset, both after the last one that both have whole."""
    was = {here.moment_offset, there.moment_offset}
    while here.moment_offset != there.moment_offset:
        offset = min(here.moment_offset or 0, there.moment_offset or 0)
        here, there = here.newest.at(offset), there.newest.at(offset)
    if len(was) > 1:
        context.warn(f"diff: both are compared after offset {here.moment_offset}")
    return here, there


def logs_differ(context: Context, here: Source, there: Source, until: int | None) -> bool:
    """Say where two logs hold different batches; whether they do.

    Args:
        context: Takes the warning.
        here: The first, at the state that is compared.
        there: The second.
        until: Batches that begin behind that offset are not compared; None for the states' ends.
    """
    from metashell.checks.agreement import LogFacts

    if are_two(cluster_ids(here, there)):
        return False

    def conflict(records: Sequence[Records]) -> tuple[int | None, list[LogFacts]]:
        facts = [
            LogFacts.of(
                found,
                source.newest.log.listing,
                source.metadata_directory,
                offset=source.image.provenance.offset,
                until=until,
                whole=until is not None,
            )
            for source, found in zip((here, there), records, strict=True)
        ]
        return facts[0].first_conflict(facts[1]), facts

    offset, facts = conflict([here.image.records, there.image.records])
    if offset is None:
        return False
    if offset <= max((int(f.batches[0, 0]) for f in facts if len(f.batches)), default=0):
        # Segments that neither state needs may tell more exactly where.
        earlier, whole = conflict([here.history_records, there.history_records])
        offset, facts = (offset, facts) if earlier is None else (earlier, whole)
    epochs = ["?" if e is None else str(e) for e in (f.epoch_at(offset) for f in facts)]
    context.warn(
        f"diff: the logs differ from offset {offset} on: epoch {epochs[0]} in the first, epoch"
        f" {epochs[1]} in the second"
    )
    return True
