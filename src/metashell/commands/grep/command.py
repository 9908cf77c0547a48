"""``grep``: leaves whose text has a line that matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metashell.commands.framework.command import IMAGE_IMPORTS, Context, Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.framework.targets import Targets
from metashell.commands.rows.columns import integer, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.errors import ExitCode, UsageError


class GrepCommand(RowsCommand):
    """Print the lines of nodes' texts that match a regular expression.

    Searches the text of every leaf below each PATH, as cat prints it. Prints the matching
    lines, each after the path of its leaf. Without a PATH it searches the current directory.

    REGEX is a Python regular expression. It may match anywhere in a line. Secrets are searched
    as [redacted], so guessing finds nothing.

    Exit status: 0 if a line matched, 1 if no line matched or a PATH does not exist, 2 if the
    arguments are wrong.
    """

    group = "look"
    takes_paths = True
    noun = ("line", "lines")
    tables = one_table(
        text("path", "The leaf's path, which can be given to cat."),
        integer("line", "The number of the line in its text."),
        text("text", "The line."),
    )
    imports = (*IMAGE_IMPORTS, "pyarrow.compute")
    text_options = ("-l", "-c", "-n", "-h", "-q")
    own_options = frozenset({"--exit-code"})
    manual = Manual(
        synopsis="grep [-ilcvnhqFE] [-m N] [--encode] [-o FORMAT] REGEX [PATH...]",
        options=(
            Option(("-i", "--ignore-case"), "Ignore upper and lower case."),
            Option(("-v", "--invert-match"), "Print the lines that do not match."),
            Option(
                ("-l", "--files-with-matches"),
                "Print only the paths of leaves with a matching line.",
            ),
            Option(
                ("-c", "--count"),
                "Print only the number of matching lines of each leaf that has any.",
            ),
            Option(("-n", "--line-number"), "Print the line number before each line."),
            Option(("-h", "--no-filename"), "Print the lines without paths."),
            Option(
                ("-q", "--quiet"),
                "Print nothing and stop at the first match. The exit status tells.",
            ),
            Option(("-m", "--max-count"), "Print at most N lines of each leaf.", metavar="N"),
            Option(("-F", "--fixed-strings"), "Take REGEX as plain text."),
            Option(
                ("-E", "--extended-regexp"), "Take REGEX as a regular expression (the default)."
            ),
            Option(
                ("-e", "--regexp"),
                "Search for this. May be repeated: a line matches if any REGEX does.",
                metavar="REGEX",
                repeatable=True,
            ),
            Option(
                ("--encode",),
                "Print paths that can be typed, as find --encode does.",
            ),
        ),
        examples=(
            ("grep leader=-1 /image/topics/byName/csv-imports", "partitions without a leader"),
            ("grep -l 'isr=\\[\\]' /image/topics/byName", "paths of partitions with an empty ISR"),
            ("grep -ic plaintext /image/cluster", "the number of lines that mention it, by leaf"),
            ("grep -hF fenced=true /image/cluster", "plain text, without the paths"),
            (
                "grep -v -e delete -e compact /image/configs/TOPIC:orders",
                "settings that mention neither word",
            ),
            ("grep -o csv PLAINTEXT /image/cluster", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Search each start in turn."""
        if not parsed.arguments and "-e" not in parsed.every:
            raise UsageError("REGEX is missing", hint=f"usage: {self.manual.synopsis}")
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
        from metashell.parts.partition_fields import LISTS

        arguments, patterns = list(parsed.arguments), parsed.every.get("-e", [])
        if not patterns:
            patterns = [str(arguments.pop(0))]
        query = GrepQuery.of(patterns, parsed.switches, parsed.count("-m"))
        targets = Targets(context, self.name, arguments or (".",))
        encode = "--encode" in parsed.switches
        search = GrepSearch(context, query, targets.failed, encode=encode, add=add)
        targets.before_warning = search.flush
        if context.source is not None:
            # A partition's text has all of them.
            context.source.expect(LISTS)
        for match in targets:
            search.below(match)
            if search.quits:
                break
        search.flush()
        if search.quits:
            return ExitCode.OK
        return targets.status if search.found else ExitCode.FAILED


COMMAND = GrepCommand()
