"""Addresses of controllers as people write them: text to `Address`.

Owns the forms: ``host:port``, ``id@host:port`` as in ``controller.quorum.voters``,
``[::1]:port``, and a listener's ``NAME://host:port``, whose name is dropped. Resolves nothing.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.errors import UsageError
from metashell.security.settings import Address

_NODE_ID_MAX: Final = (1 << 31) - 1
_PORT_MAX: Final = 65535
_SHOWN_MAX: Final = 100

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*://")
_NODE_ID: Final = re.compile(r"([0-9]{1,10})@")
_HOST: Final = re.compile(r"\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([\w.-]+)")
_PORT: Final = re.compile(r":([0-9]{1,5})")


def parse_addresses(text: str, what: str) -> tuple[Address, ...]:
    """Read addresses between commas. An address that is given twice is kept once.

    Args:
        text: Such as ``a:9093, 2@b:9093``.
        what: The holder of the text, for errors: an option, or a file and its key.

    Raises:
        UsageError: A part of it is no address.
    """
    found: dict[tuple[str, int], Address] = {}
    for part in text.split(","):
        address = _address(part.strip(), what)
        found.setdefault((address.host.lower(), address.port), address)
    return tuple(found.values())


def _address(text: str, what: str) -> Address:
    """Read one address."""
    if not text:
        raise UsageError(f"{what}: an address is empty", hint="give HOST:PORT[,HOST:PORT...]")
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    node_id = _NODE_ID.match(rest)
    if node_id:
        rest = rest[node_id.end() :]
        if int(node_id[1]) > _NODE_ID_MAX:
            raise _error(text, what, "its node id is out of range")
    if rest.count(":") > 1 and not rest.startswith("["):
        raise _error(text, what, "put an IPv6 address in brackets", hint="such as `[::1]:9093`")
    if rest.startswith(":"):
        raise _error(text, what, "it has no host", hint="give the address to connect to")
    host = _HOST.match(rest)
    if host is None:
        raise _error(text, what, "that is not a host")
    port_text = rest[host.end() :]
    if not port_text:
        raise _error(
            text,
            what,
            "it has no port",
            hint="add a controller's port: `HOST:PORT`",
        )
    port = _PORT.fullmatch(port_text)
    if port is None:
        raise _error(text, what, "that is not HOST:PORT")
    if not 0 < int(port[1]) <= _PORT_MAX:
        raise _error(text, what, f"its port is not between 1 and {_PORT_MAX}")
    return Address(host[1] or host[2], int(port[1]), int(node_id[1]) if node_id else None)


def _error(text: str, what: str, reason: str, *, hint: str | None = None) -> UsageError:
    """The error for one address; what stands before an ``@`` may be a password and is not shown."""
    before, at, rest = text.rpartition("@")
    shown = text if not at or before.isdecimal() else f"...@{rest}"
    if len(shown) > _SHOWN_MAX:
        shown = shown[:_SHOWN_MAX] + "..."
    return UsageError(f"{what}: `{shown}`: {reason}", hint=hint)
