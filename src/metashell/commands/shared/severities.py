"""Severities of findings: the option ``--severity LEVEL``, and their colours in text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import write_lines
from metashell.commands.shared.colour import PLAIN, RED, YELLOW, has_colour
from metashell.errors import UsageError
from metashell.findings.kind import SEVERITIES, AtStart, Severity
from metashell.fs.escape import Coloured, escape

_COLOURS: Final[Mapping[str, str]] = {
    **dict.fromkeys(AtStart, RED),
    AtStart.CHANGES: YELLOW,
    Severity.CRITICAL: RED,
    Severity.WARNING: YELLOW,
}
"""The colours of the words that begin paragraphs; an effect without harm begins none."""


def severities_of(parsed: Parsed) -> Sequence[str]:
    """The severities that are asked for, the worst first; all without the option.

    Raises:
        UsageError: There is none of that name.
    """
    least = parsed.values.get("--severity", SEVERITIES[-1])
    if least not in SEVERITIES:
        raise UsageError(f"--severity {least}: not one of {', '.join(SEVERITIES)}")
    return SEVERITIES[: SEVERITIES.index(least) + 1]


def write_paragraphs(context: Context, lines: Iterable[str], prefix: str = "") -> None:
    """Write the lines of paragraphs; on a terminal the word that begins one has a colour.

    Args:
        context: Where to.
        lines: See `metashell.commands.health.paragraphs.Paragraph.lines`.
        prefix: The text in front of each line.
    """
    if not has_colour(context):
        write_lines(context, (escape(prefix + line) for line in lines))
        return
    for line in lines:
        word, _, _ = line.partition(" ")
        colour, rest = _COLOURS.get(word, ""), escape(line[len(word) :])
        shown = f"{colour}{word}{PLAIN}{rest}" if colour else escape(line)
        context.write(Coloured(f"{escape(prefix)}{shown}\n"))
