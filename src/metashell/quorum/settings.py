"""The way to a quorum as a properties file gives it: addresses and security.

Owns how Kafka reads these properties. The file is a client's, or ``server.properties`` of a
broker or controller: in that the properties of the controllers' listener count. Opens no store and
no connection. Must never put the value of a secret property into an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from metashell.errors import SourceError, UsageError
from metashell.node_files.config import KafkaConfig
from metashell.quorum.addresses import parse_addresses
from metashell.quorum.known_keys import is_known_key, may_be_shown
from metashell.redact import REDACTED, hide_own_property
from metashell.security.jaas import check_module, login_module, parse_jaas
from metashell.security.providers import resolve_variables
from metashell.security.settings import (
    MECHANISMS,
    PROTOCOLS,
    Address,
    KeyStore,
    SaslSettings,
    Security,
    TlsSettings,
)

_SERVER_KEYS: Final = ("process.roles", "node.id", "controller.listener.names", "listeners")
"""Any of these makes a file a broker's or controller's."""

_MECHANISM_DEFAULT: Final = "GSSAPI"
_STORE_TYPES: Final = ("JKS", "PKCS12", "PEM")
_STORE_TYPES_BY_SUFFIX: Final[Mapping[str, str]] = {
    ".p12": "PKCS12", ".pfx": "PKCS12", ".pem": "PEM",
}  # fmt: skip
_TLS_BEFORE_1_3: Final = ("TLSv1", "TLSv1.1", "TLSv1.2")
_TIMEOUT_MAX_MS: Final = (1 << 31) - 1

_OAUTH_HANDLER: Final = "OAuthBearerLoginCallbackHandler"
"""Class that gets a token as ``sasl.oauthbearer.*`` say, which is what we do without it."""
_PLUGINS_OF_SASL: Final = (
    "sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class",
)  # fmt: skip
_PLUGINS_OF_TLS: Final = ("ssl.engine.factory.class", "ssl.provider")
_WORD: Final = re.compile(r"[\w.+-]*")
_SHOWN: Final = re.compile(
    r"[\d.+-]{0,19}[a-z]{0,2}|true|false|https?|ldaps|none|jks|jceks|pkcs11|pkcs12|bcfks|pem"
    r"|(ssl|tls)(v[\d.]{1,3})?|anonymous|external|(cram|digest)-md5|ntlm|aws_msk_iam|plain"
    r"|scram-sha-\d{1,3}|oauthbearer|gssapi",
    re.IGNORECASE,
)
"""Wrong values that errors show: a number, or a name that Java or Kafka knows somewhere."""
_UNKNOWN_MAX: Final = 5
"""Unknown properties that are named one by one."""

_BLANKS: Final = "".join(map(chr, range(0x21)))
"""The characters that Java trims from a value."""


def addresses_of(config: KafkaConfig) -> tuple[Address, ...]:
    """The addresses of controllers that a file names.

    Raises:
        SourceError: It names none, or brokers, or what is no address; or a file with a value can't
            be read.
    """
    view = _View(config)
    controllers = view.text("bootstrap.controllers")
    if view.text("bootstrap.servers"):
        if controllers:
            raise SourceError(
                f"{config.file} sets both `bootstrap.controllers` and `bootstrap.servers`",
                hint="leave out `bootstrap.servers`: metashell speaks to controllers",
            )
        if not config.names_quorum():
            raise SourceError(
                f"{config.file} names brokers (`bootstrap.servers`) and no controller",
                hint="a controller's listener is needed: "
                "`bootstrap.controllers=HOST:PORT`, or `-q HOST:PORT`",
            )
    for key in (
        "bootstrap.controllers",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
    ):
        text = view.text(key)
        if text:
            try:
                return parse_addresses(text, view.what(key))
            except UsageError as e:
                # Mistakes in a file are the source's, and exit so; those in arguments the user's.
                raise SourceError(e.message, hint=e.hint) from e
    raise SourceError(
        f"{config.file} does not name a controller",
        hint="it needs `bootstrap.controllers` or `controller.quorum.bootstrap.servers`; "
        "or give `-q HOST:PORT`",
    )


def security_of(config: KafkaConfig | None) -> Security:
    """How to speak to the controllers; plain where there is no file.

    Raises:
        SourceError: A property is missing, wrong, or does not fit another; or a file with a value
            can't be read.
    """
    if config is None:
        return Security()
    server = any(config.settings.get(key, "").strip(_BLANKS) for key in _SERVER_KEYS)
    listener = _listener_of(config) if server else None
    view = _View(config, listener)
    if listener is None:
        protocol_key = "security.protocol"
        protocol = _protocol(view.text(protocol_key) or "PLAINTEXT", view.what(protocol_key))
    else:
        protocol = _protocol_of_listener(listener, _View(config))
    notices = list(_unused(view, protocol)) if listener is None else []
    tls = _tls(view, notices) if protocol.endswith("SSL") else None
    sasl = _sasl(view, notices) if protocol.startswith("SASL") else None
    return Security(
        protocol=protocol,
        tls=tls,
        sasl=sasl,
        request_timeout_ms=_request_timeout(view),
        notices=(*notices, *_unknown(config, server=server)),
    )


class _View:
    """A file's properties as one listener sees them; without a listener, as they stand.

    Kafka's order of look-up: ``listener.name.<name>.<mechanism>.<key>``, where the mechanism is
    known, else ``listener.name.<name>.<key>``, else ``<key>``.
    """

    def __init__(self, config: KafkaConfig, listener: str | None = None) -> None:
        self.config = config
        self.listener = listener
        self._prefixes = [""] if listener is None else [f"listener.name.{listener.lower()}.", ""]

    def of_mechanism(self, mechanism: str) -> _View:
        """The properties as they are for one mechanism."""
        view = _View(self.config, self.listener)
        if self.listener is not None:
            view._prefixes.insert(0, f"{self._prefixes[0]}{mechanism.lower()}.")
        return view

    def name(self, key: str) -> str:
        """The whole name under which a property is set; where it is not, the first that counts."""
        names = [prefix + key for prefix in self._prefixes]
        return next((name for name in names if name in self.config.settings), names[0])

    def what(self, key: str) -> str:
        """A property and its file, as errors call it."""
        return f"{self.config.file}: `{self.name(key)}`"

    def get(self, key: str) -> str | None:
        """A property's value, which may be empty; None where it is not set."""
        name = self.name(key)
        value = self.config.settings.get(name)
        if value is None:
            return None
        settings = self.config.settings
        return resolve_variables(name, value, settings, self.config.file).strip(_BLANKS)

    def text(self, key: str) -> str | None:
        """A property's value; None where it is not set or empty."""
        return self.get(key) or None

    def words(self, key: str) -> tuple[str, ...]:
        """The parts of a value between commas."""
        return tuple(word for part in (self.get(key) or "").split(",") if (word := part.strip()))

    def keys(self, *prefixes: str) -> list[str]:
        """Keys, without what is before them, of all properties that begin so."""
        found = {
            name.removeprefix(before)
            for before in self._prefixes
            for name in self.config.settings
            if name.startswith(before)
        }
        return sorted(key for key in found if key.startswith(prefixes))

    def error(self, key: str, reason: str, *, hint: str | None = None) -> SourceError:
        """The error for a property whose value is wrong, with that value unless it is secret."""
        name = self.name(key)
        value = self.config.settings.get(name, "").strip(_BLANKS)
        # A value that slipped under another key may be a password, or a JAAS string that holds one.
        shown = hide_own_property(name, value) if _SHOWN.fullmatch(value) else REDACTED
        return SourceError(f"{self.what(key)} is `{shown}`: {reason}", hint=hint)


def _listener_of(config: KafkaConfig) -> str | None:
    """The controllers' listener of a server's file, of several the first as in Kafka."""
    view, key = _View(config), "controller.listener.names"
    names = view.words(key)
    if names:
        if not _WORD.fullmatch(names[0]):
            raise view.error(key, "not the name of a listener")
        return names[0]
    # Somebody's notes on how to connect, with a broker's file around them.
    if config.settings.get("security.protocol", "").strip(_BLANKS):
        return None
    raise SourceError(
        f"{config.file} does not say which security its controllers use",
        hint="it needs `controller.listener.names`, or `security.protocol` as a client's file has",
    )


def _protocol_of_listener(listener: str, view: _View) -> str:
    """The security protocol of a listener: of the map, else by its name, else plain."""
    key = "listener.security.protocol.map"
    mapped: dict[str, str] = {}
    for word in view.words(key):
        name, _, protocol = word.rpartition(":")
        mapped[name.strip().upper()] = protocol
    found = mapped.get(listener.upper())
    if found is not None:
        return _protocol(found, view.what(key))
    if listener.upper() in PROTOCOLS:
        return listener.upper()
    listeners = [text.partition("://")[0].strip().upper() for text in view.words("listeners")]
    names = [name.upper() for name in view.words("controller.listener.names")]
    secured = {*PROTOCOLS} - {"PLAINTEXT"}
    if key in view.config.settings or not secured.isdisjoint([*listeners, *names]):
        raise SourceError(
            f"{view.what(key)} does not name the controllers' listener {listener}",
            hint=f"add `{listener}:PROTOCOL`, of {', '.join(PROTOCOLS)}",
        )
    return "PLAINTEXT"


def _protocol(text: str, what: str) -> str:
    """One of the four security protocols."""
    protocol = text.strip().upper()
    if protocol not in PROTOCOLS:
        raise SourceError(
            f"{what} names a security protocol that Kafka lacks",
            hint=f"give one of {', '.join(PROTOCOLS)}",
        )
    return protocol


def _request_timeout(view: _View) -> int | None:
    """``request.timeout.ms``."""
    key = "request.timeout.ms"
    text = view.text(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text[:11]) <= _TIMEOUT_MAX_MS):
        raise view.error(key, "must be a number of milliseconds")
    return int(text[:11])


def _tls(view: _View, notices: list[str]) -> TlsSettings:
    """Read the ``ssl.*`` properties."""
    check = view.get("ssl.endpoint.identification.algorithm")
    if check and check.lower() != "https":
        raise view.error(
            "ssl.endpoint.identification.algorithm",
            "must be `https` or empty",
            hint="leave it empty to skip the check of the host name",
        )
    notices += _ignored(view, _PLUGINS_OF_TLS)
    return TlsSettings(
        truststore=_truststore(view, notices),
        keystore=_keystore(view, notices),
        verify_host=check != "",
        protocols=_tls_versions(view),
        cipher_suites=view.words("ssl.cipher.suites"),
    )


def _tls_versions(view: _View) -> tuple[str, ...]:
    """Versions to offer: ``ssl.protocol`` below 1.3 takes 1.3 out of the enabled ones."""
    enabled = view.words("ssl.enabled.protocols")
    if view.text("ssl.protocol") not in _TLS_BEFORE_1_3:
        return enabled
    left = tuple(name for name in enabled or ("TLSv1.2", "TLSv1.3") if name != "TLSv1.3")
    if not left:
        raise view.error("ssl.protocol", "`ssl.enabled.protocols` allows only TLSv1.3")
    return left


def _store_type(view: _View, kind: str, *, has_text: bool) -> str:
    """The type of a store; where it is not said, what its name or its text tells."""
    key = f"{kind}.type"
    said = view.text(key)
    if said is None:
        path = view.text(f"{kind}.location") or ""
        suffix = path[path.rfind(".") :].lower() if "." in path else ""
        return "PEM" if has_text else _STORE_TYPES_BY_SUFFIX.get(suffix, "JKS")
    if said.upper() not in _STORE_TYPES:
        raise view.error(key, f"only {', '.join(_STORE_TYPES)} stores can be read")
    if has_text and said.upper() != "PEM":
        raise view.error(key, "only a PEM store can stand in the properties themselves")
    return said.upper()


def _check_one_place(view: _View, kind: str, key: str, *, has_text: bool) -> None:
    """Refuse a store that is given as a file and as text."""
    if has_text and view.text(f"{kind}.location"):
        raise SourceError(
            f"{view.config.file} sets both `{view.name(f'{kind}.location')}` and "
            f"`{view.name(key)}`",
            hint="a store is a file or PEM text",
        )


def _store_password(view: _View, kind: str, store_type: str, notices: list[str]) -> str | None:
    """The password of a store; a PEM file has none."""
    key = f"{kind}.password"
    password = view.get(key)
    if store_type != "PEM":
        return password
    if password:
        notices.append(f"`{view.name(key)}` is ignored: a PEM store has no password")
    return None


def _truststore(view: _View, notices: list[str]) -> KeyStore | None:
    """The trusted certificates; None for the system's authorities."""
    kind, key = "ssl.truststore", "ssl.truststore.certificates"
    certificates = view.text(key)
    path = view.text(f"{kind}.location")
    _check_one_place(view, kind, key, has_text=certificates is not None)
    if certificates is None and path is None:
        return None
    store_type = _store_type(view, kind, has_text=certificates is not None)
    return KeyStore(
        type=store_type,
        path=path,
        password=_store_password(view, kind, store_type, notices),
        certificates=certificates,
    )


def _keystore(view: _View, notices: list[str]) -> KeyStore | None:
    """The client's certificate; None for none."""
    kind, chain_key, key_key = (
        "ssl.keystore", "ssl.keystore.certificate.chain", "ssl.keystore.key",
    )  # fmt: skip
    chain, key = view.text(chain_key), view.text(key_key)
    path = view.text(f"{kind}.location")
    if (chain is None) != (key is None):
        given, missing = (key_key, chain_key) if chain is None else (chain_key, key_key)
        raise SourceError(
            f"{view.config.file} sets `{view.name(given)}` without `{missing}`",
            hint="a client's certificate needs both, or `ssl.keystore.location`",
        )
    _check_one_place(view, kind, key_key, has_text=key is not None)
    if key is None and path is None:
        return None
    store_type = _store_type(view, kind, has_text=key is not None)
    return KeyStore(
        type=store_type,
        path=path,
        password=_store_password(view, kind, store_type, notices),
        key_password=view.get("ssl.key.password"),
        certificates=chain,
        key=key,
    )


def _sasl(view: _View, notices: list[str]) -> SaslSettings:
    """Read the ``sasl.*`` properties."""
    server = view.listener is not None
    mechanism_key = "sasl.mechanism.controller.protocol" if server else "sasl.mechanism"
    mechanism = (view.text(mechanism_key) or _MECHANISM_DEFAULT).upper()
    if mechanism not in MECHANISMS:
        raise view.error(
            mechanism_key,
            "metashell does not support this mechanism",
            hint=f"it speaks {', '.join(MECHANISMS)}",
        )
    view = view.of_mechanism(mechanism)
    key = "sasl.jaas.config"
    what = view.what(key)
    text = view.text(key)
    if text is None:
        raise SourceError(
            f"{what} is not set, and {mechanism} logs in with it",
            hint="copy the entry from the JAAS file that java.security.auth.login.config names: "
            f"`{key}={login_module(mechanism)} required ...;`",
        )
    entry = parse_jaas(text, what)
    check_module(entry, mechanism, what)
    options = dict(entry.options)
    notices += _ignored(view, _PLUGINS_OF_SASL)
    username = password = None
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM"):
        username, password = options.pop("username", None), options.pop("password", None)
        if username is None or password is None:
            missing = "username" if username is None else "password"
            raise SourceError(f"{what} has no option `{missing}`, which {mechanism} needs")
        # A server's entry also lists whom it lets in, with their passwords.
        options = {name: options[name] for name in options if not name.startswith("user_")}
    options |= {
        name: value
        for name in view.keys("sasl.oauthbearer.", "sasl.kerberos.")
        if (value := view.text(name)) is not None
    }
    return SaslSettings(mechanism=mechanism, username=username, password=password, options=options)


def _ignored(view: _View, keys: tuple[str, ...]) -> Iterator[str]:
    """Notices of Java classes that would do a part of the work."""
    for key in keys:
        value = view.text(key)
        if value is not None and value.replace("$", ".").rpartition(".")[2] != _OAUTH_HANDLER:
            yield f"`{view.name(key)}` is ignored: metashell runs no Java"


def _unused(view: _View, protocol: str) -> Iterator[str]:
    """Notices of properties that the security protocol does not use, a common slip."""
    how = protocol if view.text("security.protocol") else f"{protocol}, as it is not set"
    for prefix, used in (
        ("ssl.", protocol.endswith("SSL")),
        ("sasl.", protocol.startswith("SASL")),
    ):
        # The raw values do: a property that is not used need not be resolved.
        if not used and any(map(view.config.settings.get, view.keys(prefix))):
            yield f"`{prefix}*` properties are not used: `security.protocol` is {how}"


def _unknown(config: KafkaConfig, *, server: bool) -> list[str]:
    """Notices of properties that Kafka does not know; keys, never values."""
    unknown = [key for key in config.settings if not is_known_key(key, server=server)]
    named = sorted(filter(may_be_shown, unknown))[:_UNKNOWN_MAX]
    n_more = len(unknown) - len(named)
    notices = [f"unknown property `{key}` is ignored" for key in named]
    if n_more:
        notices.append(
            f"{n_more} {'more ' if named else ''}unknown "
            f"{'property is' if n_more == 1 else 'properties are'} ignored"
        )
    return notices
