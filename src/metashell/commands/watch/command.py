"""``watch``: a command run again when something changed, and what it says differently."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.commands import get
from metashell.commands.framework.aliases import Habits, expand_aliases
from metashell.commands.framework.command import Canvas, Command, Completion, Context, Manual
from metashell.commands.framework.command_line import quote_words, split
from metashell.commands.framework.completion import complete_commands, complete_words
from metashell.commands.framework.options import Option, Parsed, parse_options
from metashell.commands.framework.run import run_line, run_words
from metashell.commands.shared.captured import Captured
from metashell.commands.shared.colour import wants_colour
from metashell.commands.shared.columns import display_width
from metashell.commands.shared.waiting import refuse_what_stands_still, wait_for_news
from metashell.commands.watch.line_marks import Counts, MarkedLine, differences, marked
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, MetashellError, UsageError
from metashell.fs.escape import escape
from metashell.schema.timestamps import iso_time

if TYPE_CHECKING:
    from metashell.sources.source import Source

_EVERY_S = 2.0
_LEAST_S = 0.1
_LONGEST_S = 86_400.0
_LIVE_LEAST_S = 0.5
"""A busy cluster changes all the time; nobody reads faster."""
_HEADER_S = 1.0
"""How often the header is drawn anew while nothing changes."""
_MOST_CHARS = 64 << 20
"""Characters of an output that are kept to be compared."""
_SHELL_COMMANDS = "`watch` does not run cd, exit, history, at, source, clear or watch"

_HOME, _CLEAR_ROW, _CLEAR_REST = "\x1b[H", "\x1b[K", "\x1b[J"
_REVERSE, _BOLD, _PLAIN = "\x1b[7m", "\x1b[1m", "\x1b[0m"


class WatchCommand(Command):
    """Run a command again after each change, and mark the differences.

    Runs COMMAND, and runs it again after each change of the source. A quorum changes when it
    commits records, a directory when its files are written. Wildcards are expanded anew each
    time.

    A terminal shows the newest output below a line with the source's offset and time. New text
    is shown in reverse. Without colours, + or ~ marks new and changed lines. Elsewhere the
    first output is printed whole. After each change follow a line --- with offset and time,
    removed lines (-) and new lines (+).

    If the source can't be reached, `watch` says so and goes on. ^C ends it with status 130.
    COMMAND may be quoted as one word. A pipe takes the output of `watch`: `watch ls | grep x`.
    """

    group = "history"
    one_cluster = True
    manual = Manual(
        synopsis="watch [-n SECONDS] [--count N] [--timeout SECONDS] COMMAND [ARGUMENT...]",
        options=(
            Option(
                ("-n",),
                "Look at a directory every SECONDS (2). For a quorum: wait at least SECONDS (0.5) "
                "between two runs.",
                metavar="SECONDS",
            ),
            Option(("--count",), "End after N changes.", metavar="N"),
            Option(
                ("--timeout",),
                "End after SECONDS. The status is 1 if --count was not reached.",
                metavar="SECONDS",
            ),
        ),
        examples=(
            ("watch --timeout 1 ls /image/cluster/brokers", "brokers as they come and go"),
            (
                "watch --timeout 1 -n 0.5 'cat /image/topics/byName/orders/*'",
                "a quoted command, for a while",
            ),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Run until the count, the time or ^C ends it."""
        own, inner = _split(self, args)
        parsed = parse_options(self, own)
        every_s = _seconds(parsed, "-n", _LEAST_S)
        limit_s = _seconds(parsed, "--timeout", 0.0)
        _refuse(self, context.habits, inner)
        source = context.needs_source()
        refuse_what_stands_still(source)
        least_s = _EVERY_S if source.live is None else _LIVE_LEAST_S
        count = parsed.count("--count")
        run = _Run(context, inner, _view(context, inner))
        return run.run(every_s or least_s, count, limit_s)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose own options, then commands, then what the inner command proposes."""
        if args and args[-1] in ("-n", "--count", "--timeout"):
            return []
        _, inner = _split(self, args)
        if inner:
            return complete_words(context, inner, word)
        if word.startswith("-"):
            return super().complete(context, args, word)
        commands = complete_commands(word, context.habits)
        return [c for c in commands if not _is_refused(c.text)]


class _Capture(Captured):
    """The output of one run, which must not grow beyond all measure."""

    def write(self, text: str) -> None:
        """Keep a piece of text."""
        Captured.write(self, text)
        if self.size > _MOST_CHARS:
            raise MetashellError(
                f"its output has more than {_MOST_CHARS:,} characters",
                hint="watch a smaller part",
            )

    def lines(self) -> list[str]:
        """The lines that were written."""
        lines = self.text.split("\n")
        if not lines[-1]:
            lines.pop()
        return lines


@dataclass(frozen=True, slots=True)
class _Shown:
    """The output of one run of the command."""

    lines: list[str]
    warnings: list[str]
    status: int


class _Run:
    """One run of ``watch``."""

    def __init__(self, context: Context, inner: Sequence[str], view: _Painted | _Plain) -> None:
        self._context, self._inner, self._view = context, inner, view
        self._source = context.needs_source()
        self._problem: str | None = None
        self._ran_at = 0.0

    def run(self, every_s: float, count: int | None, limit_s: float | None) -> int:
        """Run the command until there is a reason to end."""
        end = None if limit_s is None else time.monotonic() + limit_s
        generation = self._generation()
        self._refresh()
        before = self._once()
        if before.status == ExitCode.USAGE:
            for line in before.warnings:
                self._context.warn(line)
            return before.status
        self._view.first(before, self._source)
        n_changes = 0
        while count is None or n_changes < count:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return ExitCode.OK if count is None else ExitCode.FAILED
            self._wait(every_s, left, generation)
            generation = self._generation()
            if not self._refresh():
                self._view.unchanged(self._source, self._problem)
                continue
            now = self._once()
            if (now.lines, now.warnings) == (before.lines, before.warnings):
                self._view.unchanged(self._source, self._problem)
                continue
            n_changes += 1
            self._view.changed(before, now, self._source, n_changes, self._problem)
            before = now
        return ExitCode.OK

    def _generation(self) -> int | None:
        live = self._source.live
        return None if live is None else live.generation

    def _wait(self, every_s: float, left_s: float | None, generation: int | None) -> None:
        """Wait for news, at least as long as a run may be from the one before."""
        live = self._source.live
        pause = _HEADER_S if live is not None else every_s
        pause = pause if left_s is None else min(pause, left_s)
        wait_for_news(self._context, self._source, pause, generation)
        early_s = self._ran_at + every_s - time.monotonic()
        if live is not None and live.generation != generation and early_s > 0:
            pause = early_s if left_s is None else min(early_s, left_s)
            wait_for_news(self._context, self._source, pause)

    def _refresh(self) -> bool:
        """Take the newest state; returns whether it is another."""
        live = self._source.live
        try:
            newest = self._source.refreshed()
        except MetashellError as error:
            self._problem = error.message
            return False
        self._problem = None if live is None else live.status().problem
        is_new = newest is not self._source
        self._source = newest
        return is_new

    def _once(self) -> _Shown:
        """Run the command on the newest state."""
        self._ran_at = time.monotonic()
        outer, gone = self._context, self._source.truncation
        warnings = [] if gone is None else [f"watch: {gone}"]
        out = _Capture(self._view.is_terminal, self._view.width)
        context = Context(
            root=self._source.root,
            out=out,
            warn=warnings.append,
            cwd=outer.cwd,
            source=self._source,
            cancelled=outer.cancelled,
            habits=outer.habits,
        )
        if _is_line(self._inner):
            status = run_line(context, self._inner[0])
        else:
            status = run_words(context, self._inner)
        return _Shown(out.lines(), warnings, status)


class _Plain:
    """Shows changes to a reader that is no terminal, or one that can only be written on."""

    def __init__(self, context: Context, inner: Sequence[str]) -> None:
        self._context = context
        self.is_terminal, self.width = context.out.is_terminal, context.out.width
        self._problem: str | None = None

    def first(self, now: _Shown, source: Source) -> None:
        """Print the output as it is."""
        self._write(now.lines)
        self._warn(now.warnings)

    def unchanged(self, source: Source, problem: str | None) -> None:
        """Tell a problem once."""
        if problem is not None and problem != self._problem:
            self._warn([f"watch: {problem}"])
        self._problem = problem

    def changed(
        self, before: _Shown, now: _Shown, source: Source, n_changes: int, problem: str | None
    ) -> None:
        """Print where the source stands, and the lines that are gone and new."""
        self._write([f"--- {_where(source)}", *differences(before.lines, now.lines)])
        self._warn([line for line in now.warnings if line not in before.warnings])
        self.unchanged(source, problem)

    def _write(self, lines: Sequence[str]) -> None:
        out = self._context.out
        if lines:
            out.write("\n".join(lines) + "\n")
        out.flush()

    def _warn(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._context.warn(line)


class _Painted:
    """Draws each output over the one before, on a terminal."""

    is_terminal = True

    def __init__(self, context: Context, inner: Sequence[str]) -> None:
        assert isinstance(context.out, Canvas)
        self._out: Canvas = context.out
        self._command = inner[0] if _is_line(inner) else quote_words([*map(_raw, inner)])
        self._has_colour = wants_colour(True)
        self._lines: list[MarkedLine] = []
        self._warnings: list[str] = []
        self._n_changes, self._what = 0, ""
        self._drawn: object = None

    @property
    def width(self) -> int:
        """Columns that the command can use."""
        return max(self._out.width - (0 if self._has_colour else 2), 10)

    def first(self, now: _Shown, source: Source) -> None:
        """Begin with an empty screen; what was on it is scrolled up."""
        self._out.paint("\n" * max(self._out.height - 1, 0))
        self._take(now, now)
        self._draw(source, None)

    def unchanged(self, source: Source, problem: str | None) -> None:
        """Draw the header anew."""
        self._draw(source, problem)

    def changed(
        self, before: _Shown, now: _Shown, source: Source, n_changes: int, problem: str | None
    ) -> None:
        """Draw the new output with its marks."""
        counts = self._take(before, now)
        self._n_changes, self._what = n_changes, str(counts)
        self._draw(source, problem)

    def _take(self, before: _Shown, now: _Shown) -> Counts:
        self._lines, counts = marked(before.lines, now.lines)
        self._warnings = now.warnings
        return counts

    def _header(self, source: Source, problem: str | None) -> tuple[str, str]:
        changes = f"{self._n_changes} change{'' if self._n_changes == 1 else 's'}"
        parts = [_where(source), changes + (f" ({self._what})" if self._what else "")]
        return f"watch: {self._command}", " · ".join([*parts, *([problem] if problem else [])])

    def _draw(self, source: Source, problem: str | None) -> None:
        """Draw everything, unless the screen has just that."""
        head, state = self._header(source, problem)
        width, height = self._out.width, self._out.height
        same = (head, state, self._lines, self._warnings, width, height)
        if same == self._drawn:
            return
        self._drawn = same
        rows = [self._heading(head, width), self._heading(state, width)]
        # A row stays for the cursor.
        room = max(height - len(rows) - 1, 1)
        behind = [_cut(text, width) for text in self._warnings[: max(room // 3, 1)]]
        if behind:
            behind.insert(0, "")
        room = max(room - len(behind), 1)
        lines = self._lines
        if len(lines) > room:
            n_shown = max(room - 1, 0)
            note = f"... {len(lines) - n_shown} more lines than the terminal shows"
            rows += [self._row(line, width) for line in lines[:n_shown]] + [_cut(note, width)]
        else:
            rows += [self._row(line, width) for line in lines]
        text = "".join(f"{row}{_CLEAR_ROW}\n" for row in [*rows, *behind])
        self._out.paint(_HOME + text + _CLEAR_REST)

    def _heading(self, text: str, width: int) -> str:
        text = _cut(text, width)
        return f"{_BOLD}{text}{_PLAIN}" if self._has_colour else text

    def _row(self, line: MarkedLine, width: int) -> str:
        """A line as it fits the row, with its marks."""
        out = [] if self._has_colour else [f"{line.mark} "]
        left = self.width
        for text, is_new in line.pieces:
            cut = _cut(text, left)
            left -= _width(cut)
            out.append(f"{_REVERSE}{cut}{_PLAIN}" if is_new and self._has_colour else cut)
            if left <= 0:
                break
        return "".join(out)


def _view(context: Context, inner: Sequence[str]) -> _Painted | _Plain:
    can_draw = context.out.is_terminal and isinstance(context.out, Canvas)
    if can_draw and os.environ.get("TERM") not in ("dumb", "unknown"):
        return _Painted(context, inner)
    return _Plain(context, inner)


def _where(source: Source) -> str:
    """Where a source stands, such as ``offset 4111 2026-11-21T08:28:00Z``."""
    status = source.status()
    if status.offset is None:
        return "nothing yet"
    time = "" if status.timestamp_ms is None else f" {iso_time(status.timestamp_ms)}"
    return f"offset {status.offset}{time}"


def _cut(text: str, width: int) -> str:
    """The beginning of a text that fits some columns, with nothing that steers the terminal."""
    text = escape(text[: 4 * max(width, 0)].expandtabs())
    if _width(text) <= width:
        return text
    text = text[: max(width, 0)]
    while text and _width(text) > width:
        text = text[:-1]
    return text


def _width(text: str) -> int:
    return display_width(text)


def _split(command: Command, args: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of ``watch`` itself, and those of the command that it runs."""
    with_value = {flag for o in command.manual.options if o.metavar for flag in o.flags}
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "-":
        if args[at] == "--":
            return args[:at], args[at + 1 :]
        at += 2 if args[at] in with_value else 1
    return args[:at], args[at:]


def _seconds(parsed: Parsed, flag: str, least: float) -> float | None:
    text = parsed.values.get(flag)
    if text is None:
        return None
    digits = text.replace(".", "", 1)
    if digits.isascii() and digits.isdigit() and least <= float(text) <= _LONGEST_S:
        return float(text)
    raise UsageError(f"{flag} {text}: must be a number of seconds from {least:g} to {_LONGEST_S:g}")


def _is_line(inner: Sequence[str]) -> bool:
    """Whether the command was given as one word, a line to be split."""
    return len(inner) == 1 and any(c.isspace() for c in inner[0])


def _raw(word: str) -> str:
    return str(word)


def _is_refused(name: str) -> bool:
    command = get(name)
    return command is not None and (command.shell_only or command.name == WatchCommand.name)


def _refuse(command: Command, habits: Habits, inner: Sequence[str]) -> None:
    """Refuse what makes no sense to be run again and again.

    Raises:
        UsageError: It is such a command, or none is given.
    """
    words = expand_aliases(habits, split(inner[0]) if _is_line(inner) else inner)
    if not words:
        raise UsageError("which command?", hint=f"usage: {command.manual.synopsis}")
    if _is_refused(words[0]):
        raise UsageError(f"{words[0]}: can't be watched", hint=_SHELL_COMMANDS)
    if words[0] == "save":
        raise UsageError("save: can't be watched", hint="it writes a directory once")
    if words[0] == "log" and any(w == "--follow" or w.startswith("-f") for w in words[1:]):
        raise UsageError("log --follow: follows changes by itself", hint="leave out --follow")


COMMAND = WatchCommand()
