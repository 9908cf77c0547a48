"""Recorded exchanges with real controllers: our bytes are theirs, and we read what they answer."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.checks.digest import image_digest, part_digests
from metashell.image.image import Image
from metashell.log.live import LiveLog
from metashell.places.place import MemoryFile
from metashell.quorum.answers import read_fetch
from metashell.quorum.observer import Observer
from metashell.quorum.protocol import (
    Api,
    ErrorCode,
    decode_response,
    encode_request,
    error_name,
    request_spec,
)
from metashell.quorum.session import Answer, PeerError, QuorumSession
from metashell.quorum.steps import (
    ObserverState,
    Received,
)
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.model import load_registry
from metashell.security.sasl import make_mechanism
from metashell.security.settings import Address, SaslSettings
from metashell.sources.opening import open as open_source
from support.fixtures import fixture_dir
from support.wire import Exchange, Script, scene

SCENES = sorted(path.stem for path in Path(fixture_dir("wire")).glob("*.json"))


def every() -> Iterator[Any]:
    """Every exchange."""
    for name in SCENES:
        for i, exchange in enumerate(scene(name)):
            yield pytest.param(exchange, id=f"{name}-{i}")


def spoken(exchange: Exchange) -> bool:
    """Whether it is in a version that we speak."""
    return exchange.version in request_spec(exchange.api).versions


@pytest.mark.parametrize("exchange", list(every()))
def test_requests(exchange: Exchange) -> None:
    """Every recorded request is what our encoder makes of its fields."""
    if not spoken(exchange):
        assert (exchange.api, exchange.version) == (Api.API_VERSIONS, 99)
        return
    made = encode_request(exchange.api, exchange.version, exchange.correlation_id, exchange.body)
    assert made == struct.pack(">i", len(exchange.request)) + exchange.request


@pytest.mark.parametrize("exchange", list(every()))
def test_responses(exchange: Exchange) -> None:
    """Every recorded answer is read to its last byte."""
    if exchange.response is None:
        return
    fields = decode_response(
        exchange.api, exchange.version, exchange.correlation_id, memoryview(exchange.response)
    )
    assert "throttle_time_ms" not in fields or fields["throttle_time_ms"] == 0


@pytest.mark.parametrize("step", [1, 3, 1 << 20])
@pytest.mark.parametrize("name", ["discover", "start-with-snapshot", "fetch-errors"])
def test_session_in_pieces(name: str, step: int) -> None:
    """A session gives the same answers whole and byte by byte."""
    whole, pieces = _answers(name, 1 << 20), _answers(name, step)
    assert whole == pieces
    assert len(whole) >= 2


def _answers(name: str, step: int) -> list[Answer]:
    session, found = QuorumSession(), []
    exchanges = [e for e in scene(name) if e.to == scene(name)[0].to]
    offered = next(e for e in exchanges if e.api is Api.API_VERSIONS)
    correlation_id = struct.unpack_from(">i", session.take_outgoing(), 8)[0]
    # It asks for version 4; the recorded answer of version 3 reads the same.
    assert _feed(session, offered.answer_to(correlation_id), step) is None
    assert session.is_ready
    for exchange in exchanges:
        if exchange.api is Api.API_VERSIONS or exchange.response is None:
            continue
        if session.version_of(exchange.api) != exchange.version:
            continue
        session.request(exchange.api, exchange.body)
        correlation_id = struct.unpack_from(">i", session.take_outgoing(), 8)[0]
        answer = _feed(session, exchange.answer_to(correlation_id), step)
        assert answer is not None
        found.append(answer)
    return found


def _feed(session: QuorumSession, data: bytes, step: int) -> Answer | None:
    answer = None
    while data:
        assert answer is None
        into = session.buffer()
        n = min(len(into), step, len(data))
        into[:n] = data[:n]
        answer, data = session.received(n), data[n:]
    return answer


def observer_of(*hosts: str, **options: Any) -> tuple[Observer, LiveLog]:
    """An observer of nodes by their recorded names."""
    log = LiveLog()
    addresses = [Address(host, 9093) for host in hosts]
    return Observer(addresses, log, jitter=lambda: 0.5, **options), log


def digest_of(loaded: Any) -> str:
    """The digest of an image."""
    return image_digest(part_digests(Image(Records(loaded, load_registry())), Redaction(False)))


def contents(log: LiveLog) -> dict[str, bytes]:
    """The committed files by name."""
    found, _, _ = log.metadata_log("quorum")
    files = {}
    for file in found.loaded.files:
        ref = found.path_of(file.name)
        assert isinstance(ref, MemoryFile)
        files[file.name] = bytes(ref.content)
    return files


def directory_digest(log: LiveLog, directory: Path) -> str:
    """The digest of the fetched bytes, written to a directory and opened there."""
    target = directory / "__cluster_metadata-0"
    target.mkdir()
    for name, data in contents(log).items():
        (target / name).write_bytes(data)
    return digest_of(open_source(str(target)).log.loaded)


@pytest.mark.parametrize(
    ("name", "version", "n_pieces", "records_at"),
    [("start-with-snapshot", 17, 9, 1), ("start-without-snapshot", 17, 0, 0)],
)
def test_start(name: str, version: int, n_pieces: int, records_at: int, tmp_path: Path) -> None:
    """A start with and without a snapshot ends with all that was committed, as a directory has."""
    script = Script(name, fetch_version=version)
    observer, log = observer_of("controller 1")
    # The recorded pieces are small: whatever size is asked for, the position is what counts.
    script.run(observer)
    assert observer.facts.error is None
    assert observer.facts.leader_id == 1
    assert observer.facts.epoch == 1
    assert observer.facts.high_watermark == log.committed_end == log.end_offset
    assert observer.facts.description is not None
    assert len([r for r in script.requests if r[1] is Api.FETCH_SNAPSHOT]) == n_pieces
    recorded = [e for e in scene(name) if e.api is Api.FETCH and e.response is not None]
    fields = decode_response(
        Api.FETCH,
        recorded[records_at].version,
        recorded[records_at].correlation_id,
        memoryview(recorded[records_at].response or b""),
    )
    records = bytes(read_fetch(Answer(Api.FETCH, fields)).records)
    assert list(contents(log).values())[-1] == records
    assert digest_of(log.metadata_log("q")[0].loaded) == directory_digest(log, tmp_path)


def test_fetch_18() -> None:
    """With version 18 the known high watermark is told, so that the leader can wake us."""
    script = Script("fetch-18", "start-with-snapshot", fetch_version=18)
    script.answers["controller 1", Api.FETCH] = [e for e in scene("fetch-18") if e.api is Api.FETCH]
    observer, log = observer_of("controller 1")
    script.run(observer)
    assert observer.facts.high_watermark == log.committed_end
    told = [
        body["topics"][0]["partitions"][0]["high_watermark"]
        for _, api, body in script.requests
        if api is Api.FETCH
    ]
    assert told[0] == -1
    assert told[1] in (-1, observer.facts.high_watermark)


def test_always_an_observer() -> None:
    """No request names a replica."""
    script = Script("start-with-snapshot")
    script.run(observer_of("controller 1")[0])
    for _, api, body in script.requests:
        if api in {Api.FETCH, Api.FETCH_SNAPSHOT}:
            replica = body.get("replica_state", body)["replica_id"]
            assert replica == -1


def test_leader_change() -> None:
    """The next leader is found, and followed from where the last one ended."""
    script = Script("leader-change")
    observer, log = observer_of("controller 1", "controller 2", follow=True)
    fetches = script.answers["controller 1", Api.FETCH]
    first = decode_response(
        Api.FETCH, 17, fetches[0].correlation_id, memoryview(fetches[0].response or b"")
    )
    part = first["responses"][0]["partitions"][0]
    assert part["records"]
    base = struct.unpack_from(">q", part["records"])[0]
    log.begin_snapshot(base, 1)
    _pretend_snapshot(log, base)
    for _ in range(2000):
        event = script.carry_out(observer.action(script.now))
        if isinstance(event, Received) and len(fetches) == 1:
            # The recording ends with the leader's shutdown.
            script.answers["controller 1", Api.FETCH] = []
        try:
            observer.tell(event, script.now)
        except AssertionError:
            raise
        if observer.facts.epoch > 1 and observer.facts.is_at_leader:
            break
    assert observer.facts.epoch > 1
    assert observer.facts.leader_id is not None
    assert observer.facts.address == Address("controller 2", 9093)


def _pretend_snapshot(log: LiveLog, end_offset: int) -> None:
    """Make a log begin at an offset."""
    from kraftgen.files import checkpoint_bytes

    data = checkpoint_bytes([])
    log.begin_snapshot(end_offset, 1)
    assert log.add_snapshot(0, memoryview(data), len(data))


def test_broker_given() -> None:
    """A broker is told apart by what it serves."""
    observer, _ = observer_of("broker 101")
    Script("broker-given").run(observer)
    assert observer.facts.error is not None
    assert observer.facts.error.message == (
        "broker 101:9093: that is a broker; give a controller's listener (KIP-919)"
    )
    assert observer.facts.error.hint is not None


def test_api_versions_too_new() -> None:
    """Where our ApiVersions is too new it is asked again in the version that the peer has."""
    session = QuorumSession()
    first, second = scene("api-versions-too-new")
    correlation_id = struct.unpack_from(">i", session.take_outgoing(), 8)[0]
    assert _feed(session, first.answer_to(correlation_id), 1 << 20) is None
    assert not session.is_ready
    again = session.take_outgoing()
    assert struct.unpack_from(">hh", again, 4) == (18, 4)
    assert _feed(session, second.answer_to(struct.unpack_from(">i", again, 8)[0]), 1) is None
    assert session.is_ready
    # A peer that goes on like that is given up.
    session = QuorumSession()
    with pytest.raises(PeerError, match="no version of ApiVersions"):
        for _ in range(5):
            correlation_id = struct.unpack_from(">i", session.take_outgoing(), 8)[0]
            _feed(session, first.answer_to(correlation_id), 1 << 20)


@pytest.mark.parametrize(
    ("index", "error"),
    [(1, 74), (2, 75), (3, 42), (4, 104), (5, 42), (10, 6)],
)
def test_fetch_errors(index: int, error: int) -> None:
    """Each recorded error is read as what it is, with the leader where it names one."""
    exchanges = [e for e in scene("fetch-errors") if e.response is not None]
    fetches = [e for e in exchanges if e.api is Api.FETCH]
    exchange = [*fetches[:5], None, None, None, None, fetches[-1]][index - 1]
    assert exchange is not None
    fields = decode_response(
        Api.FETCH, 17, exchange.correlation_id, memoryview(exchange.response or b"")
    )
    fetched = read_fetch(Answer(Api.FETCH, fields))
    assert fetched.error == error
    if error in {ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER, 75}:
        assert fetched.hint.leader_id == 1
        assert fetched.hint.epoch == 1
        assert fetched.hint.endpoints[1].port > 0


@pytest.mark.parametrize(
    ("n", "sentence"),
    [
        (3, "controller 1:9093: it belongs to a cluster other than `--cluster-id`"),
        (4, "controller 1:9093: it answers Fetch with INVALID_REQUEST"),
        (2, "controller 1:9093: it answers Fetch with INVALID_REQUEST"),
    ],
)
def test_observer_of_fetch_errors(n: int, sentence: str) -> None:
    """The observer says what a controller refused it with."""
    script = Script("fetch-errors")
    fetches = [e for e in scene("fetch-errors") if e.api is Api.FETCH]
    script.answers["controller 1", Api.FETCH] = [fetches[n]]
    observer, _ = observer_of("controller 1", patience_s=20.0, cluster_id="mine")
    script.run(observer)
    assert observer.facts.error is not None
    assert sentence in observer.facts.error.message


def test_snapshot_errors() -> None:
    """UNKNOWN_SERVER_ERROR in place of a snapshot: it starts over, and not for ever."""
    script = Script("start-with-snapshot")
    script.answers["controller 1", Api.FETCH] = [
        e for e in scene("start-with-snapshot") if e.api is Api.FETCH
    ][:1]
    script.answers["controller 1", Api.FETCH_SNAPSHOT] = [
        e for e in scene("fetch-errors") if e.api is Api.FETCH_SNAPSHOT
    ]
    observer, _ = observer_of("controller 1", patience_s=20.0)
    script.run(observer)
    assert observer.facts.error is not None
    assert "the snapshot can't be fetched: UNKNOWN_SERVER_ERROR" in observer.facts.error.message
    assert len(script.requests) < 200


def mechanism(name: str, user: str, password: str, nonce: str | None = None) -> Any:
    """Make mechanisms for an observer."""
    settings = SaslSettings(mechanism=name, username=user, password=password)
    return lambda host: make_mechanism(settings, host, nonce=nonce)


SASL = "controller 1 (SASL_PLAINTEXT)"


@pytest.mark.parametrize(
    ("name", "new_mechanism", "sentence"),
    [
        (
            "sasl-plain-wrong-password",
            mechanism("PLAIN", "alice", "wrong"),
            "authentication with PLAIN failed: Authentication failed",
        ),
        (
            "sasl-scram-wrong-password",
            mechanism("SCRAM-SHA-512", "admin", "wrong", "metashellnonce2"),
            "authentication with SCRAM-SHA-512 failed: Authentication failed",
        ),
        (
            "sasl-unsupported-mechanism",
            mechanism("PLAIN", "alice", "secret"),
            "it does not offer SASL mechanism PLAIN, but",
        ),
        ("sasl-missing", None, "instead of an answer: does that listener want SASL?"),
    ],
)
def test_sasl_refused(name: str, new_mechanism: Any, sentence: str) -> None:
    """What the listener refused, in a sentence that says what to do about it."""
    options = {} if new_mechanism is None else {"new_mechanism": new_mechanism}
    observer, _ = observer_of(SASL, **options)
    Script(name).run(observer)
    assert observer.facts.error is not None
    assert sentence in observer.facts.error.message
    assert observer.facts.error.message.count(SASL) == 1
    assert observer.facts.error.hint is not None
    assert "secret" not in observer.facts.error.message.replace("alice-secret", "secret")


@pytest.mark.parametrize(
    ("name", "new_mechanism"),
    [
        ("sasl-plain", mechanism("PLAIN", "alice", "alice-secret")),
        (
            "sasl-scram-sha-512",
            mechanism("SCRAM-SHA-512", "admin", "admin-secret", "metashellnonce1"),
        ),
    ],
)
def test_sasl_accepted(name: str, new_mechanism: Any) -> None:
    """Authentication says what the recorded client said, and is accepted."""
    script = Script(name)
    observer, _ = observer_of(SASL, new_mechanism=new_mechanism)
    for _ in range(60):
        event = script.carry_out(observer.action(script.now))
        observer.tell(event, script.now)
        if observer.facts.state is ObserverState.FETCHING:
            break
    assert observer.facts.state is ObserverState.FETCHING
    said = [body["auth_bytes"] for _, api, body in script.requests if api is Api.SASL_AUTHENTICATE]
    recorded = [e.body["auth_bytes"] for e in scene(name) if e.api is Api.SASL_AUTHENTICATE]
    assert said == recorded


def test_plain_to_tls() -> None:
    """A listener that closes at the first request may be one that speaks TLS."""
    observer, _ = observer_of("controller 1 (SSL)")
    Script("plain-to-tls").run(observer)
    assert observer.facts.error is not None
    assert "does that listener speak TLS?" in observer.facts.error.message


def test_error_names() -> None:
    """Codes have Kafka's names, and those that we do not know their number."""
    assert error_name(74) == "FENCED_LEADER_EPOCH"
    assert error_name(9999) == "error 9999"
