"""``find`` where others have the log: their answers relayed as they come."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Protocol

from metashell.commands.base import Context
from metashell.commands.targets import stop_if_cancelled
from metashell.errors import ExitCode, NoSuchPathError
from metashell.fs.escape import escape


class Finding(Protocol):
    """A search that others do."""

    @property
    def matched(self) -> Container[int]:
        """Once all was told: which of the starts there are."""

    def __iter__(self) -> Iterator[str]:
        """What is printed, in order."""


def ask_elsewhere(context: Context, args: Sequence[str]) -> Finding | None:
    """The same search by those who have the source's log; None where it is here."""
    ask = getattr(context.source, "find_elsewhere", None)
    if ask is None:
        return None
    found: Finding | None = ask(args, context.cwd, escapes=context.out.is_terminal)
    return found


def relay(context: Context, finding: Finding, starts: Sequence[str]) -> int:
    """Print what others find; a start that none of them has is told of at the end."""
    for text in finding:
        stop_if_cancelled(context)
        context.out.write(text)
    missing = [start for i, start in enumerate(starts) if i not in finding.matched]
    for start in missing:
        context.warn(escape(f"find: {NoSuchPathError(str(start)).message}"))
    return ExitCode.FAILED if missing else ExitCode.OK
