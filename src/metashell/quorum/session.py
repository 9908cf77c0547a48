"""One connection to a controller, without the connection: bytes in, bytes and answers out.

Owns the framing, the negotiation of versions and the SASL exchange, in this order::

    NEGOTIATING --(PLAINTEXT, SSL)----------------------------------> READY
         |                                                              ^
         +--(SASL)--> SHAKING_HANDS --> AUTHENTICATING --(accepted)-----+

One request is under way at a time. Nothing here opens a socket or looks at a clock.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from metashell.dataclass import dataclass
from metashell.errors import DecodeError, MetashellError
from metashell.quorum.protocol import (
    MAX_RESPONSE_BYTES,
    Api,
    ErrorCode,
    common_version,
    decode_response,
    encode_request,
    error_name,
    request_spec,
)
from metashell.redact import without_own_secrets
from metashell.security.peer_text import one_line
from metashell.security.sasl import Mechanism, TicketError
from metashell.version import __version__

_HANDSHAKE_MAX_STEPS: Final = 16
"""Rounds of a SASL exchange; the longest that we speak has four."""


class SessionState(Enum):
    """The connection's state."""

    NEGOTIATING = "negotiating"
    SHAKING_HANDS = "shaking hands"
    AUTHENTICATING = "authenticating"
    READY = "ready"


class PeerError(Exception):
    """The peer is not the one that was expected, or does not want us.

    Args:
        reason: A clause that can follow the address: ``that is a broker; ...``.
        is_final: Whether asking again would give the same.
        hint: The next step of the user, where more is known than the reason tells.
    """

    def __init__(self, reason: str, *, is_final: bool = False, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.is_final, self.hint = reason, is_final, hint


@dataclass(frozen=True, slots=True)
class Answer:
    """A decoded answer to a request."""

    api: Api
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Asked:
    api: Api
    version: int
    correlation_id: int


class QuorumSession:
    """The protocol's side of one connection.

    Args:
        mechanism: The SASL exchange; None for a listener without SASL.
    """

    def __init__(self, mechanism: Mechanism | None = None) -> None:
        self.state = SessionState.NEGOTIATING
        self.offered: Mapping[int, tuple[int, int]] = {}
        """Lowest and highest version of each api, once negotiated."""
        self.lifetime_ms = 0
        """How long the authentication holds (KIP-368); 0 for ever."""
        self._mechanism = mechanism
        self._outgoing = bytearray()
        self._correlation_id = 0
        self._asked: _Asked | None = None
        self._steps = 0
        self._head = bytearray(4)
        self._body: bytearray | None = None
        self._filled = 0
        self.n_received = 0
        """Bytes that came so far."""
        self._ask(Api.API_VERSIONS, 4, _SOFTWARE)

    @classmethod
    def begun(cls, mechanism: Mechanism | None) -> QuorumSession:
        """One whose first request, `hello`, was sent already."""
        session = cls(mechanism)
        session.take_outgoing()
        return session

    @property
    def has_sasl(self) -> bool:
        """Whether it authenticates."""
        return self._mechanism is not None

    @property
    def n_pending(self) -> int:
        """Bytes of an answer that is not whole yet."""
        return 0 if self._body is None else self._filled

    @property
    def is_ready(self) -> bool:
        """Whether requests can be sent."""
        return self.state is SessionState.READY

    def version_of(self, api: Api) -> int | None:
        """The version in which an api would be asked; None where the peer does not serve it."""
        return common_version(api, self.offered)

    def request(self, api: Api, fields: Mapping[str, Any]) -> None:
        """Send a request; the answer comes from `received`.

        Raises:
            PeerError: The peer does not serve it.
        """
        version = self.version_of(api)
        if version is None:
            raise PeerError(_no_version(api, self.offered), is_final=True)
        self._ask(api, version, fields)

    def _ask(self, api: Api, version: int, fields: Mapping[str, Any]) -> None:
        self._correlation_id += 1
        self._asked = _Asked(api, version, self._correlation_id)
        self._outgoing += encode_request(api, version, self._correlation_id, fields)

    # Bytes.

    def take_outgoing(self) -> bytes:
        """The bytes to send now."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def buffer(self) -> memoryview:
        """Where the next bytes belong; tell `received` how many came."""
        into = self._head if self._body is None else self._body
        return memoryview(into)[self._filled :]

    def received(self, n_bytes: int) -> Answer | None:
        """Take the bytes that were put into `buffer`.

        Returns:
            The answer to the last request, once it is whole and no step of the handshake.

        Raises:
            PeerError: The bytes are no answer, or a refusal.
        """
        self._filled += n_bytes
        self.n_received += n_bytes
        if self._body is None:
            if self._filled < 4:
                return None
            self._body, self._filled = bytearray(self._size()), 0
        if self._filled < len(self._body):
            return None
        data, self._body, self._filled = memoryview(self._body), None, 0
        asked, self._asked = self._asked, None
        if asked is None:
            raise PeerError("it sends an answer without a request")
        try:
            fields = _said(decode_response(asked.api, asked.version, asked.correlation_id, data))
        except DecodeError as e:
            raise PeerError(f"its answer to {request_spec(asked.api).name} is damaged: {e}") from e
        return self._answered(Answer(asked.api, fields))

    def _size(self) -> int:
        """The announced size of an answer; PeerError for one that no controller sends."""
        (size,) = struct.unpack(">i", self._head)
        if self._head[0] in (0x14, 0x15, 0x16) and self._head[1] == 3:
            raise PeerError(_SPEAKS_TLS, is_final=True)
        if bytes(self._head) == b"HTTP":
            raise PeerError("it speaks HTTP: that is not a Kafka listener", is_final=True)
        if not 4 <= size <= MAX_RESPONSE_BYTES:
            raise PeerError(
                f"it announces an answer of {size} bytes: that is not a Kafka listener, or one that"
                " speaks TLS (security.protocol)"
            )
        return int(size)

    # The handshake.

    def _answered(self, answer: Answer) -> Answer | None:
        if self.state is SessionState.NEGOTIATING:
            self._negotiated(answer.fields)
        elif self.state is SessionState.SHAKING_HANDS:
            self._shook_hands(answer.fields)
        elif self.state is SessionState.AUTHENTICATING:
            self._authenticated(answer.fields)
        else:
            return answer
        return None

    def _negotiated(self, fields: Mapping[str, Any]) -> None:
        code = fields["error_code"]
        offered = {a["api_key"]: (a["min_version"], a["max_version"]) for a in fields["api_keys"]}
        if code == ErrorCode.UNSUPPORTED_VERSION:
            version = common_version(Api.API_VERSIONS, offered)
            if version is None or self._steps:
                raise PeerError("it shares no version of ApiVersions with metashell", is_final=True)
            self._steps += 1
            self._ask(Api.API_VERSIONS, version, _SOFTWARE)
            return
        if code != ErrorCode.NONE:
            raise PeerError(f"it refuses ApiVersions: {error_name(code)}")
        self.offered = offered
        self._steps = 0
        if self._mechanism is None:
            self.state = SessionState.READY
            return
        self.state = SessionState.SHAKING_HANDS
        self.request(Api.SASL_HANDSHAKE, {"mechanism": self._mechanism.name})

    def _shook_hands(self, fields: Mapping[str, Any]) -> None:
        assert self._mechanism is not None
        code, mine = fields["error_code"], self._mechanism.name
        if code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offered = one_line(", ".join(fields["mechanisms"])) or "none"
            raise PeerError(
                f"it does not offer SASL mechanism {mine}, but {offered} (sasl.mechanism)",
                is_final=True,
            )
        if code == ErrorCode.ILLEGAL_SASL_STATE:
            raise PeerError("that listener does not use SASL (security.protocol)", is_final=True)
        if code != ErrorCode.NONE:
            raise PeerError(f"it refuses SASL: {error_name(code)}", is_final=True)
        self.state = SessionState.AUTHENTICATING
        self._say(self._call(self._mechanism.first))

    def _authenticated(self, fields: Mapping[str, Any]) -> None:
        assert self._mechanism is not None
        code = fields["error_code"]
        if code != ErrorCode.NONE:
            said = one_line(fields["error_message"] or "")
            said = f": {said}" if said else ""
            what = "" if code == ErrorCode.SASL_AUTHENTICATION_FAILED else f" ({error_name(code)})"
            raise PeerError(
                f"authentication with {self._mechanism.name} failed{what}{said}", is_final=True
            )
        challenge, mechanism = fields["auth_bytes"], self._mechanism
        answer = None
        if challenge or not mechanism.is_done:
            answer = self._call(lambda: mechanism.step(challenge))
        if answer is not None:
            self._say(answer)
        elif not mechanism.is_done:
            raise PeerError(f"the {mechanism.name} exchange ended too early", is_final=True)
        else:
            self.lifetime_ms = max(fields["session_lifetime_ms"], 0)
            self.state = SessionState.READY

    def _call(self, step: Any) -> Any:
        try:
            return step()
        except MetashellError as e:
            is_final = not isinstance(e, TicketError)
            raise PeerError(e.message, is_final=is_final, hint=e.hint) from e

    def _say(self, message: bytes) -> None:
        self._steps += 1
        if self._steps > _HANDSHAKE_MAX_STEPS:
            raise PeerError("the SASL exchange does not end", is_final=True)
        self.request(Api.SASL_AUTHENTICATE, {"auth_bytes": message})


def _said(value: Any) -> Any:
    """A peer's answer, without any secret of ours that it repeats."""
    if isinstance(value, str):
        return without_own_secrets(value)
    if isinstance(value, list):
        return [_said(element) for element in value]
    if isinstance(value, dict):
        return {name: _said(element) for name, element in value.items()}
    return value


def hello() -> bytes:
    """The first request on every connection."""
    return QuorumSession().take_outgoing()


_SOFTWARE: Final = {"client_software_name": "metashell", "client_software_version": __version__}
_SPEAKS_TLS: Final = "that listener speaks TLS: set security.protocol to SSL or SASL_SSL"


def _no_version(api: Api, offered: Mapping[int, tuple[int, int]]) -> str:
    name, ours = api.name.replace("_", " ").title().replace(" ", ""), request_spec(api).versions
    if api not in offered:
        return f"it does not serve {name}"
    low, high = offered[api]
    return f"it serves {name} {low} to {high}, we speak {ours.low} to {ours.high}"
