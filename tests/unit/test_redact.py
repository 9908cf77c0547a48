"""The policy for secrets: which configs, record fields and raw bytes are hidden."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell import redact
from metashell.redact import (
    REDACTED,
    Redaction,
    hidden_bytes,
    is_secret_config,
    raw_is_secret,
    remember_secret,
    without_own_secrets,
)


@pytest.mark.parametrize(
    "key",
    [
        "ssl.keystore.password",
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
        "sasl.jaas.config",
        "listener.name.internal.ssl.keystore.password",
        "listener.name.internal.ssl.truststore.certificates",
        "listener.name.saslb.plain.sasl.jaas.config",
        "listener.name.saslb.scram-sha-256.sasl.jaas.config",
        "producer.ssl.truststore.certificates",
        "delegation.token.secret.key",
        "delegation.token.master.key",
        "password.encoder.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "my.plugin.Password",
        "MY_PLUGIN_SECRET",
        "private.key",
    ],
)
@pytest.mark.parametrize("resource_type", ["TOPIC", "BROKER", "GROUP", "CLIENT_METRICS", ""])
def test_secret_keys_are_secret_for_every_resource(resource_type: str, key: str) -> None:
    """A PASSWORD-type key or a telling word hides the value wherever it stands."""
    assert is_secret_config(resource_type, key)


@pytest.mark.parametrize(
    "key",
    [
        "log.cleaner.threads",
        "num.io.threads",
        "super.users",
        "ssl.keystore.type",
        "ssl.keystore.location",
        "inter.broker.protocol.version",
        "zookeeper.connect",
        "listener.name.internal.ssl.keystore.type",
        "listener.name.saslb.sasl.enabled.mechanisms",
        "listener.name.saslb.plain.sasl.server.callback.handler.class",
        "listener.name.saslb.scram-sha-512.connections.max.reauth.ms",
        "listener.name.internal.max.connections",
    ],
)
def test_known_broker_keys_are_shown(key: str) -> None:
    """A key that some Kafka release knows is shown for brokers, with its listener prefix too."""
    assert not is_secret_config("BROKER", key)


@pytest.mark.parametrize(
    "key",
    [
        "my.plugin.user",
        "rsm.config.endpoint",
        "",
        "listener.name.",
        "listener.name.internal.",
        "listener.name.internal.my.plugin.user",
        "listener.name.a.b.num.io.threads",
        "listener.name.a.plain.num.io.threads",
        "Num.Io.Threads",
    ],
)
def test_unknown_keys_are_hidden_for_brokers_only(key: str) -> None:
    """A key that no Kafka release knows is hidden for brokers and shown for the others."""
    assert is_secret_config("BROKER", key)
    assert not is_secret_config("TOPIC", key)
    assert not is_secret_config("GROUP", key)


def test_no_key_of_the_shipped_list_is_secret() -> None:
    """The list holds sorted, distinct keys, none of which any other rule hides."""
    keys = redact._known_config_keys()

    assert len(keys) > 400
    assert [] == [key for key in sorted(keys) if is_secret_config("BROKER", key)]


def test_redaction_hides_by_default_and_shows_when_asked() -> None:
    """Hiding is the default; ``show_secrets`` returns values as they are."""
    hidden, shown = Redaction(), Redaction(show_secrets=True)

    assert REDACTED == hidden.secret(b"salt")
    assert b"salt" == shown.secret(b"salt")
    assert REDACTED == hidden.config_value("BROKER", "ssl.key.password", "x")
    assert "x" == shown.config_value("BROKER", "ssl.key.password", "x")
    assert "3" == hidden.config_value("BROKER", "num.io.threads", "3")


def test_scram_record_hides_salt_and_keys() -> None:
    """Iterations, mechanism and the user's name stay visible."""
    data = {"name": "u", "mechanism": 1, "salt": "c2FsdA==", "storedKey": "a", "serverKey": "b"}
    data["iterations"] = 4096

    expected = data | {"salt": REDACTED, "storedKey": REDACTED, "serverKey": REDACTED}
    assert expected == Redaction().record("UserScramCredentialRecord", data)
    assert data == Redaction(show_secrets=True).record("UserScramCredentialRecord", data)


def test_token_record_shows_its_id_alone() -> None:
    """The id is a node's name and stays; everything else of a delegation token is hidden."""
    data = {
        "owner": "User:a",
        "requester": "User:b",
        "renewers": ["User:c"],
        "issueTimestamp": 1,
        "maxTimestamp": 2,
        "expirationTimestamp": 3,
        "tokenId": "id",
    }

    expected = dict.fromkeys(data, REDACTED) | {"tokenId": "id"}
    assert expected == Redaction().record("DelegationTokenRecord", data)


@pytest.mark.parametrize(
    ("resource_type", "key", "value", "expected"),
    [
        (4, "ssl.key.password", "x", REDACTED),
        (4, "my.plugin.user", "x", REDACTED),
        (4, "ssl.key.password", None, None),
        (2, "my.plugin.user", "x", "x"),
        (2, "retention.ms", "x", "x"),
        (99, "my.plugin.user", "x", REDACTED),
        (99, "retention.ms", "x", "x"),
    ],
)
def test_config_record_hides_its_value_by_key(
    resource_type: int, key: str, value: str | None, expected: str | None
) -> None:
    """A deletion (null) shows; a resource type that we do not know counts as a broker's."""
    data = {"resourceType": resource_type, "resourceName": "1", "name": key, "value": value}

    assert data | {"value": expected} == Redaction().record("ConfigRecord", data)


def test_other_records_pass_untouched() -> None:
    """Records without secrets are returned as they are."""
    data = {"topicId": "x", "name": "secret-plans"}

    assert data is Redaction().record("TopicRecord", data)
    assert not Redaction().hides_raw("TopicRecord", data)


def test_raw_bytes_of_a_secret_record_are_hidden_whole() -> None:
    """Raw bytes are hidden where a field is secret, and where it can't be told."""
    shown_config = {"resourceType": 2, "name": "retention.ms", "value": "1"}

    assert Redaction().hides_raw("UserScramCredentialRecord", {"salt": "x"})
    assert Redaction().hides_raw("UserScramCredentialRecord", None)
    assert Redaction().hides_raw("ConfigRecord", None)
    assert not Redaction().hides_raw("ConfigRecord", shown_config)
    assert not Redaction(show_secrets=True).hides_raw("ConfigRecord", None)


def test_raw_bytes_that_are_not_understood_are_hidden() -> None:
    """Unknown types, what can't be decoded, unknown tags where a message may hold secrets."""
    data = {"resourceType": 2, "name": "retention.ms", "value": "1"}

    assert raw_is_secret(None, None)
    assert raw_is_secret("TopicRecord", None)
    assert raw_is_secret("ConfigRecord", data, has_unknown_tags=True)
    assert not raw_is_secret("TopicRecord", {"name": "t"}, has_unknown_tags=True)
    assert not Redaction(show_secrets=True).hides_raw(None, None)


def test_a_secret_has_no_digest() -> None:
    """What stands in place of bytes tells them apart, but of a password nothing."""
    assert REDACTED == hidden_bytes("ConfigRecord", b"x", 7)
    assert hidden_bytes(None, b"xy", 7) == (
        "[redacted] 2 bytes in the batch at position 7, sha256 769a4e6d0003189c"
    )


def test_malformed_config_record_is_hidden() -> None:
    """Without a key there is no ground for showing the value."""
    assert {"value": REDACTED} == Redaction().record("ConfigRecord", {"value": "x"})


def test_own_passwords_are_always_hidden() -> None:
    """The secrets of metashell's own configuration have no switch."""
    assert REDACTED == redact.hide_own_property("sasl.jaas.config", "x")
    assert "SASL_SSL" == redact.hide_own_property("security.protocol", "SASL_SSL")


# What a peer repeats of ours.


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the secrets of one test."""
    monkeypatch.setattr(redact, "_own_secrets", {})


_FORMS = {
    "text": lambda raw: raw.decode(),
    "base64": lambda raw: base64.b64encode(raw).decode(),
    "base64url": lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="),
    "hex": lambda raw: raw.hex(),
    "HEX": lambda raw: raw.hex().upper(),
    "percent": lambda raw: quote(raw, safe=""),
    "all percent": lambda raw: "".join(f"%{byte:02x}" for byte in raw),
}


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("before", ["", "\0alice\0", "b", "bc"])
@pytest.mark.parametrize("secret", ["hunter2!!", "gr\u00fcn/gr\u00fcn?>~", "alice-secret" * 40])
def test_repeated_secret(secret: str, before: str, form: str) -> None:
    """A secret is found in each encoding, and whatever is encoded around it."""
    remember_secret(secret)
    said = _FORMS[form](f"{before}{secret}{before}".encode())
    around = _FORMS[form](before.encode()) if form in {"text", "percent", "all percent"} else ""
    expected = f"no user has {around}{REDACTED}{around}, sorry"
    assert expected == without_own_secrets(f"no user has {said}, sorry")


@pytest.mark.usefixtures("own")
def test_part_of_a_secret() -> None:
    """Nor is a part of a long secret shown."""
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"
    remember_secret(token)
    assert f"bad token {REDACTED}..." == without_own_secrets(f"bad token {token[5:30]}...")


@pytest.mark.usefixtures("own")
def test_short_secret() -> None:
    """A short secret is hidden where it is a word, or in the message that carried it."""
    remember_secret("PW", "\0alice\0PW")
    sent = base64.b64encode(b"\0alice\0PW").decode()
    said = f"PW is not the password of alice, HPWX ({sent})"
    expected = f"{REDACTED} is not the password of alice, HPWX ({REDACTED})"
    assert expected == without_own_secrets(said)


@pytest.mark.usefixtures("own")
@given(st.text(), st.text(min_size=1))
def test_any_peer_text(text: str, secret: str) -> None:
    """Whatever is said, a secret of ours is not repeated, and nothing else is lost."""
    remember_secret(secret)
    shown = without_own_secrets(text)
    if len(secret) >= 8:
        assert secret not in shown
    assert text == shown or REDACTED in shown


@pytest.mark.usefixtures("own")
def test_newest_secrets_are_remembered() -> None:
    """Tokens that are renewed again and again take no memory without end."""
    for i in range(1000):
        remember_secret(f"token-{i:06d}")
    assert f"token-000001 {REDACTED}" == without_own_secrets("token-000001 token-000999")
