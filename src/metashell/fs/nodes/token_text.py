"""The text of a delegation token.

Source: org.apache.kafka.image.node.DelegationTokenDataNode.
"""

from __future__ import annotations

from collections.abc import Mapping

from metashell.fs.node import JsonValue


def token_text(value: Mapping[str, JsonValue]) -> str:
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
