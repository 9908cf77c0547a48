"""TLS on loopback: every store type, client certificates, host names, and what went wrong."""

from __future__ import annotations

import os
import socket
import ssl
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from metashell.errors import SourceError
from metashell.security import tls
from metashell.security.settings import Address, KeyStore, TlsSettings
from metashell.security.tls import certificate_names, make_context, tls_problem
from support.certificates import (
    Identity,
    der,
    issue,
    make_authority,
    pem,
    pkcs12_key_store,
    pkcs12_trust_store,
    self_signed,
    server_context,
)
from support.jks import jks, private_key, trusted
from support.tls_server import GREETING, serve
from support.waiting import LIMIT_S

_PASSWORD = "secret-pw"
_HOST = "127.0.0.1"


@cache
def _root() -> Identity:
    return make_authority("Root")


@cache
def _middle() -> Identity:
    return make_authority("Middle", parent=_root())


@cache
def _server() -> Identity:
    return issue(_middle(), _HOST, "controller-1.example")


@cache
def _client() -> Identity:
    return issue(_middle(), "client")


def _handshake(context: ssl.SSLContext, address: Address, host: str = _HOST) -> Mapping[str, Any]:
    """Connect, read the greeting, and return the peer's certificate."""
    with (
        socket.create_connection((address.host, address.port), LIMIT_S) as connection,
        context.wrap_socket(connection, server_hostname=host) as wrapped,
    ):
        assert GREETING == wrapped.recv(100)
        return wrapped.getpeercert() or {}


def _problem(context: ssl.SSLContext, address: Address, host: str = _HOST) -> str:
    """Fail to connect, and return the sentence about it."""
    with pytest.raises(OSError) as caught:
        _handshake(context, address, host)
    return tls_problem(caught.value, host)


def _trust(*identities: Identity, **settings: Any) -> TlsSettings:
    text = pem(*(identity.certificate for identity in identities))
    return TlsSettings(truststore=KeyStore(type="PEM", certificates=text), **settings)


def _stored(tmp_path: Path, name: str, content: bytes, **more: str) -> KeyStore:
    path = tmp_path / name
    path.write_bytes(content)
    return KeyStore(type="JKS", path=str(path), password=_PASSWORD, **more)


def _stores(kind: str, tmp_path: Path) -> TlsSettings:
    """The root's certificate and the client's key, in files of a kind."""
    root, client = der(_root().certificate), _client()
    if kind == "JKS":
        chain = [der(certificate) for certificate in client.chain]
        trust = jks([trusted("ca", root)], _PASSWORD)
        keys = jks([private_key("me", client.pkcs8, chain, _PASSWORD)], _PASSWORD)
    elif kind == "PKCS12":
        trust = pkcs12_trust_store([_root().certificate], _PASSWORD)
        keys = pkcs12_key_store(client, _PASSWORD)
    else:
        trust = pem(_root().certificate).encode()
        keys = (client.key_pem(_PASSWORD) + client.chain_pem).encode()
    return TlsSettings(
        truststore=_stored(tmp_path, "trust", trust),
        keystore=_stored(tmp_path, "keys", keys, key_password=_PASSWORD),
    )


@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS"])
def test_stores_and_client_certificate(kind: str, tmp_path: Path) -> None:
    """Each kind of store gets through to a server that asks for a client's certificate."""
    context = make_context(_stores(kind, tmp_path))
    with serve(server_context(_server(), clients=_root())) as address:
        _handshake(context, address)


def test_key_file_where_memory_has_no_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The key is in a private file, encrypted, for as long as OpenSSL reads it."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    seen: list[tuple[str, int]] = []

    load = ssl.SSLContext.load_cert_chain

    def spy(context: ssl.SSLContext, certfile: str, **options: Any) -> None:
        path = Path(certfile)
        seen.append((path.read_text(), path.stat().st_mode & 0o777))
        load(context, certfile, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    make_context(_stores("PEM", tmp_path))
    ((text, mode),) = seen
    assert text.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert "BEGIN PRIVATE KEY" not in text
    assert 0o600 == mode
    assert [] == list((tmp_path / "temporary").iterdir())


def test_key_never_gets_to_a_disk_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory as well, OpenSSL is given an encrypted key, and nothing stays open."""
    written: list[bytes] = []
    write = tls._write_all

    def spy(fd: int, content: bytes) -> None:
        written.append(content)
        write(fd, content)

    monkeypatch.setattr(tls, "_write_all", spy)
    client = _client()
    store = KeyStore(type="PEM", key=client.key_pem(), certificates=client.chain_pem)
    make_context(TlsSettings(keystore=store))
    assert all(client.pkcs8 not in content for content in written)
    assert all(b"ENCRYPTED PRIVATE KEY" in content for content in written)
    assert written
    assert [] == _open_in_memory()


def _open_in_memory() -> list[str]:
    """Files in memory that are still open; those of other threads come and go meanwhile."""
    found = []
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [name for name in found if "memfd:metashell" in name]


def test_trusts_any_certificate_in_the_store() -> None:
    """An authority in the middle, or the server's own certificate, is enough, as in Java."""
    for trust in (_middle(), _server()):
        with serve(server_context(_server())) as address:
            _handshake(make_context(_trust(trust)), address)
    alone = self_signed(_HOST)
    with serve(server_context(alone)) as address:
        _handshake(make_context(_trust(alone)), address)


def test_host_check() -> None:
    """A wrong host is refused and the names are said; without the check it gets through."""
    with serve(server_context(_server())) as address:
        _handshake(make_context(_trust(_root())), address, "controller-1.example")
        with pytest.raises(ssl.SSLCertVerificationError) as caught:
            _handshake(make_context(_trust(_root())), address, "other.example")
        off = make_context(_trust(_root(), verify_host=False))
        assert ssl.CERT_REQUIRED == off.verify_mode
        names = certificate_names(_handshake(off, address, "other.example"))
    assert (_HOST, "controller-1.example") == tuple(name for name in sorted(names))
    wrong = "other.example"
    assert "is not for other.example (" in tls_problem(caught.value, wrong)
    assert (
        f"its certificate is not for other.example but for {', '.join(names)} "
        "(an empty `ssl.endpoint.identification.algorithm` turns this check off)"
    ) == tls_problem(caught.value, wrong, names=names)
    hostile = tls_problem(caught.value, wrong, names=["a\x1b[2J\n" + "b" * 1000])
    assert hostile.isprintable()
    assert len(hostile) < 300


def test_host_check_of_an_address() -> None:
    """An address that the certificate lacks is refused as well."""
    with serve(server_context(issue(_root(), "example.org"))) as address:
        assert "is not for 127.0.0.1" in _problem(make_context(_trust(_root())), address)


def test_check_of_trust_stays_without_host_check() -> None:
    """No host check is not no check."""
    settings = _trust(make_authority("Other"), verify_host=False)
    with serve(server_context(_server())) as address:
        assert "is not trusted" in _problem(make_context(settings), address)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (_server, "is not trusted: its authority is not in `ssl.truststore.location`"),
        (lambda: self_signed(_HOST), "is self-signed and not in `ssl.truststore.location`"),
    ],
)
@pytest.mark.parametrize("settings", [None, "another authority"])
def test_untrusted(server: Callable[[], Identity], words: str, settings: str | None) -> None:
    """By another authority, and by the system's."""
    context = make_context(_trust(make_authority("Other")) if settings else None)
    with serve(server_context(server())) as address:
        problem = _problem(context, address)
    assert f"its certificate {words}" == problem


def test_expired() -> None:
    """A certificate past its end."""
    with serve(server_context(issue(_root(), _HOST, is_expired=True))) as address:
        assert "has expired" in _problem(make_context(_trust(_root())), address)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_client_certificate_is_wanted(version: ssl.TLSVersion) -> None:
    """Without one, and with one by another authority."""
    server = server_context(_server(), clients=_root())
    server.maximum_version = version
    stranger = issue(make_authority("Other"), "stranger")
    store = KeyStore(type="PEM", key=stranger.key_pem(), certificates=stranger.chain_pem)
    with serve(server) as address:
        without = _problem(make_context(_trust(_root())), address)
        wrong = _problem(make_context(_trust(_root(), keystore=store)), address)
    assert "client certificate" in without
    assert "`ssl.keystore.location`" in without
    assert "does not accept our client certificate (alert unknown ca" in wrong.replace("tlsv1 ", "")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\x0a" * 9])
def test_peer_without_tls(answer: bytes) -> None:
    """It hangs up, or answers as another protocol does."""
    with serve(None, answer=answer) as address:
        problem = _problem(make_context(_trust(_root())), address)
    assert ("it speaks no TLS there: is it a PLAINTEXT listener? (`security.protocol`)") == problem


def test_versions() -> None:
    """TLS 1.2 and 1.3 by default; what is enabled is what is spoken; no common one is said."""
    context = make_context(None)
    assert ssl.TLSVersion.TLSv1_2 == context.minimum_version
    only_13 = _trust(_root(), protocols=("TLSv1.3",))
    only_12 = _trust(_root(), protocols=("TLSv1.1", "TLSv1.2"))
    server = server_context(_server())
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    with serve(server) as address:
        _handshake(make_context(only_12), address)
        assert "speaks no version of TLS" in _problem(make_context(only_13), address)
    server = server_context(_server())
    server.minimum_version = ssl.TLSVersion.TLSv1_3
    with serve(server) as address:
        _handshake(make_context(only_13), address)
        assert "speaks no version of TLS" in _problem(make_context(only_12), address)


def test_wrong_versions() -> None:
    """Unknown, or all too old."""
    with pytest.raises(SourceError, match=r"TLSv9 is not a protocol"):
        make_context(TlsSettings(protocols=("TLSv1.2", "TLSv9")))
    with pytest.raises(SourceError, match=r"enabled.protocols`: \[redacted\] is not a protocol"):
        make_context(TlsSettings(protocols=("hunter2",)))
    with pytest.raises(SourceError, match=r"cipher.suites`: \[redacted\] is not a known"):
        make_context(TlsSettings(cipher_suites=("hunter2",)))
    with pytest.raises(SourceError, match=r"TLSv1, TLSv1.1 is too old"):
        make_context(TlsSettings(protocols=("TLSv1", "TLSv1.1")))


def test_cipher_suites() -> None:
    """Java's names choose the suite; a suite that the peer lacks is said."""
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    settings = _trust(_root(), cipher_suites=(suite, "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"))
    with serve(server_context(_server())) as address:
        _handshake(make_context(settings), address)
    server = server_context(_server())
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    server.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with serve(server) as address:
        assert "no cipher suite that both sides know" in _problem(make_context(settings), address)
    both = make_context(TlsSettings(cipher_suites=(suite, "TLS_AES_256_GCM_SHA384")))
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" in [cipher["name"] for cipher in both.get_ciphers()]
    newest = make_context(TlsSettings(cipher_suites=("TLS_AES_256_GCM_SHA384",)))
    assert ssl.TLSVersion.TLSv1_3 == newest.minimum_version
    oldest = make_context(TlsSettings(cipher_suites=(suite,)))
    assert ssl.TLSVersion.TLSv1_2 == oldest.maximum_version


@pytest.mark.parametrize(
    "suite", ["TLS_RSA_WITH_RC4_128_MD5", "ALL:eNULL", "SSL_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_", "@"]
)
def test_unknown_cipher_suite(suite: str) -> None:
    """It is named if it looks like one, and nothing of it gets to OpenSSL."""
    with pytest.raises(SourceError) as caught:
        make_context(TlsSettings(cipher_suites=("TLS_AES_128_GCM_SHA256", suite)))
    shown = suite if suite[4:] and suite.startswith(("TLS_", "SSL_")) else "[redacted]"
    assert f"`ssl.cipher.suites`: {shown} is not a known" in caught.value.message


def test_every_known_suite_is_openssl_s() -> None:
    """No name of the table is made up: OpenSSL knows each combination that exists."""
    exchanges, ciphers = tls._KEY_EXCHANGES, tls._CIPHERS
    known = {c["name"] for c in _all_ciphers().get_ciphers()}
    for cipher in ciphers:
        names = [tls._openssl_name(f"TLS_{exchange}_WITH_{cipher}") for exchange in exchanges]
        assert known.intersection(names), cipher


def _all_ciphers() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def test_suites_and_versions_that_exclude_each_other() -> None:
    """Suites of TLS 1.3 with TLS 1.2 alone leave nothing to speak."""
    with pytest.raises(SourceError, match="no suite of an enabled protocol"):
        make_context(TlsSettings(protocols=("TLSv1.2",), cipher_suites=("TLS_AES_128_GCM_SHA256",)))
    with pytest.raises(SourceError, match="no suite of an enabled protocol"):
        make_context(
            TlsSettings(protocols=("TLSv1.3",), cipher_suites=("TLS_RSA_WITH_AES_128_GCM_SHA256",))
        )


def test_damaged_certificate() -> None:
    """A certificate that OpenSSL can't read is the trust store's fault."""
    text = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n"
    with pytest.raises(SourceError, match=r"^`ssl.truststore.certificates`: a certificate"):
        make_context(TlsSettings(truststore=KeyStore(type="PEM", certificates=text)))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionResetError(104, "Connection reset by peer"), "speaks no TLS there"),
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), "speaks no TLS there"),
        (TimeoutError("timed out"), "did not answer the TLS handshake in time"),
        (OSError(113, "No route to host"), "failed: no route to host"),
        (ssl.SSLError(1, "odd"), "failed: odd"),
    ],
)
def test_other_problems(error: OSError, words: str) -> None:
    """What ends a handshake without OpenSSL's words."""
    assert words in tls_problem(error, "::1")


def test_names_of_a_certificate() -> None:
    """The alternative names, or else the common name."""
    assert ("a", "1.2.3.4") == certificate_names(
        {"subjectAltName": (("DNS", "a"), ("email", "x@y"), ("IP Address", "1.2.3.4"))}
    )
    assert ("cn",) == certificate_names({"subject": ((("commonName", "cn"),),)})
    assert () == certificate_names({})
