"""``/producers``: who writes to the partitions whose logs are in a node's log directories.

A log is looked at when its partition is: its newest snapshot, and the batches behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from metashell.fs.leaf_table import Fields, LeafTable, numbers_by_text
from metashell.fs.node import Directory, FixedDirectory, LateDirectory, Node
from metashell.fs.nodes.leaves import LeavesDirectory
from metashell.image.coordinators.producers import ProducersState
from metashell.schema.arena import I64, AnyArray

if TYPE_CHECKING:
    import pyarrow as pa


def producers_node(
    partitions: Mapping[str, Sequence[int]], read: Callable[[str, int], ProducersState]
) -> Directory:
    """The directory of all topics that have a log here.

    Args:
        partitions: Numbers of the partitions that are here, by topic.
        read: Gives the producers of one; raises SourceError where its log can't be read.
    """

    def topic(name: str, numbers: Sequence[int]) -> Callable[[], Node]:
        return lambda: FixedDirectory({str(number): partition(name, number) for number in numbers})

    def partition(name: str, number: int) -> Callable[[], Node]:
        return lambda: LateDirectory(lambda: leaves(name, number))

    def leaves(name: str, number: int) -> Directory:
        table = _ProducerLeaves(read(name, number))
        return LeavesDirectory(table, range(len(table)), -1)

    return FixedDirectory({name: topic(name, numbers) for name, numbers in partitions.items()})


class _ProducerLeaves(LeafTable):
    """The producers of a partition; when each changed is no record's row."""

    def __init__(self, state: ProducersState) -> None:
        rank, self._names = numbers_by_text(state.producer_id)
        row = np.argsort(rank)
        self._fields: dict[str, AnyArray] = {
            "producerEpoch": state.producer_epoch[row],
            "lastSequence": state.last_sequence[row],
            "lastOffset": state.last_offset[row],
            "lastTimestamp": state.last_timestamp[row],
            "coordinatorEpoch": state.coordinator_epoch[row],
            "currentTxnStartOffset": state.current_txn_first_offset[row],
        }

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def created(self) -> I64:
        return np.full(len(self), -1, dtype=np.int64)

    @property
    def changed(self) -> I64:
        return self.created

    def names(self, leaves: range) -> Sequence[str]:
        return self._names[leaves.start : leaves.stop]

    def values(self, leaves: I64) -> Sequence[Fields]:
        columns = (values[leaves].tolist() for values in self._fields.values())
        return [dict(zip(self._fields, row, strict=True)) for row in zip(*columns, strict=True)]

    def lines(self, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
        from metashell.fs.field_texts import lines_of, number_cells

        cells = (
            number_cells(name, values[wanted], as_json=as_json)
            for name, values in self._fields.items()
        )
        return lines_of(list(cells), as_json=as_json)
