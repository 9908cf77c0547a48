"""A loopback server for tests of TLS: greets whoever gets through, or answers as no TLS would."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator

from metashell.security.settings import Address
from support.waiting import LIMIT_S

GREETING = b"hello"


@contextlib.contextmanager
def serve(context: ssl.SSLContext | None, *, answer: bytes = GREETING) -> Iterator[Address]:
    """Serve one client after another on a thread, until the block ends.

    Args:
        context: What to wrap a connection with; None to speak no TLS.
        answer: What to send, after a handshake or after the client's first bytes.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=_accept, args=(listener, context, answer), daemon=True)
        thread.start()
        try:
            yield Address("127.0.0.1", port)
        finally:
            # A connection that says nothing ends the thread; closing would not wake it up.
            listener.setblocking(True)
            _stop(port)
            thread.join(LIMIT_S)
    assert not thread.is_alive()


_STOP = b"stop!"


def _stop(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), LIMIT_S) as connection:
        connection.sendall(_STOP)


def _accept(listener: socket.socket, context: ssl.SSLContext | None, answer: bytes) -> None:
    while True:
        connection, _ = listener.accept()
        connection.settimeout(LIMIT_S)
        with connection:
            if connection.recv(len(_STOP), socket.MSG_PEEK) == _STOP:
                return
            with contextlib.suppress(OSError):
                _answer(connection, context, answer)


def _answer(connection: socket.socket, context: ssl.SSLContext | None, answer: bytes) -> None:
    if context is None:
        connection.recv(1 << 16)
        connection.sendall(answer)
        return
    with context.wrap_socket(connection, server_side=True) as wrapped:
        wrapped.sendall(answer)
        with contextlib.suppress(OSError):
            wrapped.unwrap()
