"""The columns of ``fleet --coordinators``."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import NOT_ZERO, flag, integer, sentence, text

REPLICA_COLUMNS: Final = (
    text("cluster", "The directory's name below /clusters.", priority=8),
    text("topic", "The coordinators' topic.", priority=9),
    integer("partition", "The partition.", priority=9),
    integer("leader", "The broker that leads it; null for none, or if not known.", priority=5),
    integer("node_id", "The node that has the replica; null: no replica is here.", priority=8),
    flag("read", "Whether groups and transactions are read from it.", priority=9),
    integer("newest_epoch", "The newest leader epoch that the replica knows.", priority=6),
    integer("end_offset", "The offset behind its last one.", priority=7),
    integer(
        "diverges_at",
        "The first offset at which it has another batch, or epoch, than the one that is read.",
        priority=8,
        red=NOT_ZERO,
    ),
    text("directory", "Its directory.", shown=False),
    sentence("error", "Why it can't be read.", priority=4),
)
