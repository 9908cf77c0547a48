"""What is sent to a terminal: only what differs, with the same picture as all of it."""

from __future__ import annotations

import random

import pyte

from metashell.tui.drawn_cells import DrawnCells

WIDTH, HEIGHT = 20, 5
RED, BLUE = "\x1b[38;2;255;0;0m", "\x1b[1;38;5;4;48;2;0;0;255m"
OFF = "\x1b[0m"
TEXTS = ("leader 101", "   ", "│●…", "x", "-1", " " * WIDTH)
WIDE = ("漢字漢字漢字漢字漢字", "a漢b                ", "漢 漢               ", " " * WIDTH)
"""As wide as the terminal."""
STYLES = ("", RED, BLUE, "\x1b[7m", "\x1b[4;38;2;1;2;3m", "\x1b[48;2;9;9;9m")
SEEN_OF_BLANKS = ("reverse", "underscore", "strikethrough")


class NodeInspector:
    """A terminal that is drawn on."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.Stream(self.screen)

    def feed(self, data: str) -> None:
        """Draw."""
        self._stream.feed(data)

    @property
    def cells(self) -> list[list[tuple[object, ...]]]:
        """All that can be seen of each cell, and the cursor."""
        rows = [[self._seen(row, i) for i in range(WIDTH)] for row in range(HEIGHT)]
        return [*rows, [(self.screen.cursor.y, self.screen.cursor.x)]]

    def _seen(self, row: int, column: int) -> tuple[object, ...]:
        cell = self.screen.buffer[row][column]
        if cell.data == " " and not any(getattr(cell, name) for name in SEEN_OF_BLANKS):
            return (" ", cell.bg)
        return tuple(cell)


def at(row: int, column: int) -> str:
    """A place, counted from 0."""
    return f"\x1b[{row + 1};{column + 1}H"


def picture(*texts: tuple[int, int, str], cursor: tuple[int, int] = (0, 0)) -> str:
    """Texts at places, as Textual writes them."""
    return "\n".join(at(row, column) + text for row, column, text in texts) + at(*cursor)


def drawn(cells: DrawnCells, data: str) -> str:
    """What is sent for a picture."""
    return cells.draw(data, WIDTH, HEIGHT)


def test_the_same_picture_is_sent_once() -> None:
    """Nothing is sent for a picture that is there."""
    cells = DrawnCells()
    data = picture((0, 0, f"{RED}offline{OFF}"), (3, 2, "all"))
    assert drawn(cells, data)
    assert drawn(cells, data) == ""


def test_only_what_differs_is_sent() -> None:
    """A cell that differs is sent with its place, its style and the cursor's place."""
    cells = DrawnCells()
    drawn(cells, picture((1, 0, f"{RED}leader 101{OFF}")))
    sent = drawn(cells, picture((1, 0, f"{RED}leader 102{OFF}")))
    assert f"{at(1, 9)}{RED}2{OFF}{at(0, 0)}" == sent


def test_a_style_is_sent_once_for_neighbours() -> None:
    """Neighbours in one style share its sequence; of another style only what differs is sent."""
    cells = DrawnCells()
    one, other = "38;2;1;1;1;48;2;5;5;5", "38;2;2;2;2;48;2;5;5;5"
    data = picture((0, 0, f"\x1b[{one}ma{OFF}\x1b[{one}mb c{OFF}\x1b[{other}md{OFF}"))
    assert f"{at(0, 0)}\x1b[{one}mab c\x1b[38;2;2;2;2md{OFF}{at(0, 0)}" == drawn(cells, data)


def test_the_cursor_alone_is_sent() -> None:
    """Another place of the cursor is sent, though nothing else differs."""
    cells = DrawnCells()
    drawn(cells, picture((0, 0, "a")))
    assert at(2, 3) == drawn(cells, picture((0, 0, "a"), cursor=(2, 3)))


def test_what_is_not_understood_is_sent_whole() -> None:
    """A link is sent as it is, and what is drawn next is sent whole."""
    cells = DrawnCells()
    known = picture((0, 0, "text"))
    drawn(cells, known)
    link = picture((1, 0, "\x1b]8;id=1;https://example.com\x1b\\there\x1b]8;;\x1b\\"))
    assert link == drawn(cells, link)
    assert drawn(cells, known)


def test_another_size_begins_anew() -> None:
    """On a terminal of another size nothing is known."""
    cells = DrawnCells()
    data = picture((0, 0, "text"))
    drawn(cells, data)
    assert cells.draw(data, WIDTH + 1, HEIGHT)
    cells.forget()
    assert cells.draw(data, WIDTH + 1, HEIGHT)


def test_text_beyond_the_edge_is_sent_whole() -> None:
    """What would wrap, or lies below the screen, is sent as it is."""
    for data in (picture((0, WIDTH - 2, "abc")), picture((HEIGHT, 0, "a"))):
        assert data == drawn(DrawnCells(), data)


def test_pictures_look_as_if_they_were_sent_whole() -> None:
    """After any pictures the terminal shows the same."""
    draw = random.Random(17)

    def text() -> tuple[str, int]:
        """Texts in styles, and how many columns they take."""
        texts = draw.choices(TEXTS, k=draw.randint(1, 2))
        styles = draw.choices(STYLES, k=len(texts))
        pairs = zip(styles, texts, strict=True)
        return "".join(f"{a}{b}{OFF if a else ''}" for a, b in pairs), len("".join(texts))

    for _ in range(40):
        cells, whole, reduced = DrawnCells(), NodeInspector(), NodeInspector()
        for _ in range(30):
            texts = []
            for _ in range(draw.randint(1, 4)):
                styled, size = text()
                if size <= WIDTH:
                    row, column = draw.randrange(HEIGHT - 1), draw.randint(0, WIDTH - size)
                    texts.append((row, column, styled))
            # Rows with wide characters are written whole: what half of one looks like is open.
            style, wide = draw.choice(STYLES), draw.choice(WIDE)
            texts.append((HEIGHT - 1, 0, f"{style}{wide}{OFF}"))
            data = picture(*texts, cursor=(draw.randrange(HEIGHT), draw.randrange(WIDTH)))
            whole.feed(data)
            reduced.feed(drawn(cells, data))
            assert whole.cells == reduced.cells, data
