"""Completion in the shells themselves: what is on the line after a Tab.

Each test runs in bash, zsh and fish, and is skipped where that one is not installed.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from metashell.cli.completion import SHELLS, script
from support.fixtures import SAMPLE
from support.pty import CTRL_E, TAB, Terminal

pytestmark = pytest.mark.pty

READY = "ready> "
CTRL_U = "\x15"
CONFIG = f"""
[aliases]
names = "ls /image/topics/byName"
[clusters.prod-eu]
description = "Europe"
directory = "{SAMPLE}"
[clusters.prod-us]
directory = "/nowhere"
"""
ARGUMENTS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "-i"],
}
SETUP = {
    "bash": "PS1='ready> '; source ./script",
    "zsh": "PS1='ready> '; autoload -Uz compinit; compinit -u -D; source ./script",
    "fish": "function fish_prompt; echo -n 'ready> '; end; source ./script",
}


@dataclass
class Line:
    """The command line of a shell in a terminal."""

    terminal: Terminal
    shell: str

    def becomes(self, typed: str, expected: str) -> None:
        """Type and press Tab, see what the line becomes, and give it up."""
        self.terminal.send(typed + TAB)
        row = READY + expected
        self.terminal.read_while(lambda: self.terminal.cursor_line != row, f"the line {row}")
        self.terminal.send(CTRL_E + CTRL_U)
        self.terminal.read_prompt(READY)


@pytest.fixture(params=SHELLS)
def line(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Line]:
    """A shell that has the completion."""
    shell = request.param
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    run = tmp_path / "bin" / "metashell"
    run.parent.mkdir()
    run.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m metashell "$@"\n')
    run.chmod(0o755)
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "some dir").mkdir()
    (tmp_path / "server.properties").write_text("")
    (tmp_path / "script").write_text(script(shell))
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{run.parent}:/usr/bin:/bin",
        "METASHELL_CONFIG_FILE": str(tmp_path / "config.toml"),
    }
    with Terminal([program, *ARGUMENTS[shell]], env=env, cwd=tmp_path, columns=110) as terminal:
        terminal.enter(SETUP[shell])
        terminal.read_prompt(READY)
        yield Line(terminal, shell)


def test_options_and_their_values(line: Line) -> None:
    """Long options, values behind `=` and behind a space."""
    line.becomes("metashell --eng", "metashell --engine")
    line.becomes("metashell --engine=lo", "metashell --engine=local")
    line.becomes("metashell --engine sp", "metashell --engine spark")
    line.becomes("metashell --cluster prod-e", "metashell --cluster prod-eu")


def test_clusters_commands_and_aliases(line: Line) -> None:
    """Names of all three."""
    line.becomes("metashell prod-e", "metashell prod-eu")
    line.becomes("metashell prod-eu chang", "metashell prod-eu changes")
    line.becomes("metashell prod-eu nam", "metashell prod-eu names")


def test_paths_in_the_cluster(line: Line) -> None:
    """One component after the other, quoted as the shell needs it."""
    line.becomes("metashell prod-eu ls /im", "metashell prod-eu ls /image/")
    typed = "metashell prod-eu ls /image/topics/byName/ord"
    line.becomes(typed, "metashell prod-eu ls /image/topics/byName/orders/")
    group = r"streams\%2Fgrp\ ü/" if line.shell == "fish" else r"streams%2Fgrp\ ü/"
    line.becomes(
        "metashell prod-eu ls /image/configs/GROUP:str",
        f"metashell prod-eu ls /image/configs/GROUP:{group}",
    )
    line.becomes(
        "metashell prod-eu ls '/image/configs/GROUP:str",
        "metashell prod-eu ls '/image/configs/GROUP:streams%2Fgrp ü/",
    )


def test_files_of_the_system(line: Line) -> None:
    """Where an option takes one."""
    line.becomes("metashell -d so", r"metashell -d some\ dir/")
    line.becomes("metashell --config ser", "metashell --config server.properties")
    line.becomes("metashell --config=ser", "metashell --config=server.properties")
