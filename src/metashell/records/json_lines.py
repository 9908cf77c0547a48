"""Which implementation writes records as JSON lines: the kernel's or Python's.

The one place that knows. Both write the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL

import numpy as np

from metashell.kernel import load
from metashell.kernel.lines import Texts
from metashell.log.frames import CONTROL_KEY
from metashell.records.filter import TopicNames
from metashell.records.lines import JsonLines, control_name
from metashell.records.native_lines import (
    Names,
    add_fields,
    add_literal,
    add_numbers,
    write_lines,
)
from metashell.records.records import Records
from metashell.redact import Redaction, type_may_hold_secrets
from metashell.schema.arena import I64
from metashell.schema.columns import Columns, FixedColumn
from metashell.schema.dump import json_text
from metashell.schema.model import MessageSpec
from metashell.schema.registry import Registry


def json_lines(registry: Registry, names: TopicNames, redaction: Redaction) -> JsonLines:
    """A writer of JSON lines."""
    found = load.library()
    if found is None:
        return JsonLines(registry, names, redaction)
    return _ByKernel(registry, names, redaction, found)


class _ByKernel(JsonLines):
    """Writes with the kernel, and the lines that it leaves with Python."""

    def __init__(
        self, registry: Registry, names: TopicNames, redaction: Redaction, library: CDLL
    ) -> None:
        super().__init__(registry, names, redaction)
        self._library = library
        self._topic_names = Names(library, names, self._topic_texts, self._string)

    def lines(self, records: Records, rows: I64) -> Sequence[str]:
        """The line of each row, without its end."""
        frames, n = records.frames, len(rows)
        keys, versions = frames.api_key[rows].astype(np.int64), frames.version[rows]
        found, firsts, found_of = np.unique(
            (keys << 32) + versions, return_index=True, return_inverse=True
        )
        kind_of = np.full(n, -1, dtype=np.int32)
        kinds: list[tuple[Texts, int]] = []
        for i, first in enumerate(firsts.tolist()):
            key, version = int(keys[first]), int(versions[first])
            spec = records.spec_of_key(key)
            if spec is None or version not in spec.versions or type_may_hold_secrets(spec.name):
                continue
            at = np.arange(n) if len(found) == 1 else np.flatnonzero(found_of == i)
            good, columns = records.decode(spec.name, rows[at])
            if len(good) < len(at):
                at = np.searchsorted(rows, good)
            places = self._places_of(records, rows)
            if self._add_message(places, spec, key, version, columns, records):
                kind_of[at] = len(kinds)
                kinds.append((places, len(at)))
        written, left = write_lines(self._library, frames.arena, kinds, kind_of)
        if not len(left):
            return written
        return written.with_others(left, super().lines(records, rows[left]))

    def _places_of(self, records: Records, rows: I64) -> Texts:
        """What a line says first: where its record stands."""
        frames, texts = records.frames, Texts()
        file = records.file_of(int(rows[0]))
        add_literal(texts, f'{{"file":{json_text(file.name)}')
        add_numbers(texts, ',"pos":', frames.batches.pos[frames.batch[rows]] - file.start)
        add_numbers(texts, ',"offset":', frames.offset[rows])
        add_numbers(texts, ',"timestamp":', frames.timestamps(rows))
        add_numbers(texts, ',"epoch":', frames.epochs(rows))
        return texts

    def _add_message(
        self,
        texts: Texts,
        spec: MessageSpec,
        key: int,
        version: int,
        columns: Columns,
        records: Records,
    ) -> bool:
        """Add what a line says of its message; returns whether the kernel can write it."""
        if key <= CONTROL_KEY:
            start = f',"control":"{control_name(key)}","data":{{'
        else:
            start = f',"type":{json_text(spec.type_name)},"version":{version},"data":{{'
        add_literal(texts, start, opens=True)
        if not add_fields(texts, spec.fields, version, columns, records.frames.arena):
            return False
        topics = columns.fields.get("topic_id")
        if isinstance(topics, FixedColumn) and topics.values.dtype == np.dtype("V16"):
            self._topic_names.add_to(texts, '},"topic":', topics.values)
            add_literal(texts, "}\n")
        else:
            add_literal(texts, "}}\n")
        return True
