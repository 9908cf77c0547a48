"""Lines: what runs, and how it fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metashell.commands import all_names, get
from metashell.commands.framework.command import GROUPS
from metashell.commands.framework.run import run_words
from metashell.commands.shared.cheat_sheet import LINES, OPEN, groups
from support.tree import Spec, session

SPEC: Spec = {"a": {"x": "1", "y\x1b": "2"}, "b": "text"}


@pytest.mark.parametrize("line", ["", "   ", "# ls /nothing", " # x 'y"])
def test_nothing_to_do(line: str) -> None:
    """Empty lines and comments succeed."""
    assert "" == session(SPEC).output(line)


@pytest.mark.parametrize(
    ("line", "code", "warnings"),
    [
        ("tre", 2, ["tre: unknown command", "  hint: did you mean tree?"]),
        ("'a\x1bq'", 2, ["a\\x1bq: unknown command", "  hint: help lists the commands"]),
        ("cat 'x", 2, ["the quote ' is not closed: 'x"]),
        (
            "ls -Q",
            2,
            ["ls: unknown option -Q", "  hint: usage: ls [-1dlrRt] [-o FORMAT] [PATH...]"],
        ),
        ("ls /z", 1, ["ls: /z: No such file or directory"]),
        ("cat /a", 1, ["cat: /a: Is a directory"]),
        ("cat /b/c", 1, ["cat: /b/c: Not a directory"]),
        ("cat", 2, ["cat: which path?", "  hint: usage: cat PATH..."]),
        ("cd /b", 1, ["cd: /b: Not a directory"]),
        ("ls '*'", 1, ["ls: *: No such file or directory"]),
        ("ls ''", 1, ["ls: '': No such file or directory"]),
        ("cat '/\x1b'", 1, ["cat: /\\x1b: No such file or directory"]),
        (
            "man nothing",
            1,
            [
                "man: nothing: unknown command",
                "  hint: help lists the commands, help findings the findings",
            ],
        ),
        ("tree -L 0", 2, ["tree: -L 0: must be a whole number above 0"]),
        ("tree -L", 2, ["tree: -L needs a value"]),
    ],
)
def test_errors_are_lines_with_a_code(line: str, code: int, warnings: list[str]) -> None:
    """Each error names the command and what was typed."""
    shell = session(SPEC)
    assert (code, warnings, "") == (shell.run(line), shell.warnings, shell.out.text)


@pytest.mark.parametrize("line", ["cd /a", "exit", "quit", "history"])
def test_commands_of_the_shell_are_refused_elsewhere(line: str) -> None:
    """In one-shot they are a usage error."""
    shell = session(SPEC, interactive=False)
    assert 2 == shell.run(line)
    assert "only in the shell" in shell.warnings[0]


def test_a_closed_pipe_and_an_interrupt_pass() -> None:
    """What they mean is the front end's."""
    shell = session(SPEC, cancelled=lambda: True)
    with pytest.raises(KeyboardInterrupt):
        shell.run("find /")

    def broken(text: str) -> None:
        raise BrokenPipeError

    shell = session(SPEC)
    shell.out.write = broken  # type: ignore[method-assign]
    with pytest.raises(BrokenPipeError):
        shell.run("ls /")


def test_words_of_a_command_line_are_globbed() -> None:
    """The system's shell took the quotes away: wildcards count."""
    shell = session(SPEC)
    assert 0 == run_words(shell.context, ["cat", "/a/*"])
    assert "1\n2\n" == shell.out.text


@pytest.mark.parametrize("name", all_names())
def test_every_command_has_a_manual(name: str) -> None:
    """It has all its sections, fits the width, and --help shows the same."""
    shell = session(SPEC, width=60)
    page = shell.output(f"man {name}")
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS"):
        assert f"{section}\n" in page
    assert page == shell.output(f"{name} --help") == shell.output(f"help {name}")
    command = get(name)
    assert command is not None
    assert name == command.name
    assert all(flag in page for option in command.manual.options for flag in option.flags)


def test_help_lists_every_command_in_its_group() -> None:
    """One line each in a pipe, under the group that the command declares."""
    listed: dict[str, str] = {}
    for line in session(SPEC).output("help").splitlines():
        if line.endswith(":"):
            group = line[0].lower() + line[1:-1]
        elif line.startswith("  "):
            listed[line.split()[0]] = group
    commands = [command for name in all_names() if (command := get(name)) is not None]
    assert {command.name: command.group for command in commands} == listed
    assert list(GROUPS) == [*dict.fromkeys(listed.values())]


def test_help_fits_a_terminal() -> None:
    """Long summaries go on in a line of their own, below the summary."""
    lines = session(SPEC, terminal=True, width=60).output("help").splitlines()
    assert [] == [line for line in lines if len(line) > 60]
    assert all(name in " ".join(lines) for name in all_names())


def test_cheat_sheet_has_the_groups_of_the_commands() -> None:
    """`help cheat` shows every line within 80 columns, each where its command belongs."""
    text = session(SPEC).output("help cheat")
    assert [] == [line for line in text.splitlines() if len(line) > 80]
    assert all(line.line in text and line.meaning in text for line in LINES)
    for line in LINES:
        command = get(line.line.split()[0])
        assert line.group == (OPEN if command is None else command.group), line
    assert [OPEN, *GROUPS] == list(groups())


def test_one_command_imports_one_module() -> None:
    """The registry loads what is asked for, and nothing heavy."""
    code = (
        "import sys; from metashell.commands import get; get('ls'); "
        "names = {n for n in sys.modules if n.startswith('metashell.commands.')}; "
        "assert not {f'metashell.commands.{n}' for n in ('cat', 'find', 'tree')} & names; "
        "assert not {'numpy', 'pyarrow', 'wcwidth', 'difflib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
