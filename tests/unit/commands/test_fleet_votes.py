"""fleet --votes: who can win a vote, by copies of the voters' directories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import checkpoint_bytes, checkpoint_name, write_quorum_state
from metashell.checks.votes import MOST_COPIES
from metashell.log.changed import list_directory
from metashell.read_settings import ReadSettings
from metashell.schema.uuids import uuid_text
from metashell.sources.cached import open_cached_source
from metashell.sources.fleet.rows import log_end_of
from metashell.sources.opening import open_fleet
from support.cached import keep
from support.fixtures import ELECTABLE, copy_of, fixture_dir
from support.fleets import node
from support.logs import record, topic_batch
from support.shell import Ran, run
from support.small_cluster import voters_batch


def votes(*directories: Path, options: str = "--json", **settings: Any) -> Ran:
    """Run ``fleet --votes`` on directories."""
    fleet = open_fleet([str(directory) for directory in directories], **settings)
    return run(fleet.root, f"fleet --votes {options}", source=fleet)


def winners(ran: Ran) -> list[tuple[list[int], list[int]]]:
    """Who runs and who can win then, a row each."""
    return [(row["running"], row["can_win"]) for row in json.loads(ran.out)]


def voter(
    parent: Path, number: int, *batches: bytes, of: Sequence[int] = (1, 2, 3), dynamic: bool = True
) -> Path:
    """A voter's directory: what names the voters, then batches."""
    head = voters_batch(of, dynamic=dynamic)
    made = node(parent, f"n{number}", {0: head + b"".join(batches)}, None)
    lines = f"version=1\ncluster.id=id\nnode.id={number}\n"
    if dynamic:
        text = uuid_text(bytes([number]) * 16)
        lines += f"directory.id={text}\n"
    (made / "meta.properties").write_text(lines)
    return made


def test_recorded_voters() -> None:
    """The ids are those of the columns; each has the name of its directory too."""
    name = "voters-two-epochs-3"
    ran = votes(*(fixture_dir(f"{name}/voter-{n}") for n in (2, 3)))

    assert (0, ()) == (ran.status, ran.err)
    (row,) = json.loads(ran.out)
    assert [2, 3] == row["running"]
    assert [2] == row["can_win"]
    assert ["voter-2", "voter-3"] == row["directories"]
    assert [[2, 3], [2]] in ELECTABLE[name]["canWin"]


def test_no_majority() -> None:
    """Who is missing is told, with status 1; one directory is asked as several are."""
    source = metashell.open(fixture_dir("voters-minority-5/voter-5"))
    expected = (
        "no vote is possible: voters that are here: {} of 5, a majority is 3; missing: 1, 2, 3"
    )
    alone = run(source.root, "fleet --votes --json", source=source)
    assert (1, "[]\n") == (alone.status, alone.out)
    assert (f"fleet: {expected.format(1)}, 4",) == alone.err

    both = votes(*(fixture_dir(f"voters-minority-5/voter-{n}") for n in (4, 5)))
    assert (1, (f"fleet: {expected.format(2)}",)) == (both.status, both.err)


def test_an_open_transaction_counts(tmp_path: Path) -> None:
    """Its records are in the log, whatever the state shows."""
    begin = encode_batch([record("BeginTransactionRecord", name="t")], base_offset=2)
    longer = voter(tmp_path, 1, begin, topic_batch(3))

    assert [([1, 2], [1])] == winners(votes(longer, voter(tmp_path, 2)))


def test_a_checkpoint_ends_a_log_without_later_batches(tmp_path: Path) -> None:
    """Its id is epoch and end, also if the log ends before it: a node then drops the log."""
    ahead = voter(tmp_path, 1)
    state = checkpoint_bytes([], epoch=4, kraft_version=None)
    (ahead / "__cluster_metadata-0" / checkpoint_name(7, 4)).write_bytes(state)

    assert (4, 7) == log_end_of(metashell.open(ahead))


def test_quorum_state_does_not_order_copies(tmp_path: Path) -> None:
    """Its epoch is that of an election, which the log may know nothing of."""
    short, long = voter(tmp_path, 1, topic_batch(2)), voter(tmp_path, 2, topic_batch(2, 2))
    write_quorum_state(short / "__cluster_metadata-0", leader_id=-1, leader_epoch=9, voted_id=1)

    assert [([1, 2], [2])] == winners(votes(short, long))


def test_voters_of_a_static_quorum(tmp_path: Path) -> None:
    """They have no directory ids; a damaged quorum-state costs nothing that the log tells."""
    one, two = (voter(tmp_path, n, dynamic=False) for n in (1, 2))
    (one / "__cluster_metadata-0" / "quorum-state").write_text("{")

    assert [([1, 2], [1, 2])] == winners(votes(one, two))


def test_copies_without_a_vote(tmp_path: Path) -> None:
    """A new disk, an observer and a directory that names no node are told of."""
    one, two, other = (voter(tmp_path, n) for n in (1, 2, 9))
    properties = two / "meta.properties"
    properties.write_text(properties.read_text().replace("directory.id=", "directory.id=x"))
    nameless = node(tmp_path, "nameless", {0: voters_batch((1, 2, 3), dynamic=True)}, "id")
    (nameless / "meta.properties").write_text("version=1\ncluster.id=id\n")
    ran = votes(one, two, other, nameless)

    assert (1, []) == (ran.status, winners(ran))
    assert [
        "fleet: nameless: meta.properties does not name its node: it is left out",
        "fleet: n2: node 2 with directory.id xAgICAgICAgICAgICAgICAg is not a voter: it has no"
        " vote",
        "fleet: n9: node 9 with directory.id CQkJCQkJCQkJCQkJCQkJCQ is not a voter: it has no vote",
    ] == list(ran.err[:-1])


def test_a_backup_of_a_voter_is_no_second_vote(tmp_path: Path) -> None:
    """Two copies of one voter never run together."""
    (tmp_path / "b").mkdir()
    ran = votes(voter(tmp_path, 1), voter(tmp_path / "b", 1))

    assert (1, []) == (ran.status, winners(ran))
    assert "voter 1 has 2 copies" in ran.err[0]


def test_logs_that_name_different_voters(tmp_path: Path) -> None:
    """Each candidate needs a majority of the voters that its own log names."""
    wide = voter(tmp_path, 1, topic_batch(2), of=(1, 2, 3, 4, 5))
    ran = votes(wide, voter(tmp_path, 2), voter(tmp_path, 3))

    assert [([2, 3], [2, 3]), ([1, 2, 3], [1, 2, 3])] == winners(ran)
    assert 0 == ran.status
    assert ran.err[0].startswith("fleet: the logs name different voters")


def test_a_damaged_log_is_told(tmp_path: Path) -> None:
    """Where it ends is then not sure: the status is 1."""
    directory = copy_of("voters-leader-tail-3", tmp_path)
    (segment,) = (directory / "voter-2" / "__cluster_metadata-0").glob("*.log")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    ran = votes(directory / "voter-2", directory / "voter-3")

    assert (1, [([2, 3], [2, 3])]) == (ran.status, winners(ran))
    assert "voter-2: its log is damaged, so its end is not sure" in ran.err[0]


def test_more_copies_than_are_listed(tmp_path: Path) -> None:
    """A number of sets that no one reads is not begun."""
    ids = range(1, MOST_COPIES + 2)
    ran = votes(*(voter(tmp_path, n, of=ids) for n in ids))

    assert (1, []) == (ran.status, winners(ran))
    assert f"votes are listed for up to {MOST_COPIES}" in ran.err[0]


def test_the_end_is_that_of_the_whole_log() -> None:
    """At an earlier state too; without segments it is not known, and nobody is judged."""
    directory = fixture_dir("voters-two-epochs-3/voter-1")
    assert (4, 337) == log_end_of(metashell.open(directory).at(100))
    assert log_end_of(metashell.open(directory, committed_only=True)) is None
    ran = votes(directory, committed_only=True)
    assert (2, "") == (ran.status, ran.out)
    assert "whole logs" in ran.err[0]


@pytest.mark.parametrize(
    "name", ["voters-two-epochs-3/voter-1", "voters-lagging-follower-3/voter-2"]
)
def test_the_end_of_a_log_that_is_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A condensed log ends where its files end."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = copy_of(name, tmp_path) / "__cluster_metadata-0"
    assert keep(directory)
    kept = open_cached_source(list_directory(str(directory)), ReadSettings())

    assert kept is not None
    assert log_end_of(metashell.open(directory, engine="local")) == log_end_of(kept)
