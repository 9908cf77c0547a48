"""The history of groups and transactions: every record of a coordinator's log about a node.

Records are followed in the order of their log. A commit in a transaction is pending until the
marker of its producer. Where compaction removed records, what a node was before is not known.

Source: GroupMetadataManager.replay, OffsetMetadataManager.replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np

from metashell.fs.change_parts import Effect
from metashell.fs.changes import Newest, NodeChange, Test, change_of
from metashell.fs.nodes.partitioned import PartitionsDirectory
from metashell.fs.record_paths import NOTHING_SHOWN, Fields, NodeUpdate, tell
from metashell.image.coordinators.surviving import SurvivingFold
from metashell.parts.known import coordinator_parts, puts_by_record
from metashell.parts.spec import NodeNames, Put, hook
from metashell.records.keyed_records import KeyedRecords
from metashell.redact import Redaction
from metashell.schema.arena import I64

_BLOCK_ROWS: Final = 8192
_OF_THING: Final = 2
"""Names in the path of a group, or of a transactional id."""
_ANY: Final = Put("")
"""Stands for what a type of records does that no part declares."""
_WRITTEN: Final = ""
"""Stands for the types of records that may wait for the end of a transaction."""
_COMMIT: Final = "COMMIT"
_ABORT: Final = "ABORT"


def find_record_changes(
    directory: PartitionsDirectory,
    tests: Sequence[Test],
    literal: Sequence[str | None],
    newest: Newest | None = None,
    *,
    in_full: bool = True,
) -> Iterator[NodeChange]:
    """Every change of the nodes that a path means and of all below them.

    They come in the order of the log; those of several partitions by time.

    Args:
        directory: The directory that the path leads through.
        tests: One for each component of the path.
        literal: The components that have no wildcard; None for the others.
        newest: How many records are told; None for all.
        in_full: Whether changes have a verb, fields and a reason; that takes most of the time.
    """
    name = literal[1] if len(literal) > 1 else None
    # Other directories of this log tell of themselves.
    tests = [directory.name.__eq__, *tests[1:]]
    found = [
        RecordReplay(
            records,
            f"{directory.topic}-{number}",
            tests,
            directory.topics,
            directory.redaction,
            in_full=in_full,
        ).by_record(newest)
        for number, records in directory.records_about(name)
    ]
    each = found[0] if found else iter(())
    if len(found) > 1:
        every = [changes for one in found for changes in one]
        every.sort(key=lambda changes: changes[0].timestamp_ms or 0)
        if newest is not None and len(every) > newest.limit:
            newest.has_older, every = True, every[-newest.limit :]
        each = iter(every)
    for changes in each:
        yield from changes


class RecordReplay:
    """Follows the nodes of one partition.

    Args:
        records: Its records, or those about one name.
        partition: The partition's name.
        tests: One for each component of the paths that are meant.
        topics: Names of topics by the text of their ids.
        redaction: Says what may be shown.
        in_full: The argument of `find_record_changes`.
    """

    def __init__(
        self,
        records: KeyedRecords,
        partition: str,
        tests: Sequence[Test],
        topics: Mapping[str, str],
        redaction: Redaction = NOTHING_SHOWN,
        *,
        in_full: bool = True,
    ) -> None:
        self._records, self._partition, self._redaction = records, partition, redaction
        self._in_full = in_full
        self._tests, self._topics = tests, topics
        self._puts = {each: put for each, (_, put) in puts_by_record().items()}
        self._groups: dict[NodeNames, dict[NodeNames, dict[str, Any]]] = {}
        """The fields of each node by record type, below the group that it is of."""
        self._row_of: dict[NodeNames, int] = {}
        self._pending: dict[int, dict[NodeNames, tuple[int, Fields]]] = {}

    def by_record(self, newest: Newest | None) -> Iterator[list[NodeChange]]:
        """The changes of each record that changed something: of all records, or of the newest."""
        records, frames = self._records, self._records.frames
        rows = records.known_rows()
        if newest is None:
            return self._follow(rows, records.complete_from)
        rows = rows[~newest.later(frames.offset[rows], frames.timestamps(rows))]
        later = np.flatnonzero(~newest.earlier(frames.offset[rows], frames.timestamps(rows)))

        def follow(size: int) -> Iterator[list[NodeChange]]:
            self._groups, self._row_of, self._pending = {}, {}, {}
            known_from = records.complete_from if size == len(rows) else len(frames)
            return self._follow(rows[len(rows) - size :], known_from)

        n_earlier = int(later[0]) if len(later) else len(rows)
        return iter(newest.of(len(rows), follow, n_earlier=n_earlier))

    def _follow(self, rows: I64, known_from: int) -> Iterator[list[NodeChange]]:
        refused = dict(chain.from_iterable(fold.refused.items() for fold in self._folds()))
        for first in range(0, len(rows), _BLOCK_ROWS):
            block = self._block(rows[first : first + _BLOCK_ROWS], known_from, refused)
            yield from filter(None, block)

    def _folds(self) -> Sequence[SurvivingFold]:
        """The folds of the log's parts."""
        parts = (part for part in coordinator_parts().values() if part.log == self._records.log)
        names = {part.fold for part in parts if part.fold}
        return [hook(name)(self._records, ()) for name in names]

    @cached_property
    def _told_as_one(self) -> frozenset[str]:
        """Types that decide, with others, what is so of their thing."""
        folds = self._folds()
        return frozenset(
            name
            for name, put in self._puts.items()
            if not put.waits and not all(fold.counts_by_key(name) for fold in folds)
        )

    def _block(
        self, rows: I64, known_from: int, refused: Mapping[int, str]
    ) -> Iterator[list[NodeChange]]:
        records, frames = self._records, self._records.frames
        some = rows[~frames.is_control[rows]]
        updates = tell(records, some, self._topics, self._redaction, values=self._in_full)
        markers, log = records.markers, self._partition
        at = np.searchsorted(markers.rows, rows)
        places = zip(
            rows.tolist(),
            at.tolist(),
            frames.api_key[rows].tolist(),
            frames.offset[rows].tolist(),
            frames.epochs(rows).tolist(),
            frames.timestamps(rows).tolist(),
            frames.producer_ids(rows).tolist(),
            strict=True,
        )
        for row, marker, number, offset, epoch, time, producer in places:
            if row in updates:
                name = records.types.by_number[number].name
                shown = records.types.type_name(number)
                effects = self._record(row, name, updates[row], producer, refused)
            elif marker < len(markers.rows) and markers.rows[marker] == row:
                commits = bool(markers.is_commit[marker])
                shown = _COMMIT if commits else _ABORT
                effects = self._end(producer, commits=commits)
            else:
                continue
            is_older, changes = row < known_from, list[NodeChange]()
            for effect in effects:
                if not self._in_full:
                    changes.append(
                        NodeChange(
                            effect.path, offset, None, time, epoch, None, shown, "", {}, None, log
                        )
                    )
                    continue
                change = change_of(
                    effect if is_older else _complete(effect), shown, base=False, older=is_older
                )
                if change is not None:
                    changes.append(change.placed(offset, time, epoch, log=log))
            yield changes

    def _meant(self, path: NodeNames) -> bool:
        return len(path) >= len(self._tests) and all(
            test(name) for test, name in zip(self._tests, path, strict=False)
        )

    def nodes(self) -> Mapping[NodeNames, Mapping[str, Any]]:
        """The fields of every node, after what was followed."""
        return {path: self._shown(path) or {} for nodes in self._groups.values() for path in nodes}

    def _around(self, path: NodeNames) -> dict[NodeNames, dict[str, Any]]:
        """All nodes of the group that a node is of."""
        return self._groups.setdefault(path[:_OF_THING], {})

    # Effects of a record.

    def _record(
        self,
        row: int,
        name: str,
        updates: Sequence[NodeUpdate],
        producer: int,
        refused: Mapping[int, str],
    ) -> Iterator[Effect]:
        if row in refused:
            for each in updates:
                if self._meant(each.path):
                    shown = self._shown(each.path)
                    yield Effect(each.path, shown, shown, refused[row])
            return
        put = self._puts.get(name, _ANY)
        if put.whole:
            yield from self._whole(name, updates)
            return
        for each in updates:
            if put.waits:
                yield from self._waiting(row, each, producer)
            elif put.onto and each.fields is not None:
                known = self._around(each.path).get(each.path, {}).get(put.onto, {})
                said = {key: value for key, value in each.fields.items() if value != put.kept}
                yield from self._put(each.path, put.onto, {**known, **said})
            else:
                yield from self._put(each.path, name, each.fields)

    def _put(self, path: NodeNames, name: str, fields: Fields | None) -> Iterator[Effect]:
        """Write, or remove, what a type of records says of a node."""
        is_meant = self._meant(path)
        before = self._shown(path) if is_meant and self._in_full else None
        nodes = self._around(path)
        node = nodes.setdefault(path, {})
        if fields is None:
            node.pop(name, None)
        else:
            node[name] = fields
        if not node:
            del nodes[path]
        if is_meant:
            yield Effect(path, before, self._shown(path) if self._in_full else None)

    def _shown(self, path: NodeNames) -> dict[str, Any] | None:
        """The fields of a node; None where it is not there."""
        node = self._around(path).get(path)
        if node is None:
            return None
        return {name: value for fields in node.values() for name, value in fields.items()}

    def _whole(self, name: str, updates: Sequence[NodeUpdate]) -> Iterator[Effect]:
        """A thing as a whole: what the record does not name is gone."""
        nodes = self._around(updates[0].path)
        written = {each.path for each in updates if each.fields is not None}
        gone = set[NodeNames]()
        for path, node in list(nodes.items()):
            before, is_written = self._shown(path), path in written
            nodes[path] = {
                each: fields
                for each, fields in node.items()
                if each not in self._told_as_one or (each == name and is_written)
            }
            if is_written or len(nodes[path]) == len(node):
                continue
            gone.add(path)
            if not nodes[path]:
                del nodes[path]
            if self._meant(path):
                yield Effect(path, before, self._shown(path))
        for each in updates:
            if each.fields is not None:
                yield from self._put(each.path, name, each.fields)
            elif each.path not in gone and each.path not in nodes and self._meant(each.path):
                yield Effect(each.path, None, None)

    def _waiting(self, row: int, update: NodeUpdate, producer: int) -> Iterator[Effect]:
        """The effects of a write, at once or when a transaction ends; a tombstone removes both."""
        path, name, said = update.path, _WRITTEN, update.fields
        if said is None:
            for pending in self._pending.values():
                pending.pop(path, None)
        elif producer >= 0:
            self._pending.setdefault(producer, {})[path] = (row, said)
            value = next(iter(said.values()), None)
            name, said = f"pending {producer}", {"pending": value, "producerId": producer}
        else:
            self._row_of[path] = row
        if self._in_full:
            nodes = self._around(path)
            if said is None and path in nodes:
                # With what is pending no more, it is removed.
                nodes[path] = {key: fields for key, fields in nodes[path].items() if key == name}
            yield from self._put(path, name, said)
        elif self._meant(path):
            # It matters to no other record, but for what is pending.
            yield Effect(path, None, None)

    def _end(self, producer: int, *, commits: bool) -> Iterator[Effect]:
        """The end of a producer's transaction."""
        for path, (row, fields) in self._pending.pop(producer, {}).items():
            before = self._shown(path)
            nodes = self._around(path)
            node = nodes.get(path, {})
            node.pop(f"pending {producer}", None)
            if commits and row > self._row_of.get(path, -1):
                node[_WRITTEN] = fields
                self._row_of[path] = row
            nodes[path] = node
            if not node:
                del nodes[path]
            if self._meant(path):
                yield Effect(path, before, self._shown(path))


def _complete(effect: Effect) -> Effect:
    """An effect on a node of which all is known: a field that it lacked was nothing."""
    before, after = effect.before, effect.after
    if before is None or after is None:
        return effect
    nothing = dict.fromkeys([*before, *after])
    return replace(effect, before=nothing | dict(before), after=nothing | dict(after))
