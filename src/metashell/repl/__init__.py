"""The interactive shell: a prompt over the same commands that one-shot runs.

It knows commands and a `Session`; it must never hold logic that one-shot lacks, nor know where the
tree came from. Importing this package does not import prompt_toolkit; `run` does.
"""

from metashell.commands.standing import Status
from metashell.repl.session import Session, run

__all__ = ["Session", "Status", "run"]
