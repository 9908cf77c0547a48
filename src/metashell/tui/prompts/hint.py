"""The line below what is typed: how it goes on, or what is wrong with it."""

from __future__ import annotations

from textual.widgets import Static

from metashell.fs.escape import escape


class Hint(Static):
    """A hint, in whose place a mistake is told until something else is typed.

    Args:
        hint: How it goes on.
    """

    DEFAULT_CSS = """
    Hint { height: auto; color: $text-muted; }
    Hint.-error { color: $text-error; text-style: bold; }
    """

    def __init__(self, hint: str) -> None:
        super().__init__(hint, markup=False)
        self._hint = hint

    def say(self, error: str | None) -> None:
        """Tell what is wrong, which may hold data; None for the hint."""
        text = self._hint if error is None else error
        self.set_class(error is not None, "-error")
        self.update("\n".join(map(escape, text.split("\n"))))
