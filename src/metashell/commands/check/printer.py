"""The text of the findings of ``check``: paragraphs of one advice each, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.command import Context
from metashell.commands.shared.severities import write_paragraphs

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
        """A paragraph for all findings with the same advice."""
        write_paragraphs(self._context, self._lines())

    def findings(self) -> Iterator[Finding]:
        """The findings to be shown, in their order."""
        from metashell.checks.finding import Finding, is_of_state
        from metashell.findings.kind import Severity

        left_out = [
            Finding(code, f"{n} more findings of this kind: `--limit N` shows more")
            for code, n in self._report.left_out()
        ]
        for of_state in (False, True) if self.with_state else (False,):
            for severity in Severity:
                if severity not in self._levels:
                    continue
                for finding in (*self._report.findings, *left_out):
                    if finding.severity is severity and is_of_state(finding.code) is of_state:
                        yield finding

    def _lines(self) -> Iterator[str]:
        from metashell.commands.health.paragraphs import Paragraph

        groups: dict[tuple[object, ...], list[Finding]] = {}
        for one in self.findings():
            # The state comes behind all damage, even with the same advice.
            key = (one.severity, one.kind.about, one.what_to_do)
            groups.setdefault(key, []).append(one)
        for group in groups.values():
            first = group[0]
            head, *more = _places(group)
            paragraph = Paragraph(
                severity=first.severity,
                codes=tuple(dict.fromkeys(one.code for one in group)),
                n_told=len(group),
                headline=head,
                more=tuple(more),
                do=(first.do,),
                beware=() if first.avoid is None else (first.avoid,),
            )
            yield from paragraph.lines(self._context.out.width)


def _places(findings: Sequence[Finding]) -> Iterator[str]:
    """Each kind with its places; findings that say the same are told once."""
    said: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        said.setdefault((one.code, one.meaning), []).append(_place(one))
    for (code, meaning), places in said.items():
        if len(places) == 1:
            where = f"{places[0]}: " if places[0] else ""
            yield f"{code}: {where}{meaning}"
        else:
            yield f"{code}, {len(places):,} times: {meaning}"
            yield from filter(None, places)


def _place(finding: Finding) -> str:
    """Where a finding is; empty where it is nowhere in particular."""
    parts = [
        finding.file,
        None if finding.pos is None else f"position {finding.pos}",
        None if finding.offset is None else f"offset {finding.offset}",
        finding.path,
    ]
    return ", ".join(part for part in parts if part is not None)
