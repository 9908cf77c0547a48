"""The findings of checks, as data: kind, place and message.

`CheckReport` collects findings with a limit per kind: damage may consist of nothing but findings,
and a million of one kind say no more than a hundred and a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import TypedDict

from metashell.dataclass import dataclass
from metashell.findings.kind import OF_STATE, AtStart, FindingKind, Severity, StopKind
from metashell.findings.known import all_kinds
from metashell.log.fault import Fault


class FaultPlace(TypedDict, total=False):
    """Where a batch or a record is; see `Finding`."""

    file: str | None
    pos: int | None
    offset: int | None


def place_of(fault: Fault) -> FaultPlace:
    """Where a fault is."""
    return {"file": fault.file, "pos": fault.pos, "offset": fault.offset}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; None where a place does not apply."""

    code: str
    """The code of its kind."""
    message: str | None = None
    """The meaning, in a sentence without a full stop; None: that of the kind."""
    action: str | None = None
    """The advice, in a sentence without a full stop; None: that of the kind."""
    file: str | None = None
    pos: int | None = None
    """Byte position in the file, of the batch where one is concerned."""
    offset: int | None = None
    """Log offset concerned, or the next one expected."""
    path: str | None = None
    """Path in the shell's file system."""
    subject: str | None = None
    """The thing with its kind, such as ``topic orders``; None: the file, else the log."""
    count: int = 1
    """How many of what the kind counts."""
    command: Sequence[str] | None = None
    """The words of the next command; None: that of the kind; empty: none."""
    since_time_ms: int | None = None
    """When it began; None where nothing says."""
    at_start: AtStart | None = None
    """Its effect on a node that starts, where that is not its kind's."""
    kafka: str | None = None
    """Kafka's own text about it."""
    directory: str | None = None
    """The log directory that it is about."""
    after: StopKind | None = None
    """The stop before the start that it is about; None: any."""

    @property
    def kind(self) -> FindingKind:
        """Its kind."""
        return all_kinds()[self.code]

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.kind.severity

    @property
    def effect(self) -> AtStart | None:
        """Its effect on a node that starts; None for none."""
        return self.at_start or self.kind.at_start

    @property
    def meaning(self) -> str:
        """Its message, or the meaning of its kind."""
        return self.message or self.kind.meaning

    @property
    def do(self) -> str:
        """Its next step, or that of its kind."""
        return self.action or self.kind.do

    @property
    def avoid(self) -> str | None:
        """The thing that must not be done; an advice of its own says all."""
        return None if self.action else self.kind.avoid

    @property
    def what_to_do(self) -> str:
        """Its advice, or that of its kind."""
        return self.action or self.kind.action


def is_of_state(code: str) -> bool:
    """Whether a kind is about the cluster's state, and nothing is damaged."""
    kind = all_kinds()[code]
    return kind.about in OF_STATE and kind.severity is not Severity.CRITICAL


@dataclass(slots=True)
class CheckReport:
    """Findings so far; at most `limit` of one kind are kept, the others counted."""

    limit: int | None = None
    findings: list[Finding] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        """Add one."""
        self._counts[finding.code] += 1
        if self.limit is None or self._counts[finding.code] <= self.limit:
            self.findings.append(finding)

    def has(self, code: str) -> bool:
        """Whether there is any of a kind."""
        return bool(self._counts[code])

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add all."""
        for finding in findings:
            self.add(finding)

    def add_rows(self, code: str, rows: Sequence[int], make: Callable[[int], Finding]) -> None:
        """Add a finding for each row, made only where it is kept."""
        before = self._counts[code]
        kept = len(rows) if self.limit is None else max(self.limit - before, 0)
        self._counts[code] += len(rows)
        self.findings.extend(make(int(row)) for row in rows[:kept])

    def count(self, severity: Severity, *, of_state: bool | None = None) -> int:
        """How many of a severity were found, those not kept included.

        Args:
            severity: Which.
            of_state: Whether those about the cluster's state alone count, or the others alone;
                None: both.
        """
        return sum(
            n
            for code, n in self._counts.items()
            if all_kinds()[code].severity is severity and of_state in (None, is_of_state(code))
        )

    def left_out(self) -> Iterator[tuple[str, int]]:
        """(code, how many were not kept)."""
        for code, count in self._counts.items():
            if self.limit is not None and count > self.limit:
                yield code, count - self.limit
