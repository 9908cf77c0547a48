"""Waiting for a source to change, so that ^C and a front end's wish to stop are heard."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.sources.source import Source

_SLICE_S = 0.1
"""How long is waited without asking whether to stop."""


def refuse_what_stands_still(source: Source) -> None:
    """Refuse to wait for changes of a source that has none.

    Raises:
        UsageError: It is an earlier state, an archive, or one file.
    """
    if source.moment_offset is not None:
        raise UsageError("an earlier state never changes", hint="`at end` goes to the newest state")
    is_packed = source.log.remote is not None and source.log.remote.store.is_archive
    if source.log.is_file or is_packed:
        raise UsageError(
            "an archive does not grow" if is_packed else "a single file is read once",
            hint="open a directory (-d) or a quorum (-q) to follow changes",
        )


def wait_for_news(
    context: Context, source: Source, seconds: float, generation: int | None = None
) -> None:
    """Wait so long, less where a live source has news earlier.

    Args:
        context: Is asked whether to stop.
        source: The source that may have news.
        seconds: How long.
        generation: The generation of a live source that is known already; None to wait in any case.

    Raises:
        KeyboardInterrupt: The front end wants the command to end.
    """
    live = source.live
    end = time.monotonic() + seconds
    stop_if_cancelled(context)
    while (left := end - time.monotonic()) > 0:
        piece = min(left, _SLICE_S)
        if live is None or generation is None:
            time.sleep(piece)
        elif live.wait(generation, piece):
            return
        stop_if_cancelled(context)
