"""JKS: what is written comes back, and nothing but a SourceError comes of damage."""

from __future__ import annotations

import contextlib
import struct
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.security.jks import read_jks, unprotect
from support.jks import jks, private_key, protect, trusted

_PASSWORD = "pässword"


@cache
def _store(version: int = 2) -> bytes:
    entries = [
        private_key("zed", b"key of zed", [b"leaf", b"root"], "other", version=version),
        trusted("alpha", b"certificate", version=version),
        private_key("mid", b"key of mid" * 9, [b"own"], _PASSWORD, version=version),
    ]
    return jks(entries, _PASSWORD, version=version)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("password", [_PASSWORD, None])
def test_reads_entries_by_alias(version: int, password: str | None) -> None:
    """Both versions, and without a password too."""
    alpha, mid, zed = read_jks(_store(version), "f", password)
    assert ("alpha", (b"certificate",), None) == (
        alpha.alias,
        alpha.certificates,
        alpha.protected_key,
    )
    assert ("mid", (b"own",)) == (mid.alias, mid.certificates)
    assert (b"leaf", b"root") == zed.certificates
    assert b"key of mid" * 9 == unprotect(mid.protected_key or b"", "f", _PASSWORD)
    assert b"key of zed" == unprotect(zed.protected_key or b"", "f", "other")
    assert "leaf" not in repr(zed)


def test_wrong_passwords() -> None:
    """Of the store and of a key; neither shows what was tried."""
    with pytest.raises(SourceError, match=r"^f: the password of the store is wrong") as caught:
        read_jks(_store(), "f", "hunter2")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(SourceError, match=r"^f: the password of its private key is wrong"):
        unprotect(protect(b"key", "right"), "f", "hunter2")


@pytest.mark.parametrize(
    "protected_key",
    [b"", b"\x30", protect(b"key", "x")[:-1], b"\x30\x00", b"\x30\x04\x30\x02\x06\x00"],
    ids=["empty", "tag", "cut-off", "nothing-inside", "empty-oid"],
)  # fmt: skip
def test_key_that_is_none(protected_key: bytes) -> None:
    """What is not under Sun's protector is refused."""
    with pytest.raises(SourceError, match="damaged or not protected"):
        unprotect(protected_key, "f", "x")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "does not begin|cut short"),
        (b"\xfe\xed\xfe\xee\0\0\0\2\0\0\0\0", "does not begin"),
        (struct.pack(">III", 0xFEEDFEED, 3, 0), "version 3 is unknown"),
        (struct.pack(">III", 0xFEEDFEED, 2, 2**32 - 1), "cut short"),
        (struct.pack(">III", 0xFEEDFEED, 2, 0) + b"x", "bytes follow"),
        (struct.pack(">IIIIHQ", 0xFEEDFEED, 2, 1, 3, 0, 0), "unknown kind 3"),
        (struct.pack(">IIIIHQI", 0xFEEDFEED, 2, 1, 1, 0, 0, 1 << 30), "1,073,741,824 bytes"),
        (struct.pack(">IIIIHQH", 0xFEEDFEED, 2, 1, 2, 0, 0, 3) + b"PGP", "kind 'PGP'"),
    ],
)
def test_damage_is_named(content: bytes, why: str) -> None:
    """Each thing that can be wrong has its words."""
    with pytest.raises(SourceError, match=why):
        read_jks(content + bytes(20), "f", None)


@given(st.binary(max_size=200))
def test_random_bytes(tail: bytes) -> None:
    """Bytes behind a right beginning raise nothing but a SourceError."""
    for head in (b"", struct.pack(">II", 0xFEEDFEED, 2), struct.pack(">III", 0xFEEDFEED, 2, 1)):
        with contextlib.suppress(SourceError):
            read_jks(head + tail, "f", None)
        with contextlib.suppress(SourceError):
            unprotect(tail, "f", "x")


@given(st.data())
def test_damaged_store(data: st.DataObject) -> None:
    """A store cut short is refused; one with a changed byte is, where there is a password."""
    whole = _store()
    size = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(SourceError):
        read_jks(whole[:size], "f", None)
    changed = bytearray(whole)
    changed[size] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SourceError):
        read_jks(bytes(changed), "f", _PASSWORD)
    with contextlib.suppress(SourceError):
        read_jks(bytes(changed), "f", None)
