"""``man``: a command's manual, or the page of a kind of finding, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from metashell.commands import get
from metashell.commands.framework.aliases import expand_aliases
from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.completion import complete_commands
from metashell.commands.framework.options import Option, no_arguments
from metashell.commands.framework.targets import shown
from metashell.errors import MetashellError, UsageError
from metashell.findings.kind import FindingKind
from metashell.findings.known import all_kinds
from metashell.spelling import did_you_mean, near_names

_WIDEST = 100
_NARROWEST = 40
_INDENT = "    "
_EXIT_STATUS = (
    ("0", "success"),
    ("1", "something is missing or failed; the rest was done"),
    ("2", "wrong arguments"),
    ("3", "the source can't be read"),
    ("130", "interrupted"),
)


class ManCommand(Command):
    """Show the manual of a command, or what a finding means.

    Shows what COMMAND does, its options, and examples to try. `metashell man COMMAND` needs no
    source. CODE is the code of a finding: man shows what it means and what to do. `help
    findings` lists them.
    """

    group = "shell"
    manual = Manual(
        synopsis="man COMMAND|CODE",
        examples=(
            ("man find", "the manual of find"),
            ("man under-min-isr", "what this finding means"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the page."""
        arguments = no_arguments(self, args, most=1)
        if not arguments:
            raise UsageError("which command?", hint="help lists the commands")
        name = arguments[0]
        command, stands_for = get(name), context.habits.aliases.get(name)
        if command is None and stands_for is None:
            kind = all_kinds().get(name)
            if kind is None:
                raise MetashellError(f"{name}: unknown command", hint=_hint(name))
            context.out.write(shown_page(context, render_kind(kind, context.out.width)))
            return 0
        page = "" if command is None else render_manual(command, context.out.width)
        if stands_for is not None:
            page += _alias_section(context, name, stands_for, has_page=command is not None)
        context.out.write(shown_page(context, page))
        return 0

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose names of commands, and codes of findings behind their first letters."""
        if args:
            return []
        kinds = all_kinds().values() if word else ()
        codes = (kind for kind in kinds if kind.code.startswith(word))
        found = [Completion(kind.code, -len(word), kind.code, kind.meaning) for kind in codes]
        return complete_commands(word, context.habits) + found


def _alias_section(context: Context, name: str, stands_for: str, *, has_page: bool) -> str:
    """The text about an alias, behind the page of the command that it hides if there is one."""
    if has_page:
        return f"\nALIAS\n{_INDENT}{name} stands for: {stands_for}\n"
    first = expand_aliases(context.habits, [name])[0]
    return f"{name} stands for: {stands_for}\nman {first} shows the command.\n"


def _hint(name: str) -> str:
    """The code that may be meant, else where codes and commands are listed."""
    listed = "help lists the commands, help findings the findings"
    return did_you_mean(near_names(name, all_kinds(), 1)) or listed


def render_kind(kind: FindingKind, width: int = 80) -> str:
    """The meaning of a kind of finding and its advice, as plain text."""
    width = max(_NARROWEST, min(width, _WIDEST))
    pairs = (
        ("severity", kind.severity.value),
        ("about", f"{kind.about.value}; counts {kind.counts}"),
        ("meaning", kind.meaning),
        ("do", kind.do),
        ("beware", kind.avoid),
        ("see", kind.see and kind.see.replace(" {subject}", "").replace("{subject}", "")),
        ("part of", kind.part_of),
        ("at a start", kind.at_start),
        ("reads", kind.needs.value),
        ("rule", kind.source),
    )
    sections = [(label, text) for label, text in pairs if text is not None]
    return "\n".join([kind.code, *_definitions(sections, width)]) + "\n"


def render_manual(command: Command, width: int = 80) -> str:
    """A command's manual as plain text of at most `width` columns where words allow."""
    width = max(_NARROWEST, min(width, _WIDEST))
    manual = command.manual
    lines = ["NAME", f"{_INDENT}{command.name} - {command.summary.rstrip('.')}", "", "SYNOPSIS"]
    lines += _wrapped(manual.synopsis, width, hanging=_INDENT)
    lines += ["", "DESCRIPTION"]
    for i, paragraph in enumerate(manual.description.split("\n\n")):
        lines += [""] * (i > 0) + _wrapped(paragraph, width)
    if manual.options:
        lines += ["", "OPTIONS"]
        lines += _definitions(((_usage(option), option.help) for option in manual.options), width)
    if manual.columns:
        lines += ["", "COLUMNS"]
        lines += _definitions(manual.columns, width)
    for asked_by, columns in manual.other_columns:
        lines += ["", f"COLUMNS WITH {asked_by}", *_definitions(columns, width)]
    if manual.examples:
        lines += ["", "EXAMPLES"]
        for example, meaning in manual.examples:
            lines += [f"{_INDENT}{example}", *_wrapped(meaning, width, indent=_INDENT * 2)]
    lines += ["", "EXIT STATUS"]
    lines += _definitions(_EXIT_STATUS, width)
    return "\n".join(lines) + "\n"


def shown_page(context: Context, page: str) -> str:
    """A page as it goes to the output, line by line."""
    return "".join(shown(context, line) + "\n" for line in page.splitlines())


def _usage(option: Option) -> str:
    flags = ", ".join(option.flags)
    return flags if option.metavar is None else f"{flags} {option.metavar}"


def _definitions(pairs: Iterable[tuple[str, str]], width: int) -> list[str]:
    pairs = list(pairs)
    column = max(len(term) for term, _ in pairs) + 2
    lines = []
    for term, meaning in pairs:
        indent = _INDENT + " " * column
        text = _wrapped(meaning, width, indent=indent)
        lines.append(f"{_INDENT}{term:<{column}}{text[0].removeprefix(indent)}")
        lines += text[1:]
    return lines


def _wrapped(text: str, width: int, *, indent: str = _INDENT, hanging: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]


COMMAND = ManCommand()
