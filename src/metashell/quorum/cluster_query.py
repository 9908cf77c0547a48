"""One question to one controller, on a connection of its own: which cluster it is of.

Asked only where somebody needs the answer: DescribeCluster of controllers needs ALTER on the
cluster, and each time that it is refused an error stands in the controller's log.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from metashell.errors import MetashellError
from metashell.quorum.answers import read_cluster_id
from metashell.quorum.protocol import Api, describe_cluster_body
from metashell.quorum.session import PeerError, QuorumSession
from metashell.quorum.transport import ConnectError, Connection, LostError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from metashell.security.sasl import Mechanism
    from metashell.security.settings import Address


def ask_cluster_id(
    address: Address,
    new_mechanism: Callable[[str], Mechanism | None],
    context: ssl.SSLContext | None,
    timeout_s: float,
    stop: Callable[[], bool] = lambda: False,
) -> str | None:
    """The cluster's id; None where it is not told, for whatever reason.

    Args:
        address: A controller.
        new_mechanism: Makes the SASL exchange for a connection to a host.
        context: Of TLS; None without.
        timeout_s: How long all of it may take.
        stop: Asked again and again; ends it at once.
    """
    deadline = time.monotonic() + timeout_s
    try:
        connection = Connection.open(address, timeout_s, context)
    except ConnectError:
        return None
    try:
        return _answer(connection, QuorumSession(new_mechanism(address.host)), deadline, stop)
    except (LostError, PeerError, MetashellError):
        return None
    finally:
        connection.close()


def _answer(
    connection: Connection, session: QuorumSession, deadline: float, stop: Callable[[], bool]
) -> str | None:
    has_asked = False
    while True:
        if session.is_ready and not has_asked:
            if session.version_of(Api.DESCRIBE_CLUSTER) is None:
                return None
            session.request(Api.DESCRIBE_CLUSTER, describe_cluster_body())
            has_asked = True
        n_bytes = connection.exchange(session.take_outgoing(), session.buffer(), deadline, stop)
        answer = session.received(n_bytes) if n_bytes else None
        if answer is not None or not n_bytes:
            return None if answer is None else read_cluster_id(answer)
