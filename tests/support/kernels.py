"""The kernel in tests: whether it can be built, and tests that run with it and without."""

from __future__ import annotations

import shutil


def has_compiler() -> bool:
    """Whether this machine has the system's C compiler."""
    return any(map(shutil.which, ("cc", "gcc", "clang")))
