"""How many seeds a test draws its stories from."""

from __future__ import annotations

import os

PROFILE = os.environ.get("METASHELL_HYPOTHESIS_PROFILE", "default")

_TIMES = 40


def seeds(n: int) -> range:
    """A few seeds on every run, and many more with the profile `exhaustive`."""
    return range(n * _TIMES if PROFILE == "exhaustive" else n)
