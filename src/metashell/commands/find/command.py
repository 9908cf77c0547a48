"""``find``: paths of a subtree, chosen by tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from metashell.commands.find.expression import Query
from metashell.commands.find.options import OPTIONS
from metashell.commands.find.parser import parse
from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.completion import (
    complete_commands,
    complete_words,
)
from metashell.commands.framework.options import Parsed, parse_options
from metashell.commands.framework.targets import Targets, stop_if_cancelled
from metashell.commands.rows.columns import CHANGED, DEPTH, KIND, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import OUTPUT, RowMapping, RowsQuery
from metashell.errors import ExitCode, NoSuchPathError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.sources.delegate import DelegatedSearch

_OUTPUT = "--output"


class FindCommand(RowsCommand):
    r"""Print the paths of a subtree, all or those that pass tests.

    Prints every path below each PATH, parents before children, sorted by name. Without a PATH
    it begins at the current directory. EXPRESSION chooses paths as in GNU find: tests run from
    left to right until one fails.

    Topics and their partitions have two paths, by name and by id. With an EXPRESSION, or as
    rows, find takes them once, by name. It takes them by id too if PATH or a pattern names
    byId, or a word is the id of a topic. Topics that share a name are taken by both paths.

    Patterns have * ? [a-z] [!a-z] and the backslash. Here * also matches slashes. Tests side by
    side (or with -a) must both pass; -o is or, ! negates, ( and ) group. Without an action
    other than -prune, -print is meant.

    -newer-than, -changed-since and -changed-before test the last change, as ls -l shows it. A
    directory changes with everything below it, also by removals. A time means the first batch
    that reaches it; `man at` tells what a POINT may be. A node without a known time never
    passes. A change at or before a checkpoint only passes -changed-before a later point.
    Groups, transactions and share partitions are in logs of their own. A POINT that is an
    offset means the one in that log.

    The tests from -offline to -isr pass for leaves of partitions. They mean the same as in
    kafka-topics. -fenced and -controlled-shutdown pass for leaves of brokers. -config passes
    for values below /image/configs, for the directory of their resource, for the topic and for
    the broker. Defaults of all brokers do not count for each broker. Values are compared as
    they are shown, so redacted values can't be found.

    -exec runs a command of metashell; {} stands for the path. With ; (or \;) it runs for each
    path, and passes if the command succeeds. With {} + it runs for many paths at once and
    always passes; if a run fails, the exit status is 1. Paths are then written as with
    --encode. at, cd, exit and watch can't be run.

    -printf FORMAT: %p is the path, %P the path without PATH, %H that PATH, %f the last
    component, %h the part before it. %d is the level below PATH, %y d or f, %t the time and %o
    the offset of the last change, %% a percent sign. \n, \t, \0 and \\ are newline, tab, zero
    byte and backslash. %-20p takes at least 20 columns; %.5p at most 5.

    Rows replace -print. They do not go with -print0, -printf, -count or -exec. Because -o means
    or, only --output asks for rows.
    """

    group = "look"
    takes_paths = True
    noun = ("node", "nodes")
    tables = one_table(
        text("path", "The node's path, as it can be given to cat."),
        text("name", "Its last component."),
        KIND,
        DEPTH,
        *CHANGED,
    )
    manual = Manual(
        synopsis="find [--encode] [--output FORMAT] [PATH...] [EXPRESSION]",
        options=OPTIONS,
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
        delegated = ask_others(context, parsed.arguments) if query.is_for_parts else None
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
        from metashell.commands.find.search import Search

        if context.source is not None and context.source.capabilities.delegates:
            # The image is decoded first: an error in that is no fault of a node.
            _ = context.source.image
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
        """Propose what may stand in an ``-exec``, else as every command."""
        inner = complete_command(context, args, word)
        return super().complete(context, args, word) if inner is None else inner

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose paths before the expression."""
        is_behind = any(a.startswith("-") and not a.startswith("--") for a in args)
        return [] if is_behind else super().propose(context, args, word)


def complete_command(context: Context, args: Sequence[str], word: str) -> list[Completion] | None:
    """Propose what may stand in the command of an ``-exec``; None where the word is in none."""
    start = next((i for i in range(len(args) - 1, -1, -1) if args[i] == "-exec"), None)
    if start is None:
        return None
    words = args[start + 1 :]
    if ";" in words or any(pair == ("{}", "+") for pair in pairwise(words)):
        return None
    return complete_words(context, words, word) if words else complete_commands(word)


def ask_others(context: Context, args: Sequence[str]) -> DelegatedSearch | None:
    """The search by those that have the source's log or read the fleet; None for this process."""
    if context.fleet is not None:
        from metashell.commands.find.parts import search_members

        return search_members(context, args)
    if context.opened is None:
        return None
    escapes = context.out.is_terminal
    return context.opened.delegate(lambda they: they.search(args, context.cwd, escapes=escapes))


def relay(context: Context, finding: DelegatedSearch, starts: Sequence[str]) -> int:
    """Print what others find; what they can't look at, or none of them has, is told at the end."""
    for found in finding:
        stop_if_cancelled(context)
        context.out.write(found)
    unread = list(finding.missing)
    for line in unread:
        context.warn(escape(f"find: {line}"))
    missing = [start for i, start in enumerate(starts) if i not in finding.matched]
    for start in missing:
        context.warn(escape(f"find: {NoSuchPathError(str(start)).message}"))
    return ExitCode.FAILED if unread or missing else ExitCode.OK


COMMAND = FindCommand()
