"""The option ``--against SOURCE`` of commands that compare disks with other metadata."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from metashell.commands.framework.options import Option

if TYPE_CHECKING:
    from metashell.sources.source import Source

AGAINST: Final = Option(
    ("--against",),
    "Compare with the metadata of a controller's directory, or of the quorum at HOST:PORT. "
    "Without it, with the node's own metadata log.",
    "SOURCE",
)


def open_against(against: str, source: Source) -> Source:
    """Open the quorum or the directory that the option names, with the settings of a source.

    Raises:
        SourceError: It can't be read.
        NoLeaderError: No leader of the quorum can be followed.
    """
    from metashell.node_files.config import read_config
    from metashell.quorum.settings import security_of
    from metashell.sources.opening import open_like, open_quorum

    host, colon, port = against.split(",", maxsplit=1)[0].rpartition(":")
    if os.path.exists(against) or not (host and colon and port.isdecimal()):
        return open_like(source, against)
    config = source.settings.config
    return open_quorum(
        against, security=security_of(None if config is None else read_config(config[0]))
    )
