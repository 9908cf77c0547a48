"""The image of any sequence of records is what a replay one by one gives, however they are split.

Records are drawn from few topics, brokers and keys, so that they meet: sensible ones and senseless
ones, in transactions and not, whole and undecodable. Each story is written in several layouts
(batches, codecs, segments) and opened as a directory.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metashell
from kraftgen.batch import CODEC_IDS, encode_batch
from kraftgen.files import (
    LOG_DIR_NAME,
    checkpoint_bytes,
    checkpoint_name,
    segment_name,
)
from metashell.image.image import Image
from metashell.image.partitions import Partitions, fold_partitions, partition_keys
from metashell.log.fault import FaultKind
from metashell.log.live import LiveLog
from metashell.parts.partition_fields import LISTS
from metashell.read_settings import ReadSettings
from metashell.schema.encode import encode_record
from metashell.sources.live import LiveSource
from metashell.sources.source import Source
from support.described import StandInLive, status_of
from support.golden_tree import product_tree
from support.reduced import assert_reduced_is_whole
from support.replay import Base, Replayed, replay
from support.seeds import examples, seeds
from support.stories import Teller
from support.strategies import builtin_registry

Place: TypeAlias = tuple[str | None, int | None]
Story: TypeAlias = list[bytes | None]

SPECS = builtin_registry().by_name
EPOCH, TIME = 4, 1_790_000_000_123
LAYOUTS = ("one by one", "all in one", "at random", "at random again")

ids = st.sampled_from([bytes([i]) * 16 for i in (1, 1, 1, 2, 3)])
names = st.sampled_from(["a", "a", "b", "é"])
directory_ids = st.sampled_from([bytes([9]) * 16, bytes([200]) * 16, bytes(15) + b"\x01"])
brokers = st.sampled_from([1, 1, 1, 2, 3])
replicas = st.lists(brokers, max_size=3)
maybe_replicas = st.none() | replicas
recovery = st.sampled_from([0, 0, 0, 1, 2])


def made(name: str, /, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[bytes]:
    """Draw records of a type: the newest version, or the oldest that has the fields at all."""
    spec = SPECS[name]

    def encode(values: dict[str, object], version: int) -> bytes:
        known = {f.column_name for f in spec.fields if version in f.versions}
        return encode_record(spec, version, {k: v for k, v in values.items() if k in known})

    newest = spec.versions.high
    versions = st.sampled_from([newest, newest, newest, *range(spec.versions.low, newest)])
    return st.builds(encode, st.fixed_dictionaries(fields), versions)


@st.composite
def directories(draw: st.DrawFn) -> list[bytes]:
    """Draw directories that may or may not fit the replicas."""
    n = draw(st.integers(0, 3))
    if draw(st.booleans()):
        return [bytes(16)] * n
    return [draw(directory_ids | st.just(bytes(16))) for _ in range(n)]


@st.composite
def partitions(draw: st.DrawFn, *, sound: bool = False) -> bytes:
    """Draw a PartitionRecord, mostly one that fits."""
    nodes = draw(replicas)
    fit = st.sampled_from([[bytes([9]) * 16] * len(nodes), [bytes(16)] * len(nodes), []])
    return draw(
        made(
            "PartitionRecord",
            partition_id=partition_ids,
            topic_id=ids,
            replicas=st.just(nodes),
            isr=replicas,
            removing_replicas=replicas,
            adding_replicas=replicas,
            leader=st.integers(-1, 3),
            leader_recovery_state=st.just(0) if sound else recovery,
            leader_epoch=st.sampled_from([0, 7, 2**31 - 1]),
            partition_epoch=st.sampled_from([0, 3, 2**31 - 1, -1]),
            directories=fit if sound else fit | directories(),
            eligible_leader_replicas=maybe_replicas,
            last_known_elr=maybe_replicas,
        )
    )


def sound_partitions() -> st.SearchStrategy[bytes]:
    """Draw a PartitionRecord that can be applied."""
    return partitions(sound=True)


partition_ids = st.sampled_from([0, 0, 0, 0, 1, -1])

changes = made(
    "PartitionChangeRecord",
    partition_id=partition_ids,
    topic_id=ids,
    isr=maybe_replicas,
    leader=st.sampled_from([-2, -2, -1, 1, 2]),
    replicas=st.none() | maybe_replicas,
    removing_replicas=maybe_replicas,
    adding_replicas=maybe_replicas,
    leader_recovery_state=st.sampled_from([-1, -1, -1, 0, 1, 2, -2]),
    directories=st.none() | st.none() | directories(),
    eligible_leader_replicas=maybe_replicas,
    last_known_elr=maybe_replicas,
)

endpoints = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["B", "A", "C"]),
            "host": st.sampled_from(["h", "i"]),
            "port": st.integers(0, 65_535),
            "security_protocol": st.integers(0, 3),
        }
    ),
    max_size=3,
)
features = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["metadata.version", "kraft.version"]),
            "min_supported_version": st.just(1),
            "max_supported_version": st.integers(1, 33),
        }
    ),
    max_size=2,
    unique_by=lambda feature: str(feature["name"]),
)
epochs = st.sampled_from([5, 5, 5, 6])
log_dirs = st.lists(directory_ids, max_size=2)

register_broker = made(
    "RegisterBrokerRecord",
    broker_id=brokers,
    is_migrating_zk_broker=st.booleans(),
    incarnation_id=ids,
    broker_epoch=epochs,
    end_points=endpoints,
    features=features,
    rack=st.none() | st.just("r"),
    fenced=st.booleans(),
    in_controlled_shutdown=st.booleans(),
    log_dirs=log_dirs,
    cordoned_log_dirs=st.none() | log_dirs,
)

about_brokers = st.one_of(
    register_broker,
    made("UnregisterBrokerRecord", broker_id=brokers, broker_epoch=epochs),
    made("FenceBrokerRecord", id=brokers, epoch=epochs),
    made("UnfenceBrokerRecord", id=brokers, epoch=epochs),
    made(
        "BrokerRegistrationChangeRecord",
        broker_id=brokers,
        broker_epoch=epochs,
        fenced=st.sampled_from([-1, 0, 0, 1, 2]),
        in_controlled_shutdown=st.sampled_from([0, 0, 1, 2, -1]),
        log_dirs=log_dirs,
        cordoned_log_dirs=st.none() | log_dirs,
    ),
    made(
        "RegisterControllerRecord",
        controller_id=brokers,
        incarnation_id=ids,
        zk_migration_ready=st.booleans(),
        end_points=endpoints,
        features=features,
    ),
    made("UnregisterControllerRecord", controller_id=brokers),
)

about_topics = st.one_of(
    made("TopicRecord", name=names, topic_id=ids),
    made("RemoveTopicRecord", topic_id=ids),
    partitions(),
    partitions(),
    changes,
    changes,
    made("ClearElrRecord", topic_name=st.just("") | names),
)

about_settings = st.one_of(
    made(
        "ConfigRecord",
        resource_type=st.sampled_from([2, 2, 2, 4, 16, 64]),
        resource_name=st.just("") | names,
        name=st.sampled_from(["x", "y"]),
        value=st.none() | st.sampled_from(["1", "", "ü"]),
    ),
    made(
        "ClientQuotaRecord",
        entity=st.lists(
            st.fixed_dictionaries(
                {
                    "entity_type": st.sampled_from(["user", "client-id", "ip"]),
                    "entity_name": st.none() | st.sampled_from(["u", "v(1)", ""]),
                }
            ),
            max_size=3,
        ),
        key=st.sampled_from(["k", "l"]),
        value=st.floats(allow_nan=False),
        remove=st.booleans(),
    ),
    made(
        "FeatureLevelRecord",
        name=st.sampled_from(["metadata.version", "kraft.version", "group.version"]),
        feature_level=st.sampled_from([0, 1, 25, 33, 99]),
    ),
    made("ProducerIdsRecord", next_producer_id=st.integers(0, 2**63 - 1)),
)

users = st.sampled_from(["u", "ü", ""])
principals = st.sampled_from(["User:u", "User:", ":", "u", ""])
mechanisms = st.sampled_from([1, 2, 0])

about_security = st.one_of(
    made(
        "AccessControlEntryRecord",
        id=ids,
        resource_type=st.integers(-1, 4),
        resource_name=names,
        pattern_type=st.integers(-1, 5),
        principal=principals,
        host=st.just("*"),
        operation=st.integers(-1, 5),
        permission_type=st.integers(-1, 4),
    ),
    made("RemoveAccessControlEntryRecord", id=ids),
    made(
        "UserScramCredentialRecord",
        name=users,
        mechanism=mechanisms,
        salt=st.binary(max_size=3),
        stored_key=st.binary(max_size=3),
        server_key=st.binary(max_size=3),
        iterations=st.integers(0, 9),
    ),
    made("RemoveUserScramCredentialRecord", name=users, mechanism=mechanisms),
    made(
        "DelegationTokenRecord",
        owner=principals,
        requester=principals,
        renewers=st.lists(principals, max_size=2),
        issue_timestamp=st.integers(0, 9),
        max_timestamp=st.integers(0, 9),
        expiration_timestamp=st.integers(0, 9),
        token_id=users,
    ),
    made("RemoveDelegationTokenRecord", token_id=users),
)

broken = st.one_of(
    st.none(),
    st.binary(max_size=6),
    # An unknown key, an unknown version, frame versions 0 and 2.
    st.sampled_from(
        [b"\x01\xf5\x03\x00abc", b"\x01\x02\x63\x00", b"\x00\x02\x00", b"\x02\x03\x00"]
    ),
    st.tuples(
        about_topics | about_settings | about_brokers | about_security,
        st.sampled_from([b"\x00", b"cut", b"frame 0"]),
    ).map(lambda pair: spoilt(*pair)),
)


def spoilt(value: bytes, how: bytes) -> bytes:
    """Make a record's value undecodable: a byte too many, or too few, or another frame version."""
    if how == b"\x00":
        return value + how
    return value[:-1] if how == b"cut" else b"\x00" + value[1:]


markers = st.one_of(
    made("BeginTransactionRecord", name=st.none() | st.just("t")),
    made("EndTransactionRecord"),
    made("AbortTransactionRecord", reason=st.none()),
)
spoilt_markers = st.tuples(markers, st.sampled_from([b"\x00", b"frame 0"])).map(
    lambda pair: spoilt(*pair)
)

replayable = st.one_of(
    about_topics, about_topics, about_topics, about_brokers, about_settings, about_security, broken
)


def stories_of(
    *kinds: st.SearchStrategy[bytes | None], first: st.SearchStrategy[list[bytes]] | None = None
) -> st.SearchStrategy[Story]:
    """Draw stories long enough for records to meet, behind a beginning that makes something."""
    beginning: st.SearchStrategy[list[bytes]] = st.just([]) if first is None else first
    rest: st.SearchStrategy[Story] = st.lists(st.one_of(*kinds), min_size=8, max_size=30)
    return st.builds(lambda a, b: [*a, *b], beginning, rest | st.just([]))


some_topic = st.tuples(
    made("TopicRecord", name=names, topic_id=ids), sound_partitions(), sound_partitions()
).map(list)
some_broker = register_broker.map(lambda value: [value])

stories: st.SearchStrategy[Story] = st.one_of(
    stories_of(changes, changes, changes, about_topics, first=some_topic),
    stories_of(about_topics, about_topics, about_topics, markers, first=some_topic),
    stories_of(about_brokers, first=some_broker),
    stories_of(about_settings, about_topics),
    stories_of(about_security),
    stories_of(*[replayable] * 6, markers, spoilt_markers, first=some_topic),
)


@dataclass
class Log:
    """A log: the state before `end_offset`, and records from `start_offset` on."""

    base: Story | None
    end_offset: int
    start_offset: int
    story: Story


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Draw a log with or without a checkpoint, whose segments may reach back before it."""
    story = draw(stories)
    if draw(st.booleans()):
        return Log(None, 0, draw(st.sampled_from([0, 0, 7])), story)
    base = [*draw(some_topic), *draw(some_broker), *draw(st.lists(replayable, max_size=12))]
    end_offset = draw(st.sampled_from([0, 20, 20, 20]))
    return Log(base, end_offset, max(0, end_offset - draw(st.integers(0, 5))), story)


@dataclass
class Written:
    """A log as files."""

    base: Base | None
    base_file: str
    segments: list[tuple[str, bytes]]


def write(log: Log, directory: Path, how: str) -> Written:
    """Write a log in one of the `LAYOUTS`."""
    chance = random.Random(f"{how}{len(log.story)}")
    segments: list[tuple[str, bytes]] = []
    pending: Story = []
    data, first, at = bytearray(), log.start_offset, log.start_offset
    codecs = sorted(CODEC_IDS) if how.startswith("at random") else ["none"]
    for offset, value in enumerate(log.story, start=log.start_offset):
        pending.append(value)
        cut = {"one by one": True, "all in one": False}.get(how, chance.random() < 0.4)
        if cut or offset == log.start_offset + len(log.story) - 1:
            data += _batch(pending, at, chance.choice(codecs))
            pending, at = [], offset + 1
            if how.startswith("at random") and chance.random() < 0.2:
                segments.append((segment_name(first), bytes(data)))
                data, first = bytearray(), at
    if data or not segments:
        segments.append((segment_name(first), bytes(data)))
    base = None
    if log.base is not None:
        content = checkpoint_bytes(
            [value or b"" for value in log.base],
            epoch=3,
            timestamp=TIME - 5_000,
            batch_records=1 if how == "one by one" else chance.randint(1, 20),
        )
        base = Base(log.end_offset, 3, content)
    written = Written(base, checkpoint_name(log.end_offset, 3), segments)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, content in segments:
        (directory / name).write_bytes(content)
    if base is not None:
        (directory / written.base_file).write_bytes(base.data)
    return written


def _batch(values: Story, offset: int, codec: str) -> bytes:
    from kraftgen.batch import Record

    return encode_batch(
        [Record(value=value) for value in values],
        base_offset=offset,
        leader_epoch=EPOCH,
        timestamp=TIME,
        codec=codec,  # type: ignore[arg-type]
    )


def leaf_texts(source: Source) -> dict[tuple[str, ...], str]:
    """Text of every leaf under ``/image``."""
    return {path[1:]: text for path, text in product_tree(source.root, ("image",)).texts.items()}


def fault_places(source: Source) -> set[Place]:
    """Where every fault of a record is; nothing else may be wrong."""
    faults = source.all_faults()
    of_records = {FaultKind.RECORD, FaultKind.UNKNOWN, FaultKind.REPLAY}
    assert all(fault.kind in of_records for fault in faults), faults
    assert all(fault.pos is not None for fault in faults)
    return {(fault.file, fault.offset) for fault in faults}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A metadata directory that each example writes anew."""
    return tmp_path_factory.mktemp("image") / LOG_DIR_NAME


def compare(log: Log, directory: Path) -> None:
    """Compare the image with the replay in every layout."""
    first: Replayed | None = None
    for how in LAYOUTS:
        written = write(log, directory, how)
        expected = replay(written.base, written.base_file, written.segments)
        source = metashell.open(directory, show_secrets=True)

        assert expected.texts() == leaf_texts(source), how
        found = fault_places(source)
        assert expected.faults - expected.moot_faults == found - expected.moot_faults, how
        assert expected.open_transaction == (source.image.records.open_transaction is not None)
        check_partitions(source.image)
        assert_reduced_is_whole(source, random.Random(len(log.story)))
        if first is None:
            check_growing(log, expected)
        first = first or expected
        # The reference itself must not depend on the layout.
        assert first.texts() == expected.texts()
        assert len(first.faults) == len(expected.faults)


def check_growing(log: Log, expected: Replayed) -> None:
    """Compare an image that grew while the log was fetched, looked at here and there."""
    if log.start_offset if log.base is None else not log.end_offset:
        return  # nothing that could be fetched
    chance, live = random.Random(len(log.story)), LiveLog()
    story = log.story[log.end_offset - log.start_offset :]
    if log.base is not None:
        values = [value or b"" for value in log.base]
        content = checkpoint_bytes(values, epoch=3, timestamp=TIME - 5_000)
        live.begin_snapshot(log.end_offset, 3)
        assert live.add_snapshot(0, memoryview(content), len(content))
    codecs = ["none", "gzip"] if chance.random() < 0.2 else ["none"]
    nobody, shown = StandInLive(status_of(None), None), ReadSettings(show_secrets=True)
    source = LiveSource(live.metadata_log("live")[0], shown, nobody)
    while story:
        n = chance.randint(1, 6)
        values_now, story = story[:n], story[n:]
        live.append(memoryview(_batch(values_now, live.end_offset, chance.choice(codecs))))
        live.commit(live.end_offset)
        if chance.random() < 0.6:
            earlier = source.decoded
            source = LiveSource(live.metadata_log("live")[0], shown, nobody, grown_from=earlier)
        if chance.random() < 0.4:
            _ = chance.choice([leaf_texts, fault_places])(source)
        elif chance.random() < 0.3:
            _ = source.image.topics, source.image.partition_layout
    source = LiveSource(live.metadata_log("live")[0], shown, nobody, grown_from=source.decoded)
    assert expected.texts() == leaf_texts(source)
    found, moot = {at for _, at in fault_places(source)}, {at for _, at in expected.moot_faults}
    assert {at for _, at in expected.faults} - moot == found - moot
    check_partitions(source.image)


def check_partitions(image: Image) -> None:
    """The partitions of one topic, of all, and their layout are the same rows."""
    whole, layout = image.partitions, image.partition_layout
    # Without the partitions themselves, as they were not asked for yet.
    topics, partitions = partition_keys(image.records, image.topics)
    assert whole.topic.tolist() == topics.tolist()
    assert whole.partition.tolist() == partitions.tolist()
    assert whole.topic_bounds.tolist() == layout.bounds.tolist()
    assert whole.partition.tolist() == layout.ids.tolist()
    bounds = layout.bounds.tolist()
    for topic in range(len(image.topics)):
        rows = np.arange(bounds[topic], bounds[topic + 1])
        one = fold_partitions(image.records, image.topics, only=topic)
        assert len(rows) == len(one)
        assert whole.partition[rows].tolist() == list(image.partitions_of(topic).ids_of(topic))
        assert partition_rows(whole, rows) == partition_rows(one, np.arange(len(one)))
        for at, row in enumerate(rows.tolist()):
            partition = int(whole.partition[row])
            assert (row, at) == (whole.index(topic, partition), one.index(topic, partition))


def partition_rows(
    partitions: Partitions, rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> object:
    """Everything that is known of some partitions."""
    fixed = [
        getattr(partitions, name)[rows].tolist()
        for name in (
            "partition",
            "leader",
            "leader_epoch",
            "partition_epoch",
            "leader_recovery_state",
            "created",
            "changed",
            "directories_default",
        )
    ]
    lists = [partitions.list_column(name).take(rows).raws() for name in LISTS]
    # Where the default shows, what the column holds means nothing.
    at = list(LISTS).index("directories")
    lists[at] = [None if hidden else raw for raw, hidden in zip(lists[at], fixed[-1], strict=True)]
    return fixed, lists


@settings(
    # Each is written and opened in every layout; most rules meet in the long stories below.
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(log=logs())
def test_any_log(log: Log, directory: Path) -> None:
    """Every text and every fault is that of a replay, in every layout of the same records."""
    compare(log, directory)


@pytest.mark.parametrize("seed", seeds(5))
def test_long_stories(seed: int, directory: Path) -> None:
    """The same of long stories that mostly make sense, with and without a checkpoint."""
    chance = random.Random(seed)
    base: Story | None = None
    end_offset = start_offset = 0
    if seed % 3:
        base = list(Teller(seed + 1_000, transactions=False).tell(chance.randint(20, 60)))
        end_offset = 20
        start_offset = chance.randint(15, 20)
    log = Log(base, end_offset, start_offset, list(Teller(seed).tell(chance.randint(30, 150))))
    compare(log, directory)
