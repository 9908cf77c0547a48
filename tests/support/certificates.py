"""Certificates and stores for tests of TLS, made when they are asked for; no key lies in a file.

    authority = make_authority()
    controller = issue(authority, "127.0.0.1")       # a name or an address
    context = server_context(controller)             # what a loopback server wraps sockets with
    trusted = pem(authority.certificate)             # what its client has to trust

`issue` makes certificates for servers and clients alike; `server_context(..., clients=authority)`
asks clients for one. `pkcs12_key_store` and `pkcs12_trust_store` make store files; JKS is in
`support.jks`.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Identity:
    """A private key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    above: tuple[x509.Certificate, ...] = ()
    """The certificates of the authorities above it, nearest first, without the root."""

    @property
    def chain(self) -> tuple[x509.Certificate, ...]:
        """What it shows: its own certificate and those above it."""
        return (self.certificate, *self.above)

    @property
    def chain_pem(self) -> str:
        """The chain as PEM text."""
        return pem(*self.chain)

    @property
    def pkcs8(self) -> bytes:
        """The key as PKCS #8 DER."""
        return self.key.private_bytes(
            serialization.Encoding.DER,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def key_pem(self, password: str | None = None) -> str:
        """The key as PEM text, encrypted where there is a password."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(password.encode())
            if password
            else serialization.NoEncryption(),
        ).decode()


def make_authority(name: str = "Test Authority", *, parent: Identity | None = None) -> Identity:
    """Make a certificate authority, self-signed or below another."""
    return _made(name, parent, (), is_authority=True, end=_now() + _DAY)


def issue(authority: Identity, host: str, *more_hosts: str, is_expired: bool = False) -> Identity:
    """Make a certificate for a host, or for a client of that name.

    Args:
        authority: Who signs it.
        host: A name or an address, the certificate's common name too.
        more_hosts: Further ones.
        is_expired: Let it have ended an hour ago.
    """
    end = _now() - _DAY / 24 if is_expired else _now() + _DAY
    return _made(host, authority, (host, *more_hosts), is_authority=False, end=end)


def self_signed(host: str) -> Identity:
    """Make a server's certificate that nobody else signed."""
    return _made(host, None, (host,), is_authority=False, end=_now() + _DAY)


def pem(*certificates: x509.Certificate) -> str:
    """Certificates as PEM text."""
    return "".join(c.public_bytes(serialization.Encoding.PEM).decode() for c in certificates)


def der(certificate: x509.Certificate) -> bytes:
    """A certificate's DER."""
    return certificate.public_bytes(serialization.Encoding.DER)


def pkcs12_key_store(identity: Identity, password: str | None, *, is_old: bool = False) -> bytes:
    """Make a PKCS #12 key store; an old one is encrypted with triple DES, as Java 8 does."""
    secret: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password is not None:
        builder = serialization.PrivateFormat.PKCS12.encryption_builder()
        if is_old:
            builder = builder.key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC)
            builder = builder.hmac_hash(hashes.SHA1())
        secret = builder.build(password.encode())
    return pkcs12.serialize_key_and_certificates(
        b"client", identity.key, identity.certificate, identity.above, secret
    )


def pkcs12_trust_store(
    certificates: Sequence[x509.Certificate], password: str, *, by_keytool: bool = True
) -> bytes:
    """Make a PKCS #12 trust store, with or without the mark that Java puts on trusted ones."""
    secret = serialization.BestAvailableEncryption(password.encode())
    if not by_keytool:
        return pkcs12.serialize_key_and_certificates(None, None, None, certificates, secret)
    marked = [pkcs12.PKCS12Certificate(c, f"ca{i}".encode()) for i, c in enumerate(certificates)]
    return pkcs12.serialize_java_truststore(marked, secret)


def server_context(identity: Identity, *, clients: Identity | None = None) -> ssl.SSLContext:
    """Make what a server wraps its sockets with.

    Args:
        identity: Of the server.
        clients: The authority that clients need a certificate of; None to ask for none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(identity.key_pem() + identity.chain_pem)
        file.flush()
        context.load_cert_chain(file.name)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=pem(clients.certificate))
    return context


def _made(
    name: str,
    signer: Identity | None,
    hosts: Sequence[str],
    *,
    is_authority: bool,
    end: datetime,
) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signing = key if signer is None else signer.key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - 2 * _DAY)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()),
            critical=False,
        )
    )
    if hosts:
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    is_below_root = signer is not None and signer.certificate.issuer != signer.certificate.subject
    above = signer.chain if signer is not None and is_below_root else ()
    return Identity(key, builder.sign(signing, hashes.SHA256()), above)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _now() -> datetime:
    return datetime.now(UTC)
