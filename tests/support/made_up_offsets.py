"""A made-up part whose records do more than put and remove a key: offsets that groups commit.

A commit with a producer id is pending until a marker of that producer commits or aborts it; then it
counts only where its record is newer than that of the offset stored. A negative offset removes the
key at once, and what is pending of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from metashell.fs.change_parts import Effect, KeyedHistory
from metashell.image.keyed import Part
from metashell.schema.rows import to_rows

if TYPE_CHECKING:
    from metashell.image.image import Image

MESSAGES = (
    """{"apiKey": 1002, "type": "metadata", "name": "OffsetRecord", "validVersions": "0",
    "flexibleVersions": "0+", "fields": [
    {"name": "Group", "type": "string", "versions": "0+"},
    {"name": "Topic", "type": "string", "versions": "0+"},
    {"name": "Partition", "type": "int32", "versions": "0+"},
    {"name": "Offset", "type": "int64", "versions": "0+"},
    {"name": "ProducerId", "type": "int64", "versions": "0+"}]}""",
    """{"apiKey": 1003, "type": "metadata", "name": "OffsetMarkerRecord", "validVersions": "0",
    "flexibleVersions": "0+", "fields": [
    {"name": "ProducerId", "type": "int64", "versions": "0+"},
    {"name": "IsCommit", "type": "bool", "versions": "0+"}]}""",
)

MODULE = """
from metashell.parts.spec import Change, PartField, PartSpec, PathLevel, Put

PART = PartSpec(
    name="offsets",
    help="Offsets that groups commit.",
    group="topics",
    events=(Put("OffsetRecord"), Change("OffsetMarkerRecord")),
    key=(PartField("group"), PartField("topic"), PartField("partition")),
    fields=(PartField("offset"),),
    is_value=True,
    path=("offsets",),
    levels=(
        PathLevel(("group",)),
        PathLevel(("topic", "partition"), "support.made_up_offsets:leaf_name"),
    ),
    columns=("group", "topic", "partition", "offset"),
    fold="support.made_up_offsets:fold_offsets",
    newest="support.made_up_offsets:newest_offset",
    groups="support.made_up_offsets:newest_of_groups",
    history="support.made_up_offsets:OffsetHistory",
)
"""


def leaf_name(topic: str, partition: int) -> str:
    """Name a leaf."""
    return f"{topic}-{partition}"


class Rules:
    """Applies records one by one; tells keys and what became of each: a record, None for gone."""

    def __init__(self) -> None:
        self.stored: dict[tuple[Any, ...], int] = {}
        self._pending: dict[int, dict[tuple[Any, ...], int]] = {}

    def apply(self, at: int, fields: Mapping[str, Any]) -> Iterator[tuple[Any, int | None]]:
        """Apply the record of a number."""
        producer = fields["producer_id"]
        if "is_commit" in fields:
            for key, record in self._pending.pop(producer, {}).items():
                if fields["is_commit"] and record > self.stored.get(key, -1):
                    self.stored[key] = record
                    yield key, record
            return
        key = (fields["group"], fields["topic"], fields["partition"])
        if fields["offset"] < 0:
            for pending in self._pending.values():
                pending.pop(key, None)
            if self.stored.pop(key, None) is not None:
                yield key, None
        elif producer >= 0:
            self._pending.setdefault(producer, {})[key] = at
        else:
            self.stored[key] = at
            yield key, at


def fold_offsets(image: Image) -> Part:
    """The offsets that are stored."""
    rows, columns = image.records.columns("OffsetRecord")
    marker_rows, markers = image.records.columns("OffsetMarkerRecord")
    events = [*zip(rows.tolist(), to_rows(columns), strict=True)]
    events += zip(marker_rows.tolist(), to_rows(markers), strict=True)
    rules, created, changed = Rules(), dict[Any, int](), dict[Any, int]()
    for row, fields in sorted(events, key=lambda event: event[0]):
        for key, record in rules.apply(row, fields):
            if record is None:
                created.pop(key)
            else:
                created.setdefault(key, row)
                changed[key] = row
    at = np.searchsorted(rows, np.array(list(rules.stored.values()), dtype=np.int64))
    keys = list(rules.stored)
    return Part(
        columns.take(at),
        np.array([created[key] for key in keys], dtype=np.int64),
        np.array([changed[key] for key in keys], dtype=np.int64),
    )


def newest_offset(image: Image) -> int:
    """The newest change of what is stored."""
    return int(image.part("offsets").changed.max(initial=-1))


def newest_of_groups(image: Image) -> Any:
    """The newest change of what each one's group has stored."""
    part = image.part("offsets")
    groups = np.unique(part.columns.span("group").texts(), return_inverse=True)[1]
    newest = np.full(len(part) + 1, -1, dtype=np.int64)
    np.maximum.at(newest, groups, part.changed)
    return newest[groups]


class OffsetHistory(KeyedHistory):
    """Tells of an offset when it is stored, not when it is pending."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rules, self._values = Rules(), list[int]()

    def apply(self, name: str, fields: Mapping[str, Any]) -> Iterator[Effect]:
        """Follow one record."""
        self._values.append(fields.get("offset", -1))
        for key, record in self._rules.apply(len(self._values) - 1, fields):
            names = self.view.names_of(key)
            assert names is not None
            path = (*self.root, *names)
            after = None if record is None else {"": self._values[record]}
            yield Effect(path, self.nodes.get(path), after)
            if after is None:
                self.nodes.pop(path, None)
            else:
                self.nodes[path] = after
