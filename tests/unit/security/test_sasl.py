"""SASL: recorded exchanges byte for byte, an independent SCRAM server, tokens and tickets."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import scramp
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.security import oauth
from metashell.security.sasl import Mechanism, SaslError, TicketError, make_mechanism
from metashell.security.settings import SaslSettings
from support.certificates import issue, make_authority, pem, server_context
from support.fixtures import fixture_dir
from support.waiting import LIMIT_S

_SECRET = "hunter2-secret"


def _settings(mechanism: str, **options: str) -> SaslSettings:
    return SaslSettings(mechanism=mechanism, username="alice", password=_SECRET, options=options)


# --- recorded exchanges ---


def _recorded(scene: str) -> list[tuple[bytes, bytes]]:
    """The pairs of bytes that SaslAuthenticate v2 carried: ours, and the controller's."""
    text = (fixture_dir("wire") / f"{scene}.json").read_text("utf-8")
    pairs = []
    for exchange in json.loads(text)["exchanges"]:
        if exchange["call"] != "SaslAuthenticate v2":
            continue
        request = bytes.fromhex(exchange["request"])
        # Header: key, version, correlation id, client id, tags; then compact bytes and tags.
        sent = _compact(request, 8 + 2 + int.from_bytes(request[8:10], "big") + 1)[0]
        response = bytes.fromhex(exchange["response"])
        _, pos = _compact(response, 7)  # behind correlation id, tags and error code
        pairs.append((sent, _compact(response, pos)[0]))
    return pairs


def _compact(data: bytes, pos: int) -> tuple[bytes, int]:
    size, shift = 0, 0
    while True:
        byte = data[pos]
        pos += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    end = pos + max(size - 1, 0)
    return data[pos:end], end


@pytest.mark.parametrize(
    ("scene", "mechanism", "username", "password", "nonce"),
    [
        ("sasl-plain", "PLAIN", "alice", "alice-secret", None),
        ("sasl-scram-sha-512", "SCRAM-SHA-512", "admin", "admin-secret", "metashellnonce1"),
    ],
)
def test_recorded_exchange(
    scene: str, mechanism: str, username: str, password: str, nonce: str | None
) -> None:
    """We send what was sent to a real controller, byte for byte, and take its answers."""
    settings = SaslSettings(mechanism=mechanism, username=username, password=password)
    peer = make_mechanism(settings, "127.0.0.1", nonce=nonce)
    pairs = _recorded(scene)
    assert pairs
    sent: bytes | None = peer.first()
    for expected, answer in pairs:
        assert expected == sent
        assert not peer.is_done
        sent = peer.step(answer)
    assert sent is None
    assert peer.is_done


def test_recorded_wrong_passwords() -> None:
    """PLAIN byte for byte; SCRAM but for the proof, as nobody wrote down what was tried."""
    ((expected, _),) = _recorded("sasl-plain-wrong-password")
    settings = SaslSettings(mechanism="PLAIN", username="alice", password="wrong")
    assert expected == make_mechanism(settings, "h").first()
    (first, challenge), (final, _) = _recorded("sasl-scram-wrong-password")
    settings = SaslSettings(mechanism="SCRAM-SHA-512", username="admin", password="admin-secret")
    peer = make_mechanism(settings, "h", nonce="metashellnonce2")
    assert first == peer.first()
    sent = peer.step(challenge)
    assert sent is not None
    assert final.partition(b",p=")[0] == sent.partition(b",p=")[0]
    assert final != sent
    assert not peer.is_done


# --- PLAIN and what all share ---


def test_plain_refuses_a_challenge() -> None:
    """The exchange has one message; text that may repeat the password is not shown."""
    peer = make_mechanism(_settings("PLAIN"), "h")
    assert ("PLAIN", f"\0alice\0{_SECRET}".encode()) == (peer.name, peer.first())
    with pytest.raises(SaslError) as caught:
        peer.step(_SECRET.encode())
    assert _SECRET not in str(caught.value)
    assert peer.step(b"") is None
    with pytest.raises(SaslError, match="after the exchange had ended"):
        peer.step(b"")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_missing_credentials(mechanism: str) -> None:
    """It is said what is missing and where it goes."""
    for settings, what in (
        (SaslSettings(mechanism=mechanism, password="x"), "username"),
        (SaslSettings(mechanism=mechanism, username="x"), "password"),
    ):
        with pytest.raises(SourceError, match=f"needs a {what}") as caught:
            make_mechanism(settings, "h")
        assert "sasl.jaas.config" in (caught.value.hint or "")
    with pytest.raises(SourceError, match="a NUL in the username"):
        make_mechanism(SaslSettings(mechanism=mechanism, username="a\0b", password="x"), "h")


def test_unknown_mechanism() -> None:
    """The known ones are in the hint."""
    with pytest.raises(SourceError, match="DIGEST-MD5 is not supported") as caught:
        make_mechanism(_settings("DIGEST-MD5"), "h")
    assert "SCRAM-SHA-512" in (caught.value.hint or "")


# --- SCRAM ---


def _server(mechanism: str, password: str = _SECRET, **options: Any) -> Any:
    made = scramp.ScramMechanism(mechanism)
    info = made.make_auth_info(password, **options)
    return made.make_server(lambda user: info)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_against_another_server(mechanism: str) -> None:
    """An independent implementation accepts us, and we its proof."""
    server = _server(mechanism)
    peer = make_mechanism(_settings(mechanism), "h")
    server.set_client_first(peer.first().decode())
    final = peer.step(server.get_server_first().encode())
    assert final is not None
    server.set_client_final(final.decode())
    assert not peer.is_done
    assert peer.step(server.get_server_final().encode()) is None
    assert peer.is_done


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_wrong_password(mechanism: str) -> None:
    """The server finds out, and its refusal becomes an error of ours."""
    server = _server(mechanism, "another password")
    peer = make_mechanism(_settings(mechanism), "h")
    server.set_client_first(peer.first().decode())
    final = peer.step(server.get_server_first().encode())
    assert final is not None
    with pytest.raises(scramp.ScramException):
        server.set_client_final(final.decode())
    with pytest.raises(SaslError, match=r"refused: [a-z-]+$"):
        peer.step(server.get_server_final().encode())
    assert not peer.is_done


def test_scram_server_that_does_not_know_the_password() -> None:
    """A wrong signature is refused, however often it is tried."""
    peer = make_mechanism(_settings("SCRAM-SHA-256"), "h")
    server = _server("SCRAM-SHA-256")
    server.set_client_first(peer.first().decode())
    peer.step(server.get_server_first().encode())
    with pytest.raises(SaslError, match="did not prove"):
        peer.step(b"v=" + base64.b64encode(bytes(32)))
    assert not peer.is_done


def test_scram_fresh_nonces() -> None:
    """Each exchange has its own."""
    first, second = (make_mechanism(_settings("SCRAM-SHA-256"), "h").first() for _ in range(2))
    assert first != second


def test_scram_name_password_and_token() -> None:
    """Names are escaped, passwords hashed as they are, and a token says that it is one."""
    settings = SaslSettings(
        mechanism="SCRAM-SHA-256", username="a=b,c", password="p", options={"tokenauth": "true"}
    )
    peer = make_mechanism(settings, "h", nonce="n")
    assert b"n,,n=a=3Db=2Cc,r=n,tokenauth=true" == peer.first()
    # Salts of any length; two ways to write a letter are two passwords, as Kafka takes them.
    answers = set()
    for password in ("\u00e9", "e\u0301", "\U0001f600", "\ufb01", "fi"):
        settings = SaslSettings(mechanism="SCRAM-SHA-256", username="a", password=password)
        peer = make_mechanism(settings, "h", nonce="n")
        answers.add(peer.step(b"r=nx,s=AAAA,i=4096"))
    assert 5 == len(answers)


@pytest.mark.parametrize(
    ("challenge", "words"),
    [
        (b"r=nx,s=AAAA,i=1000001", "1,000,001 iterations"),
        (b"r=nx,s=AAAA,i=999999999999999999", "iterations"),
        (b"r=nx,s=AAAA,i=4095", "4,095 iterations"),
        (b"r=nx,s=AAAA,i=99999999999999999999999", "malformed"),
        (b"r=n,s=AAAA,i=4096", "nonce does not continue"),
        (b"r=xn,s=AAAA,i=4096", "nonce does not continue"),
        (b"r=nx,s=A,i=4096", "malformed"),
        (b"m=x,r=nx,s=AAAA,i=4096", "malformed"),
        (b"e=unknown-user", "refused: unknown-user"),
        (b"e=" + _SECRET.encode(), "malformed"),
        (b"", "malformed"),
        (b"\xff", "malformed"),
        (b"x" * (1 << 21), "a challenge of 2,097,152 bytes"),
    ],
)
def test_scram_bad_first_answer(challenge: bytes, words: str) -> None:
    """Refused before anything is hashed, and not repeated."""
    peer = make_mechanism(_settings("SCRAM-SHA-512"), "h", nonce="n")
    peer.first()
    with pytest.raises(SaslError, match=words) as caught:
        peer.step(challenge)
    assert _SECRET not in str(caught.value)


@given(st.lists(st.binary(max_size=60) | st.from_regex(rb"[rsive]=[a-z0-9,=]*\Z"), max_size=4))
def test_random_challenges(challenges: list[bytes]) -> None:
    """Nothing but a SaslError comes of them."""
    for name in ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"):
        peer = make_mechanism(_settings(name, unsecuredLoginStringClaim_sub="x"), "h", nonce="r")
        with contextlib.suppress(SaslError):
            for challenge in challenges:
                peer.step(challenge)


# --- OAUTHBEARER ---


def _decoded(token: str) -> list[Any]:
    header, claims, signature = token.split(".")
    assert signature == ""
    return [json.loads(base64.urlsafe_b64decode(p + "=" * (-len(p) % 4))) for p in (header, claims)]


def _sent_token(peer: Mechanism) -> str:
    first = peer.first().decode()
    head, _, tail = first.partition("\x01auth=Bearer ")
    assert ("n,,", "\x01\x01") == (head, tail[-2:])
    return tail[:-2]


def test_unsecured_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims of every kind, times, and extensions."""
    monkeypatch.setattr(oauth.time, "time", lambda: 1000.5)
    settings = _settings(
        "OAUTHBEARER",
        unsecuredLoginStringClaim_sub="ünder",
        unsecuredLoginNumberClaim_level="3",
        unsecuredLoginListClaim_scope="|a|b",
        unsecuredLoginLifetimeSeconds="60",
        unsecuredLoginExtension_traceId="12 3",
    )
    peer = make_mechanism(settings, "h")
    token, extension = _sent_token(peer).split("\x01")
    assert "traceId=12 3" == extension
    header, claims = _decoded(token)
    assert {"alg": "none"} == header
    assert {
        "exp": 1060.5, "iat": 1000.5, "sub": "ünder", "level": 3.0, "scope": ["a", "b"]
    } == claims  # fmt: skip
    assert peer.step(b"") is None
    assert peer.is_done


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs a token"),
        ({"unsecuredLoginStringClaim_exp": "1"}, "is calculated"),
        ({"unsecuredLoginNumberClaim_a": _SECRET}, "is not a number"),
        ({"unsecuredLoginNumberClaim_a": "inf"}, "is not a number"),
        ({"unsecuredLoginOddClaim_a": "1"}, "is not an option"),
        ({"unsecuredLoginLifetimeSeconds": _SECRET}, "is not a number"),
        ({"unsecuredLoginPrincipalClaimName": "me"}, "needs a token"),
        ({"unsecuredLoginExtension_auth": "x"}, "not the name of an extension"),
        ({"extension_a1": "x"}, "not the name of an extension"),
        ({"extension_a": f"{_SECRET}\x01"}, "is not allowed"),
        ({"sasl.oauthbearer.token.endpoint.url": "ftp://x"}, "must be a URL"),
        ({"sasl.oauthbearer.token.endpoint.url": "http://[x"}, "must be a URL"),
        ({"sasl.oauthbearer.token.endpoint.url": "file://host/x"}, "of another host"),
        (
            {"sasl.oauthbearer.token.endpoint.url": f"http://a:{_SECRET}@x"},
            "must not contain",
        ),
        ({"sasl.oauthbearer.token.endpoint.url": "http://x"}, "needs client credentials"),
        (
            {"sasl.oauthbearer.token.endpoint.url": "http://x", "clientId": "x"},
            "needs client credentials",
        ),
    ],
)
def test_wrong_token_options(options: dict[str, str], words: str) -> None:
    """Each has its words, and none shows a value."""
    with pytest.raises(SourceError, match=words) as caught:
        make_mechanism(_settings("OAUTHBEARER", **options), "h").first()
    assert _SECRET not in str(caught.value) + str(caught.value.hint)


def test_refused_token() -> None:
    """A refusal is acknowledged, and its status is in the error."""
    for refusal, words in (
        (b'{"status":"invalid_token","scope":"x"}', "refused the token: invalid_token$"),
        (b"[" * 100_000, "refused the token$"),
        (b'{"status":"\\u001b[2J"}', "refused the token$"),
    ):
        peer = make_mechanism(_settings("OAUTHBEARER", unsecuredLoginStringClaim_sub="a"), "h")
        peer.first()
        assert b"\x01" == peer.step(refusal)
        assert not peer.is_done
        with pytest.raises(SaslError, match=words):
            peer.step(b"")


def test_token_file(tmp_path: Path) -> None:
    """A file's token, without the line end; what is no token is not shown."""
    file = tmp_path / "the token"
    file.write_text("aaa.bbb.ccc\n")
    options = {"sasl.oauthbearer.token.endpoint.url": file.as_uri()}
    peer = make_mechanism(_settings("OAUTHBEARER", **options), "h")
    assert "aaa.bbb.ccc" == _sent_token(peer)
    file.write_text(f"{_SECRET}\x01auth=x")
    with pytest.raises(SourceError, match="not hold a bearer token") as caught:
        peer.first()
    assert _SECRET not in str(caught.value)
    file.write_text("")
    with pytest.raises(SourceError, match="no token in it"):
        peer.first()


_DRIBBLED_MAX = 1000


@contextlib.contextmanager
def _endpoint(
    answer: Callable[[Mapping[str, str], str], tuple[int, bytes]], tls: Any = None
) -> Iterator[str]:
    """Serve POST requests: headers and body to status and body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, content = answer(self.headers, body)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with _serving(Handler, tls) as url:
        yield url


@contextlib.contextmanager
def _serving(handler: type[BaseHTTPRequestHandler], tls: Any = None) -> Iterator[str]:
    """A server on this machine, by the URL of its token endpoint."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        scheme = "http"
        if tls is not None:
            scheme = "https"
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"{scheme}://127.0.0.1:{server.server_address[1]}/token"
        finally:
            server.shutdown()
            thread.join(LIMIT_S)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def _token_of(url: str, **options: str) -> str:
    options = {
        "clientId": "me", "clientSecret": _SECRET, **options,
        "sasl.oauthbearer.token.endpoint.url": url,
    }  # fmt: skip
    return oauth.fetch_token(_settings("OAUTHBEARER", **options), timeout_s=LIMIT_S)


def test_endpoint() -> None:
    """Client credentials of the JAAS options; the newer properties go before them."""
    asked: list[tuple[str, dict[str, list[str]]]] = []

    def answer(headers: Mapping[str, str], body: str) -> tuple[int, bytes]:
        kind, _, credentials = headers["Authorization"].partition(" ")
        assert "Basic" == kind
        asked.append((base64.b64decode(credentials).decode(), parse_qs(body)))
        return 200, b'{"access_token": " a.b.c ", "token_type": "bearer"}'

    with _endpoint(answer) as url:
        assert "a.b.c" == _token_of(url)
        newer = {
            "sasl.oauthbearer.client.credentials.client.id": "y:u",
            "sasl.oauthbearer.client.credentials.client.secret": "s&",
            "sasl.oauthbearer.scope": "all of it",
            "sasl.oauthbearer.header.urlencode": "true",
        }
        assert "a.b.c" == _token_of(url, scope="other", **newer)
    assert (f"me:{_SECRET}", {"grant_type": ["client_credentials"]}) == asked[0]
    assert "y%3Au:s%26" == asked[1][0]
    assert ["all of it"] == asked[1][1]["scope"]


def test_endpoint_with_tls(tmp_path: Path) -> None:
    """The trust store of the JAAS options is the endpoint's."""
    authority = make_authority()
    trust = tmp_path / "trust.pem"
    trust.write_text(pem(authority.certificate))
    context = server_context(issue(authority, "127.0.0.1"))
    with _endpoint(lambda *_: (200, b'{"id_token": "t"}'), context) as url:
        options = {"ssl.truststore.location": str(trust), "ssl.truststore.type": "PEM"}
        assert "t" == _token_of(url, **options)
        with pytest.raises(SourceError, match="no token"):
            _token_of(url)


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [
        (401, b'{"error": "invalid_client"}', r"HTTP status 401 \(invalid_client\)$"),
        (500, _SECRET.encode(), "HTTP status 500$"),
        (400, json.dumps({"error": _SECRET}).encode(), "HTTP status 400$"),
        (302, b"", "HTTP status 302$"),
        (200, _SECRET.encode(), "no token in it"),
        (200, b"[1]", "no token in it"),
        (200, b"[" * 100_000, "no token in it"),
        (200, b'{"access_token": 3}', "no token in it"),
        (200, json.dumps({"access_token": f"{_SECRET} x"}).encode(), "not hold a bearer token"),
        (200, b" " * (1 << 20) + b" ", "more than 1,048,576 bytes"),
    ],
)
def test_endpoint_gives_no_token(status: int, content: bytes, words: str) -> None:
    """Refused, redirected, malformed, too large: each names the endpoint, none shows its text."""
    with _endpoint(lambda *_: (status, content)) as url:
        with pytest.raises(SourceError, match=words) as caught:
            _token_of(url)
        assert url in caught.value.message
    assert _SECRET not in str(caught.value)


def test_endpoint_out_of_reach() -> None:
    """Nobody listens there any more; the answer comes too late."""
    with _endpoint(lambda *_: (200, b"")) as url:
        pass
    with pytest.raises(SourceError, match="no token: "):
        _token_of(url)
    silence = threading.Event()

    def late(*_: Any) -> tuple[int, bytes]:
        silence.wait(LIMIT_S)
        return 200, b""

    with _endpoint(late) as url:
        settings = _settings(
            "OAUTHBEARER", clientId="a", clientSecret="b",
            **{"sasl.oauthbearer.token.endpoint.url": url},
        )  # fmt: skip
        with pytest.raises(SourceError, match=r"within 0.05 s|timed out|TimeoutError"):
            oauth.fetch_token(settings, timeout_s=0.05)
        silence.set()


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.0 400 No\r\n\r\n",
        b"HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
@pytest.mark.parametrize("has_tls", [False, True])
def test_endpoint_that_dribbles(begin: bytes, has_tls: bool, tmp_path: Path) -> None:
    """An answer that comes byte by byte and never ends is given up in the time of a request."""
    is_over = threading.Event()
    n_sent = 0

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal n_sent
            with contextlib.suppress(OSError):
                self.wfile.write(begin)
                # A line without an end; a server that is not left ends it at last.
                while n_sent < _DRIBBLED_MAX and not is_over.wait(0.005):
                    self.wfile.write(b"0")
                    n_sent += 1

        def log_message(self, format: str, *args: Any) -> None:
            pass

    options = {"clientId": "a", "clientSecret": "b"}
    context = None
    if has_tls:
        authority = make_authority()
        trust = tmp_path / "trust.pem"
        trust.write_text(pem(authority.certificate))
        options |= {"ssl.truststore.location": str(trust), "ssl.truststore.type": "PEM"}
        context = server_context(issue(authority, "127.0.0.1"))
    with _serving(Handler, context) as url:
        settings = _settings(
            "OAUTHBEARER", **options, **{"sasl.oauthbearer.token.endpoint.url": url}
        )
        with pytest.raises(SourceError, match=r"no token within 0.3 s|HTTP status 400$"):
            oauth.fetch_token(settings, timeout_s=0.3)
        n_before = n_sent
        is_over.set()
    assert n_before < _DRIBBLED_MAX


# --- GSSAPI ---


class _Wrapped:
    def __init__(self, message: bytes) -> None:
        self.message = message


class _GssError(Exception):
    """An error as the package has them: two codes, each with its texts."""

    def __init__(self, minor: str = "", min_code: int = 0, major: str = "Odd") -> None:
        super().__init__(f"Major (851968): {major}, Minor ({min_code}): {minor}")
        self.maj_code, self.min_code = 851968, min_code
        self._major, self._minor = major, minor

    def get_all_statuses(self, code: int, is_major: bool) -> list[str]:
        assert code == (self.maj_code if is_major else self.min_code)
        return [self._major if is_major else self._minor]


def _stand_in(calls: list[Any], offer: bytes = b"\x07\0\xff\xff") -> types.ModuleType:
    """A module that answers as `gssapi` does, for one exchange of two tokens."""

    class Context:
        def __init__(self, **options: Any) -> None:
            calls.append(options)
            self.complete = False

        def step(self, token: bytes | None = None) -> bytes | None:
            if token is None:
                return b"ticket"
            if token != b"mutual":
                raise _GssError("bad\n token", 7)
            self.complete = True
            return None

        def unwrap(self, message: bytes) -> _Wrapped:
            if message != b"offer":
                raise _GssError("Success", 100_002, major="Invalid token")
            return _Wrapped(offer)

        def wrap(self, message: bytes, encrypt: bool) -> _Wrapped:
            assert not encrypt
            return _Wrapped(b"wrapped " + message)

    module: Any = types.ModuleType("gssapi")
    module.Name = lambda name, name_type: (name, name_type)
    module.NameType = types.SimpleNamespace(hostbased_service="service", kerberos_principal="user")
    module.MechType = types.SimpleNamespace(kerberos="krb5")
    module.Credentials = lambda **options: options
    module.SecurityContext = Context
    module.exceptions = types.SimpleNamespace(GSSError=_GssError)
    return module


def test_gssapi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticket, mutual proof, and no security layer, for the service of the host."""
    calls: list[Any] = []
    monkeypatch.setitem(sys.modules, "gssapi", _stand_in(calls))
    peer = make_mechanism(
        _settings("GSSAPI", **{"sasl.kerberos.service.name": "kafka"}), "c1.example"
    )
    assert b"ticket" == peer.first()
    assert b"" == peer.step(b"mutual")
    assert b"wrapped \x01\0\0\0" == peer.step(b"offer")
    assert not peer.is_done
    assert peer.step(b"") is None
    assert peer.is_done
    (options,) = calls
    assert ("kafka@c1.example", "service") == options["name"]
    assert options["creds"] is None


def test_gssapi_tickets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keytab and a principal, a cache, as Krb5LoginModule's options say."""
    calls: list[Any] = []
    monkeypatch.setitem(sys.modules, "gssapi", _stand_in(calls))
    for more in (
        {"useKeyTab": "true", "keyTab": "file:/k.keytab", "principal": "me@R"},
        {"ticketCache": "/tmp/cc"},
        {"principal": "me@R", "keyTab": "/k", "useKeyTab": "false"},
    ):
        make_mechanism(_settings("GSSAPI", serviceName="kafka", **more), "h").first()
    keytab, cache, principal = (options["creds"] for options in calls)
    assert ("me@R", "user") == keytab["name"]
    assert "/k.keytab" == keytab["store"]["client_keytab"]
    assert keytab["store"]["ccache"].startswith("MEMORY:")
    assert {"ccache": "/tmp/cc"} == cache["store"]
    assert "store" not in principal


def test_gssapi_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """No service name, no ticket, a bad token, a layer that is insisted on."""
    module: Any = _stand_in([], offer=b"\x06\0\0\0")
    monkeypatch.setitem(sys.modules, "gssapi", module)
    with pytest.raises(SourceError, match="needs the name") as caught:
        make_mechanism(_settings("GSSAPI"), "h")
    assert "sasl.kerberos.service.name" in (caught.value.hint or "")
    peer = make_mechanism(_settings("GSSAPI", serviceName="kafka"), "h")
    with pytest.raises(SaslError, match="before the exchange began"):
        peer.step(b"")
    peer.first()
    with pytest.raises(SaslError, match=r"kafka@h failed: bad token$"):
        peer.step(b"odd")
    peer.step(b"mutual")
    with pytest.raises(SaslError, match=r"kafka@h failed: Invalid token$"):
        peer.step(b"odd")
    with pytest.raises(SaslError, match="insists on a security layer"):
        peer.step(b"offer")


@pytest.mark.parametrize(
    ("error", "kind", "reason", "hint"),
    [
        (_GssError("No credentials", 2529639053), TicketError, "No credentials", "kinit"),
        (_GssError("No KDC", 2529639068), TicketError, "No KDC", "krb5.conf"),
        (_GssError("Unknown", 2529638919), SaslError, "Unknown", "sasl.kerberos.service.name"),
        (_GssError(major="Expired"), TicketError, "Expired", "kinit"),
        (NotImplementedError("no stores"), TicketError, "no stores", "kinit"),
    ],
)
def test_gssapi_no_ticket(
    error: Exception,
    kind: type[SourceError],
    reason: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Why, without numbers; and what to do, which depends on it. A new ticket may come later."""

    def no_ticket(**_: Any) -> None:
        raise error

    module: Any = _stand_in([])
    monkeypatch.setitem(sys.modules, "gssapi", module)
    module.SecurityContext = no_ticket
    with pytest.raises(kind, match=f"no Kerberos ticket for kafka@h: {reason}$") as caught:
        make_mechanism(_settings("GSSAPI", serviceName="kafka"), "h").first()
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("is_in_keytab", [False, True])
def test_gssapi_keytab_without_ticket(is_in_keytab: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the keytab is said instead of what that leads to; not if all is well."""

    def credentials(usage: str, store: Mapping[str, str], **_: Any) -> None:
        if usage == "initiate":
            raise _GssError("no cache", 1)
        assert {"keytab": "/k"} == store
        if not is_in_keytab:
            raise _GssError("no key", 2)

    module: Any = _stand_in([])
    monkeypatch.setitem(sys.modules, "gssapi", module)
    module.Credentials = credentials
    peer = make_mechanism(_settings("GSSAPI", serviceName="kafka", keyTab="/k"), "h")
    with pytest.raises(TicketError, match="no cache$" if is_in_keytab else "no key$"):
        peer.first()


def test_gssapi_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint is what to type."""
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(SourceError, match="needs the package `gssapi`") as caught:
        make_mechanism(_settings("GSSAPI", serviceName="kafka"), "h")
    assert "pip install 'metashell[gssapi]'" == caught.value.hint
