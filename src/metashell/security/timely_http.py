"""HTTP requests whose answers are read up to a moment, however slowly they come.

A time limit of `urllib` holds for each read of a socket alone: a server that sends a byte now and
then is never late. Here the limit holds for the status line, the headers and the body together.
Redirects are refused: they could carry credentials to another host.
"""

from __future__ import annotations

import io
import ssl
import time
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

if TYPE_CHECKING:
    from urllib.request import OpenerDirector


def timely_opener(deadline: float, context: ssl.SSLContext | None) -> OpenerDirector:
    """Make an opener of URLs that raises TimeoutError if an answer is late.

    An answer is late if it is not whole by the deadline.

    Args:
        deadline: By the clock of `time.monotonic`.
        context: The TLS context of https; None for Python's own.
    """

    def timely(kind: type[HTTPConnection], host: str, **options: Any) -> HTTPConnection:
        connection = kind(host, **options)
        connection.response_class = partial(_TimelyResponse, deadline=deadline)  # type: ignore[assignment]
        return connection

    class Http(HTTPHandler):
        def http_open(self, req: Request) -> HTTPResponse:
            return self.do_open(partial(timely, HTTPConnection), req)

    class Https(HTTPSHandler):
        def https_open(self, req: Request) -> HTTPResponse:
            connection = partial(timely, HTTPSConnection)
            return self.do_open(connection, req, context=context)

    return build_opener(_Refuse, Http, Https(context=context))


class _Refuse(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _TimelyResponse(HTTPResponse):
    """A response that is read up to a deadline."""

    def __init__(self, sock: Any, *args: Any, deadline: float, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_TimelyStream(sock, deadline))


class _TimelyStream(io.RawIOBase):
    """The bytes that a socket receives up to a deadline."""

    def __init__(self, sock: Any, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline
        self._received: io.RawIOBase = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int | None:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._sock.settimeout(left_s)
        n_bytes: int | None = self._received.readinto(target)
        return n_bytes

    def close(self) -> None:
        self._received.close()
        super().close()
