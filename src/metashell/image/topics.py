"""Topics: ids, names, and which of them exist.

A topic is made by a TopicRecord and gone with a RemoveTopicRecord, which takes its partitions and
its configs with it. One name may have had several ids; it means the living one made last.

Configurations: a value per resource and key.

A null value removes the key. Removing a topic removes the configs of its name, which a topic made
later under that name does not get back.

Kafka forgets that for a topic that was configured and removed within one delta, because its removal
only looks at configs that the image before the delta has. Configs of such a topic stay in the
images and checkpoints of the nodes whose delta held both records: *orphans*, which differ from node
to node, since a delta holds what a node happened to publish at once.

Source: org.apache.kafka.image.TopicsDelta.

Source: org.apache.kafka.image.ConfigurationsDelta, MetadataDelta.replay(RemoveTopicRecord).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import group_keys, last_marked, sort_events, survivors
from metashell.image.keyed import Part, fold_nullable, join_spans
from metashell.records.records import Records
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.id_table import IdTable, id_pairs
from metashell.schema.resource_types import ResourceType, resource_type_name
from metashell.schema.uuids import parse_uuid, uuid_texts

if TYPE_CHECKING:
    from metashell.image.image import Image


def resource_directory(code: int, name: str) -> str:
    """Name of a resource's directory below ``/image/configs``."""
    kind = resource_type_name(code)
    return f"{kind}:{name}" if name else kind


def fold_configs(image: Image) -> Part:
    """The config values that are set, by resource and key."""
    rows, columns = image.records.columns("ConfigRecord")
    gone_with_topic = _removed_with_topic(rows, columns, image.topics)
    if gone_with_topic.any():
        keep = np.flatnonzero(~gone_with_topic)
        rows, columns = rows[keep], columns.take(keep)
    gone = ~columns.span("value").valid()
    return fold_nullable(rows, columns, ["resource_type", "resource_name", "name"], gone)


def _removed_with_topic(rows: I64, columns: Columns, topics: Topics) -> Bools:
    """Which records set configs of a topic that was removed later."""
    removed = topics.removed
    if not len(removed.rows) or not len(rows):
        return np.zeros(len(rows), dtype=np.bool_)
    names = join_spans(columns.span("resource_name"), removed.names)
    types = np.concatenate(
        [
            columns.fixed("resource_type"),
            np.full(len(removed.rows), ResourceType.TOPIC, dtype=np.int8),
        ]
    )
    groups = group_keys([types, names], len(types))
    last_removal = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(last_removal, groups[len(rows) :], removed.rows)
    found: Bools = rows <= last_removal[groups[: len(rows)]]
    return found


def orphans(configs: Part, topics: Topics) -> I64:
    """Configs of topics that do not exist: int64[n], indexes into the part."""
    columns, k = configs.columns, len(topics)
    rows = np.flatnonzero(columns.fixed("resource_type") == ResourceType.TOPIC)
    if not len(rows):
        return rows
    names = columns.span("resource_name").take(rows)
    joined = join_spans(topics.raw_names, names) if k else names
    groups = group_keys([joined], k + len(rows))
    known = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
    known[groups[:k]] = True
    found: I64 = rows[~known[groups[k:]]]
    return found


def removed_in_log(records: Records, topics: Topics) -> Columns:
    """The ConfigRecords of the log, checkpoints aside, whose topic was removed later."""
    rows, columns = records.columns("ConfigRecord")
    files, frames = records.loaded.files, records.frames
    is_log = np.array([not file.is_checkpoint for file in files], dtype=np.bool_)
    in_log = is_log[frames.batches.file[frames.batch[rows]]]
    return columns.take(np.flatnonzero(in_log & _removed_with_topic(rows, columns, topics)))


_FEW: Final = 64
"""Names that are looked up one by one."""
ENDLESS: Final = 1 << 62
"""In place of a row: of a life that has not ended."""


@dataclass
class Topics:
    """The topics that exist, in the order of the records that last made them; k of them."""

    ids: AnyArray
    """V16[k]."""
    raw_names: SpanColumn
    """Strings, k of them."""
    created: I64
    """int64[k]: row of the record that made each."""
    changed: I64
    """int64[k]: row of the record that last wrote each."""
    removed: Removed
    lives: Lives

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def names(self) -> list[str]:
        """Name of each topic."""
        return self.raw_names.texts()

    @cached_property
    def id_texts(self) -> list[str]:
        """Id of each topic as base64 text."""
        return uuid_texts(self.ids)

    def find_name(self, name: str) -> int | None:
        """Index of the topic that a name means, or None.

        Cost: a comparison of the bytes of all names of that length, where `by_name` makes a string
        of each.
        """
        if "by_name" in self.__dict__ or not name or "\ufffd" in name:
            return self.by_name.get(name)
        raw = name.encode("utf-8", "surrogatepass")
        hits = self.raw_names.find(raw)
        return int(hits[-1]) if len(hits) else None

    def find_id(self, text: str) -> int | None:
        """Index of the topic of an id's text, or None."""
        raw = parse_uuid(text)
        if raw is None or not len(self):
            return None
        hits = np.flatnonzero((id_pairs(self.ids) == np.frombuffer(raw, dtype="<u8")).all(axis=1))
        return int(hits[0]) if len(hits) else None

    @cached_property
    def by_name(self) -> dict[str, int]:
        """Index of the topic that a name means: of those alive the one made last."""
        return {name: i for i, name in enumerate(self.names)}

    def indices_of(self, names: SpanColumn) -> I64:
        """The indexes of names, see `by_name`: int64[n], -1 for unknown ones; no string is made."""
        if len(names.counts) <= _FEW or "by_name" in self.__dict__:
            found = [self.find_name(name) for name in names.texts()]
            return np.array([-1 if i is None else i for i in found], dtype=np.int64)
        import pyarrow.compute as pc

        from metashell.schema.arrow import string_array

        last = len(self) - 1
        # Arrow finds the first of equal names, and it is the last that counts.
        backwards = string_array(self.raw_names.take(np.arange(last, -1, -1)))
        at = pc.index_in(string_array(names), backwards, skip_nulls=True)
        indices: I64 = last - pc.fill_null(at, len(self)).to_numpy().astype(np.int64)
        return indices

    @cached_property
    def by_id(self) -> dict[str, int]:
        """Index of the topic of an id."""
        return {text: i for i, text in enumerate(self.id_texts)}

    @cached_property
    def _id_table(self) -> IdTable:
        return IdTable(self.ids)

    def index_of(self, ids: AnyArray) -> I64:
        """Index of the topic of each id: int64[n], -1 for ids of no living topic."""
        return self._id_table.index_of(ids)


@dataclass(slots=True)
class Removed:
    """Removals of topics that existed, in replay order.

    ``ids``: V16[m]; ``names``: the name that each had; ``rows``: int64[m].
    """

    ids: AnyArray
    names: SpanColumn
    rows: I64


@dataclass(slots=True)
class Lives:
    """Every TopicRecord that counts, in replay order; each begins a topic anew. n of them.

    ``ids``: V16[n]; ``names``: strings; ``begins``: int64[n], row of the record; ``ends``:
    int64[n], row of the next record that makes or removes that topic, `ENDLESS` without one.
    """

    ids: AnyArray
    names: SpanColumn
    begins: I64
    ends: I64

    def existed(self, ids: AnyArray, rows: I64) -> Bools:
        """Whether the topic of each id existed at a row: bool[m]."""
        n = len(self.begins)
        all_rows = np.concatenate([self.begins, rows])
        events = sort_events(group_keys([np.concatenate([self.ids, ids])], len(all_rows)), all_rows)
        asked = np.flatnonzero(events.order >= n)
        nearest = last_marked(events, events.order < n)[asked]
        which, begun = events.order[asked] - n, nearest >= 0
        ends = self.ends[events.order[nearest[begun]]]
        out = np.zeros(len(rows), dtype=np.bool_)
        out[which[begun]] = rows[which[begun]] < ends
        return out


def fold_topics(image: Image) -> Topics:
    """Fold TopicRecord and RemoveTopicRecord."""
    records = image.records
    made_rows, made = records.columns("TopicRecord")
    gone_rows, gone = records.columns("RemoveTopicRecord")
    n_made = len(made_rows)
    ids = np.concatenate([made.fixed("topic_id"), gone.fixed("topic_id")])
    rows = np.concatenate([made_rows, gone_rows])
    removes = np.zeros(len(rows), dtype=np.bool_)
    removes[n_made:] = True
    groups = group_keys([ids], len(rows))
    removed = _removed(records, made.span("name"), ids, rows, groups, n_made)
    alive = survivors(groups, rows, removes)
    order = np.argsort(rows[alive.last], kind="stable")
    last, created = alive.last[order], alive.created[order]
    lives = Lives(ids[:n_made], made.span("name"), made_rows, _ends(groups, rows)[:n_made])
    return Topics(
        ids[last], made.span("name").take(last), rows[created], rows[last], removed, lives
    )


def _ends(groups: I64, rows: I64) -> I64:
    """Row of the next event of the same group for each event, `ENDLESS` for none."""
    events = sort_events(groups, rows)
    following = np.append(rows[events.order][1:], ENDLESS)
    following[events.last] = ENDLESS
    ends = np.empty(len(rows), dtype=np.int64)
    ends[events.order] = following[: len(rows)]
    return ends


def _removed(
    records: Records, names: SpanColumn, ids: AnyArray, rows: I64, groups: I64, n_made: int
) -> Removed:
    """Pair each removal with the TopicRecord before it; a removal without one is a fault."""
    if len(rows) == n_made:
        nothing = np.empty(0, dtype=np.int64)
        return Removed(ids[:0], names.take(nothing), nothing)
    events = sort_events(groups, rows)
    is_made = events.order < n_made
    removals = np.flatnonzero(~is_made)
    # The partition before its removal is the event just before in its group.
    before = removals - 1
    known = (before >= events.first[removals]) & is_made[np.maximum(before, 0)]
    for at in removals[~known].tolist():
        records.fault(
            int(rows[events.order[at]]),
            f"topic {uuid_texts(ids[events.order[at] : events.order[at] + 1])[0]} can't be removed:"
            " no such topic",
        )
    removals, before = removals[known], before[known]
    order = np.argsort(rows[events.order[removals]], kind="stable")
    at = events.order[removals][order]
    return Removed(ids[at], names.take(events.order[before][order]), rows[at])
