"""Findings that only ``check`` has: it reads every file and replays each checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from metashell.checks.finding import CheckReport, Finding
from metashell.findings.kind import About, FindingKind, Severity
from metashell.findings.known import all_kinds
from metashell.judgement.check_run import CheckRun
from metashell.judgement.evidence import Evidence

_MOST_FINDINGS: Final = 1_000
"""Findings of ``check`` that are looked at, of each of its codes."""


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what is wrong with files, by kind and place. A part of what `health` tells otherwise is
    left out.
    """
    source = evidence.source.full_log
    report = CheckReport(_MOST_FINDINGS)
    CheckRun(source, report, evidence.stop).all(quick=False, with_others=False)
    files = {file.name for file in source.log.loaded.files}
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        if finding.severity is not Severity.NOTE and not _is_told(finding, files):
            where = finding.file or finding.path or "the log"
            groups.setdefault((finding.code, where), []).append(finding)
    for (_, where), findings in groups.items():
        yield _of_place(where, findings, findings[0].file in files)
    for code, n in report.left_out():
        kind = all_kinds()[code]
        if kind.severity is not Severity.NOTE and kind.part_of is None:
            yield Finding(code, "more findings of this kind", count=n, command=("check",))


def _is_told(finding: Finding, files: Collection[str]) -> bool:
    """Whether it is part of another kind; damage is only in the files that are read anyway."""
    whole = finding.kind.part_of
    if whole is None:
        return False
    is_damage = all_kinds()[whole].about is About.FILE
    return finding.file in files if is_damage else True


def _of_place(where: str, findings: Sequence[Finding], is_read: bool) -> Finding:
    """The finding about several of one kind in one place."""
    first, n = findings[0], len(findings)
    offsets = [finding.offset for finding in findings if finding.offset is not None]
    return replace(
        first,
        message=first.meaning + ("" if n == 1 else f"; {n - 1} more like it"),
        subject=f"file {where}" if where == first.file else where,
        count=n,
        path=first.path or (f"/log/{first.file}" if is_read else None),
        offset=min(offsets, default=None),
        command=("check",),
    )
