"""metashell: the shell for Apache Kafka's KRaft metadata.

``metashell.open(path)`` reads a metadata directory; see `metashell.sources.opening`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.version import __version__

__all__ = ["Source", "__version__", "open", "open_file", "open_fleet", "open_quorum"]

if TYPE_CHECKING:
    from metashell.sources.opening import open, open_file, open_fleet, open_quorum
    from metashell.sources.source import Source


def __getattr__(name: str) -> Any:
    """Import the public API on first use (PEP 562), so that ``--help`` costs nothing."""
    if name == "Source":
        from metashell.sources.source import Source

        return Source
    if name in {"open", "open_file", "open_fleet", "open_quorum"}:
        from metashell.sources import opening

        return getattr(opening, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
