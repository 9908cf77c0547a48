"""``at``: the shell as of another offset or time."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import refuse_more
from metashell.commands.framework.session_place import go_to
from metashell.errors import UsageError
from metashell.schema.timestamps import iso_time

_RECORD = "--record"
_END = "end"


class AtCommand(Command):
    """Go to an earlier state."""

    name = "at"
    summary = "Go to the state at an offset or a time."
    one_cluster = True
    manual = Manual(
        synopsis="at [--record] [OFFSET|TIME|end]",
        description=(
            "Makes everything show the cluster as it was at OFFSET, the record there included, or "
            "at TIME: 2026-09-21T14:14:09Z (UTC unless it says otherwise), 2026-09-21, or -2h for "
            "two hours ago. `end` goes back to the newest state, and to following a quorum. Then "
            "it says where that is; without an argument it only says so.\n\n"
            "A batch counts whole or not at all, as when Kafka replays it: an OFFSET inside one "
            "shows the state before it, and a warning says so. A time means up to the last batch "
            "before the first one whose maxTimestamp is later. What the directory does not cover "
            "is refused, with the range that it does.\n\n"
            "Works in the shell and in a script of several commands; for one command there is "
            "`metashell --at`."
        ),
        options=(Option((_RECORD,), "Inside a batch, apply up to the record itself."),),
        examples=(
            ("at", "say where we are"),
            ("at 1870", "the state after offset 1870"),
            ("at 2026-11-22T12:38:00Z", "the state at a time"),
            ("at end", "back to the newest state"),
        ),
    )
    shell_only = True

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Change `Context.source` and `Context.root`."""
        source = context.needs_source()
        # No options are parsed: -2h is a time.
        points = [word for word in args if word not in (_RECORD, "--")]
        refuse_more(self, points, most=1)
        if points and points[0] == _END:
            source = source.newest.refreshed() if source.live is not None else source.newest
        elif points:
            if points[0].startswith("--"):
                raise UsageError(
                    f"unknown option {points[0]}", hint=f"usage: {self.manual.synopsis}"
                )
            source = source.at(str(points[0]), record=_RECORD in args)
            for note in source.moment_notes:
                context.warn(f"at: {note}")
        go_to(context, source, "at", "at that offset")
        status = source.status()
        time = "" if status.timestamp_ms is None else f", time {iso_time(status.timestamp_ms)}"
        epoch = "" if status.epoch is None else f", epoch {status.epoch}"
        offset = "nothing" if status.offset is None else f"offset {status.offset}"
        where = "end of the log" if source.newest is source else "earlier state"
        context.out.write(f"{offset}{epoch}{time} ({where})\n")
        return 0

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose the words that are no point."""
        return [
            Completion(text, -len(word), text) for text in (_RECORD, _END) if text.startswith(word)
        ]


COMMAND = AtCommand()
