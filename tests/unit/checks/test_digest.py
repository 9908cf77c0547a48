"""Digests: equal for equal states however they are told, different for any fact that differs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import LOG_DIR_NAME, segment_name
from metashell.checks.digest import digested_parts, image_digest, part_digests
from metashell.redact import Redaction
from metashell.sources.source import Source
from support.fixtures import copy_of, fixture, fixture_names
from support.logs import record

REAL = [name for name in fixture_names() if name.startswith("real-")]
T1, T2, T3 = bytes([1]) * 16, bytes([2]) * 16, bytes([3]) * 16
D1, D2 = bytes([9]) * 16, bytes([8]) * 16


def digest(source: Source, *, secrets: bool = False) -> str:
    """The digest of a whole image."""
    return image_digest(part_digests(source.image, Redaction(secrets)))


def topic(topic_id: bytes, name: str) -> bytes:
    """Encode a TopicRecord."""
    return record("TopicRecord", topic_id=topic_id, name=name)


def partition(topic_id: bytes = T1, number: int = 0, **fields: object) -> bytes:
    """Encode a PartitionRecord."""
    every = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 0, **fields}
    return record(
        "PartitionRecord", topic_id=topic_id, partition_id=number, partition_epoch=0, **every
    )


def acl(number: int, principal: str = "User:a") -> bytes:
    """Encode an ACL."""
    return record(
        "AccessControlEntryRecord",
        id=bytes([number]) * 16,
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        principal=principal,
        host="*",
        operation=3,
        permission_type=3,
    )


def config(name: str, value: str, *, code: int = 2) -> bytes:
    """Encode a config of a resource called ``t``."""
    return record("ConfigRecord", resource_type=code, resource_name="t", name=name, value=value)


def quota(pairs: Sequence[tuple[str, str | None]], value: float = 1.0) -> bytes:
    """Encode a client quota."""
    entity = [{"entity_type": kind, "entity_name": name} for kind, name in pairs]
    return record("ClientQuotaRecord", entity=entity, key="k", value=value, remove=False)


def broker(directories: Sequence[bytes], rack: str | None = None) -> bytes:
    """Encode a broker's registration."""
    listeners = [
        {"name": name, "host": "h", "port": 1, "security_protocol": 0} for name in ("A", "B")
    ]
    return record(
        "RegisterBrokerRecord",
        broker_id=1,
        incarnation_id=D1,
        broker_epoch=1,
        end_points=listeners if len(directories) % 2 else listeners[::-1],
        features=[],
        rack=rack,
        fenced=False,
        log_dirs=list(directories),
    )


def scram(salt: bytes = b"s", iterations: int = 4096) -> bytes:
    """Encode a SCRAM credential."""
    return record(
        "UserScramCredentialRecord",
        name="u",
        mechanism=1,
        salt=salt,
        stored_key=b"k",
        server_key=b"e",
        iterations=iterations,
    )


def opened(parent: Path, *values: bytes) -> Source:
    """Open a log of one batch."""
    directory = parent / LOG_DIR_NAME
    directory.mkdir(exist_ok=True, parents=True)
    (directory / segment_name(0)).write_bytes(encode_batch(values))
    return metashell.open(directory)


def controllers(name: str, parent: Path) -> list[Source]:
    """A directory as it is, and without each of its newest checkpoints that the log covers."""
    found = [metashell.open(fixture(name).input)]
    while found[-1].log.checkpoint is not None:
        copy = copy_of(name, parent / str(len(found))) / LOG_DIR_NAME
        newest = found[-1].log.checkpoint
        for path in copy.glob("*.checkpoint"):
            if int(path.name[:20]) >= newest.end_offset:
                path.unlink()
        if not any(path.suffix in {".log", ".checkpoint"} for path in copy.iterdir()):
            break
        source = metashell.open(copy)
        if not (source.log.checkpoint or (copy / segment_name(0)).exists()):
            break
        found.append(source)
    return found


@pytest.mark.parametrize("name", REAL)
def test_equal_whatever_checkpoint_the_replay_began_with(name: str, tmp_path: Path) -> None:
    """Nodes with other checkpoints have the same digest of each part, secrets included."""
    sources = [s for s in controllers(name, tmp_path) if not s.log.faults] or [
        metashell.open(fixture(name).input)
    ]
    for redaction in (Redaction(), Redaction(show_secrets=True)):
        parts = [part_digests(source.image, redaction) for source in sources]
        assert [part.name for part in digested_parts()] == list(parts[0])
        assert [parts[0]] * len(parts) == parts
    assert 1 == len({source.image.provenance.offset for source in sources})


def test_there_are_nodes_to_compare(tmp_path: Path) -> None:
    """The fixture used above holds several checkpoints that the log covers."""
    assert 3 <= len(controllers("real-44-live", tmp_path))


def test_order_of_records_does_not_matter(tmp_path: Path) -> None:
    """Records that do not depend on each other give the same in any order."""
    topics = [topic(T3, "c"), topic(T1, "a"), topic(T2, "é")]
    others = [partition(t, n) for t in (T1, T2) for n in range(3)]
    others += [acl(n) for n in range(4)] + [config(name, "1") for name in ("x", "y")]
    others += [quota([("user", "u"), ("client-id", None)]), scram(), broker([D1, D2])]
    expected = digest(opened(tmp_path, *topics, *others))
    for seed in range(5):
        draw = random.Random(seed)
        shuffled = draw.sample(topics, len(topics)) + draw.sample(others, len(others))
        assert expected == digest(opened(tmp_path, *shuffled))


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ([partition()], [partition(directories=[bytes(16)] * 2)]),
        ([quota([("user", "u"), ("ip", "1")])], [quota([("ip", "1"), ("user", "u")])]),
        ([broker([D1, D2])], [broker([D2, D1])]),
        ([config("a", "1", code=0)], [config("a", "1", code=99)]),
        ([config("a", "1")], [config("a", "0"), config("a", "1")]),
        ([], [record("ProducerIdsRecord", broker_id=1, broker_epoch=1, next_producer_id=-1)]),
        ([], [record("FeatureLevelRecord", name="kraft.version", feature_level=1)]),
    ],
)
def test_the_same_in_other_words(tmp_path: Path, one: list[bytes], same: list[bytes]) -> None:
    """What means the same has the same digest."""
    before = digest(opened(tmp_path, topic(T1, "t"), *one))

    assert before == digest(opened(tmp_path, topic(T1, "t"), *same))


@pytest.mark.parametrize(
    ("part", "one", "other"),
    [
        ("topics", [topic(T2, "a")], [topic(T2, "b")]),
        ("topics", [topic(T2, "a"), topic(T3, "bc")], [topic(T2, "ab"), topic(T3, "c")]),
        ("partitions", [partition()], [partition(number=1)]),
        ("partitions", [partition()], [partition(leader=2)]),
        ("partitions", [partition()], [partition(leader_epoch=1)]),
        ("partitions", [partition()], [partition(leader_recovery_state=1)]),
        ("partitions", [partition()], [partition(isr=[2, 1])]),
        ("partitions", [partition()], [partition(eligible_leader_replicas=[2])]),
        ("partitions", [partition()], [partition(directories=[D1, bytes(16)])]),
        (
            "partitions",
            [partition(), partition(number=1, isr=[1])],
            [partition(isr=[1]), partition(number=1)],
        ),
        ("configs", [config("a", "1")], [config("a", "2")]),
        ("configs", [config("a", "1")], [config("a", "1", code=4)]),
        ("client_quotas", [quota([("user", "")])], [quota([("user", None)])]),
        ("client_quotas", [quota([("user", "")], 1.0)], [quota([("user", "")], 1.5)]),
        ("acls", [acl(1)], [acl(1, "User:b")]),
        ("scram", [scram()], [scram(iterations=8192)]),
        ("brokers", [broker([D1])], [broker([D1], rack="")]),
        ("brokers", [broker([D1])], [broker([D2])]),
        (
            "features",
            [record("FeatureLevelRecord", name="f", feature_level=1)],
            [record("FeatureLevelRecord", name="f", feature_level=2)],
        ),
        (
            "producer_ids",
            [],
            [record("ProducerIdsRecord", broker_id=1, broker_epoch=1, next_producer_id=7)],
        ),
    ],
)
def test_a_fact_that_differs(
    tmp_path: Path, part: str, one: list[bytes], other: list[bytes]
) -> None:
    """The digests of its part and of the whole differ, and no other."""
    first = opened(tmp_path, topic(T1, "t"), *one)
    second = opened(tmp_path, topic(T1, "t"), *other)
    assert digest(first) != digest(second)

    before, after = (part_digests(source.image, Redaction()) for source in (first, second))
    assert [part] == [name for name in before if before[name] != after[name]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([scram(b"a")], [scram(b"b")]),
        ([config("sasl.jaas.config", "a")], [config("sasl.jaas.config", "b")]),
        ([config("plugin.key", "a", code=4)], [config("plugin.key", "b", code=4)]),
    ],
)
def test_secrets_enter_only_where_they_are_shown(
    tmp_path: Path, one: list[bytes], other: list[bytes]
) -> None:
    """A digest tells nothing of what is redacted."""
    first, second = opened(tmp_path / "1", *one), opened(tmp_path / "2", *other)

    assert digest(first) == digest(second)
    assert digest(first, secrets=True) != digest(second, secrets=True)
