"""The committed offsets of a partition's groups, as leaves in columns.

A leaf is what is committed for a partition of a topic. Leaves lie side by side in the order of a
walk, so those of a topic are a slice of them, and those of a group too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from metashell.fs.leaf_table import TopicLeaves, highest, numbers_by_text
from metashell.fs.record_paths import Fields, Telling, tell
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.living import LivingRows
from metashell.image.fold import begins_of, group_keys
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import SpanColumn

if TYPE_CHECKING:
    import pyarrow as pa


class OffsetLeaves(TopicLeaves):
    """The commits that count, by group, topic and partition; times are rows of the partition.

    Args:
        log: The partition's log.
        living: Its commits that count.
        names: The group of each place.
        topics: Names of topics by the text of their ids.
    """

    def __init__(
        self,
        log: GroupLog,
        living: LivingRows,
        names: Sequence[str],
        topics: Mapping[str, str],
    ) -> None:
        self._log, self._topics = log, topics
        by_name = sorted(range(len(names)), key=names.__getitem__)
        self._rank = np.empty(len(names), dtype=np.int64)
        self._rank[by_name] = np.arange(len(names))
        key = log.commits.keys(np.searchsorted(log.commits.rows, living.row))
        topic, self._topic_names = _topics_by_name(key.topic)
        partition, self._partition_names = numbers_by_text(key.partition)
        group = self._rank[living.of]
        types = log.records.frames.api_key[living.row]
        order = np.lexsort((living.row, types, partition, topic, group))
        group, topic, partition = group[order], topic[order], partition[order]
        self.row, self._created = living.row[order], living.created[order]
        """int64[m]: commits, one leaf's after the other's."""
        begins = begins_of(group) | begins_of(topic)
        at = np.flatnonzero(begins | begins_of(partition))
        self._commits = np.append(at, len(order))
        self._partition = partition[at]
        directories = np.flatnonzero(begins[at])
        self.leaves = np.append(directories, len(at))
        self._topic = topic[at[directories]]
        self._directories = np.searchsorted(
            group[at[directories]], np.arange(len(names) + 1)
        ).astype(np.int64)

    def __len__(self) -> int:
        return len(self._partition)

    def _single_rows(self, leaves: I64) -> I64:
        """int64[n]: the commit of each leaf that has one, and it is not pending; else -1."""
        first = self._commits[leaves]
        single = (self._commits[leaves + 1] - first == 1) & ~self._is_pending[first]
        return np.where(single, self.row[first], -1)

    def of_group(self, place: int) -> range:
        """The topics of a group: a range of `leaves`."""
        rank = int(self._rank[place])
        return range(int(self._directories[rank]), int(self._directories[rank + 1]))

    def topic_names(self, topics: range) -> list[str]:
        return [self._topic_names[i] for i in self._topic[topics.start : topics.stop].tolist()]

    def names(self, leaves: range) -> list[str]:
        numbers = self._partition[leaves.start : leaves.stop].tolist()
        return [self._partition_names[i] for i in numbers]

    @cached_property
    def changed(self) -> I64:
        return highest(self.row, self._commits)

    @cached_property
    def created(self) -> I64:
        return highest(self._created, self._commits)

    @cached_property
    def topics_changed(self) -> I64:
        return highest(self.changed, self.leaves)

    @cached_property
    def _is_pending(self) -> Bools:
        """bool[m]: commits that wait for the end of a transaction."""
        log = self._log
        return np.isin(self.row, log.commits.rows[log.offsets.pending])

    def lines(self, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
        from metashell.fs.field_texts import row_lines

        rows = self._single_rows(wanted)
        return row_lines(
            self._log.records, rows, lambda at: self.values(wanted[at]), as_json=as_json
        )

    def values(self, leaves: I64) -> Sequence[Fields]:
        spans = list(
            zip(self._commits[leaves].tolist(), self._commits[leaves + 1].tolist(), strict=True)
        )
        at = np.concatenate([np.arange(first, stop) for first, stop in spans])
        told = tell(self._log.records, np.sort(self.row[at]), self._topics)
        return [self._value(range(*span), told) for span in spans]

    def _value(self, commits: range, told: Mapping[int, Sequence[Telling]]) -> Fields:
        fields: dict[str, Any] = {}
        pending: list[Fields] = []
        for i in commits:
            said = told[int(self.row[i])][0].fields or {}
            if self._is_pending[i]:
                pending.append(said)
            else:
                fields.update(said)
        if pending:
            fields["pending"] = pending
        return fields


def _topics_by_name(column: SpanColumn) -> tuple[I64, list[str]]:
    """The place of each topic among all names, and these, sorted."""
    numbers = group_keys([column], len(column.starts))
    some = np.unique(numbers, return_index=True)[1]
    texts = column.take(some).texts()
    # Bytes that are no UTF-8 may have the text of others.
    names = sorted(set(texts))
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[text] for text in texts], dtype=np.int64)[numbers], names
