"""``help``: the commands by group, and the cheat sheet."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from metashell.commands import all_names, get
from metashell.commands.framework.command import GROUPS, Command, Completion, Context, Manual
from metashell.commands.framework.completion import complete_commands
from metashell.commands.framework.options import no_arguments
from metashell.commands.framework.targets import shown
from metashell.commands.shared.cheat_sheet import heading, render

_CHEAT = "cheat"


class HelpCommand(Command):
    """List the commands by group, or show the cheat sheet or a manual."""

    group = "shell"
    name = "help"
    summary = "List the commands, or show the cheat sheet."
    manual = Manual(
        synopsis="help [COMMAND|cheat]",
        description=(
            "Lists the commands by group. With a COMMAND, shows its manual. With cheat, shows a "
            "page of command lines to copy."
        ),
        examples=(
            ("help", "list the commands"),
            ("help find", "the manual of find"),
            ("help cheat", "the cheat sheet"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the table, the cheat sheet or a manual."""
        arguments = no_arguments(self, args, most=1)
        if arguments == [_CHEAT] and _CHEAT not in context.habits.aliases:
            context.out.write(render())
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
        context.out.write("\n".join(lines) + "\n")
        return 0

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose names of commands, and the cheat sheet."""
        if args:
            return []
        found = complete_commands(word, context.habits)
        if _CHEAT.startswith(word):
            found.append(Completion(_CHEAT, -len(word), _CHEAT, "a page of command lines"))
        return found


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
