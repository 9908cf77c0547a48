"""Findings about the quorum: its state now, its settings, and the files beside the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.checks.finding import Finding
from metashell.checks.quorum_findings import disagreements
from metashell.errors import NoLeaderError
from metashell.findings.kind import FindingKind
from metashell.findings.known import all_kinds
from metashell.image.quorum_members import voters_of
from metashell.judgement.evidence import Evidence

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.quorum.description import LiveStatus, QuorumDescription, Replica

LAGS_MS: Final = 10_000
"""A node is behind that was not caught up for longer; heartbeats and fetches take far less."""
LAGS_OFFSETS: Final = 1_000
"""A node is behind by that many offsets where nothing tells its times."""

_DISAGREEMENTS: Final = "/quorum/disagreements"


def find_beside(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what the files beside the log say differently; nothing of an earlier state."""
    source = evidence.source
    directory = source.log.place
    if source.moment_offset is not None or source.live is not None or source.log.is_file:
        return
    times: dict[str, int] = {}
    for found in disagreements(directory, source.image):
        n = times[found.code] = times.get(found.code, 0) + 1
        path = f"{_DISAGREEMENTS}/{found.code}" + (f"-{n}" if n > 1 else "")
        message = f"{found.file}: {found.meaning}"
        yield replace(found, message=message, path=path, offset=None, command=("cat", path))


def find_live(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what is wrong with a live quorum now; nothing of an earlier state."""
    source = evidence.source
    if source.moment_offset is None and source.live is not None:
        yield from of_live(source.image, source.live.status())


def of_lost(error: NoLeaderError) -> Finding:
    """The finding about a quorum where no leader could be followed."""
    code = "quorum-no-leader" if error.is_answered else "quorum-unreachable"
    advice = all_kinds()[code].action
    return Finding(
        code,
        error.message,
        advice if error.hint is None else f"{advice}; {error.hint}",
        subject="the quorum",
        command=(),
    )


def of_live(image: Image, status: LiveStatus) -> Iterator[Finding]:
    """The findings about a live quorum, as far as it answered."""
    if status.problem is not None:
        yield Finding(
            "quorum-unreachable",
            f"{status.problem.rstrip('.')}: this state may be old",
            subject="the quorum",
            path="/quorum",
        )
    elif status.leader_id is None and status.epoch is not None:
        yield Finding("quorum-no-leader", subject="the quorum", path="/quorum/leader")
    if status.description_problem is not None:
        yield Finding(
            "quorum-not-described",
            status.description_problem.rstrip("."),
            subject="the quorum",
            path="/quorum",
        )
    description = status.description
    if description is None:
        return
    for role, replicas in (("voter", description.voters), ("observer", description.observers)):
        for replica in replicas:
            yield from _lag(role, description, replica)
    for voter in voters_of(image.quorum, description):
        if voter.only_in is not None:
            yield Finding(
                "quorum-disagreement",
                f"voter {voter.id} with directory {voter.directory_id or 'unknown'} is"
                f" only in {'the log' if voter.only_in == 'log' else voter.only_in}",
                subject=f"voter {voter.id}",
                path="/quorum/voters",
            )


def _lag(role: str, description: QuorumDescription, replica: Replica) -> Iterator[Finding]:
    leader = next((v for v in description.voters if v.id == description.leader_id), None)
    lag = description.lag(replica)
    if leader is None or (replica.id == leader.id and role == "voter"):
        return
    caught_up, now = replica.last_caught_up_ms, leader.last_caught_up_ms
    behind_ms = None if caught_up is None or now is None else max(now - caught_up, 0)
    is_behind = (lag or 0) >= LAGS_OFFSETS if behind_ms is None else behind_ms >= LAGS_MS
    if lag == 0 or not is_behind:
        return
    code = f"{role}-lagging"
    offsets = [] if lag is None else [f"{lag:,} offsets behind"]
    seconds = [] if behind_ms is None else [f"not caught up for {behind_ms // 1000} s"]
    yield Finding(
        code,
        f"{', '.join(offsets + seconds)}: {all_kinds()[code].meaning}",
        subject=f"{role} {replica.id}",
        path=f"/quorum/{role}s/{replica.id}",
        since_time_ms=caught_up,
    )
