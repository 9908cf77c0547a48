"""Names by which the configuration file calls the explorer's themes and keys.

Kept by hand beside what they name, so that reading the file needs no Textual; tests compare them.
"""

from __future__ import annotations

from typing import Final

EXPLORER_THEMES: Final = (
    "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light", "catppuccin-frappe",
    "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula", "flexoki", "gruvbox",
    "high-contrast", "metashell-dark", "metashell-light", "monokai", "nord", "rose-pine",
    "rose-pine-dawn", "rose-pine-moon", "solarized-dark", "solarized-light", "textual-dark",
    "textual-light", "tokyo-night",
)  # fmt: skip
"""Themes: Textual's, and our own."""

KEY_IDS: Final = (
    "answer.back", "answer.refresh", "back", "bookmark", "bookmarks", "bookmarks.forget",
    "bookmarks.leave", "brokers.none", "brokers.pick", "brokers.rack", "brokers.without", "cancel",
    "chips.edit", "chips.left", "chips.remove", "chips.right", "columns.show", "columns.toggle",
    "command", "command.close", "command.output", "command.page-down", "command.page-up",
    "copy.path", "copy.value", "describe", "explorer.parent", "explorer.width", "export",
    "export.table", "fault.earlier", "fault.later", "filter", "filter.down", "filter.drop",
    "filter.keep", "find", "find.leave", "find.results", "find.start", "fleet.verify", "forward",
    "go", "health.deep", "health.moment", "health.run", "help", "interrupt", "jump.leave",
    "jump.next", "jump.previous", "jump.stay", "leader.earlier", "leader.later", "line.complete",
    "line.hide", "line.next", "line.previous", "lines.down", "lines.first", "lines.last",
    "lines.left", "lines.page-down", "lines.page-up", "lines.right", "lines.up", "list.choose",
    "list.down", "list.first", "list.last", "list.leave", "list.letter-down", "list.letter-up",
    "list.page-down", "list.page-up", "list.up", "live.pause", "maximise", "node.children",
    "node.earlier", "node.history", "node.later", "node.open", "node.record", "node.text",
    "node.travel", "node.value", "node.wrap", "open.editor", "open.pager", "prompt.leave", "quit",
    "records.add", "records.as-of", "records.choose", "records.clear", "records.details",
    "records.down", "records.first", "records.last", "records.left", "records.next",
    "records.next-batch", "records.noops", "records.page-down", "records.page-up",
    "records.previous", "records.previous-batch", "records.right", "records.up", "redraw",
    "relations", "relations.into", "relations.leave", "relations.out", "screenshot", "sql",
    "sql.before", "sql.behind", "sql.leave", "sql.run", "state.earlier", "state.later", "suspend",
    "table.choose", "table.columns", "table.down", "table.first", "table.first-column",
    "table.last", "table.last-column", "table.left", "table.page-down", "table.page-up",
    "table.right", "table.sort", "table.up", "time.at", "time.changes", "time.earlier", "time.end",
    "time.focus", "time.later", "time.play", "timeline.axis", "timeline.begin", "timeline.earlier",
    "timeline.earlier-10", "timeline.end", "timeline.faster", "timeline.later", "timeline.later-10",
    "timeline.leave", "timeline.play", "timeline.slower", "tree.down", "tree.first", "tree.into",
    "tree.jump", "tree.last", "tree.open", "tree.out", "tree.page-down", "tree.page-up",
    "tree.parent", "tree.up", "view.brokers", "view.disks", "view.explorer", "view.fleet",
    "view.groups", "view.health", "view.home", "view.quorum", "view.records", "view.rows",
    "view.topic",
)  # fmt: skip
"""Ids of bindings, which is what a key does."""
