"""ACLs, SCRAM credentials and delegation tokens.

Source: org.apache.kafka.image.{AclsDelta, ScramDelta, DelegationTokenDelta}.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.image.keyed import Part, fold_part
from metashell.image.records import Records
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import Columns

SCRAM_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Names by type; Kafka drops credentials of any other mechanism without a word."""


def fold_acls(records: Records) -> Part:
    """The ACLs, by id."""
    return fold_part(
        records,
        "AccessControlEntryRecord",
        "RemoveAccessControlEntryRecord",
        ["id"],
        unknown_removal="ACL can't be removed: no such ACL",
    )


def fold_scram(records: Records) -> Part:
    """The SCRAM credentials, by mechanism and user."""
    return fold_part(
        records,
        "UserScramCredentialRecord",
        "RemoveUserScramCredentialRecord",
        ["mechanism", "name"],
    )


def fold_tokens(records: Records) -> Part:
    """The delegation tokens, by id; one whose principals are none is a fault."""

    def sound(rows: I64, columns: Columns) -> Bools:
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

    return fold_part(
        records, "DelegationTokenRecord", "RemoveDelegationTokenRecord", ["token_id"], sound=sound
    )
