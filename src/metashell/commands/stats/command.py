"""``stats``: one page about the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed, one_of, refuse_more
from metashell.commands.rows.columns import Column
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.shared.unread import status_after, unread_of
from metashell.commands.shared.usage_scan import Survey, subject_of, write_lines
from metashell.commands.stats.rows import TABLES
from metashell.commands.stats.timeline_text import timeline_lines
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.commands.stats.page import Page
    from metashell.log.unread import Unread
    from metashell.records.density import Axis

_PAGE = ("totals", "files", "types", "hours", "partitions", "brokers", "batches")
_TIMELINE = "timeline"
_GROUPED_BY = {
    "types": "type",
    "hours": "hour",
    "partitions": "partition",
    "brokers": "broker",
    "groups": "group",
    "transactions": "transaction",
}
_SECTIONS = (*_PAGE, _TIMELINE, "groups", "transactions")
_DEFAULT_ROWS = 10
_TIMELINE_ROWS = 40
_AXES = ("time", "offset")


class StatsCommand(RowsCommand):
    """Figures about the log."""

    group = "history"
    name = "stats"
    summary = "Show figures about the log: files, types, hours, busiest partitions and brokers."
    takes_paths = False
    one_cluster = True
    tables = TABLES
    has_text = True
    own_options = frozenset({"-n", "--limit"})
    manual = Manual(
        synopsis=("stats [-h] [--section NAME] [-n N] [--by AXIS] [--checkpoints] [-o FORMAT]"),
        description=(
            "Counts the records of every segment in the directory, as `du` does. Shows the totals, "
            "the share of NoOp records, and how often a checkpoint was made. Shows the files, the "
            "records by type, the last hours and the largest batches. Shows the partitions and "
            "brokers with the most records.\n\n"
            "LEADER and ISR count changes. For a partition: records that name a leader or an ISR. "
            "For a broker: records that make it leader or put it into the ISR. A checkpoint's time "
            "and offset are those of the last record in it. AGE is the time from a file's last "
            "record to the last record of the log, or to now on a live quorum.\n\n"
            "`--section timeline` divides the log into N parts of equal time, or of equal offsets "
            "with --by offset. It counts the records of each part by subject. A batch counts "
            "whole, by its last time or offset. The timeline counts faults of batches; `check` "
            "finds all faults.\n\n"
            "The log of a coordinator's partition (`-d DIR/__consumer_offsets-3`) has groups or "
            "transactions in place of partitions and brokers, and no timeline. SUPERSEDED are "
            "records that compaction drops: a later record of the same key counts, or the "
            "transaction was aborted.\n\n"
            "Rows (-o) are those of one section: the totals, or the section that --section names."
        ),
        options=(
            Option(("-h",), "Print sizes in KiB, MiB, GiB."),
            Option(("--section",), "Print only this section.", "NAME", _SECTIONS),
            Option(
                ("-n", "--limit"),
                f"Print N rows of each section. Default: {_DEFAULT_ROWS} rows, all files, and "
                f"{_TIMELINE_ROWS} parts of the timeline.",
                "N",
            ),
            Option(("--by",), "Divide the timeline by time (default) or offset.", "AXIS", _AXES),
            Option(("--checkpoints",), "Count the records of checkpoints too."),
        ),
        examples=(
            ("stats", "the whole page"),
            ("stats --section brokers", "the brokers with the most records"),
            ("stats -n 3 --section batches", "the three largest batches"),
            ("stats --json --section files", "checkpoints and segments, for scripts"),
            ("stats --section timeline -n 60", "what was written when, in sixty parts"),
            ("stats -o csv --section types", "how many records of each type, as CSV"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Count and print."""
        refuse_more(self, parsed.arguments)
        section = one_of("--section", parsed.values.get("--section", _SECTIONS[0]), _SECTIONS)
        if "--by" in parsed.values and section != _TIMELINE:
            raise UsageError("--by needs --section timeline", hint="add --section timeline")
        return super().run_parsed(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """The rows of one section."""
        section = query.parsed.values.get("--section", _SECTIONS[0])
        if section == _TIMELINE:
            rows, _, unread = self._timeline(query.context, query.parsed)
            query.add(rows)
            query.status = status_after(query.context, self.name, unread)
            return
        page, query.status = self._page(query.context, query.parsed, [section])
        query.add(page.rows(section))

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """The whole page, or a section of it."""
        section = parsed.values.get("--section")
        if section == _TIMELINE:
            rows, axis, unread = self._timeline(context, parsed)
            write_lines(context, timeline_lines(rows, axis))
            return status_after(context, self.name, unread)
        sections = _sections(context) if section is None else [section]
        page, status = self._page(context, parsed, sections)
        lines: list[str] = []
        for name in sections:
            if len(sections) > 1:
                lines += ["", name] if lines else [name]
            lines += page.lines(context, name, human="-h" in parsed.switches)
        write_lines(context, lines)
        return status

    def _page(self, context: Context, parsed: Parsed, sections: Sequence[str]) -> tuple[Page, int]:
        """What is counted for some sections, and the exit status."""
        _refuse_other_logs(context, sections)
        n_rows = parsed.count("-n")
        limit = n_rows or _DEFAULT_ROWS
        grouped_by = {by for section, by in _GROUPED_BY.items() if section in sections} | {"type"}
        survey = Survey(context, self.name, grouped_by, limit if "batches" in sections else 0)
        counts_checkpoints = "--checkpoints" in parsed.switches
        survey.count(checkpoints=counts_checkpoints)
        if "partitions" in sections:
            survey.find_names()
        usage = survey.usage
        checkpoints = [file for file in usage.files if file.is_checkpoint]
        if not counts_checkpoints and {"totals", "files"} & set(sections):
            checkpoints += survey.describe_checkpoints()
        from metashell.commands.stats.page import Page
        from metashell.sources.log_clock import clock_of

        page = Page
        if context.needs_source().of_coordinator is not None:
            from metashell.commands.stats.keyed_page import KeyedPage as page
        ends_ms = clock_of(context.needs_source().newest).origin_ms
        return page(usage, checkpoints, limit, n_rows, ends_ms), survey.status

    def _timeline(self, context: Context, parsed: Parsed) -> tuple[list[RowMapping], Axis, Unread]:
        """The parts of the log, what they are equally long in, and what of it was not read."""
        from metashell.commands.stats.timeline import density_of_source, timeline_rows
        from metashell.records.density import Axis

        _refuse_other_logs(context, [_TIMELINE])
        axis = Axis(one_of("--by", parsed.values.get("--by", _AXES[0]), _AXES))
        n = parsed.count("-n") or _TIMELINE_ROWS
        source = context.needs_source()
        density = density_of_source(source, context.cancelled)
        rows = timeline_rows(density, n, axis, source.registry)
        return rows, axis, unread_of(density.faults, source.log)

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """That of the section."""
        section = parsed.values.get("--section", _SECTIONS[0])
        return TABLES[_SECTIONS.index(one_of("--section", section, _SECTIONS))].columns


def _sections(context: Context) -> Sequence[str]:
    """The sections of the page."""
    subject = subject_of(context.needs_source())
    if subject is None:
        return _PAGE
    return ("totals", "files", "types", "hours", f"{subject}s", "batches")


def _refuse_other_logs(context: Context, sections: Sequence[str]) -> None:
    """Refuse a section about what a log does not have."""
    of_coordinator = context.needs_source().of_coordinator
    known: Sequence[str] = (*_PAGE, _TIMELINE)
    what = "a metadata log"
    if of_coordinator is not None:
        known, what = tuple(_sections(context)), str(of_coordinator.partition_log.partition)
    for section in sections:
        if section not in known:
            hint = f"--section {', '.join(known)} work here"
            raise UsageError(f"--section {section}: {what} does not have that", hint=hint)


COMMAND = StatsCommand()
