"""What stops a controller that loads the log, and what checkpoints lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name
from metashell.sources.source import Source
from support.logs import make_directory, record
from support.shell import run_on
from support.small_cluster import TIME, broker, cluster, level

HOUR_MS = 3_600_000


def rows(source: Source, code: str, options: str = "") -> list[dict[str, Any]]:
    """The rows of one kind."""
    found: list[dict[str, Any]] = json.loads(run_on(source, f"health {code} {options} -o json").out)
    return found


# Records that stop a controller.


def topic(name: str, number: int) -> bytes:
    """A topic of that name and id."""
    return record("TopicRecord", name=name, topic_id=number.to_bytes(16, "big"))


def gone(number: int) -> bytes:
    """The end of a topic."""
    return record("RemoveTopicRecord", topic_id=number.to_bytes(16, "big"))


def user(name: str, mechanism: int = 1, iterations: int = 4096) -> bytes:
    """A SCRAM credential."""
    return record(
        "UserScramCredentialRecord",
        name=name,
        mechanism=mechanism,
        salt=b"salt",
        stored_key=b"key",
        server_key=b"key",
        iterations=iterations,
    )


def dropped(name: str, mechanism: int = 1) -> bytes:
    """The end of a credential."""
    return record("RemoveUserScramCredentialRecord", name=name, mechanism=mechanism)


def acl(number: int, principal: str = "User:a") -> bytes:
    """An ACL under that id."""
    return record(
        "AccessControlEntryRecord",
        id=number.to_bytes(16, "big"),
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        principal=principal,
        host="*",
        operation=3,
        permission_type=3,
    )


def revoked(number: int) -> bytes:
    """The end of an ACL."""
    return record("RemoveAccessControlEntryRecord", id=number.to_bytes(16, "big"))


def block(first: int) -> bytes:
    """A block of producer ids."""
    return record("ProducerIdsRecord", broker_id=1, broker_epoch=1, next_producer_id=first)


@pytest.mark.parametrize(
    ("values", "offset", "error"),
    [
        ([topic("a", 1), topic("b", 2), topic("a", 3)], 2, "with a different ID than before"),
        ([topic("a", 1), topic("a", 1)], 1, "duplicate TopicRecord for a with topic ID AAAA"),
        # Kafka forgets a name only with the topic that has it then.
        ([topic("a", 1), topic("b", 1), topic("a", 2)], 2, "Found duplicate TopicRecord for a"),
        ([topic("a", 1), topic("a", 2), topic("a", 3), topic("a", 4)], 1, "for a with a different"),
        ([dropped("admin")], 0, "Unable to find credential to delete: user admin"),
        ([user("admin", 2), dropped("admin", 1)], 1, "Unable to find credential to delete"),
        ([user("x"), dropped("x"), dropped("x")], 2, "Unable to find credential to delete: user x"),
        ([dropped("x"), topic("a", 1), topic("a", 2)], 0, "Unable to find credential"),
        ([acl(1), acl(2), revoked(2), revoked(1)], 3, "acl not found in existingAcls: ACL AAAA"),
        ([acl(2, "User:b"), acl(1), acl(2), revoked(1), revoked(2)], 4, "acl not found in"),
        ([block(1000), block(3000), block(2000)], 2, "(2000) is not greater than"),
        ([block(1000), block(1000)], 1, "Next Producer ID from replayed record (1000)"),
    ],
)
def test_a_record_that_a_controller_refuses(values: list[bytes], offset: int, error: str) -> None:
    """The first one is told with its offset and the words of Kafka's error; brokers read on."""
    with cluster(*values) as source:
        (row,) = rows(source, "controller-stops")
        assert 1 == run_on(source, "health").status
        assert 0 == run_on(source, row["command"]).status
        told = json.loads(run_on(source, "check --quick -o json").out)
        assert [offset] == [f["offset"] for f in told if f["code"] == "controller-stops"]
    assert ("critical", offset) == (row["severity"], row["since_offset"])
    assert f"every controller stops at offset {offset}, and brokers read on" in row["explanation"]
    assert error in row["explanation"]
    assert f"log --offset {offset}" == row["command"]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [topic("a", 1), gone(1), topic("a", 2), gone(2), topic("a", 1)],
        [topic("a", 1), topic("b", 1), gone(1), topic("b", 2)],
        [topic("a", 1), topic("A", 2), topic("", 3), topic("a\0", 4)],
        [user("x", 1), user("x", 2), user("x", 1), dropped("x", 1), dropped("x", 2), user("x", 1)],
        [acl(1), acl(2, "User:b"), revoked(2), acl(3), revoked(1), acl(1), revoked(3)],
        [acl(1), revoked(1), acl(2), revoked(2), block(0), block(1000)],
    ],
)
def test_names_that_are_free_again(values: list[bytes]) -> None:
    """A removed topic gives its name back; credentials may be set twice."""
    with cluster(*values) as source:
        assert [] == rows(source, "controller-stops")


def test_a_record_of_a_checkpoint_stops_a_controller_too(tmp_path: Path) -> None:
    """Its offset is not known; the file is named."""
    made = make_directory(tmp_path, (9, encode_batch([topic("c", 9)], base_offset=9)))
    name = checkpoint_name(9, 1)
    (made / name).write_bytes(checkpoint_bytes([topic("a", 1), topic("a", 2)]))
    (row,) = rows(metashell.open(made), "controller-stops")
    assert f"every controller stops at a record of {name}" in row["explanation"]
    assert (None, None) == (row["since_offset"], row["command"])


# A log without a level.


def test_a_log_without_a_level() -> None:
    """A leader has written it, and nodes are in it; one record of the level is enough."""
    with cluster(broker(1), voters=[1], dynamic=False) as source:
        (row,) = rows(source, "no-metadata-version")
        assert "3.x takes the log for 3.0-IV1" in row["explanation"]
        assert "warning" == row["severity"]
    values = [broker(1), level("metadata.version", 7)]
    with cluster(*values, voters=[1], dynamic=False) as source:
        assert [] == rows(source, "no-metadata-version")
    for nothing in ([], [level("group.version", 1)]):
        with cluster(*nothing, voters=[1], dynamic=False) as source:
            assert [] == rows(source, "no-metadata-version")


# Checkpoints.


def test_no_checkpoint_for_long(tmp_path: Path) -> None:
    """More than two intervals; the interval is that of a configuration, else it is assumed."""
    settings = tmp_path / "server.properties"

    def found(apart_ms: int, interval: str | None) -> list[dict[str, Any]]:
        options = ""
        if interval is not None:
            settings.write_text(f"metadata.log.max.snapshot.interval.ms={interval}\n")
            options = f"--assume {settings}"
        with cluster(broker(1), broker(2), apart_ms=apart_ms) as source:
            return rows(source, "checkpoint-behind", options)

    (row,) = found(3 * HOUR_MS, None)
    assert "there is no checkpoint of the last 3h 0m of the log" in row["explanation"]
    assert "the default, which is assumed" in row["explanation"]
    (row,) = found(2 * HOUR_MS + 1, str(HOUR_MS))
    assert "assumed" not in row["explanation"]
    assert [] == found(2 * HOUR_MS, None)
    assert [] == found(30 * HOUR_MS, "0")
    assert [] == found(30 * HOUR_MS, str(24 * HOUR_MS))
    assert 1 == len(found(3 * HOUR_MS, "many"))
    assert 1 == len(found(3 * HOUR_MS, "9" * 5000))
    assert 1 == len(found(10_000, "1000"))
    assert [] == found(-9 * HOUR_MS, None)


def test_every_check_keeps_the_interval(tmp_path: Path) -> None:
    """`health --deep` tells nothing of it by the default where a configuration switches it off."""
    settings = tmp_path / "server.properties"
    settings.write_text("metadata.log.max.snapshot.interval.ms=0\n")
    with cluster(broker(1), broker(2), apart_ms=30 * HOUR_MS) as source:
        for options, n in (("", 1), (f"--assume {settings}", 0)):
            found = json.loads(run_on(source, f"health --deep -o json {options}").out)
            assert n == [row["code"] for row in found].count("checkpoint-behind")


def test_software_without_the_interval() -> None:
    """3.3 makes checkpoints by bytes alone."""
    with cluster(broker(1, 7), broker(2, 7), apart_ms=9 * HOUR_MS) as source:
        assert [] == rows(source, "checkpoint-behind")


def test_a_checkpoint_is_long_ago(tmp_path: Path) -> None:
    """Its own time counts, not that of the log's beginning; what is opened alone is not judged."""
    batches = [
        encode_batch([broker(i)], base_offset=i, leader_epoch=1, timestamp=TIME + i * HOUR_MS)
        for i in range(10)
    ]
    made = make_directory(tmp_path, (0, b"".join(batches)))
    checkpoint = made / checkpoint_name(8, 1)
    checkpoint.write_bytes(checkpoint_bytes([broker(7)], timestamp=TIME + 7 * HOUR_MS))
    assert [] == rows(metashell.open(made), "checkpoint-behind")
    checkpoint.write_bytes(checkpoint_bytes([broker(7)], timestamp=TIME))
    (row,) = rows(metashell.open(made), "checkpoint-behind")
    assert "the newest checkpoint lacks the last 9h 0m of the log" in row["explanation"]
    assert [] == rows(metashell.open(made).at(8), "checkpoint-behind")
    assert [] == rows(metashell.open_file(checkpoint), "checkpoint-behind")


@pytest.mark.parametrize(("end", "wrong"), [(5, False), (6, True), (8, True), (9, False)])
def test_a_checkpoint_that_ends_inside_a_batch(tmp_path: Path, end: int, wrong: bool) -> None:
    """The batch of offsets 5 to 8 is in the log."""
    batches = [(0, 5), (5, 4), (9, 2)]
    log = [
        encode_batch([topic(f"t{first + i}", first + i) for i in range(n)], base_offset=first)
        for first, n in batches
    ]
    made = make_directory(tmp_path, (0, b"".join(log)))
    (made / checkpoint_name(end, 0)).write_bytes(checkpoint_bytes([topic("t0", 0)], epoch=0))
    found = json.loads(run_on(metashell.open(made), "check -o json").out)
    told = [f for f in found if f["code"] == "checkpoint-misaligned"]
    assert ([end] if wrong else []) == [f["offset"] for f in told]
    if wrong:
        assert "inside the batch of offsets 5 to 8" in told[0]["message"]


def directory(parent: Path, log: list[bytes], state: list[bytes]) -> Source:
    """A log in one batch, and a checkpoint at its end."""
    n = len(log)
    made = make_directory(
        parent,
        (0, encode_batch(log, base_offset=0, leader_epoch=1)),
        (n, encode_batch([broker(9)], base_offset=n, leader_epoch=1)),
    )
    (made / checkpoint_name(n, 1)).write_bytes(checkpoint_bytes(state))
    return metashell.open(made)


def test_a_checkpoint_that_lost_a_credential(tmp_path: Path) -> None:
    """Health and check name the user; Kafka's fault is named where a removal can be the cause."""
    log = [broker(1), user("old"), dropped("old"), user("new"), user("kept", 2)]
    source = directory(tmp_path, log, [broker(1), user("kept", 2)])
    (row,) = rows(source, "checkpoint-lacks-credentials")
    assert ("critical", 1) == (row["severity"], row["count"])
    assert "credentials that the log sets, of new:" in row["explanation"]
    assert "Kafka loses a credential where, at once, another is removed" in row["explanation"]
    codes = [f["code"] for f in json.loads(run_on(source, "check -o json").out)]
    assert "checkpoint-lacks-credentials" in codes
    assert "checkpoint-differs" not in codes


def test_another_loss_of_a_credential(tmp_path: Path) -> None:
    """Without a removal of the mechanism no fault of Kafka is blamed; many users are counted."""
    users = [user(f"u{i}") for i in range(5)]
    source = directory(tmp_path, [broker(1), user("y", 2), dropped("y", 2), *users], [broker(1)])
    (row,) = rows(source, "checkpoint-lacks-credentials")
    assert 5 == row["count"]
    assert "of u0, u1, u2 and 2 more:" in row["explanation"]
    assert "Kafka loses" not in row["explanation"]


def test_a_credential_that_differs_is_no_loss(tmp_path: Path) -> None:
    """Another number of iterations is a difference; a loss beside it is told too."""
    log = [broker(1), user("u"), user("v"), dropped("w"), user("w")]
    source = directory(tmp_path, log, [broker(1), user("u", iterations=9), user("w")])
    told = {f["code"]: f["message"] for f in json.loads(run_on(source, "check -o json").out)}
    assert "of v:" in told["checkpoint-lacks-credentials"]
    assert "it differs in scram" in told["checkpoint-differs"]
