"""``grep``: leaves whose text has a line that matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import Targets
from metashell.commands.rows.columns import integer, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.errors import ExitCode, UsageError


class GrepCommand(RowsCommand):
    """Search the texts of leaves."""

    group = "look"
    name = "grep"
    summary = "Print the lines of nodes' texts that match a regular expression."
    noun = ("line", "lines")
    tables = one_table(
        text("path", "The leaf's path, which can be given to cat."),
        integer("line", "The number of the line in its text."),
        text("text", "The line."),
    )
    has_text = True
    text_options = ("-l", "-c", "-n", "-h", "-q")
    own_options = frozenset({"--count", "--exit-code", "-n", "-v"})
    manual = Manual(
        synopsis="grep [-ilcvnhqFE] [-m N] [--encode] [-o FORMAT] REGEX [PATH...]",
        description=(
            "Searches the text of each leaf below each PATH (. without one), as cat prints it, and "
            "prints each line that matches behind the leaf's path, in the order of find.\n\n"
            "A REGEX is one of Python's and may match anywhere in a line. Secrets are shown as "
            "[redacted], here as everywhere, so nothing can be learnt by guessing.\n\n"
            "The status is 0 where a line was found, 1 where none was or a PATH is not there, and "
            "2 where something is wrong with the words."
        ),
        options=(
            Option(("-i", "--ignore-case"), "Whatever the case."),
            Option(("-v", "--invert-match"), "Lines that do not match."),
            Option(("-l", "--files-with-matches"), "Only the paths of leaves with such a line."),
            Option(
                ("-c", "--count"),
                "Only how many lines each leaf has; those with none are left out.",
            ),
            Option(("-n", "--line-number"), "Put the number of the line in its text before it."),
            Option(("-h", "--no-filename"), "Leave out the paths."),
            Option(("-q", "--quiet"), "Print nothing; stop at the first line."),
            Option(("-m", "--max-count"), "At most N lines of each leaf.", metavar="N"),
            Option(("-F", "--fixed-strings"), "REGEX is plain text."),
            Option(("-E", "--extended-regexp"), "REGEX is a regular expression, as it is anyway."),
            Option(
                ("-e", "--regexp"),
                "What to look for; several times for any of several.",
                metavar="REGEX",
            ),
            Option(
                ("--encode",),
                "Print names so that each path can be typed, as find --encode does.",
            ),
        ),
        examples=(
            ("grep leader=-1 /image/topics/byName/csv-imports", "partitions that nobody leads"),
            ("grep -l 'isr=\\[\\]' /image/topics/byName", "paths of those with none in sync"),
            ("grep -ic plaintext /image/cluster", "in how many lines each speaks of it"),
            ("grep -hF fenced=true /image/cluster", "plain text, without the paths"),
            ("grep -v -e delete -e compact /image/configs/TOPIC:orders", "what is neither"),
            ("grep -o csv PLAINTEXT /image/cluster", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Search each start in turn."""
        if not parsed.arguments and "-e" not in parsed.every:
            raise UsageError("what to look for?", hint=f"usage: {self.manual.synopsis}")
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """A row for each line."""
        query.status = self._search(query.context, query.parsed, query.add)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Each line behind its leaf's path."""
        return self._search(context, parsed)

    def _search(
        self,
        context: Context,
        parsed: Parsed,
        add: Callable[[Sequence[RowMapping]], None] | None = None,
    ) -> int:
        from metashell.commands.grep.search import GrepQuery, GrepSearch

        arguments, patterns = list(parsed.arguments), parsed.every.get("-e", [])
        if not patterns:
            patterns = [str(arguments.pop(0))]
        query = GrepQuery.of(patterns, parsed.switches, parsed.count("-m"))
        targets = Targets(context, self.name, arguments or (".",))
        encode = "--encode" in parsed.switches
        search = GrepSearch(context, query, targets.failed, encode=encode, add=add)
        targets.before_warning = search.flush
        for match in targets:
            search.below(match)
            if search.quits:
                break
        search.flush()
        if search.quits:
            return ExitCode.OK
        return targets.status if search.found else ExitCode.FAILED


COMMAND = GrepCommand()
