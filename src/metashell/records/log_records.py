"""The records of any log, by type: which there are, and where each lies.

Owns the frames, the records before a row, and decoding by version. Records of a metadata log and of
a coordinator's log differ in which of them count, and in how one at fault is told.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from threading import RLock
from typing import ClassVar, Final, Self

import numpy as np

from metashell.lazy import lazy
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import Frames
from metashell.log.framing import build_frames
from metashell.log.read import Loaded, LogFile
from metashell.records.late_fields import rows_by_version
from metashell.schema.arena import I64, AnyArray
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns
from metashell.schema.decoding import decode
from metashell.schema.model import MessageSpec

MAX_FAULTS: Final = 100_000
"""Records at fault that are told one by one: a log may consist of nothing else."""


class LogRecords(ABC):
    """Records of a log, decoded by type when asked for.

    Args:
        loaded: The files.
        before: Rows at or after this number do not count (time travel, ``--strict``); None for all.
        whole: The records without that end, whose frames and columns are used.
    """

    has_keys: ClassVar[bool]
    """Whether the type is told by a record's key; in a metadata log keys are null."""

    def __init__(
        self, loaded: Loaded, before: int | None = None, whole: Self | None = None
    ) -> None:
        self.lock = RLock()
        """Held while anything is decoded or folded: a state is read by several threads."""
        self.loaded = loaded
        self.before = before
        self._whole = whole
        self._unframed: Sequence[Fault] = ()
        self._framed: tuple[Frames, Sequence[Fault]] | None = None
        """Frames that were made before, and the faults met then: told when somebody looks."""

    @property
    def whole(self) -> Self:
        """All records of the files."""
        return self._whole or self

    @abstractmethod
    def until(self, before: int) -> LogRecords:
        """The records before a row, as of then; what is decoded of these is used for those."""

    @lazy
    def frames(self) -> Frames:
        """Every record of the files, those behind `before` too. Cost: the first look at them."""
        if self._whole is not None:
            frames, self._unframed = self._whole.frames, self._whole.unframed
        else:
            made = self._framed or build_frames(self.loaded, has_keys=self.has_keys)
            frames, self._unframed = made
        return frames

    @property
    def unframed(self) -> Sequence[Fault]:
        """Faults of batches whose records could not be framed. Cost: frames."""
        _ = self.frames
        return self._unframed

    def frames_at(self, rows: AnyArray | Sequence[int]) -> Frames:
        """Frames where at least the rows given are filled in: for who looks at single records."""
        del rows
        return self.frames

    @property
    def n_rows(self) -> int:
        """How many records there are before the end."""
        n = len(self.frames)
        return n if self.before is None else min(self.before, n)

    def file_of(self, row: int) -> LogFile:
        """The file that a row's record lies in."""
        frames = self.frames_at([row])
        return self.loaded.files[int(frames.batches.file[frames.batch[row]])]

    def batch_position(self, row: int) -> int:
        """Where the batch of a row's record begins in its file."""
        frames = self.frames_at([row])
        return int(frames.batches.pos[frames.batch[row]]) - self.file_of(row).start

    def fault_at(self, row: int, reason: str, kind: FaultKind) -> Fault:
        """A fault of a row's record."""
        offset = int(self.frames_at([row]).offset[row])
        return Fault(kind, reason, self.file_of(row).name, self.batch_position(row), offset)

    @abstractmethod
    def type_name(self, key: int) -> str | None:
        """The name in lines of the type of an api key; None where a record has no type."""

    def _by_version(
        self, spec: MessageSpec, rows: I64, fields: Collection[str] | None
    ) -> list[tuple[I64, Columns]]:
        """Decode messages, each version by itself: rows of those that decode, and their fields.

        Args:
            spec: The definition of all of them.
            rows: int64, ascending.
            fields: Names of the fields wanted, None for all.
        """
        frames = self.frames_at(rows)
        parts: list[tuple[I64, Columns]] = []
        for version, of_version in rows_by_version(frames, rows):
            these = self._readable(spec, version, of_version)
            if not len(these):
                continue
            starts, stops = frames.message_spans(these)
            columns = decode(
                frames.arena, spec, version, starts, stops, fields, trailing=self.has_keys
            )
            if not columns.ok.all():
                self._note_undecodable(spec, these[~columns.ok])
                good = np.flatnonzero(columns.ok)
                these, columns = these[good], columns.take(good)
            parts.append((these, columns))
        return parts or [(rows[:0], default_columns(frames.arena, spec, 0, fields))]

    def _readable(self, spec: MessageSpec, version: int, rows: I64) -> I64:
        """The rows of a version that can be decoded; the faults of the others are noted."""
        return rows

    @abstractmethod
    def _note_undecodable(self, spec: MessageSpec, rows: I64) -> None:
        """Note that messages of a definition do not decode."""
