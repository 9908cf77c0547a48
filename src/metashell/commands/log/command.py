"""``log``: the records of the log themselves, decoded, as lines or JSON."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.log.files import file_alone, paths_of
from metashell.commands.log.options import (
    COMPLETIONS,
    FOLLOW,
    Request,
    check_words,
    option_values,
    refuse_what_has_an_end,
    request_of,
)
from metashell.commands.log.output import TABLES, LinePrinter, Printer, RowPrinter
from metashell.commands.log.report import LogReport
from metashell.commands.rows.columns import Column
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import FORMATS, RowsQuery
from metashell.commands.shared.period import SINCE, UNTIL
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.commands.log.follow import LogGrowth
    from metashell.commands.log.keyed import KeyedRun
    from metashell.commands.rows.output import Shape
    from metashell.log.directory import MetadataLog
    from metashell.log.truncation import ReadUpTo
    from metashell.records.filter import Selection, TopicNames
    from metashell.records.lines import LineWriter
    from metashell.records.records import Records
    from metashell.records.stream import Block, LogPath, LogStream


class LogCommand(RowsCommand):
    """Print records."""

    group = "history"
    name = "log"
    summary = "Print the records of the log."
    one_cluster = True
    noun = ("record", "records")
    tables = TABLES
    has_text = True
    text_options = ("--json", "--batches")
    own_options = frozenset({"--json", "--limit", "-n"})
    manual = Manual(
        synopsis="log [-f] [OPTION...]",
        description=(
            "Prints the records of all segments in offset order, also those before the newest "
            "checkpoint. A line has the offset, the time, the leader epoch, the type and the "
            "fields that are set. Topic ids are shown as names. NoOp records are only counted, "
            "on stderr; --all, --type NoOp or a single --offset shows them.\n\n"
            "Several conditions must all hold. --topic finds records about the topics, also "
            "about deleted ones, and records that clear all ELRs. --broker finds records that "
            "register, fence or configure a broker, and partition records that name it. `man "
            "at` tells what a POINT may be.\n\n"
            "The records of a checkpoint are a state, not events. --checkpoints or --file shows "
            "them, with offsets that count from 0.\n\n"
            "--json prints one object a line: file, pos (the position of the batch), offset, "
            "timestamp, epoch, type, version and data. The last three are exactly as kafka- "
            "dump-log prints them. Control records have control instead of type and version. "
            "Records about a topic have its name in topic, or null. Records that can't be "
            "decoded have error and raw. Secrets are redacted. raw may hold a secret, so it "
            "only has size, position and digest; --show-secrets prints the bytes in hex.\n\n"
            "`metashell -d DIR log` also prints the log of a coordinator's partition, such as "
            "__consumer_offsets-3. -s prints one segment of it. A line has the fields of the key, "
            "-> and the fields of the value. The value null is a tombstone. A JSON line has the "
            "fields of the batch, type, key and value. The data of key and value are as in "
            "Kafka's own JSON. A record that can't be read has error, and broker: a broker skips "
            "or refuses it. A broker that refuses one record loads no group of the partition. "
            "--group finds records about groups, --transaction those about transactional ids. "
            "--topic and --partition find commits of offsets and transactions. --broker and "
            "--checkpoints are for metadata logs only.\n\n"
            "Rows (-o) have the same values as columns. Only jsonl, csv and tsv can be "
            "followed.\n\n"
            "--follow prints new records as they are committed. A directory does not say what "
            "is committed, so there it prints them as they are written. It stops at --limit, "
            "after the last offset asked for, or at ^C.\n\n"
            "Damage is reported on stderr and makes the exit status 1. A batch that is cut off "
            "at the end of the log is reported, but does not change the status."
        ),
        options=(
            Option(
                ("--type",),
                "Only records of these types, separated by commas: PartitionChange, "
                "PARTITION_CHANGE_RECORD or 5. May be repeated.",
                metavar="TYPE,...",
            ),
            Option(
                ("--not-type",),
                "No records of these types. May be repeated.",
                metavar="TYPE,...",
            ),
            Option(
                ("--offset",),
                "Only offsets from A to B. Either may be left out. N alone is one record.",
                metavar="A..B",
            ),
            Option(("--context",), "With --offset: also K offsets before and after.", metavar="K"),
            SINCE,
            UNTIL,
            Option(("--topic",), "Only records about topics whose name matches.", metavar="GLOB"),
            Option(
                ("--partition",), "Only records about partitions with this number.", metavar="P"
            ),
            Option(("--broker",), "Only records about this broker.", metavar="N"),
            Option(
                ("--group",),
                "In a coordinator's log: only records about groups whose id matches.",
                metavar="GLOB",
            ),
            Option(
                ("--transaction",),
                "In a coordinator's log: only records about transactional ids that match.",
                metavar="GLOB",
            ),
            Option(("--epoch",), "Only records of leader epochs from A to B.", metavar="A..B"),
            Option(("--control",), "Only control records of Raft."),
            Option(
                ("--grep",),
                "Only records whose line, as without --json, matches REGEX.",
                metavar="REGEX",
            ),
            Option(("--limit", "-n"), "Stop after N records.", metavar="N"),
            Option(("--tail",), "Print only the last N records.", metavar="N"),
            Option(
                ("--follow", "-f"),
                "Go on and print new records. --tail N begins with the last N; --tail 0 with none.",
            ),
            Option(("--all",), "Print NoOp records too."),
            Option(("--batches",), "Print the header of each batch before its first record."),
            Option(("--json",), "Print JSON lines."),
            Option(("--file",), "Print the records of one file of the directory.", metavar="NAME"),
            Option(("--checkpoints",), "Print the records of checkpoints instead, oldest first."),
        ),
        examples=(
            ("log --limit 10", "the first ten records"),
            ("log --tail 5 --json", "the last five, as JSON"),
            ("log --topic csv-imports --type PartitionChange", "what happened to its partitions"),
            ("log --offset 954 --context 3", "a record and its neighbours"),
            ("log --broker 101 --not-type Partition,PartitionChange", "a broker's own records"),
            ("log --checkpoints --control --batches", "headers and footers of checkpoints"),
            ("log --grep 'leader=-1' --limit 5", "records by what they say"),
            ("log --follow --topic 'orders' --limit 3", "go on until there were three"),
            ("log --follow --tail 0 --topic 'orders'", "only what happens from now on"),
            ("log --type ConfigRecord -o csv", "for a spreadsheet"),
            ("log --type PartitionChange --count", "how many there are"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Print the records asked for."""
        check_words(self, context, parsed)
        return super().run_parsed(context, parsed)

    def shape_of(self, parsed: Parsed, columns: Sequence[Column]) -> Shape:
        """How rows are to be written, which can't wait for the end of what is followed."""
        shape = super().shape_of(parsed, columns)
        if FOLLOW in parsed.switches:
            refuse_what_has_an_end(shape)
        return shape

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Print lines."""
        keyed = _of_coordinator(context, parsed)
        return (keyed or _Run(context, request_of(context, parsed))).run()

    def answer(self, query: RowsQuery) -> None:
        """Add the records asked for."""
        context = query.context
        keyed = _of_coordinator(context, query.parsed, query)
        query.status = (keyed or _Run(context, request_of(context, query.parsed), query)).run()

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose options, and types, topics, brokers and files as their values."""
        columns = self.complete_row_columns(context, args, word)
        if columns is not None:
            return columns
        flag = args[-1] if args and "--" not in args else ""
        if flag not in {o.flags[0] for o in self.manual.options if o.metavar is not None}:
            if word.startswith("-") or flag == "--output":
                return Command.complete(self, context, args, word)
            return []
        head, comma, last = word.rpartition(",") if "type" in flag else ("", "", str(word))
        names = FORMATS if flag == "-o" else option_values(context, flag, last)
        raw = getattr(word, "raw", word)
        return [
            Completion(f"{head}{comma}{name}", -len(raw), escape(name))
            for name in names
            if name.casefold().startswith(last.casefold())
        ][:COMPLETIONS]


class _Run:
    """One run of the command."""

    def __init__(self, context: Context, request: Request, query: RowsQuery | None = None) -> None:
        self._context, self._request, self._query = context, request, query
        source = context.needs_source()
        if request.follow and source.live is not None:
            source = source.refreshed()
        self._source = source
        self._report = LogReport(
            context, source.log.faults, follows=request.follow, hint=": see `check`"
        )
        self._n_hidden = 0
        self._left = request.limit

    def run(self) -> int:
        """Print, then tell what was left out and what is wrong."""
        paths = paths_of(self._source, self._request)
        names = self._topic_names()
        self._plain = self._text_writer(names)
        self._printer = self._printer_of(names)
        follower = self._follower()
        stream = self._stream(names, self._request.selection)
        if self._request.tail is None:
            self._forward(stream, paths)
        elif self._request.tail == 0:
            stream = self._from_now(names, paths)
        else:
            self._backward(stream, paths, self._request.tail)
        self._tell_the_rest()
        if follower is not None and self._left != 0:
            try:
                self._follow(follower, names, stream.ends)
            except KeyboardInterrupt:
                # The usual end: what was read before it is not lost.
                self._context.out.flush()
                raise
        self._report.whether_found(self._request.single, is_filtered=self._is_filtered)
        return self._report.status

    def _follower(self) -> LogGrowth | None:
        if not self._request.follow:
            return None
        from metashell.commands.log.follow import LogGrowth

        return LogGrowth(self._context, self._source)

    def _topic_names(self) -> TopicNames:
        """Names of topics; with --topic, all are known before the first record is looked at."""
        from metashell.records.filter import TopicNames

        request, log = self._request, self._source.log
        selection = request.selection
        alone = file_alone(self._source) is not None
        skips = selection.skips_batches or request.tail is not None or request.file is not None
        skips = (skips or request.checkpoints) and not alone
        names = TopicNames(matcher=selection.topic)
        if not alone:
            self._look_elsewhere(names, log, segments_too=skips)
        return names

    def _look_elsewhere(self, names: TopicNames, log: MetadataLog, *, segments_too: bool) -> None:
        """Let names be looked for in a log's files; with --topic, in all that are needed now."""
        from metashell.records.stream import records_with_names, sources_needed

        if names.matcher is None:
            names.elsewhere = records_with_names(
                log, self._source.registry, segments_too=segments_too
            )
        else:
            # Without its name a topic's records would not be found: faults are told of.
            names.elsewhere = records_with_names(
                log, self._source.registry, segments_too=segments_too, on_fault=self._report.fault
            )
            for _ in range(sources_needed(log, segments_too=segments_too)):
                for records in next(names.elsewhere, ()):
                    stop_if_cancelled(self._context)
                    names.learn(records)

    def _stream(self, names: TopicNames, selection: Selection) -> LogStream:
        from metashell.records.stream import LogStream

        noop = self._source.registry.by_name.get("NoOpRecord")
        hide = noop.api_key if noop is not None and self._request.hides_noops else None
        return LogStream(
            self._source.registry,
            selection,
            names,
            self._report.fault,
            poll=lambda: stop_if_cancelled(self._context),
            hide=hide,
            learns_all=self._report.is_following,
        )

    def _text_writer(self, names: TopicNames) -> LineWriter:
        from metashell.records.lines import readable_lines

        return readable_lines(self._source.redaction, names)

    def _json_writer(self, names: TopicNames) -> LineWriter:
        from metashell.records.lines import json_lines

        return json_lines(self._source.redaction, names)

    def _printer_of(self, names: TopicNames) -> Printer:
        request, source, context = self._request, self._source, self._context
        if self._query is None:
            writer = self._json_writer(names) if request.json else self._plain
            return LinePrinter(context, writer, batches=request.batches)
        from metashell.records.rows import RecordRows

        names_of = [column.name for column in TABLES[0].columns]
        looked_at = self._query.columns
        columns = [name for name in names_of if looked_at is None or name in looked_at]
        rows = RecordRows(names, source.redaction, columns)
        return RowPrinter(rows, self._query)

    # The two directions.

    def _forward(self, stream: LogStream, paths: Sequence[LogPath]) -> None:
        for block in stream.blocks(paths):
            stop_if_cancelled(self._context)
            rows, lines = self._lines(block)
            left = self._left
            if left is not None and len(lines) >= left:
                rows, lines = rows[:left], lines[:left]
                self._printer.write(lines)
                self._n_hidden += sum(row < rows[-1] for row in block.hidden.tolist())
                self._left = 0
                return
            if left is not None:
                self._left = left - len(lines)
            self._printer.write(lines)
            self._n_hidden += len(block.hidden)

    def _from_now(self, names: TopicNames, paths: Sequence[LogPath]) -> LogStream:
        """A stream that has come to the end of the newest files, without a record of them."""
        from metashell.records.filter import MAX_OFFSET

        nothing = replace(self._request.selection, first_offset=MAX_OFFSET)
        stream = self._stream(names, nothing)
        # With the newest one its end may be truncated away.
        for path in paths[-2:]:
            for _ in stream.blocks_of(path, is_last=True):
                stop_if_cancelled(self._context)
        return stream

    def _backward(self, stream: LogStream, paths: Sequence[LogPath], n: int) -> None:
        """From the newest file to as old a one as is needed; each is read forwards."""
        kept: deque[tuple[Any, int]] = deque()
        behind = 0
        for i, path in reversed(list(enumerate(paths))):
            of_file: deque[tuple[Any, int]] = deque(maxlen=n - len(kept))
            before = 0
            for block in stream.blocks_of(path, is_last=i == len(paths) - 1):
                stop_if_cancelled(self._context)
                rows, lines = self._lines(block, n)
                hidden = block.hidden.tolist()
                for row, line in zip(rows, lines, strict=True):
                    n_before = bisect_left(hidden, row)
                    of_file.append((line, before + n_before))
                    before, hidden = 0, hidden[n_before:]
                before += len(hidden)
            behind += before
            if kept and of_file:
                kept[0] = (kept[0][0], kept[0][1] + before)
                behind -= before
            kept.extendleft(reversed(of_file))
            if len(kept) == n:
                break
        # NoOps before the first line are not among what was asked for.
        self._n_hidden = behind + sum(n_before for _, n_before in list(kept)[1:])
        lines = [line for line, _ in kept]
        if self._left is not None:
            lines = lines[: self._left]
            self._left -= len(lines)
        self._printer.write(lines)

    def _follow(self, follower: LogGrowth, names: TopicNames, ends: dict[str, ReadUpTo]) -> None:
        """Print what comes, until nothing more is asked for."""
        from metashell.commands.log.follow import last_offset

        self._report.is_following = True
        selected = self._request.selection
        segments = set(self._source.log.listing.segments)
        self._context.out.flush()
        for log in follower.logs():
            if segments.isdisjoint(log.listing.segments):
                # It goes on behind a checkpoint, which knows the topics made in the gap.
                self._look_elsewhere(names, log, segments_too=False)
            segments = set(log.listing.segments)
            if last_offset(ends) >= selected.last_offset:
                return
            paths, selection = follower.new_paths(log, selected, ends, compacts=False)
            stream = self._stream(names, selection)
            stream.ends = ends
            self._forward(stream, paths)
            # Not when the next records come: those may be long in coming.
            self._context.out.flush()
            if self._left == 0:
                return

    def _lines(
        self, block: Block[Records], last: int | None = None
    ) -> tuple[list[int], Sequence[Any]]:
        """Rows of a block's records, and what is written of each.

        Args:
            block: Some records.
            last: Only so many, the last ones.
        """
        records, rows, request = block.records, block.rows, self._request
        if not len(rows):
            return [], []
        if request.single is not None:
            found = bool((records.frames.offset[rows] == request.single).any())
            self._report.single_found |= found
        if request.grep is not None:
            from metashell.records.grep import matching_rows

            rows = matching_rows(partial(self._plain.lines, records), rows, request.grep)
        if last is not None:
            rows = rows[-last:]
        if not len(rows):
            return [], []
        return rows.tolist(), self._printer.items(records, rows)

    def _tell_the_rest(self) -> None:
        self._report.rest()
        if self._n_hidden and self._request.grep is None:
            records = "record" if self._n_hidden == 1 else "records"
            self._context.warn(f"log: {self._n_hidden} NoOp {records} not shown (--all shows them)")

    @property
    def _is_filtered(self) -> bool:
        selection = self._request.selection
        return selection.by_content or selection.since_ms is not None or self._report.n_faults > 0


def _of_coordinator(
    context: Context, parsed: Parsed, query: RowsQuery | None = None
) -> KeyedRun | None:
    """A run on a coordinator's log; None where another one is open."""
    source = context.needs_source().of_coordinator
    if source is None:
        return None
    from metashell.commands.log.keyed import KeyedRun

    return KeyedRun(context, source, parsed, query)


COMMAND = LogCommand()
