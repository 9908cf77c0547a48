"""The shell on a real terminal: what a person types and sees."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support import tiny_shell
from support.pty import CTRL_C, CTRL_D, CTRL_R, ENTER, PASTE_BEGIN, PASTE_END, RIGHT, TAB, Terminal

pytestmark = pytest.mark.pty

PROMPT = "metashell tiny:/> "
TOOLBAR = "offset 264 · epoch 3 · 2026-09-21 14:14:09Z · 4.4-IV2"

Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A way to start shells that share one home; each is ended with the test."""
    with ExitStack() as stack:

        def begin(*, rows: int = 24, columns: int = 80, **env: str) -> Terminal:
            terminal = stack.enter_context(
                Terminal(
                    [sys.executable, tiny_shell.__file__],
                    env={"HOME": str(tmp_path), "PAGER": "less", **env},
                    rows=rows,
                    columns=columns,
                    cwd=tmp_path,
                )
            )
            terminal.read_prompt(PROMPT)
            return terminal

        yield begin


def read_answer(terminal: Terminal) -> None:
    """See that the shell goes on: the next command is run."""
    terminal.enter("pwd")
    terminal.read_until(re.compile(r"^/$", re.MULTILINE))


def test_prompt_and_toolbar(start: Start) -> None:
    """The prompt shows source and path, the toolbar the state, both without control characters."""
    terminal = start()
    terminal.read_until(TOOLBAR)
    terminal.read_until(r"torn tail\x1b[31m")
    terminal.enter("cd /image/topics")
    terminal.read_until("metashell tiny:/image/topics>")


def test_completion_of_commands_options_and_paths(start: Start) -> None:
    """Tab completes what is certain and shows a menu of what is not."""
    terminal = start()
    terminal.send("tre" + TAB)
    terminal.read_until(PROMPT + "tree")
    terminal.send("-" + TAB)
    terminal.read_until(re.compile(r"-L\s+--json"))
    terminal.send(CTRL_C)
    terminal.read_prompt(PROMPT)
    for typed, completed in (("/im", "/image/"), ("t", "topics/"), ("b", "byName/"), ("b", "ba")):
        terminal.send(("ls " if typed == "/im" else "") + typed + TAB)
        terminal.read_until(re.compile(f"> ls .*{completed}$", re.MULTILINE))
    terminal.send(TAB)
    terminal.read_until(re.compile(r"bar/\s+baz/"))


def test_completion_in_a_million_children(start: Start) -> None:
    """A word is completed among a million names."""
    terminal = start()
    terminal.send("cat /many/n-099999" + TAB)
    terminal.read_until(re.compile("n-0999990.*n-0999999", re.DOTALL))
    terminal.send("7" + ENTER)
    terminal.read_until("value 0999997")


def test_completion_menu_is_escaped(start: Start) -> None:
    """A hostile name is neither obeyed in the menu nor in the line."""
    terminal = start()
    terminal.send("ls /hostile/" + TAB)
    terminal.read_until(re.compile("ls /hostile/.+"))
    assert b"\x1b[31mred" not in terminal.raw
    assert "\u202e".encode() not in terminal.raw


def test_output_is_escaped(start: Start) -> None:
    """Neither names, nor values, nor diagnostics steer the terminal."""
    terminal = start()
    terminal.enter("ls /hostile")
    terminal.read_until(r"\x1b[31mred\u202eder")
    terminal.read_prompt(PROMPT)
    terminal.enter("cat /hostile/*")
    terminal.read_until(r"a\x1b]0;title\x07b")
    terminal.read_prompt(PROMPT)
    terminal.send(f"cat {PASTE_BEGIN}/no\u202epe\x07{PASTE_END}{ENTER}")
    terminal.read_until(re.compile(r"cat: /no\\u202epe\S*: No such file"))
    assert "\u202e".encode() not in terminal.raw


def test_interrupt_at_the_prompt(start: Start) -> None:
    """^C gives up the line and a new prompt comes."""
    terminal = start()
    terminal.send("cat /nope" + CTRL_C)
    terminal.read_prompt(PROMPT)
    read_answer(terminal)
    assert "No such file" not in terminal.text


def test_interrupt_of_a_command(start: Start) -> None:
    """^C ends a command that would never end, and the shell goes on."""
    terminal = start()
    terminal.enter("cat /never")
    terminal.read_until(tiny_shell.WORKING)
    terminal.send(CTRL_C)
    terminal.read_prompt(PROMPT)
    terminal.enter("cat /image/features/metadataVersion")
    terminal.read_until(re.compile("^4.4-IV2$", re.MULTILINE))


def test_interrupt_of_a_pipe(start: Start) -> None:
    """^C ends both sides of a pipe, and the shell goes on."""
    terminal = start()
    terminal.enter("find /endless | (echo reading; cat >/dev/null)")
    terminal.read_until("\nreading")
    terminal.send(CTRL_C)
    terminal.read_prompt(PROMPT)
    read_answer(terminal)


def test_interrupt_of_the_system_shell(start: Start) -> None:
    """^C is for the program in front."""
    terminal = start()
    terminal.enter("!echo sleeping; exec sleep 1000")
    terminal.read_until("\nsleeping")
    terminal.send(CTRL_C)
    terminal.read_prompt(PROMPT)


def test_end_of_input(start: Start) -> None:
    """^D leaves with 0."""
    terminal = start()
    terminal.send(CTRL_D)
    assert 0 == terminal.read_to_end()


def test_exit(start: Start) -> None:
    """So does exit."""
    terminal = start()
    terminal.enter("exit")
    assert 0 == terminal.read_to_end()


def test_exit_with_a_status(start: Start) -> None:
    """It is the program's."""
    terminal = start()
    terminal.enter("exit 3")
    assert 3 == terminal.read_to_end()


def test_resize_of_a_full_screen(start: Start) -> None:
    """The prompt stays on the screen, and the toolbar below it, when it gets smaller."""
    terminal = start(rows=40, PAGER="")
    terminal.enter("ls -1 /hundred")
    terminal.read_until("n-0000099")
    terminal.read_prompt(PROMPT)
    terminal.resize(10, 100)
    terminal.read_while(lambda: "torn tail" not in terminal.lines[-1], "the toolbar at the bottom")
    terminal.read_prompt(PROMPT)
    terminal.resize(30, 120)
    terminal.read_while(lambda: "torn tail" not in terminal.lines[-1], "the toolbar at the bottom")
    read_answer(terminal)


def test_resize(start: Start) -> None:
    """The line is drawn for the new size, and columns fill it."""
    terminal = start(rows=60, columns=40)
    terminal.enter("ls /hundred")
    terminal.read_until(re.compile(r"^n-0000000( +n-00000\d\d){2}$", re.MULTILINE))
    terminal.read_prompt(PROMPT)
    terminal.resize(30, 150)
    terminal.read_until("torn tail")
    terminal.enter("ls /hundred")
    terminal.read_until(re.compile(r"^n-0000000( +n-00000\d\d){9,}$", re.MULTILINE))


def test_long_output_is_paged(start: Start) -> None:
    """Output longer than the screen waits in the pager, which is left by q."""
    terminal = start()
    terminal.enter("find /hundred")
    terminal.read_until(re.compile("^:$", re.MULTILINE))
    assert "n-0000000" in terminal.text
    assert "n-0000099" not in terminal.text
    terminal.send("G")
    terminal.read_until("n-0000099")
    terminal.send("q")
    terminal.read_prompt(PROMPT)


def test_endless_output_is_paged(start: Start) -> None:
    """A command without end is seen at once, and ends with the pager, without a word."""
    terminal = start()
    terminal.enter("find /endless")
    terminal.read_until(re.compile("^:$", re.MULTILINE))
    terminal.send("q")
    terminal.read_prompt(PROMPT)
    assert "Broken" not in terminal.text
    assert "error" not in terminal.text


def test_interrupt_in_the_pager(start: Start, tmp_path: Path) -> None:
    """^C ends the command, not the pager, and the shell waits for the pager."""
    pager = tmp_path / "pager"
    pager.write_text(
        "trap '' INT; head -1; echo waiting; cat >/dev/null; echo ended; read key </dev/tty"
    )
    terminal = start(PAGER=f"sh {pager}")
    terminal.enter("find /endless")
    terminal.read_until("\nwaiting")
    terminal.send(CTRL_C)
    terminal.read_until("ended")
    terminal.send(ENTER)
    terminal.read_prompt(PROMPT)
    read_answer(terminal)


def test_without_a_pager(start: Start) -> None:
    """An empty PAGER means that everything scrolls by."""
    terminal = start(PAGER="")
    terminal.enter("find /hundred")
    terminal.read_until("/hundred/n-0000099")
    terminal.read_prompt(PROMPT)


def test_suggestion_from_the_history(start: Start) -> None:
    """A line of an earlier session is offered as one types, and taken with the right arrow."""
    first = start()
    first.enter("cat /image/features/metadataVersion")
    first.read_until(re.compile("^4.4-IV2$", re.MULTILINE))
    first.read_prompt(PROMPT)
    first.send(CTRL_D)
    first.read_to_end()
    second = start()
    second.send("cat /im")
    second.read_until("cat /image/features/metadataVersion")
    second.send(RIGHT + ENTER)
    second.read_until(re.compile("^4.4-IV2$", re.MULTILINE))


def test_reverse_search(start: Start) -> None:
    """^R searches the history."""
    terminal = start()
    terminal.enter("cat /image/features/metadataVersion")
    terminal.read_until(re.compile("^4.4-IV2$", re.MULTILINE))
    terminal.read_prompt(PROMPT)
    terminal.send(CTRL_R + "feat")
    terminal.read_until(re.compile("reverse-i-search.*metadataVersion"))


def test_colours(start: Start) -> None:
    """Lines and diagnostics are coloured."""
    terminal = start()
    terminal.enter("cat /nope")
    terminal.read_until("No such file")
    assert b"\x1b[31mcat: /nope" in terminal.raw


def test_no_color(start: Start) -> None:
    """NO_COLOR turns every colour off."""
    terminal = start(NO_COLOR="1")
    terminal.enter("cat /nope 'quoted' | cat")
    terminal.read_until("No such file")
    terminal.read_prompt(PROMPT)
    colours = re.findall(rb"\x1b\[[0-9;]*m", terminal.raw)
    assert not [code for code in colours if re.search(rb"[34589]\d", code) and code != b"\x1b[39m"]


def test_dumb_terminal(start: Start) -> None:
    """A terminal without abilities gets a prompt and plain text, and no escape sequence."""
    terminal = start(TERM="dumb")
    terminal.enter("ls /hundred")
    terminal.read_until("n-0000099")
    terminal.read_prompt(PROMPT)
    terminal.send("cat")
    terminal.read_until("> cat")
    terminal.send(CTRL_C)
    terminal.read_prompt(PROMPT)
    terminal.enter("cat /nope")
    terminal.read_until("No such file")
    terminal.read_prompt(PROMPT)
    terminal.send(CTRL_D)
    assert 0 == terminal.read_to_end()
    assert b"\x1b" not in terminal.raw
