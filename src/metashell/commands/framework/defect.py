"""What is said of an exception that is no `MetashellError`: a defect of ours, or memory ran out."""

from __future__ import annotations

import os

_LONGEST = 500
"""Characters of an exception's message, which may hold anything."""


def defect_lines(error: Exception) -> list[str]:
    """Lines for stderr; the traceback is among them where ``METASHELL_DEBUG`` is set."""
    if isinstance(error, MemoryError):
        return ["metashell: out of memory"]
    message = " ".join(str(error).split())[:_LONGEST]
    line = f"metashell: internal error: {type(error).__name__}: {message}"
    if not os.environ.get("METASHELL_DEBUG"):
        return [line, "  hint: run again with METASHELL_DEBUG=1 for the traceback"]
    import traceback

    return [*"".join(traceback.format_exception(error)).splitlines(), line]


def began_with_interrupt(error: BaseException) -> bool:
    """Whether ^C lies behind an error, as when it fell into the import of a C extension."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, KeyboardInterrupt):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False
