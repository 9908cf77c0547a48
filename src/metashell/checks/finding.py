"""The findings of checks, as data: severity, place, meaning, and advice.

`CheckReport` collects findings with a limit per kind: damage may consist of nothing but findings,
and a million of one kind say no more than a hundred and a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final, Self, TypedDict, Unpack

from metashell.dataclass import dataclass
from metashell.log.fault import Fault


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    ERROR = "error"
    """Something is lost or wrong."""
    WARNING = "warning"
    """Not as it should be, but a node gets into this state without damage."""
    NOTE = "note"
    """Worth knowing."""


OF_STATE: Final = frozenset(
    {
        "config-unknown-topic",
        "directory-unknown",
        "leader-fenced",
        "leaderless",
        "replica-unknown-broker",
        "topic-empty",
    }
)
"""Codes of warnings about the cluster's state: nothing is damaged, and ``health`` tells more."""


class FaultPlace(TypedDict, total=False):
    """Where a batch or a record is; see `Finding`."""

    file: str | None
    pos: int | None
    offset: int | None


class FindingPlace(FaultPlace, total=False):
    """Where a finding is."""

    path: str | None


def place_of(fault: Fault) -> FaultPlace:
    """Where a fault is."""
    return {"file": fault.file, "pos": fault.pos, "offset": fault.offset}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a check; None where a place does not apply."""

    severity: Severity
    code: str
    """Stable name for scripts, in kebab case."""
    message: str
    """The meaning, in a sentence without a full stop."""
    action: str | None = None
    """The advice, in a sentence without a full stop."""
    file: str | None = None
    pos: int | None = None
    """Byte position in the file, of the batch where one is concerned."""
    offset: int | None = None
    """Log offset concerned, or the next one expected."""
    path: str | None = None
    """Path in the shell's file system."""

    @classmethod
    def error(
        cls, code: str, message: str, action: str | None = None, **place: Unpack[FindingPlace]
    ) -> Self:
        """Make an error."""
        return cls(Severity.ERROR, code, message, action, **place)

    @classmethod
    def warning(
        cls, code: str, message: str, action: str | None = None, **place: Unpack[FindingPlace]
    ) -> Self:
        """Make a warning."""
        return cls(Severity.WARNING, code, message, action, **place)

    @classmethod
    def note(
        cls, code: str, message: str, action: str | None = None, **place: Unpack[FindingPlace]
    ) -> Self:
        """Make a note."""
        return cls(Severity.NOTE, code, message, action, **place)


@dataclass(slots=True)
class CheckReport:
    """Findings so far; at most `limit` of one code and severity are kept, the others counted."""

    limit: int | None = None
    findings: list[Finding] = field(default_factory=list)
    _counts: dict[tuple[Severity, str], int] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Add one."""
        key = (finding.severity, finding.code)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if self.limit is None or count <= self.limit:
            self.findings.append(finding)

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add all."""
        for finding in findings:
            self.add(finding)

    def add_rows(
        self,
        severity: Severity,
        code: str,
        rows: Sequence[int],
        make: Callable[[int], Finding],
    ) -> None:
        """Add a finding for each row, made only where it is kept."""
        key = (severity, code)
        before = self._counts.get(key, 0)
        kept = len(rows) if self.limit is None else max(self.limit - before, 0)
        self._counts[key] = before + len(rows)
        self.findings.extend(make(int(row)) for row in rows[:kept])

    def count(self, severity: Severity, *, of_state: bool | None = None) -> int:
        """How many of a severity were found, those not kept included.

        Args:
            severity: Which.
            of_state: Whether those of `OF_STATE` alone count, or the others alone; None: both.
        """
        return sum(
            n
            for (of, code), n in self._counts.items()
            if of is severity and of_state in (None, code in OF_STATE)
        )

    def left_out(self) -> Iterator[tuple[Severity, str, int]]:
        """(severity, code, how many were not kept)."""
        for (severity, code), count in self._counts.items():
            if self.limit is not None and count > self.limit:
                yield severity, code, count - self.limit
