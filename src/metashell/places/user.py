"""Directories of the user: configuration, cache and state, each where the platform keeps it.

On Linux these are the XDG directories, told without the library that knows all other platforms: its
import takes a tenth of what completion may take.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final, Literal

_PLATFORM: Final[str] = sys.platform
_CACHE_VARIABLE: Final = "METASHELL_CACHE_DIR"
_XDG: Final = {
    "config": ("XDG_CONFIG_HOME", "~/.config"),
    "cache": ("XDG_CACHE_HOME", "~/.cache"),
    "state": ("XDG_STATE_HOME", "~/.local/state"),
}


def user_directory(kind: Literal["config", "cache", "state"]) -> str:
    """Metashell's directory of a kind; it need not exist, and is relative without a home."""
    if _PLATFORM == "linux":
        variable, default = _XDG[kind]
        home = os.environ.get(variable, "")
        return os.path.join(home if home.strip() else os.path.expanduser(default), "metashell")
    import platformdirs

    found: str = getattr(platformdirs, f"user_{kind}_dir")("metashell", appauthor=False)
    return found


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file of the user's anew, for its owner alone, whole or not at all.

    Raises:
        OSError: It can't be written; what was there stays.
    """
    import tempfile

    folder, base = os.path.split(os.path.abspath(path))
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{base}-")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        raise


def cache_root() -> str | None:
    """The directory of all that is cached: METASHELL_CACHE_DIR, else the user's; it need not exist.

    None for a user without a home: a relative one would lie where the user happens to be, which may
    be a Kafka directory.
    """
    chosen = os.environ.get(_CACHE_VARIABLE)
    if chosen:
        return chosen
    own = user_directory("cache")
    return own if os.path.isabs(own) else None
