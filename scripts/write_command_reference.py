#!/usr/bin/env python3
"""Write docs/reference/commands.md from the commands' manuals, schemas.json from their columns,
findings.md from the kinds of findings, and docs/cheat-sheet.md.

The pages are checked in and compared by a test: run this after a manual has changed.
"""

from __future__ import annotations

import csv
import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from metashell.commands import all_names, get
from metashell.commands.framework.command import GROUPS, Command
from metashell.commands.framework.options import Option
from metashell.commands.rows.schemas import schema_text, schemas_of_all
from metashell.commands.shared.cheat_sheet import LINES, NOTES, OPEN, groups
from metashell.findings.kind import FindingKind, Severity
from metashell.findings.known import all_kinds

_DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = _DOCS / "reference" / "commands.md"
CHEAT_SHEET: Final = _DOCS / "cheat-sheet.md"
SCHEMAS: Final = _DOCS / "reference" / "schemas.json"
FINDINGS: Final = _DOCS / "reference" / "findings.md"
_APPROVED: Final = _DOCS.parent / "tests" / "data" / "approved"

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


_FINDINGS_INTRO: Final = """\
# Findings

Each kind of finding that `health` and `check` can report, the worst first.
`help CODE` shows the same.
An example is what a directory of the tests gives.
This page is written by `scripts/write_command_reference.py`.
"""


def render_findings() -> str:
    """The kinds of findings, with an example of each that a test's directory has."""
    examples, parts = _examples(), [_FINDINGS_INTRO]
    for severity in Severity:
        parts.append(f"## {severity.value.capitalize()}\n")
        for kind in all_kinds().values():
            if kind.severity is severity:
                parts.append(_finding(kind, examples.get(kind.code)))
    return "\n".join(parts)


def _finding(kind: FindingKind, example: str | None) -> str:
    see = kind.see and kind.see.replace(" {subject}", "").replace("{subject}", "")
    lines = [
        f"### {kind.code}\n",
        f"{_sentence(kind.meaning)}\n",
        f"- do: {_sentence(kind.do)}",
        *([f"- beware: {_sentence(kind.avoid)}"] if kind.avoid else []),
        *([f"- see: `{see}`"] if see else []),
        f"- about: a {kind.about.value}; counts {kind.counts}",
        *([f"- part of: [{kind.part_of}](#{kind.part_of})"] if kind.part_of else []),
        *([f"- at a start: {kind.at_start}"] if kind.at_start else []),
        *([f"- rule: {kind.source.replace('; ', ', ')}"] if kind.source else []),
        *([f"- example: {_literal(example)}"] if example else []),
    ]
    return "\n".join(lines) + "\n"


def _literal(text: str) -> str:
    """Inline code, also of a text that quotes some."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _sentence(text: str) -> str:
    """A text with a capital letter, a full stop, and no sentence behind another in its line."""
    begun = text if text.startswith("`") else text[0].upper() + text[1:]
    return begun.replace(". ", "; ") + "."


def _examples() -> dict[str, str]:
    """The shortest approved finding of each code that says more than its subject."""
    found: dict[str, list[str]] = {}
    for path in sorted(_APPROVED.glob("*.json.xz")):
        groups = json.loads(lzma.decompress(path.read_bytes()))
        for text in (text for group in groups.values() for text in group.values()):
            for row in _rows(text):
                kind = all_kinds().get(row.get("code") or "")
                example = None if kind is None else _example(kind, row)
                if example and example.isprintable():
                    found.setdefault(row["code"], []).append(example)
    return {code: min(some, key=_plainness) for code, some in found.items()}


def _plainness(example: str) -> tuple[bool, int, str]:
    return ": " not in example, len(example), example


def _rows(text: str) -> Iterator[dict[str, Any]]:
    """The findings among the rows of an output."""
    if text.startswith("severity,"):
        yield from csv.DictReader(text.split("\n"))
    for line in text.split("\n"):
        if line.startswith("{") and '"severity": ' in line and line.endswith("}"):
            yield json.loads(line)


def _example(kind: FindingKind, row: dict[str, Any]) -> str | None:
    """A finding in one line; None where it says no more than its kind."""
    own = row.get("message") or row.get("explanation") or ""
    said = (
        (own if own != kind.meaning else row.get("why") or "").replace("~/", "").replace(". ", "; ")
    )
    where = row.get("subject") or row.get("file") or row.get("path") or ""
    if said and where:
        return f"{where}: {said}"
    return said or (f"{where}, {row['count']} {kind.counts}" if row.get("count") else where) or None


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
    SCHEMAS.write_text(schema_text(schemas_of_all()), encoding="utf-8", newline="\n")
    FINDINGS.write_text(render_findings(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
