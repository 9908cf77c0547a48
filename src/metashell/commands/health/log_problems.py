"""Problems that no image tells: of files and records, of the quorum, and what ``check`` finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metashell.answers.problem_kinds import KINDS, Level, ProblemKind
from metashell.answers.row_times import when
from metashell.checks.finding import CheckReport, Finding, Severity
from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.health.rows import Single
from metashell.commands.shared.assume_option import assumptions_of
from metashell.errors import NoLeaderError, PathError
from metashell.fs.node import Directory, Leaf
from metashell.fs.path import resolve
from metashell.image.quorum_members import voters_of
from metashell.log.fault import Fault, FaultKind

if TYPE_CHECKING:
    from metashell.commands.rows.query import RowsQuery
    from metashell.quorum.description import LiveStatus, QuorumDescription, Replica
    from metashell.sources.source import Source

LAGS_MS: Final = 10_000
"""A node is behind that was not caught up for longer; heartbeats and fetches take far less."""
LAGS_OFFSETS: Final = 1_000
"""A node is behind by that many offsets where nothing tells its times."""

_FAULTS: Final = {
    FaultKind.DAMAGED: KINDS["file-damaged"],
    FaultKind.GAP: KINDS["offset-gap"],
    FaultKind.RECORD: KINDS["record-undecodable"],
    FaultKind.REPLAY: KINDS["replay-fault"],
    FaultKind.UNKNOWN: KINDS["record-unknown"],
    FaultKind.UNREADABLE: KINDS["file-unreadable"],
    FaultKind.TORN: KINDS["torn-tail"],
}
_LEVELS: Final = {
    Severity.ERROR: Level.CRITICAL,
    Severity.WARNING: Level.WARNING,
    Severity.NOTE: Level.NOTE,
}
_TOLD_ALREADY: Final = frozenset(
    {
        "batch-unreadable",
        "config-unknown-topic",
        "directory-unknown",
        "file-unreadable",
        "leaderless",
        "open-transaction",
        "record-undecodable",
        "record-unknown",
        "replay-fault",
        "replica-unknown-broker",
        "torn-tail",
    }
)
"""Codes of ``check`` for what has a kind of its own here."""
_MOST_FINDINGS: Final = 1_000
"""Findings of ``check`` that are looked at, of each of its codes."""
_STATIC_VOTERS: Final = "controller.quorum.voters"
_DISAGREEMENTS: Final = "/quorum/disagreements"
_FAULTS_NODE: Final = "/log/faults"


def find_in_log(query: RowsQuery) -> Iterator[Single]:
    """The problems of files and records. Cost: decodes everything."""
    source = query.source
    by_place: dict[tuple[FaultKind, str], list[Fault]] = {}
    for fault in source.all_faults():
        by_place.setdefault((fault.kind, fault.file or ""), []).append(fault)
    for (kind, file), faults in by_place.items():
        offsets = [fault.offset for fault in faults if fault.offset is not None]
        first = faults[0]
        yield Single(
            kind=_FAULTS[kind],
            subject=f"file {file}" if file else "the log",
            count=len(faults),
            path=_FAULTS_NODE,
            command=f"cat {_FAULTS_NODE}",
            since_offset=min(offsets, default=None),
            explanation=f"{_FAULTS[kind].meaning}; {'first: ' * (len(faults) > 1)}{first.reason}",
        )
    records = source.image.records
    if records.faults_left_out:
        yield Single(
            kind=KINDS["replay-fault"],
            subject="more records",
            count=records.faults_left_out,
            path=_FAULTS_NODE,
            command="check",
            explanation="there are more faults than rows for them",
        )
    yield from _transaction(query)


def _transaction(query: RowsQuery) -> Iterator[Single]:
    image = query.source.image
    _ = image.records.applied
    row = image.records.open_transaction
    if row is not None:
        since = when(image, "since", np.array([row]))
        time = since["since_time"].cast("int64")[0].as_py()
        yield Single(
            kind=KINDS["open-transaction"],
            subject="the log",
            path="/log",
            command="check --quick",
            since_offset=since["since_offset"][0].as_py(),
            since_time_ms=time,
        )


# The quorum.


def find_in_assumed(query: RowsQuery) -> Iterator[Single]:
    """The settings that the quorum ignores, in the configuration file that ``--assume`` names."""
    assumed = assumptions_of(query.parsed)
    voters = assumed.get(_STATIC_VOTERS)
    if voters and voters.strip() and query.source.image.quorum.voters is not None:
        kind = KINDS["ignored-static-voters"]
        yield Single(
            kind=kind,
            subject=f"file {assumed.path}",
            path="/quorum/voters",
            command="quorum",
            explanation=kind.meaning,
        )


def find_in_quorum(source: Source) -> Iterator[Single]:
    """The problems of the quorum: its state now, and disagreements of the files beside the log.

    For an earlier state there are none.
    """
    if source.moment_offset is not None:
        return
    if source.live is not None:
        yield from of_live(source, source.live.status())
        return
    for name, told in disagreements_of(source):
        # A file that can't be used disagrees with nothing: its kind is the code of `check`.
        yield Single(
            kind=KINDS.get(told["code"], KINDS["quorum-disagreement"]),
            level=_LEVELS[Severity(told["severity"])],
            subject=f"file {told['file']}",
            path=f"{_DISAGREEMENTS}/{name}",
            command=f"cat {_DISAGREEMENTS}/{name}",
            explanation=f"{told['file']}: {told['message']}",
            action=told["action"],
        )


def disagreements_of(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The names and fields of the leaves of ``/quorum/disagreements``."""
    try:
        node = resolve(source.root, _DISAGREEMENTS).node
    except PathError:
        return
    if isinstance(node, Directory):
        for name in node.names():
            leaf = node.child(name)
            value = leaf.value() if isinstance(leaf, Leaf) else None
            if isinstance(value, Mapping):
                yield name, value


def of_lost(error: NoLeaderError) -> Single:
    """The problem of a quorum where no leader could be followed."""
    kind = KINDS["quorum-no-leader" if error.is_answered else "quorum-unreachable"]
    return Single(
        kind=kind,
        subject="the quorum",
        explanation=error.message,
        action=kind.advice if error.hint is None else f"{kind.advice}; {error.hint}",
    )


def of_live(source: Source, status: LiveStatus) -> Iterator[Single]:
    """The problems of a live quorum, as far as it answered."""
    if status.problem is not None:
        yield Single(
            kind=KINDS["quorum-unreachable"],
            subject="the quorum",
            path="/quorum",
            command="quorum",
            explanation=f"{status.problem.rstrip('.')}: this state may be old",
        )
    elif status.leader_id is None and status.epoch is not None:
        yield Single(
            kind=KINDS["quorum-no-leader"],
            subject="the quorum",
            path="/quorum/leader",
            command="quorum",
        )
    if status.description_problem is not None:
        yield Single(
            kind=KINDS["quorum-not-described"],
            subject="the quorum",
            path="/quorum",
            command="quorum",
            explanation=status.description_problem.rstrip("."),
        )
    description = status.description
    if description is None:
        return
    for code, role, replicas in (
        ("voter-lagging", "voter", description.voters),
        ("observer-lagging", "observer", description.observers),
    ):
        for replica in replicas:
            yield from _lag(KINDS[code], role, description, replica)

    for voter in voters_of(source.image.quorum, description):
        if voter.only_in is not None:
            yield Single(
                kind=KINDS["quorum-disagreement"],
                subject=f"voter {voter.id}",
                path="/quorum/voters",
                command="quorum",
                explanation=f"voter {voter.id} with directory {voter.directory_id or 'unknown'} is"
                f" only in {'the log' if voter.only_in == 'log' else voter.only_in}",
                action="nothing while voters change; else compare with the controllers' logs",
            )


def _lag(
    kind: ProblemKind, role: str, description: QuorumDescription, replica: Replica
) -> Iterator[Single]:
    leader = next((v for v in description.voters if v.id == description.leader_id), None)
    lag = description.lag(replica)
    if leader is None or (replica.id == leader.id and role == "voter"):
        return
    caught_up, now = replica.last_caught_up_ms, leader.last_caught_up_ms
    behind_ms = None if caught_up is None or now is None else max(now - caught_up, 0)
    is_behind = (lag or 0) >= LAGS_OFFSETS if behind_ms is None else behind_ms >= LAGS_MS
    if lag == 0 or not is_behind:
        return
    offsets = [] if lag is None else [f"{lag:,} offsets behind"]
    seconds = [] if behind_ms is None else [f"not caught up for {behind_ms // 1000} s"]
    yield Single(
        kind=kind,
        subject=f"{role} {replica.id}",
        path=f"/quorum/{role}s/{replica.id}",
        command="quorum",
        since_time_ms=caught_up,
        explanation=f"{', '.join(offsets + seconds)}: {kind.meaning}",
    )


# The findings of `check`.


def find_deeply(query: RowsQuery) -> Iterator[Single]:
    """The findings that ``check`` alone has. Cost: reads every file, replays each checkpoint."""
    source = query.source.full_log
    report = _report(query, source)
    told = _TOLD_ALREADY | {told["code"] for _, told in disagreements_of(source)}
    files = {file.name for file in source.log.loaded.files}
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        if finding.severity is not Severity.NOTE and finding.code not in told:
            where = finding.file or finding.path or "the log"
            groups.setdefault((finding.code, where), []).append(finding)
    for (code, where), findings in groups.items():
        first = findings[0]
        yield _of_check(code, where, first, len(findings), _offsets(findings), first.file in files)
    for severity, code, n in report.left_out():
        if severity is not Severity.NOTE and code not in told:
            first = Finding(severity=severity, code=code, message="more findings of this kind")
            yield _of_check(code, "the log", first, n, [], False)


def _report(query: RowsQuery, source: Source) -> CheckReport:
    from metashell.commands.check.run import CheckRun

    report = CheckReport(_MOST_FINDINGS)
    context = Context(
        root=source.root,
        out=Nowhere(),
        warn=query.warn,
        cancelled=query.context.cancelled,
        source=source,
    )
    CheckRun(context, source, report).all(quick=False)
    return report


def _offsets(findings: Sequence[Finding]) -> list[int]:
    return [finding.offset for finding in findings if finding.offset is not None]


def _of_check(
    code: str, where: str, first: Finding, n: int, offsets: Sequence[int], is_read: bool
) -> Single:
    level = _LEVELS[first.severity]
    more = "" if n == 1 else f"; {n - 1} more like it"
    path = first.path or (f"/log/{first.file}" if is_read else None)
    return Single(
        kind=ProblemKind(code, level, "findings", first.message, first.action or "see `check`"),
        subject=f"file {where}" if where == first.file else where,
        count=n,
        path=path,
        command="check",
        since_offset=min(offsets, default=None),
        explanation=first.message + more,
    )
