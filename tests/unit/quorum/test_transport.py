"""Connections on loopback: what can go wrong with one, and what is said of it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from metashell.quorum.attempts import Trouble
from metashell.quorum.transport import ConnectError, Connection, LostError
from metashell.security.settings import Address
from support.certificates import issue, make_authority, server_context
from support.waiting import LIMIT_S, wait_until

HOST = "127.0.0.1"
Serve = Callable[[socket.socket], None]


@contextlib.contextmanager
def served(serve: Serve) -> Iterator[Address]:
    """Accept one connection and do something with it."""
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(LIMIT_S)

        def accept() -> None:
            with contextlib.suppress(OSError):
                peer, _ = listener.accept()
                with peer:
                    peer.settimeout(LIMIT_S)
                    serve(peer)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield Address(HOST, listener.getsockname()[1])
        thread.join(LIMIT_S)


def client_context(*, trusts: ssl.SSLContext | None = None) -> ssl.SSLContext:
    """TLS that believes anybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def never() -> bool:
    """Nobody wants it to stop."""
    return False


def receive(connection: Connection, seconds: float = 20.0) -> bytes:
    """What comes."""
    into = bytearray(100)
    n = connection.exchange(b"", memoryview(into), time.monotonic() + seconds, never)
    return bytes(into[:n])


def closed_port() -> Address:
    """A port where nobody listens."""
    with socket.create_server((HOST, 0)) as listener:
        return Address(HOST, listener.getsockname()[1])


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (closed_port(), "connection refused"),
        (Address("no-such-host.invalid", 9093), "no such host"),
        (Address("a" * 70 + ".example", 9093), "no such host"),
        (Address("bad\0host", 9093), ""),
    ],
)
def test_not_connected(address: Address, reason: str) -> None:
    """Nobody there: a clause, and no traceback."""
    with pytest.raises(ConnectError) as caught:
        Connection.open(address, 5.0, None)
    assert reason in caught.value.reason
    assert caught.value.trouble is Trouble.UNREACHABLE
    assert caught.value.reason[:1].islower()


def test_exchange() -> None:
    """All is sent, and what comes is put where it belongs, also in pieces."""
    sent = b"x" * 3_000_000

    def echo(peer: socket.socket) -> None:
        left = len(sent)
        while left:
            left -= len(peer.recv(1 << 16))
        peer.sendall(b"answer")

    with served(echo) as address:
        connection = Connection.open(address, 5.0, None)
        into = memoryview(bytearray(3))
        deadline = time.monotonic() + LIMIT_S
        assert connection.exchange(sent, into, deadline, never) == 3
        assert bytes(into) == b"ans"
        assert receive(connection) == b"wer"
        with pytest.raises(LostError, match="it closed the connection"):
            receive(connection)
        connection.close()


def test_closed_at_accept() -> None:
    """A peer that closes at once."""
    with served(lambda peer: None) as address:
        connection = Connection.open(address, 5.0, None)
        with pytest.raises(LostError, match="it closed the connection") as caught:
            for _ in range(100):
                connection.exchange(
                    b"x" * 1000, memoryview(bytearray(1)), time.monotonic() + LIMIT_S, never
                )
        assert not caught.value.is_silence
        connection.close()


def test_silent() -> None:
    """A peer that never answers is given up at the deadline."""
    done = threading.Event()
    with served(lambda peer: done.wait(LIMIT_S) and None) as address:
        connection = Connection.open(address, 5.0, None)
        with pytest.raises(LostError, match="it does not answer") as caught:
            receive(connection, 0.05)
        assert caught.value.is_silence
        connection.close()
        done.set()


@pytest.mark.parametrize("is_tls", [False, True])
def test_stop(is_tls: bool) -> None:
    """Whoever wants it to stop does not wait for the peer."""
    done, stopping, asked = threading.Event(), threading.Event(), list[bool]()
    context = server_context(issue(make_authority(), HOST)) if is_tls else None

    def serve(peer: socket.socket) -> None:
        with context.wrap_socket(peer, server_side=True) if context else peer:
            done.wait(LIMIT_S)

    def stop() -> bool:
        asked.append(stopping.is_set())
        return asked[-1]

    def wake(connection: Connection) -> None:
        wait_until(lambda: asked, "it does not wait")
        stopping.set()
        connection.wake()

    with served(serve) as address:
        connection = Connection.open(address, 5.0, client_context() if is_tls else None)
        waker = threading.Thread(target=wake, args=(connection,))
        waker.start()
        deadline = time.monotonic() + 10 * LIMIT_S
        assert connection.exchange(b"", memoryview(bytearray(1)), deadline, stop) == 0
        assert len(asked) <= 3
        waker.join()
        connection.close()
        done.set()


def test_waits_asleep() -> None:
    """A peer that says nothing is not looked at before its time is over."""
    waits, hour = list[float](), 3600.0

    class Silent:
        """A socket."""

        def settimeout(self, seconds: float) -> None:
            """Note it."""
            waits.append(seconds)

        def recv_into(self, into: memoryview) -> int:
            """Something comes at last."""
            return len(into)

    connection = Connection(cast("socket.socket", Silent()), Address(HOST, 1))
    assert receive(connection, hour) == bytes(100)
    assert [round(seconds / hour) for seconds in waits] == [1]


def test_tls() -> None:
    """TLS is spoken where there is a context."""
    context = server_context(issue(make_authority(), HOST))

    def serve(peer: socket.socket) -> None:
        with context.wrap_socket(peer, server_side=True) as secured:
            secured.sendall(b"hello")
            secured.recv(1)

    with served(serve) as address:
        connection = Connection.open(address, 5.0, client_context())
        assert receive(connection) == b"hello"
        connection.close()


def test_tls_to_a_plain_listener() -> None:
    """A listener without TLS closes, or answers something else."""

    def close(peer: socket.socket) -> None:
        peer.recv(10)

    def http(peer: socket.socket) -> None:
        peer.recv(1000)
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.recv(1)

    for serve in (close, http):
        with served(serve) as address:
            with pytest.raises(ConnectError) as caught:
                Connection.open(address, 5.0, client_context())
            assert caught.value.reason.startswith("it speaks no TLS there: ")
            assert str(address) not in caught.value.reason


def test_tls_to_a_silent_listener() -> None:
    """No answer to the handshake: it may hang, and nothing is guessed."""
    done = threading.Event()
    with served(lambda peer: done.wait(LIMIT_S) and None) as address:
        with pytest.raises(ConnectError) as caught:
            Connection.open(address, 0.1, client_context())
        done.set()
    assert caught.value.reason == "no answer to the TLS handshake within 0.1 s"
    assert caught.value.trouble is Trouble.PASSING


def test_greeting() -> None:
    """What comes in answer to it is there for whoever reads next, in pieces of any size."""

    def serve(peer: socket.socket) -> None:
        assert peer.recv(100) == b"hello"
        peer.sendall(b"answer")
        assert peer.recv(100) == b"more"
        peer.sendall(b"!")

    with served(serve) as address:
        connection = Connection.open(address, 5.0, None)
        deadline = time.monotonic() + LIMIT_S
        assert connection.greet(b"hello", deadline, never)
        into = memoryview(bytearray(4))
        assert connection.exchange(b"", into, deadline, never) == 4
        assert bytes(into) == b"answ"
        assert receive(connection) == b"er"
        assert connection.exchange(b"more", into, deadline, never) == 1
        connection.close()


def test_all_addresses_of_a_host_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that stands for an address where nobody answers and for one that does."""
    with socket.socket() as full, served(lambda peer: peer.sendall(b"x")) as address:
        full.bind((HOST, 0))  # nobody listens there

        def both(*_: object, **__: object) -> list[object]:
            at = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
            return [(*at, full.getsockname()), (*at, (HOST, address.port))]

        monkeypatch.setattr(socket, "getaddrinfo", both)
        connection = Connection.open(Address("two.example", address.port), 5.0, None)
        assert receive(connection) == b"x"
        connection.close()


def test_untrusted_certificate() -> None:
    """A certificate that nobody vouches for ends it, and the reason does not repeat the address."""
    context = server_context(issue(make_authority(), HOST))

    def serve(peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            context.wrap_socket(peer, server_side=True).close()

    with served(serve) as address:
        with pytest.raises(ConnectError, match=r"^its certificate is ") as caught:
            Connection.open(address, 5.0, ssl.create_default_context())
        assert caught.value.trouble is Trouble.FINAL
        assert str(address) not in caught.value.reason


def test_client_certificate_wanted() -> None:
    """With TLS 1.3 a peer that wants a certificate says so only after the handshake."""
    authority = make_authority()
    context = server_context(issue(authority, HOST), clients=authority)

    def serve(peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            context.wrap_socket(peer, server_side=True).close()

    with served(serve) as address:
        connection = Connection.open(address, 5.0, client_context())
        with pytest.raises(LostError, match="it needs a client certificate") as caught:
            receive(connection)
        connection.close()
        assert caught.value.trouble is Trouble.FINAL


def test_trickle_does_not_outlast_the_deadline() -> None:
    """A peer that sends byte after byte is given up when the answer is due."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.2)
        connection = Connection(ours, Address("h", 1))
        theirs.sendall(bytes(8))
        into = memoryview(bytearray(1))
        assert connection.exchange(b"", into, time.monotonic() + LIMIT_S, lambda: False) == 1
        with pytest.raises(LostError, match="does not answer"):
            connection.exchange(b"", into, time.monotonic() - 1, lambda: False)
