"""A log with marked bytes in every place that may hold a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kraftgen.batch import Record, control_record, encode_batch
from metashell.schema.encode import encode_uvarint
from support.logs import make_directory, record
from support.small_cluster import TIME, broker, config, level

MARK: Final = b"-Marked9"
"""What must not be found. It stands nowhere but in secrets and in what is not understood."""

TOPIC: Final = bytes([7]) * 16


def with_tag(value: bytes) -> bytes:
    """A record without tagged fields with one that no definition knows."""
    content = b"tag" + MARK
    return (
        value[:-1] + encode_uvarint(1) + encode_uvarint(77) + encode_uvarint(len(content)) + content
    )


def records() -> list[bytes]:
    """Values of sound records and of all that are not understood."""
    salt = {"salt": b"salt" + MARK, "stored_key": b"key" + MARK, "server_key": b"server" + MARK}
    scram = record("UserScramCredentialRecord", name="ann", mechanism=1, iterations=4096, **salt)
    token = record(
        "DelegationTokenRecord",
        token_id="tok",
        owner="User:ann",
        requester="User:bob",
        renewers=["User:carl", "User:dora"],
        issue_timestamp=TIME,
        max_timestamp=TIME + 9,
        expiration_timestamp=TIME + 5,
    )
    password = config(4, "1", "ssl.keystore.password", "password" + MARK.decode())
    topic = record("TopicRecord", name="t", topic_id=TOPIC)
    partition = record(
        "PartitionRecord", partition_id=0, topic_id=TOPIC, replicas=[1], isr=[1], leader=1
    )
    change = record("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, leader=1)
    return [
        level("metadata.version", 25),
        broker(1),
        topic,
        partition,
        scram,
        with_tag(record("UserScramCredentialRecord", name="bob", mechanism=2, **salt)),
        token,
        with_tag(token.replace(b"tok", b"tag")),
        password,
        with_tag(config(2, "t", "retention.ms", "77")),
        config(2, "t", "cleanup.policy", "compact"),
        # Known messages that do not decode.
        scram[:-1] + b"\x07" + MARK,
        token + MARK,
        password + MARK,
        topic + MARK,
        partition + MARK,
        change + MARK,
        with_tag(broker(2))[:-3] + MARK,
        # A version, a type and frames that no definition knows.
        b"\x01\x02\x63" + MARK,
        b"\x01\xe8\x07\x00vendor" + MARK,
        b"\x07\x02\x00" + MARK,
        b"\x00\x02\x00" + MARK,
        b"\xff" * 9 + MARK,
        record("NoOpRecord") + MARK,
    ]


def marked_directory(parent: Path, *, odd: bool = False) -> Path:
    """A metadata directory of these records, with control records of the same sort.

    Args:
        parent: Where it is made.
        odd: Whether several changes of a partition whose topic does not exist stand before them.
    """
    change = record("PartitionChangeRecord", partition_id=0, topic_id=bytes([9]) * 16, leader=1)
    values = [*([change] * 3 if odd else ()), *records()]
    plain = [
        Record(value=value, key=b"key" + MARK, headers=((b"header", MARK),)) for value in values
    ]
    controls = [
        control_record(9, b"\x00\x00control" + MARK),
        control_record(2, b"\x00\x00leader" + MARK),
        control_record(0, b"\x00\x00\x00\x00\x00\x00" + MARK),
    ]
    n = len(values)
    first = encode_batch(plain, timestamp=TIME) + encode_batch(
        controls, base_offset=n, control=True, timestamp=TIME
    )
    last = encode_batch(plain[::-1], base_offset=n + 3, leader_epoch=2, timestamp=TIME)
    return make_directory(parent, (0, first), (n + 3, last))
