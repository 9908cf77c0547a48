"""Draws the prompt and the toolbar as prompt_toolkit's formatted text.

The bottom toolbar, kept up to date without making anyone wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from metashell.commands.shared.status import SourceStatus, items
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.themes import DEFAULT, THEMES

STATUS_THREAD = "metashell-status"
"""Name of the thread that computes."""
PENDING = "…"
"""Shown while the first status is computed."""


class StatusWatcher:
    """Computes the status in a thread and keeps the newest.

    Args:
        compute: May be slow or fail.
        changed: Called from the thread when there is something new to show.
        afterwards: Called from the thread, once, when the first status is known.
    """

    def __init__(
        self,
        compute: Callable[[], SourceStatus],
        changed: Callable[[], None],
        afterwards: Callable[[], None] | None = None,
    ) -> None:
        self._compute = compute
        self._changed = changed
        self._afterwards = afterwards
        self._lock = threading.Lock()
        self._running = False
        self.latest: SourceStatus | None = None
        """The newest status, or None before the first is known."""

    def refresh(self) -> None:
        """Begin to compute anew, unless that is going on."""
        with self._lock:
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name=STATUS_THREAD, daemon=True).start()

    def _run(self) -> None:
        try:
            status = self._compute()
        except MetashellError as error:
            status = SourceStatus(notes=(error.message,))
        except Exception as error:  # a toolbar must not end the shell
            status = SourceStatus(notes=(f"no status: {type(error).__name__}",))
        with self._lock:
            self._running = False
            is_new = status != self.latest
            self.latest = status
        if is_new:
            self._changed()
        afterwards, self._afterwards = self._afterwards, None
        if afterwards is not None:
            # An error here comes again in the command that needs the value, and is told there.
            with suppress(Exception):
                afterwards()


ELLIPSIS = "…"


_CLASSES = {
    "suggestion": ("auto-suggestion", ""),
    # The toolbar is reversed unless told otherwise.
    "toolbar.text": ("bottom-toolbar", "noreverse "),
    "toolbar.note": ("bottom-toolbar.note", ""),
}
"""Class of each role whose name is not its own, and what goes before its style."""


def style(theme: Mapping[str, str]) -> Style:
    """The style sheet of a theme; a role that it lacks looks as in the default one."""
    rules = {"bottom-toolbar.text": "", "bottom-toolbar.fact": ""}
    for role, look in {**THEMES[DEFAULT], **theme}.items():
        name, before = _CLASSES.get(role, (role, ""))
        rules[name] = before + look
    return Style.from_dict(rules)


def shorten_path(path: str, width: int) -> str:
    """Return a path in at most `width` columns, leading components replaced by an ellipsis."""
    if get_cwidth(path) <= width:
        return path
    parts = path.split("/")
    for index in range(2, len(parts)):
        short = f"{ELLIPSIS}/{'/'.join(parts[index:])}"
        if get_cwidth(short) <= width:
            return short
    tail = parts[-1][-width:]
    while tail and get_cwidth(tail) > width - 2:
        tail = tail[1:]
    return f"{ELLIPSIS}/{tail}"


def prompt(source_name: str, cwd: str, *, width: int, failed: bool) -> StyleAndTextTuples:
    """Return the prompt: program, source and path; its mark is red after a command that failed."""
    source = escape(source_name)
    taken = len("metashell :> ") + get_cwidth(source)
    # Half of the row stays for the line.
    path = shorten_path(escape(cwd), max(12, width // 2 - taken))
    return [
        ("class:prompt.program", "metashell"),
        ("", " "),
        ("class:prompt.source", source),
        ("", ":"),
        ("class:prompt.path", path),
        ("class:prompt.failed" if failed else "", "> "),
    ]


def toolbar(status: SourceStatus | None, *, show_secrets: bool) -> StyleAndTextTuples:
    """Return the bottom toolbar; None stands for a status not known yet."""
    if status is None:
        shown = [("fact", PENDING), *items(SourceStatus(), show_secrets=show_secrets)]
    else:
        shown = items(status, show_secrets=show_secrets)
    fragments: StyleAndTextTuples = []
    for kind, text in shown:
        fragments.append(("", " · " if fragments else " "))
        fragments.append((f"class:bottom-toolbar.{kind}", escape(text)))
    return fragments
