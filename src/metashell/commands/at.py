"""``at``: the shell as of another offset or time."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.options import Option, refuse_more
from metashell.commands.shared.session_place import go_to
from metashell.errors import UsageError
from metashell.schema.timestamps import iso_time

_RECORD = "--record"
_END = "end"


class AtCommand(Command):
    """Go to the state at an offset or a time.

    Goes to an earlier state: every command then shows the cluster as it was at that POINT.
    Prints the offset, the epoch and the time of the state. Without a POINT it only prints them.
    `at end` goes back to the newest state.

    Every command that takes a POINT reads it in the same way:

    4111 is an offset; the record at that offset is included. 2026-09-21T14:14:09Z and
    2026-09-21 are times, in UTC unless they name another zone. 12:25 and 12:25:40 are times of
    the last record's day, 09-21 12:25:40 of its year, in UTC, as times are shown. Where a time
    is an end (at, --at, --until, diff), one without a fraction includes its whole second; a
    fraction is exact.

    -10m, -2h and -1d12h count back from the last record, not from this machine's clock. On a
    live quorum they count back from now. `end` is the last record of the log. end-10m counts
    from it, and now-10m from this machine's clock, on any source. The units are ms, s, m, h, d
    and w; options also take 10m without the minus.

    In an earlier state, --since, --until and find's tests count from the last record of that
    state. at, --at and diff always count from the end of the log.

    A POINT after the last record is not covered: that is an error, with exit status 1. So is a
    state before the first record. An age that reaches back before it means the oldest state,
    and a note says so. --since may lie before the first record; a note then says where the
    records begin. The offset after the last record is not an error for --since and
    -changed-since: nothing has come yet.

    A batch counts as a whole, as when Kafka replays it. An offset inside a batch therefore
    shows the state before the batch, and a warning says so. A time shows every batch before the
    first one with a later maxTimestamp.

    at works in the shell and in scripts. For one command use `metashell SOURCE --at POINT
    COMMAND`.
    """

    group = "history"
    one_cluster = True
    manual = Manual(
        synopsis="at [--record] [POINT]",
        options=(Option((_RECORD,), "Inside a batch, apply the records up to OFFSET."),),
        examples=(
            ("at", "print which state is shown"),
            ("at 1870", "the state after offset 1870"),
            ("at 12:38", "the state at a time of the last day"),
            ("at -1m", "the state a minute before the last record"),
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
            newest = source.newest
            # Spark's log would be read here.
            source = newest if newest.capabilities.delegates else newest.refreshed()
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

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose the words that are no point."""
        return [
            Completion(text, -len(word), text) for text in (_RECORD, _END) if text.startswith(word)
        ]


COMMAND = AtCommand()
