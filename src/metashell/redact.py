"""The one policy for secrets, which every output passes through.

These are secret: SCRAM salts and keys, config values by their key, and the data of delegation
tokens in texts. Kafka itself hides the data of tokens in texts. Rows show it. The ids of tokens are
node names and are shown, too. Front ends hold one `Redaction` and ask it; nothing else in the
program decides what is secret or has a switch of its own. This module imports nothing of ours and
never writes anything.

A prefix ``listener.name.<name>.`` of a config key, and a mechanism after it, are ignored. A config
key is secret in three cases:
- It ends with one of Kafka's keys of type PASSWORD.
- It contains a telling word. This holds even for keys that are known to hold a number
  (``delegation.token.max.lifetime.ms``): to hide one value too many does no harm.
- It belongs to a broker, and no Kafka release knows it. Plugins keep credentials there. A resource
  of a type that Kafka does not know is taken for a broker.

A field of a message is secret, too, if its name, or the name of a field in it, has a telling word:
nobody knows what a new definition means by it. The few harmless fields with such names are listed.

Bytes that were not understood may hold anything: they are hidden as well (`raw_is_secret`), in
outputs and in files that the program keeps.

Passwords and tokens that the program sends are remembered here (`remember_secret`), so that a peer
that repeats one is not printed (`without_own_secrets`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Final, TypeVar

from metashell.dataclass import dataclass
from metashell.shipped import shipped

REDACTED: Final = "[redacted]"
"""The text that replaces a secret in every kind of output."""

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
    "password|passphrase|secret|jaas|token|credential|private|hmac"
    r"|ssl\.keystore\.key|ssl\.keystore\.certificate\.chain",
    re.IGNORECASE,
)
_OWN: Final = "CLIENT"
"""The resource type that stands for metashell's own configuration."""
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

_NO_TIME: Final = -1
"""Kafka's time of what has none."""

_NO_SECRETS: Final[Mapping[str, frozenset[str]]] = {
    TOKEN_RECORD: frozenset({"tokenId"}),
    "RemoveDelegationTokenRecord": frozenset({"tokenId"}),
}
"""Fields that are known to be no secret, whatever they are called."""
_named_secrets: dict[str, frozenset[str]] = {}
"""Fields that are secret by their names, by message, of the definitions that were read."""

_NONE: Final[frozenset[str]] = frozenset()

_DIGEST_DIGITS: Final = 16

_OWN_MAX: Final = 64
"""Secrets of our own that are remembered, the newest; tokens are renewed again and again."""
_PART_CHARS: Final = 12
"""The length in characters of a part of a longer secret that is hidden, too."""
_WORD_CHARS: Final = 8
"""A shorter secret may be a part of any word: it is hidden where it is a word of its own."""
_ENCODED_CHARS_MIN: Final = 6
"""A shorter piece of base64 or hex could be any word."""
_SAID_CHARS_MAX: Final = 4096
"""The characters of a peer's text that are printed at most."""
_PERCENT: Final = re.compile(rb"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
"""The characters of base64 and hex, matched around a piece that was found."""

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


def name_fields(record_name: str, fields: Mapping[str, Iterable[str]]) -> None:
    """Take the names of a message's fields from its definition: some mean a secret.

    A field that another definition of the message made secret stays secret.

    Args:
        record_name: The message's name.
        fields: Its fields by Kafka's names, each with the names of those in it.
    """
    secret = {
        name for name, inner in fields.items() if any(map(_TELLING.search, (name, *inner)))
    } - _NO_SECRETS.get(record_name, _NONE)
    if secret:
        _named_secrets[record_name] = _named_secrets.get(record_name, _NONE) | secret


def _always_secret(record_name: str) -> frozenset[str]:
    """Fields that are secret in the text of every record."""
    return _SECRET_FIELDS.get(record_name, _NONE) | _named_secrets.get(record_name, _NONE)


def record_secret_fields(record_name: str, data: Mapping[str, object]) -> frozenset[str]:
    """Name the fields of a decoded record that are secret.

    Args:
        record_name: The message's name, such as ``UserScramCredentialRecord``.
        data: The record's fields by Kafka's names, such as ``storedKey``.
    """
    always = _always_secret(record_name)
    if record_name != CONFIG_RECORD:
        return always
    # A null value deletes the config: there is nothing to hide, and the deletion should show.
    if data.get("value", "") is None:
        return always
    code = data.get("resourceType")
    # An unknown type is taken for a broker's, whose rule is the strictest.
    resource_type = CONFIG_RESOURCE_TYPES.get(code, "BROKER") if isinstance(code, int) else "BROKER"
    key = data.get("name")
    if isinstance(key, str) and not is_secret_config(resource_type, key):
        return always
    return always | {"value"}


def row_secret_fields(record_name: str) -> frozenset[str]:
    """Name the fields that are secret in every row of a table, and in what is kept of a record.

    A token has no such fields: operators ask who owns it and when it expires, and its HMAC is not
    in the metadata. A config's value is secret in some rows, see `is_secret_config`.
    """
    if record_name == TOKEN_RECORD:
        return _named_secrets.get(record_name, _NONE)
    return _always_secret(record_name)


def stand_in(record_name: str, form: str, value: object, default: object) -> object:
    """A value in the place of a secret, in a file that Kafka's tools read: of the same type.

    Args:
        record_name: The message's name.
        form: The type of the field, or of its elements, such as ``string``.
        value: The secret, or a list.
        default: The value of the field where it is absent.
    """
    if value is None:
        return None
    if form == "int64" and isinstance(value, int):
        return _NO_TIME
    if form not in ("string", "bytes"):
        return default
    if isinstance(value, list):
        return [stand_in(record_name, form, one, default) for one in value]
    if form == "bytes":
        return REDACTED.encode()
    # Kafka reads no token without the type of a principal.
    is_principal = record_name == TOKEN_RECORD and ":" in str(value)
    return f"User:{REDACTED}" if is_principal else REDACTED


def type_may_hold_secrets(record_name: str) -> bool:
    """Tell whether some records of a message hold a secret."""
    return record_name == CONFIG_RECORD or bool(_always_secret(record_name))


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
    """The text in place of a record's bytes, with their number, position and digest.

    A message that may hold secrets gets no digest: whoever has the digest of a weak password can
    find the password by guessing.

    Args:
        record_name: The message's name; None if no definition describes the record.
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


_own_secrets: dict[str, None] = {}


def remember_secret(secret: str, within: str = "") -> None:
    """Remember a password or token that is sent, for `without_own_secrets`.

    Args:
        secret: The secret.
        within: The message that carries it, as a short secret can't be found in base64.
    """
    for one in (secret, within if len(secret) < _WORD_CHARS else ""):
        _own_secrets.pop(one, None)
        if one:
            _own_secrets[one] = None
    for oldest in list(_own_secrets)[:-_OWN_MAX]:
        del _own_secrets[oldest]


def without_own_secrets(text: str) -> str:
    """A peer's text without any secret that was sent, be it as text, base64, hex or with ``%XX``.

    A part of a long secret is hidden as well, and so is the whole encoded text around a secret. A
    very long text is cut.
    """
    head = text[:_SAID_CHARS_MAX]
    secret = [span for one in _own_secrets for span in _spans(head, one)]
    kept, pos = [], 0
    for start, stop in sorted(secret):
        if start > pos:
            kept.append(head[pos:start])
        if stop > pos and (start > pos or not kept or kept[-1] != REDACTED):
            kept.append(REDACTED)
        pos = max(pos, stop)
    return "".join((*kept, head[pos:]))


def _spans(text: str, secret: str) -> Iterator[tuple[int, int]]:
    """Where a text repeats a secret."""
    raw = secret.encode("utf-8", "surrogatepass")
    # The text's bytes, each as a character, with percent-encoded bytes decoded.
    decoded, begins = [], []
    pos, chars = 0, text.encode("utf-8", "surrogatepass")
    at_byte = [i for i, c in enumerate(text) for _ in c.encode("utf-8", "surrogatepass")]
    for piece in _PERCENT.findall(chars):
        decoded.append(chr(int(piece[1:], 16)) if len(piece) == 3 else chr(piece[0]))
        begins.append(at_byte[pos])
        pos += len(piece)
    begins.append(len(text))
    for start, stop in _parts("".join(decoded), raw.decode("latin-1")):
        yield begins[start], begins[stop]
    yield from _parts(text, secret)
    standard = text.translate({ord("-"): "+", ord("_"): "/"})
    for view, form in ((text.lower(), raw.hex()), *((standard, one) for one in _base64(raw))):
        if len(form) < _ENCODED_CHARS_MIN or len(view) != len(text):
            continue
        for start, stop in _parts(view, form, is_encoded=True):
            head = _RUN.match(text[:start][::-1])
            tail = _RUN.match(text, stop)
            assert head is not None
            assert tail is not None
            yield start - head.end(), tail.end()


def _parts(text: str, secret: str, *, is_encoded: bool = False) -> Iterator[tuple[int, int]]:
    """Where a text has a secret, or so much of it that it tells something."""
    n = min(len(secret), _PART_CHARS)
    if n < _WORD_CHARS and not is_encoded:
        found = re.finditer(rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])", text)
        return (match.span() for match in found)
    parts = {secret[i : i + n] for i in range(len(secret) - n + 1)}
    return ((i, i + n) for i in range(len(text) - n + 1) if text[i : i + n] in parts)


def _base64(raw: bytes) -> Iterator[str]:
    """The characters of base64 that only a secret decides, wherever it stands among others."""
    from base64 import b64encode

    for before, n_mixed in ((0, 0), (1, 2), (2, 3)):
        text = b64encode(bytes(before) + raw).decode()
        yield text[n_mixed : (before + len(raw)) * 8 // 6]


@dataclass(frozen=True, slots=True)
class Redaction:
    """The secrets that one run of the program may show; the default hides all of them."""

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
