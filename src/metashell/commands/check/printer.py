"""The text of the findings of ``check``: blocks of like findings, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import shown, write_lines

if TYPE_CHECKING:
    from metashell.checks.finding import CheckReport, Finding


class FindingPrinter:
    """Findings, damage and the worst first."""

    def __init__(
        self, context: Context, report: CheckReport, levels: Sequence[str], *, with_state: bool
    ) -> None:
        self._context, self._report, self._levels = context, report, levels
        self.with_state = with_state
        """Whether findings about the cluster's state are among them."""

    def text(self) -> None:
        """A block for all findings that say the same."""
        write_lines(self._context, (shown(self._context, line) for line in self._blocks()))

    def findings(self) -> Iterator[Finding]:
        """The findings to be shown, in their order."""
        from metashell.checks.finding import Finding, is_of_state
        from metashell.findings.kind import Severity

        left_out = [
            Finding(code, f"{n} more findings of this kind", "show more with --limit N")
            for code, n in self._report.left_out()
        ]
        for of_state in (False, True) if self.with_state else (False,):
            for severity in Severity:
                if severity not in self._levels:
                    continue
                for finding in (*self._report.findings, *left_out):
                    if finding.severity is severity and is_of_state(finding.code) is of_state:
                        yield finding

    def _blocks(self) -> Iterator[str]:
        groups: dict[tuple[str | None, ...], list[Finding]] = {}
        for finding in self.findings():
            said = (finding.severity, finding.code, finding.meaning, finding.what_to_do)
            groups.setdefault(said, []).append(finding)
        for (severity, code, message, action), found in groups.items():
            places = [_place(finding) for finding in found]
            if len(found) == 1:
                where = f"{places[0]}: " if places[0] else ""
                yield f"{severity} {code}: {where}{message}"
            else:
                yield f"{severity} {code}, {len(found):,} times: {message}"
                yield from (f"  {place}" for place in places if place)
            if action:
                yield f"  what to do: {action}"


def _place(finding: Finding) -> str:
    """Where a finding is; empty where it is nowhere in particular."""
    parts = [
        finding.file,
        None if finding.pos is None else f"position {finding.pos}",
        None if finding.offset is None else f"offset {finding.offset}",
        finding.path,
    ]
    return ", ".join(part for part in parts if part is not None)
