"""Examples in documents: found, run on the bundled cluster, compared with what is shown.

A fenced block of language ``console`` is a session: of the system's shell where a line begins with
``$ ``, of ours where it begins with ``metashell demo:``. A line ``...`` in what is shown stands for
any lines; trailing spaces do not count. `LOG_DIR` in an example stands for the bundled cluster, and
`CONTROLLER` for a quorum on loopback that serves it; `BROKER` for a log directory of a broker;
`BROKERS` for a directory with the log directories of three; `VOTERS` for one with those of voters;
`FORMATTED` for a log directory without a log; `FLEET` for a directory with copies of three nodes'
directories. What such a quorum is asked depends on when: times and ages in what is printed then may
be others than those that are shown.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import metashell
from metashell.cli import main
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from support.fake_server import FakeQuorumServer
from support.fixtures import DEMO, fixture_dir
from support.fleets import backups
from support.sample_quorum import serve_directory
from support.shell import Captured
from support.waiting import LIMIT_S
from support.warm import warm_program

LOG_DIR: Final = "/var/lib/kafka/data"
CONTROLLER: Final = "controller-1:9093"
FLEET: Final = "/backups"
BROKER: Final = "/var/lib/kafka/broker-102"
BROKERS: Final = "/mnt/kafka"
VOTERS: Final = "/mnt/controllers"
FORMATTED: Final = "/mnt/new-disk"
CUT: Final = "..."

_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT: Final = re.compile(r"metashell demo:\S*> (.*)")
_VARYING: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|-?\b\d+(?:ms|\.\ds|[mhd] \d+[smh])\b| {2,}")
"""Times, ages, and the space that columns of them take."""
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    line: int
    """Number of its first line in the document."""


@dataclass(frozen=True, slots=True)
class Example:
    """A command line in a block, and what is shown below it."""

    prompt: str
    """What stands before the command."""
    command: str
    shown: tuple[str, ...]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a document."""
    for match in _BLOCK.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 2)


def broker_directory() -> Path:
    """The log directory of a broker with coordinators' logs."""
    return fixture_dir("node-44") / "broker102" / "d1"


def brokers_directory() -> Path:
    """A directory with the log directories of three brokers."""
    return fixture_dir("node-44")


def voters_directory() -> Path:
    """A directory with the log directories of the voters of a quorum."""
    return fixture_dir("voters-leader-tail-3")


def lay_formatted(directory: Path) -> None:
    """Lay the log directory of voter 2 on a new disk: formatted, and without a log."""
    directory.mkdir()
    text = (voters_directory() / "voter-2" / "meta.properties").read_text()
    text = re.sub("(?m)^directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAAg", text)
    (directory / "meta.properties").write_text(text)


def is_session(block: Block) -> bool:
    """Whether a block shows commands and what they print."""
    return block.language == "console"


def examples(block: Block) -> list[Example]:
    """The commands of a session, each with what is shown below it."""
    found: list[Example] = []
    for line in block.text.splitlines():
        prompted = _PROMPT.fullmatch(line)
        if line.startswith("$ "):
            found.append(Example("$ ", line[2:], ()))
        elif prompted:
            found.append(Example(line[: prompted.start(1)], prompted[1], ()))
        else:
            last = found[-1]
            found[-1] = Example(last.prompt, last.command, (*last.shown, line.rstrip()))
    return found


def matches(example: Example, printed: list[str]) -> bool:
    """Whether lines printed are those shown, where a line ``...`` stands for any number."""
    shown, of_now = example.shown, CONTROLLER in example.command
    if of_now:
        shown, printed = tuple(map(_without_times, shown)), list(map(_without_times, printed))
    pattern = "".join("(?:.*\n)*" if line == CUT else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def check_sessions(text: str, directory: Path) -> tuple[str, list[tuple[int, str, list[str]]]]:
    """Run the sessions of a document.

    Args:
        text: The document.
        directory: An empty one, where the system's commands run.

    Returns:
        The document with what is printed now, but where a line ``...`` cuts it; and for each
        command that prints something else than shown its block's line, itself, and what it prints.
    """
    shell, wrong = Shell(), []
    with System(directory) as system:
        for block in filter(is_session, blocks(text)):
            lines = []
            for example in examples(block):
                if example.prompt == "$ ":
                    printed = system.run(example.command)
                else:
                    assert shell.prompt == example.prompt, f"line {block.line}"
                    printed = shell.run(example.command)
                is_right = matches(example, printed)
                if not is_right:
                    wrong.append((block.line, example.command, printed))
                lines.append(example.prompt + example.command)
                lines.extend(example.shown if is_right or CUT in example.shown else printed)
            text = text.replace(block.text, "\n".join(lines) + "\n")
    return text, wrong


def _without_times(line: str) -> str:
    return _VARYING.sub(lambda found: " " if found[0].isspace() else "#", line)


class System:
    """The system's shell, in which ``metashell`` is this one.

    Use it as a context manager, which ends the quorum.

    Args:
        directory: Where commands run; an empty one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._quorum: FakeQuorumServer | None = None
        self._fleet = directory / ".backups"
        self._formatted = directory / ".formatted"
        self._status = 0
        self._path = os.pathsep.join([str(warm_program().parent), os.environ["PATH"]])

    def __enter__(self) -> System:
        return self

    def __exit__(self, *_: object) -> None:
        if self._quorum is not None:
            self._quorum.stop()

    @property
    def controller(self) -> str:
        """The address that `CONTROLLER` stands for."""
        if self._quorum is None:
            self._quorum = serve_directory(DEMO).start()
        return self._quorum.address()

    def run(self, command: str) -> list[str]:
        """Run a command line; returns the lines that it prints on both streams."""
        command = command.replace(BROKER, str(broker_directory())).replace(LOG_DIR, str(DEMO))
        command = command.replace(BROKERS, str(brokers_directory()))
        command = command.replace(VOTERS, str(voters_directory()))
        if CONTROLLER in command:
            command = command.replace(CONTROLLER, self.controller)
        if f"{FLEET}/" in command:
            if not self._fleet.exists():
                backups(self._fleet)
            command = command.replace(FLEET, str(self._fleet))
        if FORMATTED in command:
            if not self._formatted.exists():
                lay_formatted(self._formatted)
            command = command.replace(FORMATTED, str(self._formatted))
        if command == "echo $?":
            return [str(self._status)]
        needs_shell = re.search(r"[|;&<>$]", _QUOTED.sub("", command))
        if command.startswith("metashell ") and not needs_shell:
            printed = self._run_here(shlex.split(command)[1:])
        else:
            printed = self._run_there(command)
        places = (
            (broker_directory(), BROKER),
            (brokers_directory(), BROKERS),
            (voters_directory(), VOTERS),
            (DEMO, LOG_DIR),
            (self._fleet, FLEET),
            (self._formatted, FORMATTED),
        )
        for place, shown in places:
            printed = printed.replace(str(place), shown)
        if self._quorum is not None:
            printed = printed.replace(self._quorum.address(), CONTROLLER)
        return [line.rstrip() for line in printed.splitlines()]

    def _run_here(self, arguments: list[str]) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        before = Path.cwd()
        os.chdir(self._directory)
        try:
            with redirect_stdout(stream), redirect_stderr(stream):
                self._status = main(arguments)
        finally:
            os.chdir(before)
        stream.flush()
        stream.seek(0)
        return stream.read()

    def _run_there(self, command: str) -> str:
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=self._directory,
            env={**os.environ, "PATH": self._path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        self._status = ran.returncode
        return ran.stdout


class Shell:
    """Our shell on a directory, as on a terminal of 80 columns."""

    def __init__(self, directory: Path = DEMO) -> None:
        self._out = Captured(is_terminal=True)
        source = metashell.open(directory)
        self._context = Context(
            root=source.root,
            source=source,
            out=self._out,
            warn=lambda line: self._out.write(f"{line}\n"),
            interactive=True,
        )

    @property
    def prompt(self) -> str:
        """What stands before the next command."""
        return f"metashell demo:{self._context.cwd}> "

    def run(self, command: str) -> list[str]:
        """Run a command line; returns the lines that it prints."""
        self._out.parts.clear()
        run_line(self._context, command)
        return [line.rstrip() for line in "".join(self._out.parts).splitlines()]
