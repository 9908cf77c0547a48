"""The controller's end of a connection: requests in as bytes, answers out as bytes.

Owns framing, authentication and when an answer leaves; what it says is `support.fake_quorum`'s.
Time is told by the caller.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import scramp

from metashell.quorum.protocol import Api, request_spec, response_spec
from metashell.schema.encode import encode_message
from metashell.schema.scalar import decode_message
from support.fake_faults import NO_FAULTS, Faults
from support.fake_habits import is_known
from support.fake_quorum import Controller, Fields

_REQUEST_MAX_BYTES: Final = 104_857_600
"""``socket.request.max.bytes``."""


@dataclass
class Sasl:
    """Who may come in.

    Passwords for PLAIN and SCRAM by user, tokens for OAUTHBEARER; with GSSAPI everybody who has a
    ticket for a service whose key is ours.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    """Whose unsigned tokens are believed."""
    keytab: str = ""
    """Path of the file with the keys of our Kerberos services."""
    layers: bytes = b"\1\1\0\0"
    """What GSSAPI offers: no security layer, and the size of a buffer that nobody needs then."""
    mechanisms: tuple[str, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
    refusal: str = "Authentication failed during authentication due to invalid credentials"
    lifetime_ms: int = 0
    """How long an authentication holds."""


@dataclass(slots=True)
class _Request:
    api: Api
    version: int
    correlation_id: int
    body: Fields
    deadline: float


class FakeConnection:
    """A connection to a controller."""

    def __init__(
        self, controller: Controller, faults: Faults = NO_FAULTS, sasl: Sasl | None = None
    ) -> None:
        self.controller, self.faults, self.sasl = controller, faults, sasl
        self.is_closed = False
        self.requests: list[tuple[Api, int, Fields]] = []
        """All that was asked."""
        self._incoming = b""
        self._waiting: _Request | None = None
        self._outgoing: list[tuple[float, bytes | None]] = []
        """What leaves when; None closes the connection."""
        self._mechanism: str | None = None
        self._scram: Any = None
        self._acceptor: Acceptor | None = None
        self._is_in = sasl is None

    def receive(self, data: bytes, now: float) -> None:
        """Take bytes that the client sent."""
        self._incoming += data
        while not self.controller.hangs and len(self._incoming) >= 4 and not self.is_closed:
            (size,) = struct.unpack_from(">i", self._incoming)
            if not 0 <= size <= _REQUEST_MAX_BYTES:  # such as the first bytes of TLS
                self._incoming = b""
                self._close(now)
                return
            if len(self._incoming) < 4 + size:
                return
            request, self._incoming = self._incoming[4 : 4 + size], self._incoming[4 + size :]
            self._take(request, now)

    def poll(self, now: float) -> bytes:
        """The bytes that leave now; look at `is_closed` when there are none."""
        if self.controller.hangs:
            return b""
        self.receive(b"", now)  # what came while it hung
        waiting = self._waiting
        if waiting is not None:
            answer = self.controller.answer(waiting.api, waiting.version, waiting.body)
            is_over = now >= waiting.deadline
            if is_over or self.controller.is_worth_an_answer(waiting.version, waiting.body, answer):
                self._waiting = None
                self._answer(waiting, answer, now)
        if not self._outgoing or self._outgoing[0][0] > now:
            return b""
        _, data = self._outgoing.pop(0)
        self.is_closed |= data is None
        return data or b""

    def next_time(self) -> float | None:
        """When something leaves at the latest, without anything else happening."""
        times = [self._outgoing[0][0]] if self._outgoing else []
        times += [self._waiting.deadline] if self._waiting else []
        return min(times, default=None)

    # Requests.

    def _take(self, data: bytes, now: float) -> None:
        api, version, correlation_id, n_client = struct.unpack_from(">hhih", data)
        start = 10 + n_client
        offered = self.controller.habits.versions.get(api)
        if api == Api.API_VERSIONS and offered and not offered[0] <= version <= offered[1]:
            request = _Request(Api.API_VERSIONS, 0, correlation_id, {}, now)
            self._answer(request, self.controller.answer(Api.API_VERSIONS, version, {}), now)
            return
        if offered is None or not offered[0] <= version <= offered[1] or not is_known(api, version):
            self._close(now)
            return
        spec = request_spec(Api(api))
        start += version in spec.flexible
        request = _Request(
            Api(api), version, correlation_id, decode_message(spec, version, data, start), now
        )
        self.requests.append((request.api, version, request.body))
        self._serve(request, now)

    def _serve(self, request: _Request, now: float) -> None:
        api = request.api
        if api in {Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE}:
            self._authenticate(request, now)
            return
        if not self._is_in and api is not Api.API_VERSIONS:
            self._close(now)
            return
        fault = self.faults.instead_of(request.api, request.version)
        if fault == "silence":
            return
        if fault == "close":
            self._close(now)
        elif fault is not None:
            self._answer(request, fault, now)
        elif api is Api.FETCH:
            request.deadline = now + request.body["max_wait_ms"] / 1000
            self._waiting = request
        else:
            self._answer(request, self.controller.answer(api, request.version, request.body), now)

    def _close(self, now: float) -> None:
        self._outgoing.append((now, None))

    def _answer(self, request: _Request, fields: Fields, now: float) -> None:
        spec = response_spec(request.api)
        fields = self.faults.spoil(request.api, fields)
        body = encode_message(spec, request.version, fields, leaves_out=True)
        head = struct.pack(">i", request.correlation_id)
        if request.version in spec.flexible and request.api is not Api.API_VERSIONS:
            head += b"\0"
        frame = struct.pack(">i", len(head) + len(body)) + head + body
        self._outgoing += self.faults.deliver(frame, now)

    # Authentication.

    def _authenticate(self, request: _Request, now: float) -> None:
        if request.api is Api.SASL_HANDSHAKE:
            name = request.body["mechanism"]
            mechanisms = self.sasl.mechanisms if self.sasl else ()
            error = 34 if self.sasl is None else 0 if name in mechanisms else 33
            self._mechanism = name if not error else None
            self._answer(request, {"error_code": error, "mechanisms": list(mechanisms)}, now)
            return
        said = None
        if self._mechanism is not None and self.sasl is not None:
            said = self._said(request.body["auth_bytes"], self._mechanism, self.sasl)
        if said is None:
            refusal = Sasl.refusal if self.sasl is None else self.sasl.refusal
            self._answer(request, {"error_code": 58, "error_message": refusal}, now)
            self._close(now)
            return
        lifetime_ms = self.sasl.lifetime_ms if self.sasl and self._is_in else 0
        fields = {"auth_bytes": said, "session_lifetime_ms": lifetime_ms, "error_message": None}
        self._answer(request, fields, now)

    def _said(self, data: bytes, mechanism: str, sasl: Sasl) -> bytes | None:
        """What the server says to a message; None where it refuses."""
        if mechanism == "PLAIN":
            _, user, password = data.decode().split("\0")
            self._is_in = sasl.users.get(user) == password
            return b"" if self._is_in else None
        if mechanism == "OAUTHBEARER":
            sent = {part for part in data.split(b"\x01") if part.startswith(b"auth=Bearer ")}
            self._is_in = any(b"auth=Bearer " + t.encode() in sent for t in sasl.tokens) or any(
                _subject(part.removeprefix(b"auth=Bearer ")) in sasl.subjects for part in sent
            )
            return b"" if self._is_in else None
        if mechanism == "GSSAPI":
            self._acceptor = self._acceptor or Acceptor(sasl)
            said = self._acceptor.said(data)
            self._is_in = self._acceptor.is_complete
            return said
        return self._scram_said(data.decode(), mechanism, sasl)

    def _scram_said(self, message: str, mechanism: str, sasl: Sasl) -> bytes | None:
        kind = scramp.ScramMechanism(mechanism)
        try:
            if self._scram is None:
                self._scram = kind.make_server(
                    lambda user: kind.make_auth_info(sasl.users[user], 4096)
                )
                self._scram.set_client_first(message)
                return str(self._scram.get_server_first()).encode()
            self._scram.set_client_final(message)
            self._is_in = True
            return str(self._scram.get_server_final()).encode()
        except (scramp.ScramException, KeyError):
            return None


class Acceptor:
    """The server's side of GSSAPI as Kafka has it, which is that of the JDK (GssKrb5Server)."""

    def __init__(self, sasl: Sasl) -> None:
        import gssapi

        self.is_complete = False
        self._layers, self._has_offered = sasl.layers, False
        self._refused = gssapi.exceptions.GSSError
        self._context = gssapi.SecurityContext(
            usage="accept", creds=gssapi.Credentials(usage="accept", store={"keytab": sasl.keytab})
        )
        # Java says nothing to a ticket that it can't read, where MIT has a token for it.
        self._context.__DEFER_STEP_ERRORS__ = False

    def said(self, data: bytes) -> bytes | None:
        """What the server says to a message; None where it refuses."""
        try:
            if not self._context.complete:
                # Of a client that wants no proof of ours there is nothing to say but the offer.
                return self._context.step(data) or self._offer()
            if not self._has_offered:
                return None if data else self._offer()
            return b"" if self._is_fine(self._context.unwrap(data).message) else None
        except self._refused:
            return None

    def _offer(self) -> bytes:
        self._has_offered = True
        return bytes(self._context.wrap(self._layers, False).message)

    def _is_fine(self, choice: bytes) -> bool:
        # Nobody may act for another. Kafka's own client names itself, others name nobody.
        peer = str(self._context.initiator_name).encode()
        has_no_layer = choice[:4] == b"\1\0\0\0"
        self.is_complete = has_no_layer and choice[4:] in {b"", peer}
        return self.is_complete


def _subject(token: bytes) -> str | None:
    """Whom an unsigned token is about; None of another."""
    header, claims, signature = (*token.split(b"."), b"", b"")[:3]
    if signature or not claims:
        return None
    head, said = (json.loads(base64.urlsafe_b64decode(p + b"==")) for p in (header, claims))
    return str(said["sub"]) if head == {"alg": "none"} else None


def basic(user: str, password: str) -> str:
    """A token that is no secret: for OAUTHBEARER in tests."""
    return base64.urlsafe_b64encode(f"{user}:{password}".encode()).decode().rstrip("=")
