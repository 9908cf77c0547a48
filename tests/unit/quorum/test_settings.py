"""Properties files: where the quorum is and how it is spoken to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import MetashellError, SourceError
from metashell.node_files.config import KafkaConfig
from metashell.node_files.properties import parse_properties
from metashell.quorum.settings import addresses_of, security_of
from metashell.security.settings import Address, KeyStore, SaslSettings, Security, TlsSettings
from support.strategies import CHARACTERS

MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="u" password="hunter2";'
SCRAM = f"{MODULES}.scram.ScramLoginModule required username='u' password='hunter2';"
PLAIN_SETTINGS = SaslSettings(mechanism="PLAIN", username="u", password="hunter2")


def config(text: str) -> KafkaConfig:
    """A file `f` with these properties."""
    return KafkaConfig("f", parse_properties(text.encode("latin-1"), "f"))


def security(text: str) -> Security:
    """What a file with these properties says."""
    return security_of(config(text))


def error_of(text: str) -> SourceError:
    """The error that a file with these properties is; it names no secret."""
    with pytest.raises(SourceError) as caught:
        security(text)
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.message.startswith("f")
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bootstrap.controllers=a:1,b:2", [Address("a", 1), Address("b", 2)]),
        ("controller.quorum.bootstrap.servers=a:1", [Address("a", 1)]),
        ("controller.quorum.voters=1@a:1,2@b:2", [Address("a", 1, 1), Address("b", 2, 2)]),
        ("controller.quorum.voters=1@a:1\nbootstrap.controllers=c:1", [Address("c", 1)]),
        ("bootstrap.controllers=\ncontroller.quorum.voters=1@a:1", [Address("a", 1, 1)]),
        ("bootstrap.servers=x:1\ncontroller.quorum.voters=1@a:1", [Address("a", 1, 1)]),
    ],
)
def test_addresses(text: str, expected: list[Address]) -> None:
    """The client's key goes before the node's."""
    assert tuple(expected) == addresses_of(config(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bootstrap.servers=a:1\nbootstrap.controllers=b:1", "f sets both `bootstrap.controllers`"),
        ("bootstrap.servers=a:1", "f names brokers (`bootstrap.servers`) and no controller"),
        ("a=b", "f does not name a controller"),
        ("bootstrap.controllers=a", "f: `bootstrap.controllers`: `a`: it has no port"),
    ],
)
def test_no_addresses(text: str, message: str) -> None:
    """KIP-919: brokers can't be asked, and two ways are one too many."""
    with pytest.raises(SourceError) as caught:
        addresses_of(config(text))
    assert caught.value.message.startswith(message)


def test_brokers_alone_get_a_hint() -> None:
    """It says that a controller's listener is needed."""
    with pytest.raises(SourceError) as caught:
        addresses_of(config("bootstrap.servers=a:1"))
    assert "a controller's listener is needed" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["", "acks=all\ngroup.id=g", "security.protocol=plaintext"])
def test_plain_is_the_default(text: str) -> None:
    """As of Kafka's clients; what other clients need gives no noise."""
    assert Security() == security(text)
    assert Security() == security_of(None)


def test_tls_of_a_client() -> None:
    """Stores, passwords, versions and suites."""
    assert security(
        """security.protocol=SSL
        ssl.truststore.location=/t.jks
        ssl.truststore.password= hunter2\x20
        ssl.keystore.location=/k
        ssl.keystore.type=pkcs12
        ssl.keystore.password=hunter3
        ssl.key.password=hunter4
        ssl.enabled.protocols=TLSv1.2, TLSv1.3
        ssl.cipher.suites=TLS_AES_128_GCM_SHA256,
        request.timeout.ms=5000
        """
    ) == Security(
        protocol="SSL",
        tls=TlsSettings(
            truststore=KeyStore(type="JKS", path="/t.jks", password="hunter2"),
            keystore=KeyStore(
                type="PKCS12", path="/k", password="hunter3", key_password="hunter4"
            ),
            protocols=("TLSv1.2", "TLSv1.3"),
            cipher_suites=("TLS_AES_128_GCM_SHA256",),
        ),
        request_timeout_ms=5000,
    )  # fmt: skip


def test_pem_text() -> None:
    """A client's certificate and authorities in the properties themselves."""
    tls = security(
        "security.protocol=SSL\nssl.truststore.certificates=CA\n"
        "ssl.keystore.certificate.chain=CHAIN\nssl.keystore.key=line1\\nhunter2\n"
    ).tls
    assert tls == TlsSettings(
        truststore=KeyStore(type="PEM", certificates="CA"),
        keystore=KeyStore(type="PEM", certificates="CHAIN", key="line1\nhunter2"),
    )
    assert "hunter2" not in repr(tls)


@pytest.mark.parametrize(
    ("path", "said", "expected"),
    [
        ("/a.p12", "", "PKCS12"),
        ("/a.PFX", "", "PKCS12"),
        ("/a.pem", "", "PEM"),
        ("/a.pem", "JKS", "JKS"),
        ("/a.crt", "", "JKS"),
        ("/a.crt", "pem", "PEM"),
        ("/p12", "", "JKS"),
    ],
)
def test_type_of_a_store(path: str, said: str, expected: str) -> None:
    """What is said, else what the suffix tells, else Java's own."""
    tls = security(
        f"security.protocol=SSL\nssl.truststore.location={path}\nssl.truststore.type={said}"
    ).tls
    assert tls is not None
    assert tls.truststore is not None
    assert expected == tls.truststore.type


def test_a_pem_store_has_no_password() -> None:
    """One that is given is told as ignored."""
    found = security(
        "security.protocol=SSL\nssl.truststore.location=/a.pem\nssl.truststore.password=hunter2"
    )
    assert found.tls == TlsSettings(truststore=KeyStore(type="PEM", path="/a.pem"))
    assert ("`ssl.truststore.password` is ignored: a PEM store has no password",) == found.notices


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", True),
        ("ssl.endpoint.identification.algorithm=https", True),
        ("ssl.endpoint.identification.algorithm=HTTPS", True),
        ("ssl.endpoint.identification.algorithm=", False),
    ],
)
def test_check_of_the_host(line: str, expected: bool) -> None:
    """On unless the property is empty."""
    tls = security(f"security.protocol=SSL\n{line}").tls
    assert tls is not None
    assert expected is tls.verify_host


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("ssl.protocol=TLSv1.3", ()),
        ("ssl.protocol=TLSv1.2", ("TLSv1.2",)),
        ("ssl.protocol=TLSv1.2\nssl.enabled.protocols=TLSv1.3,TLSv1.2,TLSv1.1",
         ("TLSv1.2", "TLSv1.1")),
        ("ssl.protocol=TLSv1.3\nssl.enabled.protocols=TLSv1.2", ("TLSv1.2",)),
    ],
)  # fmt: skip
def test_tls_versions(text: str, expected: tuple[str, ...]) -> None:
    """A lower `ssl.protocol` takes TLSv1.3 out."""
    tls = security(f"security.protocol=SSL\n{text}").tls
    assert tls is not None
    assert expected == tls.protocols


def test_sasl_plain_and_scram_of_a_client() -> None:
    """Name and password of the JAAS entry, further options beside them."""
    found = security(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
                     f"sasl.jaas.config={PLAIN}")  # fmt: skip
    assert Security(protocol="SASL_PLAINTEXT", sasl=PLAIN_SETTINGS) == found
    assert "hunter2" not in repr(found)
    token = SCRAM.replace(";", ' tokenauth="true";')
    found = security(f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
                     f"sasl.jaas.config={token}")  # fmt: skip
    assert found.tls == TlsSettings()
    assert found.sasl == SaslSettings(
        mechanism="SCRAM-SHA-512", username="u", password="hunter2", options={"tokenauth": "true"}
    )


def test_oauthbearer_and_gssapi_of_a_client() -> None:
    """Options of the entry and properties by their whole names; Kafka's own handler is known."""
    found = security(f"""security.protocol=SASL_SSL
        sasl.mechanism=OAUTHBEARER
        sasl.oauthbearer.token.endpoint.url=https://idp/token
        sasl.login.callback.handler.class={MODULES}.oauthbearer.secured.OAuthBearerLoginCallbackHandler
        sasl.jaas.config={MODULES}.oauthbearer.OAuthBearerLoginModule required \
          clientId=me clientSecret="hunter2";
        """)
    assert found.notices == ()
    assert found.sasl == SaslSettings(
        mechanism="OAUTHBEARER",
        options={
            "clientId": "me",
            "clientSecret": "hunter2",
            "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
        },
    )
    assert "hunter2" not in repr(found)
    found = security("""security.protocol=SASL_PLAINTEXT
        sasl.kerberos.service.name=kafka
        sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;
        """)
    assert found.sasl == SaslSettings(
        mechanism="GSSAPI",
        options={"useTicketCache": "true", "sasl.kerberos.service.name": "kafka"},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("security.protocol=hunter2", "f: `security.protocol` names a security protocol that"),
        ("request.timeout.ms=-1", "f: `request.timeout.ms` is `-1`: must be a number"),
        ("request.timeout.ms=1s", "f: `request.timeout.ms` is `1s`: must be a number"),
        ("security.protocol=SSL\n"
         "ssl.endpoint.identification.algorithm=L required password=hunter2",
         "f: `ssl.endpoint.identification.algorithm` is `[redacted]`: must be"),
        ("request.timeout.ms=99999999999999", "f: `request.timeout.ms` is `99999999999999`: must"),
        ("security.protocol=SSL\nssl.endpoint.identification.algorithm=LDAPS",
         "f: `ssl.endpoint.identification.algorithm` is `LDAPS`: must be `https` or empty"),
        ("security.protocol=SSL\nssl.truststore.location=/t\nssl.truststore.type=BCFKS",
         "f: `ssl.truststore.type` is `BCFKS`: only JKS, PKCS12, PEM stores can be read"),
        ("security.protocol=SSL\nssl.truststore.certificates=hunter2\nssl.truststore.type=JKS",
         "f: `ssl.truststore.type` is `JKS`: only a PEM store can stand in the properties"),
        ("security.protocol=SSL\nssl.truststore.certificates=hunter2\nssl.truststore.location=/t",
         "f sets both `ssl.truststore.location` and `ssl.truststore.certificates`"),
        ("security.protocol=SSL\nssl.keystore.key=hunter2",
         "f sets `ssl.keystore.key` without `ssl.keystore.certificate.chain`"),
        ("security.protocol=SSL\nssl.keystore.certificate.chain=hunter2",
         "f sets `ssl.keystore.certificate.chain` without `ssl.keystore.key`"),
        ("security.protocol=SSL\nssl.protocol=TLSv1.2\nssl.enabled.protocols=TLSv1.3",
         "f: `ssl.protocol` is `TLSv1.2`: `ssl.enabled.protocols` allows only TLSv1.3"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM",
         "f: `sasl.mechanism` is `AWS_MSK_IAM`: metashell does not support this mechanism"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=hunter2",
         "f: `sasl.mechanism` is `[redacted]`: metashell does not support this mechanism"),
        ("security.protocol=SSL\nssl.truststore.location=/t\nssl.truststore.type=hunter2",
         "f: `ssl.truststore.type` is `[redacted]`: only JKS, PKCS12, PEM stores can be read"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN",
         "f: `sasl.jaas.config` is not set, and PLAIN logs in with it"),
        ("security.protocol=SASL_SSL", "f: `sasl.jaas.config` is not set, and GSSAPI logs in"),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={SCRAM}",
         f"f: `sasl.jaas.config`: PLAIN logs in with {MODULES}.plain.PlainLoginModule, not with "
         f"{MODULES}.scram.ScramLoginModule"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config="
         + PLAIN.replace("username", "usrname"),
         "f: `sasl.jaas.config` has no option `username`, which PLAIN needs"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config="
         + PLAIN.replace("password", "pw"),
         "f: `sasl.jaas.config` has no option `password`, which PLAIN needs"),
    ],
)  # fmt: skip
def test_errors(text: str, message: str) -> None:
    """Each names the file and the property, and no secret."""
    assert error_of(text).message.startswith(message)


def test_a_jaas_file_of_java_gets_a_hint() -> None:
    """It says where the entry may be, and how it looks as a property."""
    hint = error_of("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN").hint or ""
    assert "java.security.auth.login.config" in hint
    assert f"`sasl.jaas.config={MODULES}.plain.PlainLoginModule required ...;`" in hint


SERVER = """
process.roles=controller
node.id=1
controller.listener.names=CTL, OTHER
listeners=CTL://:9093,OTHER://:9094
listener.security.protocol.map=CTL:SASL_SSL,OTHER:PLAINTEXT,PLAINTEXT:PLAINTEXT
sasl.mechanism.controller.protocol=SCRAM-SHA-256
sasl.enabled.mechanisms=SCRAM-SHA-256
"""


def test_a_servers_file() -> None:
    """Properties of the controllers' listener go before those of the file."""
    found = security(
        SERVER
        + f"""
        listener.name.ctl.scram-sha-256.sasl.jaas.config={SCRAM}
        listener.name.ctl.ssl.truststore.location=/ctl.p12
        listener.name.ctl.ssl.endpoint.identification.algorithm=
        listener.name.other.ssl.truststore.password=hunter9
        ssl.endpoint.identification.algorithm=https
        ssl.truststore.location=/all.jks
        ssl.truststore.password=hunter3
        delegation.token.secret.key=hunter4
        num.io.threads=8
        log.dirs=/d
        """
    )
    assert found == Security(
        protocol="SASL_SSL",
        tls=TlsSettings(
            truststore=KeyStore(type="PKCS12", path="/ctl.p12", password="hunter3"),
            verify_host=False,
        ),
        sasl=SaslSettings(mechanism="SCRAM-SHA-256", username="u", password="hunter2"),
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["listener.name.ctl.sasl.jaas.config"],
        ["sasl.jaas.config"],
        ["listener.name.ctl.scram-sha-256.sasl.jaas.config", "listener.name.ctl.sasl.jaas.config="],
    ],
)
def test_jaas_of_a_listener_falls_back(lines: list[str]) -> None:
    """To the listener's, then to the file's, as when somebody added it for a tool."""
    first, *others = lines
    found = security(SERVER + f"{first}={SCRAM}\n" + "\n".join(others))
    assert found.sasl is not None
    assert "hunter2" == found.sasl.password


def test_a_servers_plain_entry_lists_users() -> None:
    """Those that it lets in are none of our options."""
    entry = PLAIN.replace(";", ' user_u="hunter2" user_v="hunter5";')
    found = security(
        SERVER.replace("SCRAM-SHA-256", "PLAIN")
        + f"listener.name.ctl.plain.sasl.jaas.config={entry}"
    )
    assert found.sasl == PLAIN_SETTINGS


def test_oauthbearer_of_a_listener() -> None:
    """A property of the mechanism goes before that of the listener."""
    found = security(
        SERVER.replace("SCRAM-SHA-256", "OAUTHBEARER")
        + f"""
        listener.name.ctl.oauthbearer.sasl.jaas.config={MODULES}.oauthbearer.OAuthBearerLoginModule\
          required;
        listener.name.ctl.oauthbearer.sasl.oauthbearer.token.endpoint.url=https://a
        listener.name.ctl.sasl.oauthbearer.token.endpoint.url=https://b
        sasl.oauthbearer.expected.audience=c
        listener.name.ctl.oauthbearer.sasl.login.callback.handler.class=com.example.Mine
        """
    )
    assert found.sasl == SaslSettings(
        mechanism="OAUTHBEARER",
        options={
            "sasl.oauthbearer.token.endpoint.url": "https://a",
            "sasl.oauthbearer.expected.audience": "c",
        },
    )
    assert found.notices == (
        "`listener.name.ctl.oauthbearer.sasl.login.callback.handler.class` is ignored: "
        "metashell runs no Java",
    )


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        ("controller.listener.names=CONTROLLER", "PLAINTEXT"),
        ("controller.listener.names=SSL", "SSL"),
        ("controller.listener.names=ssl\nlistener.security.protocol.map=SSL:PLAINTEXT",
         "PLAINTEXT"),
        ("controller.listener.names=ctl\nlistener.security.protocol.map=CTL:ssl", "SSL"),
        ("controller.listener.names=SSL\nlistener.security.protocol.map=X:PLAINTEXT", "SSL"),
        ("listeners=PLAINTEXT://:9092\nsecurity.protocol=SSL", "SSL"),
    ],
)  # fmt: skip
def test_protocol_of_a_listener(text: str, protocol: str) -> None:
    """Of the map, which Kafka fills in where it is not set."""
    assert protocol == security(text).protocol


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("controller.listener.names=C\nlistener.security.protocol.map=X:SSL",
         "f: `listener.security.protocol.map` does not name the controllers' listener C"),
        ("controller.listener.names=C\nlisteners=C://:1,SSL://:2",
         "f: `listener.security.protocol.map` does not name the controllers' listener C"),
        ("controller.listener.names=C\nlistener.security.protocol.map=C:TLS",
         "f: `listener.security.protocol.map` names a security protocol that Kafka lacks"),
        ("process.roles=broker", "f does not say which security its controllers use"),
        (SERVER, "f: `listener.name.ctl.scram-sha-256.sasl.jaas.config` is not set"),
        (SERVER + "listener.name.ctl.ssl.truststore.location=/t\n"
         "listener.name.ctl.ssl.truststore.type=x",
         "f: `listener.name.ctl.ssl.truststore.type` is `x`: only"),
    ],
)  # fmt: skip
def test_errors_of_a_servers_file(text: str, message: str) -> None:
    """The property is named with its prefix."""
    assert error_of(text).message.startswith(message)


@pytest.mark.parametrize(
    ("text", "notices"),
    [
        ("acks=all\nkey.serializer=x\nnum.partitions=3\nproducer.x=y\nadmin.retries=3", []),
        ("retires=3\nsecurity.protocl=SSL", ["unknown property `security.protocl` is ignored",
         "1 more unknown property is ignored"]),
        ("security.protocl=hunter2", ["unknown property `security.protocl` is ignored"]),
        ("listener.name.a.ssl.key.password=x",
         ["unknown property `listener.name.a.ssl.key.password` is ignored"]),
        ("process.roles=broker\ncontroller.listener.names=C\nlistener.name.a.ssl.key.password=x\n"
         "listener.name.a.plain.sasl.jaas.config=x\nconfig.providers.x.class=y", []),
        ("process.roles=broker\ncontroller.listener.names=C\nlistener.name.a.ssl.kee.password=x",
         ["unknown property `listener.name.a.ssl.kee.password` is ignored"]),
        ("MIIEvQIBADANBg/kqhkiG9w0=\nhunter2", ["2 unknown properties are ignored"]),
        ("eyJhbGci.eyJzdWIi.c2ln", ["1 unknown property is ignored"]),
        ("a.1=\na.2=\na.3=\na.4=\na.5=\na.6=", [*(f"unknown property `a.{i}` is ignored"
         for i in range(1, 6)), "1 more unknown property is ignored"]),
        ("ssl.truststore.location=/t",
         ["`ssl.*` properties are not used: `security.protocol` is PLAINTEXT, as it is not set"]),
        (f"security.protocol=SSL\nsasl.jaas.config={PLAIN}",
         ["`sasl.*` properties are not used: `security.protocol` is SSL"]),
        ("ssl.endpoint.identification.algorithm=", []),
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN}\n"
         "sasl.client.callback.handler.class=a.B\nssl.engine.factory.class=a.C",
         ["`ssl.engine.factory.class` is ignored: metashell runs no Java",
          "`sasl.client.callback.handler.class` is ignored: metashell runs no Java"]),
    ],
)  # fmt: skip
def test_notices(text: str, notices: list[str]) -> None:
    """A mistake is told; what Kafka knows is not, nor what may be a piece of a key or token."""
    assert tuple(notices) == security(text).notices


PROVIDERS = """
config.providers=env,secrets,dir,vault
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
config.providers.secrets.class=org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.dir.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider
config.providers.vault.class=com.example.VaultConfigProvider
security.protocol=SSL
ssl.truststore.location=/t
"""


def password_of(text: str) -> str | None:
    """The trust store's password."""
    tls = security(PROVIDERS + text).tls
    assert tls is not None
    assert tls.truststore is not None
    return tls.truststore.password


def test_config_providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environment, file and directory, also as a part of a value."""
    monkeypatch.setenv("METASHELL_TEST_PASSWORD", "hünter2")
    (tmp_path / "f").write_text("a.b=hünter3\\u0021\n", encoding="utf-8")
    (tmp_path / "d").write_text("hunter4\n")
    key = "ssl.truststore.password="
    assert "hünter2" == password_of(key + "${env:METASHELL_TEST_PASSWORD}")
    assert "hünter3!" == password_of(key + f"${{secrets:{tmp_path}/f:a.b}}")
    assert "hunter4" == password_of(key + f"${{dir:{tmp_path}:d}}")
    both = f"${{env:METASHELL_TEST_PASSWORD}}-${{secrets:{tmp_path}/f:a.b}}"
    assert "hünter2-hünter3!" == password_of(key + both)
    assert "${hunter2}" == password_of(key + "${hunter2}")


@pytest.mark.parametrize(
    ("value", "more", "message"),
    [
        ("${nobody:x}", "", "needs a config provider that the file does not"),
        ("${vault:x:y}", "", "needs the config provider `vault`, which is not"),
        ("${env:a:b}", "", "needs the config provider `env`, which is not"),
        ("${env:NO_SUCH_VARIABLE}", "", ": the config provider `env` does not hold that key"),
        ("${env:PATH}", "config.providers.env.param.allowlist.pattern=^X_",
         ": the config provider `env` does not hold that key"),
        ("${env:PATH}", "config.providers.env.param.allowlist.pattern=(",
         ": `config.providers.env.param.allowlist.pattern` is not a valid pattern"),
        ("${secrets:/no/such:k}", "", ": /no/such: No such file or directory"),
        ("${secrets:k}", "", "needs a path for its config provider"),
        ("${secrets:/etc/../etc/passwd:k}", "config.providers.secrets.param.allowed.paths=/opt",
         "asks for a file outside of its provider's `allowed.paths`"),
        ("${dir:/etc:../etc/passwd}", "", ": the config provider `dir` does not hold that"),
        ("${dir:/:etc}", "", ": /etc: Is a directory"),
    ],
)  # fmt: skip
def test_config_providers_that_do_not_help(value: str, more: str, message: str) -> None:
    """The property is named."""
    with pytest.raises(MetashellError) as caught:
        password_of(f"ssl.truststore.password={value}\n{more}")
    assert caught.value.message.startswith("f: `ssl.truststore.password`")
    assert message in caught.value.message


KEYS = st.sampled_from(
    ["security.protocol", "sasl.mechanism", "sasl.jaas.config", "ssl.truststore.type",
     "ssl.truststore.location", "ssl.truststore.certificates", "ssl.keystore.key", "node.id",
     "ssl.endpoint.identification.algorithm", "controller.listener.names", "request.timeout.ms",
     "listener.security.protocol.map", "listener.name.c.plain.sasl.jaas.config", "ssl.protocol",
     "config.providers", "sasl.mechanism.controller.protocol"]
)  # fmt: skip
VALUES = st.sampled_from(
    ["SASL_SSL", "SSL", "PLAIN", "C", "c:SASL_SSL", PLAIN, SCRAM, "PEM", "${a:b}", "", "1", ","]
) | st.text(CHARACTERS, max_size=10)
SECRETS = st.sampled_from(
    ["ssl.truststore.password", "ssl.keystore.password", "ssl.key.password", "sasl.jaas.config",
     "ssl.keystore.key", "db.password", "hunter2"]
)  # fmt: skip


@given(st.dictionaries(KEYS, VALUES), st.dictionaries(SECRETS, st.just("hunter2")))
def test_any_properties(settings: dict[str, str], secrets: dict[str, str]) -> None:
    """Settings or an error of ours, and never a password in the words of either."""
    both = KafkaConfig("f", settings | secrets)
    try:
        found = security_of(both)
    except MetashellError as error:
        said = f"{error} {error.hint} {error!r}"
    else:
        said = f"{found!r} {found.notices}"
    assert "hunter2" not in said
