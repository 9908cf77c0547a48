"""When things were last touched: newest records by part and group, and what a row means.

Folds keep, for each thing that exists, the rows of the records that made and last changed it. Here
stands what they do not keep: the newest record about a whole part, topic, resource or entity,
removals included. `Moments` turns rows into offsets and times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import group_keys
from metashell.image.keyed import join_parts, join_spans, key_part
from metashell.image.security import SCRAM_MECHANISMS
from metashell.lazy import lazy
from metashell.log.frames import CONTROL_KEY
from metashell.parts.forms import code_names
from metashell.parts.known import find_part
from metashell.parts.spec import NamedCodes, PartField, PartSpec, hook
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.resource_types import ResourceType

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.log.time_spec import TimeSpec
    from metashell.records.records import Records

_OF_PARTITIONS: Final = ("PartitionRecord", "PartitionChangeRecord")


class Touched:
    """The newest records about the parts of an image; rows, -1 for none."""

    def __init__(self, image: Image) -> None:
        self.lock = image.lock
        self._image = image
        self._records = image.records
        self._by_level: dict[str, I64] = {}

    def newest(self, *messages: str) -> int:
        """The newest record of some types."""
        last = (self._records.rows(name)[-1:] for name in messages)
        return max((int(rows[0]) for rows in last if len(rows)), default=-1)

    def first_and_last(self, message: str) -> tuple[int, int]:
        """The oldest and the newest record of a type."""
        rows, _ = self._records.columns(message)
        return (int(rows[0]), int(rows[-1])) if len(rows) else (-1, -1)

    @lazy
    def topics(self) -> int:
        """About any topic."""
        newest = self.newest("TopicRecord", "RemoveTopicRecord", *_OF_PARTITIONS)
        if self.newest("ClearElrRecord") > newest:
            # It changes only partitions that have something to clear, which the fold knows.
            newest = max(newest, int(self.each_topic.max(initial=-1)))
        return newest

    @lazy
    def each_topic(self) -> I64:
        """int64[topics]: about each living topic or its partitions. Cost: folds all partitions."""
        topics, partitions = self._image.topics, self._image.partitions
        newest = topics.changed.copy()
        bounds = partitions.topic_bounds
        filled = np.flatnonzero(np.diff(bounds))
        if filled.size:
            of_partitions = np.maximum.reduceat(partitions.changed, bounds[:-1][filled])
            newest[filled] = np.maximum(newest[filled], of_partitions)
        return newest

    def topic(self, topic: int) -> int:
        """About one topic or its partitions, folded alone where the others are not needed."""
        if Touched.each_topic.is_known(self):
            return int(self.each_topic[topic])
        partitions = self._image.partitions_of(topic)
        newest = int(partitions.changed[partitions.of_topic(topic)].max(initial=-1))
        return max(int(self._image.topics.changed[topic]), newest)

    @lazy
    def configs(self) -> int:
        """About any config: a removal of a topic counts where it took some with it."""
        newest = self.newest("ConfigRecord")
        removals = self._image.topics.removed.rows
        if len(removals) and int(removals[-1]) > newest >= 0:
            return max(newest, self._last_removal_of_configs())
        return newest

    def newest_of(self, part: PartSpec) -> int:
        """About a part, removals of its things included."""
        if part.newest:
            row: int = hook(part.newest)(self._image)
            return row
        return self.newest(*part.own_messages)

    def newest_by_level(self, part: PartSpec) -> I64:
        """int64[k]: about the first directory that each thing of a part is in."""
        with self.lock:
            if part.name not in self._by_level and part.groups:
                self._by_level[part.name] = hook(part.groups)(self._image)
            if part.name not in self._by_level:
                rows, groups = self._level_events(part)
                changed = self._image.part(part.name).changed
                self._by_level[part.name] = _newest_of_group(rows, groups, changed)
            return self._by_level[part.name]

    def newest_by_code(self, part: PartSpec) -> dict[int, int]:
        """About each code that a thing of the part ever had in place of its first name."""
        (column,) = part.levels[0].of
        newest: dict[int, int] = {}
        for message in part.own_messages:
            rows, columns = self._records.columns(message)
            codes = columns.fixed(column)
            for code in np.unique(codes).tolist():
                row = int(rows[codes == code].max())
                newest[code] = max(newest.get(code, -1), row)
        return newest

    def _level_events(self, part: PartSpec) -> tuple[I64, I64]:
        """Rows of all records about a part's things, ascending, and the directory of each."""
        key = {field.column: field for field in part.key}
        found = [self._records.columns(message) for message in part.own_messages]
        rows = np.concatenate([rows for rows, _ in found])
        groups = group_keys(
            [
                join_parts([_level_part(columns, key[name]) for _, columns in found])
                for name in part.levels[0].of
            ],
            len(rows),
        )
        order = np.argsort(rows, kind="stable")
        return rows[order], groups[order]

    @lazy
    def scram_users(self) -> dict[str, int]:
        """About each user that ever had a credential of a mechanism that Kafka knows."""
        newest: dict[str, int] = {}
        for (name, _), (row, _) in self._credentials.items():
            newest[name] = max(newest.get(name, -1), row)
        return newest

    @lazy
    def removed_scram(self) -> dict[str, dict[int, int]]:
        """For each user that lost a credential: its mechanism -> the record that removed it."""
        removed: dict[str, dict[int, int]] = {}
        for (name, mechanism), (row, is_removal) in self._credentials.items():
            if is_removal:
                removed.setdefault(name, {})[mechanism] = row
        return removed

    @lazy
    def _credentials(self) -> dict[tuple[str, int], tuple[int, bool]]:
        """(user, mechanism that Kafka knows) -> the newest record, whether it removes one."""
        newest: dict[tuple[str, int], tuple[int, bool]] = {}
        # A removal counts only for a credential that was made: makers come first.
        for is_removal, message in sorted(
            (name.startswith("Remove"), name) for name in find_part("scram").own_messages
        ):
            rows, columns = self._records.columns(message)
            mechanisms = columns.fixed("mechanism")
            known = np.flatnonzero(np.isin(mechanisms, list(SCRAM_MECHANISMS)))
            names = columns.span("name").take(known).texts()
            codes, found = mechanisms[known].tolist(), rows[known].tolist()
            for name, code, row in zip(names, codes, found, strict=True):
                if is_removal and (name, code) not in newest:
                    continue
                newest[name, code] = max(newest.get((name, code), (-1, False)), (row, is_removal))
        return newest

    def _last_removal_of_configs(self) -> int:
        """The newest removal of a topic that had a config value at that moment."""
        rows, columns = self._records.columns("ConfigRecord")
        removed = self._image.topics.removed
        of_topics = np.flatnonzero(columns.fixed("resource_type") == ResourceType.TOPIC)
        rows, columns = rows[of_topics], columns.take(of_topics)
        n = len(rows)
        groups = group_keys(
            [join_spans(columns.span("resource_name"), removed.names)], n + len(removed.rows)
        )
        all_rows = np.concatenate([rows, removed.rows])
        order = np.lexsort((all_rows, groups))
        is_removal = order >= n
        # A life of a resource ends with a removal of its topic, or with its last event.
        begins = np.ones(len(order), dtype=np.bool_)
        begins[1:] = (groups[order][1:] != groups[order][:-1]) | is_removal[:-1]
        lives = np.cumsum(begins) - 1
        removal_of_life = np.full(len(order), -1, dtype=np.int64)
        removal_of_life[lives[is_removal]] = all_rows[order[is_removal]]
        configs = order[~is_removal]
        life = lives[~is_removal]
        keys = group_keys([life, columns.span("name").take(configs)], n)
        last = np.full(n, -1, dtype=np.int64)
        # In each life the events stand in the order of their rows.
        np.maximum.at(last, keys, np.arange(n))
        last = last[last >= 0]
        alive = last[columns.span("value").valid()[configs[last]]]
        return int(removal_of_life[life[alive]].max(initial=-1))


def newest_config(image: Image) -> int:
    """The newest record about any config."""
    return image.touched.configs


def _level_part(columns: Columns, field: PartField) -> AnyArray | SpanColumn:
    """A key column of records; codes that have no name of their own share a directory."""
    part = key_part(columns, field.column)
    if isinstance(part, SpanColumn) or not isinstance(field.form, NamedCodes):
        return part
    return np.where(np.isin(part, list(code_names(field.form))), part, 0).astype(part.dtype)


def _newest_of_group(rows: I64, groups: I64, wanted: I64) -> I64:
    """For some of the rows (ascending) the newest row of the same group."""
    _, dense = np.unique(groups, return_inverse=True)
    newest = np.full(len(groups), -1, dtype=np.int64)
    np.maximum.at(newest, dense, rows)
    out: I64 = newest[dense[np.searchsorted(rows, wanted)]]
    return out


@dataclass(frozen=True, slots=True)
class Moment:
    """The meaning of a row: the place and time of its record.

    Where the record is one of the checkpoint that the replay begins with, offset, epoch and time
    are not known; `at_or_before` is then the last offset that the checkpoint contains.
    """

    offset: int | None
    epoch: int | None
    timestamp_ms: int | None
    at_or_before: int | None
    type: str

    @property
    def position(self) -> int:
        """Its offset, or the last one that it can have."""
        known = self.offset if self.at_or_before is None else self.at_or_before
        assert known is not None
        return known


class Moments:
    """The moments of all rows of a source's records."""

    has_many_logs = False
    """Whether one offset is that of records in several logs."""

    def __init__(self, records: Records) -> None:
        self.lock = records.lock
        self._records = records

    def of(self, rows: Sequence[int] | I64) -> list[Moment | None]:
        """The moment of each row, None for -1."""
        records = self._records
        wanted = np.asarray(rows, dtype=np.int64).reshape(-1)
        some = np.flatnonzero(wanted >= 0)
        out: list[Moment | None] = [None] * len(wanted)
        if not some.size:
            return out
        these = wanted[some]
        frames = records.frames_at(these)
        offsets, known = records.offsets(these)
        names: dict[int, str] = {}
        for i, offset, is_known, epoch, time, key in zip(
            some.tolist(),
            offsets.tolist(),
            known.tolist(),
            frames.epochs(these).tolist(),
            frames.timestamps(these).tolist(),
            frames.api_key[these].tolist(),
            strict=True,
        ):
            name = names.get(key) or names.setdefault(key, self._type(key))
            if is_known:
                out[i] = Moment(offset, epoch, time, None, name)
            else:
                out[i] = Moment(None, None, None, offset, name)
        return out

    def _type(self, key: int) -> str:
        registry = self._records.registry
        if key <= CONTROL_KEY:
            spec = registry.control.get(CONTROL_KEY - key)
        else:
            spec = registry.metadata.get(key)
        return "UNKNOWN" if spec is None else spec.type_name

    @lazy
    def base(self) -> int | None:
        """The last offset of the checkpoint that the replay begins with; None without one."""
        ends = [f.end_offset for f in self._records.loaded.files if f.end_offset is not None]
        return max(ends) - 1 if ends and max(ends) > 0 else None

    def bound(self, time_spec: TimeSpec) -> int | None:
        """The first offset of a point, which `since` and `before` take; None behind all."""
        return (
            time_spec.offset
            if time_spec.timestamp_ms is None
            else self.offset_at(time_spec.timestamp_ms)
        )

    def offset_at(self, timestamp_ms: int) -> int | None:
        """The offset from which on records are of that time or later; None where none is.

        That is where the first batch begins whose maxTimestamp is that late. Where the time lies
        within the checkpoint, it is the checkpoint's last offset: more is not known.
        """
        batches = self._records.frames.batches
        header = batches.header
        of_checkpoint = [f.end_offset is not None for f in self._records.loaded.files]
        in_log = ~np.array(of_checkpoint, dtype=np.bool_)[batches.file]
        base = self.base
        if base is not None:
            in_log &= header["base_offset"] + header["last_delta"] > base
        late = np.flatnonzero(header["max_timestamp"][in_log] >= timestamp_ms)
        first = int(header["base_offset"][in_log][late[0]]) if late.size else None
        if base is None:
            return first
        ended = self._records.checkpoint_time_ms
        if ended is None or ended < 0:
            # Only a batch behind the checkpoint that is earlier proves that it ended before.
            return base if late.size and late[0] == 0 else first
        return base if ended >= timestamp_ms else first

    @lazy
    def _all(self) -> tuple[I64, Bools]:
        return self._records.offsets(np.arange(len(self._records.frames), dtype=np.int64))

    def since(self, offset: int | None, rows: AnyArray) -> Bools:
        """Which rows are at or behind an offset (None: behind all); bool[n], False for -1."""
        offsets, known = self._all
        if offset is None or not len(offsets):
            return np.zeros(len(rows), dtype=np.bool_)
        out: Bools = (offsets[rows] >= offset) & known[rows] & (rows >= 0)
        return out

    def before(self, offset: int | None, rows: AnyArray) -> Bools:
        """Which rows are known to be before an offset (None: behind all); as `since`."""
        offsets, _ = self._all
        if offset is None or not len(offsets):
            return np.asarray(rows) >= 0
        out: Bools = (offsets[rows] < offset) & (rows >= 0)
        return out
