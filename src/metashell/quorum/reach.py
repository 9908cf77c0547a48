"""Whether voters take connections where the log says that they listen."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from metashell.errors import UsageError
from metashell.quorum.addresses import parse_addresses
from metashell.quorum.transport import ConnectError, Connection, Phase, in_vain

LIMIT_S: Final = 3.0
"""How long all of it takes at most."""


def unreachable(endpoints: Iterable[str], limit_s: float = LIMIT_S) -> Mapping[str, str]:
    """Connect to endpoints side by side, and close the connections at once. Nothing is sent.

    Args:
        endpoints: Such as ``CONTROLLER://host:9093``.
        limit_s: How long all of it may take.

    Returns:
        Why there is no connection, by endpoint; those that take one are left out.
    """
    reasons: dict[str, str | None] = {}

    def connect(endpoint: str) -> None:
        try:
            (address,) = parse_addresses(endpoint, "an endpoint")
            Connection.open(address, limit_s, None).close()
        except ConnectError as error:
            reasons[endpoint] = error.reason
        except UsageError as error:
            reasons[endpoint] = error.message
        else:
            reasons[endpoint] = None

    # Daemons: the look-up of a name can't be cut short.
    asked = dict.fromkeys(endpoints)
    threads = [threading.Thread(target=connect, args=(one,), daemon=True) for one in asked]
    end = time.monotonic() + limit_s
    for thread in threads:
        with suppress(RuntimeError):  # No more threads: it counts as unanswered.
            thread.start()
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(end - time.monotonic(), 0))
    known = dict(reasons)
    silent = in_vain(Phase.CONNECTION, limit_s)
    found = {endpoint: known.get(endpoint, silent) for endpoint in asked}
    return {endpoint: reason for endpoint, reason in found.items() if reason is not None}
