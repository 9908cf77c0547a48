"""The mode of the shell in which lines are SQL: several make a statement, up to a semicolon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.commands.framework.command import Completion, Context
from metashell.commands.framework.run import run_words
from metashell.commands.sql.completion import complete_sql, highlight_sql
from metashell.errors import ExitCode
from metashell.fs.escape import escape
from metashell.sql.statements import is_blank, split_statements

_ENDS: Final = frozenset({".exit", ".quit"})
_HELP: Final = """\
SELECT ...;      a statement ends with ; and may take several lines
.tables          the tables
.schema [TABLE]  columns of a table, or of all
.exit            back to commands (as ^D)
^C               forgets what was typed, or ends what runs
"""


class SqlMode:
    """Reads statements.

    Args:
        options: The options of `sql`, which hold for each statement.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self._options = list(options)
        self._begun = ""

    @property
    def prompt(self) -> str:
        """The prompt before the next line."""
        return "sql> " if is_blank(self._begun) else "...> "

    def run(self, context: Context, line: str) -> int:
        """Take a line, and run the statements that it completes."""
        stripped = line.strip()
        if is_blank(self._begun) and stripped.startswith("."):
            self._begun = ""
            return self._run_dot(context, stripped)
        statements, self._begun = split_statements(f"{self._begun}{line}\n")
        status = int(ExitCode.OK)
        for statement in statements:
            status = self._run_command(context, statement)
            if status != ExitCode.OK:
                break
        return status

    def give_up(self) -> None:
        """Forget a statement that is not complete yet."""
        self._begun = ""

    def complete(self, context: Context, line: str) -> list[Completion]:
        """Propose what may stand at the end of a line."""
        return complete_sql(context, self._begun + line)

    def highlight(self, line: str) -> list[tuple[str, str]]:
        """Split a line into (kind, text)."""
        return highlight_sql(line)

    def _run_dot(self, context: Context, line: str) -> int:
        words = line.rstrip("; ").split()
        if words[0] in _ENDS:
            context.mode = None
            return ExitCode.OK
        if words[0] == ".help":
            context.out.write(_HELP)
            return ExitCode.OK
        if words[0] not in (".schema", ".tables"):
            context.warn(escape(f"sql: {words[0]}: unknown; .help lists what there is"))
            return ExitCode.USAGE
        return self._run_command(context, *words)

    def _run_command(self, context: Context, *words: str) -> int:
        return run_words(context, ["sql", *self._options, "--", *words])
