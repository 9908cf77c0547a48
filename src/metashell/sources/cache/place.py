"""Where the cache lies, and whether it is worth a look."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from metashell.places.user import user_directory

if TYPE_CHECKING:
    from metashell.read_settings import ReadSettings

DIRECTORY_VARIABLE: Final = "METASHELL_CACHE_DIR"


def cache_directory() -> str | None:
    """The directory of all entries; it need not exist. None for a user without a home."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if not chosen:
        chosen = user_directory("cache")
        if not os.path.isabs(chosen):
            # It would lie where the user happens to be, which may be a Kafka directory.
            return None
    return os.path.join(chosen, "images")


def may_be_cached(settings: ReadSettings) -> bool:
    """Whether a directory read like that is worth being looked for in the cache.

    Secrets are not kept, nor is where a strict replay would end. Cost: a look at one path.
    """
    if settings.show_secrets or settings.strict:
        return False
    directory = cache_directory()
    return directory is not None and os.path.isdir(directory)
