"""Users with SCRAM credentials, and delegation tokens. Salts and keys never leave the image.

Source of when a token has expired: org.apache.kafka.controller.DelegationTokenControlManager.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.quotas import USER, read_quotas
from metashell.answers.row_times import when
from metashell.image.arrow import some_columns
from metashell.image.image import Image
from metashell.image.security import SCRAM_MECHANISMS
from metashell.redact import Redaction

_TOKEN_COLUMNS: Final = (
    *("token_id", "owner", "requester", "renewers", "issue_time", "expiry_time", "max_time"),
    *("created_offset", "created_time", "changed_offset", "changed_time"),
)
_PRINCIPAL: Final = "User:"
_NO_ROW: Final = np.iinfo(np.int64).max


def users_table(image: Image, *, removed: bool = False) -> pa.Table:
    """Users with SCRAM credentials, a row each, by name.

    Args:
        image: The state.
        removed: Whether to list users that lost a credential, also if they have no other one.
    """
    columns = image.part("scram").columns
    rows: dict[str, list[int]] = {}
    mechanisms = columns.fixed("mechanism").tolist()
    for row, name in enumerate(columns.span("name").texts()):
        if mechanisms[row] in SCRAM_MECHANISMS:
            rows.setdefault(name, []).append(row)
    lost = image.touched.removed_scram
    names = sorted(lost if removed else rows)
    of = [sorted(rows.get(name, []), key=mechanisms.__getitem__) for name in names]
    iterations = columns.fixed("iterations").tolist()
    acls = Counter(image.part("acls").columns.span("principal").texts())
    with_quotas = {quota.entity.get(USER) for quota in read_quotas(image)}
    created, newest = image.part("scram").created, image.touched.scram_users
    first = np.array([created[part].min(initial=_NO_ROW) for part in of], dtype=np.int64)
    first[first == _NO_ROW] = -1
    gone = [lost.get(name, {}) for name in names]
    went = np.array([max(part.values(), default=-1) for part in gone], dtype=np.int64)
    # A removed credential has no row.
    last = np.array([newest[name] for name in names], dtype=np.int64)
    return pa.table(
        {
            "user": pa.array(names, pa.string()),
            "mechanisms": pa.array(
                [[SCRAM_MECHANISMS[mechanisms[row]] for row in part] for part in of],
                pa.list_(pa.string()),
            ),
            "iterations": pa.array(
                [[iterations[row] for row in part] for part in of], pa.list_(pa.int32())
            ),
            "removed": pa.array(
                [[SCRAM_MECHANISMS[one] for one in sorted(part)] for part in gone],
                pa.list_(pa.string()),
            ),
            "quotas": pa.array([name in with_quotas for name in names], pa.bool_()),
            "acls": pa.array([acls[_PRINCIPAL + name] for name in names], pa.int64()),
            **when(image, "created", first),
            **when(image, "changed", last),
            **when(image, "removed", went),
        }
    )


def tokens_table(image: Image, now_ms: int | None = None) -> pa.Table:
    """Delegation tokens, a row each, by id. Their secret, the HMAC, is not in the image.

    Args:
        image: The cluster.
        now_ms: When to tell what has expired; None for the image's last record.
    """
    table = some_columns("delegation_tokens", image, Redaction(), _TOKEN_COLUMNS)
    columns = image.part("delegation_tokens").columns
    ends = np.minimum(columns.fixed("expiration_timestamp"), columns.fixed("max_timestamp"))
    now = image.provenance.timestamp_ms if now_ms is None else now_ms
    nothing = pa.nulls(len(table), pa.bool_())
    # A redacted copy of a log has no times of tokens.
    expired = pa.array(ends < now, mask=ends < 0) if now >= 0 else nothing
    return table.append_column("expired", expired).sort_by("token_id")
