"""The encoder and the generator of clusters: what they write is what Kafka would."""

from __future__ import annotations

import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftgen import files
from kraftgen.__main__ import main
from kraftgen.batch import (
    CODEC_IDS,
    HEADER,
    Codec,
    Damage,
    Record,
    encode_batch,
)
from kraftgen.cluster import ClusterSpec, Written, make_changes, write_cluster
from kraftgen.vectors import Partitions, Values, frame_records
from metashell.schema.encode import encode_message, encode_record
from metashell.schema.scalar import decode_message
from support.decoded_records import decode_record
from support.fixtures import fixture
from support.plain_batches import read_batches, read_records
from support.seeds import examples
from support.strategies import builtin_registry, record_lists

pytestmark = pytest.mark.meta

REGISTRY = builtin_registry()

SHAPES = [
    ClusterSpec(topics=40, partitions=4, changes=2_000),
    ClusterSpec(topics=2, partitions=200, brokers=1, replication=1, changes=300),
    ClusterSpec(topics=9, partitions=7, brokers=2, replication=2, changes=300, batch_records=10),
    ClusterSpec(topics=9, partitions=7, brokers=11, replication=5, changes=99, changes_batch=1),
    ClusterSpec(topics=60, partitions=40, brokers=8, replication=8, batch_records=2_000),
    ClusterSpec(topics=0, brokers=3),
]


@pytest.fixture(scope="module", params=SHAPES, ids=lambda s: f"{s.topics}x{s.partitions}")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ClusterSpec, Written]:
    """A cluster of each shape, written once."""
    return request.param, write_cluster(tmp_path_factory.mktemp("cluster"), request.param)


def values_of(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Decode the metadata records of a file: (message name, fields)."""
    out = []
    for record in read_records(path.read_bytes()):
        if not record.batch.is_control:
            decoded = decode_record(REGISTRY, record.value)
            assert decoded.spec is not None
            assert decoded.fields is not None, decoded.error
            out.append((decoded.spec.name, decoded.fields))
    return out


@pytest.mark.parametrize("name", ["real-44-live", "all-records-dir", "fuzz-decode"])
def test_encodes_as_kafka(name: str) -> None:
    """What Kafka encoded comes out the same after decoding and encoding."""
    for path in fixture(name).data_files():
        for record in read_records(path.read_bytes()):
            assert record.value is not None
            if record.batch.is_control:
                assert record.key is not None
                spec = REGISTRY.control[struct.unpack(">hh", record.key)[1]]
                (version,) = struct.unpack_from(">h", record.value)
                fields = decode_message(spec, version, record.value)
                assert record.value == encode_message(spec, version, fields)
            else:
                decoded = decode_record(REGISTRY, record.value)
                assert decoded.spec is not None
                assert decoded.version is not None
                assert decoded.fields is not None
                encoded = encode_record(decoded.spec, decoded.version, decoded.fields)
                assert record.value == encoded


@pytest.mark.parametrize("name", ["real-44-live", "real-40-static", "all-records-segment"])
def test_batches_as_kafka(name: str) -> None:
    """Kafka's batches come out the same when they are written again from their records."""
    for path in fixture(name).data_files():
        data = path.read_bytes()
        records = list(read_records(data))
        for batch in read_batches(data):
            written = encode_batch(
                [
                    Record(
                        key=r.key,
                        value=r.value,
                        timestamp_delta=r.timestamp - batch.base_timestamp,
                        offset_delta=r.offset - batch.base_offset,
                        headers=tuple((k, v) for k, v in r.headers if k is not None),
                    )
                    for r in records
                    if r.batch.pos == batch.pos
                ],
                base_offset=batch.base_offset,
                leader_epoch=batch.leader_epoch,
                timestamp=batch.base_timestamp,
                control=batch.is_control,
                producer_id=batch.producer_id,
            )
            assert written == data[batch.pos : batch.pos + len(written)]


@pytest.mark.parametrize("codec", CODEC_IDS)
@settings(max_examples=examples(20))
@given(records=record_lists(min_size=1, max_size=5))
def test_codecs(codec: Codec, records: list[Any]) -> None:
    """Batches of every codec hold their records."""
    values = [r.value for r in records]
    data = encode_batch(values, base_offset=7, leader_epoch=3, timestamp=1000, codec=codec)
    read = list(read_records(data))
    assert values == [r.value for r in read]
    assert list(range(7, 7 + len(values))) == [r.offset for r in read]
    assert CODEC_IDS[codec] == read[0].batch.attributes


@pytest.mark.parametrize("codec", ["snappy", "lz4", "zstd", "gzip"])
def test_codec_of_several_blocks(codec: Codec) -> None:
    """More than a block of a codec's framing is whole as well."""
    values = [bytes([i]) * 9_000 for i in range(20)]
    assert values == [r.value for r in read_records(encode_batch(values, codec=codec))]


@given(
    st.lists(
        st.builds(
            Record,
            key=st.none() | st.binary(max_size=5),
            value=st.none() | st.binary(max_size=200),
            timestamp_delta=st.integers(-(2**40), 2**40),
            headers=st.lists(
                st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=2
            ).map(tuple),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_records_of_a_batch(records: list[Record]) -> None:
    """Keys, nulls, timestamps and headers come along."""
    read = list(read_records(encode_batch(records, timestamp=2**41)))
    assert [(r.key, r.value, r.headers) for r in records] == [
        (r.key, r.value, r.headers) for r in read
    ]
    assert [2**41 + r.timestamp_delta for r in records] == [r.timestamp for r in read]


def test_damage() -> None:
    """A header says what it is told to, and only a flipped CRC is wrong."""
    wrong = Damage(magic=1, batch_length=2**31 - 1, count=9, last_offset_delta=8, codec_id=5)
    header = HEADER.unpack_from(encode_batch([b"x"], damage=wrong))
    assert (2**31 - 1, 1, 5, 8, 9) == tuple(header[i] for i in (1, 3, 5, 6, 12))
    assert 1 == len(list(read_batches(encode_batch([b"x"], damage=Damage(count=2)))))
    with pytest.raises(AssertionError):
        list(read_batches(encode_batch([b"x"], damage=Damage(crc_xor=1))))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"nam": "x"}, "no field `nam`"),
        ({"name": None}, "`name` can't be null"),
        ({"topic_id": b"x"}, "a uuid has 16 bytes"),
    ],
)
def test_encoder_refuses(fields: dict[str, object], reason: str) -> None:
    """A mistake in a test's fields is an error, not other bytes."""
    with pytest.raises(ValueError, match=reason):
        encode_message(REGISTRY.by_name["TopicRecord"], 0, fields)


def test_encoder_refuses_other_versions() -> None:
    """A value that the version can't carry is an error; a default is none."""
    spec = REGISTRY.by_name["RegisterBrokerRecord"]
    encode_message(spec, 0, {"log_dirs": []})
    with pytest.raises(ValueError, match="version 0 has no field `log_dirs`"):
        encode_message(spec, 0, {"log_dirs": [bytes(16)]})


@given(
    st.lists(st.binary(max_size=70), min_size=1, max_size=20),
    st.sampled_from([0, 60, 8_180, 500_000]),
)
def test_frames_in_bulk(values: list[bytes], first: int) -> None:
    """Frames made by the million equal those made one by one."""
    deltas = range(first, first + len(values))
    flat, sizes = frame_records(Values.from_bytes(values), np.array(deltas))
    batch = encode_batch(
        [Record(value=v, offset_delta=d) for v, d in zip(values, deltas, strict=True)]
    )
    assert batch[HEADER.size :] == flat.tobytes()
    assert len(flat) == int(sizes.sum())


def test_records_in_bulk(cluster: tuple[ClusterSpec, Written]) -> None:
    """Records made by the million equal the generic encoder's, and offsets have no gaps."""
    _, written = cluster
    for path, offset in (
        (written.checkpoint, 0),
        (written.segment, int(written.checkpoint.name[:20])),
    ):
        if path is None:
            continue
        for expected, record in enumerate(read_records(path.read_bytes()), offset):
            assert expected == record.offset
            if not record.batch.is_control:
                decoded = decode_record(REGISTRY, record.value)
                assert decoded.spec is not None
                assert decoded.version is not None
                assert decoded.fields is not None
                encoded = encode_record(decoded.spec, decoded.version, decoded.fields)
                assert encoded == record.value


def test_counts(cluster: tuple[ClusterSpec, Written]) -> None:
    """As many topics, partitions, nodes and changes are written as were asked for."""
    spec, written = cluster
    records = values_of(written.checkpoint)
    assert written.checkpoint_records == len(records)
    counts = Counter(name for name, _ in records)
    assert spec.topics == counts["TopicRecord"]
    assert spec.topics * spec.partitions == counts["PartitionRecord"]
    assert spec.brokers == counts["RegisterBrokerRecord"]
    assert spec.controllers == counts["RegisterControllerRecord"]
    assert bool(spec.changes) == (written.segment is not None)
    if written.segment is not None:
        changes = Counter(name for name, _ in values_of(written.segment))
        assert spec.changes == changes["PartitionChangeRecord"]
        sizes = [b.count for b in read_batches(written.segment.read_bytes())]
        assert written.change_batches == len(sizes)
        assert max(sizes) <= spec.changes_batch * 3 // 2


def test_batches_of_the_checkpoint(cluster: tuple[ClusterSpec, Written]) -> None:
    """Control batches stand at both ends, and full batches between them."""
    spec, written = cluster
    first, *between, last = read_batches(written.checkpoint.read_bytes())
    assert first.is_control
    assert (3, 1) == (first.count, last.count)
    assert last.is_control
    assert {spec.batch_records} >= {batch.count for batch in between[:-1]}
    assert not any(batch.is_control for batch in between)


def assert_sound(partition: dict[str, Any], log_dirs: dict[int, list[bytes]], n: int) -> None:
    """Check what an integrity check would."""
    replicas, isr = partition["replicas"], partition["isr"]
    assert n == len(set(replicas)) == len(replicas)
    assert set(isr) <= set(replicas)
    assert partition["leader"] in isr
    assert len(isr) >= (2 if n > 2 else 1)
    assert all(
        directory in log_dirs[broker]
        for broker, directory in zip(replicas, partition["directories"], strict=True)
    )


def test_soundness(cluster: tuple[ClusterSpec, Written]) -> None:
    """The cluster of the checkpoint is sound, and stays so with every change."""
    spec, written = cluster
    records = values_of(written.checkpoint)
    log_dirs = {f["broker_id"]: f["log_dirs"] for n, f in records if n == "RegisterBrokerRecord"}
    topic_ids = {f["topic_id"] for n, f in records if n == "TopicRecord"}
    partitions = {
        (f["topic_id"], f["partition_id"]): f for n, f in records if n == "PartitionRecord"
    }
    assert topic_ids == {topic_id for topic_id, _ in partitions}
    for partition in partitions.values():
        assert_sound(partition, log_dirs, spec.replication)
    for name, change in values_of(written.segment) if written.segment else ():
        if name == "NoOpRecord":
            continue
        partition = partitions[change["topic_id"], change["partition_id"]]
        assert change["isr"] is not None or change["leader"] != -2
        if change["isr"] is not None:
            partition["isr"] = change["isr"]
        if change["leader"] != -2:
            partition["leader"] = change["leader"]
        assert_sound(partition, log_dirs, spec.replication)


def test_unique_names(cluster: tuple[ClusterSpec, Written]) -> None:
    """Names and ids of topics, ids of nodes, ACLs and directories are unique."""
    _, written = cluster
    records = values_of(written.checkpoint)
    for name, field in (
        ("TopicRecord", "name"),
        ("TopicRecord", "topic_id"),
        ("RegisterBrokerRecord", "broker_id"),
        ("AccessControlEntryRecord", "id"),
        ("DelegationTokenRecord", "token_id"),
    ):
        values = [f[field] for n, f in records if n == name]
        assert len(values) == len(set(values))
    directories = [d for n, f in records if n == "RegisterBrokerRecord" for d in f["log_dirs"]]
    assert len(directories) == len(set(directories))


def test_seed(tmp_path: Path) -> None:
    """The same seed gives the same bytes, another one others."""
    made = [
        write_cluster(tmp_path / name, ClusterSpec(topics=5, changes=50, seed=seed))
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    checkpoints = [w.checkpoint.read_bytes() for w in made]
    segments = [w.segment.read_bytes() for w in made if w.segment]
    assert checkpoints[0] == checkpoints[1]
    assert segments[0] == segments[1]
    assert checkpoints[0] != checkpoints[2]


def test_changes_of_one_partition() -> None:
    """Changes of the same partition follow each other."""
    partitions = Partitions(
        topic_ids=np.zeros((1, 16), np.uint8),
        partition_ids=np.zeros(1, np.int32),
        replicas=np.array([[1, 2, 3]], np.int32),
        directories=np.zeros((1, 48), np.uint8),
        isr=np.array([7], np.uint8),
        leaders=np.zeros(1, np.int64),
        leader_epochs=np.zeros(1, np.int32),
        partition_epochs=np.zeros(1, np.int32),
    )
    _, isr, leaders = make_changes(np.random.default_rng(3), partitions, 500)
    now, leader = 7, 0
    for new_isr, new_leader in zip(isr.tolist(), leaders.tolist(), strict=True):
        now = new_isr or now
        leader = leader if new_leader < 0 else new_leader
        assert now >> leader & 1
        assert now.bit_count() >= 2
    assert {0, 3, 5, 6, 7} == set(isr.tolist())


def test_small_files(tmp_path: Path) -> None:
    """The files around the batches are those of a node."""
    written = write_cluster(tmp_path / "log", ClusterSpec(topics=50, changes=500))
    names = sorted(p.name for p in written.log_dir.iterdir())
    start = written.checkpoint.name[:20]
    assert names == [
        written.checkpoint.name,
        f"{start}.index",
        f"{start}.log",
        f"{start}.timeindex",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "quorum-state",
    ]
    assert f"0\n1\n7 {int(start)}\n" == (written.log_dir / "leader-epoch-checkpoint").read_text()
    assert 1 == json.loads((written.log_dir / "quorum-state").read_text())["data_version"]
    properties = (tmp_path / "log" / "meta.properties").read_text()
    assert "node.id=3000\nversion=1\ndirectory.id=" in properties


def test_indexes_are_sparse_and_true(tmp_path: Path) -> None:
    """An index is preallocated as a hole, and its entries point to batches."""
    written = write_cluster(tmp_path / "log", ClusterSpec(topics=50, changes=2_000))
    assert written.segment is not None
    index = written.segment.with_suffix(".index")
    assert files.INDEX_BYTES == index.stat().st_size
    assert index.stat().st_blocks * 512 < 1 << 16
    assert files.INDEX_BYTES - 4 == written.segment.with_suffix(".timeindex").stat().st_size
    batches = {b.pos: b for b in read_batches(written.segment.read_bytes())}
    base_offset = int(written.segment.stem)
    entries = list(struct.iter_unpack(">ii", index.read_bytes()[:80]))
    assert entries[0] != (0, 0)
    for relative_offset, pos in entries:
        if pos:
            last_offset = batches[pos].base_offset + batches[pos].last_offset_delta
            assert base_offset + relative_offset == last_offset


def test_checkpoint_of_values() -> None:
    """A checkpoint of a few values has a header and a footer around them."""
    voters = [
        {
            "voter_id": 1,
            "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
        }
    ]
    data = files.checkpoint_bytes(
        [b"a", b"b", b"c"], batch_records=2, kraft_version=1, voters=voters
    )
    records = list(read_records(data))
    assert list(range(7)) == [r.offset for r in records]
    types = [struct.unpack(">hh", r.key)[1] for r in records if r.key]
    assert [3, 5, 6, 4] == types
    without = list(read_records(files.checkpoint_bytes([])))
    assert [3, 4] == [struct.unpack(">hh", r.key)[1] for r in without if r.key]


def test_quorum_state_of_static_voters(tmp_path: Path) -> None:
    """Data version 0 names the voters."""
    files.write_quorum_state(
        tmp_path, data_version=0, leader_id=1, leader_epoch=2, voter_ids=[1, 2]
    )
    state = json.loads((tmp_path / "quorum-state").read_text())
    assert [{"voterId": 1}, {"voterId": 2}] == state["currentVoters"]
    assert 0 == state["data_version"]


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes a cluster, and never over another."""
    arguments = [str(tmp_path / "new"), "--topics", "3", "--partitions", "2", "--changes", "5"]
    assert main(arguments) == 0
    assert "batches to" in capsys.readouterr().out
    assert main(arguments) == 1
    assert "kraftgen: " in capsys.readouterr().err
    assert main([str(tmp_path / "other"), "--replication", "9"]) == 1
