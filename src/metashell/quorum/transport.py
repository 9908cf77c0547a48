"""Connections to controllers: the only sockets of the program.

Owns TCP and TLS, and turns whatever the system says into a clause for people. A thread that waits
for a peer sleeps; whoever wants it to stop wakes it (`Connection.wake`).
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Final

from metashell.quorum.attempts import Trouble
from metashell.security.settings import Address

CONNECT_S: Final = 5.0
"""How long a host may take to accept a connection."""
_NAMES_S: Final = 2.0
"""How long it may take to look whose certificate it is that was refused."""


class Phase(Enum):
    """The phase of a connection before its first answer."""

    NAME = "its name was not resolved within"
    CONNECTION = "no connection within"
    TLS = "no answer to the TLS handshake within"
    ANSWER = "it does not answer"


Watch = Callable[[Phase, "socket.socket | None"], None]
"""Is told what begins, and by which socket; may raise OSError, which ends it."""


class ConnectError(Exception):
    """A connection can't be made."""

    def __init__(self, reason: str, trouble: Trouble = Trouble.UNREACHABLE) -> None:
        super().__init__(reason)
        self.reason, self.trouble = reason, trouble


class LostError(Exception):
    """A connection is gone, or silent for too long."""

    def __init__(
        self, reason: str, trouble: Trouble = Trouble.PASSING, *, is_silence: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.trouble, self.is_silence = reason, trouble, is_silence


class Connection:
    """A connected socket, with TLS where a context is given."""

    def __init__(self, sock: socket.socket, address: Address) -> None:
        self._socket, self._address = sock, address
        self._early = b""
        """Bytes that came before anybody had a place for them."""

    @classmethod
    def open(
        cls,
        address: Address,
        timeout_s: float,
        context: ssl.SSLContext | None,
        watch: Watch = lambda *_: None,
    ) -> Connection:
        """Connect, and shake hands where there is TLS.

        Args:
            address: The peer.
            timeout_s: How long all of it may take; looking up the name can't be cut short.
            context: The TLS context; None without TLS.
            watch: Is told each phase.

        Raises:
            ConnectError: It can't be done.
        """
        end = time.monotonic() + timeout_s
        connect_s = min(timeout_s, CONNECT_S)
        try:
            sock = _connected(address, connect_s, watch)
        except (OSError, UnicodeError, OverflowError) as e:
            raise ConnectError(_why_not_connected(e, connect_s)) from e
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if context is not None:
                sock = _secured(sock, address, timeout_s, end, context, watch)
            watch(Phase.ANSWER, sock)
        except OSError as e:
            sock.close()
            raise ConnectError(e.strerror or str(e)) from e
        except BaseException:
            sock.close()
            raise
        return cls(sock, address)

    def greet(self, hello: bytes, deadline: float, stop: Callable[[], bool]) -> bool:
        """Send something, and wait until its answer begins; `exchange` gives it out then.

        Returns:
            Whether it does; False where `stop` said so.

        Raises:
            LostError: The peer closed the connection, or is silent.
        """
        first = bytearray(1 << 12)
        n_bytes = self.exchange(hello, memoryview(first), deadline, stop)
        self._early = bytes(first[:n_bytes])
        return bool(n_bytes)

    def exchange(
        self, send: bytes, into: memoryview, deadline: float, stop: Callable[[], bool]
    ) -> int:
        """Send all, then receive some.

        Args:
            send: The bytes to send.
            into: Where to put what comes.
            deadline: When to give up, on time.monotonic's clock.
            stop: Ends this; who has it say so calls `wake` behind that.

        Returns:
            How many bytes came; 0 where `stop` said so.

        Raises:
            LostError: The peer closed the connection, or is silent.
        """
        rest = memoryview(send)
        while not stop():
            # Looked at first: a peer that sends byte after byte never lets a call time out.
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise LostError(Phase.ANSWER.value, is_silence=True)
            try:
                if self._early and not rest:
                    return self._take_early(into)
                self._socket.settimeout(left_s)
                if rest:
                    rest = rest[self._socket.send(rest) :]
                    continue
                n_bytes = self._socket.recv_into(into)
            except TimeoutError:
                continue
            except OSError as e:
                if stop():
                    break
                raise _lost(e, self._address) from e
            if n_bytes:
                return n_bytes
            if not stop():
                raise LostError("it closed the connection")
        return 0

    def _take_early(self, into: memoryview) -> int:
        n_bytes = min(len(into), len(self._early))
        into[:n_bytes] = self._early[:n_bytes]
        self._early = self._early[n_bytes:]
        return n_bytes

    def wake(self) -> None:
        """Let the thread that waits in `exchange` go on, from another one; then nothing comes."""
        with contextlib.suppress(OSError):
            # The plain socket's own: TLS would be taken apart under the other thread's hands.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def _connected(address: Address, timeout_s: float, watch: Watch) -> socket.socket:
    """Connect to one of the addresses that a host's name stands for: all share the time."""
    watch(Phase.NAME, None)
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    end, error = time.monotonic() + timeout_s, OSError("no such host")
    for i, (family, kind, protocol, _, at) in enumerate(found):
        sock = socket.socket(family, kind, protocol)
        try:
            watch(Phase.CONNECTION, sock)
            sock.settimeout(max((end - time.monotonic()) / (len(found) - i), 0.001))
            sock.connect(at)
        except OSError as e:
            sock.close()
            error = e
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise error


def _wrapped(
    sock: socket.socket,
    context: ssl.SSLContext,
    host: str | None,
    end: float,
    watch: Watch = lambda *_: None,
) -> ssl.SSLSocket:
    """Begin TLS up to a time; without a host whoever has the certificate is believed.

    A connection takes the settings of its context when it is made, and several are made side by
    side: whether the host is checked is set under a lock.
    """
    with _WRAPPING:
        checks_host, context.check_hostname = (
            context.check_hostname,
            context.check_hostname and host is not None,
        )
        try:
            secured = context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
        finally:
            context.check_hostname = checks_host
    try:
        watch(Phase.TLS, secured)
        secured.settimeout(max(end - time.monotonic(), 0.001))
        secured.do_handshake()
    except BaseException:
        secured.close()
        raise
    return secured


_WRAPPING: Final = threading.Lock()


def _secured(
    sock: socket.socket,
    address: Address,
    timeout_s: float,
    end: float,
    context: ssl.SSLContext,
    watch: Watch,
) -> socket.socket:
    from metashell.security.tls import is_about_host, tls_problem

    # A dot at the end says that the name is whole; certificates do without.
    host = address.host.removesuffix(".")
    try:
        host.encode("idna")  # as ssl does when it has let go of the socket already
        return _wrapped(sock, context, host, end, watch)
    except TimeoutError:
        raise ConnectError(in_vain(Phase.TLS, timeout_s), Trouble.PASSING) from None
    except OSError as e:
        # A closed connection may only be early: a controller that starts or ends closes it as well.
        trouble = Trouble.PASSING if _is_closed(e) else Trouble.FINAL
        names = _names_of(address, end, context) if is_about_host(e) else ()
        raise ConnectError(tls_problem(e, host, names=names), trouble) from e
    except ValueError:  # such as an empty part of a name
        raise ConnectError("TLS does not accept that host name", Trouble.FINAL) from None


def _names_of(address: Address, end: float, context: ssl.SSLContext) -> tuple[str, ...]:
    """For whom the peer's certificate is: OpenSSL tells only where it does not check the host."""
    from metashell.security.tls import certificate_names

    left_s = min(end - time.monotonic(), _NAMES_S)
    try:
        with (
            _connected(address, left_s, lambda *_: None) as sock,
            _wrapped(sock, context, None, time.monotonic() + left_s) as secured,
        ):
            return certificate_names(secured.getpeercert() or {})
    except (OSError, ValueError):
        return ()


def _is_closed(error: OSError) -> bool:
    # The types of ssl can't be named here without loading it.
    ended = type(error).__name__ in {"SSLEOFError", "SSLZeroReturnError"}
    return ended or isinstance(error, ConnectionError)


def _why_not_connected(error: Exception, timeout_s: float) -> str:
    if isinstance(error, socket.gaierror):
        return "no such host" if error.errno in _NO_HOST else (error.strerror or str(error))
    if isinstance(error, TimeoutError):
        return in_vain(Phase.CONNECTION, timeout_s)
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, UnicodeError):
        return "no such host"
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


def in_vain(phase: Phase, seconds: float) -> str:
    """The phase that did not end, and its limit."""
    return f"{phase.value} {round(seconds, 1):g} s"


_NO_HOST: Final = {
    getattr(socket, name)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_FAIL")
    if hasattr(socket, name)
}


def _lost(error: OSError, address: Address) -> LostError:
    if _is_closed(error):
        return LostError("it closed the connection")
    if type(error).__module__ == "ssl":
        from metashell.security.tls import tls_problem

        # With TLS 1.3 a certificate of ours is refused only now.
        return LostError(tls_problem(error, address.host), Trouble.FINAL)
    text = error.strerror or str(error)
    return LostError(f"the connection broke: {text[:1].lower() + text[1:]}")
