"""The output of ``quorum`` as data: gathered from a live quorum, or from files.

A live quorum's leader knows the most; where it can't be asked, and of earlier states, the log says
what it can, and notes say what is missing and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from metashell.checks.finding import Finding
from metashell.checks.votes import OffsetAndEpoch
from metashell.commands.shared.status import leader_words
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, PathError, SourceError
from metashell.findings.kind import Need
from metashell.findings.known import all_kinds
from metashell.fs.node import Directory, Leaf
from metashell.fs.path import resolve
from metashell.image.quorum_members import (
    Epoch,
    fold_quorum,
    known_epochs,
    known_voters,
    observers_of,
    static_voters,
    voters_in_log,
    voters_of,
    who_leads,
)

if TYPE_CHECKING:
    from metashell.commands.rows.query import RowsQuery
    from metashell.fs.node import JsonValue
    from metashell.image.quorum_members import QuorumMember
    from metashell.judgement.image_findings import Findings
    from metashell.quorum.description import LiveStatus, QuorumDescription
    from metashell.sources.source import Source

_T = TypeVar("_T")

LEADER: Final = "Leader"
FOLLOWER: Final = "Follower"
OBSERVER: Final = "Observer"
VOTER: Final = "Voter"
"""The role of a voter where the leader is unknown."""


@dataclass(slots=True, kw_only=True)
class Summary:
    """The quorum; None for what is not known."""

    cluster_id: str | None
    leader_id: int | None = None
    leader_epoch: int | None = None
    log_end: OffsetAndEpoch | None = None
    """The end of the log of one node: the leader, or the node whose directory it is."""
    log_owner: tuple[int, str | None] | None = None
    """That node, and its directory id if known."""
    high_watermark: int | None = None
    max_lag: int | None = None
    """The largest lag of the voters."""
    max_lag_ms: int | None = None
    """How long before the leader that voter was last caught up."""
    kraft_version: int | None = None
    origin: str
    """Where all that comes from: ``DescribeQuorum`` or ``log``."""
    origin_text: str
    """The origin of the data, in words."""
    as_of_ms: int | None = None
    """When that was so, ms since the epoch."""
    members: list[tuple[QuorumMember, str]] = field(default_factory=list)
    """Each with its status: `LEADER`, `FOLLOWER`, `OBSERVER` or `VOTER`."""
    now_ms: int | None = None
    """Now by the leader's clock, from which ages of its times count."""
    notes: list[str] = field(default_factory=list)
    """Sentences that the user should read."""
    disagreements: list[Mapping[str, JsonValue]] = field(default_factory=list)
    """The disagreements of the node's files with the log."""
    is_whole: bool = True
    """Whether all files that tell of the quorum could be used."""

    def has_log(self, member: QuorumMember) -> bool:
        """Whether `log_end` is that of a member's log."""
        node, directory = self.log_owner or (None, None)
        is_same = None in (directory, member.directory_id) or member.directory_id == directory
        return member.id == node and is_same


def summary_of(source: Source) -> Summary:
    """Gather what a source says of the quorum."""
    if source.live is not None and source.moment_offset is None:
        return _live_summary(source, source.live.status())
    summary = _logged_summary(source)
    if source.live is not None:
        summary.notes.append(
            "lag and observers are known only of now: shown is what the log says at offset"
            f" {source.moment_offset}"
        )
    return summary


def epochs_of(source: Source) -> tuple[list[Epoch], Sequence[str]]:
    """Leader epochs that anything tells of, in order, and which files could not be used for them.

    Cost: reads all segments.
    """
    records, newest = source.history_records, source.image.provenance.epoch
    files, notes = _files_of(source), []
    try:
        starts = _starts(source)
    except SourceError as error:
        starts = {}
        notes.append(error.message.replace("\n", " "))
    if source.moment_offset is not None:
        starts = {epoch: start for epoch, start in starts.items() if epoch <= newest}
    found = known_epochs(records, fold_quorum(records).leaders, starts, newest)
    leaders = dict(files.leaders)
    status = None if source.live is None else source.live.status()
    if status is not None and status.epoch is not None and status.leader_id is not None:
        leaders[status.epoch] = status.leader_id
    for number, leader in leaders.items():
        if number not in found and source.moment_offset is None:
            found[number] = Epoch(epoch=number)
        if number in found and found[number].leader is None:
            found[number] = replace(found[number], leader=leader)
    return [found[number] for number in sorted(found)], (*notes, *files.notes)


def _starts(source: Source) -> dict[int, int]:
    """Start offsets of epochs, as the node's own file or else the batches have them."""
    found = {}
    node = _node(source, "epochs")
    assert isinstance(node, Directory)
    for name in node.names():
        value = source.value(f"/quorum/epochs/{name}")
        start = value.get("startOffset") if isinstance(value, Mapping) else None
        if isinstance(start, int):
            found[int(name)] = start
    return found


# A live quorum.


def _live_summary(source: Source, status: LiveStatus) -> Summary:
    description = status.description
    if description is None:
        summary = _logged_summary(source)
        if status.epoch is not None:
            summary.leader_id, summary.leader_epoch = status.leader_now, status.epoch
        summary.high_watermark = status.high_watermark
        summary.members = _leader_first((m for m, _ in summary.members), summary.leader_id)
        why = status.description_problem or "the leader has not described the quorum yet"
        summary.notes.append(f"{_sentence(why)}; shown is what the log says")
    else:
        summary = _described_summary(source, status, description)
        if status.description_problem:
            summary.notes.append(
                f"{_sentence(status.description_problem)}; shown is an earlier answer"
            )
    if status.problem:
        summary.notes.append(_sentence(status.problem))
    if status.leader_now is None and status.leader_id is not None:
        summary.notes.append(leader_words(None, status.leader_id))
    return summary


def _described_summary(
    source: Source, status: LiveStatus, description: QuorumDescription
) -> Summary:
    quorum = source.image.quorum
    voters = voters_of(quorum, description)
    leader_id = description.leader_id
    max_lag, max_lag_ms = follower_lag(description)
    by = "" if status.leader_address is None else f", {status.leader_address}"
    now_ms = int(time.time() * 1000)
    theirs = [v.last_fetch_ms for v in description.voters if v.id == leader_id]
    # The leader gives its own time in place of its last fetch: ages are free of our clock's error.
    if theirs and theirs[0] is not None:
        now_ms = theirs[0] + max(now_ms - description.received_ms, 0)
    summary = Summary(
        cluster_id=source.cluster_id,
        leader_id=leader_id,
        leader_epoch=description.leader_epoch,
        high_watermark=description.high_watermark if description.high_watermark >= 0 else None,
        max_lag=max_lag,
        max_lag_ms=max_lag_ms,
        kraft_version=quorum.kraft_version,
        origin="DescribeQuorum",
        origin_text=f"DescribeQuorum, node {leader_id}{by}",
        log_end=_leaders_end(description),
        log_owner=(leader_id, None),
        as_of_ms=description.received_ms,
        now_ms=now_ms,
    )
    summary.members = _leader_first(voters, leader_id)
    summary.members += ((observer, OBSERVER) for observer in observers_of(description))
    if status.epoch is not None and status.epoch > description.leader_epoch:
        leader = "nobody yet" if status.leader_id is None else f"node {status.leader_id}"
        summary.notes.append(
            f"shown is what the leader of epoch {description.leader_epoch} said;"
            f" in epoch {status.epoch} {leader} leads"
        )
    only = [voter for voter in voters if voter.only_in is not None]
    summary.notes += (
        f"voter {voter.id} with directory {voter.directory_id or 'unknown'} is only in"
        f" {'the log' if voter.only_in == 'log' else voter.only_in}"
        for voter in only
    )
    return summary


def _leaders_end(description: QuorumDescription) -> OffsetAndEpoch | None:
    """Where the leader's log ends: a leader writes in its epoch before it tells of it."""
    ends = [v.log_end_offset for v in description.voters if v.id == description.leader_id]
    return (
        OffsetAndEpoch(description.leader_epoch, ends[0]) if ends and ends[0] is not None else None
    )


def follower_lag(description: QuorumDescription) -> tuple[int | None, int | None]:
    """How far the slowest voter is behind the leader: (offsets, ms); None where not known.

    The time is that between the moments when the leader and that voter were last caught up.

    Source: org.apache.kafka.tools.MetadataQuorumCommand.
    """
    lags = [(description.lag(voter), voter) for voter in description.voters]
    leader = next((v for v in description.voters if v.id == description.leader_id), None)
    if leader is None or any(lag is None for lag, _ in lags):
        return None, None
    most, slowest = max(lags, key=lambda pair: (pair[0] or 0, pair[1] is leader))
    if slowest is leader:
        return most, 0
    if leader.last_caught_up_ms is None or slowest.last_caught_up_ms is None:
        return most, None
    return most, max(leader.last_caught_up_ms - slowest.last_caught_up_ms, 0)


def _leader_first(
    voters: Iterable[QuorumMember], leader_id: int | None
) -> list[tuple[QuorumMember, str]]:
    """Voters with their status; who leads stands before the others, whose order is kept."""
    statuses = [(voter, _status(voter, leader_id)) for voter in voters]
    return sorted(statuses, key=lambda pair: pair[1] != LEADER)


def _status(member: QuorumMember, leader_id: int | None) -> str:
    if leader_id is None:
        return VOTER
    return LEADER if member.id == leader_id else FOLLOWER


def _sentence(text: str) -> str:
    return text.rstrip(".")


# The log, and the files beside it.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The data of the files beside the log; None or empty for missing data."""

    cluster_id: str | None = None
    owner: tuple[int, str | None] | None = None
    """Node id and directory id."""
    state: Mapping[str, JsonValue] = field(default_factory=dict)
    """Leader and epoch that ``quorum-state`` knows."""
    leaders: Mapping[int, int] = field(default_factory=dict)
    """By epoch."""
    voters: Sequence[int] = ()
    """The voters of a static quorum."""
    notes: tuple[str, ...] = ()


def _files_of(source: Source) -> _Files:
    """Read them; one that can't be used is reported, and the log shown without it."""
    notes = []

    def read(how: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return how()
        except SourceError as error:
            notes.append(error.message.replace("\n", " "))
            return otherwise

    state: dict[str, JsonValue] = {
        key: read(lambda key=key: _file_value(source, key), None)  # type: ignore[misc]
        for key in ("leaderId", "leaderEpoch")
    }
    # No epoch has two leaders (KIP-595), so what the file says of one always holds.
    if source.moment_offset is not None:
        last = source.image.provenance.epoch
        state = state if state["leaderEpoch"] == last else {}
    return _Files(
        cluster_id=read(lambda: source.cluster_id, None),
        owner=read(lambda: _owner_of(source), None),
        state=state,
        leaders=read(lambda: source.leaders, {}),
        voters=read(lambda: own_voters(source), ()),
        notes=tuple(dict.fromkeys(notes)),
    )


def _owner_of(source: Source) -> tuple[int, str | None] | None:
    """Node id and directory id of the node whose directory it is."""
    known = source.meta_properties
    return None if known is None or known.node_id is None else (known.node_id, known.directory_id)


def _logged_summary(source: Source) -> Summary:
    from metashell.checks.quorum_findings import MALFORMED, UNREADABLE
    from metashell.sources.fleet.rows import log_end_of

    quorum, last, files = source.image.quorum, source.image.provenance, _files_of(source)
    leading, disagreements = who_leads(quorum, last.epoch, files.state), _disagreements(source)
    leader, epoch, by_file = leading.leader, leading.epoch, leading.by_file
    members = known_voters(source.image, files.voters)
    by_file |= bool(members) and not voters_in_log(quorum)
    where = "nothing" if last.offset < 0 else f"the log up to offset {last.offset}"
    return Summary(
        cluster_id=files.cluster_id,
        leader_id=leader,
        leader_epoch=epoch if epoch >= 0 else None,
        log_end=log_end_of(source),
        log_owner=files.owner,
        kraft_version=quorum.kraft_version,
        origin="log",
        origin_text=where + (" and quorum-state" if by_file else ""),
        as_of_ms=last.timestamp_ms if last.timestamp_ms >= 0 else None,
        members=_leader_first(members, leader),
        # Unusable files are among the disagreements, where these are looked for.
        notes=[] if disagreements else list(files.notes),
        disagreements=disagreements,
        is_whole=not files.notes
        and all(found["code"] not in (MALFORMED, UNREADABLE) for found in disagreements),
    )


def _node(source: Source, name: str) -> object:
    """A part of ``/quorum``; None where the source has none of that name."""
    try:
        return resolve(source.root, f"/quorum/{name}").node
    except PathError:
        return None


def _file_value(source: Source, key: str) -> JsonValue:
    """A value of the node's ``quorum-state``; None where it is not there."""
    node = _node(source, f"quorum-state/{key}")
    return node.value() if isinstance(node, Leaf) else None


def own_voters(source: Source) -> Sequence[int]:
    """Voters of a static quorum, by the node's own ``quorum-state``; none of an earlier state.

    Raises:
        SourceError: The file can't be used.
    """
    if source.moment_offset is not None:
        return ()
    return static_voters({"currentVoters": _file_value(source, "currentVoters")})


def voters_now(query: RowsQuery) -> Sequence[QuorumMember]:
    """Who votes, as the quorum's leader says, else the log, else the node's own file."""
    source = query.source
    image = source.image  # An earlier image may have former voters.
    if source.live is None or source.moment_offset is not None:
        static: Sequence[int] = ()
        if not voters_in_log(image.quorum):
            try:
                static = own_voters(source)
            except SourceError as error:
                query.warn(error.message)
                query.status = ExitCode.FAILED
        return known_voters(image, static)
    return voters_of(image.quorum, source.live.status().description)


def _disagreements(source: Source) -> list[Mapping[str, JsonValue]]:
    """The differences of the files beside the log, and of the configuration, from the log."""
    node = _node(source, "disagreements")
    names = node.names() if isinstance(node, Directory) else ()
    values = (source.value(f"/quorum/disagreements/{name}") for name in names)
    found = [value for value in values if isinstance(value, Mapping)]
    if source.settings.config is not None:
        found += map(_as_value, _of_config(source))
    return found


def _of_config(source: Source) -> Iterable[Finding | Findings]:
    from metashell.judgement.evidence import Evidence, find

    codes = [kind.code for kind in all_kinds().values() if kind.needs is Need.CONFIG]
    return find(Evidence(source=source, image=source.image), codes)


def _as_value(finding: Finding | Findings) -> Mapping[str, JsonValue]:
    """A finding as a leaf of `/quorum/disagreements` has it."""
    assert isinstance(finding, Finding)
    named = {"severity": finding.severity.value, "code": finding.code}
    return {**named, "file": finding.file, "message": finding.meaning}
