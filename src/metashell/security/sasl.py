"""SASL as Kafka speaks it, without a socket: what to send first, and what on each challenge.

PLAIN (RFC 4616), SCRAM (RFC 5802, 7677), OAUTHBEARER (RFC 7628), GSSAPI (RFC 4752). Must never put
a password or a token, or a peer's text that may repeat one, into an error or a repr.

SCRAM is written out here and not taken from `scramp`, which is the peer in our tests: Kafka hashes
a password's UTF-8 as it is, where the library prepares it first (SASLprep) and so gets other keys
or refuses it, and only Kafka has the extension that delegation tokens need. Source: Kafka's
ScramFormatter, ScramMessages, ScramSaslClient, OAuthBearerClientInitialResponse,
OAuthBearerSaslClient.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from abc import ABC, abstractmethod
from typing import Any, Final

from metashell.errors import SourceError
from metashell.redact import remember_secret
from metashell.security.peer_text import one_line
from metashell.security.settings import MECHANISMS, SaslSettings

_CHALLENGE_BYTES_MAX: Final = 1 << 20
_ITERATIONS_MIN: Final = 4096
_ITERATIONS_MAX: Final = 1_000_000
"""A peer chooses how often we hash; this takes about a second."""
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_SERVER_FIRST: Final = re.compile(
    rb"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([0-9]{1,18})(?:,[A-Za-z]+=[^,]+)*"
)
_SERVER_FINAL: Final = re.compile(rb"v=([A-Za-z0-9+/]+={0,2})(?:,[A-Za-z]+=[^,]+)*")
_SERVER_ERROR: Final = re.compile(rb"e=([a-z-]{1,60})(?:,.*)?", re.DOTALL)
_OAUTH_STATUS: Final = re.compile(r"[A-Za-z0-9_ .-]{1,60}")

_UNKNOWN_SERVICE: Final = 2**32 - 1765328377
"""KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, unsigned as the package has it."""
_NO_KDC: Final = (2**32 - 1765328228, 2**32 - 1765328230)
"""KRB5_KDC_UNREACH and KRB5_REALM_UNKNOWN."""
_SAYS_NOTHING: Final = frozenset({"", "Success", "Unknown error"})
_SERVICE_HINT: Final = (
    "the controller's principal is SERVICE/HOST@REALM: check `sasl.kerberos.service.name`, "
    "and give the host by that name"
)
_KDC_HINT: Final = "krb5.conf says where the KDC of a realm is; KRB5_CONFIG may name another file"
_TICKET_HINT: Final = "get one with `kinit`, or give `keyTab` and `principal` in `sasl.jaas.config`"


class SaslError(SourceError):
    """The peer refused us, or did not prove that it is who it should be."""


class TicketError(SourceError):
    """A token or a ticket is not to be had now; it may be later."""


def make_mechanism(settings: SaslSettings, host: str, *, nonce: str | None = None) -> Mechanism:
    """Make the mechanism that was configured.

    Args:
        settings: The settings from ``sasl.*`` properties.
        host: The controller's host, which names its Kerberos service.
        nonce: For SCRAM; None for a random one.

    Raises:
        SourceError: The mechanism is unknown, or a name, password or package is missing.
    """
    if settings.mechanism == "PLAIN":
        return _Plain(*_credentials(settings))
    if settings.mechanism in _HASHES:
        is_token = settings.options.get("tokenauth", "").lower() == "true"
        made = nonce if nonce is not None else secrets.token_urlsafe(24)
        return _Scram(settings.mechanism, *_credentials(settings), made, is_token=is_token)
    if settings.mechanism == "OAUTHBEARER":
        return _OAuthBearer(settings)
    if settings.mechanism == "GSSAPI":
        return _Gssapi(settings, host)
    raise SourceError(
        f"the SASL mechanism {settings.mechanism} is not supported",
        hint=f"`sasl.mechanism` is one of {', '.join(MECHANISMS)}",
    )


def _credentials(settings: SaslSettings) -> tuple[str, str]:
    """User name and password, neither of them missing."""
    for what, value in (("username", settings.username), ("password", settings.password)):
        if not value:
            raise SourceError(
                f"SASL {settings.mechanism} needs a {what}",
                hint=f'give it in `sasl.jaas.config`: `... required {what}="..." ...;`',
            )
        if "\0" in value:
            raise SourceError(f"SASL {settings.mechanism}: a NUL in the {what}")
    username, password = settings.username or "", settings.password or ""
    remember_secret(password, f"\0{username}\0{password}")
    return username, password


class Mechanism(ABC):
    """One authentication over one connection."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Its name in the handshake."""
        self.is_done = False
        """Whether the exchange came to its end, with the peer's proof where there is one."""

    @abstractmethod
    def first(self) -> bytes:
        """The first message. Getting a token or a ticket may wait for the network.

        Raises:
            SourceError: There is no token or ticket to be had.
        """

    @abstractmethod
    def step(self, challenge: bytes) -> bytes | None:
        """Answer a challenge, which may be empty.

        Returns:
            The next message; None when there is nothing more to send.

        Raises:
            SaslError: The challenge is malformed or a refusal, or the peer's proof is wrong.
        """

    def _check_challenge(self, challenge: bytes) -> None:
        """Refuse what comes after the end or is far too large."""
        if self.is_done:
            raise SaslError(f"{self.name}: the controller went on after the exchange had ended")
        if len(challenge) > _CHALLENGE_BYTES_MAX:
            raise SaslError(f"{self.name}: a challenge of {len(challenge):,} bytes")


class _Plain(Mechanism):
    """A user name and a password in the clear."""

    def __init__(self, username: str, password: str) -> None:
        super().__init__("PLAIN")
        self._message = f"\0{username}\0{password}".encode("utf-8", "surrogatepass")

    def first(self) -> bytes:
        return self._message

    def step(self, challenge: bytes) -> bytes | None:
        self._check_challenge(challenge)
        if challenge:
            raise SaslError("PLAIN: the controller sent an unexpected challenge")
        self.is_done = True
        return None


class _Scram(Mechanism):
    """Proof of a password, by both sides."""

    def __init__(
        self, name: str, username: str, password: str, nonce: str, *, is_token: bool
    ) -> None:
        super().__init__(name)
        self._hash = _HASHES[name]
        self._password = password.encode("utf-8", "surrogatepass")
        self._nonce = nonce.encode()
        user = username.replace("=", "=3D").replace(",", "=2C").encode("utf-8", "surrogatepass")
        self._bare = b"n=" + user + b",r=" + self._nonce + (b",tokenauth=true" if is_token else b"")
        self._server_signature: bytes | None = None

    def first(self) -> bytes:
        return b"n,," + self._bare

    def step(self, challenge: bytes) -> bytes | None:
        self._check_challenge(challenge)
        if refusal := _SERVER_ERROR.fullmatch(challenge):
            raise SaslError(f"{self.name}: the controller refused: {one_line(refusal[1].decode())}")
        if self._server_signature is None:
            return self._final(challenge)
        found = _SERVER_FINAL.fullmatch(challenge)
        signature = None if found is None else _base64(found[1])
        if signature is None:
            raise self._malformed()
        if not hmac.compare_digest(signature, self._server_signature):
            raise SaslError(
                f"{self.name}: the controller did not prove that it knows the password",
                hint="check the host: another program may be listening there",
            )
        self.is_done = True
        return None

    def _final(self, server_first: bytes) -> bytes:
        """Prove the password by what the server asks for."""
        found = _SERVER_FIRST.fullmatch(server_first)
        salt = None if found is None else _base64(found[2])
        if found is None or salt is None:
            raise self._malformed()
        nonce, iterations = found[1], int(found[3])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslError(f"{self.name}: the controller's nonce does not continue ours")
        if not _ITERATIONS_MIN <= iterations <= _ITERATIONS_MAX:
            raise SaslError(
                f"{self.name}: the controller asks for {iterations:,} iterations; "
                f"{_ITERATIONS_MIN:,} to {_ITERATIONS_MAX:,} are accepted"
            )
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        without_proof = b"c=biws,r=" + nonce
        signed = b",".join((self._bare, server_first, without_proof))
        signature = self._hmac(hashlib.new(self._hash, client_key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), signed)
        return without_proof + b",p=" + base64.b64encode(proof)

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)

    def _malformed(self) -> SaslError:
        return SaslError(f"{self.name}: the controller's answer is malformed")


def _base64(text: bytes) -> bytes | None:
    """Decode; None where it is malformed."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


class _OAuthBearer(Mechanism):
    """A token that somebody else gave us."""

    def __init__(self, settings: SaslSettings) -> None:
        from metashell.security.oauth import extensions_of

        super().__init__("OAUTHBEARER")
        self._settings = settings
        self._extensions = extensions_of(settings.options)
        self._refusal: str | None = None

    def first(self) -> bytes:
        from metashell.security.oauth import fetch_token

        token = fetch_token(self._settings)
        remember_secret(token)
        pairs = "".join(f"\x01{key}={value}" for key, value in self._extensions.items())
        return f"n,,\x01auth=Bearer {token}{pairs}\x01\x01".encode()

    def step(self, challenge: bytes) -> bytes | None:
        self._check_challenge(challenge)
        if self._refusal is not None:
            raise SaslError(f"OAUTHBEARER: the controller refused the token{self._refusal}")
        if challenge:
            # A refusal has to be acknowledged; the error comes with what follows.
            self._refusal = _oauth_status(challenge)
            return b"\x01"
        self.is_done = True
        return None


def _oauth_status(challenge: bytes) -> str:
    """The status of a refusal, such as ``: invalid_token``; empty where it does not say."""
    try:
        refusal = json.loads(challenge)
    except (ValueError, RecursionError):
        return ""
    status = refusal.get("status") if isinstance(refusal, dict) else None
    if isinstance(status, str) and _OAUTH_STATUS.fullmatch(status):
        return f": {one_line(status)}"
    return ""


class _Gssapi(Mechanism):
    """Kerberos, by the package `gssapi`."""

    def __init__(self, settings: SaslSettings, host: str) -> None:
        super().__init__("GSSAPI")
        try:
            import gssapi
        except (ImportError, OSError):
            # The package fails with an OSError where the system's Kerberos library is missing.
            raise SourceError(
                "SASL GSSAPI needs the package `gssapi` and the system's Kerberos library",
                hint="pip install 'metashell[gssapi]'",
            ) from None
        self._gssapi: Any = gssapi
        self._options = settings.options
        service = self._options.get("sasl.kerberos.service.name") or self._options.get(
            "serviceName"
        )
        if not service:
            raise SourceError(
                "SASL GSSAPI needs the name of the controllers' Kerberos service",
                hint="set `sasl.kerberos.service.name`, most often to kafka",
            )
        self._service = f"{service}@{host}"
        self._context: Any = None
        self._has_answered_offer = False

    def first(self) -> bytes:
        gssapi = self._gssapi
        try:
            name = gssapi.Name(self._service, name_type=gssapi.NameType.hostbased_service)
            self._context = gssapi.SecurityContext(
                name=name, creds=self._ticket(), usage="initiate", mech=gssapi.MechType.kerberos
            )
            return self._context.step() or b""
        except (gssapi.exceptions.GSSError, NotImplementedError) as error:
            what = f"no Kerberos ticket for {self._service}: {_gss_reason(error)}"
            code = getattr(error, "min_code", None)
            if code == _UNKNOWN_SERVICE:
                raise SaslError(what, hint=_SERVICE_HINT) from None
            raise TicketError(what, hint=_KDC_HINT if code in _NO_KDC else _TICKET_HINT) from None

    def step(self, challenge: bytes) -> bytes | None:
        self._check_challenge(challenge)
        gssapi = self._gssapi
        if self._context is None:
            raise SaslError("GSSAPI: a challenge before the exchange began")
        try:
            if not self._context.complete:
                # An empty answer asks for the offer of security layers.
                return self._context.step(challenge) or b""
            if self._has_answered_offer:
                self.is_done = True
                return None
            offer = self._context.unwrap(challenge).message
            if len(offer) != 4 or not offer[0] & 1:
                raise SaslError("GSSAPI: the controller insists on a security layer of Kerberos")
            # Authentication alone, no buffer, and no other name than the ticket's. A size of theirs
            # is not looked at: Java's server names one although it offers no layer.
            answer = bytes(self._context.wrap(b"\x01\0\0\0", False).message)
            self._has_answered_offer = True
            return answer
        except gssapi.exceptions.GSSError as error:
            raise SaslError(
                f"GSSAPI: the exchange with {self._service} failed: {_gss_reason(error)}"
            ) from None

    def _ticket(self) -> Any:
        """Credentials as the options of Java's Krb5LoginModule say; None for the user's own."""
        gssapi, options = self._gssapi, self._options
        principal = options.get("principal")
        name = (
            gssapi.Name(principal, name_type=gssapi.NameType.kerberos_principal)
            if principal
            else None
        )
        keytab = options.get("keyTab", "")
        if keytab and options.get("useKeyTab", "true").lower() == "true":
            return self._ticket_of(name, keytab.removeprefix("file:").removeprefix("FILE:"))
        if cache := options.get("ticketCache"):
            return gssapi.Credentials(name=name, usage="initiate", store={"ccache": cache})
        return None if name is None else gssapi.Credentials(name=name, usage="initiate")

    def _ticket_of(self, name: Any, keytab: str) -> Any:
        """A ticket that the keys in a file get."""
        gssapi = self._gssapi
        # In memory, so that the user's own tickets stay as they are.
        store = {"client_keytab": keytab, "ccache": f"MEMORY:metashell-{secrets.token_hex(8)}"}
        try:
            return gssapi.Credentials(name=name, usage="initiate", store=store)
        except gssapi.exceptions.GSSError:
            # Where the key is not in the file, Kerberos says only that there is no cache. It tells
            # the real reason when it reads the file as a service's keys.
            gssapi.Credentials(name=name, usage="accept", store={"keytab": keytab})
            raise


def _gss_reason(error: Any) -> str:
    """Kerberos's message, or GSSAPI's where Kerberos gives none; without their numbers."""
    if not hasattr(error, "get_all_statuses"):
        return one_line(str(error))
    said = " ".join(error.get_all_statuses(error.min_code, False)) if error.min_code else ""
    if said in _SAYS_NOTHING:
        said = " ".join(error.get_all_statuses(error.maj_code, True))
    return one_line(said)
