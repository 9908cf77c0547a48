"""Directories that are hard to read, for whoever compares two ways of reading them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kraftgen.batch import Codec, Damage, Record, encode_batch
from kraftgen.files import (
    LOG_DIR_NAME,
    checkpoint_bytes,
    checkpoint_name,
    control_batch,
    write_leader_epochs,
    write_meta_properties,
    write_quorum_state,
)
from support.fixtures import copy_of, fixture
from support.fleets import torn
from support.logs import make_directory, record, secret_config, topic_batch, topic_log, topic_record
from support.small_cluster import broker, config, level, voters_batch

_BEYOND: Final = 1 << 62
"""A time in ms that has no time in microseconds."""


def _log(*batches: bytes) -> Callable[[Path], Path]:
    return lambda parent: make_directory(parent, (0, b"".join(batches)))


def _fixture(name: str) -> Callable[[Path], Path]:
    def make(parent: Path) -> Path:
        if fixture(name).kind == "directory":
            return copy_of(name, parent) / LOG_DIR_NAME
        return make_directory(parent, (0, fixture(name).input.read_bytes()))

    return make


def _partition(topic: int, number: int, leader: int = 1) -> bytes:
    return record(
        "PartitionRecord",
        topic_id=topic.to_bytes(16, "big"),
        partition_id=number,
        replicas=[1, 2],
        isr=[1, 2],
        leader=leader,
    )


def _cluster(first: int = 0, *, timestamp: int = 1_790_000_000_000, epoch: int = 1) -> bytes:
    """A batch with something in most parts: a level, brokers, topics, configs."""
    values = [
        level("metadata.version", 27),
        broker(1),
        broker(2, fenced=True),
        topic_record(first),
        _partition(first, 0),
        _partition(first, 1, -1),
        config(2, f"t{first}", "retention.ms", "7"),
        secret_config(),
    ]
    return encode_batch(values, base_offset=first, timestamp=timestamp, leader_epoch=epoch)


def _times(parent: Path) -> Path:
    """Times that nobody can show, of control records and in a checkpoint too."""
    leader = control_batch(
        [("LeaderChangeMessage", {"leader_id": 1, "voters": [], "granting_voters": []})],
        base_offset=12,
        epoch=2,
        timestamp=-_BEYOND,
    )
    directory = make_directory(
        parent,
        (0, _cluster() + encode_batch([topic_record(8)], base_offset=8, timestamp=_BEYOND)),
        (
            9,
            encode_batch(
                [topic_record(9), Record(value=topic_record(10), timestamp_delta=1 << 61)],
                base_offset=9,
                timestamp=(1 << 62) + 5,
            )
            + encode_batch([topic_record(11)], base_offset=11, timestamp=-1)
            + leader
            + topic_batch(13, leader_epoch=2),
        ),
    )
    values = [level("metadata.version", 27), topic_record(0)]
    (directory / checkpoint_name(8, 1)).write_bytes(checkpoint_bytes(values, timestamp=_BEYOND))
    return directory


def _names(parent: Path) -> Path:
    """One id with two names, and one name of two ids."""
    again = record("TopicRecord", name="renamed", topic_id=(0).to_bytes(16, "big"))
    other = record("TopicRecord", name="t3", topic_id=(4).to_bytes(16, "big"))
    remove = record("RemoveTopicRecord", topic_id=(3).to_bytes(16, "big"))
    first = [topic_record(0), _partition(0, 0), again, _partition(0, 1), topic_record(3)]
    second = [_partition(3, 0), remove, other, _partition(4, 0), _partition(9, 0)]
    return make_directory(
        parent, (0, encode_batch(first)), (5, encode_batch(second, base_offset=5))
    )


def _names_in_checkpoint(parent: Path) -> Path:
    """The checkpoint has another name of an id than the segments before and behind it."""
    directory = make_directory(
        parent,
        (0, encode_batch([topic_record(0), _partition(0, 0)])),
        (2, encode_batch([_partition(0, 1), topic_record(2)], base_offset=2)),
    )
    again = record("TopicRecord", name="renamed", topic_id=(0).to_bytes(16, "big"))
    (directory / checkpoint_name(2, 1)).write_bytes(checkpoint_bytes([again, _partition(0, 0)]))
    return directory


def _epochs(parent: Path) -> Path:
    """Epochs that begin with records of no state, of partitions alone, and with a damaged batch."""
    batches, noop = [_cluster()], record("NoOpRecord")
    for i in range(5):
        value = _partition(0, i) if i % 2 else noop
        batches.append(encode_batch([value], base_offset=8 + i, leader_epoch=2 + 2 * i))
    bad = Damage(count=7)
    batches.append(encode_batch([noop], base_offset=13, leader_epoch=11, damage=bad))
    batches.append(topic_batch(14, 2, leader_epoch=12))
    return make_directory(parent, (0, b"".join(batches)))


def _epochs_behind_checkpoint(parent: Path) -> Path:
    """As `_epochs`, with a checkpoint in the middle and files of the node beside it."""
    directory = _epochs(parent)
    values = [level("metadata.version", 27), topic_record(0)]
    (directory / checkpoint_name(10, 4)).write_bytes(checkpoint_bytes(values, epoch=4))
    write_leader_epochs(directory, [(1, 0), (3, 8), (6, 10)])
    write_quorum_state(directory, leader_id=1, leader_epoch=9)
    write_meta_properties(parent, cluster_id="c", node_id=3)
    return directory


def _gap(parent: Path) -> Path:
    directory = make_directory(parent, (0, topic_batch(0, 2)), (5, topic_batch(5, 2)), (9, b""))
    write_leader_epochs(directory, [(1, 0)])
    return directory


def _torn_checkpoint(parent: Path) -> Path:
    """The newest checkpoint has no end, and the one before it has one."""
    directory = make_directory(
        parent, (0, b"".join(topic_log(2))), (4, topic_batch(4, 2)), (6, topic_batch(6, 2))
    )
    values = [topic_record(i) for i in range(4)]
    (directory / checkpoint_name(4, 1)).write_bytes(checkpoint_bytes(values))
    (directory / checkpoint_name(6, 1)).write_bytes(checkpoint_bytes(values)[:-30])
    return directory


def _trimmed(parent: Path) -> Path:
    """A log whose beginning is missing, without a checkpoint."""
    return make_directory(parent, (50, topic_batch(50, 2) + topic_batch(52, 3)))


def _bad_epochs(parent: Path) -> Path:
    directory = _epochs_behind_checkpoint(parent)
    (directory / "leader-epoch-checkpoint").write_text("0\n7\nnonsense\n")
    return directory


def _no_file(parent: Path) -> Path:
    """A directory stands where a segment should."""
    directory = make_directory(parent, (0, topic_batch(0, 3)), (4, topic_batch(4)))
    (directory / f"{3:020d}.log").mkdir()
    return directory


def _damaged(codec: Codec, damage: Damage) -> Callable[[Path], Path]:
    """The middle one of three batches."""
    values = [topic_record(4), config(2, "t4", "retention.ms", "9"), topic_record(6)]
    middle = encode_batch(values, base_offset=4, codec=codec, damage=damage)
    return _log(topic_batch(0, 4, codec=codec), middle, topic_batch(7, 2, codec=codec))


def _torn(parent: Path) -> Path:
    return torn("compressed-zstd", parent, 7) / LOG_DIR_NAME


_BAD: Final = [
    topic_record(0),
    b"\x01\x02\x00" + b"\xff" * 5,  # a topic that ends too early
    b"\x01\x7f\x00abc",  # a type that nobody knows
    b"\x01\x02\x63\x00",  # a version that nobody knows
    b"",
    b"\x07",
    _partition(7, 0),
    record("RemoveTopicRecord", topic_id=(8).to_bytes(16, "big")),
    config(2, "t0", "retention.ms", None),
]

DAMAGED: Final[Mapping[str, Callable[[Path], Path]]] = {
    "times": _times,
    "names": _names,
    "names-in-checkpoint": _names_in_checkpoint,
    "epochs": _epochs,
    "epochs-behind-checkpoint": _epochs_behind_checkpoint,
    "bad-epochs": _bad_epochs,
    "gap": _gap,
    "trimmed": _trimmed,
    "torn-checkpoint": _torn_checkpoint,
    "torn": _torn,
    "no-file": _no_file,
    "empty-segment": lambda parent: make_directory(parent, (0, topic_batch(0, 3)), (3, b"")),
    "bad-crc": _damaged("none", Damage(crc_xor=1)),
    "bad-count": _damaged("none", Damage(count=9)),
    "bad-payload": _damaged("zstd", Damage(codec_id=3)),
    "bad-records": _log(encode_batch(_BAD)),
    "bad-records-compressed": _log(encode_batch(_BAD, codec="gzip")),
    "static-voters": _log(voters_batch([1, 2, 3], dynamic=False), topic_batch(1, 2)),
    "voters": _log(voters_batch([1, 2, 3], dynamic=True), topic_batch(2, 2)),
    **{
        name.partition("/")[2] or name: _fixture(name)
        for name in (
            "quirks/abort-then-records-same-batch",
            "quirks/begin-inside-open",
            "quirks/faulty-records",
            "quirks/open-transaction-at-end",
            "quirks/two-ids-one-name",
            "quirks/undecodable-records",
            "real-40-static",
            "real-44-torn",
            "real-44-trimmed",
        )
    },
}
"""What makes each in an empty directory, and returns the metadata directory."""


def damaged(name: str, parent: Path) -> Path:
    """Make one of them below a directory, and return the metadata directory."""
    own = parent / name
    own.mkdir()
    made = DAMAGED[name](own)
    shutil.rmtree(made.parent / "golden", ignore_errors=True)
    return made
