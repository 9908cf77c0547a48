"""Keeps the terminal's cells, so that only cells that differ are sent, in few bytes.

Textual draws a whole view several times when it comes to the front, and names both colours of each
piece of text anew. Over a slow line each byte counts.

A picture with unknown sequences is sent unchanged. Then all cells of the terminal are unknown. No
widget here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import compress
from operator import ne
from typing import Final, NamedTuple

from rich.cells import cell_len, get_character_cell_size

_PLACE: Final = re.compile(r"\x1b\[(\d+);(\d+)H")
_TOKEN: Final = re.compile(r"\x1b\[(?P<sgr>[\d;]*)m|(?P<text>[^\x00-\x1f\x7f]+)")
_GAP: Final = 4
"""Cells that stay the same are sent once more where moving past them takes as many bytes."""
_FOREGROUND, _BACKGROUND = 38, 48
_CHARACTERS: Final = 1_000
"""Characters of a style whose cells are kept."""
_SEEN_OF_BLANKS: Final = frozenset("479")
"""Underlined, reverse, struck."""
_LENGTHS: Final = {2: 5, 5: 3}
"""Parameters of a colour by its kind: red, green and blue; one of 256."""


class CellStyle(NamedTuple):
    """How a cell looks, as parameters of the sequence that sets it."""

    attributes: frozenset[str] = frozenset()
    foreground: str = ""
    background: str = ""


PLAIN: Final = CellStyle()
_Cell = tuple[str, CellStyle]
_Row = list[_Cell | None]
"""None where nothing is known; behind a wide character a cell with an empty text."""


class DrawnCells:
    """The cells of the terminal."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._width = 0
        self._cursor: tuple[int, int] | None = None

    def forget(self) -> None:
        """Know nothing any more: something else was drawn, or the size is another one."""
        self._rows, self._cursor = [], None

    def draw(self, picture: str, width: int, height: int) -> str:
        """The bytes to send so that a picture is seen.

        Args:
            picture: Texts at places, in styles; it begins with a place and ends with that of the
                cursor.
            width: Columns of the terminal.
            height: Rows of it.

        Returns:
            Fewer bytes with the same effect; empty if nothing changes.
        """
        if (self._width, len(self._rows)) != (width, height):
            self._rows = [[None] * width for _ in range(height)]
            self._width, self._cursor = width, None
        changed: dict[int, _Row] = {}
        cursor = self._apply(picture, changed)
        if cursor is None:
            self.forget()
            return picture
        sent = _Writer()
        for row in sorted(changed):
            before, after = self._rows[row], changed[row]
            for start, stop in _differing(before, after):
                sent.write(row, start, after[start:stop])
            self._rows[row] = after
        if sent.is_empty and cursor == self._cursor:
            return ""
        self._cursor = cursor
        return sent.finish(cursor)

    def _apply(self, picture: str, changed: dict[int, _Row]) -> tuple[int, int] | None:
        """Draw on copies of rows; returns where the cursor stays, None where that is not known."""
        before, *parts = _PLACE.split(picture)
        if before:
            return None
        row, column, is_end = -1, 0, False
        for at in range(0, len(parts), 3):
            row, column = int(parts[at]) - 1, int(parts[at + 1]) - 1
            piece = parts[at + 2]
            text = piece.rstrip("\n")
            is_end = len(text) == len(piece)  # Behind a newline a place follows before any text.
            if not text:
                continue
            cells = _piece_of(text)
            if cells is None or not 0 <= row < len(self._rows):
                return None
            if column + len(cells) > self._width:
                return None
            line = changed.get(row)
            if line is None:
                line = changed[row] = self._rows[row].copy()
            _put(line, column, cells)
            column += len(cells)
        return (row, column) if is_end and row >= 0 else None


class _OneStyle(dict[str, _Cell]):
    """The cells of characters in one style, each made once: what is the same is compared fast."""

    def __init__(self, style: CellStyle) -> None:
        super().__init__({" ": (" ", _of_blank(style))})
        self._style = style

    def __missing__(self, character: str) -> _Cell:
        cell = (character, self._style)
        if len(self) < _CHARACTERS:
            self[character] = cell
        return cell


_in_style: Final = lru_cache(maxsize=256)(_OneStyle)


@lru_cache(maxsize=1024)
def _piece_of(piece: str) -> Sequence[_Cell] | None:
    """The cells of what is drawn at one place, in styles; None where that can't be told.

    Widgets draw the same again and again, such as the lines of a list that moves.
    """
    end, style = 0, PLAIN
    cells: list[_Cell] = []
    for token in _TOKEN.finditer(piece):
        if token.start() != end:
            return None
        end = token.end()
        if token.lastgroup == "text":
            found = _cells_of(token["text"], style)
            if found is None:
                return None
            cells += found
        else:
            after = _style_after(style, token["sgr"])
            if after is None:
                return None
            style = after
    return tuple(cells) if end == len(piece) and style == PLAIN else None


def _cells_of(text: str, style: CellStyle) -> Sequence[_Cell] | None:
    """A cell for each column; None where that can't be told."""
    known = _in_style(style)
    if text.isascii():
        return [known[character] for character in text]
    cells: list[_Cell] = []
    for character in text:
        size = get_character_cell_size(character)
        if not size:
            return None
        cells.append(known[character])
        cells += [("", style)] * (size - 1)
    return cells if len(cells) == cell_len(text) else None


@lru_cache(maxsize=4096)
def _of_blank(style: CellStyle) -> CellStyle:
    """The visible part of a style on a blank: text has a colour, a blank has none."""
    if style.attributes & _SEEN_OF_BLANKS:
        return style
    return CellStyle(background=style.background)


def _put(line: _Row, column: int, cells: Sequence[_Cell]) -> None:
    """Put cells into a row; what is left of a wide character that is covered half is not known."""
    stop = column + len(cells)
    if column and line[column] is not None and not line[column][0]:  # type: ignore[index]
        line[column - 1] = None
    if stop < len(line) and line[stop] is not None and not line[stop][0]:  # type: ignore[index]
        line[stop] = None
    line[column:stop] = cells


def _differing(before: _Row, after: _Row) -> Iterator[tuple[int, int]]:
    """Spans of a row that have to be sent."""
    if before == after:
        return
    at = compress(range(len(after)), map(ne, before, after))
    start = stop = -1
    for i in at:
        if after[i] is None:
            continue
        if start >= 0 and i - stop <= _GAP and None not in after[stop:i]:
            stop = i + 1
            continue
        if start >= 0:
            yield _whole(after, start, stop)
        start, stop = i, i + 1
    if start >= 0:
        yield _whole(after, start, stop)


def _whole(row: _Row, start: int, stop: int) -> tuple[int, int]:
    """A span that cuts no wide character in two."""
    while start and _is_behind(row[start]):
        start -= 1
    while stop < len(row) and _is_behind(row[stop]):
        stop += 1
    return start, stop


def _is_behind(cell: _Cell | None) -> bool:
    return cell is not None and not cell[0]


class _Writer:
    """Writes spans, each style once."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._style = PLAIN

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written."""
        return not self._pieces

    def write(self, row: int, column: int, cells: _Row) -> None:
        """Write cells at a place."""
        self._pieces.append(_place(row, column))
        append = self._pieces.append
        for cell in cells:
            assert cell is not None
            text, style = cell
            now = _of_blank(self._style) if text == " " else self._style
            if style is not now and style != now:
                append(_change(self._style, style))
                self._style = style
            append(text)

    def finish(self, cursor: tuple[int, int]) -> str:
        """All that was written, and the cursor where it stays."""
        if self._style != PLAIN:
            self._pieces.append("\x1b[0m")
        self._pieces.append(_place(*cursor))
        return "".join(self._pieces)


def _place(row: int, column: int) -> str:
    return f"\x1b[{row + 1};{column + 1}H"


@lru_cache(maxsize=4096)
def _change(before: CellStyle, after: CellStyle) -> str:
    """The sequence that makes one style of another."""
    codes = []
    if before.attributes - after.attributes:
        codes.append("0")
        before = PLAIN
    codes += sorted(after.attributes - before.attributes, key=int)
    if after.foreground != before.foreground:
        codes.append(after.foreground or "39")
    if after.background != before.background:
        codes.append(after.background or "49")
    return f"\x1b[{';'.join(codes)}m"


@lru_cache(maxsize=4096)
def _style_after(style: CellStyle, parameters: str) -> CellStyle | None:
    """The style that a sequence leads to; None where it is not understood."""
    attributes = set(style.attributes)
    colours = {_FOREGROUND: style.foreground, _BACKGROUND: style.background}
    codes = [int(code or "0") for code in parameters.split(";")]
    i = 0
    while i < len(codes):
        code, n = codes[i], 1
        if code == 0:
            attributes.clear()
            colours = dict.fromkeys(colours, "")
        elif code in colours:
            n = _LENGTHS.get(codes[i + 1] if i + 1 < len(codes) else 0, 0)
            if not n or i + n > len(codes):
                return None
            colours[code] = ";".join(map(str, codes[i : i + n]))
        elif code <= 9:
            attributes.add(str(code))
        elif code - 1 in colours:
            colours[code - 1] = ""
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colours[_FOREGROUND] = str(code)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            colours[_BACKGROUND] = str(code)
        else:
            return None
        i += n
    return CellStyle(frozenset(attributes), colours[_FOREGROUND], colours[_BACKGROUND])
