"""fleet --verify: logs that leave each other, and copies that end far apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name, write_leader_epochs
from metashell.checks.agreement import BLOCK_OFFSETS
from metashell.sources.opening import open_fleet
from support.fixtures import fixture_dir
from support.fleets import node, topics
from support.logs import topic_batch, topic_record
from support.shell import Ran, run

DIGEST = "cf910d2a40e054e37076db6a261ff604694b1e134211ea75ddf21ed52d17ede5"


def verify(*directories: Path, options: str = "", **settings: Any) -> Ran:
    """Run ``fleet --verify`` on directories."""
    fleet = open_fleet([str(directory) for directory in directories], **settings)
    return run(fleet.root, f"fleet --verify {options}", source=fleet)


def told(ran: Ran, *keys: str) -> dict[str, Any]:
    """What ``fleet --verify --json`` says of each directory; its verdict if nothing is named."""
    found = {row["cluster"]: row for row in json.loads(ran.out)}
    if not keys:
        return {name: d["verdict"] for name, d in found.items()}
    return {name: tuple(d[key] for key in keys) for name, d in found.items()}


def ahead(parent: Path, name: str, at: int, *following: int) -> Path:
    """A node whose log begins behind a checkpoint, with a topic at each offset."""
    made = node(parent, name, {at: topics(*following)}, "id")
    state = checkpoint_bytes([topic_record(i) for i in range(at)])
    (made / "__cluster_metadata-0" / checkpoint_name(at, 1)).write_bytes(state)
    return made


def epochs(made: Path, *starts: tuple[int, int]) -> Path:
    """Give a node a ``leader-epoch-checkpoint``."""
    write_leader_epochs(made / "__cluster_metadata-0", starts)
    return made


# Logs that leave each other.


def test_real_voters_that_diverged() -> None:
    """Two of three hold other batches from 327 on; the digest is that of ``checksum --at``."""
    voters = [fixture_dir(f"voters-two-epochs-3/voter-{i}") for i in (1, 2, 3)]
    ran = verify(*voters, options="--json")

    assert 1 == ran.status
    assert {
        "voter-1": ("diverged", 327, 1, 3, 326, DIGEST),
        "voter-2": ("diverged", 327, 3, 1, 326, DIGEST),
        "voter-3": ("equal", None, None, None, 326, DIGEST),
    } == told(ran, "verdict", "diverged_at", "epoch", "other_epoch", "offset", "checksum")
    assert (
        "fleet: voter-1: its log leaves that of others at offset 327: a batch of epoch 1, where"
        " they have one of epoch 3"
    ) == ran.err[0]
    for voter in voters:
        source = metashell.open(voter)
        checksum = run(source.root, "checksum --at 326", source=source)
        assert f"{DIGEST}  offset 326  epoch 1\n" == checksum.out


def test_rows_name_the_offset_and_both_epochs() -> None:
    """In columns of their own."""
    voters = [fixture_dir(f"voters-two-epochs-3/voter-{i}") for i in (1, 2)]
    columns = "--columns cluster,verdict,diverged_at,epoch,other_epoch"
    ran = verify(*voters, options=f"-o csv {columns}")
    assert [
        "cluster,verdict,diverged_at,epoch,other_epoch",
        "voter-1,diverged,327,1,3",
        "voter-2,diverged,327,3,1",
    ] == ran.out.split()


def test_the_log_that_most_have_is_right(tmp_path: Path) -> None:
    """A longer log of one copy alone, of a later epoch, is what diverged."""
    other = b"".join(topic_batch(i, leader_epoch=3) for i in range(2, 9))
    ran = verify(
        node(tmp_path, "n1", {0: topics(0, 1, 2, 3)}, "id"),
        node(tmp_path, "n2", {0: topics(0, 1) + other}, "id"),
        node(tmp_path, "n3", {0: topics(0, 1, 2)}, "id"),
        node(tmp_path, "n4", {0: topics(0, 1)}, "id"),
        options="--json",
    )
    assert {"n1": None, "n2": 2, "n3": None, "n4": None} == {
        name: at for name, (at,) in told(ran, "diverged_at").items()
    }
    assert {"n1": "equal", "n2": "diverged", "n3": "equal", "n4": "equal"} == told(ran)
    assert {(1,)} == set(told(ran, "offset").values())


def test_the_images_do_not_hide_it(tmp_path: Path) -> None:
    """Logs whose records lead to the same state, in other batches, are no copies of each other."""
    whole = encode_batch([topic_record(0), topic_record(1)], base_offset=0, leader_epoch=1)
    ran = verify(
        node(tmp_path, "n1", {0: whole + topics(2)}, "id"),
        node(tmp_path, "n2", {0: topics(0, 1, 2)}, "id"),
        options="--json",
    )
    assert {"n1": ("diverged", 0, 1, 1), "n2": ("diverged", 0, 1, 1)} == told(
        ran, "verdict", "diverged_at", "epoch", "other_epoch"
    )


@pytest.mark.long
def test_several_copies_leave_at_several_offsets(tmp_path: Path) -> None:
    """Each is told where it leaves what is left of the others, however long the log."""
    n = 2 * BLOCK_OFFSETS + 10
    log = [topic_batch(i) for i in range(n)]

    def changed(at: int) -> bytes:
        value = encode_batch([topic_record(n + 1)], base_offset=at, leader_epoch=1)
        return b"".join([*log[:at], value, *log[at + 1 :]])

    places = {"a": n - 1, "b": BLOCK_OFFSETS + 7, "c": 3}
    made = [node(tmp_path, name, {0: changed(at)}, "id") for name, at in places.items()]
    made += [node(tmp_path, name, {0: b"".join(log)}, "id") for name in ("x", "y", "z")]
    ran = verify(*made, options="--json")

    whole = dict.fromkeys(("x", "y", "z"), ("equal", None))
    assert {name: ("diverged", at) for name, at in places.items()} | whole == told(
        ran, "verdict", "diverged_at"
    )


def test_segments_that_the_state_needs_no_more_are_compared(tmp_path: Path) -> None:
    """The first offset is told also where only segments before the checkpoint hold it."""
    other = [encode_batch([topic_record(99)], base_offset=i, leader_epoch=1) for i in (2, 3)]
    logs = {
        "n1": {0: topics(0, 1, 2), 3: topics(3, 4)},
        "n2": {0: topics(0, 1) + other[0], 3: other[1] + topics(4)},
    }
    made = [node(tmp_path, name, segments, "id") for name, segments in logs.items()]
    for directory in made:
        state = checkpoint_bytes([topic_record(i) for i in range(3)])
        (directory / "__cluster_metadata-0" / checkpoint_name(3, 1)).write_bytes(state)
    behind = node(tmp_path, "n3", {0: topics(0, 1, 2)}, "id")

    ran = verify(*made, behind, options="--json")
    assert {"n1": None, "n2": 2, "n3": None} == {
        name: at for name, (at,) in told(ran, "diverged_at").items()
    }


def test_epochs_tell_where_batches_are_gone(tmp_path: Path) -> None:
    """A log of epoch 3 is no part of one that was at epoch 1 later on."""
    old = node(tmp_path, "old", {0: topics(0, 1) + topic_batch(2, leader_epoch=3)}, "id")
    ran = verify(old, epochs(ahead(tmp_path, "new", 10, 10, 11), (1, 0)), options="--json")
    assert {
        "new": ("diverged", 2, 1, 3),
        "old": ("diverged", 2, 3, 1),
    } == told(ran, "verdict", "diverged_at", "epoch", "other_epoch")


def test_a_damaged_batch_is_no_other_batch(tmp_path: Path) -> None:
    """What can't be read is compared with nothing; what follows is."""
    data = bytearray(topics(*range(10)))
    data[len(data) // 2] ^= 0xFF
    ran = verify(
        node(tmp_path, "n1", {0: bytes(data)}, "id"),
        node(tmp_path, "n2", {0: topics(*range(10))}, "id"),
        options="--json",
    )
    assert {"n1": None, "n2": None} == {n: at for n, (at,) in told(ran, "diverged_at").items()}
    assert {"n1": "differs", "n2": "differs"} == told(ran)


def test_equal_logs_with_other_states_differ(tmp_path: Path) -> None:
    """What is told of logs says nothing of what checkpoints hold."""
    made = [ahead(tmp_path, name, 10, 10, 11) for name in ("n1", "n2")]
    state = checkpoint_bytes([topic_record(i) for i in range(9)])
    (made[1] / "__cluster_metadata-0" / checkpoint_name(10, 1)).write_bytes(state)
    ran = verify(*made, options="--json")
    assert {"n1": "differs", "n2": "differs"} == told(ran)


@pytest.mark.long
def test_processes_tell_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What computes rows elsewhere is given all that it needs."""
    voters = [fixture_dir(f"voters-two-epochs-3/voter-{i}") for i in (1, 2, 3)]
    here = verify(*voters, options="--json")
    monkeypatch.setattr("metashell.sources.fleet.source.SMALL_BYTES", 0)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 2)
    assert here == verify(*voters, options="--json")


# Copies that end far apart.


def test_a_real_voter_far_behind() -> None:
    """It is not compared, and says why; the other is."""
    voters = [fixture_dir(f"voters-lagging-follower-3/voter-{i}") for i in (2, 3)]
    ran = verify(*voters, options="--json")
    assert (1, {"voter-2": "alone", "voter-3": "unknown"}) == (ran.status, told(ran))
    (warning,) = ran.err
    assert (
        "fleet: voter-3: it ends at offset 265, before the offset 1582 that others have" == warning
    )


def test_one_far_behind_does_not_hide_the_others(tmp_path: Path) -> None:
    """Those that have a common offset are compared there."""
    made = [
        ahead(tmp_path, "n1", 10, 10, 11, 12),
        ahead(tmp_path, "n2", 10, 10, 11),
        node(tmp_path, "n3", {0: topics(0, 1)}, "id"),
    ]
    ran = verify(*made, options="--json")
    assert {"n1": ("equal", 11), "n2": ("equal", 11), "n3": ("unknown", 11)} == told(
        ran, "verdict", "offset"
    )
    assert 1 == ran.status


def test_one_far_ahead_does_not_hide_the_others(tmp_path: Path) -> None:
    """Likewise where most are far behind."""
    ran = verify(
        node(tmp_path, "n1", {0: topics(0, 1)}, "id"),
        node(tmp_path, "n2", {0: topics(0, 1, 2)}, "id"),
        ahead(tmp_path, "n3", 10, 10, 11),
        options="--json",
    )
    assert {"n1": "equal", "n2": "equal", "n3": "unknown"} == told(ran)
    (warning,) = ran.err
    assert (
        "fleet: n3: offset 1 is not covered: the files hold the states at offsets 9 to 11"
        == warning
    )


@pytest.mark.parametrize(
    ("name", "n"), [("voters-static-3", 3), ("voters-two-epochs-3/voter-1", 1)]
)
def test_sound_voters_agree(name: str, n: int) -> None:
    """Voters that were killed at different offsets of one log."""
    directory = fixture_dir(name)
    voters: Sequence[Path] = sorted(directory.glob("voter-*")) or [directory]
    ran = verify(*voters, options="--json")
    verdicts: Mapping[str, str] = told(ran)
    assert (0, n) == (ran.status, len(verdicts))
    assert {"equal" if n > 1 else "alone"} == set(verdicts.values())
