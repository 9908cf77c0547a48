"""fleet, and what commands of one cluster do on a fleet."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.framework.command import Context
from metashell.commands.framework.completion import complete_line
from metashell.commands.framework.run import run_line
from metashell.findings.kind import SEVERITIES
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from support.fixtures import copy_of
from support.fleets import OTHER_ID, SAMPLE, SAMPLE_ID, backups, node, topics, torn
from support.logs import record, topic_record
from support.shell import Captured, Ran, run


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """Two nodes of one cluster and one of another."""
    return backups(tmp_path / "backups")


def fleet_of(parent: Path, **settings: Any) -> FleetSource:
    """The directories of a directory."""
    return open_fleet(sorted(map(str, parent.iterdir())), **settings)


def run_on(fleet: FleetSource, line: str, cwd: str = "/") -> Ran:
    """Run a command line on a fleet."""
    return run(fleet.root, line, cwd=cwd, source=fleet)


class Session:
    """Command lines on a fleet, one after the other."""

    def __init__(self, fleet: FleetSource) -> None:
        self.out = Captured()
        self.warnings: list[str] = []
        self.context = Context(
            root=fleet.root,
            out=self.out,
            warn=self.warnings.append,
            interactive=True,
            fleet=fleet,
        )

    def run(self, line: str) -> str:
        """Run a line; returns what it printed."""
        self.out.parts.clear()
        assert 0 == run_line(self.context, line), self.warnings
        return "".join(self.out.parts)


def rows(text: str) -> list[dict[str, Any]]:
    """The directories of ``fleet --json``."""
    found: list[dict[str, Any]] = json.loads(text)
    return found


def verdicts(ran: Ran) -> dict[str, str]:
    """What ``fleet --verify --json`` says of each directory."""
    return {row["cluster"]: row["verdict"] for row in json.loads(ran.out)}


# The table.


def test_a_row_for_each_directory(parent: Path) -> None:
    """By name; offsets and times as ``provenance`` has them."""
    ran = run_on(fleet_of(parent), "fleet")
    header, *lines = (line.split() for line in ran.out.splitlines())

    assert 0 == ran.status
    assert ["CLUSTER", "CLUSTER_ID", "NODE_ID", "BROKERS", "FENCED", "TOPICS"] == header[:6]
    assert ["controller-1", "controller-2", OTHER_ID] == [line[0] for line in lines]
    expected = [SAMPLE_ID, "2", "2", "2", "59", "234", "234", "234", "234", "4.4-IV2", "4111"]
    assert expected == lines[1][1:12]
    assert ["1", "4112", "2026-11-21T08:28:55.371Z", "0", "-"] == lines[1][12:]


def test_partitions_under_min_isr_are_counted(tmp_path: Path) -> None:
    """Also where no replica is missing, as `partitions --under-min-isr` lists them."""
    records = [
        topic_record(0),
        record("PartitionRecord", topic_id=bytes(16), replicas=[1], isr=[1], leader=1),
        record(
            "ConfigRecord",
            resource_type=2,
            resource_name="t0",
            name="min.insync.replicas",
            value="2",
        ),
    ]
    node(tmp_path, "n1", {0: encode_batch(records)}, "id")
    fleet = fleet_of(tmp_path)
    (row,) = rows(run_on(fleet, "fleet --json").out)
    assert (0, 1, 0) == (row["offline"], row["under_min_isr"], row["under_replicated"])
    assert 1 == len(rows(run_on(fleet, "partitions --under-min-isr --json").out))


def test_one_directory_is_a_fleet_of_one() -> None:
    """Its row is the one that it has among others."""
    source = metashell.open(SAMPLE)
    (alone,) = rows(run(source.root, "fleet --json", source=source).out)
    (row,) = rows(run_on(open_fleet([str(SAMPLE)]), "fleet --json").out)

    assert SAMPLE_ID == alone["cluster"] == row["cluster"]
    assert {**row, "directory": None} == {**alone, "directory": None}


def test_a_damaged_and_an_unreadable_directory(parent: Path) -> None:
    """The one has faults, the other nothing but a reason; both make the status 1."""
    (segment,) = sorted((parent / "staging" / "__cluster_metadata-0").glob("*.log"))[-1:]
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    (parent / "empty").mkdir()
    fleet = fleet_of(parent)
    ran = run_on(fleet, "fleet --json --sort error,-faults")

    unreadable, damaged, *others = rows(ran.out)
    assert 1 == ran.status
    assert ("empty", None) == (unreadable["cluster"], unreadable["brokers"])
    assert "no segment or checkpoint there" in unreadable["error"]
    assert (OTHER_ID, segment.name) == (damaged["cluster"], damaged["fault"][: len(segment.name)])
    assert [0, 0] == [row["faults"] for row in others]
    (line,) = (x for x in run_on(fleet, "fleet").out.splitlines() if x.startswith("empty "))
    assert line.endswith("no segment or checkpoint there")


def test_a_file_that_would_tell_the_cluster_is_a_fault(tmp_path: Path) -> None:
    """A quorum-state that can't be used, where no meta.properties is."""
    directory = copy_of("real-44-live", tmp_path / "a")
    (directory / "meta.properties").unlink()
    (directory / "__cluster_metadata-0" / "quorum-state").write_text("{")
    ran = run_on(fleet_of(tmp_path / "a"), "fleet --json")
    (row,) = rows(ran.out)
    assert (1, 1) == (ran.status, row["faults"])
    assert "quorum-state" in row["fault"]


@pytest.mark.parametrize(
    "file",
    [
        "meta.properties",
        "__cluster_metadata-0/quorum-state",
        "__cluster_metadata-0/leader-epoch-checkpoint",
    ],
)
def test_faults_of_a_node_are_those_of_the_table(file: str, tmp_path: Path) -> None:
    """Its own files that can't be used count once each, in the words of `sql`."""
    directory = copy_of("real-44-live", tmp_path / "a")
    (directory / file).write_text("{")
    fleet = fleet_of(tmp_path / "a")
    ran = run_on(fleet, "fleet --json")
    (row,) = rows(ran.out)
    assert (1, 1) == (ran.status, row["faults"])
    source = metashell.open(directory, engine="local")
    (fault,) = rows(run_on(source, "sql -o json 'SELECT file, reason FROM faults'").out)
    assert f"{fault['file']}: {fault['reason']}" == row["fault"]
    assert Path(file).name == fault["file"]


def test_a_torn_tail_is_no_fault(tmp_path: Path) -> None:
    """A copy of a running node often has one."""
    copy_of("real-44-torn", tmp_path / "a")
    ran = run_on(fleet_of(tmp_path / "a"), "fleet --json")
    assert (0, 0) == (ran.status, rows(ran.out)[0]["faults"])


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("cluster", ["controller-1", "controller-2", OTHER_ID]),
        ("-offset", ["controller-2", "controller-1", OTHER_ID]),
        ("-time", [OTHER_ID, "controller-2", "controller-1"]),
        ("-offline", ["controller-2", "controller-1", OTHER_ID]),
        ("metadata_version", [OTHER_ID, "controller-1", "controller-2"]),
        ("node_id", ["controller-1", OTHER_ID, "controller-2"]),
    ],
)
def test_sort(parent: Path, column: str, names: list[str]) -> None:
    """Equal ones stay in the order of their names."""
    ran = run_on(fleet_of(parent), f"fleet --sort {column}")
    assert names == [line.split()[0] for line in ran.out.splitlines()[1:]]


# --verify.


def test_copies_that_agree(parent: Path, tmp_path: Path) -> None:
    """Also one that ends earlier, in the middle of its last batch."""
    shutil.move(torn("real-44-live", tmp_path / "torn", 5000), parent / "torn")
    ran = run_on(fleet_of(parent), "fleet --verify")
    lines = [line.split() for line in ran.out.splitlines()[1:]]

    assert 0 == ran.status
    assert ["controller-1", "controller-2", "torn"] == [
        line[0] for line in lines if line[5] == "equal"
    ]
    assert [OTHER_ID] == [line[0] for line in lines if line[5] == "alone"]
    ((offset, digest),) = {(line[2], line[4]) for line in lines if line[5] == "equal"}
    source = metashell.open(SAMPLE)
    checksum = run(source.root, f"checksum --at {offset}", source=source)
    assert checksum.out.startswith(f"{digest}  offset {offset} ")
    ends = {line[0]: int(line[3]) for line in lines}
    assert ends["controller-2"] == 4111 > ends["controller-1"]


def test_a_copy_that_diverged(tmp_path: Path) -> None:
    """The log that most have is right; of two nobody knows."""
    changed = encode_batch([topic_record(9)], base_offset=2, leader_epoch=1)
    node(tmp_path, "n1", {0: topics(0, 1, 2)}, "idA")
    node(tmp_path, "n2", {0: topics(0, 1) + changed}, "idA")
    ran = run_on(fleet_of(tmp_path), "fleet --verify --json")
    assert (1, {"n1": "diverged", "n2": "diverged"}) == (ran.status, verdicts(ran))

    node(tmp_path, "n3", {0: topics(0, 1, 2, 3)}, "idA")
    ran = run_on(fleet_of(tmp_path), "fleet --verify --json")
    assert (1, {"n1": "equal", "n2": "diverged", "n3": "equal"}) == (ran.status, verdicts(ran))

    node(tmp_path, "n4", {0: topics(0, 1)}, "idA")
    ran = run_on(fleet_of(tmp_path), "fleet --verify --json")
    assert "equal" == verdicts(ran).pop("n4")
    assert (1, "diverged") == (ran.status, verdicts(ran)["n2"])


def test_a_directory_that_does_not_reach_back(parent: Path) -> None:
    """Who ends before its files begin can't be compared with it, and that is told."""
    node(parent, "old", {0: topics(*range(10))}, SAMPLE_ID)
    shutil.rmtree(parent / "controller-1")
    ran = run_on(fleet_of(parent), "fleet --verify --json")

    assert 1 == ran.status
    assert {"controller-2": "alone", "old": "unknown", OTHER_ID: "alone"} == verdicts(ran)
    (warning,) = ran.err
    assert warning.startswith("fleet: old: it ends at offset 9, before the offset 4111 that")


def test_a_directory_that_does_not_say_whose_it_is(tmp_path: Path) -> None:
    """It is compared with none."""
    for name in ("n1", "n2"):
        node(tmp_path, name, {0: topics(0)}, None)
    ran = run_on(fleet_of(tmp_path), "fleet --verify --json")
    assert (0, {"n1": "alone", "n2": "alone"}) == (ran.status, verdicts(ran))
    assert ran.err[0].startswith("fleet: 2 of 2 directories do not name their cluster")


@pytest.mark.slow
def test_verify_in_processes(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in this one."""
    fleet = fleet_of(parent)
    here = run_on(fleet, "fleet --verify")
    monkeypatch.setattr("metashell.sources.fleet.source.SMALL_BYTES", 0)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 2)
    assert here == run_on(fleet, "fleet --verify")


def jsonl_of(fleet: FleetSource, line: str) -> list[str]:
    """The rows of a command."""
    return run_on(fleet, f"{line} -o jsonl --columns all").out.splitlines()


def test_the_sum_counts_each_cluster_once(parent: Path, tmp_path: Path) -> None:
    """Of two copies of a cluster the one counts whose log ends last."""
    shutil.copytree(parent, tmp_path / "all")
    (tmp_path / "all" / "broken" / "__cluster_metadata-0").mkdir(parents=True)
    fleet = fleet_of(tmp_path / "all")
    rows = {row["cluster"]: row for row in map(json.loads, jsonl_of(fleet, "fleet"))}
    ahead, other = rows["controller-2"], rows["dvOdIo6vQp6CkKMatfeSWQ"]
    assert ahead["log_end_offset"] > rows["controller-1"]["log_end_offset"]
    ran = run_on(fleet, "fleet --summary -o jsonl")
    assert 1 == ran.status
    found = json.loads(ran.out)
    names = ("brokers", "fenced", "topics", "partitions", "offline", "under_replicated")
    assert {name: ahead[name] + other[name] for name in names} == {
        name: found[name] for name in names
    }
    assert (3, 4, 1) == (found["clusters"], found["directories"], found["unreadable"])
    assert ["1 at 4.0-IV3", "1 at 4.4-IV2"] == found["metadata_versions"]
    assert min(ahead["time"], other["time"]) == found["oldest"]


def test_health_of_each_cluster_in_a_row(parent: Path) -> None:
    """The worst first, with the kinds that `--summary` has."""
    fleet = fleet_of(parent)
    (parent / "broken" / "__cluster_metadata-0").mkdir(parents=True)
    broken = run_on(fleet_of(parent), "health --clusters -o jsonl")
    first = json.loads(broken.out.splitlines()[0])
    assert (1, "broken", "unread") == (broken.status, first["cluster"], first["severity"])
    assert "no segment or checkpoint" in first["findings"][0]
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in map(json.loads, jsonl_of(fleet, "health --summary")):
        kinds.setdefault(row["cluster"], []).append(row)
    rows = [json.loads(line) for line in jsonl_of(fleet, "health --clusters")]
    assert kinds.keys() == {row["cluster"] for row in rows}
    ranks = []
    for row in rows:
        own = kinds[row["cluster"]]
        counts = [sum(kind["severity"] == name for kind in own) for name in SEVERITIES]
        assert counts == [row[f"{name}_kinds"] for name in SEVERITIES]
        assert [kind["code"] for kind in own] == [text.split()[0] for text in row["findings"]]
        assert own[0]["severity"] == row["severity"]
        ranks.append((SEVERITIES.index(row["severity"]), [-count for count in counts]))
    assert sorted(ranks) == ranks


# Commands of one cluster.


def test_one_cluster_is_needed(parent: Path) -> None:
    """The error says how to choose one; so does that of two."""
    fleet = fleet_of(parent)
    for line in ("log", "checksum", "diff 1 2", "stats", "du", "save x"):
        ran = run_on(fleet, line)
        assert (2, "") == (ran.status, ran.out), line
        assert "this command needs one cluster" in ran.err[0]
        assert "`cd /clusters/controller-1`" in ran.err[1]
    two = run_on(fleet, "changes /clusters/controller-1/image /clusters/controller-2/image")
    assert (2, "changes: the arguments name two clusters: controller-1 and controller-2") == (
        two.status,
        two.err[0],
    )


@pytest.mark.parametrize("path", ["{}", "'{}'", "/./{}"])
def test_a_path_chooses_the_cluster(parent: Path, path: str) -> None:
    """As typed, quoted, with a pattern in it."""
    fleet, source = fleet_of(parent), metashell.open(SAMPLE)
    line = "changes --newest 3 {}"
    wanted = run(source.root, line.format("/image/topics/byName/ord*/*"), source=source)
    typed = path.format("/clusters/controller-2/image/topics/byName/ord*/*")
    if path.startswith("'"):
        typed = "'/clusters/controller-2'/image/topics/byName/ord*/*"
    assert wanted == run_on(fleet, line.format(typed))


@pytest.mark.parametrize("wanted", ["/clusters/controller-2", str(SAMPLE)])
def test_each_cluster_of_a_fleet_is_compared(parent: Path, wanted: str) -> None:
    """Its rows are those of a comparison of this cluster alone; a text stands below its name."""
    fleet, columns = fleet_of(parent), "change,path,fields,value"
    given = f"diff --with {wanted} -o jsonl --columns {columns} /image/configs"
    alone = []
    for name, member in fleet.members.items():
        ran = run_on(member.source(), given.replace("/clusters/controller-2", str(SAMPLE)))
        alone += [{"cluster": name, **json.loads(line)} for line in ran.out.splitlines()]
    ran = run_on(fleet, given.replace(columns, f"cluster,{columns}"))
    assert alone == [json.loads(line) for line in ran.out.splitlines()]
    assert {"dvOdIo6vQp6CkKMatfeSWQ"} == {row["cluster"] for row in alone}
    text = run_on(fleet, f"diff --with {wanted} /image/configs")
    assert 1 == text.status
    heads = [line for line in text.out.splitlines() if "/" not in line]
    differing = {row["cluster"] for row in alone}
    assert heads == [
        f"{name}:" if name in differing else f"{name}: nothing differs" for name in fleet.members
    ]
    (offsets,) = (line for line in text.err if "two offsets" in line)
    assert offsets.startswith("diff: controller-1: at two offsets: "), "two nodes of one cluster"
    quiet = run_on(fleet, f"diff --with {wanted} --quiet")
    assert (1, "") == (quiet.status, quiet.out)


def test_two_clusters_of_a_fleet_are_compared(parent: Path) -> None:
    """`--with` takes a path of the fleet for the directory behind it."""
    fleet = fleet_of(parent)
    line = "diff --at 3600 --quiet --with {}"
    for other in ("/clusters/controller-2", str(SAMPLE)):
        assert 0 == run_on(fleet, line.format(other), "/clusters/controller-1").status


def test_at_moves_one_cluster(parent: Path) -> None:
    """The others stay where they are; `fleet` shows it so."""
    session = Session(fleet_of(parent))
    session.run("cd /clusters/controller-2/image/topics")
    assert "offset 3499, epoch 1" in session.run("at 3499")
    assert "/clusters/controller-2/image/topics\n" == session.run("pwd")
    assert "offset 3499," in session.run("cat ../provenance")
    assert [3685, 3499, 610] == [row["offset"] for row in rows(session.run("fleet --json"))]
    session.run("at end")
    assert "offset 4111," in session.run("cat ../provenance")
    session.run("cd /")
    assert "/\n" == session.run("pwd")


def test_a_fleet_of_one_needs_no_choice() -> None:
    """There is but one cluster to be meant."""
    ran = run_on(open_fleet([str(SAMPLE)]), "checksum")
    source = metashell.open(SAMPLE)
    assert run(source.root, "checksum", source=source) == ran


def test_watch_follows_one_member(parent: Path) -> None:
    """Its directory, as `-d` would."""
    ran = run_on(fleet_of(parent), "watch --timeout 0.1 ls image", "/clusters/controller-1")
    assert "topics" in ran.out


def test_completion_spans_clusters(parent: Path) -> None:
    """Paths from the root; values of options from the cluster that one is in."""
    session = Session(fleet_of(parent))

    def proposed(line: str) -> list[str]:
        return [found.display for found in complete_line(session.context, line)]

    assert ["controller-1/", "controller-2/"] == proposed("ls /clusters/c")
    assert ["orders/"] == proposed("cat /clusters/controller-2/image/topics/byName/ord")
    assert [] == proposed("log --topic ord")
    session.run("cd /clusters/controller-1")
    assert ["orders"] == proposed("log --topic ord")


def test_paths_that_name_no_cluster(parent: Path) -> None:
    """The hint names the same path in the cluster that one is in, else in the first one."""
    fleet = fleet_of(parent)
    for cwd, named in (("/clusters/controller-2/image", "controller-2"), ("/", "controller-1")):
        for path, whole in (("/image", "image"), ("/topics/byId", "image/topics/byId")):
            ran = run_on(fleet, f"find {path} -offline", cwd=cwd)
            assert (
                f"find: {path}: No such file or directory",
                f"  hint: did you mean /clusters/{named}/{whole}?",
            ) == ran.err
        assert ("ls: /nope: No such file or directory",) == run_on(fleet, "ls /nope", cwd=cwd).err
