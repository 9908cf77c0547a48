"""``help``: the commands in one table."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands import all_names, get
from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.options import no_arguments
from metashell.commands.framework.targets import shown


class HelpCommand(Command):
    """List the commands, or show one's manual."""

    name = "help"
    summary = "List the commands."
    manual = Manual(
        synopsis="help [COMMAND]",
        description="Lists the commands, each in a line. With a COMMAND, shows its manual.",
        examples=(("help", "list the commands"), ("help find", "the manual of find")),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the table, or a manual."""
        arguments = no_arguments(self, args, most=1)
        if arguments:
            manual = get("man")
            assert manual is not None
            return manual.run(context, arguments)
        commands = [command for name in all_names() if (command := get(name)) is not None]
        widest = max(len(command.name) for command in commands)
        lines = [f"  {command.name:<{widest}}  {command.summary}" for command in commands]
        aliases = context.habits.aliases
        if aliases:
            widest = max(map(len, aliases))
            lines += ["", "Aliases:"]
            lines += [shown(context, f"  {n:<{widest}}  {aliases[n]}") for n in sorted(aliases)]
        lines.append("")
        lines.append("man COMMAND shows a command's options and examples.")
        context.out.write("\n".join(lines) + "\n")
        return 0

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose names of commands."""
        from metashell.commands.framework.completion import complete_commands

        return [] if args else complete_commands(word, context.habits)


COMMAND = HelpCommand()
