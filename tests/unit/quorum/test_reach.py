"""Whether endpoints take connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Event

import pytest

from metashell.quorum.race import unreachable


@pytest.fixture
def open_port() -> Iterator[int]:
    """A port of this machine that takes connections."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


def test_who_takes_no_connection(open_port: int) -> None:
    """Only endpoints that take none are named, each with its reason."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # Bound, and nobody listens.
        closed = f"CONTROLLER://127.0.0.1:{taken.getsockname()[1]}"
        wrong = "CONTROLLER://127.0.0.1:99999"
        found = unreachable([f"CONTROLLER://127.0.0.1:{open_port}", closed, wrong])
    assert {closed, wrong} == set(found)
    assert "connection refused" == found[closed]
    assert "its port is not between 1 and 65535" in found[wrong]


def test_silence_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is looked up for ever is waited for no longer than the limit."""
    over = Event()

    def hang(*_: object, **__: object) -> None:
        over.wait(60)
        raise OSError("late")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        found = unreachable(["CONTROLLER://c1:9093"], 0.1)
    finally:
        over.set()
    assert {"CONTROLLER://c1:9093": "no connection within 0.1 s"} == found
