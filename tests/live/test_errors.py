"""What can be wrong with a quorum or the way to it: one clear sentence each."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from metashell.findings.known import all_kinds
from metashell.quorum.protocol import Api
from support.certificates import Identity, issue, make_authority, self_signed, server_context
from support.fake_connection import Sasl
from support.fake_habits import broker_versions
from support.fake_quorum import CLUSTER_ID
from support.fake_server import HOST, FakeQuorumServer
from support.fixtures import SAMPLE
from support.listener import (
    ELSEWHERE,
    PASSWORD,
    STORE_PASSWORD,
    WRONG_PASSWORD,
    Listener,
    clients,
    controller,
    root,
)
from support.live_program import LS, Run, check_works, failure
from support.waiting import wait_until

_PLAINTEXT: Final = Listener(protocol="PLAINTEXT")
_SSL: Final = Listener(protocol="SSL")
_SASL: Final = Listener(protocol="SASL_PLAINTEXT", mechanism="PLAIN")
_SASL_SSL: Final = Listener(protocol="SASL_SSL", mechanism="PLAIN")

_NO_TLS: Final = "it speaks no TLS there: is it a PLAINTEXT listener? (`security.protocol`)"
_TLS: Final = "it closed the connection: does that listener speak TLS? (security.protocol)"
_NO_SASL: Final = "that listener does not use SASL (security.protocol)"
_WANTS_SASL: Final = (
    "it closed the connection instead of an answer: does that listener want SASL?"
    " (security.protocol)"
)


@contextlib.contextmanager
def _free_port() -> Iterator[int]:
    """A port that stays free, as nobody listens at the socket that has it."""
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        yield sock.getsockname()[1]


def test_not_reachable(run: Run) -> None:
    """No controller reachable: each address with its reason."""
    with _free_port() as port:
        said = failure(run("-q", f"7@{HOST}:{port},no-such-host.invalid:9093", *LS))
    assert said == (
        f"no controller can be reached: {HOST}:{port}: connection refused; "
        "no-such-host.invalid:9093: no such host\n"
        "  hint: a leader needs 2 of 2 voters, if all 2 controllers that are known here vote;"
        f" without an answer: {HOST}:{port} (controller 7), no-such-host.invalid:9093;"
        " `metashell -d DIR` reads a node's directory without a quorum"
    )


@pytest.mark.parametrize("host", ["a..b", ".", "-", "x" * 64, "xn--a.invalid", "é" * 40, "%"])
@pytest.mark.parametrize("listener", [_PLAINTEXT, _SSL], ids=["plain", "TLS"])
def test_odd_host(host: str, listener: Listener, run: Run, tmp_path: Path) -> None:
    """A name that can't be one."""
    result = run("-q", f"{host}:9093", "--config", listener.config(tmp_path), *LS)
    assert result.code in (2, 3)
    assert host in failure(result, result.code)


@pytest.mark.parametrize("host", ["a..b", ".", "x" * 64, "é" * 40])
def test_odd_host_that_answers(
    host: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that the system resolves, and that TLS can't ask for."""
    with _SSL.serve() as server:
        found = socket.getaddrinfo(HOST, server.port(1), type=socket.SOCK_STREAM)
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        result = run("-q", f"{host}:9093", "--config", _SSL.config(tmp_path), *LS)
    assert result.code in (2, 3)
    assert host in failure(result, result.code)


@pytest.mark.parametrize("serves_metadata", [False, True])
def test_broker(serves_metadata: bool, run: Run) -> None:
    """A broker's address, told by what it serves or by what it answers."""
    with FakeQuorumServer(1) as server:
        habits = server.quorum.controllers[1].habits
        habits.is_broker = True
        if serves_metadata:
            habits.versions = broker_versions()
        said = failure(run("-q", server.address(), *LS))
    assert said.startswith(
        f"{server.address()}: that is a broker; give a controller's listener (KIP-919)"
    )
    assert "hint: controllers listen where `controller.quorum.bootstrap.servers` or" in said


def test_broker_that_knows_other_users(run: Run, tmp_path: Path) -> None:
    """That it is a broker is said, and not that its logins are others."""
    other = Listener(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-512")
    with other.serve() as server:
        server.quorum.controllers[1].habits.versions = broker_versions()
        said = failure(run("-q", server.address(), "--config", _SASL.config(tmp_path), *LS))
    assert said.startswith(f"{server.address()}: that is a broker")


@pytest.mark.parametrize(
    ("listener", "spoken", "reason"),
    [
        (_PLAINTEXT, _SSL, _NO_TLS),
        (_PLAINTEXT, _SASL, _NO_SASL),
        (_PLAINTEXT, _SASL_SSL, _NO_TLS),
        (_SSL, _PLAINTEXT, _TLS),
        (_SSL, _SASL, _TLS),
        (_SSL, _SASL_SSL, _NO_SASL),
        (_SASL, _PLAINTEXT, _WANTS_SASL),
        (_SASL, _SSL, _NO_TLS),
        (_SASL, _SASL_SSL, _NO_TLS),
        (_SASL_SSL, _PLAINTEXT, _TLS),
        (_SASL_SSL, _SSL, _WANTS_SASL),
        (_SASL_SSL, _SASL, _TLS),
    ],
    ids=lambda value: value.protocol if isinstance(value, Listener) else "",
)
def test_wrong_protocol(
    listener: Listener, spoken: Listener, reason: str, run: Run, tmp_path: Path
) -> None:
    """Another security protocol than the listener's, which is what the error asks about."""
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", spoken.config(tmp_path), *LS))
    assert f"{server.address()}: {reason}" in said
    assert "hint: set `security.protocol`" in said


def test_listener_that_alerts(run: Run) -> None:
    """A TLS port that answers plain text with an alert, as Java's does."""
    with _server_that_says(b"\x15\x03\x03\x00\x02\x02\x50") as address:
        said = failure(run("-q", address, *LS))
    assert said.startswith(f"{address}: that listener speaks TLS: set security.protocol to SSL")


@contextlib.contextmanager
def _server_that_says(answer: bytes) -> Iterator[str]:
    from support.tls_server import serve

    with serve(None, answer=answer) as address:
        yield str(address)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_wrong_password(mechanism: str, run: Run, tmp_path: Path) -> None:
    """The mechanism and what the controller says; the passwords nowhere."""
    # As Kafka's SaslServerAuthenticator words it for SCRAM.
    refusal = f"{Sasl.refusal} with SASL mechanism {mechanism}"
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism=mechanism,
        password=WRONG_PASSWORD,
        sasl={"refusal": refusal},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert said.startswith(
        f"{server.address()}: authentication with {mechanism} failed: Authentication failed"
    )
    assert "hint: see `sasl.mechanism` and `sasl.jaas.config` of `--config FILE`" in said


def test_wrong_token(run: Run, tmp_path: Path) -> None:
    """A token that the controllers do not believe."""
    options = {"unsecuredLoginStringClaim_sub": "nobody"}
    listener = Listener(protocol="SASL_PLAINTEXT", mechanism="OAUTHBEARER", options=options)
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert said.startswith(f"{server.address()}: authentication with OAUTHBEARER failed")


def test_hostile_token_refusal(run: Run, tmp_path: Path) -> None:
    """A refusal that repeats the token."""
    (tmp_path / "token").write_text(WRONG_PASSWORD)
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism="OAUTHBEARER",
        options={"ignored": "x"},
        properties={
            "sasl.oauthbearer.token.endpoint.url": (tmp_path / "token").as_uri(),
        },
        sasl={"refusal": f"{WRONG_PASSWORD} is no token"},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert "failed: [redacted] is no token" in said


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_hostile_refusal(mechanism: str, run: Run, tmp_path: Path) -> None:
    """A refusal that repeats the password, over many lines: one short line without it."""
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism=mechanism,
        password=WRONG_PASSWORD,
        sasl={"refusal": f"no\n\x1b[2J\u202e{WRONG_PASSWORD}\r\n" + "long " * 6_000},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert said.startswith(f"{server.address()}: authentication with {mechanism} failed: no ")


def test_refusal_that_repeats_what_was_sent(run: Run, tmp_path: Path) -> None:
    """The whole message of PLAIN in base64 shows nothing of the password."""
    sent = base64.b64encode(f"\0somebody\0{WRONG_PASSWORD}".encode()).decode()
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism="PLAIN",
        password=WRONG_PASSWORD,
        sasl={"refusal": f"who is {sent}?"},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert "failed: who is [redacted]?" in said


def test_hostile_host(run: Run, tmp_path: Path) -> None:
    """A leader's host that forges a line and repeats the password: one line without it."""
    listener = Listener(protocol="SASL_PLAINTEXT", mechanism="PLAIN")
    with listener.serve(2) as server:
        server.elect(2)
        server.quorum.controllers[2].host = f"{PASSWORD}\nmetashell: all is well"
        words = ("-q", server.address(1), "--config", listener.config(tmp_path), "--timeout", "1")
        said = failure(run(*words, *LS))
    assert r"; [[redacted]\nmetashell: all is well]:" in said


def test_mechanism_not_offered(run: Run, tmp_path: Path) -> None:
    """Another mechanism than those of the listener, which are named."""
    listener = Listener(
        protocol="SASL_PLAINTEXT",
        mechanism="PLAIN",
        sasl={"mechanisms": ("SCRAM-SHA-256", "SCRAM-SHA-512")},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    assert said == (
        f"{server.address()}: it does not offer SASL mechanism PLAIN, but SCRAM-SHA-256, "
        "SCRAM-SHA-512 (sasl.mechanism)\n  hint: see `sasl.mechanism` of `--config FILE`"
    )


def test_one_of_several_is_enough(run: Run, tmp_path: Path) -> None:
    """What is wrong with some addresses does not matter where another helps."""
    with _free_port() as port, _SASL_SSL.serve() as server, FakeQuorumServer(1) as other:
        addresses = f"{HOST}:{port},no-such-host.invalid:1,{other.address()},{server.address()}"
        check_works(run("-q", addresses, "--config", _SASL_SSL.config(tmp_path), *LS))


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        (
            lambda: issue(make_authority("Other"), HOST),
            "its certificate is not trusted: its authority is not in `ssl.truststore.location`",
        ),
        (
            lambda: self_signed(HOST),
            "its certificate is self-signed and not in `ssl.truststore.location`",
        ),
        (
            lambda: controller(ELSEWHERE),
            f"its certificate is not for {HOST} but for {ELSEWHERE} (an empty "
            "`ssl.endpoint.identification.algorithm` turns this check off)",
        ),
        (
            lambda: issue(root(), HOST, is_expired=True),
            "its certificate, or that of its authority, has expired",
        ),
    ],
    ids=["authority", "self-signed", "host", "expired"],
)
def test_certificate(identity: Identity, reason: str, run: Run, tmp_path: Path) -> None:
    """A controller's certificate that is not accepted, and why."""
    with FakeQuorumServer(1, context=server_context(identity())) as server:  # type: ignore[operator]
        said = failure(run("-q", server.address(), "--config", _SSL.config(tmp_path), *LS))
    assert said.partition("\n")[0] == f"{server.address()}: {reason}"


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (ssl.TLSVersion.TLSv1_3, "it needs a client certificate that it trusts"),
        (ssl.TLSVersion.TLSv1_2, "it refused the TLS handshake: it needs a client certificate"),
    ],
)
def test_no_client_certificate(
    version: ssl.TLSVersion, reason: str, run: Run, tmp_path: Path
) -> None:
    """A certificate is wanted, and there is none."""
    context = server_context(controller(), clients=clients())
    context.maximum_version = version
    with FakeQuorumServer(1, context=context) as server:
        said = failure(run("-q", server.address(), "--config", _SSL.config(tmp_path), *LS))
    assert f"{server.address()}: {reason}" in said or _is_reset(said)
    assert "ssl.keystore.location" in said


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2])
def test_client_certificate_refused(version: ssl.TLSVersion, run: Run, tmp_path: Path) -> None:
    """A certificate of an authority that the controllers do not trust."""
    context = server_context(controller(), clients=root())
    context.maximum_version = version
    listener = Listener(protocol="SSL", key="JKS+password")
    with FakeQuorumServer(1, context=context) as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
    address = server.address()
    assert f"{address}: it does not accept our client certificate" in said or _is_reset(said)


def _is_reset(said: str) -> bool:
    """Whether the alert was lost: a reset connection takes what was received along."""
    return "after the TLS handshake: does that listener want a client certificate" in said


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_wrong_store_password(kind: str, store: str, run: Run, tmp_path: Path) -> None:
    """A store that does not open: its file, nothing of either password."""
    listener = Listener(
        protocol="SSL",
        trust=kind,
        key=kind,
        properties={f"ssl.{store}.password": STORE_PASSWORD[:-1] + "x"},
    )
    with listener.serve() as server:
        said = failure(run("-q", server.address(), "--config", listener.config(tmp_path), *LS))
        assert not server.connections
    assert said.startswith(str(tmp_path / f"ssl.{store}"))
    assert STORE_PASSWORD[:-1] not in said


def test_not_allowed_to_fetch(run: Run) -> None:
    """CLUSTER_ACTION is missing: what is needed, and how it is given."""
    with FakeQuorumServer(1) as server:
        server.quorum.controllers[1].habits.may_fetch = False
        said = failure(run("-q", server.address(), *LS))
    assert said.startswith(
        f"{server.address()}: Fetch is not allowed: the user needs CLUSTER_ACTION"
    )
    assert "kafka-acls --add --cluster --operation ClusterAction" in said


@pytest.mark.parametrize("may_describe", [True, False])
def test_cluster_id(may_describe: bool, run: Run) -> None:
    """Another cluster than `--cluster-id` says; the right one works, also where nobody tells it."""
    with FakeQuorumServer(1) as server:
        server.quorum.controllers[1].habits.may_describe_cluster = may_describe
        check_works(run("--cluster-id", CLUSTER_ID, "-q", server.address(), *LS))
        said = failure(run("--cluster-id", "of-another-cluster", "-q", server.address(), *LS))
    assert said.startswith(f"{server.address()}: it belongs to a cluster other than `--cluster-id`")


def test_directory_of_another_cluster(run: Run) -> None:
    """A quorum is compared with directories of its own cluster alone."""
    with FakeQuorumServer(1) as server:
        result = run("-q", server.address(), "diff", "--with", str(SAMPLE))
    assert (result.code, result.out) == (3, "")
    first, hint = result.err.splitlines()
    assert first.startswith(f"diff: {SAMPLE}")
    assert f", the quorum of {CLUSTER_ID}" in first
    assert hint == "  hint: compare with a directory of the same cluster"


def test_point_that_is_not_covered(run: Run) -> None:
    """What fails after the quorum was opened ends the following as well."""
    with FakeQuorumServer(1) as server:
        server.append(3)
        result = run("-q", server.address(), "--at", "999999", *LS)
        wait_until(lambda: server.n_open == 0, "a connection is still open")
    assert result.code == 1
    assert "offset 999999 is not covered" in result.err


def test_both_bootstraps(run: Run, tmp_path: Path) -> None:
    """Brokers and controllers in one file; with `-q` the file only adds settings."""
    file = tmp_path / "client.properties"
    with FakeQuorumServer(1) as server:
        file.write_text(f"bootstrap.servers=b:9092\nbootstrap.controllers={server.address()}\n")
        said = failure(run("--config", str(file), *LS))
        check_works(run("-q", server.address(), "--config", str(file), *LS))
    assert said.startswith(f"{file} sets both `bootstrap.controllers` and `bootstrap.servers`")


def test_brokers_alone(run: Run, tmp_path: Path) -> None:
    """A client's file that names brokers."""
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=b:9092\n")
    said = failure(run("--config", str(file), *LS))
    assert said.startswith(f"{file} names brokers (`bootstrap.servers`) and no controller")


def test_unknown_property(run: Run, tmp_path: Path) -> None:
    """A notice that it is ignored, and nothing else; never its value."""
    file = tmp_path / "client.properties"
    file.write_text(f"client.id=me\nno.such.property={PASSWORD}\n", encoding="latin-1")
    with FakeQuorumServer(1) as server:
        result = run("-q", server.address(), "--config", str(file), *LS)
    assert result.err == "metashell: note: unknown property `no.such.property` is ignored\n"
    assert result.code == 0
    assert "cluster" in result.lines


def test_no_leader(run: Run) -> None:
    """All answer, and none leads."""
    with FakeQuorumServer(2) as server:
        server.lose_leader()
        said = failure(run("-q", server.address(1), "--timeout", "1", *LS))
    assert said.startswith(
        f"no leader was found within 1 s: {server.address(1)}: it knows no leader"
    )


@pytest.mark.parametrize("named", [(1, 2, 3), (3,)])
def test_one_of_three_is_left(named: tuple[int, ...], run: Run) -> None:
    """How many voters a leader needs, which do not answer, and that directories can be read."""
    with FakeQuorumServer(3) as server:
        addresses = server.address(*named)
        for node_id in (1, 2):
            server.kill(node_id)
        server.lose_leader()
        for words in (LS, ("health", "offline-partitions"), ("-c", "quorum", "-c", "health")):
            result = run("-q", addresses, "--timeout", "1", *words)
            assert (3, "") == (result.code, result.out)
            first, hint = result.err.splitlines()
            assert "no leader was found within 1 s: " in first
            assert "a leader needs 2 of 3 voters" in hint
            missing = [f"{server.address(n)} (controller {n})" for n in (1, 2)]
            assert f"without an answer: {', '.join(missing)};" in hint
            assert "`metashell -d DIR`" in hint


def test_one_controller_is_known(run: Run) -> None:
    """Who the others are is then open."""
    with FakeQuorumServer(2) as server:
        server.quorum.controllers[1].habits.may_describe_cluster = False
        server.lose_leader()
        said = failure(run("-q", server.address(1), "--timeout", "0.5", *LS))
    assert "only one controller is known" in said
    assert "without an answer" not in said


@pytest.mark.parametrize(
    ("is_answered", "kind"), [(True, "quorum-no-leader"), (False, "quorum-unreachable")]
)
def test_health_of_a_lost_quorum(is_answered: bool, kind: str, run: Run) -> None:
    """It is the finding that it documents, with status 1; later commands have nothing to read."""
    with FakeQuorumServer(3) as server:
        addresses = server.address()
        for node_id in (1, 2) if is_answered else (1, 2, 3):
            server.kill(node_id)
        server.lose_leader()
        source = ("-q", addresses, "--timeout", "1")
        (row,) = json.loads(run(*source, "health", "-o", "json").out)
        assert ("critical", kind, "the quorum") == tuple(
            row[key] for key in ("severity", "code", "subject")
        )
        assert "a leader needs 2 of 3 voters" in row["action"]
        told = run(*source, "health")
        assert 1 == told.code
        words = " ".join(told.out.split())
        assert words.startswith("critical the quorum: ")
        assert all_kinds()[kind].do in words
        assert "a leader needs 2 of 3 voters" in words
        assert "connection refused" in told.err
        assert told.err.endswith(
            "health: the quorum alone was judged: no metadata could be fetched\n"
        )
        both = run(*source, "--keep-going", "-c", "health --count", "-c", "ls /")
        assert (1, "1\n") == (both.code, both.out)
        assert "ls: no " in both.err


def test_no_high_watermark(run: Run) -> None:
    """A leader that does not know what is committed, as no majority has fetched from it."""
    with FakeQuorumServer(2) as server:
        server.quorum.elect(2)
        said = failure(run("-q", server.address(1), "--timeout", "1", *LS))
    assert said.endswith(": the leader knew no high watermark within 1 s")


@pytest.mark.parametrize("listener", [_PLAINTEXT, _SSL, _SASL], ids=["plain", "TLS", "SASL"])
def test_silence(listener: Listener, run: Run, tmp_path: Path) -> None:
    """A port that takes connections and says nothing: no longer than `--timeout`."""
    with socket.create_server((HOST, 0)) as server:
        address = f"{HOST}:{server.getsockname()[1]}"
        file = listener.config(tmp_path)
        said = failure(run("-q", address, "--timeout", "0.5", "--config", file, *LS))
    assert said.startswith(f"no leader was found within 0.5 s: {address}: ")
    assert "TLS?" not in said
    assert said.count("answer") == 1


def test_request_timeout(run: Run, tmp_path: Path) -> None:
    """A silent controller is left for another after ``request.timeout.ms``."""
    file = tmp_path / "client.properties"
    file.write_text("request.timeout.ms=200\n")
    with socket.create_server((HOST, 0)) as silent, FakeQuorumServer(1) as server:
        addresses = f"{HOST}:{silent.getsockname()[1]},{server.address()}"
        check_works(run("-q", addresses, "--timeout", "5", "--config", str(file), *LS))


def test_not_allowed_to_describe(run: Run) -> None:
    """Without DescribeQuorum all else works, and `quorum` says what is missing."""
    with FakeQuorumServer(1) as server:
        habits = server.quorum.controllers[1].habits
        habits.may_describe_quorum = habits.may_describe_cluster = False
        check_works(run("-q", server.address(), *LS))
        told = run("-q", server.address(), "quorum")
    assert told.code == 0
    assert told.err.startswith("quorum: DescribeQuorum is not allowed: it needs DESCRIBE")
    assert "fake" not in told.out


def test_fetch_not_served(run: Run) -> None:
    """Something with Kafka's protocol that is no controller."""
    with FakeQuorumServer(1) as server:
        del server.quorum.controllers[1].habits.versions[Api.FETCH]
        said = failure(run("-q", server.address(), *LS))
    assert said.startswith(f"{server.address()}: it does not serve Fetch")
