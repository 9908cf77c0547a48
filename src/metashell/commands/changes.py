"""``changes``: every record that touched a node, from what to what."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.command_line import Word
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.framework.targets import matches, shown, stop_if_cancelled
from metashell.commands.rows.columns import integer, json_value, one_table, text, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.shared.period import SINCE, UNTIL, Period, is_before, period_of
from metashell.commands.shared.resources import meant_paths
from metashell.commands.shared.wrapped import wrapped
from metashell.errors import ExitCode, MetashellError, SourceError
from metashell.fs.change_parts import IMAGE
from metashell.fs.change_texts import change_text
from metashell.fs.escape import escape
from metashell.fs.path import decode_name, encode_path, is_absolute, normalise, split
from metashell.fs.pattern import Pattern
from metashell.schema.dump import finite
from metashell.schema.timestamps import iso_time

if TYPE_CHECKING:
    from metashell.fs.changes import Newest, NodeChange
    from metashell.sources.source import Source

_CHUNK_LINES = 512

NO_PRINCIPAL = "the log does not record who asked for a change, only which controller wrote it"

_VERBOSE = Option(
    ("-v", "--verbose"), "Show defaults of new nodes, and both epochs of every change."
)

_TABLES = one_table(
    integer("offset", "The record's offset; null for what a checkpoint says."),
    time_at("time", "Its time."),
    integer("epoch", "Its leader epoch.", shown=False),
    integer("controller", "The controller that led in that epoch; null if no record says."),
    text("type", "Its type."),
    text("path", "The node that it changed."),
    text(
        "change",
        "created, removed, changed, unchanged, refused (Kafka does not apply it), or present (in "
        "the oldest checkpoint).",
    ),
    json_value("fields", "A JSON object: by the name of a field, a list of old and new value."),
    integer(
        "at_or_before",
        "For what a checkpoint says: the last offset that it holds.",
        shown=False,
    ),
    text("reason", "Why it was refused.", shown=False),
    text(
        "log",
        "The coordinator's log that the offset is in; null for the metadata log.",
        shown=False,
    ),
)


class ChangesCommand(RowsCommand):
    """Show every record that changed a node, with old and new values.

    Prints every record that changed a node or anything below it, oldest first. Each line has
    the offset, the time, the epoch, the controller that led, the record type, the path and the
    change. A terminal of fewer than 160 columns has two lines instead: when and where, then the
    change, with the record type for -v. All segments and checkpoints of the directory are used.

    PATH is the current directory unless it is given. It may name a deleted node, or a resource:
    topic:orders stands for the topic and its configs. So does orders, where no other resource
    has this name. A topic that was deleted and made again is followed through both lives. The
    wildcards * ? [a-z] {a,b} match within one component. Topics go by name unless PATH is below
    byId.

    A ? stands for a value that no record in the directory has. A state that the oldest
    checkpoint says is marked as at or before its last offset.

    A line of a new node leaves out what is the default. It leaves out partitionEpoch and
    leaderEpoch if anything else changed. -v shows all of it, and so do rows (-o).

    The log does not record the user who asked for a change, only the controller that wrote it.

    Changes below /groups, /transactions and /share are told by the coordinators' logs. Their
    offsets are those of the log that the line names. Compaction removes older records there: a
    ? stands for what they said.
    """

    group = "history"
    takes_paths = True
    one_cluster = True
    noun = ("change", "changes")
    tables = _TABLES
    manual = Manual(
        synopsis="changes [-o FORMAT] [--since POINT] [--until POINT] [--newest N] [PATH...]",
        options=(
            _VERBOSE,
            SINCE,
            UNTIL,
            Option(("-n", "--limit"), "Stop after N changes.", metavar="N"),
            Option(("--newest",), "Print only the last N changes of each PATH.", metavar="N"),
            Option(
                ("--records",),
                "Read only the newest N records about PATH that lie between --since and --until. "
                "This is quick. A ? stands for values that earlier records have.",
                metavar="N",
            ),
        ),
        examples=(
            ("changes /image/topics/byName/orders/0", "every change of a partition"),
            ("changes topic:orders", "every change of a topic and of its configs"),
            ("changes --since -10m", "what changed in the last ten minutes of the log"),
            ("changes --newest 3 /image/cluster/brokers", "the last three changes of brokers"),
            ("changes -o jsonl /image/topics/byName/pay*", "for a script"),
            ("changes -o csv /image/configs", "for a spreadsheet"),
            ("changes --count /image/cluster/brokers", "the number of changes"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Print the changes of each path."""
        parsed.arguments = parsed.arguments or ["."]
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each change."""
        looked_at = query.columns
        in_full = looked_at is None or not _OF_FIELDS.isdisjoint(looked_at)
        found = _Found(query.context, query.parsed, in_full=in_full)
        # A count needs one column only, and any of them does.
        names = [name for name in _CELLS if looked_at is None or name in looked_at] or ["offset"]
        query.add(map(_row_of({name: _CELLS[name] for name in names}), found.changes()))
        found.tell_break()
        if not found.is_of_coordinators:
            query.remarks.append(NO_PRINCIPAL)
        query.status = found.status

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """A line for each change."""
        found = _Found(context, parsed)
        lines_of = _Lines(context, is_verbose=_VERBOSE.flags[0] in parsed.switches)
        for argument in parsed.arguments:
            lines = (lines_of.line(change) for change in found.of(argument))
            _print(context, lines)
        found.tell_break()
        if not found.is_of_coordinators:
            context.warn(f"changes: {NO_PRINCIPAL}")
        return found.status


class _Found:
    """The changes asked for; `status` is 1 once a path named nothing."""

    def __init__(self, context: Context, parsed: Parsed, *, in_full: bool = True) -> None:
        self.status = ExitCode.OK
        self._in_full = in_full
        self.is_of_coordinators = False
        """Whether the last change was told by a coordinator's log, where no controller writes."""
        self._context, self._arguments = context, parsed.arguments
        self._left, self._last = parsed.count("-n"), parsed.count("--newest")
        self._followed = parsed.count("--records")
        warn = lambda text: context.warn(f"changes: {text}")  # noqa: E731
        self._is_part = not {*SINCE.flags, *UNTIL.flags}.isdisjoint(parsed.values)
        self._period = period_of(_source_of(context), parsed, warn)
        self._within = _window(self._period)
        self._leaders: Mapping[int, int] | None = None
        self._asks_image = False
        """Whether a path is about the image, whose records the metadata log has."""

    def changes(self) -> Iterator[NodeChange]:
        """The changes of all paths."""
        for argument in self._arguments:
            yield from self.of(argument)

    def of(self, argument: str) -> Iterator[NodeChange]:
        """The changes of one path, or only its last ones."""
        from metashell.fs.changes import Newest

        n, newest = 0, None
        if self._followed is not None:
            newest = Newest(self._followed, self._period.since, self._period.until, self._within)
        path = _Wanted(self._context, argument)
        self._asks_image |= not path.tests or bool(path.tests[0](IMAGE))
        exists = path.exists(self._context)
        every = self._merged([path] if exists else [path, *self._named(argument)], newest)
        last = every if self._last is None else deque(every, maxlen=self._last)
        for change in islice(last, self._left):
            n += 1
            if self._left is not None:
                self._left -= 1
            self.is_of_coordinators = change.log is not None
            if n % _CHUNK_LINES == 0:
                stop_if_cancelled(self._context)
            yield change
        if newest is not None and newest.has_older:
            self._context.warn(
                f"changes: {path.text}: only the newest {newest.limit:,} records about it were "
                "followed, older ones were not; ? stands for what was before"
            )
        if n or self._left == 0:
            return
        if exists:
            when = " in that time" if self._is_part else ""
            which = "no record" if self._whole_from() is None else "no record that is left"
            self._context.warn(f"changes: {path.text}: {which} changed it{when}")
        else:
            self._context.warn(
                f"changes: {path.text}: No such file or directory, now or in the log"
            )
            self.status = ExitCode.FAILED

    def tell_break(self) -> None:
        """Say where changes that were asked for are not known, because files are damaged."""
        begin = self._whole_from() if self._asks_image else None
        if begin is not None:
            self._context.warn(
                f"changes: before offset {begin:,} offsets are missing or damaged: changes there"
                " are not all told; `check` names the files"
            )
            self.status = ExitCode.FAILED

    def _whole_from(self) -> int | None:
        """The offset from which on all changes are known, where earlier ones are asked for too."""
        source, since = _source_of(self._context), self._period.since
        begin = source.newest.history.whole_from() if source.capabilities.has_image else None
        if begin is None or (since is not None and not is_before(since, begin)):
            return None
        return begin[0]

    def _named(self, argument: str) -> list[_Wanted]:
        """The nodes of the resource that an argument names, where it is no path."""
        source = _source_of(self._context)
        names = meant_paths(source.image, argument) if source.capabilities.has_image else []
        return [_Wanted(self._context, name) for name in names]

    def _merged(self, paths: Sequence[_Wanted], newest: Newest | None) -> Iterator[NodeChange]:
        """The changes of some paths that lie in the period, by time."""
        leaders = self._known_leaders()
        every = [
            path.changes(self._context, newest, leaders, in_full=self._in_full)
            for path in {normalise(path.text, self._context.cwd): path for path in paths}.values()
        ]
        merged = merge(*every, key=_moment) if len(every) > 1 else every[0]
        return filter(self._within, merged)

    def _known_leaders(self) -> Mapping[int, int]:
        """Who led, as far as the node's files tell; the log tells of the others."""
        if self._leaders is None:
            try:
                self._leaders = _source_of(self._context).leaders
            except SourceError as error:
                self._context.warn(escape(f"changes: {error.message}"))
                self.status, self._leaders = ExitCode.FAILED, {}
        return self._leaders


def _source_of(context: Context) -> Source:
    """The source whose records are followed, also where these are coordinators' alone."""
    source = context.source
    is_enough = source is not None and not source.capabilities.has_image
    return source if source is not None and is_enough else context.needs_source()


class _Wanted:
    """A path argument: a test for each component of it."""

    def __init__(self, context: Context, argument: str) -> None:
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

    def changes(
        self,
        context: Context,
        newest: Newest | None,
        leaders: Mapping[int, int],
        *,
        in_full: bool = True,
    ) -> Iterator[NodeChange]:
        """The changes of what the path means; those of coordinators can do without their fields."""
        from metashell.fs.changes import find_changes

        source = _source_of(context)
        if source.capabilities.has_image:
            records, redaction = source.history_records, source.redaction
            yield from find_changes(records, redaction, self.tests, self.literal, leaders, newest)
        if self.tests and self.tests[0](IMAGE):
            return
        for name, directory in source.coordinator_directories.items():
            if not self.tests or self.tests[0](name):
                from metashell.fs.record_changes import find_record_changes

                yield from find_record_changes(
                    directory, self.tests, self.literal, newest, in_full=in_full
                )

    def exists(self, context: Context) -> bool:
        """Whether anything is there now."""
        try:
            return next(matches(context, self._argument), None) is not None
        except MetashellError:
            return False


def _window(period: Period) -> Callable[[NodeChange], bool]:
    """Whether a change lies between two points, both included."""
    low, high = period.since, period.until

    def within(change: NodeChange) -> bool:
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
            if high.last_ms is not None and time is not None and time > high.last_ms:
                return False
        return True

    return within


def _moment(change: NodeChange) -> tuple[int, int]:
    return change.timestamp_ms or 0, change.offset or 0


def _print(context: Context, lines: Iterator[str]) -> None:
    """Write lines in chunks."""
    held: list[str] = []
    for line in lines:
        held.append(line)
        if len(held) >= _CHUNK_LINES:
            context.out.write("".join(held))
            held.clear()
    context.out.write("".join(held))


_CELLS: Final[Mapping[str, Callable[[NodeChange], object]]] = {
    "offset": lambda change: change.offset,
    "time": lambda change: change.timestamp_ms,
    "epoch": lambda change: change.epoch,
    "controller": lambda change: change.controller,
    "type": lambda change: change.record,
    "path": lambda change: encode_path(change.path),
    "change": lambda change: change.verb,
    "fields": lambda change: finite(change.fields),
    "at_or_before": lambda change: change.at_or_before,
    "reason": lambda change: change.reason,
    "log": lambda change: change.log,
}
_WIDE: Final = 160
"""A terminal of so many columns has a line for each change, a narrower one two."""
_INDENT: Final = "    "
_OF_FIELDS: Final = frozenset({"change", "fields", "reason"})
"""Columns of what records changed."""


def _row_of(
    cells: Mapping[str, Callable[[NodeChange], object]],
) -> Callable[[NodeChange], RowMapping]:
    """Makes a row of some columns."""
    return lambda change: {name: cell(change) for name, cell in cells.items()}


class _Lines:
    """Readable lines."""

    def __init__(self, context: Context, *, is_verbose: bool) -> None:
        self._context, self._is_verbose = context, is_verbose

    def line(self, change: NodeChange) -> str:
        path = shown(self._context, encode_path(change.path))
        text = change_text(
            change.verb,
            change.fields,
            record=change.record,
            reason=change.reason,
            in_checkpoint=change.offset is None,
            is_verbose=self._is_verbose,
        )
        what = shown(self._context, text)
        parts = [_when(change), *_by(change), change.record, path, what]
        if not self._context.out.is_terminal or self._context.out.width >= _WIDE:
            return "  ".join(parts) + "\n"
        # When and where, then what.
        width = self._context.out.width
        where = wrapped(f"{_when(change)}  {path}", width, _INDENT)
        by = [*_by(change), *([change.record] if self._is_verbose else [])]
        lines = wrapped(f"{what}  ({', '.join(by)})" if by else what, width - len(_INDENT))
        return "\n".join([*where, *(f"{_INDENT}{line}" for line in lines)]) + "\n"


def _when(change: NodeChange) -> str:
    if change.offset is None:
        return f"at or before checkpoint {change.at_or_before}"
    assert change.timestamp_ms is not None
    return f"{change.offset}  {iso_time(change.timestamp_ms)}"


def _by(change: NodeChange) -> list[str]:
    """The log of an offset, or who led when the record was written."""
    if change.offset is None:
        return []
    if change.log is not None:
        return [change.log]
    controller = "?" if change.controller is None else change.controller
    return [f"epoch {change.epoch}", f"controller {controller}"]


COMMAND = ChangesCommand()
