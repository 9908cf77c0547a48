"""`readStream`: the records that directories grow by.

Offsets are JSON: by directory a `metashell.spark_backend.cursor.Cursor`, behind the last batch that
was delivered. Only segments are followed: what is in a checkpoint was in a segment before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)

from metashell.errors import SourceError
from metashell.image.row_filter import RowFilter
from metashell.log.names import list_names
from metashell.log.places import file_in, names_in
from metashell.log.splits import Split, SplitError
from metashell.spark_backend.cursor import NO_LIMIT, Cursor, Range, Segments, Walk, ranges_between
from metashell.spark_backend.filters import Wanted
from metashell.spark_backend.options import Options
from metashell.spark_backend.schemas import conform
from metashell.spark_backend.sites import Site, find_sites
from metashell.spark_backend.tables import split_batches

_VERSION: Final = 1

_State = dict[str, Cursor]


class Part(InputPartition):
    """A range of one directory's segment, which one task reads."""

    def __init__(self, site: Site, part: Range) -> None:
        self.site, self.part = site, part

    def __repr__(self) -> str:
        return f"Part({self.site!r}, {self.part!r})"


class KRaftStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows directories.

    Args:
        options: What was asked for.
        wanted: The columns, as Spark expects them.
    """

    def __init__(self, options: Options, wanted: pa.Schema) -> None:
        self._options, self._wanted = options, wanted
        self._until: dict[str, dict[str, int]] | None = None
        self._cuts: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def initialOffset(self) -> dict[str, Any]:
        """Before everything."""
        return _to_json({})

    def getDefaultReadLimit(self) -> ReadLimit:
        """What option `maxBytesPerTrigger` says."""
        limit = self._options.max_bytes_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    def prepareForTriggerAvailableNow(self) -> None:
        """Note how far the files go now: the query ends there."""
        self._until = {}
        for site in self._sites():
            segments = self._segments(site)
            self._until[site.directory] = {s.name: segments.size(s.name) for s in segments.segments}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far to go from an offset: up to the last whole batches, or about to the limit."""
        state = _from_json(start)
        sites = self._sites()
        self._see_all_there(state, sites)
        left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else NO_LIMIT
        end = dict(state)
        for i, site in enumerate(sites):
            until = None if self._until is None else self._until.get(site.directory, {})
            share = max(left // (len(sites) - i), 1)
            try:
                walk = Walk(
                    self._segments(site),
                    fail=self._options.fail_on_data_loss,
                    limit=share,
                    until=until,
                    split_bytes=self._options.split_bytes,
                )
                cursor = walk.run(state.get(site.directory))
            except SourceError:
                if self._options.fail_on_data_loss and site.directory in state:
                    raise
                continue
            if cursor is not None:
                end[site.directory] = cursor
            left = max(left - walk.taken, 0)
            for name, cuts in walk.cuts.items():
                self._cuts[site.directory, name] = cuts
        return _to_json(end)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of files between two offsets."""
        before, after = _from_json(start), _from_json(end)
        sites = {site.directory: site for site in self._sites()}
        parts: list[InputPartition] = []
        for directory, cursor in after.items():
            if before.get(directory) == cursor:
                continue
            site = sites.get(directory)
            if site is None:
                if self._options.fail_on_data_loss:
                    raise _gone(directory)
                continue
            ranges = ranges_between(
                self._segments(site),
                before.get(directory),
                cursor,
                fail=self._options.fail_on_data_loss,
            )
            parts += [Part(site, piece) for one in ranges for piece in self._cut(directory, one)]
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        assert isinstance(partition, Part)
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
            for batch in split_batches(split, self._options, RowFilter(), values=values):
                yield conform(batch, self._wanted, site.origin)
        except SplitError as e:
            if self._options.fail_on_data_loss:
                raise SourceError(
                    f"{site.directory}: {e.message}; option failOnDataLoss=false goes on behind it"
                ) from e

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept."""

    def _sites(self) -> list[Site]:
        """The directories that are there now; what is none yet may become one."""
        found: dict[str, Site] = {}
        for path in self._options.paths:
            try:
                sites, _ = find_sites([path], Wanted())
            except SourceError as e:
                # A glob may come to match; a store that can't be reached is an error.
                if not e.message.endswith("no directory matches"):
                    raise
                continue
            found.update((site.directory, site) for site in sites)
        return [found[directory] for directory in sorted(found)]

    def _segments(self, site: Site) -> Segments:
        listing = list_names(names_in(site.place))
        return Segments(site.directory, listing, lambda name: file_in(site.place, name))

    def _see_all_there(self, state: Mapping[str, Cursor], sites: Sequence[Site]) -> None:
        gone = state.keys() - {site.directory for site in sites}
        if gone and self._options.fail_on_data_loss:
            raise _gone(min(gone))

    def _cut(self, directory: str, part: Range) -> Iterator[Range]:
        """Pieces of about the bytes of option `splitBytes`, where it was seen where to cut."""
        begin, after = part.begin, part.after
        for pos, last in self._cuts.get((directory, part.file), ()):
            if begin < pos < part.end:
                yield Range(part.file, begin, pos, after)
                begin, after = pos, last
        yield Range(part.file, begin, part.end, after)


def _gone(directory: str) -> SourceError:
    return SourceError(
        f"{directory}: it was followed and is gone, or can't be read; option failOnDataLoss=false"
        " goes on with the others"
    )


def _to_json(state: Mapping[str, Cursor]) -> dict[str, Any]:
    # A text for each: Spark compares offsets as text, and a flat map keeps its form.
    return {
        "version": _VERSION,
        "directories": {
            name: json.dumps(cursor.to_json(), sort_keys=True)
            for name, cursor in sorted(state.items())
        },
    }


def _from_json(value: Mapping[str, Any]) -> _State:
    if value.get("version") != _VERSION:
        raise SourceError(
            f"the query's checkpoint has offsets of version {value.get('version')}, which this"
            f" metashell does not know",
            hint="begin a new checkpoint",
        )
    return {name: Cursor.from_json(json.loads(text)) for name, text in value["directories"].items()}
