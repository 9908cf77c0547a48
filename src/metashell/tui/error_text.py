"""Errors as text to be shown: one line each, whatever a file or a peer says in them.

An error may quote what was read: a line end in it would forge a line of ours, such as a hint, and
a URI may hold credentials. Every error that the explorer shows goes through here.
"""

from __future__ import annotations

from metashell.errors import MetashellError
from metashell.fs.escape import diagnostic


def error_lines(error: MetashellError) -> list[str]:
    """The message and the hint, a line each."""
    return [diagnostic(line) for line in error.lines("")]


def error_text(error: MetashellError) -> str:
    """The message and the hint, below each other."""
    return "\n".join(error_lines(error))


def error_message(error: MetashellError) -> str:
    """The message alone, in a line."""
    return diagnostic(error.message)
