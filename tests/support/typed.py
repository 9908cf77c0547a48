"""The interactive shell with keys typed into it, and no terminal."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.repl.session import ShellSession
from metashell.repl.shell import Shell


def type_into(session: ShellSession, keys: str, directory: Path) -> int:
    """Run a shell to its end.

    Args:
        session: What it is about.
        keys: All that is typed.
        directory: Keeps its history.

    Returns:
        Its exit status.
    """
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        shell = Shell(
            session,
            history_path=directory / "state" / "history",
            terminal_input=pipe,
            terminal_output=DummyOutput(),
        )
        return shell.run()
