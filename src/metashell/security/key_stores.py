"""Key and trust stores: PEM, PKCS #12 and JKS, told apart by their bytes and not by their type.

Since Java 9, `keytool` writes PKCS #12 into files that are still called ``.jks``, and Java reads
either by either name. So a store's `type` only decides what an error says. Must never put a
password or a piece of a key into an error or a repr.
"""

from __future__ import annotations

import base64
import binascii
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_pem_private_key,
    pkcs12,
)

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.places.bounded_file import MIB, read_bounded
from metashell.security.der import (
    INTEGER,
    OCTET_STRING,
    SEQUENCE,
    Element,
    element_at,
    elements_in,
    is_sequence,
)
from metashell.security.jks import MAGIC as JKS_MAGIC
from metashell.security.jks import JksEntry, read_jks, unprotect
from metashell.security.settings import KeyStore

_LIMIT_BYTES: Final = 8 * MIB
_JCEKS_MAGIC: Final = b"\xce\xce\xce\xce"
_CERTIFICATE_LABELS: Final = ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE")
_ITERATIONS_MAX: Final = 5_000_000
"""The limit of a PKCS #12 store, also Java's. More would only keep us busy."""
_CHAIN_MAX: Final = 16
"""Certificates of a chain; real ones have three."""
_CONVERT: Final = (
    "convert it: `keytool -importkeystore -srckeystore FILE -srcstoretype TYPE "
    "-destkeystore store.p12 -deststoretype PKCS12`"
)


@dataclass(frozen=True, slots=True)
class KeyAndChain:
    """A client's private key and the certificates that it shows."""

    key: bytes = field(repr=False)
    """PKCS #8 DER, not encrypted: must never get into a file."""
    chain: str = field(repr=False)
    """PEM text: the key's own certificate first, then each one's issuer."""


def trusted_certificates(store: KeyStore) -> str:
    """Read a trust store.

    A key in it is trusted by its own certificate, as in Java.

    Returns:
        PEM text of at least one certificate.

    Raises:
        SourceError: It can't be read, is damaged or empty, or the password is missing or wrong.
    """
    name = _name(store, "ssl.truststore.certificates")
    data = _content(store, store.certificates, "ssl.truststore.location")
    kind = _kind(data, name)
    if kind == "PEM":
        certificates = [der for label, der, _ in _pem_blocks(data, name) if _is_certificate(label)]
    elif kind == "JKS":
        entries = read_jks(data, name, store.password)
        certificates = [entry.certificates[0] for entry in entries if entry.certificates]
    else:
        _, found = _load_pkcs12(data, name, store.password, "ssl.truststore.password")
        certificates = [_der_of(certificate) for certificate in found]
    for i, der in enumerate(certificates):
        if not is_sequence(der):
            raise SourceError(f"{name}: certificate {i + 1} of {len(certificates)} is damaged")
    if not certificates:
        raise SourceError(
            f"{name}: no certificate in the trust store",
            hint="import the certificate of the controllers' authority",
        )
    return "".join(_pem(der) for der in dict.fromkeys(certificates))


def key_and_chain(store: KeyStore) -> KeyAndChain:
    """Read a key store.

    The first key is taken: in JKS the first alias, in PKCS #12 and PEM the first in the file. (Java
    takes the first that fits the peer's request. Its order is open.)

    Raises:
        SourceError: It can't be read, is damaged, lacks a key or the key's certificate, or a
            password is missing or wrong.
    """
    name = _name(store, "ssl.keystore.key")
    data = _content(store, store.key, "ssl.keystore.location")
    kind = _kind(data, name)
    if kind == "PEM":
        key, certificates = _pem_key(store, data, name)
    elif kind == "JKS":
        key, certificates = _jks_key(store, data, name)
    else:
        password = store.key_password if store.password is None else store.password
        found, certificates = _load_pkcs12(data, name, password, "ssl.keystore.password")
        if found is None:
            raise _no_key(name)
        key = found
    return KeyAndChain(_pkcs8(key, name), "".join(map(_pem, _chain(key, certificates, name))))


def _name(store: KeyStore, what: str) -> str:
    """The store's name in errors: its file, or the property that holds the PEM text."""
    return store.path if store.path is not None else f"`{what}`"


def _content(store: KeyStore, text: str | None, key: str) -> bytes:
    """The bytes of the file that a property names, or the PEM text that was given in its place."""
    if store.path is not None:
        try:
            return read_bounded(store.path, limit_bytes=_LIMIT_BYTES)
        except SourceError as error:
            raise SourceError(f"`{key}`: {error.message}", hint=error.hint) from error.__cause__
    return (text or "").encode("utf-8", "replace")


def _kind(data: bytes, name: str) -> str:
    """Tell the formats apart.

    Raises:
        SourceError: None that we read.
    """
    if data.startswith(JKS_MAGIC):
        return "JKS"
    if b"-----BEGIN " in data:
        return "PEM"
    if data.startswith(_JCEKS_MAGIC):
        raise SourceError(f"{name}: a JCEKS store, which can't be read here", hint=_CONVERT)
    if data[:1] == b"\x30":
        try:
            outer = element_at(data, 0)
            first = element_at(data, outer.start, outer.end)
        except ValueError:
            # Perhaps cut short, perhaps of indefinite length; OpenSSL will tell.
            return "PKCS12"
        if first.tag == SEQUENCE:
            raise SourceError(
                f"{name}: a BCFKS store or another that can't be read here", hint=_CONVERT
            )
        return "PKCS12"
    if not data.strip():
        raise SourceError(f"{name}: an empty key or trust store")
    raise SourceError(f"{name}: neither PEM nor a PKCS12 or JKS store", hint=_CONVERT)


# --- PEM ---


def _pem_blocks(data: bytes, name: str) -> Iterator[tuple[str, bytes, bytes]]:
    """Read PEM blocks: label, DER, and the block with its lines as they should be.

    A properties file may hold a block on one line, with spaces for line ends, as Kafka allows. DER
    is empty where the block has headers, as OpenSSL's old encrypted keys do.
    """
    text = data.decode("utf-8", "replace")
    pos = 0
    while (begin := text.find("-----BEGIN ", pos)) >= 0:
        label_end = text.find("-----", begin + 11)
        label = text[begin + 11 : label_end]
        end = text.find(f"-----END {label}-----", label_end) if 0 <= label_end - begin < 80 else -1
        if end < 0:
            raise SourceError(f"{name}: a PEM block without its end")
        body = text[label_end + 5 : end]
        pos = end + 14 + len(label)
        if ":" in body:
            yield label, b"", text[begin:pos].encode()
            continue
        try:
            der = base64.b64decode("".join(body.split()), validate=True)
        except (ValueError, binascii.Error):
            raise SourceError(f"{name}: a PEM block of {label[:40]} is damaged") from None
        if label == "TRUSTED CERTIFICATE":
            der = _without_trust(der)
        yield label, der, _pem(der, label).encode()


def _is_certificate(label: str) -> bool:
    return label in _CERTIFICATE_LABELS


def _without_trust(der: bytes) -> bytes:
    """Cut off what OpenSSL writes behind a certificate to say what it is trusted for."""
    try:
        return der[: element_at(der, 0).end]
    except ValueError:
        return der


def _pem(der: bytes, label: str = "CERTIFICATE") -> str:
    text = base64.b64encode(der).decode()
    lines = [text[i : i + 64] for i in range(0, len(text), 64)]
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""))


def _pem_key(
    store: KeyStore, data: bytes, name: str
) -> tuple[PrivateKeyTypes, list[x509.Certificate]]:
    """Read a key and certificates in any order, from one file or from two properties."""
    blocks = list(_pem_blocks(data, name))
    if store.path is None:
        chain = (store.certificates or "").encode("utf-8", "replace")
        blocks += _pem_blocks(chain, "`ssl.keystore.certificate.chain`")
    keys = [block for label, _, block in blocks if label.endswith("PRIVATE KEY")]
    if not keys:
        raise _no_key(name)
    certificates = [_certificate(der, name) for label, der, _ in blocks if _is_certificate(label)]
    return _private_key(keys[0], name, store.key_password), certificates


def _private_key(block: bytes, name: str, password: str | None) -> PrivateKeyTypes:
    """Read a private key's PEM block."""
    is_encrypted = b"ENCRYPTED" in block
    if is_encrypted and not password:
        raise SourceError(
            f"{name}: its private key is encrypted", hint="give its password: `ssl.key.password`"
        )
    try:
        return load_pem_private_key(block, password.encode() if is_encrypted and password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if is_encrypted:
            raise SourceError(
                f"{name}: the private key can't be decrypted: the password is wrong, or the key is "
                "damaged",
                hint="check `ssl.key.password`",
            ) from None
        raise SourceError(f"{name}: its private key is damaged or of an unknown kind") from None


# --- JKS ---


def _jks_key(
    store: KeyStore, data: bytes, name: str
) -> tuple[PrivateKeyTypes, list[x509.Certificate]]:
    """Read the first key by alias, and its chain."""
    entries = read_jks(data, name, store.password)
    entry = next((entry for entry in entries if entry.protected_key is not None), None)
    if entry is None or entry.protected_key is None:
        raise _no_key(name)
    password = store.password if store.key_password is None else store.key_password
    if password is None:
        raise SourceError(
            f"{name}: its private key needs a password",
            hint="set `ssl.keystore.password`, or `ssl.key.password` where the key has its own",
        )
    return _pkcs8_key(entry, name, password), [_certificate(d, name) for d in entry.certificates]


def _pkcs8_key(entry: JksEntry, name: str, password: str) -> PrivateKeyTypes:
    plain = unprotect(entry.protected_key or b"", name, password)
    try:
        return load_der_private_key(plain, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise SourceError(f"{name}: its private key is damaged or of an unknown kind") from None


# --- PKCS #12 ---


def _load_pkcs12(
    data: bytes, name: str, password: str | None, password_key: str
) -> tuple[PrivateKeyTypes | None, list[x509.Certificate]]:
    """Read a store; without a password its integrity is not checked, as in Java."""
    if _iterations(data) > _ITERATIONS_MAX:
        raise SourceError(f"{name}: its password is hashed more than {_ITERATIONS_MAX:,} times")
    if password is None:
        data = _without_mac(data)
    try:
        with warnings.catch_warnings():
            # It warns of BER where DER should be, which old tools write.
            warnings.simplefilter("ignore")
            found = pkcs12.load_pkcs12(data, None if password is None else password.encode())
            leaf = [found.cert.certificate] if found.cert else []
            others = [other.certificate for other in found.additional_certs]
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if password is None:
            raise SourceError(
                f"{name}: encrypted, or a damaged PKCS12 store",
                hint=f"give its password: `{password_key}`",
            ) from None
        raise SourceError(
            f"{name}: the password of the store is wrong, or the file is damaged",
            hint=f"check `{password_key}`",
        ) from None
    return found.key, [*leaf, *others]


def _without_mac(data: bytes) -> bytes:
    """A store without the code that guards it, which can't be checked without the password."""
    try:
        outer = element_at(data, 0)
        parts = list(elements_in(data, outer.start, outer.end))
    except ValueError:
        return data
    if len(parts) != 3:
        return data
    body = data[outer.start : parts[1].end]
    return b"\x30\x84" + len(body).to_bytes(4, "big") + body


def _iterations(data: bytes) -> int:
    """The largest number of times that a PKCS #12 store has a password hashed, where it shows.

    It stands behind a salt, in the store's code and in each encrypted part. An encrypted part's own
    content does not show, and neither does a store that is no DER.
    """
    largest = 0
    spans: list[tuple[int, int, int]] = [(0, len(data), 0)]
    while spans:
        start, end, depth = spans.pop()
        before: Element | None = None
        try:
            for element in elements_in(data, start, end):
                if element.tag == INTEGER and before is not None and before.tag == OCTET_STRING:
                    # Nine bytes are more than enough to be too many.
                    digits = data[element.start : min(element.end, element.start + 9)]
                    largest = max(largest, int.from_bytes(digits, "big"))
                # A store holds its parts in octet strings; what is encrypted is no sequence.
                holds = element.tag == OCTET_STRING and is_sequence(
                    data[element.start : element.end]
                )
                if depth < 16 and (element.is_constructed or holds):
                    spans.append((element.start, element.end, depth + 1))
                before = element
        except ValueError:
            continue
    return largest


# --- certificates and keys, as `cryptography` knows them ---


def _certificate(der: bytes, name: str) -> x509.Certificate:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return x509.load_der_x509_certificate(der)
    except ValueError:
        raise SourceError(f"{name}: a certificate in it is damaged") from None


def _der_of(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def _pkcs8(key: PrivateKeyTypes, name: str) -> bytes:
    try:
        return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    except (ValueError, TypeError):
        raise SourceError(f"{name}: TLS does not use private keys of this kind") from None


def _chain(
    key: PrivateKeyTypes, certificates: Sequence[x509.Certificate], name: str
) -> list[bytes]:
    """Order certificates: the key's own, its issuer, the issuer's issuer; drop the others."""
    wanted = _public_bytes(key.public_key())
    leaf = next((c for c in certificates if _public_bytes(_public_key(c)) == wanted), None)
    if leaf is None:
        raise SourceError(f"{name}: no certificate in it belongs to its private key")
    chain = [leaf]
    while len(chain) < _CHAIN_MAX and chain[-1].issuer != chain[-1].subject:
        above = (c for c in certificates if c.subject == chain[-1].issuer and c not in chain)
        issuer = next(above, None)
        if issuer is None:
            break
        chain.append(issuer)
    return [_der_of(certificate) for certificate in chain]


def _public_key(certificate: x509.Certificate) -> Any:
    """A certificate's key; None where it is of a kind that nobody knows."""
    try:
        return certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None


def _public_bytes(key: Any) -> bytes:
    return b"" if key is None else key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _no_key(name: str) -> SourceError:
    return SourceError(
        f"{name}: no private key in the key store",
        hint="a key store needs the client's private key and its certificates",
    )
