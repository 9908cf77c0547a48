"""Records decoded by what they are: each type and version by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from metashell.dataclass import dataclass
from metashell.records.records import Records
from metashell.schema.arena import I64
from metashell.schema.columns import Columns
from metashell.schema.model import MessageSpec


@dataclass(frozen=True, slots=True)
class DecodedMessages:
    """Those of some rows that are of one type and version, and decode."""

    spec: MessageSpec
    key: int
    """Api key, `control_key` of control records."""
    version: int
    at: I64
    """int64[n], ascending: which of the rows."""
    columns: Columns
    """Their fields."""


def messages_of(
    records: Records, rows: I64, is_wanted: Callable[[MessageSpec], bool] = lambda _: True
) -> Iterator[DecodedMessages]:
    """The messages of some rows.

    Args:
        records: Of which file.
        rows: int64[n], ascending.
        is_wanted: Whether a type is decoded.
    """
    frames = records.frames
    keys, versions = frames.api_key[rows].astype(np.int64), frames.version[rows]
    kinds, firsts, kind_of = np.unique(
        (keys << 32) + versions, return_index=True, return_inverse=True
    )
    for kind, first in enumerate(firsts.tolist()):
        key, version = int(keys[first]), int(versions[first])
        spec = records.spec_of_key(key)
        if spec is None or version not in spec.versions or not is_wanted(spec):
            continue
        at = np.arange(len(rows)) if len(kinds) == 1 else np.flatnonzero(kind_of == kind)
        good, columns = records.decode(spec.name, rows[at])
        if len(good) < len(at):
            at = np.searchsorted(rows, good)
        yield DecodedMessages(spec, key, version, at, columns)
