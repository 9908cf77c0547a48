"""What is known of the quorum: its members and its epochs, from the log and from its leader.

The log names the voters (VotersRecord, else the last LeaderChangeMessage); the leader, where one
can be asked, knows how far each replica has come. Here both are put together; a voter that only one
of them has says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from metashell.schema.uuids import uuid_text

if TYPE_CHECKING:
    from metashell.image.records import Records
    from metashell.image.voters import Leadership, QuorumImage
    from metashell.quorum.description import QuorumDescription, Replica

ONLY_IN_LOG: Final = "log"
ONLY_DESCRIBED: Final = "DescribeQuorum"
_NO_DIRECTORY: Final = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
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


def voters_in_log(quorum: QuorumImage) -> list[Member]:
    """Voters of the newest VotersRecord, else ids of the last leader change."""
    voters = quorum.voters
    if voters is None:
        ids = quorum.leaders[-1].voters if quorum.leaders else ()
        return [Member(id=voter) for voter in ids]
    endpoints = voters.structs("endpoints")
    items, bounds = endpoints.items, endpoints.list_offsets.tolist()
    listeners = [
        f"{name}://{host}:{port}"
        for name, host, port in zip(
            items.span("name").texts(),
            items.span("host").texts(),
            items.fixed("port").tolist(),
            strict=True,
        )
    ]
    directories = voters.fixed("voter_directory_id")
    return [
        Member(
            id=voter,
            directory_id=uuid_text(directories[row].tobytes()),
            endpoints=tuple(listeners[bounds[row] : bounds[row + 1]]),
        )
        for row, voter in enumerate(voters.fixed("voter_id").tolist())
    ]


def voters_of(quorum: QuorumImage, description: QuorumDescription | None) -> list[Member]:
    """Voters by the log and by the leader, in the order of their ids.

    Who votes is compared only where the log has a VotersRecord: a static quorum has none.
    """
    logged = voters_in_log(quorum)
    if description is None:
        return logged
    described = [_described(replica, description) for replica in description.voters]
    if quorum.voters is None:
        return sorted(described, key=_order)
    by_id: dict[int, list[Member]] = {}
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


def observers_of(description: QuorumDescription | None) -> list[Member]:
    """Who follows without a vote, as the leader tells it, in the order of their ids."""
    if description is None:
        return []
    return sorted((_described(r, description) for r in description.observers), key=_order)


def _described(replica: Replica, description: QuorumDescription) -> Member:
    directory = replica.directory_id
    return Member(
        id=replica.id,
        directory_id=None if directory in (None, _NO_DIRECTORY) else uuid_text(directory),
        endpoints=description.endpoints.get(replica.id),
        log_end_offset=replica.log_end_offset,
        lag=description.lag(replica),
        last_fetch_ms=replica.last_fetch_ms,
        last_caught_up_ms=replica.last_caught_up_ms,
    )


def _order(member: Member) -> tuple[int, str]:
    return member.id, member.directory_id or ""


def by_name(members: Iterable[Member]) -> dict[str, Member]:
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
    leaders: Sequence[Leadership],
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
    import numpy as np

    batches, files = records.frames.batches, records.loaded.files
    in_log = np.array([not file.name.endswith(".checkpoint") for file in files], dtype=np.bool_)
    counts = in_log[batches.file] if len(files) else np.zeros(0, dtype=np.bool_)
    if records.before is not None:
        counts = counts & (batches.first_row[:-1] < records.before)
    header = batches.header[counts]
    epochs = header["epoch"].astype(np.int64)
    bases = header["base_offset"].astype(np.int64)
    ends = bases + header["last_delta"].astype(np.int64) + 1
    begins = np.flatnonzero(np.append(True, epochs[1:] != epochs[:-1])[: len(epochs)])
    # A checkpoint tells what came before the first batch behind it.
    known = {file.end_offset: file.epoch for file in files if file.end_offset is not None}
    found: dict[int, int | None] = {}
    for at in begins.tolist():
        epoch, base = int(epochs[at]), int(bases[at])
        follows = at > 0 and int(ends[at - 1]) == base
        follows = follows or base == 0 or known.get(base, epoch) < epoch
        found.setdefault(epoch, base if follows else None)
    return found
