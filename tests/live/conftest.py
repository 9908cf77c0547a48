"""The whole program against controllers on loopback."""

from __future__ import annotations

import pytest

from metashell.cli import main
from support.listener import SECRETS
from support.live_program import Result, Run, check_nothing_is_left


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run the program in this process: nothing secret is printed, and no thread goes on."""

    def run_it(*argv: str) -> Result:
        assert not any(secret in word for secret in SECRETS for word in argv)
        code = main(argv)
        captured = capsysbinary.readouterr()
        result = Result(
            code,
            captured.out.decode("utf-8", "surrogateescape"),
            captured.err.decode("utf-8", "surrogateescape"),
        )
        check_nothing_is_left(result)
        return result

    return run_it
