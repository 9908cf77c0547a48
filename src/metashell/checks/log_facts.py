"""What a log can be compared with its copies by: its batches, and what is known of its epochs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from metashell.checks.agreement import (
    EPOCH,
    LAST,
    Epochs,
    batch_at,
    batches_of,
    first_epoch_conflict,
)
from metashell.checks.agreement import first_conflict as first_other_batch
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.log.names import Listing
from metashell.node_files.node_files import NodeFiles
from metashell.places.bounded_file import AnyPlace

if TYPE_CHECKING:
    from metashell.records.records import Records
    from metashell.schema.arena import I64


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Batches and epochs of a log, up to an offset."""

    batches: I64
    """int64[n, 4], see `metashell.checks.agreement.batches_of`."""
    epochs: Epochs
    end: int
    """The last offset; -1 where there is none."""

    @classmethod
    def of(
        cls,
        records: Records,
        listing: Listing,
        directory: AnyPlace | None,
        *,
        offset: int = -1,
        until: int | None = None,
        whole: bool = False,
    ) -> LogFacts:
        """Gather what is known.

        Args:
            records: The records read.
            listing: The names in the directory.
            directory: Where ``leader-epoch-checkpoint`` is looked for; None for nowhere.
            offset: The last offset of the state, which may come from a checkpoint.
            until: Leave out batches that begin behind that offset.
            whole: Take the batches behind the state's end too, as far as they were read.
        """
        before = None if whole else records.before
        batches = batches_of(records.loaded, records.frames, before)
        if until is not None:
            batches = batches[batches[:, 0] <= until]
        end = max(offset, int(batches[-1, LAST]) if len(batches) else -1)
        entries: list[tuple[int, int]] = []
        with suppress(MetashellError):
            entries = list(NodeFiles(directory).epochs().items())
        points = [(c.epoch, c.end_offset - 1) for c in listing.checkpoints if not c.is_bootstrap]
        return cls(batches, Epochs.of(batches, entries, points, end), end)

    def epoch_at(self, offset: int) -> int | None:
        """The leader epoch of an offset; None where it is not known."""
        batch = batch_at(self.batches, offset)
        return self.epochs.at(offset) if batch is None else batch[EPOCH]

    def first_conflict(self, other: LogFacts) -> int | None:
        """The first offset at which both can't be of one log; None where all that is here can."""
        found = (
            first_other_batch([self.batches, other.batches]),
            first_epoch_conflict(self.epochs, other.epochs),
        )
        return min((offset for offset in found if offset is not None), default=None)
