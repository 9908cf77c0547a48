"""The follower's thread against a fake quorum on loopback."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metashell.errors import MetashellError, SourceError
from metashell.log.live import LiveLog
from metashell.quorum.follower import THREAD, Follower
from metashell.quorum.observer import Observer
from metashell.quorum.protocol import Api
from metashell.security.sasl import make_mechanism
from metashell.security.settings import Address, SaslSettings
from support.certificates import issue, make_authority, server_context
from support.fake_connection import Sasl
from support.fake_faults import Faults
from support.fake_habits import broker_versions
from support.fake_quorum import value_of
from support.fake_server import HOST, FakeQuorumServer
from support.plain_batches import read_records
from support.waiting import LIMIT_S, wait_until

Mechanisms = Callable[[str], Any]


@contextlib.contextmanager
def following(
    server: FakeQuorumServer | None,
    *ids: int,
    addresses: list[Address] | None = None,
    context: Callable[[], ssl.SSLContext] | None = None,
    store: Any = None,
    **options: Any,
) -> Iterator[Follower]:
    """A follower of some controllers of a server."""
    if addresses is None:
        assert server is not None
        addresses = [Address(HOST, server.port(i)) for i in ids or server.quorum.controllers]
    observer = Observer(addresses, store or LiveLog(), **{"follow": True, **options})
    follower = Follower(observer, context)
    follower.start()
    try:
        yield follower
    finally:
        follower.stop()
        assert follower.is_over


def committed(follower: Follower) -> int:
    """How far it has come."""
    return follower.observer.facts.store.committed_end


def reach(follower: Follower, offset: int) -> None:
    """Wait until all below an offset is there."""
    found = follower.wait_until(lambda: committed(follower) >= offset, LIMIT_S)
    assert found, (committed(follower), offset, follower.status())


def failure(follower: Follower) -> MetashellError:
    """Wait until it has ended by itself, and give its error."""
    wait_until(lambda: follower.is_over, lambda: str(follower.status()))
    assert follower.error is not None
    return follower.error


def plain(user: str, password: str, mechanism: str = "PLAIN") -> Mechanisms:
    """Make mechanisms."""
    settings = SaslSettings(mechanism=mechanism, username=user, password=password)
    return lambda host: make_mechanism(settings, host)


def test_follows() -> None:
    """What is committed comes, over elections, restarts and snapshots; the rest is held back."""
    with FakeQuorumServer(3) as server, following(server, 2) as follower:
        reach(follower, server.append(10))
        server.append_uncommitted(5)
        end = server.append(1)
        reach(follower, end)
        server.elect(2)
        reach(follower, server.append(3))
        server.snapshot()
        server.kill(2)
        server.elect(3)
        reach(follower, server.append(4))
        server.restart(2)
        server.append(1)
        server.elect(2)
        reach(follower, server.append(1))
        assert follower.error is None
        log, _, _ = follower.observer.facts.store.metadata_log("q")  # type: ignore[attr-defined]
        data = bytes(memoryview(log.loaded.buffer)[: log.loaded.size])
        values = [r.value for r in read_records(data) if not r.batch.is_control]
        assert values == [value_of(i) for i in range(len(values))]


def test_held_back() -> None:
    """Records above the high watermark are there, and do not count."""
    with FakeQuorumServer(1) as server, following(server) as follower:
        end = server.append(2)
        reach(follower, end)
        server.append_uncommitted(3)
        wait_until(lambda: follower.observer.facts.store.end_offset == end + 3, "not fetched")
        assert committed(follower) == end
        server.commit()
        reach(follower, end + 3)


def test_fetches_once() -> None:
    """Without following the thread ends when all is there."""
    with FakeQuorumServer(3) as server:
        end = server.append(7)
        server.snapshot()
        with following(server, 3, follow=False) as follower:
            wait_until(lambda: follower.is_over, "it goes on")
            assert follower.error is None
            assert committed(follower) == end
            status = follower.status()
    assert status.leader_id == 1
    assert status.epoch == 1
    assert status.high_watermark == status.end_offset == end
    assert status.lag == 0
    assert status.problem is None
    assert status.description is not None
    assert {r.id for r in status.description.voters} == {1, 2, 3}
    assert not asked(server, Api.DESCRIBE_CLUSTER)


def asked(server: FakeQuorumServer, api: Api) -> int:
    """How often something was asked."""
    return sum(one is api for c in tuple(server.connections) for one, _, _ in tuple(c.requests))


@pytest.mark.parametrize("is_tls", [False, True])
def test_cluster_id_is_asked_for(is_tls: bool) -> None:
    """Where somebody wants it, of the leader, also when all was fetched."""
    secured = server_context(issue(make_authority(), HOST)) if is_tls else None
    sasl, mechanisms = Sasl({"alice": "alice-secret"}), plain("alice", "alice-secret")
    with FakeQuorumServer(2, sasl=sasl, context=secured) as server:
        context = trusting if is_tls else None
        options = {"context": context, "new_mechanism": mechanisms, "follow": False}
        with following(server, 2, **options) as follower:
            wait_until(lambda: follower.is_over, "it goes on")
            assert follower.ask_cluster_id(LIMIT_S) == server.quorum.cluster_id
            server.quorum.controllers[1].habits.may_describe_cluster = False
            assert follower.ask_cluster_id(LIMIT_S) is None
            server.kill(1)
            assert follower.ask_cluster_id(LIMIT_S) is None
        wait_until(lambda: server.n_open == 0, "a connection is still open")


def test_cluster_id_is_asked_of_the_leader_alone() -> None:
    """While nobody leads whoever is tried may be of another cluster."""
    with FakeQuorumServer(2) as server, following(server) as follower:
        reach(follower, server.append(1))
        server.lose_leader()
        wait_until(lambda: follower.status().leader_now is None, "it still leads")
        assert follower.ask_cluster_id(LIMIT_S) is None
        assert not asked(server, Api.DESCRIBE_CLUSTER)


def test_any_size_of_checkpoint() -> None:
    """The bytes of a checkpoint come in pieces, and whole."""
    from kraftgen.files import checkpoint_bytes

    data = checkpoint_bytes([bytes(1000)] * 12_000, batch_records=500)
    with FakeQuorumServer(1) as server:
        server.serve_checkpoint(data, end_offset=5000, epoch=3)
        with following(server, follow=False) as follower:
            wait_until(lambda: follower.is_over, "it goes on")
            assert follower.error is None
            assert committed(follower) == 5001
        n_pieces = sum(
            api is Api.FETCH_SNAPSHOT for c in server.connections for api, _, _ in c.requests
        )
        assert n_pieces == 3


def test_connection_lost_within_a_snapshot() -> None:
    """The same peer is asked for the rest, and not for all again."""
    from kraftgen.files import checkpoint_bytes

    data = checkpoint_bytes([bytes(1000)] * 2000, batch_records=100)
    with FakeQuorumServer(1) as server:
        server.quorum.controllers[1].habits.max_bytes = 20_000
        server.serve_checkpoint(data, end_offset=5000)
        with following(server, follow=False) as follower:
            wait_until(lambda: follower.observer.facts.n_received > 100_000, "nothing comes")
            server.drop_connections(1)
            wait_until(lambda: follower.is_over, "it goes on")
            assert follower.error is None
        positions = [
            body["topics"][0]["partitions"][0]["position"]
            for c in server.connections
            for api, _, body in c.requests
            if api is Api.FETCH_SNAPSHOT
        ]
        assert positions.count(0) == 1
        assert positions == sorted(positions)


# Who comes in.


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("is_tls", [False, True])
def test_sasl(mechanism: str, is_tls: bool) -> None:
    """Passwords, over TLS or not."""
    secured = server_context(issue(make_authority(), HOST)) if is_tls else None
    sasl = Sasl({"alice": "alice-secret"})
    with FakeQuorumServer(2, sasl=sasl, context=secured) as server:
        end = server.append(2)
        context = trusting if is_tls else None
        good = plain("alice", "alice-secret", mechanism)
        with following(server, context=context, new_mechanism=good) as follower:
            reach(follower, end)
        wrong = plain("alice", "guess-1234", mechanism)
        with following(server, context=context, new_mechanism=wrong, follow=False) as follower:
            error = failure(follower)
    assert f"authentication with {mechanism} failed" in error.message
    assert "guess-1234" not in error.message
    assert error.hint is not None


def test_oauthbearer() -> None:
    """Tokens."""
    with FakeQuorumServer(1, sasl=Sasl(tokens=("token-1234",))) as server:
        end = server.append(1)
        with following(server, new_mechanism=lambda _: Bearer("token-1234")) as follower:
            reach(follower, end)
        with following(server, new_mechanism=lambda _: Bearer("wrong"), follow=False) as follower:
            assert "authentication with OAUTHBEARER failed" in failure(follower).message


class Bearer:
    """A token, sent as OAUTHBEARER sends it."""

    name = "OAUTHBEARER"

    def __init__(self, token: str) -> None:
        self._token, self.is_done = token, False

    def first(self) -> bytes:
        """The token."""
        return b"n,,\x01auth=Bearer " + self._token.encode() + b"\x01\x01"

    def step(self, challenge: bytes) -> None:
        """Nothing more."""
        self.is_done = not challenge


def test_authentication_is_renewed() -> None:
    """Before an authentication runs out a new connection is made, and nothing is lost."""
    with (
        FakeQuorumServer(1, sasl=Sasl({"a": "b"}, lifetime_ms=1200)) as server,
        following(server, new_mechanism=plain("a", "b")) as follower,
    ):
        wait_until(lambda: len(server.connections) >= 3, "no new connection")
        reach(follower, server.append(3))
        assert follower.status().problem is None


def trusting() -> ssl.SSLContext:
    """TLS that believes anybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


# What goes wrong.


def closed_port() -> int:
    """A port where nobody listens."""
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])


def test_refused() -> None:
    """Where nobody listens each address says so."""
    ports = [closed_port(), closed_port()]
    with following(
        None, addresses=[Address(HOST, port) for port in ports], follow=True
    ) as follower:
        error = failure(follower)
    assert isinstance(error, SourceError)
    assert error.message == (
        f"no controller can be reached: {HOST}:{ports[0]}: connection refused;"
        f" {HOST}:{ports[1]}: connection refused"
    )


def test_one_of_many() -> None:
    """One address that answers is enough."""
    with FakeQuorumServer(3) as server:
        end = server.append(1)
        addresses = [Address(HOST, closed_port()), Address(HOST, server.port(3))]
        with following(server, addresses=addresses) as follower:
            reach(follower, end)


def test_tls_listener_spoken_to_in_plain() -> None:
    """The listener closes, and the error says what to look at."""
    with (
        FakeQuorumServer(1, context=server_context(issue(make_authority(), HOST))) as server,
        following(server) as follower,
    ):
        error = failure(follower)
    assert "TLS" in error.message
    assert "security.protocol" in error.message


def test_plain_listener_spoken_to_in_tls() -> None:
    """The reverse."""
    with (
        FakeQuorumServer(1) as server,
        following(server, context=trusting, patience_s=1.0) as follower,
    ):
        error = failure(follower)
    assert "TLS" in error.message
    assert "security.protocol" in error.message


def test_sasl_missing() -> None:
    """A listener that wants SASL closes at the first request."""
    with FakeQuorumServer(1, sasl=Sasl({"a": "b"})) as server, following(server) as follower:
        error = failure(follower)
    assert "does that listener want SASL?" in error.message


def test_sasl_not_wanted() -> None:
    """A listener without SASL says so."""
    with (
        FakeQuorumServer(1) as server,
        following(server, new_mechanism=plain("a", "b")) as follower,
    ):
        error = failure(follower)
    assert "does not use SASL" in error.message


def test_broker() -> None:
    """A broker is no controller."""
    with FakeQuorumServer(1) as server:
        server.quorum.controllers[1].habits.versions = broker_versions()
        with following(server) as follower:
            error = failure(follower)
    assert "that is a broker" in error.message


def test_other_cluster() -> None:
    """A wrong cluster id is said once, with the address."""
    with FakeQuorumServer(1) as server:
        with following(server, cluster_id="another") as follower:
            error = failure(follower)
        assert error.message == (
            f"{server.address()}: it belongs to a cluster other than `--cluster-id`"
        )


def test_not_allowed() -> None:
    """Without CLUSTER_ACTION there is nothing to be had."""
    with FakeQuorumServer(1) as server:
        server.quorum.controllers[1].habits.may_fetch = False
        with following(server) as follower:
            error = failure(follower)
    assert "CLUSTER_ACTION" in error.message


def test_less_allowed() -> None:
    """Without DESCRIBE and ALTER the log comes all the same, and the status says what lacks."""
    with FakeQuorumServer(1) as server:
        habits = server.quorum.controllers[1].habits
        habits.may_describe_quorum = habits.may_describe_cluster = False
        end = server.append(1)
        with following(server) as follower:
            reach(follower, end)
            wait_until(lambda: follower.observer.facts.is_ready, "not ready")
            status = follower.status()
    assert status.description is None
    assert "DESCRIBE" in (status.description_problem or "")
    assert follower.observer.facts.cluster_id is None


def test_no_leader() -> None:
    """Where nobody leads each controller says so, after a while."""
    with FakeQuorumServer(2) as server:
        server.lose_leader()
        with following(server, patience_s=2) as follower:
            error = failure(follower)
        assert "no leader was found within 2 s" in error.message
        assert error.message.count("it knows no leader") == 2


def test_no_high_watermark() -> None:
    """A leader that knows no high watermark is waited for, and not for ever."""
    with FakeQuorumServer(2) as server:
        server.quorum.elect(2)
        with following(server, patience_s=0.5) as follower:
            error = failure(follower)
    assert ": the leader knew no high watermark within 0.5 s" in error.message


def test_silent() -> None:
    """A leader that never answers is given up."""
    with (
        FakeQuorumServer(1, faults=Faults(silence=1.0)) as server,
        following(server, patience_s=0.3) as follower,
    ):
        wait_until(lambda: bool(server.connections), "no connection")
        follower.stop()
        assert follower.is_over


def test_old_controllers() -> None:
    """Where Fetch does not tell where the leader listens, DescribeCluster does."""
    with FakeQuorumServer(3) as server:
        for controller in server.quorum.controllers.values():
            controller.habits.versions[Api.FETCH] = (4, 16)
            controller.habits.versions[Api.DESCRIBE_QUORUM] = (0, 1)
        end = server.append(2)
        with following(server, 3) as follower:
            reach(follower, end)


# The thread.


def test_stop_while_blocked() -> None:
    """It ends promptly whatever it waits for."""
    with socket.create_server((HOST, 0)) as listener:
        address = Address(HOST, listener.getsockname()[1])
        follower = Follower(Observer([address], LiveLog(), follow=True))
        follower.start()
        peer, _ = listener.accept()
        with peer:
            assert peer.recv(10)
            follower.stop()
            assert follower.is_over
    follower.stop()  # again does no harm


def test_stop_before_start() -> None:
    """What never began is ended already."""
    Follower(Observer([Address(HOST, 1)], LiveLog())).stop()


def test_stop_while_waiting() -> None:
    """Between two rounds as well."""
    with FakeQuorumServer(1) as server:
        server.lose_leader()
        with following(server) as follower:
            wait_until(lambda: follower.status().problem is not None, "no problem")
            follower.stop()
            assert follower.is_over
            assert follower.error is None


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (SourceError("the log is full"), "the log is full"),
        (MemoryError(), "the log does not fit in memory"),
        (ValueError("a bug"), "internal error: ValueError"),
    ],
)
def test_errors_in_the_thread(raised: Exception, message: str) -> None:
    """Whatever happens in the thread is told to those who wait."""

    class Bad(LiveLog):
        def append(self, data: memoryview) -> int:
            raise raised

    with FakeQuorumServer(1) as server, following(server, store=Bad()) as follower:
        assert not follower.wait_until(lambda: False, LIMIT_S)
        told = failure(follower).message
        assert told.startswith(message)
        assert told == follower.status().problem


def test_error_of_the_context() -> None:
    """A trust store that can't be read ends it at once."""

    def context() -> ssl.SSLContext:
        raise SourceError("truststore.p12: no such file")

    with FakeQuorumServer(1) as server, following(server, context=context) as follower:
        assert failure(follower).message == "truststore.p12: no such file"


def test_no_threads_left() -> None:
    """Threads end."""
    with FakeQuorumServer(2) as server, following(server) as follower:
        reach(follower, server.append(1))
    assert not [t for t in threading.enumerate() if t.name == THREAD]
