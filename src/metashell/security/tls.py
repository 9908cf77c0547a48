"""TLS to a controller: the context that `ssl.*` properties ask for, and what went wrong in words.

Owns nothing that is open: `metashell.quorum.transport` has the sockets. A client's private key must
never get to a disk readable: OpenSSL only takes files, so it is given one in memory, or a private
one that is deleted at once, with the key encrypted under a passphrase that nobody keeps.
"""

from __future__ import annotations

import os
import re
import secrets
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import SourceError
from metashell.redact import REDACTED
from metashell.security.peer_text import one_line
from metashell.security.settings import TlsSettings

if TYPE_CHECKING:
    from metashell.security.key_stores import KeyAndChain

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OLD_VERSIONS: Final = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
"""Versions that Java knows too and has switched off."""

_TLS_13_SUITES: Final = (
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_CCM_8_SHA256",
)
_KEY_EXCHANGES: Final = {
    "ECDHE_ECDSA": "ECDHE-ECDSA-",
    "ECDHE_RSA": "ECDHE-RSA-",
    "DHE_RSA": "DHE-RSA-",
    "RSA": "",
}
_CIPHERS: Final = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_256_CBC_SHA256": "AES256-SHA256",
    "AES_256_CBC_SHA384": "AES256-SHA384",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
}
_LIKE_TLS: Final = re.compile(r"(TLS|SSL)v[\d.]{1,3}|(TLS|SSL)_[A-Z\d_]{1,60}|SSL|TLS")
_NO_SUITE: Final = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"
"""A signal that Java lists among the suites; OpenSSL sends it by itself."""


def make_context(settings: TlsSettings | None) -> ssl.SSLContext:
    """Make a client's context.

    Any certificate in the trust store is trusted, as in Java, also one that others have signed.
    `ssl` can't choose which suites of TLS 1.3 are offered. Naming one offers all, and naming none
    leaves TLS 1.3 out.

    Args:
        settings: The configuration; None for all defaults.

    Raises:
        SourceError: A store can't be read, or a protocol or cipher suite is unknown.
    """
    settings = settings or TlsSettings()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.verify_host
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _set_versions(context, settings.protocols)
    _set_suites(context, settings.cipher_suites)
    _set_trust(context, settings)
    if settings.keystore is not None:
        from metashell.security.key_stores import key_and_chain

        where = settings.keystore.path or "`ssl.keystore.key`"
        _load_key(context, key_and_chain(settings.keystore), where)
    return context


def certificate_names(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """The hosts and addresses that a certificate is for.

    Args:
        certificate: The value of `ssl.SSLObject.getpeercert`.
    """
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind != "email"]
    if not names:
        parts = (pair for part in certificate.get("subject", ()) for pair in part)
        names = [value for key, value in parts if key == "commonName"]
    return tuple(names)


def _set_versions(context: ssl.SSLContext, protocols: Sequence[str]) -> None:
    """Apply ``ssl.enabled.protocols``; versions before TLS 1.2 are never spoken."""
    if not protocols:
        return
    for protocol in protocols:
        if protocol not in _VERSIONS and protocol not in _OLD_VERSIONS:
            raise SourceError(
                f"`ssl.enabled.protocols`: {_shown(protocol)} is not a protocol",
                hint=f"it takes {', '.join(_VERSIONS)}",
            )
    versions = [_VERSIONS[protocol] for protocol in protocols if protocol in _VERSIONS]
    if not versions:
        raise SourceError(
            f"`ssl.enabled.protocols`: {', '.join(protocols)} is too old to be safe",
            hint=f"let the listener use {' or '.join(_VERSIONS)}",
        )
    context.minimum_version = min(versions)
    context.maximum_version = max(versions)


def _set_suites(context: ssl.SSLContext, suites: Sequence[str]) -> None:
    """Apply ``ssl.cipher.suites``."""
    names = [suite for suite in suites if suite != _NO_SUITE]
    if not names:
        return
    old = [_openssl_name(suite) for suite in names if suite not in _TLS_13_SUITES]
    try:
        if old:
            context.set_ciphers(":".join(old))
        else:
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        if len(old) == len(names):
            context.maximum_version = ssl.TLSVersion.TLSv1_2
    except (ssl.SSLError, ValueError):
        raise SourceError(
            f"`ssl.cipher.suites`: none of {', '.join(map(_shown, names))} is available here"
        ) from None
    if ssl.TLSVersion.TLSv1_3 == context.minimum_version > context.maximum_version > 0:
        raise SourceError("`ssl.cipher.suites` names no suite of an enabled protocol")


def _openssl_name(suite: str) -> str:
    """OpenSSL's name of a TLS 1.2 suite that Java names."""
    exchange, separator, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if suite.startswith("TLS_") and separator and exchange in _KEY_EXCHANGES and cipher in _CIPHERS:
        return _KEY_EXCHANGES[exchange] + _CIPHERS[cipher]
    raise SourceError(
        f"`ssl.cipher.suites`: {_shown(suite)} is not a known cipher suite",
        hint="use Java's names, such as TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    )


def _shown(name: str) -> str:
    """A protocol or suite for an error; what looks like none may be a password in a wrong line."""
    return name if _LIKE_TLS.fullmatch(name) else REDACTED


def _set_trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Trust what the trust store holds, or the system's authorities."""
    if settings.truststore is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    from metashell.security.key_stores import trusted_certificates

    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    where = settings.truststore.path or "`ssl.truststore.certificates`"
    try:
        context.load_verify_locations(cadata=trusted_certificates(settings.truststore))
    except ssl.SSLError:
        raise SourceError(f"{where}: a certificate in it is damaged") from None


def _load_key(context: ssl.SSLContext, pair: KeyAndChain, where: str) -> None:
    """Hand a client's key and chain to OpenSSL."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_der_private_key,
    )

    passphrase = secrets.token_hex(32)
    sealed = load_der_private_key(pair.key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase.encode())
    )
    with _private_file(sealed + pair.chain.encode()) as path:
        try:
            context.load_cert_chain(path, password=passphrase)
        except ssl.SSLError as error:
            raise SourceError(
                f"{where}: OpenSSL refuses its key or certificate ({_reason(error)})"
            ) from None


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """A file that only this user can read and that is gone afterwards; in memory where possible."""
    memfd_create = getattr(os, "memfd_create", None)
    if memfd_create is not None and os.path.isdir("/proc/self/fd"):
        fd = memfd_create("metashell", getattr(os, "MFD_CLOEXEC", 0))
        try:
            _write_all(fd, content)
            yield f"/proc/self/fd/{fd}"
        finally:
            os.close(fd)
        return
    fd, path = tempfile.mkstemp(prefix="metashell-")
    try:
        try:
            _write_all(fd, content)
        finally:
            os.close(fd)
        yield path
    finally:
        os.unlink(path)


def _write_all(fd: int, content: bytes) -> None:
    while content:
        content = content[os.write(fd, content) :]


# --- what went wrong, in words ---

_UNTRUSTED_CODES: Final = frozenset({2, 18, 19, 20, 21, 27})
"""X509_V_ERR_*: no issuer, self-signed, self-signed in chain, no local issuer, no leaf signature,
not trusted."""
_WEAK_CODES: Final = frozenset({66, 67, 68})
_HOST_CODES: Final = frozenset({62, 64})

_NO_TLS: Final = frozenset(
    {
        "WRONG_VERSION_NUMBER",
        "RECORD_LAYER_FAILURE",
        "PACKET_LENGTH_TOO_LONG",
        "BAD_RECORD_TYPE",
        "HTTP_REQUEST",
        "UNKNOWN_PROTOCOL",
        "UNEXPECTED_EOF_WHILE_READING",
        "UNEXPECTED_MESSAGE",
        "DATA_LENGTH_TOO_LONG",
        "BAD_LENGTH",
    }
)
_VERSION_MISMATCH: Final = frozenset(
    {
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "UNSUPPORTED_PROTOCOL",
        "NO_PROTOCOLS_AVAILABLE",
        "WRONG_SSL_VERSION",
        "VERSION_TOO_LOW",
    }
)
_WANTS_CERTIFICATE: Final = frozenset(
    {
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_NO_CERTIFICATE",
    }
)
_REFUSES_CERTIFICATE: Final = frozenset(
    {
        "TLSV1_ALERT_UNKNOWN_CA",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "TLSV1_ALERT_ACCESS_DENIED",
        "TLSV1_ALERT_DECRYPT_ERROR",
    }
)
_NO_CIPHER: Final = frozenset(
    {
        "NO_SHARED_CIPHER",
        "NO_CIPHERS_AVAILABLE",
        "TLSV1_ALERT_INSUFFICIENT_SECURITY",
        "WRONG_CIPHER_RETURNED",
    }
)


def tls_problem(error: ssl.SSLError | OSError, host: str, *, names: Sequence[str] = ()) -> str:
    """Say why TLS failed, in a clause that can follow the address: ``it speaks no TLS ...``.

    With TLS 1.3 a peer refuses a client's certificate only after the handshake. The first read may
    therefore raise these errors as well.

    Args:
        error: The error of the handshake, or of a read or write after it.
        host: The peer's host.
        names: `certificate_names` of the peer's certificate where they are known, for a host that
            does not match: OpenSSL does not give the certificate of a handshake that failed.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return _verification_problem(error, host, names)
    if isinstance(error, TimeoutError):
        return "it did not answer the TLS handshake in time"
    reason = getattr(error, "reason", None) or ""
    if reason in _WANTS_CERTIFICATE:
        return "it needs a client certificate that it trusts (`ssl.keystore.location`)"
    if reason in _REFUSES_CERTIFICATE:
        return (
            f"it does not accept our client certificate ({_reason(error)}; `ssl.keystore.location`)"
        )
    if reason == "SSLV3_ALERT_HANDSHAKE_FAILURE":
        return (
            "it refused the TLS handshake: it needs a client certificate "
            "(`ssl.keystore.location`), or there is no cipher suite that both sides know"
        )
    if reason in _NO_CIPHER:
        return "there is no cipher suite that it and `ssl.cipher.suites` share"
    if reason in _VERSION_MISMATCH:
        return (
            "it speaks no version of TLS that is enabled here (`ssl.enabled.protocols`; "
            "TLS 1.2 and 1.3 where it is not set)"
        )
    ended = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError)
    if reason in _NO_TLS or isinstance(error, ended):
        return "it speaks no TLS there: is it a PLAINTEXT listener? (`security.protocol`)"
    return f"TLS failed: {_reason(error)}"


def is_about_host(error: OSError) -> bool:
    """Whether the peer's certificate is trusted, but for another host."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return False
    # Without a code, Python itself refused the host.
    return getattr(error, "verify_code", 0) in _HOST_CODES or "mismatch" in str(error).lower()


def _verification_problem(
    error: ssl.SSLCertVerificationError, host: str, names: Sequence[str]
) -> str:
    """Say why the peer's certificate was refused."""
    code = getattr(error, "verify_code", 0)
    if is_about_host(error):
        shown = [one_line(name, 80) for name in names[:8]]
        known = f" but for {', '.join(shown)}" if shown else ""
        return (
            f"its certificate is not for {host}{known} "
            "(an empty `ssl.endpoint.identification.algorithm` turns this check off)"
        )
    if code == 10:
        return "its certificate, or that of its authority, has expired"
    if code == 9:
        return "its certificate, or that of its authority, is not valid yet"
    if code == 18:
        return "its certificate is self-signed and not in `ssl.truststore.location`"
    if code in _UNTRUSTED_CODES:
        return "its certificate is not trusted: its authority is not in `ssl.truststore.location`"
    detail = getattr(error, "verify_message", "") or _reason(error)
    if code in _WEAK_CODES:
        return f"its certificate is too weak: {detail}"
    return f"its certificate is not accepted: {detail}"


def _reason(error: OSError) -> str:
    """The name that OpenSSL or the system has for the error, in small letters."""
    reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
    return str(reason).replace("_", " ").lower().removeprefix("sslv3 ").removeprefix("tlsv1 ")
