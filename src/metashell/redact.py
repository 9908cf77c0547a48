"""The one policy for secrets, which every output passes through.

What counts as secret: SCRAM salts and keys; the data of delegation tokens (not their ids, which are
node names); config values by their key. Front ends hold one `Redaction` and ask it; nothing else in
the program decides what is secret or has a switch of its own. This module imports nothing of ours
and never writes anything.

A config key is secret where, a ``listener.name.<name>.`` prefix and a mechanism after it aside, it
ends with one of Kafka's keys of type PASSWORD or contains a telling word, or where it belongs to a
broker and no Kafka release knows it (plugins keep credentials there); a resource of a type that
Kafka does not know is taken for a broker. A telling word decides even
in keys that are known to hold a number (``delegation.token.max.lifetime.ms``): to hide one too many
is the harmless mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

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
"""Fields, by Kafka's names, that are secret in every record of the type."""

_T = TypeVar("_T")


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


def record_may_hold_secrets(record_name: str, data: Mapping[str, object] | None) -> bool:
    """Tell whether the raw bytes of a record are secret as a whole.

    Args:
        record_name: The message's name.
        data: The decoded fields, or None where the record can't be decoded; then a type that can
            hold secrets does.
    """
    if data is None:
        return record_name == CONFIG_RECORD or record_name in _SECRET_FIELDS
    return bool(record_secret_fields(record_name, data))


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

    def hides_raw(self, record_name: str, data: Mapping[str, object] | None) -> bool:
        """Tell whether a record's raw bytes must not be shown."""
        return not self.show_secrets and record_may_hold_secrets(record_name, data)


@cache
def _known_config_keys() -> frozenset[str]:
    """Read the keys of topics, brokers, groups and client metrics of all releases since 2.8."""
    path = shipped(__file__, "redact_data") / "known_config_keys.txt"
    return frozenset(path.read_text(encoding="ascii").split())
