"""The texts of share partitions, many at a time, as `fields_text` and JSON write each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metashell.fs.field_texts import Cells, lines_of, list_texts, number_cells
from metashell.image.coordinators.share_state import ShareBatches, ShareState, state_name
from metashell.schema.arena import I64, AnyArray
from metashell.schema.arrow_texts import number_texts, side_by_side


def share_lines(state: ShareState, places: I64, *, as_json: bool) -> pa.LargeStringArray:
    """The lines of some partitions: those of `metashell.image.coordinators.share_fields`."""
    numbers: dict[str, AnyArray] = {
        "snapshotEpoch": state.snapshot_epoch,
        "stateEpoch": state.state_epoch,
        "leaderEpoch": state.leader_epoch,
        "startOffset": state.start_offset,
        "deliveryCompleteCount": state.complete,
        "createTimestamp": state.created_ms,
        "writeTimestamp": state.written_ms,
    }
    cells = [
        number_cells(name, values[places], as_json=as_json) for name, values in numbers.items()
    ]
    batches = state.batches.take(places)
    texts = list_texts(_batch_texts(batches), batches.list_offsets, as_json=as_json)
    return lines_of([*cells, Cells("stateBatches", texts)], as_json=as_json)


def _batch_texts(batches: ShareBatches) -> pa.LargeStringArray:
    """Each batch as `batch_text` tells it."""
    distinct, index = np.unique(batches.state, return_inverse=True)
    states = pa.array(map(state_name, distinct.tolist()), pa.large_string())
    return side_by_side(
        [
            number_texts(batches.first),
            "-",
            number_texts(batches.last),
            ":",
            states.take(pa.array(index)),
            ":",
            number_texts(batches.count),
        ]
    )
