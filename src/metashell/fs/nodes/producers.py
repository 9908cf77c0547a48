"""``/producers``: who writes to the partitions whose logs are in a node's log directories.

A log is looked at when its partition is: its newest snapshot, and the batches behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from metashell.fs.leaf_table import Fields, LeafTable, numbers_by_text
from metashell.fs.node import Directory, FixedDirectory, Node
from metashell.fs.nodes.leaves import LeavesDirectory
from metashell.image.coordinators.producers import ProducersState
from metashell.schema.arena import I64, AnyArray

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.fs.grid import Grid


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
        return lambda: _PartitionDirectory(lambda: read(name, number))

    return FixedDirectory({name: topic(name, numbers) for name, numbers in partitions.items()})


class _PartitionDirectory(Directory):
    """A leaf for each producer of a partition, by its id."""

    def __init__(self, load: Callable[[], ProducersState]) -> None:
        self._load = load

    @cached_property
    def _leaves(self) -> LeavesDirectory:
        table = _ProducerLeaves(self._load())
        return LeavesDirectory(table, range(len(table)), -1)

    def names(self) -> Sequence[str]:
        return self._leaves.names()

    def child(self, name: str) -> Node | None:
        return self._leaves.child(name)

    def leaf_grid(self) -> Grid | None:
        return self._leaves.leaf_grid()

    def child_times(self, names: Sequence[str]) -> tuple[I64, I64]:
        return self._leaves.child_times(names)


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

    def value(self, leaf: int) -> Fields:
        return {name: int(values[leaf]) for name, values in self._fields.items()}

    def lines(self, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
        from metashell.fs.field_texts import lines_of, number_cells

        cells = (
            number_cells(name, values[wanted], as_json=as_json)
            for name, values in self._fields.items()
        )
        return lines_of(list(cells), as_json=as_json)
