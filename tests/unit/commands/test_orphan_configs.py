"""Configs of topics that were configured and removed within one delta of a controller.

Kafka's ConfigurationsDelta passes over the removal, so that they stay in the checkpoints of the
nodes whose delta held both records, and in no other's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name
from metashell.sources.opening import open_fleet
from support.fleets import node
from support.logs import record, topic_batch, topic_record
from support.shell import Ran, run, run_on

GONE = "gone"
END = 6
"""The offset behind the log's first part, where checkpoints are."""


def topic(name: str, number: int) -> bytes:
    """A topic of that name."""
    return record("TopicRecord", name=name, topic_id=number.to_bytes(16, "big"))


def config(name: str = GONE, key: str = "retention.ms", value: str = "7") -> bytes:
    """A config of a topic."""
    return record("ConfigRecord", resource_type=2, resource_name=name, name=key, value=value)


def remove(number: int) -> bytes:
    """The end of a topic."""
    return record("RemoveTopicRecord", topic_id=number.to_bytes(16, "big"))


LOG = encode_batch(
    [topic_record(0), topic(GONE, 9), config(), config(key="cleanup.policy"), config("t0"),
     remove(9)],
    base_offset=0,
    leader_epoch=1,
)  # fmt: skip
SOUND = [topic_record(0), config("t0")]
"""What a checkpoint at `END` should hold."""
ORPHANS = [config(), config(key="cleanup.policy")]


def controller(
    parent: Path, name: str, state: Sequence[bytes], *later: bytes, log: bytes = LOG, end: int = END
) -> Path:
    """A node with a checkpoint of those records, and records of a batch each behind it."""
    batches = b"".join(
        encode_batch([value], base_offset=end + i, leader_epoch=1) for i, value in enumerate(later)
    )
    segments = {0: log, end: batches or topic_batch(end)}
    made = node(parent, name, segments, "id")
    path = made / "__cluster_metadata-0" / checkpoint_name(end, 1)
    path.write_bytes(checkpoint_bytes(list(state)))
    return made


def found(made: Path) -> dict[str, dict[str, Any]]:
    """What check says of checkpoints' states, by code."""
    ran = run_on(metashell.open(made), "check --json")
    findings = json.loads(ran.out)
    told = [f for f in findings if f["code"].startswith(("checkpoint", "orphan", "inherited"))]
    return {f["code"]: f for f in told}


def verify(*made: Path) -> tuple[Ran, dict[str, dict[str, Any]]]:
    """What ``fleet --verify --json`` says of each directory."""
    fleet = open_fleet([str(directory) for directory in made])
    ran = run(fleet.root, "fleet --verify --json", source=fleet)
    return ran, {row["cluster"]: row for row in json.loads(ran.out)}


# check.


def test_what_kafka_left_behind_is_a_note(tmp_path: Path) -> None:
    """With its cause; nothing is lost, so the exit status is 0."""
    made = controller(tmp_path, "n1", [*SOUND, *ORPHANS])
    told = found(made)
    assert ["orphan-configs"] == list(told)
    note = told["orphan-configs"]
    assert ("note", checkpoint_name(END, 1), END) == tuple(
        note[key] for key in ("severity", "file", "offset")
    )
    assert "/image/configs/TOPIC:gone/cleanup.policy" == note["path"]
    assert "2 configs of topics that were configured and removed at once" in note["message"]
    assert 0 == run_on(metashell.open(made), "check").status


@pytest.mark.long
def test_what_was_lost_is_no_orphan(tmp_path: Path) -> None:
    """A config of a topic that lives, one that the log never set, and another value of one."""
    for i, lost in enumerate(
        [config("t0", "lost"), config(key="lost"), config(value="lost"), config("t0", value="8")]
    ):
        made = controller(tmp_path, f"n{i}", [*SOUND[:1], *ORPHANS[1:], config("t0"), lost])
        told = found(made)
        assert "critical" == told["checkpoint-differs"]["severity"], i
        assert "it differs in configs" in told["checkpoint-differs"]["message"]
        assert 1 == run_on(metashell.open(made), "check").status


def test_other_parts_are_told_beside_it(tmp_path: Path) -> None:
    """Orphans do not stand for a topic that was lost."""
    told = found(controller(tmp_path, "n1", [*SOUND, *ORPHANS, topic_record(3)]))
    assert {"orphan-configs", "checkpoint-differs"} == set(told)
    assert "it differs in topics;" in told["checkpoint-differs"]["message"]


def test_a_topic_made_again_inherits_them(tmp_path: Path) -> None:
    """Then the node's state differs from others', and that is a warning."""
    log = LOG + encode_batch([topic(GONE, 10)], base_offset=END, leader_epoch=1)
    state = [*SOUND, topic(GONE, 10), config()]
    made = controller(tmp_path, "n1", state, log=log, end=END + 1)
    told = found(made)
    assert [("inherited-configs", "warning")] == [(c, f["severity"]) for c, f in told.items()]
    assert "/image/configs/TOPIC:gone/retention.ms" == told["inherited-configs"]["path"]


def test_a_checkpoint_of_another_node_lacks_them(tmp_path: Path) -> None:
    """One that was fetched behind one of the node's own."""
    made = controller(tmp_path, "n1", [*SOUND, *ORPHANS])
    newer = made / "__cluster_metadata-0" / checkpoint_name(END + 1, 1)
    newer.write_bytes(checkpoint_bytes([*SOUND, topic_record(END)]))
    assert [(END, "note"), (END + 1, "note")] == [
        (f["offset"], f["severity"])
        for f in json.loads(run_on(metashell.open(made), "check --json").out)
        if f["code"] == "orphan-configs"
    ]


# checksum and fleet --verify.


def test_checksum_shows_both(tmp_path: Path) -> None:
    """With orphans a second line; rows always have both."""
    sound, other = (
        metashell.open(controller(tmp_path, name, state))
        for name, state in (("n1", SOUND), ("n2", [*SOUND, *ORPHANS]))
    )
    (digest, *_), *rest = (line.split("  ") for line in run_on(sound, "checksum").out.splitlines())
    assert [] == rest
    first, second = (line.split("  ") for line in run_on(other, "checksum").out.splitlines())
    assert digest != first[0]
    assert [digest, "without 2 configs of topics that do not exist"] == second

    for source, n in ((sound, 0), (other, 2)):
        (row,) = json.loads(run_on(source, "checksum --json").out)
        assert (digest, n) == (row["without_orphans"], row["orphans"])


def test_parts_without_orphans_differ_in_configs_alone(tmp_path: Path) -> None:
    """As rows."""
    source = metashell.open(controller(tmp_path, "n1", [*SOUND, *ORPHANS]))
    rows = json.loads(run_on(source, "checksum --parts -o json").out)
    differing = [row["part"] for row in rows if row["checksum"] != row["without_orphans"]]
    assert ["configs", None] == differing


def test_copies_that_differ_in_orphans_are_equal(tmp_path: Path) -> None:
    """Both digests are there; the exit status is 0."""
    ran, told = verify(
        controller(tmp_path, "n1", SOUND), controller(tmp_path, "n2", [*SOUND, *ORPHANS])
    )
    assert 0 == ran.status
    assert [("equal", 0), ("equal", 2)] == [(d["verdict"], d["orphans"]) for d in told.values()]
    assert told["n1"]["checksum"] != told["n2"]["checksum"]
    assert told["n1"]["without_orphans"] == told["n2"]["without_orphans"]
    assert told["n1"]["without_orphans"] == told["n1"]["checksum"]


def test_copies_that_differ_in_more_differ(tmp_path: Path) -> None:
    """A config of a topic that lives is part of both digests."""
    ran, told = verify(
        controller(tmp_path, "n1", SOUND),
        controller(tmp_path, "n2", [*SOUND, *ORPHANS, config("t0", "lost")]),
    )
    assert (1, {"differs"}) == (ran.status, {d["verdict"] for d in told.values()})
