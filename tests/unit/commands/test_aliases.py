"""Aliases and default options: what is run for what is typed."""

from __future__ import annotations

import pytest

from metashell.commands.framework.aliases import Habits, default_words, expand_aliases
from metashell.commands.framework.command_line import Word, split
from metashell.commands.framework.completion import complete_line
from metashell.errors import UsageError
from support.tree import Session, Spec, session

SPEC: Spec = {"image": {"topics": {"a": {"0": ""}, "b b": {}}}, "local": {}}
HABITS = Habits(
    aliases={
        "ls": "ls -1",
        "tops": "ls /image/topics",
        "all": "tops /local",
        "here": "there",
        "there": "here",
        "quoted": "ls '/image/topics/b b'",
        "wild": "ls -d /image/topics/*",
        "piped": "ls | wc",
        "open": "ls '",
    },
    options={"tree": "-L 1"},
)


@pytest.fixture
def shell() -> Session:
    """A session that has the habits."""
    made = session(SPEC)
    made.context.habits = HABITS
    return made


@pytest.mark.parametrize(
    ("typed", "run"),
    [
        ("tops", "ls -1 /image/topics"),
        ("ls -d /image", "ls -1 -d /image"),
        ("all /image", "ls -1 /image/topics /local /image"),
        ("here", "here"),
        (r"\ls", "ls"),
        ("'tops'", "tops"),
        ("cat tops", "cat tops"),
    ],
)
def test_expansion(typed: str, run: str) -> None:
    """The first word alone, each alias once, and not where it is quoted."""
    assert run.split() == expand_aliases(HABITS, split(typed))


def test_words_of_an_alias_keep_their_quotes() -> None:
    """A wildcard of an alias is one, a quoted one is none."""
    wild, quoted = (expand_aliases(HABITS, [name])[-1] for name in ("wild", "quoted"))
    assert isinstance(wild, Word)
    assert wild.wild
    assert isinstance(quoted, Word)
    assert (False, "/image/topics/b b") == (quoted.wild, quoted)


@pytest.mark.parametrize(("name", "message"), [("piped", "one command"), ("open", "not closed")])
def test_what_is_no_command(name: str, message: str) -> None:
    """A pipe belongs behind the alias, not into it."""
    with pytest.raises(UsageError, match=message):
        expand_aliases(HABITS, [name])


def test_default_words() -> None:
    """For the command that they are for, unless its name is quoted."""
    assert ["-L", "1"] == default_words(HABITS, "tree", "tree")
    assert [] == default_words(HABITS, "tree", split(r"\tree")[0])
    assert [] == default_words(HABITS, "ls", "ls")


def test_commands_run_with_habits(shell: Session) -> None:
    """Arguments go behind what an alias stands for; default options before them."""
    assert ["a", "b b"] == shell.output("tops").splitlines()
    assert shell.output(r"\tree -L 1") == shell.output("tree") != shell.output(r"\tree")
    assert shell.output("tree -L 2") == shell.output(r"\tree -L 2")
    assert "SYNOPSIS" in shell.output("tree --help")


def test_an_alias_that_leads_nowhere(shell: Session) -> None:
    """It is told, and what was probably meant."""
    assert [2, 2, 2] == [shell.run(line) for line in ("here", "topz", "piped")]
    assert "here: unknown command" in shell.warnings
    assert "  hint: did you mean tops?" in shell.warnings


def test_wrong_default_options(shell: Session) -> None:
    """Whoever typed nothing wrong is told where the words came from."""
    shell.context.habits = Habits(options={"ls": "--nonsense"})
    assert 2 == shell.run("ls")
    assert "  hint: the configuration file adds `--nonsense` to ls" == shell.warnings[-1]


def test_completion_knows_aliases(shell: Session) -> None:
    """Their names, and behind them what their command proposes."""
    proposed = [c.text for c in complete_line(shell.context, "a")]
    assert sorted(proposed) == proposed
    assert {"all", "at"} <= {*proposed}
    assert ["-1"] == [c.text for c in complete_line(shell.context, "tops -1")]
    assert ["image/"] == [c.text for c in complete_line(shell.context, "tops /i")]
    assert [] == complete_line(shell.context, "open /i")


def test_help_and_manuals_tell_of_aliases(shell: Session) -> None:
    """What each stands for."""
    assert "tops    ls /image/topics\n" in shell.output("help")
    assert shell.output("man tops").startswith("tops stands for: ls /image/topics\n")
    assert shell.output("man ls").startswith("NAME\n")
    assert shell.output("man ls").endswith("ls stands for: ls -1\n")
