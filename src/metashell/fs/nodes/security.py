"""``/image/{acls,scram,delegationToken}``: who may do what, and the credentials.

Source: org.apache.kafka.image.node.{AclsImageByIdNode, ScramCredentialDataNode,
DelegationTokenDataNode}.
"""

from __future__ import annotations

from collections.abc import Mapping

from metashell.fs.node import Directory, FixedDirectory, JsonValue
from metashell.fs.nodes.tables import RowDirectory, RowLeaf
from metashell.fs.times import TableTimes
from metashell.image.acl_names import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
    code_name,
)
from metashell.image.image import Image
from metashell.image.parts import ACLS, TOKENS
from metashell.image.security import SCRAM_MECHANISMS
from metashell.redact import Redaction
from metashell.schema.uuids import uuid_texts


def acls_node(image: Image) -> Directory:
    """The directory ``acls``."""

    def rows() -> dict[str, int]:
        return {text: row for row, text in enumerate(uuid_texts(image.acls.columns.fixed("id")))}

    def by_id() -> Directory:
        return RowDirectory(
            rows,
            lambda _, row: RowLeaf(lambda: acl_value(image, row), _acl_text),
            TableTimes(lambda: image.touched.newest(*ACLS), lambda: image.acls),
        )

    return FixedDirectory({"byId": by_id})


def acl_value(image: Image, row: int) -> dict[str, JsonValue]:
    """An ACL's fields, named as Kafka names them."""
    columns = image.acls.columns

    def code(name: str) -> int:
        return int(columns.fixed(name)[row])

    return {
        "resourceType": code_name(RESOURCE_TYPES, code("resource_type")),
        "resourceName": columns.span("resource_name").text(row),
        "patternType": code_name(PATTERN_TYPES, code("pattern_type")),
        "principal": columns.span("principal").text(row),
        "host": columns.span("host").text(row),
        "operation": code_name(OPERATIONS, code("operation")),
        "permissionType": code_name(PERMISSION_TYPES, code("permission_type")),
    }


def _acl_text(value: Mapping[str, JsonValue]) -> str:
    return f"StandardAcl[{', '.join(f'{name}={part}' for name, part in value.items())}]"


def scram_node(image: Image, redaction: Redaction) -> Directory:
    """The directory ``scram``: the two mechanisms, whether anybody uses them or not."""

    def rows(mechanism: int) -> dict[str, int]:
        columns = image.scram.columns
        of = columns.fixed("mechanism").tolist()
        names = columns.span("name").texts()
        return {name: row for row, name in enumerate(names) if of[row] == mechanism}

    def directory(mechanism: int) -> Directory:
        return RowDirectory(
            lambda: rows(mechanism),
            lambda _, row: RowLeaf(lambda: _scram_value(image, redaction, row), _scram_text),
            TableTimes(lambda: image.touched.scram.get(mechanism, -1), lambda: image.scram),
        )

    return FixedDirectory(
        {name: lambda code=code: directory(code) for code, name in SCRAM_MECHANISMS.items()}  # type: ignore[misc]
    )


def _scram_value(image: Image, redaction: Redaction, row: int) -> dict[str, JsonValue]:
    columns = image.scram.columns

    def secret(name: str) -> str:
        return redaction.secret((columns.span(name).raw(row) or b"").hex())

    return {
        "salt": secret("salt"),
        "storedKey": secret("stored_key"),
        "serverKey": secret("server_key"),
        "iterations": int(columns.fixed("iterations")[row]),
    }


def _scram_text(value: Mapping[str, JsonValue]) -> str:
    return f"ScramCredentialData({', '.join(f'{name}={part}' for name, part in value.items())})"


def tokens_node(image: Image, redaction: Redaction) -> Directory:
    """The directory ``delegationToken``."""

    def rows() -> dict[str, int]:
        names = image.tokens.columns.span("token_id").texts()
        return {name: row for row, name in enumerate(names)}

    return RowDirectory(
        rows,
        lambda _, row: RowLeaf(lambda: _token_value(image, redaction, row), _token_text),
        TableTimes(lambda: image.touched.newest(*TOKENS), lambda: image.tokens),
    )


def _token_value(image: Image, redaction: Redaction, row: int) -> dict[str, JsonValue]:
    columns = image.tokens.columns
    renewers = columns.structs("renewers").take([row])  # type: ignore[arg-type]
    value: dict[str, JsonValue] = {
        "tokenId": columns.span("token_id").text(row),
        "owner": columns.span("owner").text(row),
        "tokenRequester": columns.span("requester").text(row),
        "renewers": renewers.items.span("element").texts(),
        "issueTimestamp": int(columns.fixed("issue_timestamp")[row]),
        "maxTimestamp": int(columns.fixed("max_timestamp")[row]),
        "expiryTimestamp": int(columns.fixed("expiration_timestamp")[row]),
    }
    return {name: redaction.secret(part) for name, part in value.items()}


def _token_text(value: Mapping[str, JsonValue]) -> str:
    """Kafka's own text, its brackets unbalanced as there."""
    v = value
    renewers = v["renewers"]
    joined = " ".join(map(str, renewers)) if isinstance(renewers, list) else renewers
    return (
        f"DelegationTokenDatatokenId={v['tokenId']}(owner={v['owner']}"
        f"(tokenRequester={v['tokenRequester']}(renewers={joined},"
        f" issueTimestamp={v['issueTimestamp']}, maxTimestamp={v['maxTimestamp']}),"
        f" expiryTimestamp={v['expiryTimestamp']}"
    )
