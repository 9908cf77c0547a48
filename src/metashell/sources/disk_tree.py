"""The directory ``/disk``: names from the listings of log directories, leaves from `replicas`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.fs.field_texts import lines_one_by_one
from metashell.fs.leaf_table import Entries, leaves_by_name
from metashell.fs.node import Directory, FixedDirectory, LateDirectory
from metashell.fs.nodes.leaves import LeavesDirectory
from metashell.fs.record_paths import Fields
from metashell.image.coordinators.surviving import LeafSources, ThingRows
from metashell.log.unread import Unread, UnreadReport
from metashell.node_files.log_directory import LogDirectory
from metashell.places.place import Place, shown
from metashell.schema.arena import I64
from metashell.sources.replicas import replicas_table, text_of

if TYPE_CHECKING:
    from metashell.sources.source import Source


def disk_directory(source: Source, problems: list[str]) -> Directory:
    """The log directories of a source's node, each with its replicas.

    Args:
        source: The source.
        problems: Takes sentences about what could not be read.
    """
    disks = _Disks(source, problems)
    names = _names_of([directory.place for directory in disks.directories])
    makers = {name: partial(disks.leaves, number) for number, name in enumerate(names)}
    return FixedDirectory({name: partial(LateDirectory, make) for name, make in makers.items()})


def _names_of(places: Sequence[Place]) -> list[str]:
    """A name for each place: as few of the last names in its path as tell it from others."""
    paths = [text_of(shown(str(place))).strip("/").split("/") for place in places]
    for n in range(1, max(map(len, paths), default=1) + 1):
        names = ["-".join(path[-n:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return ["/".join(path) for path in paths]


class _Disks:
    """The rows of the replicas in log directories: one alone is read by itself, of more all are."""

    def __init__(self, source: Source, problems: list[str]) -> None:
        self._source, self._told = source, problems
        self.directories = source.log_directories

    def leaves(self, number: int) -> Directory:
        """The replicas in a log directory. Reads none of them."""
        directory = self.directories[number]
        names = [text_of(name) for name in _all_names(directory)]
        # No record tells when one changed.
        rows = LeafSources(ThingRows(*np.full((3, len(names)), -1, dtype=np.int64)))
        entries = Entries(rows, _DiskFields(self, number))
        table = leaves_by_name(entries, np.array(names, dtype=object))
        return LeavesDirectory(table, range(len(table)), -1)

    def rows(self, number: int, places: I64) -> pa.Table:
        """The rows of some of the replicas in a log directory, by their places among its names."""
        if len(places) == 1:
            return self._one(self.directories[number], int(places[0]))
        before = sum(len(_all_names(directory)) for directory in self.directories[:number])
        return self._all.take(pa.array(before + places))

    @cached_property
    def _all(self) -> pa.Table:
        return self._read(self.directories)

    def _one(self, directory: LogDirectory, place: int) -> pa.Table:
        """The row of one replica; others of its partition tell what becomes of it."""
        name = _all_names(directory)[place]
        of = {(log.topic, log.partition) for log in directory.logs[place : place + 1]}
        rows = self._read(
            [
                replace(
                    each,
                    logs=tuple(log for log in each.logs if (log.topic, log.partition) in of),
                    not_logs=tuple(one for one in each.not_logs if one == name),
                )
                for each in self.directories
            ]
        )
        is_here = pc.equal(rows["directory"], text_of(shown(str(directory.place))))
        return rows.filter(pc.and_(is_here, pc.equal(rows["name"], text_of(name))))

    def _read(self, directories: Sequence[LogDirectory]) -> pa.Table:
        unread = Unread()
        rows = replicas_table(self._source, directories, UnreadReport(unread))
        self._told.extend(unread.faults)
        return rows


def _all_names(directory: LogDirectory) -> list[str]:
    """The names of a log directory's directories, in the order of rows."""
    return [*(log.name for log in directory.logs), *directory.not_logs]


class _DiskFields:
    """Reads the fields of replicas; a `metashell.fs.leaf_table.FieldsReader`."""

    def __init__(self, disks: _Disks, number: int) -> None:
        self._disks, self._number = disks, number

    def values(self, places: I64) -> Sequence[Fields]:
        rows = self._disks.rows(self._number, places)
        times = rows["last_time"].cast(pa.int64())
        rows = rows.drop_columns(["last_time"]).append_column("last_timestamp", times)
        return [
            {_camel(name): value for name, value in row.items() if value not in (None, [])}
            for row in rows.to_pylist()
        ]

    def lines(self, places: I64, *, as_json: bool) -> pa.LargeStringArray:
        return lines_one_by_one(self.values(places), as_json=as_json)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
