"""How a connection to a controller is secured: what was configured, before anything is opened.

Plain values: `metashell.quorum.settings` makes them of Java properties, `metashell.security.tls`
and `metashell.security.sasl` act on them. Whatever is secret stays out of every repr.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Kafka's security protocols, by the names that properties give them."""

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
"""SASL mechanisms that we speak."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a controller listens."""

    host: str
    port: int
    node_id: int | None = None
    """From ``id@host:port``; None where only the address was given."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStore:
    """A key or trust store: a file, or PEM text given in the properties themselves."""

    type: str
    """``JKS``, ``PKCS12`` or ``PEM``."""
    path: str | None = None
    """None where the PEM text itself is given."""
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    """The password of the private key, where that has one of its own."""
    certificates: str | None = field(default=None, repr=False)
    """PEM text: of a trust store its certificates, of a key store the chain."""
    key: str | None = field(default=None, repr=False)
    """PEM text of the private key (PKCS#8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The settings from ``ssl.*`` properties."""

    truststore: KeyStore | None = None
    """None: the system's certificate authorities."""
    keystore: KeyStore | None = None
    """None: no client certificate."""
    verify_host: bool = True
    """False where ``ssl.endpoint.identification.algorithm`` is empty."""
    protocols: tuple[str, ...] = ()
    """``ssl.enabled.protocols``, such as ``TLSv1.3``; empty for the default."""
    cipher_suites: tuple[str, ...] = ()
    """``ssl.cipher.suites`` by Java's names; empty for the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings:
    """The settings from ``sasl.*`` properties."""

    mechanism: str
    """One of `MECHANISMS`."""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further options of the JAAS entry, and ``sasl.oauthbearer.*`` and ``sasl.kerberos.*``
    properties by their whole names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How to speak to a listener."""

    protocol: str = "PLAINTEXT"
    """One of `PROTOCOLS`."""
    tls: TlsSettings | None = None
    """Set for the protocols with SSL."""
    sasl: SaslSettings | None = None
    """Set for the protocols with SASL."""
    request_timeout_ms: int | None = None
    """``request.timeout.ms``, None where it is not set."""
    notices: tuple[str, ...] = ()
    """Sentences for the user, each about properties that are ignored."""
