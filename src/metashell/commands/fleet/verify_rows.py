"""The columns of ``fleet --verify``."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import integer, text

VERIFY_COLUMNS: Final = (
    text("cluster", "The directory's name below /clusters."),
    text("cluster_id", "The cluster's id."),
    integer("offset", "The offset at which its state is compared with the others of its cluster."),
    text("checksum", "The digest of its state there."),
    text("verdict", "equal, differs, diverged, alone or unknown."),
    integer("diverged_at", "The first offset at which its log holds another batch than others'."),
    integer("epoch", "That batch's leader epoch."),
    integer("other_epoch", "Leader epoch of the batch that the others hold there."),
    text("without_orphans", "The digest without configs of topics that do not exist."),
    integer("orphans", "How many such configs there are."),
    integer("last_offset", "Offset of its last record.", shown=False),
    text("directory", "Its path.", shown=False),
    text("error", "Why it can't be compared.", shown=False),
)
