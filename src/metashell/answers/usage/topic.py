"""How much of what is in the log of a topic's partition, by the headers of its batches.

Bytes are those of whole batches: nothing is known of the records in them but their number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import numpy as np

from metashell.answers.usage.usage import HOUR_MS, Batch, FileUsage, Usage, known_time
from metashell.errors import SourceError
from metashell.log.compression import NAMES
from metashell.log.layout import CODEC, CONTROL, TRANSACTIONAL
from metashell.log.log_tail import BatchHeaders, LogTail
from metashell.log.names import SegmentName
from metashell.log.read import not_read
from metashell.places.vanished import VanishedError

_NO_PRODUCER: Final = -1


class TopicUsage(Usage):
    """The usage of the batches of a partition.

    Args:
        log: The partition.
        wanted: The groupings: ``hour``, ``codec``, ``epoch`` and ``producer``.
        n_batches: How many of the largest batches are kept.
        poll: Called before each block of batches is looked at; may raise.
    """

    def __init__(
        self,
        log: LogTail,
        wanted: Collection[str],
        n_batches: int | None,
        poll: Callable[[], None],
    ) -> None:
        super().__init__(wanted, n_batches)
        self._totals = dict.fromkeys(("transactional_records", "control_records"), 0)
        for segment in log.segments:
            self.files.append(self._counted(log, segment, poll))

    @property
    def totals(self) -> dict[str, int]:
        return self._totals

    def _counted(self, log: LogTail, segment: SegmentName, poll: Callable[[], None]) -> FileUsage:
        """Count a segment, as far as it can be read."""
        file = FileUsage(segment.name, False, 0, 0, 0, 0)
        try:
            for found in log.batches(segment):
                poll()
                self._count(found, file)
        except (SourceError, VanishedError) as error:
            file.faults.append(not_read(segment.name, error, segment.base_offset))
        return file

    def _count(self, found: BatchHeaders, file: FileUsage) -> None:
        """Count some batches of a segment."""
        header, file.size, file.faults = found.header, found.size, [*file.faults, *found.faults]
        if not len(header):
            return
        counts = np.maximum(header["count"], 0).astype(np.int64)
        sizes, attributes = header["length"].astype(np.int64) + 12, header["attributes"]
        keys = {
            "hour": np.maximum(header["max_timestamp"].astype(np.int64) // HOUR_MS, -1),
            "codec": attributes & CODEC,
            "epoch": header["epoch"],
            "producer": header["producer_id"],
        }
        for by, of in keys.items():
            self._add(by, of.astype(np.int64), sizes, counts=counts)
        is_control = attributes & CONTROL != 0
        in_transaction = (attributes & TRANSACTIONAL != 0) & ~is_control
        self._totals["control_records"] += int(counts[is_control].sum())
        self._totals["transactional_records"] += int(counts[in_transaction].sum())
        self._keep(header["length"], lambda i, size: _batch(found, i, size))
        self.n_bytes += int(sizes.sum())
        if not file.batches:
            file.first_offset, file.first_epoch = (
                int(header[0]["base_offset"]),
                int(header[0]["epoch"]),
            )
            file.first_ms = known_time(int(header[0]["base_timestamp"]))
        file.last_offset, file.last_epoch = found.last_offset, int(header[-1]["epoch"])
        file.last_ms = known_time(int(header[-1]["max_timestamp"]))
        file.batches += len(header)
        file.batch_bytes += int(sizes.sum())
        file.records += int(counts.sum())

    def type_name(self, key: int) -> str:
        """Nothing: records have no type."""
        return ""

    def _named(self, by: str, key: int) -> tuple[str, Mapping[str, object]]:
        if by == "codec":
            return NAMES.get(key, str(key)), {}
        if by == "hour":
            return super()._named(by, key)
        return str(key), {"producer_id" if by == "producer" else by: key}


def _batch(found: BatchHeaders, i: int, size: int) -> Batch:
    of = found.header[i]
    return Batch(size, found.file, int(found.pos[i]), int(of["base_offset"]), int(of["count"]))
