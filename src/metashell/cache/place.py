"""Where the cache lies."""

from __future__ import annotations

import os
from typing import Final

DIRECTORY_VARIABLE: Final = "METASHELL_CACHE_DIR"


def cache_directory() -> str:
    """The directory of all entries; it need not exist."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if not chosen:
        import platformdirs

        chosen = platformdirs.user_cache_dir("metashell", appauthor=False)
    return os.path.join(chosen, "images")
