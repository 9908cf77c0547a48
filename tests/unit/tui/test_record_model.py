"""Which record is in which row, while a log is being looked through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metashell.records.filter import Selection
from metashell.records.window import Filter, LogPiece, PieceMatches
from metashell.tui.records.model import Gap, Matches
from metashell.tui.records.reading import around, take_nearest


def _piece(n: int) -> LogPiece:
    """Ten offsets of one file."""
    return LogPiece("a.log", n * 100, 100, n * 10, n * 10 + 9, n * 10 - 1)


def _found(n: int, *offsets: int) -> PieceMatches:
    """Records in batches of five offsets; the fourth of each piece is hidden."""
    found = np.array(offsets, dtype=np.int64)
    hidden = np.array([10 * n + 3], dtype=np.int64)
    return PieceMatches(_piece(n), None, found, hidden, 0, found // 5 * 5)


def _model(n: int) -> Matches:
    model = Matches()
    model.plan([_piece(i) for i in range(n)], Filter(), anew=False)
    assert len(model.waiting) == n
    return model


def test_gaps() -> None:
    """Pieces that nobody has looked through are one row together."""
    model = _model(5)
    assert [model.at(row) for row in range(len(model))] == [Gap(0, 49)]
    model.take([_found(4, 41, 45), _found(2, 20)])
    shown = [model.at(row) for row in range(len(model))]
    assert shown == [Gap(0, 19), 20, Gap(30, 39), 41, 45]
    assert (model.n_records, model.n_hidden, model.is_complete) == (3, 2, False)
    assert [model.row_of(offset) for offset in (5, 15, 20, 21, 35, 42, 99)] == [0, 0, 1, 2, 2, 4, 4]
    model.take([_found(0, 1), _found(1), _found(3)])
    assert [model.at(row) for row in range(len(model))] == [1, 20, 41, 45]
    assert model.is_complete
    assert model.first_behind(20) == 2


def test_limit() -> None:
    """Nothing behind an offset is shown, and all of it again without the limit."""
    model = _model(3)
    model.take([_found(0, 1, 8), _found(1, 12, 15), _found(2, 21)])
    model.limit = 12
    assert [model.at(row) for row in range(len(model))] == [1, 8, 12]
    assert (model.n_records, model.n_hidden) == (3, 1)
    model.limit = 13
    assert (model.n_records, model.n_hidden) == (3, 2)
    model.limit = 0
    assert len(model) == 0
    assert model.row_of(5) == 0
    model.limit = None
    assert model.n_records == 5


def test_rows() -> None:
    """Some rows in the middle are asked of their pieces."""
    model = _model(4)
    model.take([_found(0, 1, 2, 3), _found(1), _found(3, 30, 31)])
    rows = [(piece, offsets.tolist()) for piece, offsets in model.rows(2, 5)]
    assert rows == [(_piece(0), [3]), (_piece(3), [30])]


def test_batches() -> None:
    """Where a batch begins and ends among the rows that are shown, and what is beside it."""
    model = _model(3)
    model.take([_found(0, 1, 2, 4, 5, 9), _found(2, 20, 27)])
    assert [model.at(row) for row in range(len(model))] == [1, 2, 4, 5, 9, Gap(10, 19), 20, 27]
    assert [model.ends_of_batch(row) for row in range(len(model))] == [
        *((True, False), (False, False), (False, True), (True, False), (False, True)),
        *((True, True), (True, True), (True, True)),
    ]
    assert [model.batch_beside(row, 1) for row in range(len(model))] == [3, 3, 3, 5, 5, 6, 7, 7]
    assert [model.batch_beside(row, -1) for row in range(len(model))] == [0, 0, 0, 0, 3, 3, 5, 6]
    model.limit = 8
    assert model.ends_of_batch(3) == (True, True)
    assert model.batch_beside(0, 1) == model.batch_beside(3, 1) == 3


def test_growth() -> None:
    """What was found is kept where the log only grew, and dropped where something else is asked."""
    model = _model(2)
    model.take([_found(0, 1), _found(1, 11)])
    pieces = [_piece(i) for i in range(3)]
    model.plan(pieces, Filter(), anew=False)
    assert model.waiting == [_piece(2)]
    assert [model.at(row) for row in range(len(model))] == [1, 11, Gap(20, 29)]
    other = replace(_piece(1), mark=7)
    model.plan([_piece(0), other], Filter(), anew=False)
    assert model.waiting == [other]
    wanted = Filter(Selection(first_offset=15))
    model.plan(pieces, wanted, anew=True)
    assert model.waiting == pieces[1:]


@pytest.mark.parametrize("cut", [1, 2])
def test_open_pieces(cut: int) -> None:
    """A segment that nobody has read is cut as it is looked through, and stays so."""
    whole = LogPiece("a.log", 0, 0, 0, 29, -1)
    last = LogPiece("b.log", 0, 50, 30, 39, 29)
    model = Matches()
    model.plan([whole, last], Filter(), anew=False)
    rest = whole
    for n in range(cut):
        rest = replace(whole, begin=n * 100 + 100, first_offset=n * 10 + 10, after=n * 10 + 9)
        model.take([replace(_found(n, n * 10 + 1), rest=rest)])
    shown = [n * 10 + 1 for n in range(cut)]
    assert [model.at(row) for row in range(len(model))] == [*shown, Gap(cut * 10, 39)]
    model.plan([whole, last], Filter(), anew=False)
    assert len(model.waiting) == 2
    assert model.n_records == cut
    nothing = np.empty(0, dtype=np.int64)
    model.take([PieceMatches(rest, None, nothing, nothing, 0, nothing)])
    assert model.waiting == [last]


def test_take_nearest() -> None:
    """What is looked at is looked through first, then what is beside it."""
    pieces = [_piece(n) for n in (0, 1, 2, 5, 6)]
    order = [take_nearest(pieces, 35).begin // 100 for _ in range(5)]
    assert order == [2, 5, 1, 6, 0]
    assert pieces == []


def test_around() -> None:
    """So many rows at most, those of the cursor among them."""
    assert around(50, 10, 100) == (0, 50)
    assert around(1000, 500, 100) == (450, 550)
    assert around(1000, 990, 100) == (900, 1000)
