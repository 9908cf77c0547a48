"""``help``: the commands by group, the kinds of findings, and the cheat sheet."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from metashell.commands import all_names, get
from metashell.commands.framework.command import GROUPS, Command, Completion, Context, Manual
from metashell.commands.framework.options import no_arguments
from metashell.commands.framework.targets import shown
from metashell.commands.shared.cheat_sheet import heading, render
from metashell.findings.kind import Severity
from metashell.findings.known import all_kinds

_CHEAT = "cheat"
_FINDINGS = "findings"


class HelpCommand(Command):
    """List the commands, or show the cheat sheet.

    Lists the commands by group. With a COMMAND, shows its manual. With cheat, shows a page of
    command lines to copy. With findings, lists the kinds of findings; with the CODE of one,
    shows what it means and what to do.
    """

    group = "shell"
    manual = Manual(
        synopsis="help [COMMAND|CODE|cheat|findings]",
        examples=(
            ("help", "list the commands"),
            ("help find", "the manual of find"),
            ("help cheat", "the cheat sheet"),
            ("help findings", "the kinds of findings, the worst first"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the table, the cheat sheet or a manual."""
        arguments = no_arguments(self, args, most=1)
        if arguments == [_CHEAT] and _CHEAT not in context.habits.aliases:
            context.out.write(render())
            return 0
        if arguments == [_FINDINGS] and _FINDINGS not in context.habits.aliases:
            context.out.write("\n".join(_kinds(context)) + "\n")
            return 0
        if arguments:
            manual = get("man")
            assert manual is not None
            return manual.run(context, arguments)
        commands = [command for name in all_names() if (command := get(name)) is not None]
        lines: list[str] = []
        for group in GROUPS:
            rows = ((c.name, c.summary) for c in commands if c.group == group)
            lines += [heading(group), *_rows(context, rows, max(map(len, all_names()))), ""]
        aliases = sorted(context.habits.aliases.items())
        if aliases:
            widest = max(len(name) for name, _ in aliases)
            lines += ["Aliases:", *_rows(context, aliases, widest), ""]
        lines.append("man COMMAND shows a manual, help cheat a cheat sheet.")
        lines.append("help findings lists what health and check can find.")
        context.out.write("\n".join(lines) + "\n")
        return 0

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose names of commands, and the cheat sheet."""
        if args:
            return []
        manual = get("man")
        assert manual is not None
        pages = ((_CHEAT, "a page of command lines"), (_FINDINGS, "the kinds of findings"))
        found = [Completion(name, -len(word), name, what) for name, what in pages]
        return [
            *manual.complete(context, args, word),
            *(one for one in found if one.text.startswith(word)),
        ]


def _kinds(context: Context) -> Iterator[str]:
    """The kinds of findings by severity."""
    kinds = all_kinds().values()
    width = max(len(kind.code) for kind in kinds)
    for severity in Severity:
        yield heading(severity.value)
        yield from _rows(
            context, ((k.code, k.meaning) for k in kinds if k.severity is severity), width
        )
        yield ""
    yield "help CODE says what to do."


def _rows(context: Context, rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Names and meanings; a terminal gets long meanings in several lines."""
    indent = " " * (width + 4)
    for name, meaning in rows:
        line = shown(context, f"  {name:<{width}}  {meaning}")
        if context.out.is_terminal:
            yield from textwrap.wrap(
                line, max(40, context.out.width), subsequent_indent=indent,
                break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
            )  # fmt: skip
        else:
            yield line


COMMAND = HelpCommand()
