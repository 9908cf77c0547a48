"""The real program: on a pseudo-terminal, and in tmux where that is there."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from metashell.errors import ExitCode
from support.fake_server import FakeQuorumServer
from support.pty import CTRL_C, Terminal
from support.waiting import wait_until

pytestmark = pytest.mark.pty

ON_ALTERNATE, OFF_ALTERNATE = b"\x1b[?1049h", b"\x1b[?1049l"
ON_MOUSE, OFF_MOUSE = b"\x1b[?1000h", b"\x1b[?1000l"
SHOW_CURSOR = b"\x1b[?25h"
END = "end of the log"
CTRL_L = "\x0c"


@contextlib.contextmanager
def explorer(
    tmp_path: Path, *words: str, env: Mapping[str, str] | None = None, rows: int = 24
) -> Iterator[Terminal]:
    """The program on a terminal."""
    command = [sys.executable, "-m", "metashell", *words]
    variables = {"HOME": str(tmp_path), **(env or {})}
    with Terminal(command, env=variables, rows=rows, cwd=tmp_path) as terminal:
        yield terminal


def check_restored(terminal: Terminal, modes: object = None) -> None:
    """The terminal is as it was: own screen, cursor, no reports of the mouse, and its modes."""
    assert modes in (None, terminal.modes)
    for on, off in ((ON_ALTERNATE, OFF_ALTERNATE), (ON_MOUSE, OFF_MOUSE)):
        assert terminal.raw.rfind(off) >= terminal.raw.rfind(on)
    assert terminal.raw.rfind(SHOW_CURSOR) >= terminal.raw.rfind(b"\x1b[?25l")
    assert "Traceback" not in terminal.text


def test_opens_moves_travels_and_quits(tmp_path: Path) -> None:
    """A visit."""
    with explorer(tmp_path, "demo", "tui") as terminal:
        terminal.read_until(END)
        assert "demo" in terminal.lines[0]
        assert "1 Explorer" in terminal.lines[0]
        assert "? Help" in terminal.lines[-1]
        terminal.send("@")
        terminal.read_until("an offset, a time")
        terminal.send("1870\r")
        terminal.read_until("earlier state  E: newest  offset 1870")
        terminal.send("E")
        terminal.read_until(END)
        terminal.send("2")
        terminal.send("q")
        assert terminal.read_to_end() == 0
        check_restored(terminal)


def test_what_is_typed_at_once(tmp_path: Path) -> None:
    """Keys that come before a line is there are for the line, those behind it for what follows."""
    with explorer(tmp_path, "demo", "tui") as terminal:
        terminal.send(":cd /image/topics\r")  # before the source is open
        terminal.read_until("/ › image › topics")
        terminal.send("g/image/cluster\r:pwd\r")
        terminal.read_until(re.compile("^ */image/cluster$", re.MULTILINE))
        terminal.send("\x1b")
        terminal.read_until(END)
        terminal.send("2/orders")
        terminal.read_until(re.compile("^.? *orders$", re.MULTILINE))


def test_a_defect_restores_the_terminal(tmp_path: Path) -> None:
    """What goes wrong while a picture is drawn is told as any defect; the terminal is as it was."""
    program = (
        "from metashell.tui.frame.key_bar import KeyBar; from metashell.cli import run_process;"
        "KeyBar.on_mouse_down = lambda self, event: 1 / 0; run_process()"
    )
    command = [sys.executable, "-c", program, "demo", "tui"]
    with Terminal(command, env={"HOME": str(tmp_path)}, cwd=tmp_path) as terminal:
        modes = terminal.modes
        terminal.read_until(END)
        terminal.send("\x1b[<0;3;24M")
        assert terminal.read_to_end() == int(ExitCode.INTERNAL)
        assert "internal error: ZeroDivisionError" in terminal.text
        check_restored(terminal, modes)


@pytest.mark.cases(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_ended_by_a_signal(tmp_path: Path, number: int) -> None:
    """The terminal is left as it was."""
    with explorer(tmp_path, "demo", "tui") as terminal:
        modes = terminal.modes
        terminal.read_until(END)
        terminal.signal(number)
        assert terminal.read_to_end() == 128 + number
        check_restored(terminal, modes)


@pytest.mark.cases(1)
@pytest.mark.parametrize("key", ["\x1c", "\0"])
def test_keys_of_signals_do_nothing(tmp_path: Path, key: str) -> None:
    """A key that would end a program without its knowledge is a key as any other."""
    with explorer(tmp_path, "demo", "tui") as terminal:
        modes = terminal.modes
        terminal.read_until(END)
        terminal.send(key)
        terminal.read_until("does nothing here")
        terminal.send("q")
        assert terminal.read_to_end() == 0
        check_restored(terminal, modes)


def test_terminal_is_gone(tmp_path: Path) -> None:
    """It ends with its terminal, also where it is told to ignore that."""
    check_ends_with_its_terminal(tmp_path, f"{sys.executable} -m metashell demo tui")


def test_terminal_goes_while_much_is_drawn(tmp_path: Path) -> None:
    """It ends, although hundreds of writes come between the loss and the next look."""
    program = (
        "from metashell.tui.app import Explorer; from metashell.cli import run_process;"
        "mount = Explorer.on_mount;"
        "Explorer.on_mount = lambda self: (mount(self), self.set_interval(0.001, self.bell))[0];"
        "run_process()"
    )
    (tmp_path / "program.py").write_text(program)
    check_ends_with_its_terminal(tmp_path, f"{sys.executable} {tmp_path}/program.py demo tui")


def check_ends_with_its_terminal(tmp_path: Path, command: str) -> None:
    """A command that is told to ignore the loss of its terminal ends by it."""
    script = f'trap "" HUP; {command}; echo $? > {tmp_path}/status'
    with Terminal(["sh", "-c", script], env={"HOME": str(tmp_path)}) as terminal:
        terminal.read_until(END)
        terminal.hang_up()
        status = tmp_path / "status"
        wait_until(lambda: status.exists() and status.read_text() != "", "it ends")
        assert f"{128 + signal.SIGHUP}\n" == status.read_text()


def test_resize(tmp_path: Path) -> None:
    """What was cut is shown where there is more room; without colours the words say the same."""
    words = ("demo", "--show-secrets", "--at", "1870", "tui")
    with explorer(tmp_path, *words, env={"NO_COLOR": "1"}) as terminal:
        terminal.read_until("secrets shown  2026-11-22 12:39:37Z")
        terminal.resize(30, 120)
        terminal.read_until("epoch 3  4.3-IV0")
        terminal.read_while(lambda: "q Quit" not in terminal.lines[29], "more keys are shown")
        terminal.resize(10, 40)
        terminal.read_until("offset 1870")
        terminal.send("q")
        assert terminal.read_to_end() == 0


@pytest.mark.cases(1)
@pytest.mark.parametrize("key", [CTRL_C, "q"])
def test_leaving_while_it_opens(tmp_path: Path, key: str) -> None:
    """A quorum that does not answer is not waited for."""
    with FakeQuorumServer(1) as server:
        server.lose_leader()
        address = server.address()
        with explorer(tmp_path, "-q", address, "tui") as terminal:
            terminal.read_until("q leaves")
            terminal.send(key)
            assert terminal.read_to_end() == 0
            check_restored(terminal)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-d", "nowhere", "tui"], 3, "metashell: nowhere: No such file or directory"),
        (["demo", "tui", "/nothing"], 1, "metashell: /nothing: No such file or directory"),
        (["demo", "tui", "/a", "/b"], 2, "metashell: `tui` takes one path"),
        (["demo", "-c", "ls", "tui"], 2, "`tui` and `--command` each say what to run"),
        (["demo", "--at", "99999999", "tui"], 1, "metashell: "),
    ],
)
def test_failures(tmp_path: Path, words: list[str], code: int, message: str) -> None:
    """The same sentence and exit status as of a command."""
    with explorer(tmp_path, *words) as terminal:
        assert terminal.read_to_end() == code
        assert message in terminal.text
        check_restored(terminal)


def test_warnings_are_printed_at_the_end(tmp_path: Path) -> None:
    """What is wrong is shown, and stays on the terminal afterwards; ^C does not leave."""
    directory = tmp_path / "copy"
    shutil.copytree(Path(__file__).parents[2] / "src/metashell/sample", directory)
    segment = sorted(directory.rglob("*.log"))[-1]
    segment.write_bytes(segment.read_bytes()[:-7])
    with explorer(tmp_path, "-d", str(directory), "--tui") as terminal:
        terminal.read_until("torn tail")
        terminal.read_until("warning: ")
        terminal.send(CTRL_C)
        terminal.send("4")
        terminal.read_until("voter")
        terminal.send("q")
        assert terminal.read_to_end() == 0
        check_restored(terminal)
        assert terminal.text.count("metashell: warning: ") == 1


@pytest.mark.parametrize("stream", ["0<", "1>", "2>"])
def test_needs_a_terminal(tmp_path: Path, stream: str) -> None:
    """Each of the three streams: it draws on standard error."""
    line = f"{sys.executable} -m metashell demo tui {stream}/dev/null; echo status $?"
    with Terminal(["sh", "-c", line], env={"HOME": str(tmp_path)}) as terminal:
        terminal.read_to_end()
        if stream == "1>":
            assert "`tui` needs a terminal" in terminal.text
        assert "status 2" in terminal.text
        assert ON_ALTERNATE not in terminal.raw
    assert ExitCode.USAGE == 2


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"TERM": "dumb"}, "needs a terminal that can move its cursor: TERM is dumb"),
        (
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            "draws in UTF-8: the locale's encoding is",
        ),
    ],
)
def test_terminals_that_will_not_do(tmp_path: Path, env: dict[str, str], message: str) -> None:
    """What would come out as garbage is refused in a sentence."""
    with explorer(tmp_path, "demo", "tui", env=env) as terminal:
        assert terminal.read_to_end() == int(ExitCode.USAGE)
        assert message in terminal.text
        assert ON_ALTERNATE not in terminal.raw


def test_suspended_and_back(tmp_path: Path) -> None:
    """^Z leaves the terminal to the shell, `fg` takes it back."""
    line = f"{sys.executable} -m metashell demo tui"
    with Terminal(["sh", "-i"], env={"HOME": str(tmp_path), "PS1": "PROMPT "}) as terminal:
        terminal.read_until("PROMPT")
        terminal.enter(line)
        terminal.read_until(END)
        terminal.send("\x1a")
        terminal.read_while(
            lambda: terminal.raw.rfind(OFF_ALTERNATE) < terminal.raw.rfind(ON_ALTERNATE),
            "the shell's screen is back",
        )
        terminal.read_prompt("PROMPT", is_raw=False)
        n_before = terminal.raw.count(ON_ALTERNATE)
        terminal.enter("fg")
        terminal.read_while(
            lambda: terminal.raw.count(ON_ALTERNATE) == n_before, "the explorer is back"
        )
        terminal.read_until(re.compile("0 Home.*Brokers.*[?] Help", re.DOTALL))
        terminal.send("q")
        terminal.read_while(
            lambda: (
                terminal.raw.rfind(OFF_MOUSE) < terminal.raw.rfind(ON_MOUSE)
                or not terminal.raw.endswith(b"PROMPT ")
            ),
            "the shell goes on",
        )
        check_restored(terminal)


def test_stopped_by_force(tmp_path: Path) -> None:
    """SIGSTOP says nothing before: afterwards all is drawn, and the terminal's modes are known.

    SIGTERM then leaves the terminal as it was.
    """
    with explorer(tmp_path, "demo", "tui") as terminal:
        modes = terminal.modes
        terminal.read_until(END)
        own = terminal.modes
        terminal.stop()
        terminal.modes = modes  # as a shell does
        terminal.clear()
        terminal.signal(signal.SIGCONT)
        terminal.read_until(re.compile("0 Home.*Brokers.*[?] Help", re.DOTALL))
        assert own == terminal.modes
        terminal.signal(signal.SIGTERM)
        assert terminal.read_to_end() == 128 + signal.SIGTERM
        check_restored(terminal, modes)


@contextlib.contextmanager
def tmux(tmp_path: Path, *words: str) -> Iterator[tuple[str, ...]]:
    """The program in a server of tmux of its own; gives what begins tmux's own commands."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed; the tests on a pseudo-terminal above need none")
    name = f"metashell-{uuid.uuid4().hex}"
    base = ("tmux", "-L", name, "-f", "/dev/null")
    # A shell that waits afterwards: of a pane that is dead tmux does not always know the status.
    script = '"$@"; echo "it ended with $?"; read -r _'
    command = ("sh", "-c", script, "sh", sys.executable, "-m", "metashell", *words)
    path = ":".join(entry for entry in sys.path if entry)
    subprocess.run(
        [*base, "new-session", "-d", "-x", "80", "-y", "24", "-s", "main",
         "-e", f"PYTHONPATH={path}", "-e", f"HOME={tmp_path}", *command],
        check=True, cwd=tmp_path,
    )  # fmt: skip
    try:
        yield base
    finally:
        subprocess.run([*base, "kill-server"], check=False, capture_output=True)


def told(base: tuple[str, ...], *words: str) -> str:
    """What tmux answers."""
    done = subprocess.run([*base, *words], check=True, capture_output=True, text=True)
    return done.stdout


def test_in_tmux(tmp_path: Path) -> None:
    """A terminal that is not ours: the same visit."""

    def shows(text: str) -> None:
        screen = ""

        def look() -> bool:
            nonlocal screen
            screen = told(base, "capture-pane", "-p", "-t", "main")
            return text in screen

        wait_until(look, lambda: f"{text!r} is not shown:\n{screen}")

    with tmux(tmp_path, "demo", "tui") as base:
        shows(END)
        told(base, "send-keys", "-t", "main", "@")
        shows("an offset, a time")
        told(base, "send-keys", "-t", "main", "1870", "Enter")
        shows("earlier state  E: newest  offset 1870")
        told(base, "resize-window", "-t", "main", "-x", "100", "-y", "30")
        told(base, "send-keys", "-t", "main", "E")
        shows(END)
        assert told(base, "display-message", "-p", "-t", "main", "#{alternate_on}") == "1\n"
        told(base, "send-keys", "-t", "main", "q")
        shows("it ended with 0")
        asked = "#{alternate_on} #{mouse_any_flag}"
        assert told(base, "display-message", "-p", "-t", "main", asked) == "0 0\n"


def test_draws_all_again(tmp_path: Path) -> None:
    """What another program wrote over is there again after ctrl+l."""
    with explorer(tmp_path, "demo", "tui") as terminal:
        terminal.read_until(END)
        terminal.clear()
        terminal.send(CTRL_L)
        terminal.read_until("1 Explorer")
        terminal.read_until(END)
        terminal.read_until("? Help")
