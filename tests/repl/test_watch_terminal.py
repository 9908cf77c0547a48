"""``watch`` on a real terminal, from the system's shell and from ours."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kraftgen.files import segment_name
from support.logs import make_directory, topic_batch
from support.pty import CTRL_C, CTRL_D, Terminal

pytestmark = pytest.mark.pty

TOPICS = "/image/topics/byName"


def append(directory: Path, data: bytes) -> None:
    """Write as a node does."""
    with (directory / segment_name(0)).open("ab") as file:
        file.write(data)


def test_watch_as_one_command(tmp_path: Path) -> None:
    """It draws over what it drew, marks what is new, and ^C ends it with 130."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 2)))
    command = [sys.executable, "-m", "metashell", "-d", str(directory)]
    with Terminal([*command, "watch", "-n", "0.1", "ls", TOPICS], env={}) as terminal:
        terminal.read_until(re.compile(r"^t0  t1$", re.MULTILINE))
        append(directory, topic_batch(2))
        terminal.read_until(re.compile(r"^t0  t1  t2$", re.MULTILINE))
        assert f"watch: ls {TOPICS}" == terminal.lines[0]
        assert terminal.lines[1].endswith("1 change (~1)")
        assert 1 == terminal.text.count("t0")
        terminal.send(CTRL_C)
        assert 130 == terminal.read_to_end()


def test_watch_in_the_shell(tmp_path: Path) -> None:
    """^C leads back to the prompt; through a pipe it goes on as lines."""
    (tmp_path / "tiny").mkdir()
    directory = make_directory(tmp_path / "tiny", (0, topic_batch(0)))
    command = [sys.executable, "-m", "metashell", "-d", str(directory)]
    with Terminal(command, env={"HOME": str(tmp_path)}) as terminal:
        prompt = "metashell tiny:/> "
        terminal.read_prompt(prompt)
        terminal.enter(f"watch -n 0.1 ls {TOPICS}")
        terminal.read_until(re.compile(r"^t0$", re.MULTILINE))
        append(directory, topic_batch(1))
        terminal.read_until(re.compile(r"^t0  t1$", re.MULTILINE))
        terminal.send(CTRL_C)
        terminal.read_prompt(prompt)
        terminal.enter(f"watch -n 0.1 --count 1 ls {TOPICS} | sed s/t/topic-/")
        terminal.read_until("topic-1")
        append(directory, topic_batch(2))
        terminal.read_until(re.compile(r"^\+topic-2$", re.MULTILINE))
        terminal.read_prompt(prompt)
        terminal.send(CTRL_D)
        assert 0 == terminal.read_to_end()
