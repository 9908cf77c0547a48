"""Puts fetched records and snapshots into the store, or refuses them.

Owns the order in which a snapshot's pieces come, what counts as progress and as having caught up,
and what is done where a leader's log is not the one that was followed. Sends nothing.

Source: org.apache.kafka.raft.KafkaRaftClient.handleFetchResponse, handleFetchSnapshotResponse.
"""

from __future__ import annotations

from typing import Final

from metashell.errors import DecodeError
from metashell.quorum.answers import FetchAnswer, SnapshotPiece
from metashell.quorum.steps import LogStore
from metashell.security.settings import Address

NOTES_MAX: Final = 20
"""Notes of what went wrong are no log: the newest are kept."""


class RefusedError(Exception):
    """Fetched data is no good, and has to be asked for again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Intake:
    """The observer's side of the store."""

    def __init__(self, store: LogStore) -> None:
        self.store = store
        self.high_watermark: int | None = None
        """The newest that a leader told."""
        self.is_caught_up = False
        """Whether all is here that was committed when a leader first said what was."""
        self.snapshot: tuple[int, int] | None = None
        """(end offset, epoch) of the one that is being fetched."""
        self.snapshot_pos = 0
        """Where its next piece begins."""
        self.snapshot_progress: tuple[int, int] | None = None
        """(bytes here, bytes in all) while a snapshot is fetched."""
        self.is_in_vain = False
        """Whether no sound quorum gives such a one: it ends before what was committed, or takes
        the place of a whole snapshot before any record came behind that."""
        self.notes: tuple[str, ...] = ()
        self._source: str | None = None
        self._has_records = True
        """Whether records came since a snapshot was last whole."""
        self._n_proved = 0
        """Bytes of sound batches that were here at the same time, at the most."""
        self._target: int | None = None

    def note(self, sentence: str) -> None:
        """Keep what the user should know, once."""
        if sentence not in self.notes:
            self.notes = (*self.notes, sentence)[-NOTES_MAX:]

    def has_grown(self) -> bool:
        """Whether more of the log is here than ever before.

        Records that are dropped and fetched again do not count. Records that nobody says to be
        committed count once: a leader learns its high watermark soon.
        """
        n_proved, before = self.store.n_proved, self._n_proved
        self._n_proved = max(n_proved, before)
        are_records = self.snapshot is None and self._has_records
        if are_records and before and self.high_watermark is None:
            return False
        return n_proved > before and not self.is_in_vain

    # Records.

    def take(self, fetched: FetchAnswer) -> bool:
        """Take records and the high watermark.

        Returns:
            Whether there is more than before, or more of it is committed.

        Raises:
            RefusedError: The records are damaged or do not follow.
        """
        store = self.store
        before = (store.end_offset, store.committed_end)
        if fetched.high_watermark >= 0:
            # First: what is here may have to count before there is room for more.
            self.high_watermark = fetched.high_watermark
            store.commit(fetched.high_watermark)
        if fetched.records:
            try:
                n_batches = store.append(fetched.records)
            except DecodeError as e:
                raise RefusedError(f"the records at offset {before[0]} are bad: {e.message}") from e
            if n_batches == 0:
                raise RefusedError(f"what it sends for offset {before[0]} is not a whole batch")
            store.commit(fetched.high_watermark)
        self._look_whether_caught_up()
        self._has_records = self._has_records or store.end_offset > before[0]
        self.is_in_vain = False
        return (store.end_offset, store.committed_end) != before

    def _look_whether_caught_up(self) -> None:
        if self.high_watermark is None:
            return
        if self._target is None:
            self._target = self.high_watermark
        store, held = self.store, self.store.held_back
        # A high watermark inside a batch leaves the batch out, and nothing to wait for.
        here = store.committed_end >= self._target or (held is not None and held >= self._target)
        self.is_caught_up = self.is_caught_up or here

    def diverge(self, epoch: int, end_offset: int) -> None:
        """Drop the records that the leader does not have.

        Raises:
            RefusedError: They can't be dropped, or are committed.
        """
        store = self.store
        before, committed = store.end_offset, store.committed_end
        if store.truncate(epoch, end_offset) and store.end_offset < before:
            return
        if store.committed_end < before:
            raise RefusedError(
                f"it says that the log diverges before offset {before}, but epoch {epoch} agrees"
                f" up to offset {end_offset}"
            )
        if not committed:
            raise RefusedError("it says that the log diverges at offset 0, where it begins")
        self.note(
            f"the quorum's log changed below offset {committed}, which was committed:"
            " all of it is fetched again"
        )
        self.forget()
        raise RefusedError(f"its log lacks what was committed below offset {committed}")

    def forget(self) -> None:
        """Begin anew."""
        self.store.forget()
        self.drop_snapshot()
        self.high_watermark = self._target = None

    # Snapshots.

    def begin_snapshot(self, snapshot: tuple[int, int], source: Address) -> None:
        """Make ready for a snapshot, or to go on with it where the same peer offers it again.

        Raises:
            RefusedError: It is none.
        """
        if snapshot[0] <= 0:
            raise RefusedError(f"it offers a snapshot of nothing (offset {snapshot[0]})")
        committed = self.store.committed_end
        # Controllers write their snapshots themselves: the bytes of another one may differ.
        if snapshot == self.snapshot and str(source) == self._source:
            return
        self.is_in_vain = snapshot[0] <= committed or not self._has_records
        if snapshot[0] <= committed:
            self.note(
                f"the quorum begins again with the snapshot at offset {snapshot[0]}, though all"
                f" below offset {committed} was committed"
            )
        self.snapshot, self.snapshot_pos, self._source = snapshot, 0, str(source)
        self.snapshot_progress = None
        self.store.begin_snapshot(*snapshot)

    def take_piece(self, piece: SnapshotPiece) -> bool:
        """Take the piece that was asked for; whether the snapshot is whole.

        Raises:
            RefusedError: It is not that piece, or the whole is damaged: begin anew.
        """
        if piece.snapshot != self.snapshot or not len(piece.data):
            self.drop_snapshot()
            raise RefusedError("the next piece is not the requested part of the snapshot")
        try:
            whole = self.store.add_snapshot(piece.pos, piece.data, piece.size)
        except DecodeError as e:
            self.drop_snapshot()
            raise RefusedError(e.message) from e
        self.snapshot_pos += len(piece.data)
        self.snapshot_progress = (self.snapshot_pos, piece.size)
        if whole:
            self.drop_snapshot()
            self._has_records = False
        return whole

    def drop_snapshot(self) -> None:
        """No snapshot is being fetched any more."""
        self.snapshot = self.snapshot_progress = self._source = None
        self.snapshot_pos = 0
