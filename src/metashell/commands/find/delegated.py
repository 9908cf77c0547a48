"""``find`` where others have the log: their answers relayed as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.errors import ExitCode, NoSuchPathError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.sources.delegate import DelegatedSearch


def ask_delegate(context: Context, args: Sequence[str]) -> DelegatedSearch | None:
    """The same search by those who have the source's log; None where it is here."""
    if context.opened is None:
        return None
    escapes = context.out.is_terminal
    return context.opened.delegate(lambda they: they.search(args, context.cwd, escapes=escapes))


def relay(context: Context, finding: DelegatedSearch, starts: Sequence[str]) -> int:
    """Print what others find; what they can't look at, or none of them has, is told at the end."""
    for text in finding:
        stop_if_cancelled(context)
        context.out.write(text)
    unread = list(finding.missing)
    for line in unread:
        context.warn(escape(f"find: {line}"))
    missing = [start for i, start in enumerate(starts) if i not in finding.matched]
    for start in missing:
        context.warn(escape(f"find: {NoSuchPathError(str(start)).message}"))
    return ExitCode.FAILED if unread or missing else ExitCode.OK
