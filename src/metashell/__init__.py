"""metashell: the shell for Apache Kafka's KRaft metadata.

``metashell.open(path)`` reads a metadata directory; see `metashell.source`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Source", "__version__", "open", "open_file"]

if TYPE_CHECKING:
    from metashell.source import Source, open, open_file


def __getattr__(name: str) -> Any:
    """Import the public API on first use (PEP 562), so that ``--help`` costs nothing."""
    if name in {"Source", "open", "open_file"}:
        from metashell import source

        return getattr(source, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
