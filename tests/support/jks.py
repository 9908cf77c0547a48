"""Writes Java's key store format, so that its tests need no Java."""

from __future__ import annotations

import hashlib
import secrets
import struct
from collections.abc import Sequence
from itertools import count

_SUN_PROTECTOR = bytes.fromhex("300e060a2b060104012a021101010500")


def jks(entries: Sequence[bytes], password: str, *, version: int = 2) -> bytes:
    """Make a store of entries that `trusted` and `private_key` made."""
    content = struct.pack(">III", 0xFEEDFEED, version, len(entries)) + b"".join(entries)
    return content + hashlib.sha1(_chars(password) + b"Mighty Aphrodite" + content).digest()


def trusted(alias: str, der: bytes, *, version: int = 2) -> bytes:
    """Make an entry of a trusted certificate."""
    return struct.pack(">I", 2) + _named(alias) + _certificate(der, version)


def private_key(
    alias: str, pkcs8: bytes, chain: Sequence[bytes], password: str, *, version: int = 2
) -> bytes:
    """Make an entry of a private key and its chain."""
    protected = protect(pkcs8, password)
    return b"".join(
        (
            struct.pack(">I", 1),
            _named(alias),
            struct.pack(">I", len(protected)),
            protected,
            struct.pack(">I", len(chain)),
            *(_certificate(der, version) for der in chain),
        )
    )


def protect(plain: bytes, password: str) -> bytes:
    """Encrypt a key as Sun's key protector does."""
    key, salt = _chars(password), secrets.token_bytes(20)
    stream, block = b"", salt
    for _ in count():
        if len(stream) >= len(plain):
            break
        block = hashlib.sha1(key + block).digest()
        stream += block
    sealed = bytes(a ^ b for a, b in zip(plain, stream, strict=False))
    return _der(
        0x30, _SUN_PROTECTOR + _der(0x04, salt + sealed + hashlib.sha1(key + plain).digest())
    )


def _der(tag: int, content: bytes) -> bytes:
    return bytes((tag, 0x82)) + struct.pack(">H", len(content)) + content


def _named(alias: str) -> bytes:
    return _text(alias) + struct.pack(">Q", 1_700_000_000_000)


def _certificate(der: bytes, version: int) -> bytes:
    kind = _text("X.509") if version == 2 else b""
    return kind + struct.pack(">I", len(der)) + der


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def _chars(password: str) -> bytes:
    return password.encode("utf-16-be")
