"""Recorded exchanges with real controllers, and a peer that answers an observer with them."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from metashell.quorum.attempts import Trouble
from metashell.quorum.observer import Observer
from metashell.quorum.protocol import Api, request_spec
from metashell.quorum.steps import (
    Action,
    Connect,
    Connected,
    Elapsed,
    Event,
    Lost,
    NotConnected,
    ObserverState,
    Read,
    Received,
    Sleep,
)
from metashell.schema.scalar import decode_message
from support.fixtures import fixture_dir

CLIENT = b"metashell"


@dataclass(frozen=True)
class Exchange:
    """A request and its answer, None where the peer closed."""

    to: str
    api: Api
    version: int
    correlation_id: int
    request: bytes
    response: bytes | None

    @property
    def body(self) -> dict[str, Any]:
        """The request's fields."""
        start = 10 + len(CLIENT) + (self.version in request_spec(self.api).flexible)
        return decode_message(request_spec(self.api), self.version, self.request, start)

    def answer_to(self, correlation_id: int) -> bytes:
        """The answer, framed, as if another request had been sent."""
        assert self.response is not None
        data = struct.pack(">i", correlation_id) + self.response[4:]
        return struct.pack(">i", len(data)) + data


@cache
def scene(name: str) -> Sequence[Exchange]:
    """Read a scene."""
    recorded = json.loads((fixture_dir("wire") / f"{name}.json").read_text())
    found = []
    for exchange in recorded["exchanges"]:
        request, response = bytes.fromhex(exchange["request"]), exchange["response"]
        api, version, correlation_id = struct.unpack_from(">hhi", request)
        if response is not None and response.startswith("("):
            continue
        found.append(
            Exchange(
                exchange["to"],
                Api(api),
                version,
                correlation_id,
                request,
                None if response is None else bytes.fromhex(response),
            )
        )
    return found


class Script:
    """Answers an observer with a scene's recorded answers, in order for each node and API.

    The last answer of an API is repeated. Time passes only where it is waited for.

    Args:
        names: Scenes; each node answers with the exchanges of them all.
        fetch_version: The highest Fetch version that is offered.
    """

    def __init__(self, *names: str, fetch_version: int = 17) -> None:
        self.now = 0.0
        self.requests: list[tuple[str, Api, dict[str, Any]]] = []
        self.answers: dict[tuple[str, Api], list[Exchange]] = {}
        self._fetch_version = fetch_version
        for name in names:
            for exchange in scene(name):
                self.answers.setdefault((exchange.to, exchange.api), []).append(exchange)
        self._to = ""
        self._pending = b""
        self._closes = False

    def run(self, observer: Observer, n_steps: int = 3000) -> Observer:
        """Go on until it fails or has caught up."""
        for _ in range(n_steps):
            action = observer.action(self.now)
            if observer.facts.state is ObserverState.FAILED or (
                observer.facts.is_ready and not observer.facts.follow
            ):
                return observer
            observer.tell(self.carry_out(action), self.now)
        raise AssertionError(f"still {observer.facts.state} after {n_steps} steps")

    def carry_out(self, action: Action) -> Event:
        """Do what an observer wants."""
        if isinstance(action, Sleep):
            self.now = max(self.now, action.until)
            return Elapsed()
        if isinstance(action, Connect):
            address = action.addresses[0]
            self._to, self._pending, self._closes = address.host, b"", False
            if not any(to == self._to for to, _ in self.answers):
                return NotConnected(address, "connection refused")
            self._answer(action.hello)
            if self._closes:
                closed = "it closed the connection"
                return NotConnected(address, closed, Trouble.PASSING, was_closed=True)
            return Connected(address)
        assert isinstance(action, Read)
        self.now += 0.001
        if action.send:
            self._answer(action.send)
        if not self._pending:
            assert self._closes
            return Lost("it closed the connection")
        n = min(len(action.into), len(self._pending))
        action.into[:n] = self._pending[:n]
        self._pending = self._pending[n:]
        return Received(n)

    def _answer(self, request: bytes) -> None:
        api, version, correlation_id = struct.unpack_from(">hhi", request, 4)
        body = self._read_request(request)
        self.requests.append((self._to, Api(api), body))
        answers = self.answers.get((self._to, Api(api)), [])
        if not answers or answers[0].response is None:
            self._closes = True
            return
        exchange = answers.pop(0) if len(answers) > 1 else answers[0]
        self._pending = exchange.answer_to(correlation_id)
        if Api(api) is Api.API_VERSIONS and version == 4 and exchange.version < 5:
            self._pending = self._limited(self._pending)
        elif exchange.version != 99:
            assert version == exchange.version, (Api(api), version, exchange.version)

    def _read_request(self, request: bytes) -> dict[str, Any]:
        api, version = struct.unpack_from(">hh", request, 4)
        if version not in request_spec(Api(api)).versions:
            return {}
        start = 14 + len(CLIENT) + (version in request_spec(Api(api)).flexible)
        return decode_message(request_spec(Api(api)), version, request, start)

    def _limited(self, answer: bytes) -> bytes:
        """ApiVersions with a lower maximum for Fetch."""
        entry = bytes.fromhex("0001") + struct.pack(">h", 0)
        for high in (16, 17, 18):
            for low in (0, 4, 12):
                entry = struct.pack(">hhh", 1, low, high)
                if entry in answer:
                    new = struct.pack(">hhh", 1, low, self._fetch_version)
                    return answer.replace(entry, new, 1)
        return answer
