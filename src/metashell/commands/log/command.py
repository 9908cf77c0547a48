"""``log``: the records of the log themselves, decoded, as lines or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.log.options import (
    COMPLETIONS,
    FOLLOW,
    check_words,
    option_values,
    refuse_what_has_an_end,
)
from metashell.commands.log.output import BATCHES, TABLES
from metashell.commands.rows.columns import Column
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import FORMATS, RowsQuery
from metashell.commands.shared.period import SINCE, UNTIL
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.commands.rows.output import Shape


class LogCommand(RowsCommand):
    """Print the records of the log.

    Prints the records of all segments in offset order, also those before the newest checkpoint.
    A line has the offset, the time, the leader epoch, the type and the fields that are set.
    Topic ids are shown as names. NoOp records are only counted, on stderr; --all, --type NoOp
    or a single --offset shows them.

    Several conditions must all hold. --topic finds records about the topics, also about deleted
    ones, and records that clear all ELRs. --broker finds records that register, fence or
    configure a broker, and partition records that name it. `man at` tells what a POINT may be.

    The records of a checkpoint are a state, not events. --checkpoints or --file shows them,
    with offsets that count from 0.

    --json prints one object a line: file, pos (the position of the batch), offset, timestamp,
    epoch, type, version and data. The last three are exactly as kafka-dump-log prints them.
    Control records have control instead of type and version. Records about a topic have its
    name in topic, or null. Records that can't be decoded have error and raw. Secrets are
    redacted. raw may hold a secret, so it only has size, position and digest; --show-secrets
    prints the bytes in hex.

    `metashell -d DIR log` also prints the log of a coordinator's partition, such as
    __consumer_offsets-3. -s prints one segment of it. A line has the fields of the key, -> and
    the fields of the value. The value null is a tombstone. A JSON line has the fields of the
    batch, type, key and value. The data of key and value are as in Kafka's own JSON. A record
    that can't be read has error, and broker: a broker skips or refuses it. A broker that
    refuses one record loads no group of the partition. --group finds records about groups,
    --transaction those about transactional ids. --topic and --partition find commits of offsets
    and transactions. --broker and --checkpoints are for metadata logs only.

    `metashell -d DIR/orders-0 log` prints the batches of any other topic's partition. A line
    has offsets, time, leader epoch and what else the header of the batch says. No key and no
    value is read or shown. Rows have the columns BATCH_COLUMNS. Only options about offsets,
    times, epochs and files work there, --control and --grep.

    Rows (-o) have the same values as columns. Only jsonl, csv and tsv can be followed.

    --follow prints new records as they are committed. A directory does not say what is
    committed, so there it prints them as they are written. It stops at --limit, after the last
    offset asked for, or at ^C.

    Damage is reported on stderr and makes the exit status 1. A batch that is cut off at the end
    of the log is reported, but does not change the status.
    """

    group = "history"
    one_cluster = True
    noun = ("record", "records")
    tables = TABLES
    text_options = ("--json", "--batches")
    manual = Manual(
        synopsis="log [-f] [OPTION...]",
        constants=(("BATCH_COLUMNS", ", ".join(column.name for column in BATCHES.columns)),),
        options=(
            Option(
                ("--type",),
                "Only records of these types, separated by commas: PartitionChange, "
                "PARTITION_CHANGE_RECORD or 5. May be repeated.",
                metavar="TYPE,...",
                repeatable=True,
            ),
            Option(
                ("--not-type",),
                "No records of these types. May be repeated.",
                metavar="TYPE,...",
                repeatable=True,
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
            Option(("--tail", "--newest"), "Print only the last N records.", metavar="N"),
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
        """Print the records asked for, or of a topic's log the batches."""
        if self is COMMAND and context.source is not None and context.source.of_topic is not None:
            return _OF_TOPIC.run_parsed(context, parsed)
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
        from metashell.commands.log.run import LogRun

        return LogRun(context, parsed).run()

    def answer(self, query: RowsQuery) -> None:
        """Add the records asked for."""
        from metashell.commands.log.run import LogRun

        query.status = LogRun(query.context, query.parsed, query).run()

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


class _TopicLogCommand(LogCommand):
    """Print batches."""

    tables = (BATCHES,)
    noun = ("batch", "batches")


COMMAND = LogCommand()
_OF_TOPIC = _TopicLogCommand()
