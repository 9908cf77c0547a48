"""The one policy for secrets, which every output passes through.

What counts as secret: SCRAM salts and keys; the data of delegation tokens in texts, as Kafka itself
hides it there (not their ids, which are node names, and not in rows); config values by their key.
Front ends hold one `Redaction` and ask it; nothing else in the program decides what is secret or
has a switch of its own. This module imports nothing of ours and never writes anything.

A config key is secret where, a ``listener.name.<name>.`` prefix and a mechanism after it aside, it
ends with one of Kafka's keys of type PASSWORD or contains a telling word, or where it belongs to a
broker and no Kafka release knows it (plugins keep credentials there); a resource of a type that
Kafka does not know is taken for a broker. A telling word decides even
in keys that are known to hold a number (``delegation.token.max.lifetime.ms``): to hide one too many
is the harmless mistake.

Bytes that were not understood may hold anything: they are hidden as well (`raw_is_secret`), in
outputs and in files that the program keeps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, TypeVar

from metashell.dataclass import dataclass
from metashell.shipped import shipped

REDACTED: Final = "[redacted]"
"""What stands in place of a secret, in every kind of output."""

SCRAM_RECORD: Final = "UserScramCredentialRecord"
TOKEN_RECORD: Final = "DelegationTokenRecord"
CONFIG_RECORD: Final = "ConfigRecord"

CONFIG_RESOURCE_TYPES: Final[Mapping[int, str]] = {
    2: "TOPIC",
    4: "BROKER",
    8: "BROKER_LOGGER",
    16: "CLIENT_METRICS",
    32: "GROUP",
}
"""Kafka's names of the resource types that stand as numbers in a ConfigRecord."""

_PASSWORD_KEYS: Final = (
    "delegation.token.master.key",
    "delegation.token.secret.key",
    "password.encoder.old.secret",
    "password.encoder.secret",
    "sasl.jaas.config",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.client.credentials.client.secret",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.certificates",
    "ssl.truststore.password",
    "zookeeper.ssl.keystore.password",
    "zookeeper.ssl.truststore.password",
)
"""Keys of type PASSWORD in any Kafka release."""

_TELLING: Final = re.compile(
    "password|secret|jaas|token|credential|private"
    r"|ssl\.keystore\.key|ssl\.keystore\.certificate\.chain",
    re.IGNORECASE,
)
_OWN: Final = "CLIENT"
"""In place of a resource's type: metashell's own configuration."""
_LENIENT: Final = frozenset({*CONFIG_RESOURCE_TYPES.values(), _OWN, ""}) - {"BROKER"}
"""Types whose unknown keys are shown."""
_LISTENER_PREFIX: Final = re.compile(r"listener\.name\.[^.]+\.(?=.)")
_MECHANISM_PREFIX: Final = re.compile(r"[^.]+\.(?=sasl\.|connections\.max\.reauth\.ms$)")

_SECRET_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    SCRAM_RECORD: frozenset({"salt", "storedKey", "serverKey"}),
    TOKEN_RECORD: frozenset(
        {
            "owner",
            "requester",
            "renewers",
            "issueTimestamp",
            "maxTimestamp",
            "expirationTimestamp",
        }
    ),
}
"""Fields, by Kafka's names, that are secret in the text of every record of the type."""

_NONE: Final[frozenset[str]] = frozenset()

_DIGEST_DIGITS: Final = 16

_T = TypeVar("_T")


@lru_cache(maxsize=1 << 12)
def is_secret_config(resource_type: str, key: str) -> bool:
    """Tell whether a config's value is secret.

    Args:
        resource_type: Kafka's name of the type, such as ``BROKER``.
        key: The config's key, with any prefix.
    """
    if _TELLING.search(key) or key.lower().endswith(_PASSWORD_KEYS):
        return True
    return resource_type not in _LENIENT and not is_known_config_key(key)


def is_known_config_key(key: str) -> bool:
    """Tell whether a Kafka release knows the key, and knows it to be no secret."""
    known = _known_config_keys()
    if key in known:
        return True
    bare = _LISTENER_PREFIX.sub("", key, count=1)
    if bare == key:
        return False
    return bare in known or _MECHANISM_PREFIX.sub("", bare, count=1) in known


def record_secret_fields(record_name: str, data: Mapping[str, object]) -> frozenset[str]:
    """Name the fields of a decoded record that are secret.

    Args:
        record_name: The message's name, such as ``UserScramCredentialRecord``.
        data: The record's fields by Kafka's names, such as ``storedKey``.
    """
    if record_name != CONFIG_RECORD:
        return _SECRET_FIELDS.get(record_name, frozenset())
    # A null value deletes the config: there is nothing to hide, and the deletion should show.
    if data.get("value", "") is None:
        return frozenset()
    code = data.get("resourceType")
    # An unknown type is taken for a broker's, whose rule is the strictest.
    resource_type = CONFIG_RESOURCE_TYPES.get(code, "BROKER") if isinstance(code, int) else "BROKER"
    key = data.get("name")
    if isinstance(key, str) and not is_secret_config(resource_type, key):
        return frozenset()
    return frozenset({"value"})


def row_secret_fields(record_name: str) -> frozenset[str]:
    """Name the fields that are secret in every row of a table, and in what is kept of a record.

    A token's are none: whose it is and how long it holds is what an operator asks for, and its HMAC
    is not in the metadata. Of configs the value is secret in some rows, see `is_secret_config`.
    """
    return _NONE if record_name == TOKEN_RECORD else _SECRET_FIELDS.get(record_name, _NONE)


def type_may_hold_secrets(record_name: str) -> bool:
    """Tell whether some records of a message hold a secret."""
    return record_name == CONFIG_RECORD or record_name in _SECRET_FIELDS


def raw_is_secret(
    record_name: str | None, data: Mapping[str, object] | None, *, has_unknown_tags: bool = False
) -> bool:
    """Tell whether the raw bytes of a record are secret as a whole: of any that is not understood.

    Args:
        record_name: The message's name, None where no definition describes the record: an unknown
            type of record or control record, a frame that can't be read, a record's key.
        data: The decoded fields by Kafka's names, None where the record can't be decoded.
        has_unknown_tags: Whether it has tagged fields that its definition does not know.
    """
    if record_name is None or data is None:
        return True
    if has_unknown_tags and type_may_hold_secrets(record_name):
        return True
    return bool(record_secret_fields(record_name, data))


def hidden_bytes(record_name: str | None, raw: bytes, pos: int) -> str:
    """What stands in place of a record's bytes: how many, where, and a digest to compare them by.

    Of a message that may hold secrets nothing is told: who has the digest of a weak password can
    find it by guessing.

    Args:
        record_name: As for `raw_is_secret`.
        raw: The bytes.
        pos: Position of the record's batch in its file.
    """
    if record_name is not None and type_may_hold_secrets(record_name):
        return REDACTED
    from hashlib import sha256

    digest = sha256(raw).hexdigest()[:_DIGEST_DIGITS]
    return f"{REDACTED} {len(raw)} bytes in the batch at position {pos}, sha256 {digest}"


def hide_own_property(key: str, value: str) -> str:
    """Hide a password or token of metashell's own configuration, whatever was asked for."""
    return REDACTED if is_secret_config(_OWN, key) else value


@dataclass(frozen=True, slots=True)
class Redaction:
    """What one run of the program may show; the default hides every secret."""

    show_secrets: bool = False
    """Whether the user asked to see secrets (``--show-secrets``)."""

    def secret(self, value: _T) -> _T | str:
        """Return a value that is known to be secret, or what stands in its place."""
        return value if self.show_secrets else REDACTED

    def config_value(self, resource_type: str, key: str, value: str) -> str:
        """Return a config's value, or what stands in its place."""
        return REDACTED if self.hides_config(resource_type, key) else value

    def hides_config(self, resource_type: str, key: str) -> bool:
        """Tell whether a config's value must not be shown."""
        return not self.show_secrets and is_secret_config(resource_type, key)

    def record(self, record_name: str, data: Mapping[str, object]) -> Mapping[str, object]:
        """Return a decoded record with its secret fields replaced."""
        if self.show_secrets:
            return data
        secret = record_secret_fields(record_name, data)
        if secret.isdisjoint(data):
            return data
        return {name: REDACTED if name in secret else value for name, value in data.items()}

    def hides_raw(
        self,
        record_name: str | None,
        data: Mapping[str, object] | None,
        *,
        has_unknown_tags: bool = False,
    ) -> bool:
        """Tell whether a record's raw bytes must not be shown; see `raw_is_secret`."""
        return not self.show_secrets and raw_is_secret(
            record_name, data, has_unknown_tags=has_unknown_tags
        )


@cache
def _known_config_keys() -> frozenset[str]:
    """Read the keys of topics, brokers, groups and client metrics of all releases since 2.8."""
    path = shipped(__file__, "redact_data") / "known_config_keys.txt"
    return frozenset(path.read_text(encoding="ascii").split())
