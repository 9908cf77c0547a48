"""Users with SCRAM credentials, and delegation tokens. Salts and keys never leave the image.

Source of when a token has expired: org.apache.kafka.controller.DelegationTokenControlManager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.quotas import USER, read_quotas
from metashell.answers.row_times import when
from metashell.image.image import Image
from metashell.image.security import SCRAM_MECHANISMS
from metashell.schema.timestamps import iso_time

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
    columns = image.part("delegation_tokens").columns
    ids = columns.span("token_id").texts()
    order = sorted(range(len(ids)), key=ids.__getitem__)
    renewers = columns.structs("renewers")
    renewer_names = renewers.items.span("element").texts()
    lists = [renewer_names[a:b] for a, b in pairwise(renewers.list_offsets.tolist())]
    ends = np.minimum(columns.fixed("expiration_timestamp"), columns.fixed("max_timestamp"))
    now = image.provenance.timestamp_ms if now_ms is None else now_ms
    expired = (ends < now).tolist() if now >= 0 else [None] * len(ids)

    def texts(values: Sequence[str]) -> pa.Array:
        return pa.array([values[row] for row in order], pa.string())

    def times(name: str) -> pa.Array:
        return texts(list(map(iso_time, columns.fixed(name).tolist())))

    rows = np.array(order, dtype=np.int64)
    return pa.table(
        {
            "token_id": pa.array([ids[row] for row in order], pa.string()),
            "owner": texts(columns.span("owner").texts()),
            "requester": texts(columns.span("requester").texts()),
            "renewers": pa.array([lists[row] for row in order], pa.list_(pa.string())),
            "issue_time": times("issue_timestamp"),
            "expiry_time": times("expiration_timestamp"),
            "max_time": times("max_timestamp"),
            "expired": pa.array([expired[row] for row in order], pa.bool_()),
            **when(image, "created", image.part("delegation_tokens").created[rows]),
            **when(image, "changed", image.part("delegation_tokens").changed[rows]),
        }
    )
