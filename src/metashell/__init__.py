"""metashell: the shell for Apache Kafka's KRaft metadata.

``metashell.open(path)`` reads a metadata directory; see `metashell.sources.opening`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.errors import (
    DecodeError,
    InternalError,
    IsADirectoryPathError,
    MetashellError,
    MetashellWarning,
    NoLeaderError,
    NoMetadataLogError,
    NoSuchPathError,
    NotADirectoryPathError,
    NotCoveredError,
    PathError,
    SchemaError,
    SourceError,
    TopicLogError,
    UnknownNameError,
    UsageError,
)
from metashell.version import __version__

__all__ = [
    "DecodeError",
    "FleetSource",
    "InternalError",
    "IsADirectoryPathError",
    "MetashellError",
    "MetashellWarning",
    "NoLeaderError",
    "NoMetadataLogError",
    "NoSuchPathError",
    "NotADirectoryPathError",
    "NotCoveredError",
    "PathError",
    "SchemaError",
    "Source",
    "SourceError",
    "TopicLogError",
    "UnknownNameError",
    "UsageError",
    "__version__",
    "open",
    "open_file",
    "open_fleet",
    "open_quorum",
]

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.opening import open, open_file, open_fleet, open_quorum
    from metashell.sources.source import Source
else:

    def __getattr__(name: str) -> Any:
        """Import the public API on first use (PEP 562), so that ``--help`` costs nothing."""
        if name in {"FleetSource", "Source", "open", "open_file", "open_fleet", "open_quorum"}:
            from metashell.sources import opening
            from metashell.sources.fleet.source import FleetSource

            return FleetSource if name == "FleetSource" else getattr(opening, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
