"""Controllers that take connections and say nothing, as a process that is stopped: real sockets.

Nothing here looks at a clock: a silent controller may be silent for an hour, and a command that
waited for it would end without an answer.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

import pytest

from metashell.quorum.race import THREAD
from support.fake_server import HOST, FakeQuorumServer
from support.listener import Listener
from support.live_program import LS, Run, check_works, failure
from support.waiting import wait_until

_PATIENT: Final = {"request.timeout.ms": "3600000"}
_LISTENERS: Final = {
    "plain": Listener(protocol="PLAINTEXT", properties=_PATIENT),
    "TLS": Listener(protocol="SSL", properties=_PATIENT),
    "SASL": Listener(protocol="SASL_SSL", mechanism="PLAIN", properties=_PATIENT),
}


@pytest.mark.parametrize("name", _LISTENERS)
def test_one_that_hangs(name: str, run: Run, tmp_path: Path) -> None:
    """Another one is tried beside it, and kept; nothing of the other attempt is left."""
    listener = _LISTENERS[name]
    with listener.serve(3) as server:
        server.elect(2)
        server.hang(1)
        check_works(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
        wait_until(lambda: not _threads(), "a thread goes on")
        server.go_on(1)  # and sees that the other side is closed
        wait_until(lambda: server.n_open == 0, "a connection is still open")


def test_leader_that_hangs(run: Run, tmp_path: Path) -> None:
    """The next leader is found while the last one still takes connections."""
    listener = _LISTENERS["plain"]
    with listener.serve(3) as server:
        end = server.append(4)
        server.hang(1)

        def elect() -> None:
            # As soon as a follower was asked, and said who leads.
            wait_until(lambda: any(c.controller.id > 1 for c in server.connections), "not asked")
            server.elect(3)

        thread = threading.Thread(target=elect)
        thread.start()
        result = run("-q", server.address(), "--config", listener.config(tmp_path), "checksum")
        thread.join()
    assert result.code == 0, result
    assert f"offset {end}" in result.out


def test_all_hang(run: Run) -> None:
    """Each says so, once; no protocol is blamed."""
    with FakeQuorumServer(3) as server:
        for node_id in (1, 2, 3):
            server.hang(node_id)
        said = failure(run("-q", server.address(), "--timeout", "2.5", *LS))
    reasons = "; ".join(f"{HOST}:{server.port(i)}: it does not answer" for i in (1, 2, 3))
    assert said.splitlines()[0] == f"no leader was found within 2.5 s: {reasons}"


def _threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == THREAD]
