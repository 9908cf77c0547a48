"""quorum --copies: which disk to trust, on every subset of the recorded voters, and refusals."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from kraftgen.files import LOG_DIR_NAME, checkpoint_bytes, checkpoint_name, write_quorum_state
from metashell.checks.votes import MOST_COPIES
from metashell.cli import main
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.commands.quorum.columns import COPIES, OF_COPIES
from metashell.log.chain import Chainer, batches
from metashell.sources.opening import open_fleet
from support.fixtures import ELECTABLE, copy_of, fixture_dir
from support.fleets import node
from support.logs import topic_batch
from support.shell import Captured, Ran, run_on
from support.small_cluster import voters_batch


def ask(*places: Path, options: str = COPIES, **settings: Any) -> Ran:
    """Run ``quorum`` on directories."""
    fleet = open_fleet([str(place) for place in places], **settings)
    return run_on(fleet, f"quorum {options}")


def disks(name: str, *nodes: int) -> list[Path]:
    """Directories of recorded voters."""
    return [fixture_dir(f"{name}/voter-{n}") for n in nodes]


def voter(parent: Path, number: int, *batches: bytes, of: tuple[int, ...] = (1, 2, 3)) -> Path:
    """A voter's directory in a static quorum: what names the voters, then batches."""
    head = voters_batch(of, dynamic=False)
    made = node(parent, f"n{number}", {0: head + b"".join(batches)}, None)
    write_quorum_state(made / LOG_DIR_NAME, leader_id=-1, leader_epoch=0)
    (made / "meta.properties").write_text(f"version=1\ncluster.id=id\nnode.id={number}\n")
    return made


def subsets() -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every set of the voters that are left in each recorded quorum."""
    for name in ELECTABLE:
        here = sorted(int(path.name[-1]) for path in fixture_dir(name).glob("voter-*"))
        sets = chain.from_iterable(combinations(here, n + 1) for n in range(len(here)))
        yield from ((name, nodes) for nodes in sets)


@pytest.mark.parametrize("name", ELECTABLE)
def test_the_first_line_is_the_answer(name: str) -> None:
    """The voters to start elect whom it names, as it was computed when they were recorded."""
    electable = {tuple(running): won for running, won in ELECTABLE[name]["canWin"]}
    for nodes in (nodes for of, nodes in subsets() if of == name):
        ran = ask(*disks(name, *nodes))
        first = ran.out.splitlines()[0]
        possible = [running for running in electable if {*running} <= {*nodes}]
        if not possible:
            assert (1, True) == (ran.status, first.startswith("No copy can win: only voter"))
            continue
        assert 0 == ran.status
        winning, starting = first.removesuffix(".").split("; start ")
        winners = {*map(int, re.findall(r"\d+", winning))}
        sets = [tuple(map(int, re.findall(r"\d", one))) for one in starting.split(", or ")]
        assert sets
        for running in sets:
            assert {*electable[running]} <= winners, first


def test_lines_fit_a_terminal() -> None:
    """A command stays on one line: it is copied."""
    for name, nodes in subsets():
        fleet = open_fleet([str(disk) for disk in disks(name, *nodes)])
        out = Captured(is_terminal=True)
        context = Context(root=fleet.root, out=out, warn=pytest.fail, fleet=fleet)
        run_line(context, "quorum --copies")
        lines = "".join(out.parts).splitlines()
        assert all(len(line) <= 80 or line.startswith("   kafka-") for line in lines)


def test_losses() -> None:
    """What an election loses is what the recorded one lost, in the terms of diff."""
    rows = json.loads(ask(*disks("voters-leader-tail-3", 1, 2, 3), options="--starts --json").out)
    of_two = next(row for row in rows if row["running"] == [2, 3] and row["leader"] == 2)
    assert {"loses": "voter-1", "first": 348, "end": 377, "may_be_committed": False} == {
        key: of_two[key] for key in ("loses", "first", "end", "may_be_committed")
    }
    counted = {key: of_two[key] for key in ("topics", "acls", "configs", "credentials", "quotas")}
    assert {"topics": 0, "acls": 2, "configs": 1, "credentials": 3, "quotas": 11} == counted
    of_one = next(row for row in rows if row["running"] == [1, 2])
    assert (True, None, None) == (of_one["best"], of_one["loses"], of_one["first"])


def test_verdicts_and_copies_as_rows() -> None:
    """Each form of rows has them."""
    places = disks("voters-two-epochs-3", 1, 2, 3)
    rows = json.loads(ask(*places, options="--verdicts --json").out)
    assert [(0, 327, "safe"), (327, 328, "open"), (327, 337, "open")] == [
        (row["first"], row["end"], row["verdict"]) for row in rows
    ]
    copies = json.loads(ask(*places, options="--copies --json").out)
    assert [(1, True, 4, 337, 327, 4), (2, True, 3, 328, 327, 3), (3, False, 1, 327, None, 4)] == [
        tuple(
            row[key]
            for key in ("node_id", "can_win", "log_epoch", "log_end_offset", "departs_at", "epoch")
        )
        for row in copies
    ]
    assert ["CONTROLLER://127.0.0.1:25093"] == copies[2]["endpoints"]
    for flag in OF_COPIES:
        assert 0 == ask(*places, options=f"{flag} -o csv").status


def test_one_directory() -> None:
    """It is asked as several are."""
    ran = ask(*disks("voters-minority-5", 5))
    assert 1 == ran.status
    assert ran.out.startswith("No copy can win: only voter 5 is here, and a vote needs 3 of 5.\n")


def test_two_clusters_are_refused() -> None:
    """Both are named."""
    places = [*disks("voters-static-3", 1), *disks("voters-two-epochs-3", 1)]
    ran = ask(*places)
    assert 3 == ran.status
    assert ran.err[0].startswith("quorum: the copies are of 2 clusters: ")
    assert "--cluster-id" in ran.err[1]


def test_a_node_twice_is_refused(tmp_path: Path) -> None:
    """Only one can be the disk that it left; the log tells which directory.id that has."""
    other = copy_of("voters-two-epochs-3/voter-2", tmp_path / "backup")
    ran = ask(*disks("voters-two-epochs-3", 1, 2), other)
    assert 3 == ran.status
    assert ran.err[0].startswith("quorum: node 2 is here 2 times: ")
    assert ran.err[1].endswith("the log names pZd57MJvS4erNL8_1XtZ6A")


def test_another_lineage_is_refused(tmp_path: Path) -> None:
    """One epoch has one leader: two batches of it at an offset are of two logs."""
    one, two = voter(tmp_path, 1, topic_batch(1, 2)), voter(tmp_path, 2, topic_batch(1, 3))
    ran = ask(one, two)
    assert (3, "") == (ran.status, ran.out)
    assert "are not of one log: at offset 1 both have a batch of one epoch" in ran.err[0]
    found = json.loads(run_on(open_fleet([str(one), str(two)]), "health -o json").out)
    assert {"copies-diverged"} == {row["code"] for row in found if "copies" in row["code"]}


def test_a_backup_that_can_win_is_told(tmp_path: Path) -> None:
    """No votes lead to a winner that lacks a committed record."""
    old = [voter(tmp_path, n) for n in (1, 2)]
    ahead = voter(tmp_path, 3, topic_batch(1, 1))
    state = checkpoint_bytes([], epoch=0, kraft_version=None)
    (ahead / LOG_DIR_NAME / checkpoint_name(2, 0)).write_bytes(state)
    ran = ask(*old, ahead)
    assert 1 == ran.status
    assert ran.out.startswith("Start nothing: voter 1 or 2 can win, and lacks committed records.\n")
    assert "\n3. Start" not in ran.out


def test_doubts_are_told(tmp_path: Path) -> None:
    """A file that the node needs is missing, or its directory can't be read: status 1."""
    one, two = voter(tmp_path, 1), voter(tmp_path, 2)
    (two / LOG_DIR_NAME / "quorum-state").unlink()
    ran = ask(one, two)
    assert 1 == ran.status
    assert "- n2: quorum-state: there is no such file" in ran.out
    ran = ask(one, two, tmp_path / "nowhere")
    assert ran.out.splitlines()[1].startswith("Not sure: nowhere: ")


def test_more_voters_than_sets_are_tried_for(tmp_path: Path) -> None:
    """A majority with the newest log is named all the same."""
    of = tuple(range(1, MOST_COPIES + 2))
    ran = ask(*(voter(tmp_path, n, *[topic_batch(1, 1)] * (n == 3), of=of) for n in of))
    assert ran.out.startswith("Voter 3's copy wins; start 1, 2, 3, 4, 5, 6 and 7.\n")


def test_whole_logs_only() -> None:
    """The ends are not read with --committed-only; two flags exclude each other."""
    ran = ask(*disks("voters-static-3", 1), committed_only=True)
    assert (2, "quorum: a vote compares the ends of whole logs") == (ran.status, ran.err[0])
    ran = ask(*disks("voters-static-3", 1), options="--copies --starts")
    assert (2, "quorum: --copies and --starts exclude each other") == (ran.status, ran.err[0])


@pytest.mark.parametrize("is_there", [False, True])
def test_a_voter_that_may_have_forgotten_its_vote(tmp_path: Path, *, is_there: bool) -> None:
    """It is started last where the others suffice; else the first lines and a step tell of it."""
    lost = copy_of("voters-changed-address-3/voter-2", tmp_path)
    state = lost / LOG_DIR_NAME / "quorum-state"
    state.write_bytes(b"") if is_there else state.unlink()
    others = disks("voters-changed-address-3", 1, 3)
    told = ask(lost, *others).out
    assert told.startswith("Voter 1's copy wins; start 1 and 3.\n")
    assert "Start 2 last, while all others follow one leader: quorum-state: " in told
    assert "Then start 2" not in told
    told = ask(lost, others[0]).out
    assert told.startswith("Voter 1's copy wins; start 1 and 2.\n")
    assert "First see to voter 2: quorum-state: " in told[: told.index("Copies")]
    assert told.index("Before you start 2: quorum-state: ") < told.index("Start 1 and 2, each on")


def test_a_directory_that_is_left_out_may_be_the_one_that_is_needed(tmp_path: Path) -> None:
    """It is named where no copy can win, and so is the log that ends last."""
    broken = copy_of("voters-minority-5/voter-4", tmp_path)
    (broken / "meta.properties").write_bytes(b"")
    told = ask(broken, *disks("voters-minority-5", 4, 5)).out
    assert f"Or mend what is here and left out: {broken.name}. See below.\n" in told
    assert "Keep all disks. Of these, the log of voter 4 ends last.\n" in told
    assert f"- {broken.name}: " in told


def test_tree_of_copies() -> None:
    """``/quorum/copies`` of a fleet has the rows of the command, without nulls."""
    fleet = open_fleet([str(place) for place in disks("voters-all-killed-3", 1, 2, 3)])
    assert "clusters\nquorum\n" == run_on(fleet, "ls /").out
    tree = run_on(fleet, "tree /quorum/copies").out
    assert "voter 1's copy wins; start 1 and 2, or 1 and 3" in tree
    copy = run_on(fleet, "cat /quorum/copies/logs/voter-2").out
    assert "can_win=False, log_epoch=1, log_start=0, log_end_offset=1585" in copy
    assert "departs_at" not in copy
    assert "verdict=proved" in run_on(fleet, "cat /quorum/copies/records/1585").out
    assert "leader=3" in run_on(fleet, "cat /quorum/copies/starts/1,2,3-2").out


def test_tree_of_copies_that_cannot_be_judged(tmp_path: Path) -> None:
    """Directories of two clusters have no such tree; one node twice says why."""
    (one,), (other,) = disks("voters-all-killed-3", 1), disks("voters-changed-address-3", 1)
    assert "clusters\n" == run_on(open_fleet([str(one), str(other)]), "ls /").out
    copied = copy_of("voters-all-killed-3/voter-1", tmp_path / "again")
    file = copied / "meta.properties"
    file.write_text(
        re.sub("directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAAQ", file.read_text())
    )
    fleet = open_fleet([str(one), str(copied)])
    assert run_on(fleet, "cat /quorum/copies/answer").out.startswith("not judged: node 1 is here 2")
    assert "give the directory" in run_on(fleet, "cat /quorum/copies/doubts").out
    walked = run_on(fleet, "find /quorum")
    assert (0, 7, ()) == (walked.status, len(walked.out.splitlines()), walked.err)


def test_configuration_of_one_of_the_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Static voters are compared with the log of the node that the configuration is of."""
    file = tmp_path / "server.properties"
    settings = {
        "process.roles": "controller",
        "node.id": "2",
        "controller.quorum.voters": "1@a:1,2@b:2,4@c:3",
        "controller.listener.names": "CONTROLLER",
    }
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    ignored = "voter-2: the quorum is dynamic: the node ignores controller.quorum.voters"

    def told(*places: Path) -> str:
        main(
            ["--config", str(file), *chain(*(("-d", str(one)) for one in places)), "quorum", COPIES]
        )
        return capsys.readouterr().out

    assert told(*disks("voters-all-killed-3", 1, 2)).count(ignored) == 1
    assert ignored not in told(*disks("voters-all-killed-3", 1, 3))


def test_a_majority_without_the_voter_that_may_have_forgotten_its_vote(tmp_path: Path) -> None:
    """It is chosen though its log is shorter: nobody was told of the records that it lacks."""
    lost = copy_of("voters-all-killed-3/voter-1", tmp_path)
    (lost / LOG_DIR_NAME / "quorum-state").unlink()
    ran = ask(lost, *disks("voters-all-killed-3", 2, 3))
    assert 1 == ran.status
    assert ran.out.startswith("Voter 3's copy wins; start 2 and 3.\n")
    assert "Start 1 last, while all others follow one leader: quorum-state: " in ran.out
    assert "Before you start" not in ran.out
    assert "instead" not in ran.out


def test_both_choices_are_told_where_records_may_be_lost(tmp_path: Path) -> None:
    """A client may know records of the voter that is left for last: a disk is missing."""
    of = (1, 2, 3, 4, 5)
    lost = voter(tmp_path, 1, topic_batch(1, 1), of=of)
    (lost / LOG_DIR_NAME / "quorum-state").unlink()
    told = ask(lost, *(voter(tmp_path, n, of=of) for n in (2, 3, 4))).out
    assert told.startswith("The copies of voters 2, 3 and 4 are equal and win; start 2, 3 and 4.\n")
    assert (
        "They may be acknowledged. To keep them, start 1, 2 and 3, or 1, 2 and 4, or 1, 3 and 4"
        " instead: then voter 1 may vote twice in an epoch (quorum-state: "
    ) in told


def renamed(parent: Path, name: str, key: str, value: str | None) -> Path:
    """A copy of a recorded directory whose meta.properties has another value, or none."""
    made = copy_of(name, parent)
    file = made / "meta.properties"
    line = "" if value is None else f"{key}={value}"
    file.write_text(re.sub(f"{key}=.*", line, file.read_text()))
    return made


VOTER_1 = "Fz-r4pWYQKuuUkQrbOn-vQ"


def test_a_voter_whose_directory_id_is_lost(tmp_path: Path) -> None:
    """Its directory is here: the id is to be put back, and its disk is not asked for."""
    nameless = renamed(tmp_path, "voters-all-killed-3/voter-1", "directory.id", None)
    doubt = (
        f"{nameless.name}: its meta.properties has no directory.id; the log names {VOTER_1}: put it"
        " back before the node starts, then this copy counts"
    )
    ran = ask(nameless, *disks("voters-all-killed-3", 2))
    assert 1 == ran.status
    assert "\nBring back the disk of voter 3.\n" in ran.out
    assert f"\n- {doubt}\n" in ran.out
    assert f"\nOr mend what is here and left out: {nameless.name}. See below.\n" in ran.out
    step = f"Put directory.id={VOTER_1} into meta.properties of {nameless.name}, and ask again"
    assert f"\n3. {step} before you start anything.\n" in ran.out
    ran = ask(nameless, *disks("voters-all-killed-3", 2, 3))
    assert 1 == ran.status
    assert f"\n- {doubt}\n" in ran.out
    assert "has no copy here" not in ran.out
    assert f"\n3. {step}" in ran.out


def test_a_voter_with_another_directory_id(tmp_path: Path) -> None:
    """The log's belongs there only if nobody formatted the directory: then it has no vote."""
    other = renamed(
        tmp_path, "voters-all-killed-3/voter-1", "directory.id", "AAAAAAAAAAAAAAAAAAAAAQ"
    )
    ran = ask(other, *disks("voters-all-killed-3", 2))
    assert 1 == ran.status
    assert "Bring back the disk of voter 3.\n" in ran.out
    assert f": the log names directory.id {VOTER_1} for voter 1, and its meta" in ran.out
    assert f"\n3. If it was never formatted anew: put directory.id={VOTER_1} into " in ran.out


def test_directories_that_nothing_mends(tmp_path: Path) -> None:
    """An empty one is called so, and one without a log is not to be mended."""
    (empty := tmp_path / "empty").mkdir()
    bare = copy_of("voters-all-killed-3/voter-1", tmp_path)
    shutil.rmtree(bare / LOG_DIR_NAME)
    for place, why in (
        (empty, "the directory is empty"),
        (bare, f"{bare}: a log directory without a metadata log"),
    ):
        ran = ask(place, *disks("voters-all-killed-3", 3))
        assert 1 == ran.status
        assert "mend" not in ran.out
        assert f"\n- {place.name}: {why}: it is left out\n" in ran.out


@pytest.mark.parametrize(
    ("key", "put"),
    [
        ("node.id", "node.id=2 (by its directory.id) back into it"),
        ("cluster.id", "cluster.id back"),
    ],
)
def test_a_directory_that_does_not_say_whose_it_is(tmp_path: Path, key: str, put: str) -> None:
    """It is left out, and the line says how to mend it."""
    nameless = renamed(tmp_path, "voters-all-killed-3/voter-2", key, None)
    told = ask(nameless, *disks("voters-all-killed-3", 3)).out
    assert f"Or mend what is here and left out: {nameless.name}. See below.\n" in told
    assert f"it is left out. Put {put}, then this copy counts\n" in told


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("voters-all-killed-3", "a formatted voter has no log, and no vote."),
        (
            "voters-static-3",
            "a formatted voter has no log; with static voters it votes all the same, and committed"
            " records can be lost.",
        ),
    ],
)
def test_the_harm_of_formatting(name: str, harm: str) -> None:
    """A static voter votes by its node id alone."""
    assert f"Format none: {harm}\n" in ask(*disks(name, 1, 2)).out


def damaged(parent: Path, name: str, at: int | None = None) -> Path:
    """A copy of a recorded voter's directory, with other bytes at a position of its segment."""
    made = copy_of(name, parent)
    segment = made / LOG_DIR_NAME / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    at = len(data) // 2 if at is None else at
    data[at : at + 4] = bytes(byte ^ 0xFF for byte in data[at : at + 4])
    segment.write_bytes(data)
    return made


def test_a_damaged_log_does_not_win(tmp_path: Path) -> None:
    """Records behind damage prove nothing: a start cuts them off, back to the checkpoint."""
    bad = damaged(tmp_path, "voters-all-killed-3/voter-1")
    others = disks("voters-all-killed-3", 2, 3)
    ran = ask(bad, *others)
    assert 1 == ran.status
    assert ran.out.startswith("Voter 3's copy wins; start 2 and 3.\n")
    assert "\n1585-1592  open    on 3 and behind damage on 1: who wins decides\n" in ran.out
    assert "\n1593-1596  open    behind damage on 1: a start cuts them off\n" in ran.out
    assert "Lost then: nothing" not in ran.out
    assert "Start 1 last, while all others follow one leader: its log is damaged" in ran.out
    doubt = "offsets 1572-1596 of it do not count: 00000000000000000000.log, position 56615, "
    assert doubt in ran.out
    rows = json.loads(ask(bad, *others, options="--copies --json").out)
    of_one = next(row for row in rows if row["node_id"] == 1)
    assert (1572, False) == (of_one["log_end_offset"], of_one["can_win"])
    of_both = json.loads(ask(bad, *others, options="--verdicts --json").out)
    last = [(r["first"], r["nodes"], r["behind_damage"], r["may_be_committed"]) for r in of_both]
    assert [(1585, [3], [1], True), (1593, [], [1], True)] == last[-2:]


def test_a_majority_that_needs_a_damaged_log(tmp_path: Path) -> None:
    """Nothing says that no acknowledged change is lost."""
    bad = damaged(tmp_path, "voters-all-killed-3/voter-1")
    ran = ask(bad, *disks("voters-all-killed-3", 2))
    assert 1 == ran.status
    assert "First see to voter 1: its log is damaged" in ran.out
    assert "Find the directory of voter 3 first." in ran.out
    assert "\n3. Look for the directory of 3, and ask again with it: " in ran.out
    assert "If the directory of 3 is found later, copy it away before you start" in ran.out
    assert "no acknowledged change is lost" not in ran.out
    assert "\n1572-1584  safe    on 2 and behind damage on 1: " in ran.out


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", ELECTABLE)
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_a_damaged_log_is_judged_as_the_start_leaves_it(
    tmp_path: Path, name: str, share: float
) -> None:
    """The start cuts the log off at the damage, or empties it behind a newer checkpoint."""
    first, *others = sorted(fixture_dir(name).glob("voter-*"))
    places = (
        copy_of(f"{name}/{first.name}", tmp_path / "a"),
        copy_of(f"{name}/{first.name}", tmp_path / "b"),
    )
    ill, cut = (sorted((place / LOG_DIR_NAME).glob("*.log"))[-1] for place in places)
    data = bytearray(cut.read_bytes())
    whole = [*batches(data, Chainer(memoryview(bytes(data)), 0, len(data), "").run().positions)]
    begin, _, base, *_ = whole[int(share * (len(whole) - 1))]
    newest = max(int(file.name[:20]) for file in cut.parent.glob("*.checkpoint"))
    if base < newest:
        cut.unlink()
        (cut.parent / f"{newest:020}.log").touch()
    else:
        cut.write_bytes(data[:begin])
    data[begin + 40] ^= 0xFF
    ill.write_bytes(data)
    found = [json.loads(ask(p, *others, options="--copies --json").out) for p in places]
    shown = [
        {(r["node_id"], r["can_win"], r["log_epoch"], r["log_end_offset"]) for r in rows}
        for rows in found
    ]
    assert shown[0] == shown[1]


def test_damage_of_a_segment_that_the_state_needs_no_more(tmp_path: Path) -> None:
    """A start proves it too, and cuts the log off there."""
    bad = copy_of("voters-all-killed-3/voter-1", tmp_path)
    log = bad / LOG_DIR_NAME
    first = log / f"{0:020}.log"
    whole = Chainer(memoryview(data := first.read_bytes()), 0, len(data), "").run()
    begin, _, base, *_ = next(b for b in batches(data, whole.positions) if b[2] > 900)
    first.write_bytes(data[: begin - 1] + bytes([data[begin - 1] ^ 0xFF]))
    (log / f"{base:020}.log").write_bytes(data[begin:])
    ran = ask(bad, *disks("voters-all-killed-3", 2, 3))
    assert ran.out.startswith("Voter 3's copy wins; start 2 and 3.\n")


@pytest.mark.parametrize("field", [0, 12])
def test_damage_that_a_start_may_not_cut_off(tmp_path: Path, field: int) -> None:
    """A CRC covers neither offset nor epoch: the node may win with all, and then lacks records."""
    data = (fixture_dir("voters-all-killed-3/voter-1") / LOG_DIR_NAME / f"{0:020}.log").read_bytes()
    whole = Chainer(memoryview(data), 0, len(data), "").run()
    begin = [*batches(data, whole.positions)][-2][0]
    bad = damaged(tmp_path, "voters-all-killed-3/voter-1", begin + field)
    ran = ask(bad, *disks("voters-all-killed-3", 2))
    assert 1 == ran.status
    assert "its log is damaged, and its end is not sure: offsets " in ran.out
    assert "Lost then: nothing" not in ran.out
