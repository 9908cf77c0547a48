"""The columns of ``fleet --votes``."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import integers, text, texts

VOTE_COLUMNS: Final = (
    text("cluster_id", "The cluster's id.", priority=2),
    integers("running", "Ids of the voters that run, and no other voter.", priority=9),
    integers("can_win", "Ids of the voters that can win the vote then.", priority=9),
    texts("directories", "Names below /clusters of those that run.", priority=5),
)
