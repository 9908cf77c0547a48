"""The shell on a fleet, on a real terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from support.fleets import backups
from support.pty import TAB, Terminal

pytestmark = pytest.mark.pty


def test_a_session(tmp_path: Path) -> None:
    """Prompt, toolbar and completion, from the root into a cluster and back in its time."""
    pattern = f"{backups(tmp_path / 'backups')}/*"
    with Terminal(
        [sys.executable, "-m", "metashell", "-d", pattern],
        env={"HOME": str(tmp_path), "PAGER": "cat"},
        columns=120,
        cwd=tmp_path,
    ) as terminal:
        terminal.read_prompt("metashell fleet:/> ")
        terminal.read_until("3 directories")
        terminal.enter("log")
        terminal.read_until("this command needs one cluster")
        terminal.read_prompt("metashell fleet:/> ")
        terminal.send(f"cd clu{TAB}")
        terminal.read_until("cd clusters/")
        terminal.send(f"controller-2{TAB}")
        terminal.read_until("cd clusters/controller-2/")
        terminal.enter("")
        terminal.read_prompt("metashell fleet:/clusters/controller-2> ")
        terminal.read_until(re.compile("offset 4111 · epoch 1 .* 4.4-IV2"))
        terminal.enter("at 3499")
        terminal.read_until("offset 3499 · epoch 1")
        terminal.read_prompt("metashell fleet:/clusters/controller-2> ")
        terminal.enter("cat image/provenance")
        terminal.read_until("offset 3499, epoch 1, time")
        terminal.read_prompt("metashell fleet:/clusters/controller-2> ")
        terminal.enter("cd /")
        terminal.read_prompt("metashell fleet:/> ")
        terminal.enter("exit")
        assert 0 == terminal.read_to_end()
