"""``/producers``: who writes to the partitions whose logs are in a node's log directories.

A log is looked at when its partition is: its newest snapshot, and the batches behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from metashell.fs.change_texts import whole_text
from metashell.fs.node import Directory, FixedDirectory, Node, TextLeaf
from metashell.image.coordinators.producers import ProducersState
from metashell.schema.timestamps import iso_time


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
    def _state(self) -> ProducersState:
        return self._load()

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {str(number): row for row, number in enumerate(self._state.producer_id.tolist())}

    def names(self) -> Sequence[str]:
        return sorted(self._rows)

    def child(self, name: str) -> Node | None:
        row = self._rows.get(name)
        if row is None:
            return None
        return TextLeaf(lambda: self._text(row), lambda: self._value(row))

    def _value(self, row: int) -> dict[str, Any]:
        state = self._state
        return {
            "producerEpoch": int(state.producer_epoch[row]),
            "lastSequence": int(state.last_sequence[row]),
            "lastOffset": int(state.last_offset[row]),
            "lastTimestamp": int(state.last_timestamp[row]),
            "coordinatorEpoch": int(state.coordinator_epoch[row]),
            "currentTxnStartOffset": int(state.current_txn_first_offset[row]),
        }

    def _text(self, row: int) -> str:
        shown = self._value(row)
        if shown["lastTimestamp"] >= 0:
            shown["lastTimestamp"] = iso_time(shown["lastTimestamp"])
        return ", ".join(f"{name}={whole_text(value)}" for name, value in shown.items())
