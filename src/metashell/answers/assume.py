"""The content of a node's own `server.properties`, which the metadata log does not know.

Owns `Assumptions`: values that a user vouches for by ``--assume FILE``. Must never put a value into
an error or a repr: such a file holds passwords.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.node_files.properties import parse_properties
from metashell.places.bounded_file import MIB, read_bounded

_LIMIT_BYTES: Final = 4 * MIB


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Settings of a node's configuration file, taken to hold for every node."""

    path: str | None = None
    """The file as the user named it; None where none was given."""
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, key: str) -> str | None:
        """The value of a broker's key, None where the file does not set it."""
        return self.settings.get(key)

    def __bool__(self) -> bool:
        return self.path is not None


NO_ASSUMPTIONS: Final = Assumptions()
"""Nothing is assumed: what the log does not say has Kafka's default."""


def load_assumptions(path: str | os.PathLike[str]) -> Assumptions:
    """Read a node's configuration file, which may be a pipe.

    Raises:
        SourceError: It can't be read, is larger than 4 MiB or is malformed.
    """
    file = os.fspath(path)
    data = read_bounded(path, limit_bytes=_LIMIT_BYTES, pipes=True)
    return Assumptions(file, parse_properties(data, file))
