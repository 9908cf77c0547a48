"""The batches of any topic's log, by their headers: which are asked for, as lines and as rows.

The log of a topic is somebody else's data: its records are neither read nor shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from metashell.log.fault import Fault
from metashell.log.layout import CONTROL, DELETE_HORIZON
from metashell.log.log_tail import BatchHeaders, LogTail
from metashell.log.names import SegmentName
from metashell.records.filter import Selection
from metashell.records.lines import batch_fields, fields_of_producer
from metashell.records.stream import Block, FileStream, LogPath
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.timestamps import iso_time


class BatchStream(FileStream[BatchHeaders]):
    """Streams batches of a topic's log; see `FileStream`."""

    def __init__(self, log: LogTail, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._log = log

    def _pieces(
        self, path: LogPath, after: int
    ) -> Iterator[tuple[Sequence[Fault], int, Iterator[Block[BatchHeaders]]]]:
        segment = SegmentName(path.base_offset or 0, path.name)
        for found in self._log.batches(segment, self._selection.first_offset):
            rows = np.flatnonzero(_are_chosen(found.header, self._selection))
            yield found.faults, found.last_offset, self._blocks(found, rows, rows[:0])


def _are_chosen(header: AnyArray, selection: Selection) -> Bools:
    epoch, time = header["epoch"], header["max_timestamp"]
    chosen: Bools = header["base_offset"] <= selection.last_offset
    chosen &= (epoch >= selection.first_epoch) & (epoch <= selection.last_epoch)
    if selection.since_ms is not None:
        chosen &= time >= selection.since_ms
    if selection.until_ms is not None:
        has_horizon = header["attributes"] & DELETE_HORIZON != 0
        chosen &= np.where(has_horizon, time, header["base_timestamp"]) <= selection.until_ms
    if selection.control:
        chosen &= header["attributes"] & CONTROL != 0
    return chosen


class BatchMaker:
    """Makes a line or a row of each batch.

    Args:
        make: Makes it of a batch's file, position and fields.
        columns: The columns, if it makes rows.
    """

    def __init__(
        self, make: Callable[[str, int, dict[str, Any]], Any], columns: Sequence[str] = ()
    ) -> None:
        self._make, self.columns = make, columns

    def lines(self, found: BatchHeaders, rows: I64) -> list[Any]:
        """The lines or rows of some batches."""
        batches = zip(found.pos[rows].tolist(), found.header[rows], strict=True)
        return [
            self._make(found.file, pos, batch_fields(header) | fields_of_producer(header))
            for pos, header in batches
        ]

    rows = lines

    def batch_lines(self, found: BatchHeaders, rows: I64) -> Sequence[Any]:
        """None: each line is that of a batch."""
        return ()


def batch_rows(columns: Sequence[str]) -> BatchMaker:
    """Make rows: columns are called as the fields of lines, in words."""
    names = [re.sub("_([a-z])", lambda match: match[1].upper(), name) for name in columns]
    return BatchMaker(
        lambda file, pos, of: tuple({"file": file, "pos": pos, **of}[n] for n in names), columns
    )


def batch_line(file: str, pos: int, of: Mapping[str, Any]) -> str:
    """Write a line: offsets, time and epoch, then the rest of what says something."""
    time, horizon = of["maxTimestamp"], of["deleteHorizon"]
    words = [f"{of['baseOffset']}..{of['lastOffset']} {'-' if time < 0 else iso_time(time)}"]
    words.append(f"{of['epoch']} records={of['count']} bytes={of['bytes']}")
    words += [] if of["codec"] == "none" else [f"codec={of['codec']}"]
    if of["producerId"] >= 0:
        words.append(f"producerId={of['producerId']} producerEpoch={of['producerEpoch']}")
    if of["baseSequence"] >= 0:
        words.append(f"sequence={of['baseSequence']}..{of['lastSequence']}")
    words += [name for name in ("transactional", "control") if of[name]]
    words += [] if horizon is None else [f"deleteHorizon={iso_time(horizon)}"]
    words += [] if of["magic"] == 2 else [f"format={of['magic']}"]
    return " ".join([*words, f"pos={pos} crc={of['crc']}"])
