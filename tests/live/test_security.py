"""Every way to secure a listener, with real handshakes on loopback, from the files people have."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import metashell
from metashell.node_files.config import read_config
from metashell.quorum.protocol import Api
from metashell.quorum.settings import security_of
from support.certificates import pem, server_context
from support.fake_server import HOST, FakeQuorumServer
from support.listener import CLIENT_SECRET, TOKEN, USER, Listener, controller, root
from support.live_program import LS, Run, check_works, failure
from support.waiting import LIMIT_S, wait_until

_UNSECURED = {"unsecuredLoginStringClaim_sub": USER}
_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"

_LISTENERS = [
    Listener(protocol="PLAINTEXT"),
    Listener(protocol="SSL", trust="PEM"),
    Listener(protocol="SSL", trust="inline", key="inline+password"),
    Listener(protocol="SSL", trust="PKCS12", key="PEM", verify_host=False),
    Listener(protocol="SSL", trust="JKS", key="PKCS12"),
    Listener(protocol="SSL", trust="PEM", key="JKS+password", verify_host=False),
    Listener(protocol="SSL", trust="PKCS12", key="JKS"),
    Listener(protocol="SASL_PLAINTEXT", mechanism="PLAIN"),
    Listener(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256"),
    Listener(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-512"),
    Listener(protocol="SASL_PLAINTEXT", mechanism="OAUTHBEARER", options=_UNSECURED),
    Listener(protocol="SASL_SSL", mechanism="PLAIN", trust="JKS", verify_host=False),
    Listener(protocol="SASL_SSL", mechanism="SCRAM-SHA-256", trust="inline", key="PEM+password"),
    Listener(protocol="SASL_SSL", mechanism="SCRAM-SHA-512", trust="PKCS12", key="inline"),
    Listener(protocol="SASL_SSL", mechanism="PLAIN", trust="PEM", key="JKS"),
    Listener(
        protocol="SASL_SSL",
        mechanism="OAUTHBEARER",
        trust="JKS",
        key="PKCS12",
        verify_host=False,
        options=_UNSECURED,
    ),
]


def _name(listener: Listener) -> str:
    parts = (
        listener.protocol,
        listener.mechanism,
        listener.trust if listener.has_tls else None,
        listener.key,
        None if listener.verify_host else "any host",
    )
    return " ".join(filter(None, parts))


@pytest.mark.parametrize("server_file", [False, True], ids=["client", "server"])
@pytest.mark.parametrize("listener", _LISTENERS, ids=_name)
def test_works(listener: Listener, server_file: bool, run: Run, tmp_path: Path) -> None:
    """The quorum is read, with a client's file as with a controller's own."""
    with listener.serve() as server:
        server.append(4)
        file = listener.config(tmp_path, server=server_file)
        check_works(run("-q", server.address(), "--config", file, *LS))
        wait_until(lambda: server.n_open == 0, "a connection is still open")


@pytest.mark.parametrize("server_file", [False, True], ids=["client", "server"])
def test_addresses_of_the_file(server_file: bool, run: Run, tmp_path: Path) -> None:
    """The file alone says where to go and how to speak there."""
    listener = Listener(protocol="SASL_SSL", mechanism="SCRAM-SHA-512")
    with listener.serve(2) as server:
        voters = ",".join(f"{i}@{server.address(i)}" for i in (1, 2))
        where = (
            {"controller.quorum.voters": voters, "log.dirs": str(tmp_path / "none")}
            if server_file
            else {"bootstrap.controllers": server.address(2)}
        )
        given = Listener(protocol="SASL_SSL", mechanism="SCRAM-SHA-512", properties=where)
        live = ("--live",) if server_file else ()
        check_works(run("--config", given.config(tmp_path, server=server_file), *live, *LS))


def test_as_people_write_it(run: Run, tmp_path: Path) -> None:
    """A JAAS entry over several lines, single words without quotes, comments, CRLF."""
    listener = Listener(
        protocol="SASL_PLAINTEXT", mechanism="PLAIN", sasl={"users": {"bob": "b0b"}}
    )
    file = tmp_path / "client.properties"
    file.write_bytes(
        b"# made by hand\r\nsecurity.protocol = SASL_PLAINTEXT\r\nsasl.mechanism: PLAIN\r\n"
        b"sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\r\n"
        b"    username=bob \\\r\n    password=b0b;\r\n"
    )
    with listener.serve() as server:
        check_works(run("-q", server.address(), "--config", str(file), *LS))


def test_tokens_of_a_file(run: Run, tmp_path: Path) -> None:
    """OAUTHBEARER with a token that lies in a file."""
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism="OAUTHBEARER",
        options={"ignored": "x"},
        properties={_ENDPOINT: token.as_uri()},
    )
    with listener.serve() as server:
        check_works(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))


@contextlib.contextmanager
def _endpoint(*statuses: int) -> Iterator[str]:
    """A token endpoint behind TLS, whose first answers have these statuses; gives its URL."""
    left = list(statuses)
    wanted = base64.b64encode(f"the-client:{CLIENT_SECRET}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            is_known = self.headers["Authorization"] == f"Basic {wanted}"
            code = (left.pop(0) if left else 200) if is_known else 401
            answer = {"access_token": TOKEN} if code == 200 else {"error": "invalid_client"}
            body = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with HTTPServer((HOST, 0), Handler) as http:
        http.socket = server_context(controller()).wrap_socket(http.socket, server_side=True)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"https://{HOST}:{http.server_port}/token?tenant=x"
        finally:
            http.shutdown()
            thread.join(LIMIT_S)


def _oauth(url: str, tmp_path: Path, secret: str = CLIENT_SECRET) -> Listener:
    trust = tmp_path / "endpoint.pem"
    trust.write_text(pem(root().certificate))
    return Listener(
        protocol="SASL_SSL",
        mechanism="OAUTHBEARER",
        options={
            "clientId": "the-client",
            "clientSecret": secret,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trust),
        },
        properties={_ENDPOINT: url},
    )


def test_tokens_of_an_endpoint(run: Run, tmp_path: Path) -> None:
    """OAUTHBEARER with a token that an endpoint gives, TLS there as the JAAS entry says."""
    with _endpoint() as url, _oauth(url, tmp_path).serve() as server:
        file = _oauth(url, tmp_path).config(tmp_path)
        check_works(run("-q", server.address(), "--config", file, *LS))


@pytest.mark.parametrize("status", [401, 503])
def test_no_token(status: int, run: Run, tmp_path: Path) -> None:
    """An endpoint that refuses: its address and why, neither secrets nor the query of its URL."""
    with _endpoint(*[503] * 9) as url, _oauth(url, tmp_path).serve() as server:
        secret = CLIENT_SECRET if status == 503 else "s3cret-of-nobody"
        file = _oauth(url, tmp_path, secret).config(tmp_path)
        said = failure(run("-q", server.address(), "--config", file, *LS))
    shown = url.partition("?")[0]
    assert f"{server.address()}: {shown}: no token: HTTP status {status}" in said
    assert "tenant" not in said
    assert "s3cret" not in said


def test_endpoint_that_is_down_for_a_moment(run: Run, tmp_path: Path) -> None:
    """A token that is not to be had at once is asked for again."""
    with _endpoint(503) as url, _oauth(url, tmp_path).serve() as server:
        file = _oauth(url, tmp_path).config(tmp_path)
        check_works(run("-q", server.address(), "--config", file, *LS))


def test_no_token_file(run: Run, tmp_path: Path) -> None:
    """A token's file that is not there."""
    missing = tmp_path / "missing"
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism="OAUTHBEARER",
        options={"ignored": "x"},
        properties={_ENDPOINT: missing.as_uri()},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert f"{missing}: No such file or directory" in said


def test_no_kerberos(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GSSAPI without the package that it needs: what to install."""
    monkeypatch.setitem(sys.modules, "gssapi", None)
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism="GSSAPI",
        options={"useKeyTab": "true"},
        properties={"sasl.kerberos.service.name": "kafka"},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert f"{server.address()}: SASL GSSAPI needs the package `gssapi`" in said
    assert "hint: pip install 'metashell[gssapi]'" in said


def _handshakes(server: FakeQuorumServer) -> list[int]:
    """How often each connection authenticated."""
    return [
        sum(api is Api.SASL_HANDSHAKE for api, _, _ in connection.requests)
        for connection in tuple(server.connections)
    ]


def test_authentication_that_runs_out(tmp_path: Path) -> None:
    """Where it holds for a while only (KIP-368) it is renewed, and records go on to come."""
    listener = Listener(protocol="SASL_SSL", mechanism="SCRAM-SHA-256", sasl={"lifetime_ms": 500})
    with listener.serve() as server:
        security = security_of(read_config(listener.config(tmp_path)))
        source = metashell.open_quorum(server.address(), security=security, follow=True)
        assert source.live is not None
        try:
            ends = [server.append()]

            def goes_on() -> bool:
                assert source.live is not None
                if source.live.status().end_offset == ends[-1]:
                    ends.append(server.append())
                return len(server.connections) >= 3

            wait_until(goes_on, lambda: f"{_handshakes(server)}")
            wait_until(
                lambda: source.live is not None and source.live.status().end_offset == ends[-1],
                "the last records do not come",
            )
        finally:
            source.live.close()
        assert len(ends) > 10
        # The last one may have been cut off by the end of the following.
        assert set(_handshakes(server)[:-1]) == {1}
        # Nobody closed a connection on us: each was given up in time.
        assert not any(connection.is_closed for connection in server.connections)
