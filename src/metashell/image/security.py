"""SCRAM mechanisms, and which delegation tokens are sound.

Source: org.apache.kafka.image.{ScramDelta, DelegationTokenDelta}.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.records.records import Records
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import Columns

SCRAM_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Names by type; Kafka drops credentials of any other mechanism without a word."""


def sound_tokens(records: Records, rows: I64, columns: Columns) -> Bools:
    """Which tokens can be made; one with a principal that is none is a fault."""
    owners, requesters = columns.span("owner").texts(), columns.span("requester").texts()
    renewers = columns.structs("renewers")
    names, bounds = renewers.items.span("element").texts(), renewers.list_offsets.tolist()
    good = np.ones(len(rows), dtype=np.bool_)
    for i, row in enumerate(rows.tolist()):
        for principal in (owners[i], requesters[i], *names[bounds[i] : bounds[i + 1]]):
            if ":" not in principal:
                good[i] = False
                # Whose it is is part of the token's data, which is secret in faults too.
                records.fault(
                    row,
                    "delegation token can't be made: a principal in it is not of the form"
                    " type:name",
                )
    return good
