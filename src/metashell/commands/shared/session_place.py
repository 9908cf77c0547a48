"""Where a session is: its source, root and current directory, kept in keeping with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.errors import PathError
from metashell.fs.escape import escape
from metashell.fs.path import resolve

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source


def go_to(context: Context, opened: Source | FleetSource, who: str, where: str) -> None:
    """Show another state, going up where the current directory is not there in it.

    Args:
        context: Gets the state and its root.
        opened: The state.
        who: Tells of a move on stderr: a command's name.
        where: A phrase for the state, such as ``at that offset``.
    """
    context.show(opened)
    cwd = context.cwd
    while cwd != "/":
        try:
            resolve(context.root, cwd)
            break
        except PathError:
            cwd = cwd.rpartition("/")[0] or "/"
    if cwd != context.cwd:
        context.warn(escape(f"{who}: {context.cwd} is not there {where}: now in {cwd}"))
        context.cwd = cwd


def follow(context: Context) -> None:
    """Go on with what still stands: the newest state of a quorum, or of a log that was truncated.

    A session at an earlier state stays there.

    Raises:
        MetashellError: It can't be taken; everything stays as it was.
    """
    opened, source = context.opened, context.source
    if opened is None or (source is not None and source.moment_offset is not None):
        return
    newest = opened.standing()
    if newest is opened:
        return
    go_to(context, newest, "metashell", "any more")
    if context.source is not None and context.source.truncation is not None:
        context.warn(f"metashell: {context.source.truncation}")
