"""``check`` of coordinators' logs: one alone, or all in a node's log directories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from metashell.checks.coordinator_log import check_batches, check_files, check_records
from metashell.checks.finding import CheckReport, Finding, Severity
from metashell.commands.check.log_directories import check_log_directories
from metashell.commands.check.summary import summary_line
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.errors import ExitCode, SourceError
from metashell.schema.coordinators import CoordinatorLog

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context
    from metashell.sources.coordinator_logs import CoordinatorRecords
    from metashell.sources.source import Source


class KeyedCheck:
    """One run over the coordinators' logs that a source has.

    Args:
        context: Is asked whether to stop.
        source: The log of one, or a node's log directories.
        report: Takes what is found.
    """

    def __init__(self, context: Context, source: Source, report: CheckReport) -> None:
        self._context, self._source, self.report = context, source, report
        self.n_files = self.n_batches = self.n_records = 0
        self.unreadable = False
        self._is_one = source.of_coordinator is not None

    def all(self, *, quick: bool) -> None:
        """Check the files, and unless it is to be quick the records and their replay."""
        for log in CoordinatorLog:
            logs = self._source.coordinator_logs(log)
            for partition in () if logs is None else logs.partitions:
                stop_if_cancelled(self._context)
                assert logs is not None
                try:
                    found = logs.read(partition)
                except SourceError as error:
                    self.unreadable = True
                    self.report.add(
                        Finding(
                            severity=Severity.ERROR,
                            code="unreadable",
                            message=error.message,
                            action=error.hint or "run metashell as Kafka's user; check the disk",
                            file=str(partition),
                        )
                    )
                    continue
                self._one(found, quick=quick)
        if not (quick or self._is_one or self._source.capabilities.has_image):
            stop = partial(stop_if_cancelled, self._context)
            self.report.extend(check_log_directories(self._source, stop))

    def _one(self, found: CoordinatorRecords, *, quick: bool) -> None:
        """Check a partition."""
        self._add(found, check_files(found.log))
        records = found.records.whole
        self._add(found, check_batches(records))
        if not quick:
            self._add(found, check_records(records, found.partition.number))
        files = found.log.loaded.files
        self.n_files += len(files)
        self.n_batches += sum(len(file.chain.positions) for file in files)
        self.n_records += len(records.frames)

    def _add(self, found: CoordinatorRecords, findings: Iterable[Finding]) -> None:
        """Add findings; of one of several partitions its files are told with it."""
        for finding in findings:
            named = (
                finding
                if self._is_one
                else replace(finding, file=f"{found.partition}/{finding.file}")
            )
            self.report.add(named)

    @property
    def status(self) -> int:
        """The exit status."""
        if self.unreadable:
            return ExitCode.SOURCE
        return ExitCode.FAILED if self.report.count(Severity.ERROR) else ExitCode.OK

    def summary(self, *, with_state: bool) -> str:
        """The last line. There is no cluster's state, whether it is asked for or not."""
        del with_state
        counts = [(self.report.count(severity), severity) for severity in Severity]
        return summary_line(self.n_files, self.n_batches, self.n_records, counts)
