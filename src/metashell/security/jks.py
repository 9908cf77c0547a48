"""Java's own key store format, JKS: trusted certificates, and keys under Sun's key protector.

A store is: magic FEEDFEED, version (1 or 2), the number of entries, the entries, then a SHA-1 over
the password, a fixed phrase and all before it. Strict: every length is checked, nothing may follow.
No library is used, because the one there is (pyjks) is no longer kept and needs a compiler. Source:
the class sun.security.provider.JavaKeyStore and KeyProtector, by their behaviour.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.security.der import OBJECT_ID, OCTET_STRING, SEQUENCE, element_at, elements_in

MAGIC: Final = b"\xfe\xed\xfe\xed"
_PHRASE: Final = b"Mighty Aphrodite"
_DIGEST_BYTES: Final = 20
_KEY_ENTRY: Final = 1
_CERTIFICATE_ENTRY: Final = 2
_PROTECTED_KEY_BYTES_MAX: Final = 1 << 17
"""A protected key larger than this is none; an RSA key of 16,384 bits has under 10,000 bytes."""
_SUN_PROTECTOR: Final = bytes.fromhex("2b060104012a02110101")
"""1.3.6.1.4.1.42.2.17.1.1."""


@dataclass(frozen=True, slots=True)
class JksEntry:
    """A trusted certificate, or a private key with its chain."""

    alias: str
    certificates: tuple[bytes, ...] = field(repr=False)
    """DER; of a key its chain, leaf first."""
    protected_key: bytes | None = field(default=None, repr=False)
    """None for a trusted certificate."""


class _Damaged(Exception):
    """The bytes are not a key store; says why."""


def read_jks(data: bytes, name: str, password: str | None) -> tuple[JksEntry, ...]:
    """Read a store.

    Args:
        data: The file's bytes.
        name: The store's name in errors.
        password: The store's password; None: its integrity is not checked, as in Java.

    Returns:
        The entries in the order of their aliases: Java writes them in no order.

    Raises:
        SourceError: It is damaged, or the password is wrong.
    """
    try:
        entries = _entries(data)
    except _Damaged as error:
        raise SourceError(f"{name}: a damaged JKS store: {error}") from None
    if password is not None:
        content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
        expected = hashlib.sha1(_java_chars(password) + _PHRASE + content).digest()
        if not hmac.compare_digest(expected, digest):
            raise SourceError(
                f"{name}: the password of the store is wrong, or the file is damaged",
                hint="check `ssl.keystore.password` or `ssl.truststore.password`",
            )
    return tuple(sorted(entries, key=lambda entry: entry.alias))


def unprotect(protected_key: bytes, name: str, password: str) -> bytes:
    """Take Sun's key protector off a private key.

    Returns:
        The key as PKCS #8 DER.

    Raises:
        SourceError: The password is wrong, or the key is damaged or protected in another way.
    """
    sealed = _sealed(protected_key)
    if sealed is None or len(sealed) <= 2 * _DIGEST_BYTES:
        raise SourceError(f"{name}: its private key is damaged or not protected as in a JKS store")
    key_bytes = _java_chars(password)
    salt, body, check = (
        sealed[:_DIGEST_BYTES],
        sealed[_DIGEST_BYTES:-_DIGEST_BYTES],
        sealed[-_DIGEST_BYTES:],
    )
    stream = bytearray()
    block = salt
    while len(stream) < len(body):
        block = hashlib.sha1(key_bytes + block).digest()
        stream += block
    size = len(body)
    plain = (int.from_bytes(body, "big") ^ int.from_bytes(stream[:size], "big")).to_bytes(
        size, "big"
    )
    if not hmac.compare_digest(hashlib.sha1(key_bytes + plain).digest(), check):
        raise SourceError(
            f"{name}: the password of its private key is wrong",
            hint="set `ssl.key.password` where the key has another password than the store",
        )
    return plain


def _sealed(protected_key: bytes) -> bytes | None:
    """The content of an EncryptedPrivateKeyInfo by Sun's protector; None for anything else."""
    try:
        outer = element_at(protected_key, 0)
        algorithm, content = elements_in(protected_key, outer.start, outer.end)
        kind = element_at(protected_key, algorithm.start, algorithm.end)
    except ValueError:
        return None
    tags = (outer.tag, algorithm.tag, content.tag, kind.tag)
    if tags != (SEQUENCE, SEQUENCE, OCTET_STRING, OBJECT_ID):
        return None
    if protected_key[kind.start : kind.end] != _SUN_PROTECTOR:
        return None
    return protected_key[content.start : content.end]


def _entries(data: bytes) -> list[JksEntry]:
    """Read everything but the digest."""
    reader = _Reader(data[:-_DIGEST_BYTES])
    if reader.take(4) != MAGIC:
        raise _Damaged("it does not begin like a JKS store")
    version = reader.u4()
    if version not in (1, 2):
        raise _Damaged(f"version {version} is unknown")
    entries = []
    # Each turn takes bytes or fails, so a lying count ends with the file.
    for _ in range(reader.u4()):
        kind = reader.u4()
        alias = reader.text()
        reader.take(8)  # when it was made
        if kind == _KEY_ENTRY:
            size = reader.u4()
            if size > _PROTECTED_KEY_BYTES_MAX:
                raise _Damaged(f"a private key of {size:,} bytes")
            protected_key = reader.take(size)
            chain = [reader.certificate(version) for _ in range(reader.u4())]
            entries.append(JksEntry(alias, tuple(chain), protected_key))
        elif kind == _CERTIFICATE_ENTRY:
            entries.append(JksEntry(alias, (reader.certificate(version),)))
        else:
            raise _Damaged(f"an entry of the unknown kind {kind}")
    if not reader.is_at_end:
        raise _Damaged("bytes follow its last entry")
    return entries


class _Reader:
    """Takes big-endian fields from bytes, each checked against the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pos = 0

    @property
    def is_at_end(self) -> bool:
        return self._pos == len(self._data)

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._pos:
            raise _Damaged("cut short")
        self._pos += size
        return self._data[self._pos - size : self._pos]

    def u4(self) -> int:
        (value,) = struct.unpack(">I", self.take(4))
        return int(value)

    def text(self) -> str:
        (size,) = struct.unpack(">H", self.take(2))
        # Java's modified UTF-8 differs in characters that only need to sort and show here.
        return self.take(size).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        if version == 2:
            kind = self.text()
            if kind.upper() not in ("X.509", "X509"):
                raise _Damaged(f"a certificate of the unknown kind {kind[:20]!r}")
        return self.take(self.u4())


def _java_chars(password: str) -> bytes:
    """A password as Java's characters, two bytes each."""
    return password.encode("utf-16-be", "surrogatepass")
