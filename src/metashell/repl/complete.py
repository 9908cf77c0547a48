"""Completion of a line: ours by the commands themselves, the system's shell's by file names.

Runs in a thread of its own. What goes wrong here costs the proposals, never the prompt.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    ExecutableCompleter,
    PathCompleter,
)
from prompt_toolkit.document import Document

from metashell.commands.framework.command import Context
from metashell.commands.framework.command_line import find_pipe
from metashell.commands.framework.completion import complete_line
from metashell.fs.escape import escape
from metashell.repl.line import is_comment


def shell_part(line: str) -> str | None:
    """Return what of a line up to the cursor is for the system's shell, or None."""
    stripped = line.lstrip()
    if stripped.startswith("!"):
        return stripped[1:]
    bar = find_pipe(line)
    return None if bar is None else line[bar + 1 :]


def ended(text: str, rest: str) -> str:
    """Return a proposal's text with a space where the word ends with it and none follows."""
    return text if text.endswith(("/", "=")) or rest.startswith(" ") else f"{text} "


class LineCompleter(Completer):
    """Proposals for the word under the cursor.

    Args:
        context: Returns the context that the next command will run in.
    """

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context
        self._programs = ExecutableCompleter()
        self._files = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Return the proposals; none where they can't be found."""
        try:
            return self._complete(document, complete_event)
        except Exception:
            if os.environ.get("METASHELL_DEBUG"):
                raise
            return []

    def _complete(self, document: Document, event: CompleteEvent) -> list[Completion]:
        line, context = document.current_line_before_cursor, self._context()
        if context.mode is None:
            if is_comment(line):
                return []
            for_shell = shell_part(line)
            if for_shell is not None:
                return self._complete_shell(for_shell, event)
            found = complete_line(context, line)
        else:
            found = context.mode.complete(context, line)
        return [
            Completion(
                ended(item.text, document.text_after_cursor),
                item.start,
                display=escape(item.display),
                display_meta=escape(item.meta) if item.meta else None,
            )
            for item in found
        ]

    def _complete_shell(self, text: str, event: CompleteEvent) -> list[Completion]:
        """Propose a program as the first word of a pipeline's stage, files behind it."""
        stage = text.rsplit("|", 1)[-1].lstrip()
        word = stage.rsplit(None, 1)[-1] if stage and not stage[-1].isspace() else ""
        completer = self._programs if word == stage and "/" not in word else self._files
        return list(completer.get_completions(Document(word), event))
