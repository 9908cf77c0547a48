"""Completes a line: metashell's commands by their rules, the system shell's by file names.

Completion runs in a thread of its own. An error in it costs the proposals, never the prompt.
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
from metashell.commands.framework.completion import complete_line
from metashell.commands.framework.statement import is_comment, last_statement
from metashell.fs.escape import escape


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
        context = self._context()
        if context.mode is None:
            line = document.text_before_cursor
            if is_comment(line):
                return []
            if line.lstrip().startswith("!"):
                return self._complete_shell(line.lstrip()[1:], event)
            begin, waits = last_statement(line)
            if waits == "|":
                return self._complete_shell(line[begin:], event)
            if waits == ">":
                return list(self._files.get_completions(Document(line[begin:].lstrip()), event))
            found = complete_line(context, line[begin:])
        else:
            found = context.mode.complete(context, document.current_line_before_cursor)
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
