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
    write_quorum_state(made / "__cluster_metadata-0", leader_id=-1, leader_epoch=0)
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
        "fleet: nameless: meta.properties does not name its node: it is left out. Put node.id back"
        " into it, then this copy counts",
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


def test_a_formatted_copy_is_no_disk_of_the_voter(tmp_path: Path) -> None:
    """Two metadata logs with one node id are two copies: only one of them has the vote."""
    two, three = voter(tmp_path, 2), voter(tmp_path, 3)
    (tmp_path / "new").mkdir()
    new = voter(tmp_path / "new", 2, topic_batch(2, 4))
    properties = new / "meta.properties"
    properties.write_text(properties.read_text().replace("directory.id=", "directory.id=x"))
    for order in ((new, two, three), (three, two, new)):
        ran = votes(*order)
        assert [([2, 3], [2, 3])] == winners(ran)
        assert "node 2 with directory.id xAgICAgICAgICAgICAgICAg is not a voter" in ran.err[0]


def test_a_copy_that_names_no_voters(tmp_path: Path) -> None:
    """Voters of a static quorum are in its configuration too: those that others name are taken."""
    two = voter(tmp_path, 2, dynamic=False)
    bare = node(tmp_path, "n1", {0: topic_batch(0, 5)}, None)
    (bare / "meta.properties").write_text("version=1\ncluster.id=id\nnode.id=1\n")
    ran = votes(bare, two)
    assert (1, [([1, 2], [1])]) == (ran.status, winners(ran))
    unnamed = "fleet: n1: neither its log nor quorum-state names the voters"
    assert f"{unnamed}: those of n2 are taken" == ran.err[1]
    alone = votes(bare)
    unnamed = unnamed.replace("n1", "id")
    assert (1, []) == (alone.status, winners(alone))
    assert (unnamed, "fleet: no vote can be judged: no copy names the voters") == alone.err[1:]


def test_an_empty_log_has_a_vote(tmp_path: Path) -> None:
    """A voter without records grants its vote to each candidate, and can't be one."""
    (empty := voter(tmp_path, 1)).joinpath("__cluster_metadata-0", f"{0:020d}.log").write_bytes(b"")
    ran = votes(empty, voter(tmp_path, 2))
    assert (1, [([1, 2], [2])]) == (ran.status, winners(ran))
    assert "n1: neither its log nor quorum-state names the voters: it can't win" in ran.err[0]


@pytest.mark.parametrize("text", [None, "{"])
def test_a_lost_quorum_state_is_told(tmp_path: Path, text: str | None) -> None:
    """A node does not start with a malformed one, and without it it may vote twice."""
    one, two = voter(tmp_path, 1), voter(tmp_path, 2)
    state = one / "__cluster_metadata-0" / "quorum-state"
    state.unlink()
    if text is not None:
        state.write_text(text)
    ran = votes(one, two)
    assert (1, [([1, 2], [1, 2])]) == (ran.status, winners(ran))
    why = "there is no such file: a node starts" if text is None else "it can't be used"
    assert ran.err[0].startswith("fleet: n1: quorum-state: ")
    assert why in ran.err[0]
    assert len(ran.err) == 1


def test_directories_tell_copies_of_a_voter_apart(tmp_path: Path) -> None:
    """The table names the directories of each line."""
    (tmp_path / "b").mkdir()
    copies = (voter(tmp_path, 1, topic_batch(2)), voter(tmp_path / "b", 1), voter(tmp_path, 2))
    names = [",".join(row["directories"]) for row in json.loads(votes(*copies).out)]
    assert len({*names}) == 2
    table = votes(*copies, options="-o table").out.splitlines()
    assert ["DIRECTORIES", *names] == [line.split()[-1] for line in table]


def test_logs_that_name_different_voters(tmp_path: Path) -> None:
    """Each candidate needs a majority of the voters that its own log names."""
    wide = voter(tmp_path, 1, topic_batch(2), of=(1, 2, 3, 4, 5))
    ran = votes(wide, voter(tmp_path, 2), voter(tmp_path, 3))

    assert [([2, 3], [2, 3]), ([1, 2, 3], [1, 2, 3])] == winners(ran)
    assert 0 == ran.status
    assert ran.err[0].startswith("fleet: the logs name different voters")


def test_a_damaged_log_is_told(tmp_path: Path) -> None:
    """It ends at the damage, or at a later checkpoint: the status is 1."""
    directory = copy_of("voters-leader-tail-3", tmp_path)
    (segment,) = (directory / "voter-2" / "__cluster_metadata-0").glob("*.log")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    ran = votes(directory / "voter-2", directory / "voter-3")

    assert (1, [([2, 3], [3])]) == (ran.status, winners(ran))
    assert "voter-2: its log is damaged, and a start cuts it off there: " in ran.err[0]


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
    """A reduced log ends where its files end."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = copy_of(name, tmp_path) / "__cluster_metadata-0"
    assert keep(directory)
    kept = open_cached_source(list_directory(str(directory)), ReadSettings())

    assert kept is not None
    assert log_end_of(metashell.open(directory, engine="local")) == log_end_of(kept)
