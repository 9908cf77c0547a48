"""Numbers of bytes for people."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(n_bytes: int, *, human: bool = True) -> str:
    """A number of bytes: as it is, or in the unit that leaves up to three digits."""
    if not human:
        return str(n_bytes)
    size, unit = float(n_bytes), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{n_bytes} B" if not unit else f"{size:.1f} {_UNITS[unit]}"
