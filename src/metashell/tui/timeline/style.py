"""Colours of the timeline's parts."""

from __future__ import annotations

from typing import Final

COMPONENTS: Final = {
    f"timeline--{name}"
    for name in (
        *("topics", "nodes", "configs", "security", "quorum", "other", "no_ops"),
        *("fault", "election", "before", "label", "remark", "offline", "under"),
    )
}
CSS: Final = """
Timeline {
    height: 2;
    text-wrap: nowrap;
    text-overflow: ellipsis;
    .timeline--topics { color: $text-primary; }
    .timeline--nodes { color: $text-success; }
    .timeline--configs { color: $text-accent; }
    .timeline--security { color: $text-warning; }
    .timeline--quorum { color: $text-secondary; }
    .timeline--other { color: $foreground; }
    .timeline--no_ops { color: $text-muted; }
    .timeline--label { color: $text-muted; }
    .timeline--fault { color: $text-error; text-style: bold; }
    .timeline--offline { color: $text-error; text-style: bold; }
    .timeline--under { color: $text-warning; }
    .timeline--remark { color: $text-warning; text-style: bold; }
    .timeline--election { color: $foreground; text-style: bold; }
    .timeline--before { color: $foreground; text-style: bold; }
}
Timeline:focus { background: $surface; }
"""
