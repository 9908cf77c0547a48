"""Key and trust stores of every format, told apart by their bytes."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import load_pem_x509_certificates
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.security.key_stores import key_and_chain, trusted_certificates
from metashell.security.settings import KeyStore
from support.certificates import (
    Identity,
    der,
    issue,
    make_authority,
    pem,
    pkcs12_key_store,
    pkcs12_trust_store,
)
from support.jks import jks, private_key, trusted

_PASSWORD = "Pa55-wörd"


@cache
def _root() -> Identity:
    return make_authority("Root")


@cache
def _middle() -> Identity:
    return make_authority("Middle", parent=_root())


@cache
def _client() -> Identity:
    return issue(_middle(), "client")


@cache
def _key_store() -> bytes:
    return pkcs12_key_store(_client(), _PASSWORD)


@cache
def _trust_store() -> bytes:
    return pkcs12_trust_store([_root().certificate], _PASSWORD)


def _file(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "store"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@cache
def _trust_stores() -> dict[str, bytes]:
    certificate = _root().certificate
    return {
        "PEM": b"Bag Attributes\n" + pem(certificate).encode(),
        "PKCS12 of keytool": _trust_store(),
        "PKCS12 of openssl": pkcs12_trust_store([certificate], _PASSWORD, by_keytool=False),
        "JKS 1": jks([trusted("ca", der(certificate), version=1)], _PASSWORD, version=1),
        "JKS 2": jks([trusted("ca", der(certificate))], _PASSWORD),
    }


@pytest.mark.parametrize("name", list(_trust_stores()))
@pytest.mark.parametrize("declared", ["JKS", "PKCS12", "PEM"])
def test_trust_store(name: str, declared: str, tmp_path: Path) -> None:
    """Each format gives the certificate, whatever type was declared."""
    path = _file(tmp_path, _trust_stores()[name])
    text = trusted_certificates(KeyStore(type=declared, path=path, password=_PASSWORD))
    assert [_root().certificate] == load_pem_x509_certificates(text.encode())


@cache
def _key_stores() -> dict[str, bytes]:
    client = _client()
    chain = [der(certificate) for certificate in client.chain]
    entry = private_key("client", client.pkcs8, chain, _PASSWORD)
    # In any order, with a certificate that belongs to none of them.
    shuffled = pem(_root().certificate, *reversed(client.chain), issue(_root(), "x").certificate)
    return {
        "PEM": (shuffled + client.key_pem()).encode(),
        "PEM, key first": (client.key_pem() + client.chain_pem).encode(),
        "PEM, encrypted": (client.chain_pem + client.key_pem(_PASSWORD)).encode(),
        "PKCS12": _key_store(),
        "PKCS12, old": pkcs12_key_store(client, _PASSWORD, is_old=True),
        "JKS": jks([entry, trusted("a", der(_root().certificate))], _PASSWORD),
    }


@pytest.mark.parametrize("name", list(_key_stores()))
def test_key_store(name: str, tmp_path: Path) -> None:
    """Each format gives the key, and the chain beginning with the key's own certificate."""
    path = _file(tmp_path, _key_stores()[name])
    store = KeyStore(type="JKS", path=path, password=_PASSWORD, key_password=_PASSWORD)
    pair = key_and_chain(store)
    assert _client().pkcs8 == pair.key
    chain = load_pem_x509_certificates(pair.chain.encode())
    assert list(_client().chain) == chain[:2]
    assert chain[2:] in ([], [_root().certificate])
    assert "KeyAndChain()" == repr(pair)


def test_pem_in_properties() -> None:
    """Key and chain as two texts, on one line each as Kafka allows."""
    client = _client()
    store = KeyStore(
        type="PEM",
        certificates=client.chain_pem.replace("\n", " "),
        key=client.key_pem(_PASSWORD).replace("\n", " "),
        key_password=_PASSWORD,
    )
    pair = key_and_chain(store)
    assert (client.pkcs8, client.chain_pem) == (pair.key, pair.chain)
    text = pem(_root().certificate, _root().certificate).replace("\n", " ")
    assert pem(_root().certificate) == trusted_certificates(KeyStore(type="PEM", certificates=text))


def test_old_pem_keys(tmp_path: Path) -> None:
    """Keys as OpenSSL wrote them before PKCS #8, encrypted ones too."""
    client = _client()
    for secret in (serialization.NoEncryption(), serialization.BestAvailableEncryption(b"x")):
        key = client.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, secret
        )
        path = _file(tmp_path, key.decode() + client.chain_pem)
        store = KeyStore(type="PEM", path=path, key_password="x")
        assert client.pkcs8 == key_and_chain(store).key


def test_first_of_several_keys(tmp_path: Path) -> None:
    """Of a JKS store's keys it is the first by alias."""
    other = issue(_root(), "other")
    entries = [
        private_key("zed", _client().pkcs8, [der(_client().certificate)], "a"),
        private_key("beta", other.pkcs8, [der(other.certificate)], "a"),
        trusted("alpha", der(_root().certificate)),
    ]
    store = KeyStore(type="JKS", path=_file(tmp_path, jks(entries, "a")), password="a")
    assert other.pkcs8 == key_and_chain(store).key
    # A key in a trust store is trusted by its own certificate.
    assert 3 == trusted_certificates(store).count("BEGIN")


def test_without_a_password(tmp_path: Path) -> None:
    """A JKS trust store opens, an encrypted PKCS12 store asks; one in the clear opens."""
    content = jks([trusted("ca", der(_root().certificate))], _PASSWORD)
    assert trusted_certificates(KeyStore(type="JKS", path=_file(tmp_path, content)))
    store = KeyStore(type="PKCS12", path=_file(tmp_path, _trust_store()))
    with pytest.raises(SourceError, match="encrypted") as caught:
        trusted_certificates(store)
    assert "ssl.truststore.password" in (caught.value.hint or "")
    clear = pkcs12_key_store(_client(), None)
    store = KeyStore(type="PKCS12", path=_file(tmp_path, clear))
    assert _client().pkcs8 == key_and_chain(store).key


@pytest.mark.parametrize("name", ["PKCS12", "JKS", "PEM, encrypted"])
@pytest.mark.parametrize("password", ["hunter2", None])
def test_wrong_or_missing_password(name: str, password: str | None, tmp_path: Path) -> None:
    """One sentence that names the file, a hint that names the property, and no password."""
    path = _file(tmp_path, _key_stores()[name])
    store = KeyStore(type="JKS", path=path, password=password, key_password=password)
    with pytest.raises(SourceError, match=r"wrong|needs a password|encrypted") as caught:
        key_and_chain(store)
    assert path in caught.value.message
    assert "password" in (caught.value.hint or "")
    assert "hunter2" not in caught.value.message + str(caught.value.hint) + repr(store)
    assert caught.value.__cause__ is None


def test_key_password_of_its_own(tmp_path: Path) -> None:
    """A JKS key may have another password than its store."""
    entry = private_key("c", _client().pkcs8, [der(_client().certificate)], "key-pw")
    path = _file(tmp_path, jks([entry], "store-pw"))
    store = KeyStore(type="JKS", path=path, password="store-pw", key_password="key-pw")
    assert _client().pkcs8 == key_and_chain(store).key


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"hello", "neither PEM nor"),
        (b"\xce\xce\xce\xce\0\0\0\2", "JCEKS"),
        (b"\x30\x06\x30\x02\x05\x00\x04\x00", "BCFKS"),
        (b"\0\0\0\2\0\0\0\x14", "neither PEM nor"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA", "without its end"),
        (b"-----BEGIN CERTIFICATE", "neither PEM|without its end"),
        (b"-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----", "damaged"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "certificate 1 of 1"),
        (b"-----BEGIN X-----\nAAAA\n-----END X-----", "no certificate"),
    ],
)
def test_no_trust_store(content: bytes, why: str, tmp_path: Path) -> None:
    """Each wrong file has its words."""
    path = _file(tmp_path, content)
    with pytest.raises(SourceError, match=why) as caught:
        trusted_certificates(KeyStore(type="JKS", path=path, password="x"))
    assert path in caught.value.message


def test_no_key_store(tmp_path: Path) -> None:
    """No key, no certificate of the key, a key that is none, no file."""
    client = _client()
    for content, why in (
        (pem(_root().certificate).encode(), "no private key"),
        (_trust_store(), "no private key"),
        (jks([], _PASSWORD), "no private key"),
        ((client.key_pem() + pem(_root().certificate)).encode(), "belongs to its private key"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "damaged"),
        (jks([private_key("a", b"no key", [], _PASSWORD)], _PASSWORD), "damaged"),
        (jks([private_key("a", client.pkcs8, [b"no"], _PASSWORD)], _PASSWORD), "is damaged"),
    ):
        store = KeyStore(type="JKS", path=_file(tmp_path, content), password=_PASSWORD)
        with pytest.raises(SourceError, match=why):
            key_and_chain(store)
    with pytest.raises(SourceError, match=r"^`ssl.keystore.location`: .*none: No such file"):
        key_and_chain(KeyStore(type="JKS", path=str(tmp_path / "none"), password=_PASSWORD))


def test_a_missing_trust_store(tmp_path: Path) -> None:
    """The error names the property that names the file."""
    store = KeyStore(type="PEM", path=str(tmp_path / "none"))
    with pytest.raises(SourceError, match=r"^`ssl.truststore.location`: .*none: No such file"):
        trusted_certificates(store)


def test_too_many_iterations(tmp_path: Path) -> None:
    """A PKCS12 store that would have us hash for hours is refused at once."""
    few = (2).to_bytes(1, "big") + b"\x01"
    lying = _trust_store()
    pos = lying.rindex(b"\x02\x02")  # of the code at the end
    assert few not in lying[pos + 4 :]
    patched = bytearray(lying[:pos] + b"\x02\x04\x7f\xff\xff\xff" + lying[pos + 4 :])
    # The three lengths around it grow by two; all are of known shape.
    for at in _sequences_around(lying, pos):
        size = int.from_bytes(patched[at + 2 : at + 4], "big") if patched[at + 1] == 0x82 else None
        if size is None:
            patched[at + 1] += 2
        else:
            patched[at + 2 : at + 4] = (size + 2).to_bytes(2, "big")
    store = KeyStore(type="PKCS12", path=_file(tmp_path, bytes(patched)), password=_PASSWORD)
    with pytest.raises(SourceError, match="hashed more than"):
        trusted_certificates(store)


def _sequences_around(data: bytes, pos: int) -> list[int]:
    from metashell.security.der import element_at, elements_in

    found, start, end = [], 0, len(data)
    while True:
        inner = next(e for e in elements_in(data, start, end) if e.pos <= pos < e.end)
        if inner.pos == pos:
            return found
        assert element_at(data, inner.pos) == inner
        found.append(inner.pos)
        start, end = inner.start, inner.end


@given(data=st.data())
def test_damaged_pkcs12(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Cut, changed and random bytes raise nothing but a SourceError."""
    directory = tmp_path_factory.getbasetemp()
    whole = data.draw(st.sampled_from([_key_store(), _trust_store()]))
    size = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[size] ^= data.draw(st.integers(1, 255))
    noise = data.draw(st.binary(max_size=100))
    for content in (whole[:size], bytes(changed), noise, b"\x30\x20\x02\x01\x03" + noise):
        path = _file(directory, content)
        for password in (_PASSWORD, None):
            store = KeyStore(type="PKCS12", path=path, password=password)
            with contextlib.suppress(SourceError):
                trusted_certificates(store)
            with contextlib.suppress(SourceError):
                key_and_chain(store)


@given(st.text(alphabet="-BEGINDCRTFKY PVA\n=:x", max_size=120))
def test_damaged_pem(text: str) -> None:
    """Text that looks like PEM raises nothing but a SourceError."""
    text = f"-----BEGIN CERTIFICATE-----{text}-----END CERTIFICATE-----"
    with contextlib.suppress(SourceError):
        trusted_certificates(KeyStore(type="PEM", certificates=text))
    with contextlib.suppress(SourceError):
        key_and_chain(
            KeyStore(type="PEM", certificates=text, key=text.replace("CERTIFICATE", "KEY"))
        )


@pytest.mark.slow
@pytest.mark.cases(1)
@pytest.mark.skipif(shutil.which("keytool") is None, reason="keytool is not installed")
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_stores_of_keytool(kind: str, tmp_path: Path) -> None:
    """Stores that Java itself made."""
    keys, trust, certificate = (str(tmp_path / name) for name in ("k", "t", "c.pem"))
    common = ["-storetype", kind, "-storepass", "changeit"]

    def keytool(*words: str) -> None:
        # Compiled well it would take no less time, but more of the processor.
        light = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
        subprocess.run(["keytool", *light, *words, *common], check=True, capture_output=True)

    keytool("-genkeypair", "-alias", "me", "-keyalg", "EC", "-groupname", "secp256r1",
            "-dname", "CN=me", "-keystore", keys)  # fmt: skip
    keytool("-exportcert", "-rfc", "-alias", "me", "-file", certificate, "-keystore", keys)
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", certificate, "-keystore", trust)
    (expected,) = load_pem_x509_certificates(Path(certificate).read_bytes())
    text = trusted_certificates(KeyStore(type="JKS", path=trust, password="changeit"))
    assert [expected] == load_pem_x509_certificates(text.encode())
    pair = key_and_chain(KeyStore(type="JKS", path=keys, password="changeit"))
    assert [expected] == load_pem_x509_certificates(pair.chain.encode())
    key = serialization.load_der_private_key(pair.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert expected.public_key() == key.public_key()
