"""Which records are shown in which row: pure, and asked by the thread that draws alone.

Rows are the matches of the pieces that were searched. Neighbouring pieces that wait for the search
are one row together, a gap. Both ends of a log can thus be seen before its middle is known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import index_type
from metashell.records.window import Filter, LogPiece, PieceMatches
from metashell.schema.arena import I64, AnyArray, list_offsets_of

_SAME_OFFSET: Final = 8
"""The largest number of pieces that begin with one offset: these are empty ends of files."""
_NONE: Final[I64] = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class _Part:
    piece: LogPiece
    offsets: AnyArray | None = None
    """The offsets of matching records, with the type of `_narrow`; None before the search."""
    batches: AnyArray = field(default_factory=lambda: _NONE)
    """The base offset of the batch of each, likewise."""
    hidden: AnyArray = field(default_factory=lambda: _NONE)
    """Offsets of records that were left out and counted, likewise."""
    n_faults: int = 0


def _narrow(offsets: I64) -> AnyArray:
    """Offsets as `index_type` has them: a log has millions, and they are kept."""
    return offsets.astype(index_type(int(offsets[-1]) + 1 if len(offsets) else 0), copy=False)


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets that nobody has looked through."""

    first: int
    last: int


class Matches:
    """The rows."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._limit: int | None = None
        self._lay_out()

    # The search so far.

    def plan(self, pieces: Iterable[LogPiece], wanted: Filter, *, anew: bool) -> None:
        """Take over how the log is cut.

        Args:
            pieces: In offset order.
            wanted: Pieces that can't match are known to be empty.
            anew: Forget what was found: something else is wanted.
        """
        known = {} if anew else {p.piece: p for p in self._parts if p.offsets is not None}
        cut: dict[str, list[_Part]] = {}
        for part in self._parts:
            cut.setdefault(part.piece.name, []).append(part)
        parts: list[_Part] = []
        for piece in pieces:
            # A segment that was looked through is cut finer than planned.
            finer = cut.get(piece.name, ()) if piece.is_open else ()
            parts += [known.get(p.piece) or _Part(p.piece) for p in finer] or [
                known.get(piece) or _Part(piece)
            ]
        for part in parts:
            if part.offsets is None and not wanted.may_match(part.piece):
                part.offsets = _NONE
        self._parts = parts
        self._lay_out()

    def take(self, found: Sequence[PieceMatches]) -> None:
        """Note what was found in pieces."""
        for one in found:
            at = self._index_for(one)
            if at is None:
                continue
            offsets, batches, hidden = map(_narrow, (one.offsets, one.batches, one.hidden))
            self._parts[at] = _Part(one.piece, offsets, batches, hidden, one.n_faults)
            if one.rest is not None:
                self._parts.insert(at + 1, _Part(one.rest))
        self._lay_out()

    def _index_for(self, found: PieceMatches) -> int | None:
        piece = found.piece
        behind = bisect_right(self._parts, piece.first_offset, key=lambda p: p.piece.first_offset)
        for i in range(behind - 1, max(behind - _SAME_OFFSET, 0) - 1, -1):
            part = self._parts[i]
            if part.offsets is not None or part.piece.name != piece.name:
                continue
            if part.piece == piece or (part.piece.is_open and part.piece.begin <= piece.begin):
                return i
        return None

    @property
    def limit(self) -> int | None:
        """The last offset that is shown; None for the end of the log."""
        return self._limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        self._limit = limit
        self._lay_out()

    def _lay_out(self) -> None:
        shown = [
            p for p in self._parts if self._limit is None or p.piece.first_offset <= self._limit
        ]
        self.pieces = [part.piece for part in shown]
        """All pieces that are shown."""
        counts, in_gap = [], False
        for part in shown:
            if part.offsets is None:
                counts.append(0 if in_gap else 1)
            else:
                counts.append(self._n_of(part, part.offsets))
            in_gap = part.offsets is None
        self._starts = list_offsets_of(np.array(counts, dtype=np.int64))
        self._starts_listed: list[int] = self._starts.tolist()
        """int64[n + 1]: the first row of each part that is shown."""
        self._firsts: I64 = np.array([piece.first_offset for piece in self.pieces], dtype=np.int64)
        """int64[n]: the first offset of each."""
        found = [part.offsets is not None for part in shown]
        self.is_complete = all(found)
        """Whether everything was looked through."""
        self.n_records = sum(n for n, is_found in zip(counts, found, strict=True) if is_found)
        """How many records match, as far as is known."""
        self.n_hidden = sum(self._n_of(part, part.hidden) for part in shown)
        """How many were left out and counted."""
        self.n_faults = sum(part.n_faults for part in shown)
        """How many things in the files can't be read."""

    def _n_of(self, part: _Part, offsets: AnyArray) -> int:
        """How many of some offsets in a part are not behind the limit."""
        if self._limit is None or part.piece.last_offset <= self._limit:
            return len(offsets)
        return int(np.searchsorted(offsets, self._limit, side="right"))

    # The shown rows.

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def waiting(self) -> list[LogPiece]:
        """The pieces that nobody has looked through, wherever the log is shown up to."""
        return [part.piece for part in self._parts if part.offsets is None]

    def at(self, row: int) -> int | Gap:
        """The offset of the record in a row, or the gap that it stands for."""
        # Asked for each line that is drawn, for which numpy would let other threads go first.
        i = bisect_right(self._starts_listed, row) - 1
        part = self._parts[i]
        if part.offsets is not None:
            return int(part.offsets[row - self._starts_listed[i]])
        last = i
        while last + 1 < len(self._firsts) and self._parts[last + 1].offsets is None:
            last += 1
        end = self._parts[last].piece.last_offset
        return Gap(part.piece.first_offset, end if self._limit is None else min(end, self._limit))

    def ends_of_batch(self, row: int) -> tuple[bool, bool]:
        """Whether a row is the first, and whether it is the last one shown of its batch."""
        part, at, n = self._in_part(row)
        if part.offsets is None:
            return True, True
        batches = part.batches
        base = batches[at]
        is_first = at == 0 or batches[at - 1] != base
        return bool(is_first), bool(at + 1 >= n or batches[at + 1] != base)

    def batch_beside(self, row: int, by: int) -> int:
        """The first row of the next batch (by 1), or of this one or the one before (by -1).

        The last row of all where there is none behind, the first one where there is none before.
        """
        if by < 0:
            row = max(row - 1, 0)
        part, at, n = self._in_part(row)
        start = row - at
        if part.offsets is None:
            return row if by < 0 else min(row + 1, len(self) - 1)
        batches, base = part.batches[:n], part.batches[at]
        if by < 0:
            return start + int(np.searchsorted(batches, base))
        return min(start + int(np.searchsorted(batches, base, side="right")), len(self) - 1)

    def _in_part(self, row: int) -> tuple[_Part, int, int]:
        """(the part that a row is in, which of its rows it is, how many of them are shown)."""
        i = bisect_right(self._starts_listed, row) - 1
        start, behind = self._starts_listed[i : i + 2]
        return self._parts[i], row - start, behind - start

    def row_of(self, offset: int) -> int:
        """The row of the record at an offset, or of the next one shown; the last at most."""
        if not len(self):
            return 0
        i = max(int(np.searchsorted(self._firsts, offset, side="right")) - 1, 0)
        part, row = self._parts[i], int(self._starts[i])
        if part.offsets is not None:
            row += min(int(np.searchsorted(part.offsets, offset)), self._n_of(part, part.offsets))
        elif self._starts[i + 1] == row:
            row -= 1  # in the middle of a gap
        return min(row, len(self) - 1)

    def rows(self, first: int, behind: int) -> list[tuple[LogPiece, I64]]:
        """The records in some rows, by piece."""
        found = []
        first, behind = max(first, 0), min(behind, len(self))
        i = int(np.searchsorted(self._starts, first, side="right")) - 1
        while first < behind and i < len(self._firsts):
            part, start, end = self._parts[i], int(self._starts[i]), int(self._starts[i + 1])
            if part.offsets is not None and end > first:
                offsets = part.offsets[first - start : min(behind, end) - start]
                found.append((part.piece, offsets.astype(np.int64)))
            first, i = max(first, end), i + 1
        return found

    def piece_of(self, offset: int) -> LogPiece | None:
        """The piece that holds an offset, if that was looked through."""
        i = int(np.searchsorted(self._firsts, offset, side="right")) - 1
        if i < 0 or self._parts[i].offsets is None:
            return None
        return self._parts[i].piece

    def first_behind(self, offset: int) -> int:
        """How many rows lie behind an offset."""
        if not len(self) or not isinstance(last := self.at(len(self) - 1), int) or last <= offset:
            return 0
        return len(self) - self.row_of(offset + 1)
