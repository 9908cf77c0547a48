"""Inner loops by the kernel and by numpy: tests of what they do take both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest.mock import patch

import pytest

from metashell.image import fold
from metashell.kernel import library as load
from metashell.log import chain
from metashell.records import late_fields
from metashell.schema import arena, decoding

IMPLEMENTATIONS: Final = ("kernel", "numpy")


@contextmanager
def implemented_by(name: str) -> Iterator[None]:
    """Let one implementation do all the work, small inputs included."""
    library = load.library() if name == "kernel" else None
    if name == "kernel" and library is None:
        pytest.skip(load.description())
    with (
        patch.object(load, "library", lambda: library),
        patch.object(decoding, "library", lambda: library),
        patch.object(fold, "library", lambda: library),
        patch.object(chain, "LEAST_CHAINED_BYTES", 0),
        patch.object(late_fields, "LEAST_ROWS", 1),
        patch.object(arena, "LEAST_GATHERED", 0),
    ):
        yield
