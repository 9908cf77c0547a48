"""Connections to controllers: the only sockets of the program.

Owns TCP and TLS, and turns whatever the system says into a clause for people. Reads and writes in
short slices, so that whoever wants the thread to stop never waits for a peer.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.quorum.attempts import Trouble
from metashell.quorum.security import Address

if TYPE_CHECKING:
    import ssl

_SLICE_S: Final = 0.2
"""How long a system call may block before it is asked whether to stop."""


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

    @classmethod
    def open(cls, address: Address, timeout_s: float, context: ssl.SSLContext | None) -> Connection:
        """Connect, and shake hands where there is TLS.

        Raises:
            ConnectError: It can't be done.
        """
        try:
            sock = socket.create_connection((address.host, address.port), timeout_s)
        except (OSError, UnicodeError, OverflowError) as e:
            raise ConnectError(_why_not_connected(e, timeout_s)) from e
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if context is not None:
                sock = _secured(sock, address, timeout_s, context)
            sock.settimeout(_SLICE_S)
        except OSError as e:
            sock.close()
            raise ConnectError(e.strerror or str(e)) from e
        except BaseException:
            sock.close()
            raise
        return cls(sock, address)

    def exchange(
        self, send: bytes, into: memoryview, deadline: float, stop: Callable[[], bool]
    ) -> int:
        """Send all, then receive some.

        Args:
            send: What to send.
            into: Where to put what comes.
            deadline: When to give up, on time.monotonic's clock.
            stop: Asked again and again; ends this at once.

        Returns:
            How many bytes came; 0 where `stop` said so.

        Raises:
            LostError: The peer closed the connection, or is silent.
        """
        rest = memoryview(send)
        while not stop():
            # Looked at first: a peer that sends byte after byte never lets a call time out.
            if time.monotonic() >= deadline:
                raise LostError("it does not answer", is_silence=True)
            try:
                if rest:
                    rest = rest[self._socket.send(rest) :]
                    continue
                n_bytes = self._socket.recv_into(into)
            except TimeoutError:
                continue
            except OSError as e:
                raise _lost(e, self._address) from e
            if n_bytes == 0:
                raise LostError("it closed the connection")
            return n_bytes
        return 0

    def wake(self) -> None:
        """Let the thread that waits in `exchange` go on, from another one; then nothing comes."""
        with contextlib.suppress(OSError):
            # That of the plain socket: TLS would be taken apart under the other thread's hands.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def _secured(
    sock: socket.socket, address: Address, timeout_s: float, context: ssl.SSLContext
) -> socket.socket:
    from metashell.quorum.tls import is_about_host, tls_problem

    # A dot at the end says that the name is whole; certificates do without.
    host = address.host.removesuffix(".")
    try:
        host.encode("idna")  # as ssl does when it has let go of the socket already
        sock.settimeout(timeout_s)
        return context.wrap_socket(sock, server_hostname=host)
    except TimeoutError:
        raise ConnectError(
            f"no answer to the TLS handshake within {timeout_s:g} s: does that listener speak TLS?"
            " (security.protocol)",
            Trouble.PASSING,
        ) from None
    except OSError as e:
        # Who is closed on may be early: a controller that starts or ends does that as well.
        trouble = Trouble.PASSING if _is_closed(e) else Trouble.FINAL
        names = _names_of(address, timeout_s, context) if is_about_host(e) else ()
        raise ConnectError(tls_problem(e, host, names=names), trouble) from e
    except ValueError:  # such as an empty part of a name
        raise ConnectError("TLS can't ask for a host of that name", Trouble.FINAL) from None


def _names_of(address: Address, timeout_s: float, context: ssl.SSLContext) -> tuple[str, ...]:
    """For whom the peer's certificate is: OpenSSL tells only where it does not check the host."""
    from metashell.quorum.tls import certificate_names

    context.check_hostname = False
    try:
        with (
            socket.create_connection((address.host, address.port), timeout_s) as sock,
            context.wrap_socket(sock) as secured,
        ):
            return certificate_names(secured.getpeercert() or {})
    except (OSError, ValueError):
        return ()
    finally:
        context.check_hostname = True


def _is_closed(error: OSError) -> bool:
    # The types of ssl can't be named here without loading it.
    ended = type(error).__name__ in {"SSLEOFError", "SSLZeroReturnError"}
    return ended or isinstance(error, ConnectionError)


def _why_not_connected(error: Exception, timeout_s: float) -> str:
    if isinstance(error, socket.gaierror):
        return "no such host" if error.errno in _NO_HOST else (error.strerror or str(error))
    if isinstance(error, TimeoutError):
        return f"no connection within {timeout_s:g} s"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, UnicodeError):
        return "no such host"
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


_NO_HOST: Final = {
    getattr(socket, name)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_FAIL")
    if hasattr(socket, name)
}


def _lost(error: OSError, address: Address) -> LostError:
    if _is_closed(error):
        return LostError("it closed the connection")
    if type(error).__module__ == "ssl":
        from metashell.quorum.tls import tls_problem

        # With TLS 1.3 a certificate of ours is refused only now.
        return LostError(tls_problem(error, address.host), Trouble.FINAL)
    text = error.strerror or str(error)
    return LostError(f"the connection broke: {text[:1].lower() + text[1:]}")
