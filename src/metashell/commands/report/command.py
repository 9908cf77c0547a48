"""``report``: one page about a cluster, for a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.local_places import complete_local
from metashell.commands.framework.options import no_arguments
from metashell.errors import UsageError

_STDOUT: Final = "-"
_ENDINGS: Final = (".html", ".htm")


class ReportCommand(Command):
    """Write what is known of the cluster as one HTML page, to send or to print.

    Writes one page for a browser. It has the findings of `health`, quorum, brokers, topics,
    partitions, changes of the last day, groups, disks, and a timeline of the log. Each section
    names its command and shows the first rows; the command lists all. A section whose data is
    not there says why.

    The page needs no network and no script, and follows the browser's light or dark theme.
    Secrets are redacted unless --show-secrets is given; then only the owner can read the file.

    FILE must end in .html. It appears whole or not at all. An older file is replaced. Kafka
    directories are never written to. Its name is printed. Without FILE, or with `-`, the page
    goes to standard output.

    For a fleet, the page lists its directories. Then come the sections of each cluster, of ten
    at most. In /clusters/NAME the page is about that cluster alone.

    The exit status is 1 if not all could be read. Findings do not change it.
    """

    group = "what is wrong"
    judges_lost_quorum = True
    manual = Manual(
        synopsis="report [FILE.html]",
        examples=(("report cluster.html", "a page to send"),),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Write the page."""
        (path,) = no_arguments(self, args, most=1) or (_STDOUT,)
        if path == _STDOUT and context.out.is_terminal:
            raise UsageError("which file?", hint="`report FILE.html` writes it")
        if path != _STDOUT and not path.lower().endswith(_ENDINGS):
            raise UsageError(f"{path}: must end in {_ENDINGS[0]}: an older file is replaced")
        from metashell.commands.report.page import page_of
        from metashell.commands.rows.to_file import written_to

        # The place is looked at before the work begins.
        with written_to(context, path):
            text, status = page_of(context)
            context.out.write(text)
        if path != _STDOUT:
            context.write(f"{path}\n")
        return status

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose places of the system."""
        return complete_local(word)


COMMAND = ReportCommand()
