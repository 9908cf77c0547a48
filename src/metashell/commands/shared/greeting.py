"""The first lines of the shell: what is opened, its worst finding, and where help is."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from metashell.commands.framework.command import Context
from metashell.findings.kind import Severity
from metashell.fs.escape import escape

_MOST_BYTES: Final = 32 << 20
"""A longer log is not judged before the first prompt: nobody waits for that."""


def greeting(context: Context) -> Iterator[str]:
    """Give the lines, escaped. Cost: that of `health`, unless the log is long."""
    source = context.source
    if source is None or context.fleet is not None or not source.capabilities.has_image:
        yield "help lists the commands"
        return
    if source.log.loaded.size > _MOST_BYTES:
        yield "health says what is wrong; help lists the commands"
        return
    from metashell.commands.health.verdict import verdict_of

    verdict = verdict_of(context)
    if verdict is not None:
        first = verdict.paragraphs[0] if verdict.paragraphs else None
        n_more = len(verdict.paragraphs) - 1
        if first is None or first.severity is Severity.NOTE:
            yield escape(verdict.nothing)
        else:
            yield from wrap(escape(f"{first.severity.value}: {first.headline}"), context.out.width)
            yield f"health says what to do{f', and has {n_more} more' if n_more else ''}"
    yield "help lists the commands"
