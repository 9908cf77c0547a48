"""``check`` of a coordinator's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.checks.coordinator_log import check_files, check_records
from metashell.checks.finding import CheckReport, Severity
from metashell.commands.check.summary import summary_line
from metashell.errors import ExitCode

if TYPE_CHECKING:
    from metashell.sources.coordinator import CoordinatorSource


class KeyedCheck:
    """One run over a coordinator's log.

    Args:
        source: The log.
        report: Takes what is found.
    """

    def __init__(self, source: CoordinatorSource, report: CheckReport) -> None:
        self._source, self.report = source, report

    def all(self, *, quick: bool) -> None:
        """Check the files, and unless it is to be quick the records."""
        self.report.extend(check_files(self._source.partition_log))
        if not quick:
            self.report.extend(check_records(self._source.keyed_records))

    @property
    def status(self) -> int:
        """The exit status."""
        return ExitCode.FAILED if self.report.count(Severity.ERROR) else ExitCode.OK

    def summary(self, *, with_state: bool) -> str:
        """The last line. There is no cluster's state, whether it is asked for or not."""
        del with_state
        files = self._source.log.loaded.files
        n_records = len(self._source.keyed_records.frames)
        n_batches = sum(len(file.chain.positions) for file in files)
        counts = [(self.report.count(severity), severity) for severity in Severity]
        return summary_line(len(files), n_batches, n_records, counts)
