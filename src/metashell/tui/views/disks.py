"""Disks: the replicas in a node's log directories, and what becomes of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from metashell.schema.sizes import size_text
from metashell.tui.rows.cells import order_of
from metashell.tui.rows.cluster_rows import joined
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion


class DisksView(AnswerView[ViewAnswer]):
    """The view of disks."""

    HELP = (
        "# Disks\n"
        "The node's log directories, and the replicas in them, like the command `replicas`. The "
        "state is what the broker makes of a replica at its next start. `missing` ones are on no "
        "disk. Below is why, and what follows.\n\n"
        "- `enter` on a directory shows its replicas alone; on a replica it opens the partition\n"
        "- `ctrl+r` looks at the disks again"
    )
    ASKS = "looking at the disks"
    TABLES = ("disks", "replicas")
    DEFAULT_CSS = "DisksView #disks-disks { height: auto; max-height: 35%; }"

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """The log directories, and the replicas, those first that are not in place."""
        disks = question.rows("replicas", "--summary", "directory")
        replicas = question.rows(
            "replicas", heading="Replicas",
            first=("topic", "partition", "state", "bytes", "broker", "last_time", "directory"),
        )  # fmt: skip
        n, size = len(replicas.table), size_text(pc.sum(replicas.table["bytes"]).as_py() or 0)
        n_missing = pc.sum(disks.table["missing"]).as_py()
        title = joined((f"{n:,} replicas", size, f"{n_missing:,} missing" if n_missing else None))
        worst_first = order_of(replicas.table, ("state", True), "", question.job.cancelled)
        shown = replace(replicas, table=replicas.table.take(worst_first))
        rows = {"disks": disks, "replicas": shown}
        return ViewAnswer(title=title, notes=replicas.warnings, rows=rows)

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Show the replicas of a directory, or the partition of a replica."""
        if name != "disks":
            super().choose(name, row)
            return
        replicas = self.tables_by_name["replicas"]
        replicas.focus()
        replicas.filter_by(row["directory"] or "")
