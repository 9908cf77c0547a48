"""Loads the kernel's library, or says why numpy does its work."""

from __future__ import annotations

import sys
from ctypes import CDLL, c_char_p
from functools import cache

from metashell.kernel.sources import DIRECTORY, LIBRARY, SWITCH, digest, is_off


def library() -> CDLL | None:
    """The library, loaded once; None where there is none, and numpy does its work.

    Calls into it let go of Python's lock.
    """
    return _found()[0]


def description() -> str:
    """Which implementation runs, and why, for a person to read."""
    found, text = _found()
    return f"numpy ({text})" if found is None else f"C ({text})"


@cache
def _found() -> tuple[CDLL | None, str]:
    """The library with the beginning of its digest, or None and the reason."""
    if is_off():
        return None, f"{SWITCH}=off"
    if sys.byteorder != "little":
        return None, "the C kernel needs a little-endian processor"
    if not DIRECTORY.is_dir():
        return None, "the package is a zip file"
    if not LIBRARY.is_file():
        return None, "the C kernel is not built"

    try:
        found = CDLL(str(LIBRARY))
        told = found.metashell_kernel_digest
        told.argtypes, told.restype = [], c_char_p
        built_from, expected = told(), digest()
    except (OSError, AttributeError) as error:
        return None, f"{LIBRARY.name} can't be loaded: {error}"
    if built_from != expected.encode():
        return None, f"{LIBRARY.name} was built from other sources"
    return found, f"sources {expected[:12]}"
