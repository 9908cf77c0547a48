"""What a run of the program on a quorum leaves behind, and what it must not leave behind."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from metashell.quorum.follower import THREAD
from support.listener import SECRETS

LS: Final = ("ls", "/image")
SHOWN: Final = "cluster"
"""A line of what `LS` prints."""


@dataclass(frozen=True, slots=True)
class Result:
    """Exit status and both streams."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What was printed."""
        return self.out.splitlines()


Run = Callable[..., Result]
"""Runs the program with arguments."""


def check_nothing_is_left(result: Result) -> None:
    """Neither a secret in what was printed, nor a traceback, nor a thread."""
    printed = result.out + result.err
    for secret in SECRETS:
        assert secret not in printed
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in printed
    assert "Traceback" not in printed
    assert not [t for t in threading.enumerate() if t.name == THREAD]


def check_works(result: Result) -> None:
    """It did what `LS` does, and had nothing to say about it."""
    assert (result.code, result.err) == (0, "")
    assert SHOWN in result.lines


def failure(result: Result, code: int = 3) -> str:
    """The one sentence that a failed run says, with its hint behind it if it has one."""
    assert (result.code, result.out) == (code, ""), result
    first, *rest = result.err.splitlines()
    assert first.startswith("metashell: ")
    assert not rest or (len(rest) == 1 and rest[0].startswith("  hint: ")), result.err
    assert first.isprintable()
    assert len(first) < 600
    return "\n".join((first.removeprefix("metashell: "), *rest))
