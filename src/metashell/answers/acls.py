"""The ACLs as rows, and which of them are about a resource.

Source: org.apache.kafka.metadata.authorizer.StandardAcl; which ACLs are about a resource:
StandardAuthorizerData.checkSection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.row_times import when
from metashell.dataclass import dataclass
from metashell.image.acl_names import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
    shown_code,
)
from metashell.image.image import Image
from metashell.schema.uuids import uuid_texts

WILDCARD: Final = "*"
LITERAL: Final = PATTERN_TYPES.index("LITERAL")

ORDERS: Final = {
    "resource": ("resource_type", "resource_name", "pattern_type", "principal", "host", "id"),
    "principal": ("principal", "resource_type", "resource_name", "pattern_type", "host", "id"),
}
"""The sort columns of rows, by order."""


@dataclass(frozen=True, slots=True)
class Acl:
    """An ACL: codes as they stand in the record, so that unknown ones stay apart."""

    index: int
    """Among the image's ACLs."""
    id: str
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def is_about(self, resource_type: int, name: str) -> bool:
        """Whether it counts for a resource: literal, by prefix, or about all of the type.

        Whatever is not LITERAL is a prefix, as for the authorizer.
        """
        if self.resource_type != resource_type:
            return False
        if self.pattern_type == LITERAL:
            return self.resource_name in (name, WILDCARD)
        return name.startswith(self.resource_name)


def read_acls(image: Image) -> list[Acl]:
    """All ACLs of an image, in the order of their creation."""
    columns = image.part("acls").columns
    return [
        Acl(index, *values)
        for index, values in enumerate(
            zip(
                uuid_texts(columns.fixed("id")),
                columns.fixed("resource_type").tolist(),
                columns.span("resource_name").texts(),
                columns.fixed("pattern_type").tolist(),
                columns.span("principal").texts(),
                columns.span("host").texts(),
                columns.fixed("operation").tolist(),
                columns.fixed("permission_type").tolist(),
                strict=True,
            )
        )
    ]


def acls_table(
    image: Image,
    keep: Callable[[Acl], bool] = lambda acl: True,
    *,
    by: str = "resource",
) -> pa.Table:
    """ACLs as rows.

    Args:
        image: The image.
        keep: Chooses the ACLs to list.
        by: One of `ORDERS`.
    """
    table = table_of(image, [acl for acl in read_acls(image) if keep(acl)])
    return table.sort_by([(name, "ascending") for name in ORDERS[by]])


def table_of(image: Image, acls: Sequence[Acl]) -> pa.Table:
    """These ACLs, a row each."""

    def texts(values: Sequence[str]) -> pa.Array:
        return pa.array(values, pa.string())

    types = [shown_code(RESOURCE_TYPES, a.resource_type) for a in acls]
    rows = image.part("acls").created[np.array([acl.index for acl in acls], dtype=np.int64)]
    return pa.table(
        {
            "resource": texts(
                [f"{kind}:{a.resource_name}" for kind, a in zip(types, acls, strict=True)]
            ),
            "resource_type": texts(types),
            "resource_name": texts([a.resource_name for a in acls]),
            "pattern_type": texts([shown_code(PATTERN_TYPES, a.pattern_type) for a in acls]),
            "principal": texts([a.principal for a in acls]),
            "host": texts([a.host for a in acls]),
            "operation": texts([shown_code(OPERATIONS, a.operation) for a in acls]),
            "permission": texts([shown_code(PERMISSION_TYPES, a.permission) for a in acls]),
            "id": texts([a.id for a in acls]),
            **when(image, "created", rows),
        }
    )
