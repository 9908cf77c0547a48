"""``changes``: every record that touched a node, from what to what."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metashell.commands.base import Command, Context, Manual, Option
from metashell.commands.options import parse_options
from metashell.commands.targets import shown, stop_if_cancelled
from metashell.commands.words import Word
from metashell.errors import ExitCode, MetashellError, UsageError
from metashell.fs.path import decode_name, encode_path, is_absolute, normalise, split
from metashell.schema.times import iso_time

if TYPE_CHECKING:
    from metashell.fs.changes import Change

_CHUNK_LINES = 512
_WIDEST_VALUE = 200
"""Characters of one value that a line shows; JSON has all."""

NO_PRINCIPAL = "the log does not record who asked for a change, only which controller wrote it"


class Changes(Command):
    """Tell what became of nodes."""

    name = "changes"
    summary = "Show every record that touched a node, and what it changed."
    one_cluster = True
    manual = Manual(
        synopsis="changes [--json] [--since POINT] [--until POINT] [-n N] PATH...",
        description=(
            "Prints every record that touched a node or anything below it, oldest first: offset, "
            "time, epoch and the controller that led in it, record type, path, and what changed "
            "from what to what. All segments and checkpoints of the directory are used, also "
            "those that the newest image does not need.\n\n"
            "PATH may name what is gone; a topic made again under the same name is followed "
            "through all its lives. A ? stands for what no record at hand tells; what the oldest "
            "checkpoint says is marked as at or before its last offset. * ? [a-z] {a,b} match "
            "within one component. Topics are told by name unless PATH goes below byId.\n\n"
            "The log does not record the principal who asked for a change."
        ),
        options=(
            Option(("--json",), "A JSON object a line."),
            Option(("--since",), "Leave out what was before an offset or time.", metavar="POINT"),
            Option(("--until",), "Leave out what was after an offset or time.", metavar="POINT"),
            Option(("-n",), "The last N changes only.", metavar="N"),
        ),
        examples=(
            ("changes /image/topics/byName/orders/0", "the life of a partition"),
            ("changes /image/configs", "every setting that was changed"),
            ("changes -n 3 /image/cluster/brokers", "the last three changes of brokers"),
            ("changes --json /image/topics/byName/topic-02*", "for a script"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the changes of each path."""
        parsed = parse_options(self, args)
        if not parsed.arguments:
            raise UsageError("which path?", hint=f"usage: {self.manual.synopsis}")
        within = _window(context, parsed.values.get("--since"), parsed.values.get("--until"))
        write = _json_line if "--json" in parsed.switches else _Lines(context).line
        status = ExitCode.OK
        for argument in parsed.arguments:
            path = _Wanted(context, argument)
            found = (change for change in path.changes(context) if within(change))
            lines = (write(change) for change in found)
            n_printed = _print(context, lines, parsed.count("-n"))
            if not n_printed and not path.exists(context):
                context.warn(f"changes: {path.text}: No such file or directory, now or in the log")
                status = ExitCode.FAILED
        context.warn(f"changes: {NO_PRINCIPAL}")
        return status


class _Wanted:
    """A path argument: a test for each component of it."""

    def __init__(self, context: Context, argument: str) -> None:
        from metashell.fs.pattern import Pattern

        wild = not isinstance(argument, Word) or argument.wild
        typed = argument.pattern if isinstance(argument, Word) and wild else str(argument)
        self.text = str(argument)
        self._argument = argument
        # Wildcards hold no slash, so a pattern's parts are those of a path.
        below = 0 if is_absolute(typed) else len(split(context.cwd))
        names = split(normalise(typed, context.cwd))
        parts = [(name, wild and i >= below) for i, name in enumerate(names)]
        self.tests: list[Callable[[str], object]] = []
        self.literal: list[str | None] = []
        for name, is_pattern in parts:
            literals = Pattern(name).literals if is_pattern else (name,)
            if literals is not None and len(literals) == 1:
                self.literal.append(decode_name(literals[0]))
                self.tests.append({literals[0], decode_name(literals[0])}.__contains__)
            else:
                self.literal.append(None)
                self.tests.append(Pattern(name).match)

    def changes(self, context: Context) -> Iterator[Change]:
        """The changes of what the path means."""
        from metashell.fs.changes import find_changes

        source = context.needs_source()
        return find_changes(
            source.history_records, source.redaction, self.tests, self.literal, source.leaders
        )

    def exists(self, context: Context) -> bool:
        """Whether anything is there now."""
        from metashell.commands.targets import matches

        try:
            return next(matches(context, self._argument), None) is not None
        except MetashellError:
            return False


def _window(context: Context, since: str | None, until: str | None) -> Callable[[Change], bool]:
    """Whether a change lies between two points, both included; None for no bound."""
    from metashell.log.point import parse_point

    low = None if since is None else parse_point(since)
    high = None if until is None else parse_point(until)

    def within(change: Change) -> bool:
        offset = change.at_or_before if change.offset is None else change.offset
        time = change.timestamp_ms
        if low is not None:
            if change.offset is None:
                return False
            if low.offset is not None and (offset or 0) < low.offset:
                return False
            if low.timestamp_ms is not None and (time is None or time < low.timestamp_ms):
                return False
        if high is not None:
            if high.offset is not None and (offset or 0) > high.offset:
                return False
            if high.timestamp_ms is not None and time is not None and time > high.timestamp_ms:
                return False
        return True

    return within


def _print(context: Context, lines: Iterator[str], last: int | None) -> int:
    """Write lines in chunks, or only the last ones; returns how many there were."""
    from collections import deque

    n = 0
    held: deque[str] = deque(maxlen=last)
    for line in lines:
        n += 1
        held.append(line)
        if len(held) >= _CHUNK_LINES and last is None:
            context.out.write("".join(held))
            held.clear()
        if n % _CHUNK_LINES == 0:
            stop_if_cancelled(context)
    context.out.write("".join(held))
    return n


class _Lines:
    """Readable lines."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def line(self, change: Change) -> str:
        path = shown(self._context, encode_path(change.path))
        what = shown(self._context, _what(change))
        return f"{_where(change)}  {change.record}  {path}  {what}\n"


def _where(change: Change) -> str:
    if change.offset is None:
        return f"at or before checkpoint {change.at_or_before}"
    assert change.timestamp_ms is not None
    controller = "?" if change.controller is None else change.controller
    return (
        f"{change.offset}  {iso_time(change.timestamp_ms)}"
        f"  epoch {change.epoch}  controller {controller}"
    )


def _what(change: Change) -> str:
    fields = change.fields
    if change.verb == "refused":
        return f"not applied: {change.reason}"
    if change.verb in ("created", "present"):
        parts = [
            _named(name, _value(new)) for name, (_, new) in fields.items() if new not in ([], None)
        ]
        return " ".join([change.verb, ", ".join(parts)]).rstrip()
    if change.verb == "removed":
        old = fields.get("", (None, None))[0]
        return "removed" if old is None else f"removed, was {_value(old)}"
    if not fields:
        return "written again, unchanged"
    pairs = [_named(name, f"{_value(old)} → {_value(new)}") for name, (old, new) in fields.items()]
    return ", ".join(pairs)


def _named(name: str, text: str) -> str:
    return f"{name} {text}" if name else text


def _value(value: Any) -> str:
    match value:
        case None:
            text = "none"
        case bool():
            text = "true" if value else "false"
        case list():
            text = f"[{','.join(map(str, value))}]"
        case Mapping():
            text = "{" + ", ".join(f"{k}: {v[0]}-{v[1]}" for k, v in value.items()) + "}"
        case _:
            text = str(value)
    return text if len(text) <= _WIDEST_VALUE else f"{text[: _WIDEST_VALUE - 1]}…"


def _json_line(change: Change) -> str:
    out: dict[str, object] = {
        "path": encode_path(change.path),
        "offset": change.offset,
        "at_or_before": change.at_or_before,
        "timestamp": change.timestamp_ms,
        "epoch": change.epoch,
        "controller": change.controller,
        "type": change.record,
        "change": change.verb,
        "fields": {name: list(pair) for name, pair in change.fields.items()},
    }
    if change.reason is not None:
        out["reason"] = change.reason
    return json.dumps(out, ensure_ascii=False) + "\n"


COMMAND = Changes()
