"""How a log is read and shown: one value that every layer takes whole, each what concerns it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, TypedDict, Unpack

from metashell.dataclass import dataclass

OLDER_BYTES: Final = 64 << 20
"""A directory's older files of at most so many bytes together are read to tell times, unasked."""


class _Switches(TypedDict, total=False):
    """Settings that are on or off, as keyword arguments."""

    strict: bool
    show_secrets: bool
    committed_only: bool


class ReadOptions(_Switches, total=False):
    """All settings as keyword arguments."""

    schemas: Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How a log is read and shown; picklable."""

    strict: bool = False
    """Whether the image ends before the first fault, instead of going on behind it."""
    schemas: tuple[Path, ...] = ()
    """Directories of further message definitions."""
    show_secrets: bool = False
    """Whether nothing is redacted."""
    committed_only: bool = False
    """Whether what may not be committed is left out: all behind the newest checkpoint."""
    log_dirs: tuple[str, ...] = field(default=(), repr=False)
    """Log directories besides that of the metadata log, where coordinators' logs lie too: paths and
    URIs. A URI may hold a password."""
    config: tuple[str, Mapping[str, str]] | None = None
    """The node's own `server.properties`, as far as it is about the quorum: file and settings."""
    missing_dirs: tuple[str, ...] = ()
    """Why log directories that the node's configuration names can't be read, with their paths."""
    foreign_dirs: tuple[str, ...] = field(default=(), repr=False)
    """Log directories that the node's configuration names and that are another node's: only
    their identity is judged."""

    @classmethod
    def of(
        cls, *, schemas: Sequence[str | os.PathLike[str]] = (), **switches: Unpack[_Switches]
    ) -> ReadSettings:
        """From keyword arguments, where paths may be texts.

        Raises:
            TypeError: There is no such setting.
        """
        return cls(schemas=tuple(map(Path, schemas)), **switches)


READ_DEFAULTS: Final = ReadSettings()
