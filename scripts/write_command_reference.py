#!/usr/bin/env python3
"""Write docs/reference/commands.md from the commands' manuals, and docs/cheat-sheet.md.

The pages are checked in and compared by a test: run this after a manual has changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from metashell.commands import all_names, get
from metashell.commands.framework.command import GROUPS, Command
from metashell.commands.framework.option import Option
from metashell.commands.shared.cheat_sheet import LINES, NOTES, OPEN, groups

_DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = _DOCS / "reference" / "commands.md"
CHEAT_SHEET: Final = _DOCS / "cheat-sheet.md"

_INTRO: Final = """\
# Commands

What each command does, as `man COMMAND` shows it.
Every example works in the shell that `metashell demo` opens.
A path is written [as everywhere](paths.md#how-paths-are-written).
[Exit statuses](errors.md#exit-status) are those of the whole program.
Each command answers `--help` with its manual.
This page is written by `scripts/write_command_reference.py`.
"""


def render() -> str:
    """The page."""
    commands = [command for name in all_names() if (command := get(name)) is not None]
    rows = [
        f"| [`{c.name}`](#{c.name}) | {group} | {c.summary} |"
        for group in GROUPS
        for c in commands
        if c.group == group
    ]
    table = "\n".join(["| command | group | what it does |", "| --- | --- | --- |", *rows])
    return "\n".join([_INTRO, table, *map(_section, commands)]) + "\n"


def render_cheat_sheet() -> str:
    """The cheat sheet, as `help cheat` shows it."""
    parts = ["# Cheat sheet\n", "`metashell help cheat` shows this page.\n"]
    for group in groups():
        what = "system's shell" if group == OPEN else "command"
        parts += [f"## {group.capitalize()}\n", f"| {what} | what it does |", "| --- | --- |"]
        parts += [f"| {_code(x.line)} | {_cell(x.meaning)} |" for x in LINES if x.group == group]
        parts.append("")
    return "\n".join([*parts, *(note.replace(". ", ".\n") for note in NOTES)]) + "\n"


def _section(command: Command) -> str:
    manual = command.manual
    parts = [f"\n## {command.name}\n", f"```text\n{manual.synopsis}\n```\n"]
    if command.shell_only:
        parts.append("Only in the shell, or in a script of several commands.\n")
    parts.append("\n\n".join(_prose(text) for text in manual.description.split("\n\n")) + "\n")
    if manual.options:
        parts += ["| option | meaning |", "| --- | --- |"]
        parts += [f"| {_flags(option)} | {_cell(option.help)} |" for option in manual.options]
        parts.append("")
    if manual.columns:
        parts += ["| column | meaning |", "| --- | --- |"]
        parts += [f"| {_code(name)} | {_cell(what)} |" for name, what in manual.columns]
        parts.append("")
    for asked_by, columns in manual.other_columns:
        parts += [f"| column with {_code(asked_by)} | meaning |", "| --- | --- |"]
        parts += [f"| {_code(name)} | {_cell(what)} |" for name, what in columns]
        parts.append("")
    parts += ["| example | what it shows |", "| --- | --- |"]
    parts += [f"| {_code(line)} | {_cell(what)} |" for line, what in manual.examples]
    return "\n".join(parts)


def _flags(option: Option) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    return ", ".join(_code(f"{flag}{value}") for flag in option.flags)


def _prose(text: str) -> str:
    """A paragraph, a sentence a line; what Markdown would take for markup is escaped."""
    escaped = "".join(f"\\{c}" if c in "\\*_<>[]|`" else c for c in text)
    return escaped.replace(". ", ".\n")


def _cell(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\*_<>[]|`" else c for c in text)


def _code(text: str) -> str:
    """Inline code within a table, where a bar would end the cell."""
    return "`" + text.replace("|", "\\|") + "`"


def main() -> int:
    """Write the pages; returns the exit status."""
    PAGE.write_text(render(), encoding="utf-8", newline="\n")
    CHEAT_SHEET.write_text(render_cheat_sheet(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
