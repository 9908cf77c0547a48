"""Ways to run the command line: in this process and as one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from metashell.cli import main, work
from support.waiting import LIMIT_S
from unit.cli.fake_program import FakeOpener, FakeRunner

SOURCE_ROOT = Path(__file__).parents[3] / "src"


@dataclass
class Result:
    """What a run left behind."""

    code: int
    out: str
    err: str


@dataclass
class Program:
    """The program over a made-up source, run in this process."""

    opener: FakeOpener | None
    runner: FakeRunner
    _capture: pytest.CaptureFixture[bytes]
    _monkeypatch: pytest.MonkeyPatch

    def __call__(
        self, *argv: str, stdin: bytes = b"", terminal: bool = False, screen: bool = True
    ) -> Result:
        """Run it, perhaps with input from a terminal, and a terminal to show things on."""
        stream = io.TextIOWrapper(io.BytesIO(stdin))
        self._monkeypatch.setattr("sys.stdin", stream)
        if terminal:
            self._monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
            self._monkeypatch.setattr(sys.stderr, "isatty", lambda: screen, raising=False)
        for name in ("run_line", "run_words"):
            self._monkeypatch.setattr(work, name, getattr(self.runner, name))
        code = main(argv, opener=self.opener)  # type: ignore[arg-type]
        captured = self._capture.readouterr()
        return Result(
            code,
            captured.out.decode("utf-8", "surrogateescape"),
            captured.err.decode("utf-8", "surrogateescape"),
        )


@pytest.fixture
def program(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program in this process."""
    opener = FakeOpener()
    return Program(opener, FakeRunner(opener.source), capsysbinary, monkeypatch)


@pytest.fixture
def environment() -> dict[str, str]:
    """An environment in which a process of its own finds the package under test."""
    path = os.pathsep.join([str(SOURCE_ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


@pytest.fixture
def shell(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run a line of sh in which ``$M`` is the program over a made-up source."""

    def run(line: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        fake = Path(__file__).with_name("fake_program.py")
        return subprocess.run(
            ["sh", "-c", line],
            env={**environment, "M": f"{sys.executable} {fake}", **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )

    return run
