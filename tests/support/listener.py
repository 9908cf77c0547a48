"""A controller's listener and the properties file that fits it, for each way to secure one.

    listener = Listener("SASL_SSL", mechanism="PLAIN", trust="JKS", key="PKCS12")
    with listener.serve() as server:
        file = listener.config(tmp_path)        # client properties; server=True: server.properties

Certificates and stores are made when they are asked for; files go below the directory given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import javaproperties

from support.certificates import (
    Identity,
    der,
    issue,
    make_authority,
    pem,
    pkcs12_key_store,
    pkcs12_trust_store,
    server_context,
)
from support.fake_connection import Sasl
from support.fake_server import HOST, FakeQuorumServer
from support.jks import jks, private_key, trusted

USER: Final = "alice"
PASSWORD: Final = 'Pa55-of-"alice"; \\=,é'
"""What has to be escaped somewhere on its way is in it."""
WRONG_PASSWORD: Final = "Pa55-of-nobody"
TOKEN: Final = "signed.T0ken-of-alice.signature"
CLIENT_SECRET: Final = "s3cret-of-the-client"
STORE_PASSWORD: Final = "Pa55-of-the-store"
KEY_PASSWORD: Final = "Pa55-of-the-key"
SECRETS: Final = (PASSWORD, WRONG_PASSWORD, TOKEN, CLIENT_SECRET, STORE_PASSWORD, KEY_PASSWORD)
"""What must never be printed."""

ELSEWHERE: Final = "elsewhere.example"

_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    "GSSAPI": "com.sun.security.auth.module.Krb5LoginModule",
}


@cache
def root() -> Identity:
    """The authority of all controllers."""
    return make_authority("Root")


@cache
def controller(host: str = HOST) -> Identity:
    """A controller's certificate."""
    return issue(root(), host)


@cache
def clients() -> Identity:
    """The authority of all clients."""
    return make_authority("Clients")


@cache
def client() -> Identity:
    """A client's certificate."""
    return issue(clients(), "a-client")


def jaas(module: str, options: Mapping[str, str]) -> str:
    """An entry of ``sasl.jaas.config``."""
    quoted = (
        f'{name}="{value}"'
        for name, value in (
            (name, value.replace("\\", "\\\\").replace('"', '\\"'))
            for name, value in options.items()
        )
    )
    return " ".join((module, "required", *quoted)) + ";"


@dataclass(frozen=True, kw_only=True)
class Listener:
    """How a listener is secured, and how its client is configured."""

    protocol: str
    mechanism: str | None = None
    trust: str = "PEM"
    """``PEM``, ``PKCS12``, ``JKS`` or ``inline``."""
    key: str | None = None
    """Of the client's certificate: the same, or ``PEM+password`` and so on for a key that has a
    password of its own; None for no certificate."""
    verify_host: bool = True
    password: str = PASSWORD
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the JAAS entry, in place of user name and password."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Further ones of the client."""
    sasl: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the server's `Sasl`."""

    @property
    def has_tls(self) -> bool:
        """Whether TLS is spoken."""
        return self.protocol.endswith("SSL")

    def serve(self, n_controllers: int = 1) -> FakeQuorumServer:
        """A server, not started yet."""
        context = None
        if self.has_tls:
            host = HOST if self.verify_host else ELSEWHERE
            context = server_context(controller(host), clients=clients() if self.key else None)
        sasl = None
        if self.mechanism is not None:
            settings = {"users": {USER: PASSWORD}, "tokens": (TOKEN,), "subjects": (USER,)}
            only = {"mechanisms": (self.mechanism,)}
            sasl = Sasl(**{**settings, **only, **self.sasl})
        return FakeQuorumServer(n_controllers, context=context, sasl=sasl)

    def config(self, directory: Path, *, server: bool = False) -> str:
        """Write the properties file, and the stores that it names; returns its path.

        Args:
            directory: Where.
            server: As a controller's ``server.properties`` has it.
        """
        tls = self._trust(directory) | self._key(directory) if self.has_tls else {}
        if not self.verify_host:
            tls["ssl.endpoint.identification.algorithm"] = ""
        written = {**tls, **(self._sasl(server=server) if self.mechanism else {})}
        if server:
            written = {f"listener.name.controller.{key}": value for key, value in written.items()}
            written |= {
                "process.roles": "controller",
                "node.id": "1",
                "controller.listener.names": "CONTROLLER",
                "listeners": "CONTROLLER://:9093",
                "listener.security.protocol.map": f"CONTROLLER:{self.protocol}",
            }
            if self.mechanism:
                written["sasl.mechanism.controller.protocol"] = self.mechanism
        else:
            written["security.protocol"] = self.protocol
            if self.mechanism:
                written["sasl.mechanism"] = self.mechanism
        path = directory / ("server.properties" if server else "client.properties")
        path.write_text(javaproperties.dumps({**written, **self.properties}), encoding="latin-1")
        return str(path)

    def _sasl(self, *, server: bool) -> dict[str, str]:
        assert self.mechanism is not None
        options = dict(self.options or {"username": USER, "password": self.password})
        prefix = ""
        if server:
            # A server's entry also lists whom it lets in.
            prefix, options = f"{self.mechanism.lower()}.", options | {"user_bob": KEY_PASSWORD}
        return {f"{prefix}sasl.jaas.config": jaas(_MODULES[self.mechanism], options)}

    def _trust(self, directory: Path) -> dict[str, str]:
        certificate = root().certificate
        if self.trust == "inline":
            return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem(certificate)}
        made: dict[str, Callable[[], bytes]] = {
            "PEM": pem(certificate).encode,
            "PKCS12": lambda: pkcs12_trust_store([certificate], STORE_PASSWORD),
            "JKS": lambda: jks([trusted("ca", der(certificate))], STORE_PASSWORD),
        }
        return _store(directory, "ssl.truststore", self.trust, made[self.trust]())

    def _key(self, directory: Path) -> dict[str, str]:
        if self.key is None:
            return {}
        kind, _, own = self.key.partition("+")
        key_password = KEY_PASSWORD if own else None
        extra = {"ssl.key.password": KEY_PASSWORD} if own else {}
        mine = client()
        if kind == "inline":
            return extra | {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": mine.chain_pem,
                "ssl.keystore.key": mine.key_pem(key_password),
            }
        made: dict[str, Callable[[], bytes]] = {
            "PEM": (mine.key_pem(key_password) + mine.chain_pem).encode,
            "PKCS12": lambda: pkcs12_key_store(mine, STORE_PASSWORD),
            "JKS": lambda: jks(
                [
                    private_key(
                        "mine",
                        mine.pkcs8,
                        [der(c) for c in mine.chain],
                        key_password or STORE_PASSWORD,
                    )
                ],
                STORE_PASSWORD,
            ),
        }
        return extra | _store(directory, "ssl.keystore", kind, made[kind]())


def _store(directory: Path, prefix: str, kind: str, content: bytes) -> dict[str, str]:
    path = directory / prefix
    path.write_bytes(content)
    said = {f"{prefix}.type": kind, f"{prefix}.location": str(path)}
    return said if kind == "PEM" else said | {f"{prefix}.password": STORE_PASSWORD}
