"""The program on a terminal, with names that steer it: they are shown, and steer nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.commands.shared.colour import PLAIN, RED, YELLOW
from support.hostile import write_cluster
from support.pty import Terminal
from support.shell import run_on
from support.waiting import Deadline, wait_readable

pytestmark = pytest.mark.pty

CONCEALED = "\x1b[8m"
NAMES = (f"a{CONCEALED}b", "c\x9b8md\x9d0;t\x9c", "e\u202ef\u2066g\u200f")
STEERING = tuple(text.encode() for text in ("\x1b", "\x9b", "\x9d", "\u202e", "\u2066", "\u200f"))
SHOWN = (r"a\x1b[8mb", r"c\x9b8md\x9d0;t\x9c", r"e\u202ef\u2066g\u200f")

FORMS = ("table", "json", "jsonl", "csv", "tsv", "yaml")
ROWS = (
    "log",
    "du",
    "check",
    "changes /image/topics",
    "diff 3 40",
    "stats",
    "find / -name nothing",
    "acls",
    "users",
    "quotas",
    "topics",
    "partitions",
    "brokers",
    "nodes",
    "config --all",
    "health",
    "quorum",
    "who-can READ topic:t",
    f"coordinator 'share:{NAMES[0]}:t:0' 'group:{NAMES[1]}' 'txn:{NAMES[2]}'",
)
SQL = "sql 'select * from configs'"
OTHERS = (
    "log",
    "log --json",
    "log --grep a",
    "cat /image/configs/TOPIC:t/*",
    "ls -l /image/topics/byName /image/configs",
    "ls -R /image",
    "tree /",
    "find /",
    "find / -printf '%f %p\\n'",
    "find / -ls",
    "grep . /image",
    "stat /image/topics/byName/*",
    "changes --json /image",
    "diff --json 3 40",
    "export --format json /image",
    "export --format yaml /image",
    "export --as kafka-cli",
    "checksum",
)
MISTAKES = (
    f"cat '/image/topics/byName/{NAMES[0]}x'",
    f"ls '/{NAMES[1]}'",
    f"'{NAMES[0]}'",
    f"log -o '{NAMES[0]}'",
    f"log --columns '{NAMES[1]}'",
    f"log --topic '{NAMES[0]}' --type '{NAMES[2]}'",
    f"sql 'select \"{NAMES[0]}\"'",
    f"find / -name '{NAMES[0]}' '-{NAMES[1]}'",
    f"at '{NAMES[0]}'",
    f"who-can '{NAMES[0]}' '{NAMES[1]}'",
    f"coordinator '{NAMES[0]}'",
    f"coordinator 'share:{NAMES[0]}'",
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which everything that has a name has one that steers a terminal."""
    return write_cluster(tmp_path_factory.mktemp("hostile"), NAMES)


def sent_to_a_terminal(*words: str | Path, env: dict[str, str] | None = None) -> bytes:
    """All that the program sends to a terminal that is its output and its diagnostics."""
    screen, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "METASHELL_CONFIG_FILE": os.devnull}
    process = subprocess.Popen(
        [sys.executable, "-m", "metashell", *map(str, words)],
        stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**environment, **(env or {})},
    )  # fmt: skip
    os.close(slave)
    pieces, deadline = [], Deadline()
    try:
        while wait_readable(screen, deadline):
            try:
                pieces.append(os.read(screen, 1 << 16))
            except OSError:
                break  # Linux: nobody has the other side open
            if not pieces[-1]:
                break
    finally:
        process.kill()
        process.wait()
        os.close(screen)
    return b"".join(pieces)


def steering(data: bytes) -> list[bytes]:
    """What of it steers a terminal."""
    return [sequence for sequence in STEERING if sequence in data]


@pytest.mark.cases(1)
@pytest.mark.parametrize("form", FORMS)
def test_rows(directory: Path, form: str) -> None:
    """Every command that has rows, in every form."""
    lines = [f"{line} -o {form}" for line in (*ROWS, SQL)]
    words = [word for line in lines for word in ("-c", line)]
    sent = sent_to_a_terminal("-d", directory, "--keep-going", *words)
    for colour in (RED, YELLOW, PLAIN):  # our own
        sent = sent.replace(colour.encode(), b"")

    assert [] == steering(sent)
    assert sent.count(b"[8m") > 5


def test_texts(directory: Path) -> None:
    """Every command that prints names or texts as they are."""
    words = [word for line in OTHERS for word in ("-c", line)]
    sent = sent_to_a_terminal("-d", directory, "--keep-going", *words, env={"NO_COLOR": "1"})

    assert [] == steering(sent)
    assert all(text.encode() in sent for text in SHOWN)


def test_diagnostics(directory: Path, tmp_path: Path) -> None:
    """Messages about what was typed, of commands and of the program."""
    words = [word for line in MISTAKES for word in ("-c", line)]
    sent = sent_to_a_terminal("-d", directory, "--keep-going", *words)
    assert [] == steering(sent)
    assert sent.count(SHOWN[0].encode()) >= len(MISTAKES) // 2
    for option in ("-d", "--config", "--schemas"):
        sent = sent_to_a_terminal(option, tmp_path / NAMES[0] / NAMES[2], "ls")
        assert [] == steering(sent), option
        assert sent


def test_colours_are_ours(directory: Path) -> None:
    """Matches are coloured; the colours in what matches are shown as text."""
    sent = sent_to_a_terminal("-d", directory, "grep", "8m", "/image/configs")

    assert b"\x1b[1;31m8m\x1b[0m" in sent
    assert [] == steering(sent.replace(b"\x1b[1;31m", b"").replace(b"\x1b[0m", b""))


@pytest.mark.cases(1)
@pytest.mark.parametrize("pager", ["cat", ""])
def test_the_shell_and_its_pager(directory: Path, tmp_path: Path, pager: str) -> None:
    """In the shell as well, on the screen and in the pager, streamed rows too."""
    command = [sys.executable, "-m", "metashell", "-d", str(directory)]
    env = {"HOME": str(tmp_path), "PAGER": pager, "TERM": "xterm"}
    with Terminal(command, env=env, rows=24, columns=100) as terminal:
        terminal.read_until("hostile0:/>")
        terminal.enter("log -o csv")
        terminal.read_until(r"e\u202ef")
        terminal.enter("exit")
        terminal.read_to_end()
        raw = terminal.raw

    assert CONCEALED.encode() not in raw
    assert [] == [found for found in steering(raw) if found != b"\x1b"]


def test_pipes_have_it_as_it_is(directory: Path) -> None:
    """Where nobody looks nothing is escaped."""
    import metashell

    out = run_on(metashell.open(directory), "log -o csv").out
    assert all(name.split("\x9d")[0] in out for name in NAMES[2:])
