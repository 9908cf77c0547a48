"""``check`` of a coordinator's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.checks.coordinator_log import check_files, check_records
from metashell.checks.finding import CheckReport, Severity
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
        found = ", ".join(_many(n, severity) for n, severity in counts if n)
        return (
            f"{_many(len(files), 'file')}, {_many(n_batches, 'batch', 'batches')},"
            f" {_many(n_records, 'record')}: {found or 'no damage found'}"
        )


def _many(n: int, one: object, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
