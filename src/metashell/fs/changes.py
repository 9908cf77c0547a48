"""The history of nodes: every record that touched a path, from the oldest that the files hold on.

Which records concern a path is found from columns: of partitions only those of the topics asked for
are decoded. They are then followed one by one in replay order (`metashell.fs.change_parts`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.fs.change_parts import (
    UNKNOWN,
    Effect,
    PartHistory,
    Path,
    ProvenanceHistory,
    TopicHistory,
    part_histories,
    shown_value,
)
from metashell.log.time_spec import TimeSpec
from metashell.parts.known import all_parts
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.id_table import hash_ids
from metashell.schema.rows import to_rows
from metashell.schema.uuids import uuid_text

Test = Callable[[str], object]
"""Whether a component of a path is meant."""

_NOT_LOOKED_FOR: Final = np.empty(0, dtype="V16")

_NOTHING_KNOWN: Final = 1 << 63
"""Before that offset no state is known."""
_BLOCK_ROWS: Final = 8192
_WIDER: Final = 16
"""So many times more records are followed where too few of the newest are about a path."""
_SEARCHED_ONE_BY_ONE: Final = 16
"""Topics whose records are looked for id by id; of more, all ids are decoded."""


@dataclass(slots=True)
class Newest:
    """Asks for the newest records about a path; what was before those followed is not known."""

    limit: int
    since: TimeSpec | None = None
    until: TimeSpec | None = None
    within: Callable[[NodeChange], bool] = lambda _: True
    """Whether a change lies between both; others are not counted."""
    has_older: bool = False
    """Set where there may be older records about it."""

    def later(self, offsets: I64, times: I64) -> Bools:
        """bool[n]: which records lie behind `until`."""
        until = self.until
        ms = None if until is None else until.last_ms
        return _compared(until, ms, offsets, times, np.greater)

    def earlier(self, offsets: I64, times: I64) -> Bools:
        """bool[n]: which records lie before `since`."""
        since = self.since
        ms = None if since is None else since.timestamp_ms
        return _compared(since, ms, offsets, times, np.less)

    def of(
        self,
        n: int,
        follow: Callable[[int], Iterator[list[NodeChange]]],
        *,
        n_earlier: int = 0,
        repeats: bool = False,
    ) -> list[list[NodeChange]]:
        """The changes of the newest records that changed something, a list for each.

        Few of the last records may be about the path, so more and more of them are followed.

        Args:
            n: How many records there are, oldest first.
            follow: Gives the changes of each of the last so many records.
            n_earlier: How many of the first ones lie before `since`.
            repeats: Whether a checkpoint stands behind some of them.
        """
        size = self.limit
        while True:
            size = min(size, n)
            counted = (changes for changes in follow(size) if self.within(changes[0]))
            found = deque(counted, self.limit + 1)
            if len(found) >= self.limit or size >= n - n_earlier:
                # A record that a checkpoint repeats from the log before it is no change.
                if not repeats or size == n or all(c[0].offset is not None for c in found):
                    break
                size = n
            else:
                size = max(size * _WIDER, _BLOCK_ROWS)
        self.has_older |= size < n - n_earlier or len(found) > self.limit
        return list(found)[-self.limit :]


def _compared(
    time_spec: TimeSpec | None, ms: int | None, offsets: I64, times: I64, by: np.ufunc
) -> Bools:
    """bool[n]: which records compare so with a point: by time if it has one, else by offset."""
    if time_spec is None:
        return np.zeros(len(offsets), dtype=np.bool_)
    found: Bools = by(offsets, time_spec.offset or 0) if ms is None else by(times, ms)
    return found


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A change of one node by one record."""

    path: Path
    offset: int | None
    """None for what a checkpoint says."""
    at_or_before: int | None
    """For what a checkpoint says: the last offset that it holds."""
    timestamp_ms: int | None
    epoch: int | None
    controller: int | None
    """Who led in that epoch, where a record tells."""
    record: str
    """Type of the record, as kafka-dump-log calls it."""
    verb: str
    """``created``, ``removed``, ``changed``, ``unchanged``, ``present`` (in the oldest checkpoint),
    ``refused`` (Kafka does not apply it)."""
    fields: Mapping[str, tuple[Any, Any]]
    """From what to what, by field; a node without fields has the one field ""."""
    reason: str | None = None
    """The reason of a refusal."""
    log: str | None = None
    """The coordinator's log that the record is in; None for the metadata log."""

    def placed(
        self,
        offset: int,
        timestamp_ms: int,
        epoch: int,
        *,
        controller: int | None = None,
        log: str | None = None,
    ) -> NodeChange:
        """The change, made by a record at some place."""
        # There is one for each record; `replace` would take longer than the rest of it.
        return NodeChange(
            self.path,
            offset,
            self.at_or_before,
            timestamp_ms,
            epoch,
            controller,
            self.record,
            self.verb,
            self.fields,
            self.reason,
            log,
        )


def find_changes(
    records: Records,
    redaction: Redaction,
    tests: Sequence[Test],
    literal: Sequence[str | None],
    leaders: Mapping[int, int],
    newest: Newest | None = None,
) -> Iterator[NodeChange]:
    """Every change of the nodes that a path means and of all below them, oldest first.

    Args:
        records: The records of the oldest state in the directory and after it.
        redaction: Says what may be shown.
        tests: One for each component of the path.
        literal: The components that have no wildcard; None for the others.
        leaders: Leader of epochs, where something else than the log tells.
        newest: How many records are told; None for all.
    """
    return _Follow(records, redaction, tests, literal, leaders).run(newest)


class _Follow:
    """One run of `find_changes`."""

    def __init__(
        self,
        records: Records,
        redaction: Redaction,
        tests: Sequence[Test],
        literal: Sequence[str | None],
        leaders: Mapping[int, int],
    ) -> None:
        self._records, self._tests, self._literal = records, tests, literal
        self._every = records.every
        self._ids: AnyArray | None = _NOT_LOOKED_FOR
        self._redaction = redaction
        self._parts = self._histories()
        self._begin = self._known_from()
        """Where the oldest state is known; records before it change what is not."""
        self._epochs = dict(leaders) | {leader.epoch: leader.leader for leader in _leaders(records)}

    def _histories(self) -> list[PartHistory]:
        """The histories of the nodes that are meant, from nothing."""
        registry = self._records.registry
        if tuple(self._literal) == ProvenanceHistory.root:
            # Every record changes it, so only who asks for it alone is told.
            return [ProvenanceHistory(registry)]
        every = part_histories(registry, self._redaction)
        parts = [part for part in every if self._leads_to(part.root)]
        for by in ("byName", "byId"):
            topics = TopicHistory(by)
            # Each topic is there twice; one that both names mean is told once.
            seen = any(isinstance(part, TopicHistory) for part in parts)
            if self._leads_to(topics.root) and not seen:
                parts.append(topics)
        for part in parts:
            part.is_meant = self._meant
        return parts

    def _known_from(self) -> int:
        return max((file.end_offset or 0 for file in self._records.loaded.files), default=0)

    def _leads_to(self, root: Path) -> bool:
        return all(test(name) for test, name in zip(self._tests, root, strict=False))

    def _meant(self, path: Path) -> bool:
        return len(path) >= len(self._tests) and self._leads_to(path)

    def run(self, newest: Newest | None) -> Iterator[NodeChange]:
        by_name = self._by_name()
        rows_of = {name: self._rows(name, parts) for name, parts in by_name.items()}
        names = list(rows_of)
        rows = np.concatenate([rows_of[name] for name in names] or [np.empty(0, np.int64)])
        kinds = np.repeat(np.arange(len(names)), [len(rows_of[name]) for name in names])
        order = self._order(rows)
        rows, kinds = rows[order], kinds[order]
        if newest is None:
            found = self._follow(rows, kinds, names)
        else:
            offsets, times = self._places(rows)
            within = ~newest.later(offsets, times)
            rows, kinds, offsets, times = (a[within] for a in (rows, kinds, offsets, times))
            later = np.flatnonzero(~newest.earlier(offsets, times))

            def follow(size: int) -> Iterator[list[NodeChange]]:
                first = len(rows) - size
                self._parts = self._histories()
                self._begin = _NOTHING_KNOWN if first else self._known_from()
                return self._follow(rows[first:], kinds[first:], names)

            n_earlier = int(later[0]) if len(later) else len(rows)
            repeats = bool(len(rows)) and int(offsets[0]) < self._known_from() and times[0] >= 0
            found = iter(newest.of(len(rows), follow, n_earlier=n_earlier, repeats=repeats))
        for changes in found:
            yield from changes

    def _by_name(self) -> dict[str, list[PartHistory]]:
        by_name: dict[str, list[PartHistory]] = {}
        for part in self._parts:
            for name in part.records:
                by_name.setdefault(name, []).append(part)
        return by_name

    def _places(self, rows: I64) -> tuple[I64, I64]:
        """Offsets and times of rows: int64[n] each; a checkpoint has one offset, its last."""
        frames, ends = self._records.frames, self._checkpoint_ends(rows)
        offsets = np.where(ends > 0, ends - 1, frames.offset[rows])
        return offsets, np.where(ends > 0, -1, frames.timestamps(rows))

    def _follow(self, rows: I64, kinds: I64, names: Sequence[str]) -> Iterator[list[NodeChange]]:
        """The changes of each record that has some."""
        by_name = self._by_name()
        self._name_topics(rows)
        for first in range(0, len(rows), _BLOCK_ROWS):
            block = slice(first, first + _BLOCK_ROWS)
            yield from filter(None, self._block(rows[block], kinds[block], names, by_name))

    def _name_topics(self, rows: I64) -> None:
        """Records before the oldest state may concern topics that it names."""
        topics = next((part for part in self._parts if isinstance(part, TopicHistory)), None)
        if topics is None or not (self._records.frames.offset[rows] < self._begin).any():
            return
        _, columns = self._every.columns("TopicRecord")
        ids, names = columns.fixed("topic_id"), columns.span("name")
        wanted = self._topic_ids(topics)
        if wanted is not None:
            at = np.flatnonzero(np.isin(hash_ids(ids), hash_ids(wanted)))
            ids, names = ids[at], names.take(at)
        topics.name_topics({i.tobytes(): n for i, n in zip(ids, names.texts(), strict=True)})

    def _order(self, rows: I64) -> I64:
        """Log records before the checkpoint's end, the checkpoint's own, those after."""
        records = self._records
        phase = np.full(len(rows), 2, dtype=np.int8)
        for i, file in enumerate(records.loaded.files):
            if not file.end_offset:
                continue
            frames = records.frames
            inside = frames.batches.file[frames.batch[rows]] == i
            phase[~inside & (frames.offset[rows] < file.end_offset)] = 0
            phase[inside] = 1
        return np.lexsort((rows, phase))

    def _block(
        self,
        rows: I64,
        kinds: I64,
        names: Sequence[str],
        by_name: Mapping[str, Sequence[PartHistory]],
    ) -> Iterator[list[NodeChange]]:
        decoded: dict[int, dict[str, object]] = {}
        for kind in np.unique(kinds).tolist():
            good, columns = self._every.decode(names[kind], rows[kinds == kind])
            decoded.update(zip(good.tolist(), to_rows(columns), strict=True))
        frames = self._records.frames
        places = zip(
            rows.tolist(),
            kinds.tolist(),
            frames.offset[rows].tolist(),
            frames.epochs(rows).tolist(),
            frames.timestamps(rows).tolist(),
            self._checkpoint_ends(rows).tolist(),
            strict=True,
        )
        for row, kind, offset, epoch, time, end in places:
            fields = decoded.get(row)
            if fields is None:
                continue
            spec, changes = self._records.registry.by_name[names[kind]], list[NodeChange]()
            base = end > 0
            older = offset < self._begin
            for part in by_name[names[kind]]:
                part.in_checkpoint, part.is_complete = base, not older
                part.place = (end - 1 if base else offset, epoch, time)
                for effect in part.apply(names[kind], fields):
                    if not self._meant(effect.path):
                        continue
                    change = change_of(
                        effect,
                        spec.type_name,
                        base=base,
                        older=older,
                        draws_keys=_draws_keys(spec.name),
                    )
                    if change is None:
                        continue
                    if base:
                        changes.append(replace(change, at_or_before=end - 1))
                    else:
                        controller = self._epochs.get(epoch)
                        changes.append(change.placed(offset, time, epoch, controller=controller))
            yield changes

    def _checkpoint_ends(self, rows: I64) -> I64:
        """End offset of the checkpoint that each row stands in, 0 for the log's own."""
        frames, files = self._records.frames, self._records.loaded.files
        ends = np.array([file.end_offset or 0 for file in files], dtype=np.int64)
        found: I64 = ends[frames.batches.file[frames.batch[rows]]]
        return found

    # Which records concern the path.

    def _rows(self, name: str, parts: Sequence[PartHistory]) -> I64:
        rows = self._every.rows(name)
        topics = next((part for part in parts if isinstance(part, TopicHistory)), None)
        if topics is None or len(parts) > 1 or name == "ClearElrRecord":
            return rows
        ids = self._topic_ids(topics)
        if ids is None:
            return rows
        if name == "TopicRecord":
            good, columns = self._every.columns(name)
            return good[np.isin(hash_ids(columns.fixed("topic_id")), hash_ids(ids))]
        if len(ids) <= _SEARCHED_ONE_BY_ONE:
            found = [self._every.rows_with(name, "topic_id", i.tobytes()) for i in ids]
            return np.sort(np.concatenate(found)) if found else rows[:0]
        good, columns = self._every.decode(name, rows, ["topic_id"])
        wanted = np.isin(hash_ids(columns.fixed("topic_id")), hash_ids(ids))
        return good[wanted]

    def _topic_ids(self, topics: TopicHistory) -> AnyArray | None:
        """Ids that the path's topics ever had: V16[k]; None for all."""
        if self._ids is _NOT_LOOKED_FOR:
            self._ids = self._find_topic_ids(topics)
        return self._ids

    def _find_topic_ids(self, topics: TopicHistory) -> AnyArray | None:
        depth = len(topics.root)
        if len(self._tests) <= depth:
            return None
        _, columns = self._every.columns("TopicRecord")
        ids, names = columns.fixed("topic_id"), columns.span("name")
        test, literal = self._tests[depth], self._literal[depth]
        if topics.by == "byId":
            texts = [uuid_text(i.tobytes()) for i in ids]
            return np.unique(ids[[bool(test(text)) for text in texts]])
        if literal and "\ufffd" not in literal:
            return np.unique(ids[names.find(literal.encode("utf-8", "surrogatepass"))])
        return np.unique(ids[[bool(test(text)) for text in names.texts()]])


def change_of(
    effect: Effect, record: str, *, base: bool, older: bool, draws_keys: bool = False
) -> NodeChange | None:
    """An effect as it is told; None where a checkpoint says only what is known already.

    Args:
        effect: The effect of the record.
        record: The record's type, as Kafka calls it.
        base: Whether it stands in the checkpoint.
        older: Whether it stands before it, so that there may have been a node already.
        draws_keys: Whether such a record makes what was never there before.
    """
    before, after = effect.before, effect.after
    fields: dict[str, tuple[Any, Any]] = {}
    if effect.refused is None:
        for name in dict.fromkeys([*(before or ()), *(after or ())]):
            old = None if before is None else before.get(name, UNKNOWN)
            new = None if after is None else after.get(name, UNKNOWN)
            if old != new or (old is UNKNOWN is new and before is None):
                fields[name] = (shown_value(old), shown_value(new))
    if base and before is not None and not fields:
        return None
    if effect.refused is not None:
        verb = "refused"
    elif after is None:
        verb = "removed"
    elif before is None and all(old is None for old, _ in fields.values()):
        partial = any(value is UNKNOWN for value in after.values())
        partial |= older and not draws_keys
        verb = "present" if base else "changed" if partial else "created"
        if partial:
            fields = {name: ("?", new) for name, (_, new) in fields.items() if new != "?"}
    elif base and all(old == shown_value(UNKNOWN) for old, _ in fields.values()):
        # The checkpoint fills in what records before it left open; nothing has changed.
        verb = "present"
    else:
        verb = "changed" if fields else "unchanged"
    return NodeChange(
        effect.path, None, None, None, None, None, record, verb, fields, effect.refused
    )


def _draws_keys(message: str) -> bool:
    """Whether a record of a message makes what was never there before."""
    drawing = (part for part in all_parts() if part.draws_keys)
    return any(message == part.put.message for part in drawing)


def _leaders(records: Records) -> Sequence[Any]:
    from metashell.image.quorum_members import fold_quorum

    return fold_quorum(records.every).leaders
