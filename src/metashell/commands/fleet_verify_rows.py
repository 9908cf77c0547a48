"""The columns of ``fleet --verify``."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows_of import integer, text

VERIFY_FIELDS: Final = (
    text("cluster", "The directory's name below /clusters."),
    text("cluster_id", "The cluster's id."),
    integer("offset", "The offset at which its cluster's directories are compared."),
    text("checksum", "The digest of its state there."),
    text("verdict", "equal, differs, alone or unknown."),
    integer("last_offset", "Offset of its last record.", shown=False),
    text("directory", "Its path.", shown=False),
    text("error", "Why it can't be compared.", shown=False),
)
