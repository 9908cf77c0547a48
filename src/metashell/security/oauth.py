"""Bearer tokens for OAUTHBEARER: made here without a signature, read from a file, or fetched.

Which one, is decided as Kafka's login callback handlers do: a token endpoint's URL asks the
endpoint with client credentials (or reads the file of a ``file:`` URL); without one, the token is
made of the JAAS options. Must never put a token, a client secret or what an endpoint answered into
an error. Source: Kafka's OAuthBearerUnsecuredLoginCallbackHandler, OAuthBearerLoginCallbackHandler,
ClientCredentialsJwtRetriever, FileJwtRetriever.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http.client import HTTPException
from threading import Thread
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlencode, urlsplit

from metashell.errors import SourceError
from metashell.places.bounded_file import read_bounded
from metashell.redact import remember_secret
from metashell.security.peer_text import one_line
from metashell.security.sasl import TicketError
from metashell.security.settings import KeyStore, SaslSettings, TlsSettings

_URL_KEY: Final = "sasl.oauthbearer.token.endpoint.url"
_CLIENT_ID_KEY: Final = "sasl.oauthbearer.client.credentials.client.id"
_CLIENT_SECRET_KEY: Final = "sasl.oauthbearer.client.credentials.client.secret"
_SCOPE_KEY: Final = "sasl.oauthbearer.scope"
_URLENCODE_KEY: Final = "sasl.oauthbearer.header.urlencode"

_TIMEOUT_S: Final = 10.0
_ANSWER_BYTES_MAX: Final = 1 << 20
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
_EXTENSION_KEY: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
_EXTENSION_PREFIXES: Final = ("unsecuredLoginExtension_", "extension_")
_ERROR_CODE: Final = re.compile(r"[a-z_]{1,40}")
_RESERVED_CLAIMS: Final = ("iat", "exp")


def fetch_token(settings: SaslSettings, *, timeout_s: float = _TIMEOUT_S) -> str:
    """Get a token; may wait for the endpoint.

    Raises:
        SourceError: An option is missing or malformed, or the endpoint or file gives no token.
    """
    options = settings.options
    url = options.get(_URL_KEY, "").strip()
    if not url:
        return _unsecured_token(options)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise SourceError(f"`{_URL_KEY}` must be a URL with http, https or file") from None
    scheme = parts.scheme.lower()
    if scheme == "file":
        return _file_token(url)
    if scheme not in ("http", "https"):
        raise SourceError(f"`{_URL_KEY}` must be a URL with http, https or file")
    if "@" in parts.netloc:
        raise SourceError(
            f"`{_URL_KEY}` must not contain a user",
            hint=f"give the client's name and secret in `{_CLIENT_ID_KEY}` and "
            f"`{_CLIENT_SECRET_KEY}`",
        )
    return _endpoint_token(url, settings, timeout_s)


def extensions_of(options: Mapping[str, str]) -> dict[str, str]:
    """The SASL extensions that JAAS options name.

    Raises:
        SourceError: A name or value is not allowed there.
    """
    found = {}
    for option, value in options.items():
        prefix = next((p for p in _EXTENSION_PREFIXES if option.startswith(p)), None)
        if prefix is None:
            continue
        key = option.removeprefix(prefix)
        if key == "auth" or not _EXTENSION_KEY.fullmatch(key):
            raise SourceError(f"`sasl.jaas.config`: {option} is not the name of an extension")
        if not _EXTENSION_VALUE.fullmatch(value):
            raise SourceError(f"`sasl.jaas.config`: the value of {option} is not allowed there")
        found[key] = value
    return found


# --- without a signature ---


def _unsecured_token(options: Mapping[str, str]) -> str:
    """Make a token that claims what the options say, for controllers that accept such ones."""
    try:
        lifetime_s = int(options.get("unsecuredLoginLifetimeSeconds", "3600"))
    except ValueError:
        raise SourceError(
            "`sasl.jaas.config`: unsecuredLoginLifetimeSeconds is not a number"
        ) from None
    now_s = time.time()
    claims: dict[str, Any] = {"exp": now_s + lifetime_s, "iat": now_s}
    for option, value in options.items():
        kind, separator, claim = option.partition("Claim_")
        if not separator or not claim or not kind.startswith("unsecuredLogin"):
            continue
        if claim in _RESERVED_CLAIMS:
            raise SourceError(f"`sasl.jaas.config`: {option} is calculated and can't be set")
        claims[claim] = _claim(option, kind.removeprefix("unsecuredLogin"), value)
    principal = options.get("unsecuredLoginPrincipalClaimName", "").strip() or "sub"
    if not isinstance(claims.get(principal), str) or not claims[principal].strip():
        raise SourceError(
            "SASL OAUTHBEARER needs a token",
            hint=f"set `{_URL_KEY}` to the endpoint or the file that has one, or "
            f'`unsecuredLoginStringClaim_{principal}="..."` in `sasl.jaas.config`',
        )
    parts = ({"alg": "none"}, claims)
    return ".".join((*(_base64url(json.dumps(part)) for part in parts), ""))


def _claim(option: str, kind: str, value: str) -> object:
    """A claim's value by the kind that its option names."""
    if kind == "String":
        return value
    if kind == "Number":
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if number - number != 0:  # neither a number nor finite
            raise SourceError(f"`sasl.jaas.config`: {option} is not a number")
        return number
    if kind == "List":
        # The first character says what stands between the elements.
        return value[1:].split(value[0]) if len(value) > 1 else []
    raise SourceError(f"`sasl.jaas.config`: {option} is not an option")


def _base64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


# --- from a file ---


def _file_token(url: str) -> str:
    """Read the file of a ``file:`` URL."""
    from urllib.request import url2pathname

    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise SourceError(f"`{_URL_KEY}` names a file of another host")
    path = url2pathname(parts.path)
    token = read_bounded(path, limit_bytes=_ANSWER_BYTES_MAX).decode("latin-1").strip()
    return _checked(token, path)


# --- from an endpoint ---


def _endpoint_token(url: str, settings: SaslSettings, timeout_s: float) -> str:
    """Ask a token endpoint, as a client with credentials of its own."""
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        """Refuses redirects, which could carry the credentials to another host."""

        def redirect_request(self, *_: Any) -> None:
            return None

    where = _shown(url)
    request = Request(url, data=_form(settings.options), headers=_headers(settings), method="POST")
    context = _context(url, settings.options)

    def ask() -> bytes:
        opener = build_opener(NoRedirect, HTTPSHandler(context=context))
        try:
            with opener.open(request, timeout=timeout_s) as response:
                answer: bytes = response.read(_ANSWER_BYTES_MAX + 1)
                return answer
        except HTTPError as error:
            kind = TicketError if error.code >= 500 else SourceError
            reason = f"HTTP status {error.code}{_code(error)}"
            raise kind(f"{where}: no token: {reason}") from None

    try:
        answer = _within(timeout_s, ask)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, TimeoutError):
            raise TicketError(f"{where}: no token within {timeout_s:g} s") from None
        words = getattr(reason, "strerror", None) or type(reason).__name__
        raise TicketError(f"{where}: no token: {words}") from None
    if len(answer) > _ANSWER_BYTES_MAX:
        raise SourceError(f"{where}: no token: an answer of more than {_ANSWER_BYTES_MAX:,} bytes")
    return _checked(_token_of(answer), where)


def _within(timeout_s: float, ask: Callable[[], bytes]) -> bytes:
    """The result of a call. TimeoutError: there is none in time; its thread ends by itself.

    A time limit of `urllib` holds for each read of a socket alone. A server that sends a byte now
    and then is never late for it.
    """
    future: Future[bytes] = Future()

    def run() -> None:
        try:
            future.set_result(ask())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True, name="metashell-token").start()
    return future.result(timeout_s)


def _form(options: Mapping[str, str]) -> bytes:
    """The request's body."""
    fields = {"grant_type": "client_credentials"}
    if scope := _option(options, _SCOPE_KEY, "scope"):
        fields["scope"] = scope
    return urlencode(fields).encode()


def _headers(settings: SaslSettings) -> dict[str, str]:
    """The request's headers, with the client's credentials."""
    options = settings.options
    client_id = _option(options, _CLIENT_ID_KEY, "clientId")
    client_secret = _option(options, _CLIENT_SECRET_KEY, "clientSecret")
    for value, key, jaas in (
        (client_id, _CLIENT_ID_KEY, "clientId"),
        (client_secret, _CLIENT_SECRET_KEY, "clientSecret"),
    ):
        if not value:
            raise SourceError(
                "SASL OAUTHBEARER needs client credentials for the token endpoint",
                hint=f'set `{key}`, or `{jaas}="..."` in `sasl.jaas.config`',
            )
    if options.get(_URLENCODE_KEY, "false").strip().lower() == "true":
        client_id, client_secret = quote_plus(client_id), quote_plus(client_secret)
    remember_secret(client_secret, f"{client_id}:{client_secret}")
    credentials = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
    return {
        "Accept": "application/json",
        "Authorization": f"Basic {credentials}",
        "Cache-Control": "no-cache",
        "Content-Type": "application/x-www-form-urlencoded",
    }


def _option(options: Mapping[str, str], key: str, jaas: str) -> str:
    """A property, or else the JAAS option of the same meaning."""
    return options.get(key) or options.get(jaas) or ""


def _context(url: str, options: Mapping[str, str]) -> ssl.SSLContext | None:
    """TLS as the ``ssl.*`` options of the JAAS entry say, which are the endpoint's, not Kafka's."""
    from metashell.security.tls import make_context

    if urlsplit(url).scheme.lower() != "https":
        return None
    stores = {
        kind: KeyStore(
            type=options.get(f"ssl.{kind}.type", "JKS"),
            path=options[f"ssl.{kind}.location"],
            password=options.get(f"ssl.{kind}.password"),
            key_password=options.get("ssl.key.password") if kind == "keystore" else None,
        )
        for kind in ("truststore", "keystore")
        if options.get(f"ssl.{kind}.location")
    }
    return make_context(
        TlsSettings(truststore=stores.get("truststore"), keystore=stores.get("keystore"))
    )


def _token_of(answer: bytes) -> str:
    """The token of an endpoint's answer; empty where there is none."""
    try:
        fields = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(fields, dict):
        return ""
    token = fields.get("access_token") or fields.get("id_token")
    return token.strip() if isinstance(token, str) else ""


def _code(error: HTTPError) -> str:
    """OAuth's code for a refusal, such as `` (invalid_client)``; empty where there is none."""
    try:
        with error:
            fields = json.loads(error.read1(1 << 16))
    except (OSError, HTTPException, ValueError, RecursionError):
        return ""
    code = fields.get("error") if isinstance(fields, dict) else None
    return f" ({one_line(code)})" if isinstance(code, str) and _ERROR_CODE.fullmatch(code) else ""


def _checked(token: str, where: str) -> str:
    """Refuse what could break out of the message that carries the token."""
    if not token:
        raise SourceError(f"{where}: no token in it")
    if not _TOKEN.fullmatch(token):
        raise SourceError(f"{where}: it does not hold a bearer token")
    return token


def _shown(url: str) -> str:
    """An endpoint's URL without its query, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"
