"""Makes a peer's text fit to stand in a sentence of ours."""

from __future__ import annotations

from typing import Final

from metashell.redact import without_own_secrets

_MOST_CHARS: Final = 300


def one_line(text: str, most_chars: int = _MOST_CHARS) -> str:
    """Text on one line, cut, without our secrets and what would move a terminal's cursor."""
    # A peer's text may be long: no more is looked at than can be shown.
    head = without_own_secrets(text)[: 4 * most_chars]
    line = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return line if len(line) <= most_chars else line[:most_chars].rstrip() + "..."
