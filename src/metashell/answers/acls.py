"""The ACLs as rows, and which of them are about a resource.

Source: org.apache.kafka.metadata.authorizer.StandardAcl; which ACLs are about a resource:
StandardAuthorizerData.checkSection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.image.acl_names import PATTERN_TYPES
from metashell.image.arrow import some_columns
from metashell.image.image import Image
from metashell.redact import Redaction
from metashell.schema.uuids import uuid_texts

WILDCARD: Final = "*"
LITERAL: Final = PATTERN_TYPES.index("LITERAL")

_COLUMNS: Final = (
    *("resource_type", "resource_name", "pattern_type", "principal", "host", "operation"),
    *("permission", "id", "created_offset", "created_time"),
)
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
    """These ACLs, a row each: the columns of the table ``acls``, and ``resource``."""
    table = some_columns("acls", image, Redaction(), _COLUMNS)
    table = table.take(pa.array([acl.index for acl in acls], pa.int64()))
    parts = (table.column(name) for name in ("resource_type", "resource_name"))
    return table.add_column(0, "resource", pc.binary_join_element_wise(*parts, ":"))
