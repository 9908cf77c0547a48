"""Where the cache lies, and whether it is worth a look."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.places.user import cache_root

if TYPE_CHECKING:
    from metashell.read_settings import ReadSettings


def cache_directory() -> str | None:
    """The directory of all entries; it need not exist. None for a user without a home."""
    root = cache_root()
    return None if root is None else os.path.join(root, "images")


def may_be_cached(settings: ReadSettings) -> bool:
    """Whether a directory read like that is worth being looked for in the cache.

    Secrets are not kept, nor is where a strict replay would end. Cost: a look at one path.
    """
    if settings.show_secrets or settings.strict:
        return False
    directory = cache_directory()
    return directory is not None and os.path.isdir(directory)
