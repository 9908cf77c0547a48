"""The columns of ``fleet --verify``."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import integer, text

VERIFY_COLUMNS: Final = (
    text("cluster", "The directory's name below /clusters.", priority=9),
    text("cluster_id", "The cluster's id.", priority=2),
    integer("offset", "The offset at which states of its cluster are compared.", priority=6),
    text("checksum", "The digest of its state at this offset.", priority=4),
    text(
        "verdict",
        "equal, differs, diverged, alone or unknown.",
        priority=8,
        red=("differs", "diverged"),
        yellow=("unknown",),
    ),
    integer(
        "diverged_at",
        "The first offset at which its log has another batch than the others.",
        priority=7,
    ),
    integer("epoch", "The leader epoch of this batch.", priority=5),
    integer("other_epoch", "The leader epoch of the others' batch.", priority=5),
    text("without_orphans", "The digest without configs of topics that do not exist."),
    integer("orphans", "The number of these configs."),
    integer("last_offset", "Offset of its last record.", shown=False),
    text("directory", "Its path.", shown=False),
    text("error", "Why it can't be compared.", shown=False),
)
