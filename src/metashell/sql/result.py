"""The result of a statement, by any engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.log.unread import Unread


@dataclass(frozen=True, slots=True)
class Result:
    """Rows that come as they are read."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    """To be read once."""
    is_answer: bool
    """False where the rows only say how many were changed."""
    unread: Unread = field(default_factory=Unread)
    """Data that could not be read for the rows that came by now."""
