"""A digest of a node with all below it: of names and values, secrets redacted.

Two trees with the same names and values give the same digest, whatever records they come from.
"""

from __future__ import annotations

import hashlib
from typing import Final

from metashell.checks.digest import encode
from metashell.fs.node import Directory, Node
from metashell.schema.dump import finite, to_json

_FORM: Final = b"metashell tree 1\0"
"""Changes with what enters a digest or in which form."""


def tree_digest(node: Node) -> str:
    """Hex SHA-256 of all leaves at and below a node, in the order of their names."""
    digest = hashlib.sha256(_FORM)
    waiting: list[tuple[tuple[str, ...], Node]] = [((), node)]
    while waiting:
        names, each = waiting.pop()
        if not isinstance(each, Directory):
            digest.update(encode((*names, to_json(finite(each.value())))))
            continue
        for name in reversed(each.names()):
            child = each.child(name)
            if child is not None:
                waiting.append(((*names, name), child))
    return digest.hexdigest()
