"""`readStream`: the records that directories grow by.

Offsets are JSON: by directory a `metashell.spark_backend.cursor.Cursor`, behind the last batch that
was delivered. Only segments are followed: what is in a checkpoint was in a segment before.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.names import list_names
from metashell.log.splits import Split, SplitError
from metashell.places.parallel import in_parallel
from metashell.places.place import StoreEntry, entries_in, expand, file_in, is_uri
from metashell.records.split_filter import RowFilter
from metashell.spark_backend.cursor import NO_LIMIT, Cursor, Range, Segments, Walk, ranges_between
from metashell.spark_backend.failures import within_memory
from metashell.spark_backend.filters import TableFilter
from metashell.spark_backend.options import Options
from metashell.spark_backend.schemas import conform
from metashell.spark_backend.sites import Site, absolute, find_sites
from metashell.spark_backend.tables import split_batches

_VERSION: Final = 1
_SETTLED_S: Final = 2.0
"""Stores tell times in whole seconds: what is put in the same one may look the same."""

State = dict[str, Cursor]
"""How far each thing that is followed was delivered."""


class SegmentRange(InputPartition):
    """A range of one directory's segment, which one task reads."""

    def __init__(self, site: Site, part: Range) -> None:
        self.site, self.part = site, part

    def __repr__(self) -> str:
        return f"Part({self.site!r}, {self.part!r})"


@dataclass(frozen=True, slots=True)
class _Listed:
    """A directory, and the segments that it has now."""

    site: Site
    entries: Mapping[str, StoreEntry]

    @property
    def segments(self) -> Segments:
        """Its segments."""
        place = self.site.place
        listing = list_names(self.entries)
        return Segments(self.site.directory, listing, lambda name: file_in(place, name))

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each segment."""
        return {s.name: self.entries[s.name].size for s in list_names(self.entries).segments}

    @property
    def facts(self) -> object:
        """What changes with what is written."""
        return [(name, self.entries[name].mtime_ns, size) for name, size in self.sizes.items()]

    def ends_at(self, cursor: Cursor) -> bool:
        """Whether nothing was behind a cursor when it was listed."""
        last = next(reversed(self.sizes.items()), None)
        return last == (cursor.file, cursor.pos)


@dataclass(frozen=True, slots=True)
class _Quiet:
    """The files of a directory with nothing behind a cursor."""

    facts: object
    cursor: Cursor | None
    since_s: float
    """When they were first seen so, on time.monotonic's clock."""
    is_settled: bool = False
    """Whether they were looked into again when nothing could look the same any more."""

    def is_same(self, facts: object, cursor: Cursor | None) -> bool:
        """Whether it is about these."""
        return (self.facts, self.cursor) == (facts, cursor)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows logs: what is common to all of them.

    Args:
        options: What was asked for.
        wanted: The columns, as Spark expects them.
    """

    follows: str
    """What has a cursor, in the query's checkpoint."""

    def __init__(self, options: Options, wanted: pa.Schema) -> None:
        self._options, self._wanted = options, wanted

    def __getstate__(self) -> dict[str, Any]:
        # It is sent with each task, which has a directory of its own.
        return {"_options": replace(self._options, paths=()), "_wanted": self._wanted}

    def initialOffset(self) -> dict[str, Any]:
        """Before everything."""
        return self._to_json({})

    def getDefaultReadLimit(self) -> ReadLimit:
        """What option `maxBytesPerTrigger` says."""
        limit = self._options.max_bytes_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept."""

    def _places(self, sure: Collection[str] = ()) -> list[str]:
        """The places that are there now; what is none yet may become one."""
        places: list[str] = []
        for path in self._options.paths:
            try:
                places += map(absolute, expand(path, sure))
            except SourceError as e:
                # A glob may come to match; a store that can't be reached is an error.
                if not e.message.endswith("no directory matches"):
                    raise
        return list(dict.fromkeys(places))

    def _to_json(self, state: Mapping[str, Cursor]) -> dict[str, Any]:
        # A text for each: Spark compares offsets as text, and a flat map keeps its form.
        return {
            "version": _VERSION,
            self.follows: {
                name: json.dumps(cursor.to_json(), sort_keys=True)
                for name, cursor in sorted(state.items())
            },
        }

    def _from_json(self, value: Mapping[str, Any]) -> State:
        hint = "begin a new checkpoint"
        if value.get("version") != _VERSION:
            raise SourceError(
                f"the query's checkpoint has offsets of version {value.get('version')}, which this"
                " metashell does not know",
                hint=hint,
            )
        if self.follows not in value:
            raise SourceError("the query's checkpoint is of another table", hint=hint)
        return {name: Cursor.from_json(json.loads(t)) for name, t in value[self.follows].items()}


def gone(what: str) -> SourceError:
    """The error for something that was followed and is not there."""
    return SourceError(
        f"{what}: it was followed and is gone, or can't be read; option failOnDataLoss=false"
        " goes on with the others"
    )


class KRaftStreamReader(StreamReader):
    """Follows metadata directories."""

    follows = "directories"

    def __init__(self, options: Options, wanted: pa.Schema) -> None:
        super().__init__(options, wanted)
        self._until: dict[str, dict[str, int]] | None = None
        self._cuts: dict[str, list[Cursor]] = {}
        self._known: dict[str, Site] = {}
        """Directories in stores, by the URI that led there: what they are is asked once."""
        self._quiet: dict[str, _Quiet] = {}
        """Of those by name."""

    def prepareForTriggerAvailableNow(self) -> None:
        """Note how far the files go now: the query ends there."""
        self._until = {one.site.directory: one.sizes for one in self._listed()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far to go from an offset: up to the last whole batches, or about to the limit."""
        state = self._from_json(start)
        began_s = time.monotonic()
        listed = self._listed()
        self._see_all_there(state, [one.site for one in listed])
        end = dict(state)
        busy = [one for one in listed if not self._is_quiet(one, state.get(one.site.directory))]
        left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else NO_LIMIT
        if left == NO_LIMIT and any(is_uri(one.site.opened_by) for one in busy):
            walks = in_parallel([partial(self._walk, one, state, left) for one in busy])
        else:
            walks = []
            for i, one in enumerate(busy):
                walks.append(self._walk(one, state, max(left // (len(busy) - i), 1)))
                left = max(left - walks[-1][1], 0)
        for one, (cursor, _) in zip(busy, walks, strict=True):
            if cursor is not None:
                end[one.site.directory] = cursor
                self._note(one, state.get(one.site.directory), cursor, began_s)
        return self._to_json(end)

    def _walk(
        self, one: _Listed, state: Mapping[str, Cursor], limit: int
    ) -> tuple[Cursor | None, int]:
        """The cursor behind what is new in a directory, if any, and how many bytes that are."""
        directory = one.site.directory
        walk = Walk(
            one.segments,
            fail=self._options.fail_on_data_loss,
            limit=limit,
            until=None if self._until is None else self._until.get(directory, {}),
            split_bytes=self._options.split_bytes,
        )
        try:
            cursor = walk.run(state.get(directory))
        except SourceError:
            if self._options.fail_on_data_loss and directory in state:
                raise
            return None, 0
        self._cuts[directory] = walk.cuts
        return cursor, walk.taken

    def _is_quiet(self, one: _Listed, cursor: Cursor | None) -> bool:
        """Whether the files are those behind which there was nothing."""
        quiet = self._quiet.get(one.site.directory)
        return quiet is not None and quiet.is_settled and quiet.is_same(one.facts, cursor)

    def _note(self, one: _Listed, before: Cursor | None, cursor: Cursor, listed_s: float) -> None:
        """Note what need not be asked again of a directory in a store."""
        site = one.site
        if not is_uri(site.opened_by):
            return
        if self._until is None and (cursor == before or one.ends_at(cursor)):
            quiet = self._quiet.get(site.directory)
            if quiet is None or not quiet.is_same(one.facts, cursor):
                quiet = _Quiet(one.facts, cursor, time.monotonic())
            settled = listed_s - quiet.since_s >= _SETTLED_S
            self._quiet[site.directory] = replace(quiet, is_settled=settled)
        if cursor != before and (site.cluster_id is None or (before and cursor.begun)):
            # It may be another log than it was, or tell by now whose it is.
            self._known = {uri: s for uri, s in self._known.items() if s != site}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of files between two offsets."""
        before, after = self._from_json(start), self._from_json(end)
        sites = {site.directory: site for site in self._known.values()}
        if any(name not in sites for name, cursor in after.items() if before.get(name) != cursor):
            sites = {one.site.directory: one.site for one in self._listed()}
        parts: list[InputPartition] = []
        for directory, cursor in after.items():
            if before.get(directory) == cursor:
                continue
            site = sites.get(directory)
            if site is None:
                if self._options.fail_on_data_loss:
                    raise gone(directory)
                continue
            ranges = ranges_between(
                _list(site).segments,
                before.get(directory),
                cursor,
                fail=self._options.fail_on_data_loss,
            )
            parts += [
                SegmentRange(site, piece) for one in ranges for piece in self._cut(directory, one)
            ]
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        assert isinstance(partition, SegmentRange)
        site, part = partition.site, partition.part
        split = Split(
            file=file_in(site.place, part.file),
            name=part.file,
            begin=part.begin,
            end=part.end,
            after=part.after,
            order=0,
            size=part.end,
        )
        values = "value" in self._wanted.names
        try:
            with within_memory():
                for batch in split_batches(split, self._options, RowFilter(), values=values):
                    yield conform(batch, self._wanted, site.origin)
        except SplitError as e:
            if self._options.fail_on_data_loss:
                raise SourceError(
                    f"{site.directory}: {e.message}; option failOnDataLoss=false goes on behind it"
                ) from e

    def _listed(self) -> list[_Listed]:
        """The directories that are there now."""
        places = self._places(self._known)
        jobs = [partial(self._look, place) for place in places]
        looks = in_parallel(jobs) if any(map(is_uri, places)) else [job() for job in jobs]
        found = {one.site.directory: one for one in looks if one is not None}
        return [found[directory] for directory in sorted(found)]

    def _look(self, place: str) -> _Listed | None:
        """The directory at a place, if there is one; one that is known is listed, no more."""
        known = self._known.pop(place, None)
        if known is not None:
            with suppress(SourceError):
                listed = _list(known)
                if listed.sizes:
                    self._known[place] = known
                    return listed
        sites, _ = find_sites([place], TableFilter())
        with suppress(SourceError):
            if sites and is_uri(sites[0].opened_by):
                self._known[place] = sites[0]
            return _list(sites[0]) if sites else None
        return None

    def _see_all_there(self, state: Mapping[str, Cursor], sites: Sequence[Site]) -> None:
        lost = state.keys() - {site.directory for site in sites}
        if lost and self._options.fail_on_data_loss:
            raise gone(min(lost))

    def _cut(self, directory: str, part: Range) -> Iterator[Range]:
        """Pieces of about the bytes of option `splitBytes`, where it was seen where to cut."""
        begin, after = part.begin, part.after
        for cut in self._cuts.get(directory, ()):
            if cut.file == part.file and begin < cut.pos < part.end:
                yield Range(part.file, begin, cut.pos, after)
                begin, after = cut.pos, cut.offset
        yield Range(part.file, begin, part.end, after)


def _list(site: Site) -> _Listed:
    entries = entries_in(site.place)
    return _Listed(site, {entry.name: entry for entry in entries if not entry.is_directory})
