"""Connections on loopback: what can go wrong with one, and what is said of it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from metashell.quorum.attempts import Trouble
from metashell.quorum.security import Address
from metashell.quorum.transport import ConnectError, Connection, LostError
from support.certificates import issue, make_authority, server_context

HOST = "127.0.0.1"
Serve = Callable[[socket.socket], None]


@contextlib.contextmanager
def served(serve: Serve) -> Iterator[Address]:
    """Accept one connection and do something with it."""
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(20)

        def accept() -> None:
            with contextlib.suppress(OSError):
                peer, _ = listener.accept()
                with peer:
                    peer.settimeout(20)
                    serve(peer)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield Address(HOST, listener.getsockname()[1])
        thread.join(20)


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
        deadline = time.monotonic() + 20
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
                    b"x" * 1000, memoryview(bytearray(1)), time.monotonic() + 20, never
                )
        assert not caught.value.is_silence
        connection.close()


def test_silent() -> None:
    """A peer that never answers is given up at the deadline."""
    done = threading.Event()
    with served(lambda peer: done.wait(20) and None) as address:
        connection = Connection.open(address, 5.0, None)
        with pytest.raises(LostError, match="it does not answer") as caught:
            receive(connection, 0.05)
        assert caught.value.is_silence
        connection.close()
        done.set()


def test_stop() -> None:
    """Whoever wants it to stop does not wait for the peer."""
    done, asked = threading.Event(), []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 1

    with served(lambda peer: done.wait(20) and None) as address:
        connection = Connection.open(address, 5.0, None)
        assert connection.exchange(b"", memoryview(bytearray(1)), time.monotonic() + 99, stop) == 0
        connection.close()
        done.set()


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
    """No answer to the handshake: perhaps it waits for something else."""
    done = threading.Event()
    with served(lambda peer: done.wait(20) and None) as address:
        with pytest.raises(ConnectError, match="does that listener speak TLS"):
            Connection.open(address, 0.1, client_context())
        done.set()


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
        with pytest.raises(LostError, match="it wants a client certificate") as caught:
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
        assert connection.exchange(b"", into, time.monotonic() + 60, lambda: False) == 1
        with pytest.raises(LostError, match="does not answer"):
            connection.exchange(b"", into, time.monotonic() - 1, lambda: False)
