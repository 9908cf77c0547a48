"""The contents of a copy of a log: files of whole, sound batches, and where its epochs begin.

Owns which bytes are kept; writing them is for others. Nothing is copied here but batches that a
caller gives other bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

from metashell.dataclass import dataclass
from metashell.log.chain import batches
from metashell.log.directory import MetadataLog
from metashell.log.names import checkpoint_name, segment_name
from metashell.log.read import LogFile

Rewrite: TypeAlias = Callable[[int, int], bytes | None]
"""Gives the bytes in the place of the batch between two positions of the buffer; None where it
stays."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file to write."""

    name: str
    pieces: list[memoryview]
    """The bytes, one piece behind the other."""

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(map(len, self.pieces))


@dataclass(slots=True)
class LogCopy:
    """The data to write for a log."""

    files: list[SavedFile] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """(leader epoch, offset of its first record), both growing."""
    last_offset: int | None = None
    """The offset of the last record, the checkpoint's state included; None without any."""
    checkpoint_end: int = 0
    """The offset that the checkpoint's state ends before: no change before it is saved."""
    notes: list[str] = field(default_factory=list)
    """The data that is left out, a sentence each."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def copy_of(
    log: MetadataLog, last_offset: int | None = None, rewrite: Rewrite = lambda *_: None
) -> LogCopy:
    """The copy whose replay gives the state that the log's loaded files give.

    Args:
        log: The files, as they were read.
        last_offset: Leave out what is behind it; a batch counts whole or not at all.
        rewrite: Asked for other bytes of each batch that is kept, in order.
    """
    out = LogCopy()
    for file in log.loaded.files:
        if file.chain.faults:
            out.notes.append(f"{file.chain.faults[0]}: only sound batches are saved")
        if file.is_checkpoint:
            _add_checkpoint(out, log, file, rewrite)
        else:
            _add_segment(out, log, file, last_offset, rewrite)
    return out


def _add_checkpoint(out: LogCopy, log: MetadataLog, file: LogFile, rewrite: Rewrite) -> None:
    assert file.end_offset is not None
    name = checkpoint_name(file.end_offset, max(file.epoch, 0)).name
    spans = [(begin, end) for begin, end, *_ in batches(log.loaded.buffer, file.chain.positions)]
    out.files.append(SavedFile(name, _pieces(log, spans, rewrite)))
    if file.end_offset > 0:
        out.last_offset = file.end_offset - 1
        out.checkpoint_end = file.end_offset


def _add_segment(
    out: LogCopy, log: MetadataLog, file: LogFile, last_offset: int | None, rewrite: Rewrite
) -> None:
    first, spans = -1, []
    for begin, end, base, last, epoch in batches(log.loaded.buffer, file.chain.positions):
        if last_offset is not None and last > last_offset:
            if base <= last_offset:
                out.notes.append(
                    f"offsets {base} to {last_offset} are not saved: their batch goes on to"
                    f" {last}, and counts whole or not at all"
                )
            break
        first = base if first < 0 else first
        spans.append((begin, end))
        if not out.epochs or epoch > out.epochs[-1][0]:
            out.epochs.append((epoch, base))
        out.last_offset = max(last, -1 if out.last_offset is None else out.last_offset)
    if spans:
        out.files.append(SavedFile(segment_name(first).name, _pieces(log, spans, rewrite)))


def _pieces(log: MetadataLog, spans: list[tuple[int, int]], rewrite: Rewrite) -> list[memoryview]:
    """The bytes of batches; adjoining ones that stay are one piece."""
    view = memoryview(log.loaded.buffer)
    out: list[memoryview] = []
    first = last = 0
    for begin, end in spans:
        new = rewrite(begin, end)
        if new is None and begin == last:
            last = end
            continue
        out.append(view[first:last])
        first, last = (begin, end) if new is None else (end, end)
        if new is not None:
            out.append(memoryview(new))
    return [piece for piece in (*out, view[first:last]) if piece]
