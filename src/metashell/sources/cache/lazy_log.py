"""A reduced log of an entry's files and of the records that came behind them."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metashell.errors import SourceError
from metashell.log.fault import Fault, FaultCode, FaultKind
from metashell.log.splits import Plan, plan_splits
from metashell.log.truncation import ReadUpTo
from metashell.reduced.log import ReducedLog, Reducing, Stretch, assemble, reduce_directory
from metashell.reduced.table import FileFacts, records_of
from metashell.schema.registry import Registry, load_registry
from metashell.sources.cache.groups import DamagedError, GroupEntry, stored_table
from metashell.sources.cache.lazy_records import open_records
from metashell.sources.cache.manifest import ManifestError

if TYPE_CHECKING:
    from metashell.records.records import Records
    from metashell.sources.cache.opening import CachedLog


def finish(
    cached: CachedLog, stretches: Iterable[Stretch], registry: Registry | None
) -> LazyLog | ReducedLog:
    """Put the kept records and the ones behind them together; see `CachedLog.finish`."""
    registry = registry or load_registry(cached.settings.schemas)
    try:
        groups = {
            name: GroupEntry(name, about, cached.data.get(name))
            for name, about in cached.manifest.groups.items()
        }
        for group in groups.values():
            group.check()
        known = dict(enumerate(cached.facts))
    except (DamagedError, ManifestError):
        cached.entry.remove()
        plan = plan_splits(cached.place, settings=cached.settings)
        how = Reducing.of_plan(plan, cached.settings)
        return reduce_directory(plan, how, registry)
    return LazyLog(
        cached, groups, assemble(cached.plan, stretches, cached.how, registry, known=known)
    )


class LazyLog:
    """A `metashell.reduced.log.ReducedLog` that is read from the cache when it is asked for."""

    def __init__(self, cached: CachedLog, groups: dict[str, GroupEntry], tail: ReducedLog) -> None:
        self.cached, self._groups, self._tail = cached, groups, tail
        self.plan: Plan = tail.plan
        self.files: list[FileFacts] = tail.files
        self.registry: Registry = tail.registry
        self.active: list[pa.Table] = tail.active

    @cached_property
    def closed(self) -> list[pa.Table]:
        """The tables of closed files, and of the cached part of the last segment. Reads it all."""
        try:
            return [stored_table(self._groups), *self._tail.closed]
        except DamagedError as e:
            self.cached.entry.remove()
            raise SourceError(
                f"{self.plan.path}: its cache entry was damaged and is now removed",
                hint="run the command again",
            ) from e

    @cached_property
    def records(self) -> Records:
        """Records of both. Cost: next to nothing, unless there are transactions."""
        cached = self.cached
        tail = [*self._tail.closed, *self.active]
        lazy = open_records(
            cached.entry, cached.manifest, self._groups, tail, self.files, self.registry
        )
        if lazy is not None:
            return lazy
        return records_of([*self.closed, *self.active], self.files, self.registry)

    @property
    def faults(self) -> list[Fault]:
        """The faults of the part that was not cached."""
        return self._tail.faults


def facts_value(facts: FileFacts) -> dict[str, Any]:
    """Facts of a file for JSON."""
    read = None if facts.read is None else b2a_base64(facts.read.to_bytes(), newline=False).decode()
    return {**asdict(replace(facts, read=None)), "read": read}


def file_facts(value: dict[str, Any]) -> FileFacts:
    """Facts of a file from JSON; see `facts_value`.

    Raises:
        ManifestError: They are none.
    """
    try:
        text = value["read"]
        read = None if text is None else ReadUpTo.from_bytes(a2b_base64(text))
        faults = {name: _faults(value[name]) for name in ("faults", "unframed")}
        epochs = tuple((epoch, first, end) for epoch, first, end in value["epochs"])
        return FileFacts(**{**value, **faults, "epochs": epochs, "read": read})
    except (ValueError, TypeError, KeyError) as e:
        raise ManifestError(str(e)) from e


def _faults(values: list[dict[str, Any]]) -> tuple[Fault, ...]:
    def fault(kind: str, code: str | None, **rest: Any) -> Fault:
        return Fault(FaultKind(kind), code=None if code is None else FaultCode(code), **rest)

    return tuple(fault(**value) for value in values)
