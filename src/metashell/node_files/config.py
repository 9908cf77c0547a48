"""Configuration files: a node's `server.properties` or a client's, and the log they name.

Owns which directory a configuration means. Must never put a value of it into an error or a repr,
but for the directory: a configuration holds passwords.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.node_files.properties import parse_properties
from metashell.places.bounded_file import MIB, read_bounded

METADATA_LOG_NAME: Final = "__cluster_metadata-0"
_METADATA: Final = "metadata.log.dir"
_LOGS: Final = ("log.dirs", "log.dir")
"""Keys of directories with logs; the first that is set counts."""
_LIMIT_BYTES: Final = 4 * MIB
_OF_QUORUM: Final = re.compile(
    r"process\.roles|(node|broker)\.id|(advertised\.)?listeners|zookeeper\.connect"
    r"|controller\.listener\.names|controller\.quorum\.(voters|bootstrap\.servers)"
    r"|(metadata\.)?log\.dirs?"
)
_QUORUM_KEYS: Final = (
    "bootstrap.controllers",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
)


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a node, and the key that named it."""

    path: Path
    key: str

    @property
    def metadata_log(self) -> Path:
        """The directory of the metadata log in it."""
        return self.path / METADATA_LOG_NAME


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """A configuration file's settings."""

    file: str
    settings: Mapping[str, str] = field(repr=False)

    def log_dir(self) -> LogDir | None:
        """The directory that holds the metadata log, as Kafka chooses it; None if none is named.

        Raises:
            UsageError: The value can't be a path.
        """
        for key in (_METADATA, *_LOGS):
            for path in self._paths(key):
                return self._plain(path, key)
        return None

    def log_dirs(self) -> tuple[LogDir, ...]:
        """Every log directory that is named, as Kafka has them; the metadata log's may be one more.

        Raises:
            UsageError: A value can't be a path.
        """
        key = next((key for key in _LOGS if self._paths(key)), _LOGS[0])
        found: dict[Path, LogDir] = {}
        for one in (key, _METADATA):
            for path in self._paths(one):
                named = self._plain(path, one)
                found.setdefault(named.path, named)
        return tuple(found.values())

    def named_log_dirs(self) -> list[str]:
        """The log directories of a broker, as they are named: one may be there twice."""
        return next((found for key in _LOGS if (found := self._paths(key))), [])

    def _paths(self, key: str) -> list[str]:
        """The directories that a key names, as they stand there."""
        value = self.settings.get(key, "")
        words = value.split(",") if key in _LOGS else [value]
        return [word.strip() for word in words if word.strip()]

    def _plain(self, path: str, key: str) -> LogDir:
        if "\0" in path or "${" in path:
            raise UsageError(
                f"{self.file}: `{key}` is not a plain path",
                hint="give the directory itself: `metashell -d DIR`",
            )
        return LogDir(Path(path), key)

    def of_quorum(self) -> tuple[str, Mapping[str, str]]:
        """The file, and its settings about nodes, listeners, voters and log directories.

        None of them is secret.
        """
        own = {key: value for key, value in self.settings.items() if _OF_QUORUM.fullmatch(key)}
        return self.file, own

    @property
    def names_node(self) -> bool:
        """Whether it is a node's of KRaft: a client's has none of these keys."""
        has_roles = "process.roles" in self.settings
        return has_roles or (
            "node.id" in self.settings and "zookeeper.connect" not in self.settings
        )

    @property
    def node_id(self) -> int | None:
        """The node's id; None where it is missing, or no number."""
        text = self.settings.get("node.id", "").strip()
        return int(text) if text.isascii() and text.isdigit() else None

    def names_quorum(self) -> bool:
        """Whether it names addresses of controllers."""
        return any(self.settings.get(key, "").strip() for key in _QUORUM_KEYS)


def read_config(path: str | os.PathLike[str]) -> KafkaConfig:
    """Read a configuration file, which may be a pipe.

    Raises:
        SourceError: It can't be read or is malformed.
    """
    file = os.fspath(path)
    data = read_bounded(path, limit_bytes=_LIMIT_BYTES, pipes=True)
    return KafkaConfig(file, parse_properties(data, file))
