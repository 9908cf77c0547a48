"""``find``: paths of a subtree, chosen by tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from metashell.commands.find.delegated import ask_delegate, relay
from metashell.commands.find.expression import Query
from metashell.commands.find.parser import parse
from metashell.commands.find.search import Search
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, parse_options
from metashell.commands.framework.targets import Targets
from metashell.commands.rows.columns import one_table, text
from metashell.commands.rows.command import OUTPUT, RowsCommand
from metashell.commands.rows.node_columns import CHANGED, DEPTH, KIND
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.errors import ExitCode

_OUTPUT = "--output"


class FindCommand(RowsCommand):
    """Print the paths below directories that pass a test."""

    group = "look"
    name = "find"
    summary = "Print the paths of a subtree, all or those that pass tests."
    noun = ("node", "nodes")
    tables = one_table(
        text("path", "The node's path, as it can be given to cat."),
        text("name", "Its last component."),
        KIND,
        DEPTH,
        *CHANGED,
    )
    has_text = True
    own_options = frozenset({"-o"})
    manual = Manual(
        synopsis="find [--encode] [--output FORMAT] [PATH...] [EXPRESSION]",
        description=(
            "Prints each PATH (. without one) and every path below it, parents before children, "
            "in the order of the names. An EXPRESSION chooses: its tests are evaluated from left "
            "to right until one fails, as find of GNU does.\n\n"
            "Patterns know * ? [a-z] [!a-z] and the backslash; here * matches slashes too. "
            "Tests join by standing side by side (or -a), by -o, and are negated by !; "
            "( and ) group. Where no action but -prune is named, -print is meant.\n\n"
            "-newer-than, -changed-since and -changed-before ask for the last change, as ls -l "
            "shows it; a directory's is the newest of all below it, removals included. A time "
            "means the first batch that reaches it. What nothing is known of never passes, and "
            "what is known to be at or before a checkpoint only passes -changed-before where "
            "that asks for a later point.\n\n"
            "Tests from -offline to -isr are of partitions: they pass for the leaf of a partition, "
            "under byName and under byId, and for nothing else. They mean what kafka-topics means "
            "by them. -fenced and -controlled-shutdown pass for the leaf of a broker. -config "
            "passes for each value that is set under /image/configs, for the directory of its "
            "resource there, and for the topic's directories and the broker's leaf that it is set "
            "for; the cluster's defaults for brokers (BROKER) are not each broker's. Values are "
            "compared as they are shown: what is redacted can't be found.\n\n"
            "-exec runs a command of metashell, {} in its words being the path. After ; (or \\;) "
            "it is run for each path and passes where the command succeeds; after {} + it is run "
            "with many paths at once, passes always, and where a run fails find's status is 1. "
            "Names that can't be typed are then written as with --encode. at, cd, exit and watch "
            "are refused.\n\n"
            "In a FORMAT of -printf %p is the path, %P the path without PATH, %H that PATH, %f "
            "the last component, %h what stands before it, %d the level below PATH, %y d or f, %t "
            "and %o the time and the offset of the last change, %% a percent sign; \\n, \\t, \\0 "
            "and \\\\ are a line feed, a tab, a zero byte and a backslash. %-20p takes at least 20 "
            "columns, aligned to the left; %.5p at most 5.\n\n"
            "Rows stand for what -print prints; -print0, -printf, -count and -exec do not go with "
            "them. As -o means or, their format is asked for by --output alone."
        ),
        options=(
            Option(("-name",), "The last component matches the pattern.", metavar="PATTERN"),
            Option(("-iname",), "The same, whatever the case.", metavar="PATTERN"),
            Option(
                ("-path", "-wholename"),
                "The whole path as printed matches the pattern.",
                metavar="PATTERN",
            ),
            Option(("-ipath",), "The same, whatever the case.", metavar="PATTERN"),
            Option(
                ("-regex",),
                "The whole path matches the regular expression (Python's).",
                metavar="REGEX",
            ),
            Option(("-iregex",), "The same, whatever the case.", metavar="REGEX"),
            Option(
                ("-type",), "Directories (d) or leaves (f).", metavar="KIND", choices=("d", "f")
            ),
            Option(
                ("-newer-than",),
                "Last changed at that time or later: 10m, 12:25 or 2026-09-21T14:14.",
                metavar="AGE|TIME",
            ),
            Option(
                ("-changed-since",),
                "Last changed at that POINT or later: see `man at`.",
                metavar="POINT",
            ),
            Option(("-changed-before",), "Last changed before that POINT.", metavar="POINT"),
            Option(("-offline",), "A partition without a leader."),
            Option(
                ("-under-replicated",),
                "A partition with fewer replicas in sync than it has, adding ones left out.",
            ),
            Option(
                ("-under-min-isr",),
                "A partition with fewer in sync than min.insync.replicas, or without a leader.",
            ),
            Option(("-at-min-isr",), "A partition with as many in sync as that."),
            Option(("-no-preferred-leader",), "A partition not led by the first of its replicas."),
            Option(("-reassigning",), "A partition with replicas being added or removed."),
            Option(("-elr",), "A partition with eligible leader replicas."),
            Option(("-recovering",), "A partition recovering from an unclean election."),
            Option(("-leader",), "A partition led by that broker.", metavar="ID"),
            Option(("-replica",), "A partition with a replica on that broker.", metavar="ID"),
            Option(("-isr",), "A partition with that broker in sync.", metavar="ID"),
            Option(("-fenced",), "A broker that is fenced."),
            Option(("-controlled-shutdown",), "A broker in controlled shutdown."),
            Option(
                ("-config",),
                "A config that is set, or what it is set for; both may be patterns.",
                metavar="KEY[=VALUE]",
            ),
            Option(("-maxdepth",), "Go down at most N levels; 0 is PATH itself.", metavar="N"),
            Option(("-mindepth",), "Leave out what is fewer than N levels down.", metavar="N"),
            Option(("-true",), "Always passes."),
            Option(("-false",), "Never passes."),
            Option(("-print",), "Print the path and a newline."),
            Option(("-print0",), "Print the path and a zero byte."),
            Option(("-printf",), "Print what the format says.", metavar="FORMAT"),
            Option(("-count",), "Print at the end how many paths came here."),
            Option(("-exec",), "Run a command, up to ; or {} +.", metavar="COMMAND"),
            Option(("-prune",), "Do not go below this directory."),
            Option(("-quit",), "Stop at once."),
            Option(("-not", "!"), "The next test fails."),
            Option(("-a", "-and"), "Both pass."),
            Option(("-o", "-or"), "One of both passes; binds less than -a."),
            Option(
                ("--encode",),
                "Print names so that each path can be typed: a slash in a name "
                "as %2F, likewise spaces, quotes and wildcards.",
            ),
        ),
        examples=(
            ("find /image/features", "everything below a directory"),
            ("find / -name 'orders*'", "nodes whose name begins with orders"),
            ("find /image/topics -name 11 -type f", "partitions with the number 11"),
            ("find / -path '*/configs/*retention*'", "settings that speak of retention"),
            ("find /image -regex '.*/byName/payments/\\d'", "a regular expression"),
            ("find /image -maxdepth 1 -type d", "the parts of the image"),
            ("find / -name topics -prune -o -type f -print", "leaves, but for those of topics"),
            ("find --encode /image/scram -type f", "paths that can be given to cat"),
            (
                "find /image/configs -changed-since 900",
                "what a record from that offset on changed",
            ),
            (
                "find /image/topics/byName -newer-than 2026-11-22T12:38",
                "changed since a time; 2h: in the last two hours",
            ),
            ("find / -name min.insync.replicas -print -quit", "the first match alone"),
            ("find /image/topics/byName -offline -count", "how many partitions have no leader"),
            (
                "find /image/topics/byName -under-replicated -replica 104",
                "partitions that lack a replica, of those with one on broker 104",
            ),
            ("find /image/cluster -fenced", "brokers that are fenced"),
            (
                "find /image/topics/byName -type d -config 'retention.*'",
                "topics that set how long they keep records",
            ),
            (
                "find /image/configs -type f -config cleanup.policy=*compact*",
                "where a setting has a value",
            ),
            (
                "find /image/topics/byName/csv-imports -leader -1 -exec cat {} ;",
                "the texts of what was found",
            ),
            (
                "find /image/cluster -type f -printf '%-4f %t %o\\n'",
                "names with the time and offset of the last change",
            ),
            (
                "find /image/cluster --output csv --columns path,changed_time",
                "the same as CSV",
            ),
        ),
    )

    def parse(self, args: Sequence[str]) -> Parsed:
        """Sort its words out: the options of rows, and the expression."""
        query = parse(args)
        parsed = parse_options(self, query.row_words)
        if _OUTPUT in parsed.values:
            parsed.values[OUTPUT.flags[0]] = parsed.values.pop(_OUTPUT)
        if self.asking(parsed):
            query = parse(args, as_rows=True)
        parsed.arguments, parsed.read[self.name] = list(args), query
        return parsed

    def nothing(self, parsed: Parsed) -> str:
        """Its words are an expression, and no options."""
        return "no path matches"

    def answer(self, query: RowsQuery) -> None:
        """A row for each node that is printed."""
        needs_times = any(name.startswith("changed_") for name in query.columns or ())
        words = replace(query.parsed.read[self.name], row_times=needs_times)
        query.status = self._search(query.context, words, query.add)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Search here, or have others search that have the log."""
        query: Query = parsed.read[self.name]
        delegated = ask_delegate(context, parsed.arguments) if query.is_plain else None
        if delegated is not None:
            return relay(context, delegated, query.starts or (".",))
        return self._search(context, query)

    def _search(
        self,
        context: Context,
        query: Query,
        add: Callable[[Sequence[RowMapping]], None] | None = None,
    ) -> int:
        """Search each start in turn."""
        targets = Targets(context, self.name, query.starts or (".",))
        search = Search(context, query, targets.failed, add)
        targets.before_warning = search.flush
        for match in targets:
            search.below(match)
            if search.quit:
                break
        is_done = search.finish()
        return targets.status if is_done else ExitCode.FAILED

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose predicates, their values, and paths before the expression."""
        from metashell.commands.find.completion import complete_command, complete_value
        from metashell.commands.framework.completion import complete_options_and_paths

        inner = complete_command(context, args, word)
        if inner is not None:
            return inner
        columns = self.complete_row_columns(context, args, word)
        if columns is not None:
            return columns
        value = complete_value(context, args, word)
        if value is not None:
            return value
        if not word.startswith("-") and any(
            a.startswith("-") and not a.startswith("--") for a in args
        ):
            known = self.value_of(args)
            return [] if known is None else complete_options_and_paths(self, context, args, word)
        return complete_options_and_paths(self, context, args, word)

    def value_of(self, args: Sequence[str]) -> Option | None:
        """The option whose value comes next, if it has known ones."""
        for option in self.manual.options:
            if args and args[-1] in option.flags and option.choices:
                return option
        return None


COMMAND = FindCommand()
