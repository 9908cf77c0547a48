"""GSSAPI with real tickets: a KDC on loopback, and a server that accepts them as Kafka's does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from metashell.security.sasl import Mechanism, SaslError, make_mechanism
from metashell.security.settings import SaslSettings
from support.fake_connection import Acceptor, Sasl
from support.fake_server import FakeQuorumServer
from support.kerberos import REALM, JavaAcceptor, Realm, has_jdk, missing
from support.listener import Listener
from support.live_program import LS, Run, check_works, failure
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"needs {missing()}")

_ALICE = f"alice@{REALM}"
_SERVICE = "sasl.kerberos.service.name"
_KINIT = "get one with `kinit`"


class _World:
    """A realm with a service and a user in it."""

    def __init__(self, realm: Realm) -> None:
        self.realm = realm
        # Controllers tell each other's address by number.
        self.services = str(realm.keytab("kafka/localhost", "kafka/127.0.0.1"))
        self.alice = realm.keytab("alice")

    def listener(
        self,
        options: Mapping[str, str],
        *,
        protocol: str = "SASL_PLAINTEXT",
        service: str = "kafka",
        **sasl: object,
    ) -> Listener:
        """A listener, and how its client logs in."""
        return Listener(
            protocol=protocol,
            mechanism="GSSAPI",
            options=options,
            properties={_SERVICE: service},
            sasl={"keytab": self.services, **sasl},
        )

    def keytab(self, **more: str) -> dict[str, str]:
        """Options that log in as Alice."""
        options = {"useKeyTab": "true", "keyTab": str(self.alice), "principal": _ALICE}
        return options | more


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    with Realm(tmp_path_factory.mktemp("realm")) as made:
        yield _World(made)


@pytest.fixture
def world(realm: _World, monkeypatch: pytest.MonkeyPatch) -> _World:
    """This process belongs to the realm; it has no ticket."""
    for name, value in realm.realm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("KRB5_KTNAME", raising=False)
    monkeypatch.delenv("KRB5_CLIENT_KTNAME", raising=False)
    return realm


def _by_name(server: FakeQuorumServer) -> str:
    return f"localhost:{server.port(1)}"


def test_as_people_write_it(world: _World, run: Run, tmp_path: Path) -> None:
    """A keytab and a principal as Kafka's documentation has them; no ticket is left behind."""
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\n"
        "sasl.mechanism=GSSAPI\n"
        "sasl.kerberos.service.name=kafka\n"
        "sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required \\\n"
        "    useKeyTab=true \\\n"
        "    storeKey=true  \\\n"
        f'    keyTab="{world.alice}" \\\n'
        f'    principal="{_ALICE}";\n'
    )
    sasl = Sasl(mechanisms=("GSSAPI",), keytab=world.services)
    before = sorted(world.realm.directory.iterdir())
    with FakeQuorumServer(1, sasl=sasl) as server:
        server.append(4)
        check_works(run("-q", _by_name(server), "--config", str(file), *LS))
        wait_until(lambda: server.n_open == 0, "a connection is still open")
    assert before == sorted(world.realm.directory.iterdir())


@pytest.mark.parametrize("server_file", [False, True], ids=["client", "server"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_keytab(protocol: str, server_file: bool, world: _World, run: Run, tmp_path: Path) -> None:
    """With and without TLS, with a client's file as with a controller's own."""
    listener = world.listener(world.keytab(), protocol=protocol)
    with listener.serve(2) as server:
        file = listener.config(tmp_path, server=server_file)
        check_works(run("-q", server.address(2), "--config", file, *LS))


@pytest.mark.parametrize("options", [{}, {"principal": _ALICE}], ids=["anybody", "alice"])
def test_own_ticket(
    options: dict[str, str],
    world: _World,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ticket that `kinit` got, whoever it is of or of a principal that is named."""
    cache = tmp_path / "cache"
    world.realm.kinit("alice", world.alice, cache)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    listener = world.listener({"useTicketCache": "true", **options})
    with listener.serve() as server:
        check_works(run("-q", _by_name(server), "--config", listener.config(tmp_path), *LS))


@pytest.mark.parametrize("prefix", ["", "FILE:"])
def test_ticket_cache(prefix: str, world: _World, run: Run, tmp_path: Path) -> None:
    """A cache that the login module names."""
    cache = tmp_path / "cache"
    world.realm.kinit("alice", world.alice, cache)
    listener = world.listener({"useTicketCache": "true", "ticketCache": f"{prefix}{cache}"})
    with listener.serve() as server:
        check_works(run("-q", _by_name(server), "--config", listener.config(tmp_path), *LS))


def _said(listener: Listener, run: Run, directory: Path) -> str:
    """What the program says of one controller that it can't get into."""
    with listener.serve() as server:
        address = _by_name(server)
        said = failure(run("-q", address, "--config", listener.config(directory), *LS))
    assert f"{address}: " in said
    assert "Major" not in said
    assert "Minor" not in said
    return said


def test_no_ticket(world: _World, run: Run, tmp_path: Path) -> None:
    """Where one was looked for, and how to get one."""
    said = _said(world.listener({"useTicketCache": "true"}), run, tmp_path)
    assert ": no Kerberos ticket for kafka@localhost: No Kerberos credentials available" in said
    assert f"{world.realm.directory}/tickets" in said
    assert _KINIT in said


def test_no_ticket_of_that_name(
    world: _World, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ticket, but not of the principal that is named."""
    cache = tmp_path / "cache"
    world.realm.kinit("alice", world.alice, cache)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    listener = world.listener({"useTicketCache": "true", "principal": f"bob@{REALM}"})
    assert f"bob@{REALM}" in _said(listener, run, tmp_path)


def test_wrong_service(world: _World, run: Run, tmp_path: Path) -> None:
    """A service that nobody knows: which, and what to look at; a new ticket would not help."""
    said = _said(world.listener(world.keytab(), service="kafkx"), run, tmp_path)
    assert f"Server kafkx/localhost@{REALM} not found in Kerberos database" in said
    assert f"`{_SERVICE}`" in said
    assert "kinit" not in said


def test_wrong_keytab(world: _World, run: Run, tmp_path: Path) -> None:
    """A keytab that is not there, is none, or holds no key of the principal: which it is."""
    missing_file, no_keytab = tmp_path / "none.keytab", tmp_path / "odd.keytab"
    no_keytab.write_bytes(b"odd")
    for options, words in (
        (world.keytab(keyTab=str(missing_file)), f"'{missing_file}' not found"),
        (world.keytab(keyTab=str(no_keytab)), "Unsupported key table format version number"),
        (world.keytab(principal=f"bob@{REALM}"), f"entry found for bob@{REALM}"),
    ):
        assert words in _said(world.listener(options), run, tmp_path)


def test_unknown_principal(world: _World, run: Run, tmp_path: Path) -> None:
    """The keytab is older than the realm: the KDC does not know who that is."""
    keytab = world.realm.keytab("carol")
    world.realm.remove("carol")
    options = world.keytab(keyTab=str(keytab), principal=f"carol@{REALM}")
    said = _said(world.listener(options), run, tmp_path)
    assert f"Client 'carol@{REALM}' not found in Kerberos database" in said


def test_server_without_the_key(world: _World, run: Run, tmp_path: Path) -> None:
    """The controller can't read the ticket: what it says is said."""
    listener = world.listener(world.keytab(), keytab=str(world.alice))
    assert f": authentication with GSSAPI failed: {Sasl.refusal}" in _said(listener, run, tmp_path)


def test_security_layer(world: _World, run: Run, tmp_path: Path) -> None:
    """Kerberos that would encrypt all that follows is refused, as Kafka never does it."""
    listener = world.listener(world.keytab(), layers=b"\6\1\0\0")
    assert "insists on a security layer of Kerberos" in _said(listener, run, tmp_path)


def test_kdc_out_of_reach(world: _World, run: Run, tmp_path: Path) -> None:
    """Nobody gives tickets."""
    world.realm.stop()
    try:
        said = _said(world.listener(world.keytab()), run, tmp_path)
    finally:
        world.realm.start()
    assert f"Cannot contact any KDC for realm '{REALM}'" in said
    assert "krb5.conf" in said


def _make(world: _World) -> Mechanism:
    settings = SaslSettings(mechanism="GSSAPI", options={_SERVICE: "kafka", **world.keytab()})
    return make_mechanism(settings, "localhost")


_FAILED = "the exchange with kafka@localhost failed: [A-Z]"


def test_java(world: _World) -> None:
    """The very class that Kafka's servers speak GSSAPI with lets us in, as who we are."""
    if not has_jdk():
        pytest.skip("needs a JDK of 17 or newer")
    server = JavaAcceptor(world.realm, Path(world.services), "kafka/localhost")
    try:
        peer = _make(world)
        answer: bytes | None = peer.first()
        said = []
        while answer is not None:
            said.append(server.said(answer))
            answer = peer.step(said[-1])
        assert peer.is_done
        assert _ALICE == server.who()
    finally:
        server.stop()
    _, offer, end = said
    # A token of RFC 4121, not sealed: what it wraps stands in it.
    assert Sasl().layers in offer
    assert not end


@pytest.mark.parametrize("challenge", [b"", b"odd", b"\0" * 1000])
def test_hostile_challenge(challenge: bytes, world: _World) -> None:
    """Neither a proof nor an offer can be made up."""
    peer = _make(world)
    assert peer.first()
    with pytest.raises(SaslError, match=_FAILED):
        peer.step(challenge)
    server, peer = Acceptor(Sasl(keytab=world.services)), _make(world)
    proof = server.said(peer.first())
    assert proof
    assert b"" == peer.step(proof)
    with pytest.raises(SaslError, match=_FAILED):
        peer.step(challenge)
    assert not peer.is_done


def test_proof_of_another_exchange(world: _World) -> None:
    """What a controller said to somebody else proves nothing."""
    server, others, peer = Acceptor(Sasl(keytab=world.services)), _make(world), _make(world)
    proof = server.said(others.first())
    assert proof
    assert peer.first()
    with pytest.raises(SaslError, match=_FAILED):
        peer.step(proof)
