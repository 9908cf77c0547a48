"""``check``: intact directories have nothing critical, and each of a table of damages is named."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crc32c
import pytest

import metashell
from kraftgen.batch import Damage, encode_batch, encode_raw_batch
from kraftgen.files import (
    checkpoint_bytes,
    checkpoint_name,
    control_batch,
    segment_name,
    write_leader_epochs,
)
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.schema.uuids import LOST
from support.fixtures import copy_of, fixture, fixture_names
from support.logs import make_directory, record, topic_batch, topic_record
from support.plain_batches import Batch, read_batches
from support.shell import Captured, Ran, run_on

REAL = [name for name in fixture_names() if name.startswith("real-")]
COMPRESSED = [name for name in fixture_names() if name.startswith("compressed-")]

SEGMENT = "00000000000000000387.log"
"""One before the newest checkpoint of real-44-live; another after it, and the newest."""
LATE = "00000000000000002881.log"
LAST = "00000000000000003389.log"
OLD_CHECKPOINT = "00000000000000000800-0000000001.checkpoint"
NEWEST = "00000000000000003263-0000000001.checkpoint"


def check(directory: Path, options: str = "--state") -> Ran:
    """Run check on a directory."""
    return run_on(metashell.open(directory), f"check {options}")


def said(text: str) -> str:
    """A text without the ends of its lines."""
    return " ".join(text.split())


def findings(directory: Path, options: str = "") -> list[dict[str, Any]]:
    """Run check on a directory and read its JSON lines."""
    found: list[dict[str, Any]] = json.loads(check(directory, f"--json --state {options}").out)
    return found


def critical(directory: Path) -> list[str]:
    """Codes of the critical findings, each once, in order."""
    found = findings(directory, "--severity critical")
    return list(dict.fromkeys(finding["code"] for finding in found))


# Intact directories.

WARNINGS_AND_NOTES = {
    "real-40-dynamic-broker": {},
    "real-40-static": {},
    # It was copied while the node deleted old files.
    "real-40-truncated": {"file-deleted": 5},
    "real-44-admin": {},
    # A broker is down, and partitions that only it had in sync have no leader.
    "real-44-broker-down": {"leaderless": 3},
    "real-44-live": {"leaderless": 8},
    "real-44-torn": {"leaderless": 8, "torn-tail": 1},
    "real-44-trimmed": {"leaderless": 234},
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", REAL)
def test_real_directories_are_clean(name: str) -> None:
    """Exit 0, nothing critical, and only the warnings and notes that are true of each."""
    directory = fixture(name).input
    counts: dict[str, int] = {}
    for finding in findings(directory):
        assert finding["severity"] != "critical", finding
        counts[finding["code"]] = counts.get(finding["code"], 0) + 1

    assert WARNINGS_AND_NOTES[name] == counts
    assert 0 == check(directory).status


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", REAL)
def test_leaderless_are_those_without_a_leader(name: str) -> None:
    """Every partition whose leader is -1 is named, with broker states as the tree has them."""
    source = metashell.open(fixture(name).input)
    rows = source.table("partitions").to_pylist()
    expected = {
        f"/image/topics/byName/{row['topic']}/{row['partition']}"
        for row in rows
        if row["leader"] == -1
    }
    found = [f for f in findings(fixture(name).input) if f["code"] == "leaderless"]

    assert expected == {f["path"] for f in found}
    assert all("fenced" in f["message"] for f in found)


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed_directories(name: str) -> None:
    """Their files are sound; of their invented state, one partition's leader is not in its ISR.

    Topics lack partitions there too.
    """
    found = findings(fixture(name).input)
    wrong = [(f["code"], f["path"]) for f in found if f["severity"] == "critical"]
    lacking = [path for code, path in wrong if code == "partition-missing"]

    assert 4 == len(set(lacking)) == len(lacking)
    assert all(path.startswith("/image/topics/byId/") for path in lacking)
    assert [("leader-not-in-isr", "/image/topics/byName/gamma_v2/10")] == [
        (code, path) for code, path in wrong if code != "partition-missing"
    ]
    assert 0 == check(fixture(name).input, "--quick").status
    text = metashell.open(fixture(name).input).cat("/image/topics/byName/gamma_v2/10")
    assert "isr=[3]" in text
    assert "leader=1," in text


def test_summary_counts_everything() -> None:
    """The last line counts all files, also those that the newest state does not need."""
    directory = fixture("real-44-live").input
    files = fixture("real-44-live").data_files()
    batches = [batch for file in files for batch in read_batches(file.read_bytes())]
    last = check(directory).out.splitlines()[-1]

    n_records = sum(batch.count for batch in batches)
    assert (
        f"{len(files)} files, {len(batches):,} batches, {n_records:,} records: 8 warnings" == last
    )


# Damages. Each function damages a copy of real-44-live and returns what must be found.


def batch_at(path: Path, index: int) -> Batch:
    """One of the batches of a file."""
    return list(read_batches(path.read_bytes()))[index]


def patch(path: Path, pos: int, data: bytes) -> None:
    """Overwrite bytes of a file."""
    whole = bytearray(path.read_bytes())
    whole[pos : pos + len(data)] = data
    path.write_bytes(bytes(whole))


def recrc(path: Path, batch: Batch, size: int) -> None:
    """Make a batch's CRC right again."""
    data = path.read_bytes()
    crc = crc32c.crc32c(data[batch.pos + 21 : batch.pos + size])
    patch(path, batch.pos + 17, struct.pack(">I", crc))


def size_of(path: Path, batch: Batch) -> int:
    """Bytes of a whole batch."""
    (length,) = struct.unpack_from(">i", path.read_bytes(), batch.pos + 8)
    return int(length) + 12


def bit_flip(name: str) -> Callable[[Path], dict[str, Any]]:
    """Flip a bit in the middle of a segment."""

    def damage(directory: Path) -> dict[str, Any]:
        path = directory / name
        batch = batch_at(path, 20)
        patch(path, batch.pos + 70, bytes([path.read_bytes()[batch.pos + 70] ^ 1]))
        return {
            "code": "crc-mismatch",
            "file": name,
            "pos": batch.pos,
            "offset": batch.base_offset,
            "message": f"lost: offsets {batch.base_offset} to "
            f"{batch.base_offset + batch.last_offset_delta}",
        }

    return damage


def cut_tail(directory: Path) -> dict[str, Any]:
    path = directory / LAST
    batch = batch_at(path, -1)
    path.write_bytes(path.read_bytes()[: batch.pos + 40])
    return {
        "severity": "note",
        "code": "torn-tail",
        "file": LAST,
        "pos": batch.pos,
        "offset": batch.base_offset,
    }


def cut_in_the_middle(directory: Path) -> dict[str, Any]:
    path = directory / SEGMENT
    batch = batch_at(path, -1)
    path.write_bytes(path.read_bytes()[: batch.pos + 70])
    return {"code": "batch-cut-off", "file": SEGMENT, "pos": batch.pos, "offset": batch.base_offset}


def gap_after_cut(directory: Path) -> dict[str, Any]:
    lost = cut_in_the_middle(directory)["offset"]
    return {"code": "segment-gap", "file": "00000000000000000862.log", "pos": 0, "offset": lost}


def removed_segment(directory: Path) -> dict[str, Any]:
    (directory / SEGMENT).unlink()
    return {"code": "segment-gap", "file": "00000000000000000862.log", "pos": 0, "offset": 387}


def orphaned_index(directory: Path) -> dict[str, Any]:
    (directory / SEGMENT).unlink()
    return {"severity": "warning", "code": "index-orphaned", "file": "00000000000000000387.index"}


def removed_active_segment(directory: Path) -> dict[str, Any]:
    (directory / LAST).unlink()
    return {"code": "segment-missing", "file": LAST, "offset": 3389, "message": "the active"}


def removed_end_of_the_log(directory: Path) -> dict[str, Any]:
    for path in directory.glob("000000000000000*.*"):
        if path.name >= LATE[:20] and path.suffix != ".checkpoint":
            path.unlink()
    return {"severity": "warning", "code": "checkpoint-beyond-log", "offset": int(LATE[:20])}


def removed_all_segments(directory: Path) -> dict[str, Any]:
    for path in [*directory.glob("*.log"), *directory.glob("*index")]:
        path.unlink()
    return {"code": "segment-missing", "file": None, "offset": 3263, "message": "no segment"}


def zeros_at_the_end(directory: Path) -> dict[str, Any]:
    path = directory / LAST
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(4096))
    message = "the last 4096 bytes are zero"
    return {"severity": "warning", "code": "zero-tail", "file": LAST, "pos": size,
            "message": message}  # fmt: skip


def removed_first_segments(directory: Path) -> dict[str, Any]:
    for path in directory.glob("*.log"):
        if path.name < LAST:
            path.unlink()
    return {"code": "checkpoint-gap", "file": LAST, "pos": 0, "offset": 3263}


def renamed_segment(directory: Path) -> dict[str, Any]:
    (directory / SEGMENT).rename(directory / segment_name(388))
    return {"code": "name-mismatch", "file": segment_name(388), "pos": 0, "offset": 387}


def misnamed_segment(directory: Path) -> dict[str, Any]:
    (directory / SEGMENT).rename(directory / "387.log")
    return {"severity": "warning", "code": "file-misnamed", "file": "387.log"}


def wrong_magic(directory: Path) -> dict[str, Any]:
    path = directory / LATE
    batch = batch_at(path, 5)
    patch(path, batch.pos + 16, b"\1")
    return {"code": "bad-magic", "file": LATE, "pos": batch.pos, "offset": batch.base_offset}


def no_header(directory: Path) -> dict[str, Any]:
    path = directory / OLD_CHECKPOINT
    path.write_bytes(path.read_bytes()[batch_at(path, 1).pos :])
    return {"code": "checkpoint-no-header", "file": OLD_CHECKPOINT, "pos": 0}


def no_footer(directory: Path) -> dict[str, Any]:
    path = directory / NEWEST
    data, last = batch_at(path, -2), batch_at(path, -1)
    path.write_bytes(path.read_bytes()[: last.pos])
    return {"code": "checkpoint-no-footer", "file": NEWEST, "pos": data.pos}


def wrong_epoch_in_name(directory: Path) -> dict[str, Any]:
    name = NEWEST.replace("-0000000001", "-0000000007")
    (directory / NEWEST).rename(directory / name)
    return {"code": "checkpoint-epoch", "file": name, "pos": 0, "offset": None}


def swapped_batches(directory: Path) -> dict[str, Any]:
    path = directory / LATE
    first, second, third = (batch_at(path, i) for i in (10, 11, 12))
    data = path.read_bytes()
    both = data[second.pos : third.pos] + data[first.pos : second.pos]
    path.write_bytes(data[: first.pos] + both + data[third.pos :])
    return {
        "code": "batch-out-of-order",
        "file": LATE,
        "pos": first.pos,
        "offset": first.base_offset,
    }


def wrong_index_entry(directory: Path) -> dict[str, Any]:
    patch(directory / "00000000000000000387.index", 8 + 4, struct.pack(">i", 777))
    return {"code": "index-entry", "file": "00000000000000000387.index", "pos": 8}


def wrong_index_offset(directory: Path) -> dict[str, Any]:
    patch(directory / "00000000000000003389.index", 8, struct.pack(">i", 3))
    return {"code": "index-entry", "file": "00000000000000003389.index", "pos": 8}


def wrong_time_index_entry(directory: Path) -> dict[str, Any]:
    patch(directory / "00000000000000000387.timeindex", 12, struct.pack(">q", 5))
    return {
        "severity": "warning",
        "code": "time-index-entry",
        "file": "00000000000000000387.timeindex",
        "pos": 12,
    }


def wrong_cluster_id(directory: Path) -> dict[str, Any]:
    state = json.loads((directory / "quorum-state").read_text())
    state["clusterId"] = "AAAAAAAAQACAAAAAAAAAAA"
    (directory / "quorum-state").write_text(json.dumps(state))
    return {"code": "cluster-id", "file": "quorum-state"}


def wrong_property(key: str, value: str, **expected: str) -> Callable[[Path], dict[str, Any]]:
    """Change a line of meta.properties."""

    def damage(directory: Path) -> dict[str, Any]:
        path = directory.parent / "meta.properties"
        lines = [
            f"{key}={value}" if line.startswith(f"{key}=") else line
            for line in path.read_text().splitlines()
        ]
        path.write_text("\n".join(lines) + "\n")
        return {"file": "meta.properties", **expected}

    return damage


def wrong_leader(directory: Path) -> dict[str, Any]:
    state = json.loads((directory / "quorum-state").read_text())
    state["leaderId"] = 9
    (directory / "quorum-state").write_text(json.dumps(state))
    return {"code": "leader-not-voter", "file": "quorum-state"}


def malformed_state(directory: Path) -> dict[str, Any]:
    (directory / "quorum-state").write_bytes(b"{")
    return {"code": "file-malformed", "file": "quorum-state"}


def wrong_topic_id(directory: Path) -> dict[str, Any]:
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: J6J4HdW8SrijhYJLPNUJ3g")
    return {"code": "topic-id", "file": "partition.metadata"}


def falling_epoch(directory: Path) -> dict[str, Any]:
    # The epoch is not covered by the CRC.
    path = directory / LATE
    batch, after = batch_at(path, 7), batch_at(path, 8)
    patch(path, batch.pos + 12, struct.pack(">i", 4))
    return {"code": "epoch-falls", "file": LATE, "pos": after.pos, "offset": after.base_offset}


def falling_epoch_between_segments(directory: Path) -> dict[str, Any]:
    path = directory / SEGMENT
    patch(path, batch_at(path, 0).pos + 12, struct.pack(">i", 0))
    return {"code": "epoch-falls", "file": SEGMENT, "pos": 0, "offset": 387}


def wrong_epoch_start(directory: Path) -> dict[str, Any]:
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 500\n")
    return {"code": "epoch-entry", "file": "leader-epoch-checkpoint", "offset": 0}


def lying_count(directory: Path) -> dict[str, Any]:
    path = directory / LATE
    batch = next(b for b in read_batches(path.read_bytes()) if b.count > 2)
    patch(path, batch.pos + 57, struct.pack(">i", batch.count - 1))
    recrc(path, batch, size_of(path, batch))
    return {
        "code": "batch-unreadable",
        "file": LATE,
        "pos": batch.pos,
        "offset": batch.base_offset,
    }


def lying_count_in_old_segment(directory: Path) -> dict[str, Any]:
    path = directory / SEGMENT
    batch = next(b for b in read_batches(path.read_bytes()) if b.count > 2)
    patch(path, batch.pos + 57, struct.pack(">i", 1_000_000))
    recrc(path, batch, size_of(path, batch))
    return {"code": "batch-unreadable", "file": SEGMENT, "pos": batch.pos}


def lying_last_offset(directory: Path) -> dict[str, Any]:
    path = directory / LAST
    batch = batch_at(path, -1)
    patch(path, batch.pos + 23, struct.pack(">i", batch.last_offset_delta + 2))
    recrc(path, batch, size_of(path, batch))
    return {"code": "record-offsets", "file": LAST, "pos": batch.pos, "offset": batch.base_offset}


def lying_time(directory: Path) -> dict[str, Any]:
    path = directory / LAST
    batch = batch_at(path, -1)
    patch(path, batch.pos + 35, struct.pack(">q", batch.max_timestamp + 1))
    recrc(path, batch, size_of(path, batch))
    return {"severity": "warning", "code": "batch-time", "file": LAST, "pos": batch.pos}


def time_back(directory: Path) -> dict[str, Any]:
    path = directory / LAST
    last = batch_at(path, -1)
    end = last.base_offset + last.last_offset_delta + 1
    pos = path.stat().st_size
    batch = encode_batch([record("NoOpRecord")], base_offset=end, timestamp=1_000)
    path.write_bytes(path.read_bytes() + batch)
    return {
        "severity": "warning",
        "code": "time-goes-back",
        "file": LAST,
        "pos": pos,
        "offset": end,
    }


def appended(*records: bytes) -> Callable[[Path], dict[str, Any]]:
    """Append a batch to the last segment; returns its place."""

    def damage(directory: Path) -> dict[str, Any]:
        path = directory / LAST
        last = batch_at(path, -1)
        end, pos = last.base_offset + last.last_offset_delta + 1, path.stat().st_size
        path.write_bytes(
            path.read_bytes() + encode_batch(records, base_offset=end, timestamp=last.max_timestamp)
        )
        return {"file": LAST, "pos": pos, "offset": end}

    return damage


def replay_fault(directory: Path) -> dict[str, Any]:
    bad = record("RemoveTopicRecord", topic_id=b"\7" * 16)
    return {"code": "replay-fault", **appended(bad)(directory)}


def change_of_a_removed_topic(directory: Path) -> dict[str, Any]:
    change = record("PartitionChangeRecord", partition_id=3, topic_id=(9).to_bytes(16, "big"))
    gone = record("RemoveTopicRecord", topic_id=(9).to_bytes(16, "big"))
    place = appended(topic_record(9), change, gone)(directory)
    return {"code": "replay-fault", **place, "offset": place["offset"] + 1}


def undecodable(directory: Path) -> dict[str, Any]:
    return {"code": "record-undecodable", **appended(topic_record(9)[:-4])(directory)}


def unknown_record(directory: Path) -> dict[str, Any]:
    place = appended(b"\x01\xf5\x03\x00")(directory)
    return {"severity": "warning", "code": "record-unknown", **place}


def unfinished_transaction(directory: Path) -> dict[str, Any]:
    begin = record("BeginTransactionRecord", name="x")
    place = appended(begin, topic_record(9))(directory)
    return {"severity": "warning", "code": "open-transaction", **place}


def lost_record_before_a_checkpoint(directory: Path) -> dict[str, Any]:
    path = directory / "00000000000000000862.log"
    batch = next(b for b in read_batches(path.read_bytes()) if b.count > 5)
    patch(path, batch.pos + 17, b"\0\0\0\0")
    checkpoint = "00000000000000001469-0000000001.checkpoint"
    return {"code": "checkpoint-differs", "file": checkpoint, "pos": 0, "offset": 1469}


def file_of_no_log(directory: Path) -> dict[str, Any]:
    (directory / "notes.txt").write_text("x")
    return {"severity": "note", "code": "file-unknown", "file": "notes.txt"}


DAMAGES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "bit-flip-before-checkpoint": bit_flip(SEGMENT),
    "bit-flip-after-checkpoint": bit_flip(LAST),
    "node-id": wrong_property("node.id", "3", code="node-id"),
    "directory-id-of-another": wrong_property(
        "directory.id", "xZSy2dRPSZuOrujymgN29Q", code="node-id"
    ),
    "directory-id-of-nobody": wrong_property(
        "directory.id", "xZSy2dRPSZuOrujymgN20Q", code="directory-id", severity="warning"
    ),
    "node-id-malformed": wrong_property("node.id", "x", code="file-malformed"),
    **{
        damage.__name__: damage
        for damage in (
            cut_tail,
            cut_in_the_middle,
            gap_after_cut,
            removed_segment,
            orphaned_index,
            removed_active_segment,
            removed_all_segments,
            removed_end_of_the_log,
            zeros_at_the_end,
            removed_first_segments,
            renamed_segment,
            misnamed_segment,
            wrong_magic,
            no_header,
            no_footer,
            wrong_epoch_in_name,
            swapped_batches,
            wrong_index_entry,
            wrong_index_offset,
            wrong_time_index_entry,
            wrong_cluster_id,
            wrong_leader,
            malformed_state,
            wrong_topic_id,
            falling_epoch,
            falling_epoch_between_segments,
            wrong_epoch_start,
            lying_count,
            lying_count_in_old_segment,
            lying_last_offset,
            lying_time,
            time_back,
            replay_fault,
            change_of_a_removed_topic,
            undecodable,
            unknown_record,
            unfinished_transaction,
            lost_record_before_a_checkpoint,
            file_of_no_log,
        )
    },
}


@pytest.mark.cases(15)
@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    """Each damage has a finding at its place, and decides the exit status."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    expected = {"severity": "critical", **DAMAGES[name](directory)}
    message = expected.pop("message", "")
    ran = check(directory, "--json")
    found = json.loads(ran.out)

    hits = [f for f in found if all(f[key] == value for key, value in expected.items())]
    assert len(hits) == 1, [f for f in found if f["code"] != "leaderless"]
    assert message in hits[0]["message"]
    assert hits[0]["action"]
    is_critical = any(f["severity"] == "critical" for f in found)
    assert is_critical or expected["severity"] != "critical"
    assert int(is_critical) == ran.status


def test_wrong_epoch_in_a_name_is_told_by_all_who_know(tmp_path: Path) -> None:
    """The checkpoint's batches, leader-epoch-checkpoint, and the segment that has the offset."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    wrong_epoch_in_name(directory)
    messages = [f["message"] for f in findings(directory) if f["code"] == "checkpoint-epoch"]

    assert 3 == len(messages)
    assert any("leader-epoch-checkpoint says 1" in message for message in messages)


@pytest.mark.parametrize(("start", "beyond"), [(5, []), (6, [6]), (9, [9])])
def test_an_epoch_begins_at_the_end_of_the_log_at_most(
    tmp_path: Path, start: int, beyond: list[int]
) -> None:
    """An elected leader has written nothing yet; an entry behind that is told."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 3)), (3, topic_batch(3, 2)))
    write_leader_epochs(directory, [(1, 0), (2, start)])
    found = findings(directory)
    assert beyond == [f["offset"] for f in found if f["code"] == "epoch-entry-beyond"]


def test_differing_checkpoint_names_paths(tmp_path: Path) -> None:
    """What was lost between two checkpoints is named by part and path."""
    directory = make_directory(
        tmp_path, (0, topic_batch(0, 5, leader_epoch=1) + topic_batch(5, 5, leader_epoch=1))
    )
    (directory / checkpoint_name(3, 1)).write_bytes(
        checkpoint_bytes([topic_record(i) for i in range(3)])
    )
    (directory / checkpoint_name(10, 1)).write_bytes(
        checkpoint_bytes([topic_record(i) for i in range(10) if i != 7])
    )
    (found,) = (f for f in findings(directory) if f["severity"] == "critical")

    # Its batch ends beyond the older checkpoint, which such a thing does not do in Kafka.
    assert ("checkpoint-differs", checkpoint_name(10, 1)) == (found["code"], found["file"])
    assert "it differs in topics; first at /image/topics/byName/t7" in found["message"]
    assert found["path"].startswith("/image/topics/byName/t7/")


def test_checkpoint_that_lacks_configs(tmp_path: Path) -> None:
    """Kafka drops configs that it does not know: not critical where all else agrees."""
    config = record(
        "ConfigRecord", resource_type=32, resource_name="g", name="later.than.this", value="1"
    )
    directory = make_directory(tmp_path, (0, encode_batch([topic_record(0), config])))
    (directory / checkpoint_name(2, 1)).write_bytes(checkpoint_bytes([topic_record(0)]))
    found = [f for f in findings(directory) if f["code"].startswith("checkpoint")]

    assert [("warning", "checkpoint-lacks-configs")] == [(f["severity"], f["code"]) for f in found]
    assert "/image/configs/GROUP:g/later.than.this" == found[0]["path"]


@pytest.mark.parametrize("name", ["voters-static-3/voter-1", "voters-two-epochs-3/voter-1"])
def test_the_only_segment_is_missing(name: str, tmp_path: Path) -> None:
    """Critical also where no index tells of it: a node that was started has a segment."""
    directory = copy_of(name, tmp_path) / "__cluster_metadata-0"
    (directory / segment_name(0)).unlink()
    assert ["segment-missing"] == critical(directory)
    assert 1 == check(directory).status
    # A copy of checkpoints alone is no node's directory.
    (directory / "quorum-state").unlink()
    assert [] == critical(directory)


def test_indexes_of_a_missing_segment_are_told_once(tmp_path: Path) -> None:
    """One finding, not one more for each index."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    (directory / LAST).unlink()
    codes = [f["code"] for f in findings(directory)]
    assert (1, 0) == (codes.count("segment-missing"), codes.count("index-orphaned"))


# Image invariants, on small logs.

DIRECTORY = b"\5" * 16


def broker(broker_id: int, **fields: object) -> bytes:
    """A registered, unfenced broker with one directory."""
    known = {"broker_epoch": broker_id, "fenced": False, "log_dirs": [DIRECTORY]}
    return record("RegisterBrokerRecord", broker_id=broker_id, **{**known, **fields})


def partition(number: int, **fields: object) -> bytes:
    """A sound partition of topic 1 on the brokers 1 and 2."""
    known: dict[str, object] = {
        "topic_id": (1).to_bytes(16, "big"),
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 1,
        "directories": [DIRECTORY, LOST],
    }
    return record("PartitionRecord", partition_id=number, **{**known, **fields})


INVARIANTS: dict[str, tuple[str, str, list[bytes], str]] = {
    "leader-not-in-isr": ("critical", "/image/topics/byName/t1/1", [partition(1, isr=[2])], ""),
    "isr-not-in-replicas": (
        "critical",
        "/image/topics/byName/t1/1",
        [partition(1, isr=[1, 2, 3])],
        "[1, 2, 3]",
    ),
    "replica-twice": (
        "critical",
        "/image/topics/byName/t1/1",
        [partition(1, replicas=[1, 2, 1], isr=[1], directories=[DIRECTORY] * 3)],
        "",
    ),
    "replica-unknown-broker": (
        "warning",
        "/image/topics/byName/t1/1",
        [partition(1, replicas=[1, 7], isr=[1])],
        "[7]",
    ),
    "leader-unknown-broker": (
        "critical",
        "/image/topics/byName/t1/1",
        [partition(1, replicas=[1, 7], isr=[1, 7], leader=7)],
        "7",
    ),
    "leader-fenced": (
        "warning",
        "/image/topics/byName/t1/1",
        [partition(1), record("FenceBrokerRecord", id=1, epoch=1)],
        "1",
    ),
    "leaderless": (
        "warning",
        "/image/topics/byName/t1/1",
        [partition(1, isr=[2], leader=-1), record("FenceBrokerRecord", id=2, epoch=2)],
        "in sync, 2 is fenced",
    ),
    "directory-unknown": (
        "warning",
        "/image/topics/byName/t1/1",
        [partition(1, directories=[LOST, b"\6" * 16])],
        "BgYGBgYGBgYGBgYGBgYGBg of broker 2",
    ),
    "topic-name-twice": (
        "critical",
        "/image/topics/byId/AAAAAAAAAAAAAAAAAAAACQ",
        [record("TopicRecord", name="t1", topic_id=(9).to_bytes(16, "big"))],
        "t1",
    ),
    "partition-missing": (
        "critical",
        "/image/topics/byId/AAAAAAAAAAAAAAAAAAAAAQ",
        [partition(2)],
        "",
    ),
    "topic-empty": (
        "warning",
        "/image/topics/byId/AAAAAAAAAAAAAAAAAAAAAg",
        [topic_record(2)],
        "t2",
    ),
    "config-unknown-topic": (
        "warning",
        "/image/configs/TOPIC:gone/retention.ms",
        [
            record(
                "ConfigRecord",
                resource_type=2,
                resource_name="gone",
                name="retention.ms",
                value="1",
            )
        ],
        "",
    ),
}


def small_log(tmp_path: Path, more: list[bytes]) -> Path:
    """Two brokers and a topic with a partition, then what is given."""
    batches = [
        encode_batch([broker(1), broker(2), topic_record(1), partition(0)]),
        *(encode_batch([one], base_offset=4 + i) for i, one in enumerate(more)),
    ]
    return make_directory(tmp_path, (0, b"".join(batches)))


@pytest.mark.parametrize("code", INVARIANTS)
def test_invariant_of_the_image(code: str, tmp_path: Path) -> None:
    """Each is named with path, file and the position of the record that made it so."""
    severity, path, more, message = INVARIANTS[code]
    directory = small_log(tmp_path, more)
    first = batch_at(directory / segment_name(0), 1)
    hits = [f for f in findings(directory) if f["code"] == code and f["path"] == path]

    assert [severity] == [f["severity"] for f in hits]
    assert message in hits[0]["message"]
    assert segment_name(0) == hits[0]["file"]
    if code not in {"partition-missing"}:
        assert (first.pos, 4) == (hits[0]["pos"], hits[0]["offset"])


def test_sound_small_log_is_clean(tmp_path: Path) -> None:
    """Without the damage, only the missing files beside it are noted."""
    found = findings(small_log(tmp_path, [partition(1, directories=[])]))

    assert {"file-missing"} == {f["code"] for f in found}


def test_long_replica_lists(tmp_path: Path) -> None:
    """Lists too long to be compared element by element are compared all the same."""
    many = list(range(1, 60))
    sound = partition(1, replicas=many, isr=many[:40], leader=40, directories=[])
    odd = partition(2, replicas=[*many, 3], isr=[*many[:40], 99], leader=41, directories=[])
    found = findings(small_log(tmp_path, [sound, odd]))
    by_code = {f["code"]: f["path"] for f in found if f["severity"] == "critical"}

    codes = {"leader-not-in-isr", "isr-not-in-replicas", "replica-twice"}
    assert codes <= set(by_code)
    assert {"/image/topics/byName/t1/2"} == {by_code[code] for code in codes}


# The command.


def test_limit_and_severity() -> None:
    """At most N findings of a kind are shown, the others counted; less severe ones left away."""
    directory = fixture("real-44-trimmed").input
    shown = check(directory, "--state --limit 2").out

    assert "leaderless: 232 more findings of this kind: `--limit N` shows more" in said(shown)
    assert shown.count("/image/topics/byName/") == 2
    assert shown.endswith(": 234 warnings\n")
    assert 1 == len(check(directory, "--severity critical").out.splitlines())
    assert 234 == len(findings(directory, "--severity warning"))


def test_what_says_the_same_stands_together() -> None:
    """Once the message, then each place, and the advice once for all that share it."""
    directory = fixture("real-44-trimmed").input
    shown = check(directory, "--state --limit 1000").out.splitlines()
    found = findings(directory)
    heads = [line for line in shown if " leaderless, " in line]
    counts = [int(line.split(" times: ")[0].rpartition(" ")[2]) for line in heads]
    alone = [line for line in shown if " leaderless: " in line]
    assert len({f["message"] for f in found}) == len(heads) + len(alone) < len(found)
    assert sum(counts) + len(alone) == len(found)
    assert sum(counts) == sum(line.startswith(" " * 10 + "0000") for line in shown)
    assert 1 == sum(line.startswith("  do ") for line in shown)


@pytest.mark.long
def test_the_state_is_shown_where_it_is_asked_for(tmp_path: Path) -> None:
    """Else its warnings are only counted; damage comes before them."""
    directory = copy_of("real-44-torn", tmp_path)
    plain = check(directory, "").out.splitlines()
    assert [line.split(":")[0].split() for line in plain[:1]] == [["note", "torn-tail"]]
    assert plain[-1].endswith(": 1 note; --state shows 8 warnings about the cluster's state")
    codes = [finding["code"] for finding in findings(directory)]
    assert codes == ["torn-tail", *["leaderless"] * 8]
    found: list[dict[str, Any]] = json.loads(check(directory, "--json").out)
    assert ["torn-tail"] == [finding["code"] for finding in found]


def test_quick_looks_at_files_alone(tmp_path: Path) -> None:
    """The state is not looked at, damaged files are."""
    directory = small_log(tmp_path, [partition(1, isr=[2])])

    assert 1 == check(directory).status
    assert 0 == check(directory, "--quick").status
    patch(directory / segment_name(0), 80, b"\xff")
    assert 1 == check(directory, "--quick").status


@pytest.mark.parametrize("name", [SEGMENT, NEWEST])
def test_one_file(name: str, tmp_path: Path) -> None:
    """Of a file alone only the file is checked: what others hold is not missed."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    path = directory / name
    ran = run_on(metashell.open_file(path), "check")
    assert (0, 1) == (ran.status, len(ran.out.splitlines()))

    patch(path, batch_at(path, -1).pos + 17, b"\0\0\0\0")
    ran = run_on(metashell.open_file(path), "check --json --severity warning")
    assert path.name == json.loads(ran.out)[0]["file"]


def test_one_file_that_is_the_whole_log(tmp_path: Path) -> None:
    """A segment from offset 0 on is replayed: its faults are its own."""
    fault = record("RemoveTopicRecord", topic_id=b"\7" * 16)
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch([topic_record(1), fault]))
    source = metashell.open_file(path)
    (found,) = json.loads(run_on(source, "check --json").out)

    assert ("replay-fault", path.name, 0, 1) == tuple(
        found[key] for key in ("code", "file", "pos", "offset")
    )


def test_unreadable_file(tmp_path: Path) -> None:
    """A file that can't be read is a finding, the others are checked, and the exit status is 3."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    (directory / OLD_CHECKPOINT).unlink()
    (directory / OLD_CHECKPOINT).mkdir()
    ran = check(directory)

    assert 3 == ran.status
    assert f"warning file-unreadable: {OLD_CHECKPOINT}: it can't be read" in said(ran.out)


def test_file_that_goes_away(tmp_path: Path) -> None:
    """A running node deletes old files: a note."""
    directory = copy_of("real-44-live", tmp_path) / "__cluster_metadata-0"
    source = metashell.open(directory)
    (directory / OLD_CHECKPOINT).unlink()
    ran = run_on(source, "check")

    assert 0 == ran.status
    assert f"note file-vanished: {OLD_CHECKPOINT}" in said(ran.out)


def test_many_damaged_batches_are_counted(tmp_path: Path) -> None:
    """A log of nothing but findings does not print all of them."""
    payload = b"\1" * 20
    batches = [
        encode_raw_batch(
            payload,
            count=1,
            base_offset=i,
            last_offset_delta=0,
            leader_epoch=1,
            timestamp=1,
            damage=Damage(crc_xor=1),
        )
        + topic_batch(i + 1)
        for i in range(0, 200, 2)
    ]
    ran = check(make_directory(tmp_path, (0, b"".join([topic_batch(0), *batches[1:]]))))

    assert 1 == ran.status
    assert len(ran.out.splitlines()) < 200
    assert "more findings of this kind" in ran.out


def test_static_voters_that_differ(tmp_path: Path) -> None:
    """Voters of quorum-state against those of the last leader change."""
    change = {"leader_id": 1, "voters": [{"voter_id": 1}, {"voter_id": 2}]}
    leader = control_batch([("LeaderChangeMessage", change)], epoch=3)
    directory = make_directory(tmp_path, (0, leader))
    state = {
        "clusterId": "",
        "leaderId": 5,
        "leaderEpoch": 3,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": 1}, {"voterId": 5}],
        "data_version": 0,
    }
    (directory / "quorum-state").write_text(json.dumps(state))
    codes = {f["code"] for f in findings(directory)}
    assert {"voters", "leader-differs"} <= codes

    (directory / "quorum-state").write_text(json.dumps({**state, "leaderEpoch": 1}))
    assert "epoch-behind" in {f["code"] for f in findings(directory)}


def test_log_without_its_base(tmp_path: Path) -> None:
    """What it is based on is missing: one critical finding, and no faults that follow from it."""
    directory = make_directory(tmp_path, (5, topic_batch(5, 2)))

    assert ["base-missing"] == critical(directory)


def test_control_characters_are_escaped_on_a_terminal(tmp_path: Path) -> None:
    """A hostile name steers no terminal, and is whole in JSON."""
    name = "\x1b[31mx"
    hostile = record("TopicRecord", name=name, topic_id=(7).to_bytes(16, "big"))
    source = metashell.open(small_log(tmp_path, [hostile]))
    terminal = Captured(is_terminal=True)
    context = Context(root=source.root, out=terminal, warn=lambda _: None, source=source)
    run_line(context, "check --state")

    shown = said("".join(terminal.parts))
    assert "\x1b" not in shown
    assert "topic `\\x1b[31mx` has no partitions" in shown
    found = json.loads(run_on(source, "check --json --state").out)
    assert any(name in f["message"] for f in found)
