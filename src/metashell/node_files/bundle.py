"""The manifest of a redacted copy, which takes the place of a node's identity."""

from __future__ import annotations

from typing import Final

from metashell.errors import SourceError
from metashell.places.bounded_file import AnyPlace, child_of, read_if_present

FILE_NAME: Final = "redacted.json"
WARNING: Final = "redacted: never start a node on it"


def is_bundle(log_dir: AnyPlace) -> bool:
    """Whether a log directory is a redacted copy, and no node's."""
    try:
        return read_if_present(child_of(log_dir, FILE_NAME)) is not None
    except SourceError:
        return True
