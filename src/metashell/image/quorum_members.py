"""The state of the quorum: its members and its epochs, from the log and from its leader.

The log names the voters (VotersRecord, else the last LeaderChangeMessage); the leader, where one
can be asked, knows how far each replica has come. Here both are put together; a voter that only one
of them has says so.

The quorum's own state as the log has it: voters, kraft.version, leaders.

Source: org.apache.kafka.raft.internals.KRaftControlRecordStateMachine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass
from metashell.log.frames import epoch_runs
from metashell.records.records import Records
from metashell.schema.columns import Columns
from metashell.schema.uuids import uuid_text

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.log.read import EpochRun
    from metashell.quorum.description import QuorumDescription, Replica


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """One LeaderChangeMessage: who began to lead, and from which offset on."""

    leader: int
    epoch: int
    offset: int
    timestamp_ms: int
    voters: tuple[int, ...]


@dataclass(slots=True)
class QuorumImage:
    """The newest of each control record; None where the log holds none."""

    kraft_version: int | None
    """0 where the log is known from its beginning and sets none; None where it is not."""
    voters: Columns | None
    """Elements of the newest VotersRecord: voter_id, voter_directory_id, endpoints, ..."""
    voters_row: int | None
    leaders: list[LeaderChange]
    """Every leader change that the files hold, in order."""


def quorum_of(image: Image) -> QuorumImage:
    """The quorum as an image's records have it."""
    return fold_quorum(image.records)


def fold_quorum(records: Records) -> QuorumImage:
    """Fold the control records; they count even inside a transaction."""
    rows, versions = records.columns("KRaftVersionRecord")
    kraft_version = int(versions.fixed("k_raft_version")[-1]) if len(rows) else None
    if kraft_version is None and _has_beginning(records):
        kraft_version = 0
    rows, voters = records.columns("VotersRecord")
    newest, newest_row = None, None
    if len(rows):
        newest = voters.structs("voters").take([len(rows) - 1]).items  # type: ignore[arg-type]
        newest_row = int(rows[-1])
    return QuorumImage(kraft_version, newest, newest_row, _leaders(records))


def _has_beginning(records: Records) -> bool:
    """Whether nothing is missing in front: a checkpoint's batches begin at 0 too."""
    files = records.loaded.files
    return bool(files) and files[0].chain.first_offset == 0


def _leaders(records: Records) -> list[LeaderChange]:
    rows, columns = records.columns("LeaderChangeMessage")
    voters, frames = columns.structs("voters"), records.frames_at(rows)
    ids, bounds = voters.items.fixed("voter_id").tolist(), voters.list_offsets.tolist()
    return [
        LeaderChange(leader, epoch, offset, time, tuple(ids[a:b]))
        for leader, epoch, offset, time, a, b in zip(
            columns.fixed("leader_id").tolist(),
            frames.epochs(rows).tolist(),
            frames.offset[rows].tolist(),
            frames.timestamps(rows).tolist(),
            bounds,
            bounds[1:],
            strict=False,
        )
    ]


ONLY_IN_LOG: Final = "log"
ONLY_DESCRIBED: Final = "DescribeQuorum"
_NO_DIRECTORY: Final = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumMember:
    """A voter or an observer; None for what is not known."""

    id: int
    directory_id: str | None = None
    endpoints: tuple[str, ...] | None = None
    """Such as ``CONTROLLER://host:9093``."""
    log_end_offset: int | None = None
    lag: int | None = None
    """Offsets behind the leader's log."""
    last_fetch_ms: int | None = None
    """Ms since the epoch by the leader's clock."""
    last_caught_up_ms: int | None = None
    """Likewise."""
    only_in: str | None = None
    """Who alone has a voter: `ONLY_IN_LOG`, `ONLY_DESCRIBED`; None where nothing differs."""


def voters_in_log(quorum: QuorumImage) -> list[QuorumMember]:
    """Voters of the newest VotersRecord, else ids of the last leader change."""
    voters = quorum.voters
    if voters is None:
        ids = quorum.leaders[-1].voters if quorum.leaders else ()
        return [QuorumMember(id=voter) for voter in ids]
    return _members(voters)


def _members(voters: Columns) -> list[QuorumMember]:
    """The elements of a VotersRecord."""
    listeners = _listeners(voters, "endpoints")
    directories = voters.fixed("voter_directory_id")
    return [
        QuorumMember(
            id=voter,
            directory_id=uuid_text(directories[row].tobytes()),
            endpoints=listeners[row],
        )
        for row, voter in enumerate(voters.fixed("voter_id").tolist())
    ]


def voter_sets(records: Records) -> list[tuple[int, list[QuorumMember]]]:
    """The voters of each VotersRecord, with its offset, in order."""
    rows, columns = records.columns("VotersRecord")
    if not len(rows):
        return []
    voters = columns.structs("voters")
    offsets = records.frames_at(rows).offset[rows].tolist()
    return [(offset, _members(voters.take([i]).items)) for i, offset in enumerate(offsets)]  # type: ignore[arg-type]


def known_voters(image: Image, static: Sequence[int] = ()) -> list[QuorumMember]:
    """Voters as `voters_in_log`, else those given; endpoints come from registrations where needed.

    Args:
        image: The cluster.
        static: The result of `static_voters`.
    """
    registered = image.part("controllers").columns
    listeners = dict(
        zip(
            registered.fixed("controller_id").tolist(),
            _listeners(registered, "end_points"),
            strict=True,
        )
    )
    return [
        replace(voter, endpoints=listeners.get(voter.id)) if voter.endpoints is None else voter
        for voter in voters_in_log(image.quorum) or [QuorumMember(id=voter) for voter in static]
    ]


def static_voters(state: Mapping[str, object] | None) -> list[int]:
    """Ids of a static quorum's voters, by keys and values of a node's own ``quorum-state``."""
    voters = None if state is None else state.get("currentVoters")
    return [voter for voter in voters if isinstance(voter, int)] if isinstance(voters, list) else []


def _listeners(records: Columns, name: str) -> list[tuple[str, ...]]:
    """The endpoints of each record, such as ``CONTROLLER://host:9093``."""
    endpoints = records.structs(name)
    items, bounds = endpoints.items, endpoints.list_offsets.tolist()
    texts = [
        f"{listener}://{f'[{host}]' if ':' in host else host}:{port}"
        for listener, host, port in zip(
            items.span("name").texts(),
            items.span("host").texts(),
            items.fixed("port").tolist(),
            strict=True,
        )
    ]
    return [tuple(texts[a:b]) for a, b in pairwise(bounds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leading:
    """Who leads the quorum, as a log and the files beside it tell."""

    leader: int | None
    """None where nothing names the leader of the epoch."""
    epoch: int
    """The newest epoch that is known; -1 for none."""
    by_file: bool
    """Whether ``quorum-state`` told one of both."""


def who_leads(quorum: QuorumImage, log_epoch: int, state: Mapping[str, object] | None) -> Leading:
    """The leader of the newest epoch that a log or ``quorum-state`` knows.

    Args:
        quorum: The quorum's state in the log; it names the leader of an epoch first.
        log_epoch: The epoch of its last record, -1 without one.
        state: Keys and values of the node's ``quorum-state``; None without it. The node may know
            of an election that its log has no record of, or lost it to a checkpoint.
    """
    fields = {} if state is None else state
    leader, epoch = fields.get("leaderId"), fields.get("leaderEpoch")
    newest = max(log_epoch, epoch if isinstance(epoch, int) else -1)
    elected = next((c.leader for c in reversed(quorum.leaders) if c.epoch == newest), None)
    by_file = newest > log_epoch
    if elected is None and epoch == newest and isinstance(leader, int) and leader >= 0:
        elected, by_file = leader, True
    return Leading(leader=elected, epoch=newest, by_file=by_file)


def voters_of(quorum: QuorumImage, description: QuorumDescription | None) -> list[QuorumMember]:
    """Voters by the log and by the leader, in the order of their ids.

    Who votes is compared only where the log has a VotersRecord: a static quorum has none.
    """
    logged = voters_in_log(quorum)
    if description is None:
        return logged
    described = [_described(replica, description) for replica in description.voters]
    if quorum.voters is None:
        return sorted(described, key=_order)
    by_id: dict[int, list[QuorumMember]] = {}
    for member in described:
        by_id.setdefault(member.id, []).append(member)
    found = []
    for voter in logged:
        same = by_id.get(voter.id, [])
        match = next((m for m in same if m.directory_id in (None, voter.directory_id)), None)
        if match is None:
            found.append(replace(voter, only_in=ONLY_IN_LOG))
            continue
        same.remove(match)
        endpoints = voter.endpoints or match.endpoints
        found.append(replace(match, directory_id=voter.directory_id, endpoints=endpoints))
    left = (member for members in by_id.values() for member in members)
    found += (replace(member, only_in=ONLY_DESCRIBED) for member in left)
    return sorted(found, key=_order)


def observers_of(description: QuorumDescription | None) -> list[QuorumMember]:
    """Who follows without a vote, as the leader tells it, in the order of their ids."""
    if description is None:
        return []
    return sorted((_described(r, description) for r in description.observers), key=_order)


def _described(replica: Replica, description: QuorumDescription) -> QuorumMember:
    directory = replica.directory_id
    return QuorumMember(
        id=replica.id,
        directory_id=None if directory in (None, _NO_DIRECTORY) else uuid_text(directory),
        endpoints=description.endpoints.get(replica.id),
        log_end_offset=replica.log_end_offset,
        lag=description.lag(replica),
        last_fetch_ms=replica.last_fetch_ms,
        last_caught_up_ms=replica.last_caught_up_ms,
    )


def _order(member: QuorumMember) -> tuple[int, str]:
    return member.id, member.directory_id or ""


def by_name(members: Iterable[QuorumMember]) -> dict[str, QuorumMember]:
    """Members by id, or ``id@directoryId`` where an id repeats."""
    listed = list(members)
    times: dict[int, int] = {}
    for member in listed:
        times[member.id] = times.get(member.id, 0) + 1
    return {
        f"{m.id}@{m.directory_id}" if times[m.id] > 1 and m.directory_id else str(m.id): m
        for m in listed
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A leader epoch; None for what is not known."""

    epoch: int
    start_offset: int | None = None
    leader: int | None = None
    timestamp_ms: int | None = None
    """When the leader said that it leads, ms since the epoch."""


def known_epochs(
    records: Records,
    leaders: Sequence[LeaderChange],
    starts: Mapping[int, int],
    newest: int,
) -> dict[int, Epoch]:
    """Every leader epoch that something tells of.

    Args:
        records: The log; its batches know their epochs.
        leaders: The leader changes in it.
        starts: Start offset by epoch, as a node's own file has them.
        newest: Epoch of the last record, which a checkpoint tells without its start; -1 for none.
    """
    found = {} if newest < 0 else {newest: Epoch(epoch=newest)}
    for epoch, offset in _batch_epochs(records).items():
        found[epoch] = Epoch(epoch=epoch, start_offset=offset)
    for epoch, start in starts.items():
        found[epoch] = Epoch(epoch=epoch, start_offset=start)
    for change in leaders:
        found[change.epoch] = Epoch(
            epoch=change.epoch,
            start_offset=change.offset,
            leader=change.leader,
            timestamp_ms=change.timestamp_ms,
        )
    return found


def _batch_epochs(records: Records) -> dict[int, int | None]:
    """Start offset of each epoch in the log's batches; None where what is before it is missing."""
    files = records.loaded.files
    # A checkpoint tells what came before the first batch behind it.
    known = {file.end_offset: file.epoch for file in files if file.end_offset is not None}
    found: dict[int, int | None] = {}
    before, behind = -1, -1
    for number, file in enumerate(files):
        if file.name.endswith(".checkpoint"):
            continue
        for epoch, first, end in _runs_of(records, number):
            if epoch != before or not found:
                follows = first in (behind, 0) or known.get(first, epoch) < epoch
                found.setdefault(epoch, first if follows else None)
            before, behind = epoch, end
    return found


def _runs_of(records: Records, number: int) -> Sequence[EpochRun]:
    """The epochs of the batches of a file, as far as these count."""
    known = records.loaded.files[number].epochs
    if known is not None:
        return known
    batches = records.frames.batches
    counts = batches.file == number
    if records.before is not None:
        counts = counts & (batches.first_row[:-1] < records.before)
    return epoch_runs(batches.header[counts])
