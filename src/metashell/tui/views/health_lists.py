"""The lists of Health: the kinds of findings, and the rows of a kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from textual.binding import Binding
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from metashell.commands.health.rows import told_count
from metashell.findings.kind import SEVERITIES
from metashell.tui.part import AppPart
from metashell.tui.text import line
from metashell.tui.views.answer import AnswerRows
from metashell.tui.views.health_text import EVERY, SYMBOLS

_STYLES: Final = dict(zip(SEVERITIES, ("$text-error", "$text-warning", ""), strict=True))


class KindList(AppPart, OptionList):
    """The kinds of findings, the worst first."""

    HELP = (
        "Kinds of findings with the number of affected partitions, replicas or others. `●` is "
        "critical, `▲` a warning, `·` a note. The arrows choose one, `enter` goes to its "
        "rows."
    )
    BINDINGS: ClassVar = [
        Binding("enter", "select", "Rows", id="health.rows", tooltip="go to the rows of the kind")
    ]
    ALLOW_MAXIMIZE = False

    def __init__(self) -> None:
        super().__init__(id="health-kinds", compact=True)
        self.border_title = "kinds"
        self.codes: list[str] = []
        """The listed kinds, in order."""

    @property
    def code(self) -> str:
        """The kind chosen; empty for all of them."""
        at = self.highlighted
        return EVERY if at is None or at >= len(self.codes) else self.codes[at]

    def show(self, kinds: Sequence[Mapping[str, Any]], chosen: str | None = None) -> None:
        """List other kinds and choose one; by default the one chosen stays while it is there."""
        chosen = self.code if chosen is None else chosen
        n_rows = sum(kind["subjects"] for kind in kinds)
        options = [Option(line(f"all {n_rows:,} rows", "bold"))]
        for level, code, n in ((k["severity"], k["code"], told_count(k)) for k in kinds):
            symbol = Content.styled(SYMBOLS[level], _STYLES[level])
            options.append(Option(Content.assemble(symbol, " ", line(f"{code}  {n:,}"))))
        self.codes = [EVERY, *(kind["code"] for kind in kinds)]
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(options)
            self.highlighted = self.codes.index(chosen) if chosen in self.codes else 0


class ProblemTable(AnswerRows):
    """Rows of findings."""

    STAYING = ("subject", "code")
