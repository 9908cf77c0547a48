"""Draws the prompt and the toolbar as prompt_toolkit's formatted text."""

from __future__ import annotations

from collections.abc import Mapping

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from metashell.commands.shared.status import SourceStatus, items
from metashell.fs.escape import escape
from metashell.repl.status import PENDING
from metashell.themes import DEFAULT, THEMES

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
