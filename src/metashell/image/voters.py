"""The quorum's own state as the log has it: voters, kraft.version, leaders.

Source: org.apache.kafka.raft.internals.KRaftControlRecordStateMachine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.dataclass import dataclass
from metashell.records.records import Records
from metashell.schema.columns import Columns

if TYPE_CHECKING:
    from metashell.image.image import Image


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
