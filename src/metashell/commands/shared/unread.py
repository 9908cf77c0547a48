"""Messages of a command that could not read all data it was asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import ExitCode
from metashell.fs.escape import escape
from metashell.log.fault import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.commands.framework.command import Context
    from metashell.log.directory import MetadataLog
    from metashell.log.unread import Unread

_MOST_WARNINGS: Final = 10
"""Faults that are told one by one."""


def unread_of(faults: Iterable[Fault], log: MetadataLog) -> Unread:
    """The gaps that faults of a log's files leave; a tail that may be being written is none."""
    from metashell.log.unread import Unread

    unread, known = Unread(), frozenset(log.faults)
    newest = log.listing.segments[-1].name if log.listing.segments else None
    for fault in faults:
        if fault.kind is not FaultKind.TORN or not (log.is_file or fault.file == newest):
            unread.add(fault, fault in known)
    return unread


def status_after(context: Context, command: str, unread: Unread) -> int:
    """Tell what was not read.

    Returns:
        The exit code: FAILED where anything was missing, also what was told before.
    """
    news = unread.news
    for text in news[:_MOST_WARNINGS]:
        context.warn(escape(f"{command}: {text}"))
    n_more = len(news) - len(news[:_MOST_WARNINGS]) + unread.n_more
    if n_more:
        context.warn(f"{command}: {n_more} more faults: see `check`")
    for remark in unread.remarks:
        context.warn(escape(f"{command}: {remark}"))
    return ExitCode.OK if unread.is_none else ExitCode.FAILED
