"""The details of one record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from metashell.fs.escape import escape
from metashell.redact import REDACTED
from metashell.tui.part import AppPart
from metashell.tui.records.detail import Bytes, RecordDetail
from metashell.tui.records.hex import fitting_width, hex_lines

_HIDDEN = "not shown: this record may hold secrets"


class RecordPane(AppPart, VerticalScroll):
    """Fields, batch and bytes of a record."""

    HELP = (
        "The selected record: its fields as in `log --json`, its batch and its bytes. "
        "Positions are those in the file. `d` hides this."
    )
    DEFAULT_CSS = """
    RecordPane { height: 1fr; background: $surface; border-top: solid $primary; padding: 0 1;
        scrollbar-size-vertical: 1; }
    RecordPane:focus { border-top: heavy $accent; }
    RecordPane Static { width: 1fr; height: auto; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.detail: RecordDetail | None = None
        self._told = ""

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static(markup=False)

    def show(self, detail: RecordDetail) -> None:
        """Show a record."""
        if self.detail is None or self.detail.offset != detail.offset:
            self.scroll_home(animate=False)
        self.detail, self._told = detail, ""
        self._draw()

    def tell(self, text: str) -> None:
        """Show a text in place of a record."""
        self.detail, self._told = None, text
        self._draw()

    def on_resize(self) -> None:
        """Fit the bytes into the width."""
        self._draw()

    def _draw(self) -> None:
        detail = self.detail
        static = self.query_one(Static)
        self.border_title = None if detail is None else f"record {detail.offset}"
        if detail is None:
            static.update(Content.styled(escape(self._told), "$text-muted"))
            return
        width = fitting_width(self.size.width - 3)
        static.update(Content("\n").join(list(_lines(detail, width))))


def _lines(detail: RecordDetail, width: int) -> Iterator[Content]:
    yield Content.assemble((escape(detail.type), "bold"), _target(detail))
    if detail.error is not None:
        yield Content.styled(f"! {escape(detail.error)}", "bold $text-error")
    yield from _pairs(detail.fields)
    yield _title("where")
    yield from _pairs(detail.place)
    yield _title("batch")
    yield from _pairs(detail.batch)
    yield from _bytes("key", detail.key, detail, width)
    yield from _bytes("value", detail.value, detail, width)


def _target(detail: RecordDetail) -> str:
    return "" if detail.target is None else f"  → {escape(detail.target.path)}"


def _title(text: str) -> Content:
    return Content.styled(f"── {text}", "$text-muted")


def _pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[Content]:
    found = list(pairs)
    width = max((len(name) for name, _ in found), default=0)
    for name, text in found:
        yield Content.assemble((f"{escape(name):<{width}}  ", "$text-primary"), escape(text))


def _bytes(what: str, found: Bytes, detail: RecordDetail, width: int) -> Iterator[Content]:
    if found.hidden is not None:
        yield _title(f"{what}: {_HIDDEN}")
        if found.hidden != REDACTED:
            yield _title(found.hidden)
        return
    if found.data is None:
        yield _title(f"{what}: none")
        return
    where = " of the inflated batch" if detail.is_inflated else ""
    yield _title(
        f"{what}: {len(found.data)} bytes, position {found.position} (0x{found.position:x}){where}"
    )
    for text in hex_lines(found.data, found.position, width):
        yield Content(text)
