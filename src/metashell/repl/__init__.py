"""The interactive shell: a prompt over the same commands that one-shot runs.

It knows commands and a `ShellSession`; it must never hold logic that one-shot lacks, nor know where
the tree came from. Importing this package does not import prompt_toolkit; `run` does.
"""

from metashell.commands.shared.status import SourceStatus
from metashell.repl.session import ShellSession, run

__all__ = ["ShellSession", "SourceStatus", "run"]
