"""The sign that a file is gone, wherever it was."""

from __future__ import annotations


class VanishedError(Exception):
    """A file was there when its directory was listed and is gone now."""
