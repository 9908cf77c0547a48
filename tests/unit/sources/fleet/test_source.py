"""A fleet as a source: what is opened when, and what one bad directory does to the others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.errors import InternalError, SchemaError, SourceError, UsageError
from metashell.fs.path import resolve
from metashell.read_settings import READ_DEFAULTS
from metashell.redact import REDACTED
from metashell.sources.fleet import source as fleet_module
from metashell.sources.fleet.member import FIELDS, error_of
from metashell.sources.fleet.reading import Reading
from metashell.sources.fleet.rows import fleet_row
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from support.fixtures import copy_of
from support.fleets import OTHER_ID, SAMPLE_ID, backups, node, topics
from support.logs import topic_batch
from support.shell import run


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """Two nodes of one cluster and one of another."""
    return backups(tmp_path / "backups")


def directories(parent: Path) -> list[str]:
    """The directories in a directory."""
    return sorted(map(str, parent.iterdir()))


def opened(fleet: FleetSource) -> set[str]:
    """Names of the members that were opened."""
    return {name for name, member in fleet.members.items() if member.opened is not None}


def run_on(fleet: FleetSource, line: str, cwd: str = "/") -> tuple[int, str, tuple[str, ...]]:
    """Run a command line on a fleet."""
    ran = run(fleet.root, line, cwd=cwd, source=fleet)
    return ran.status, ran.out, ran.err


def test_nothing_is_opened_before_it_is_looked_at(parent: Path) -> None:
    """Listing the clusters costs a listing of them."""
    fleet = open_fleet(directories(parent))

    assert run_on(fleet, "ls /clusters") == (0, f"controller-1\ncontroller-2\n{OTHER_ID}\n", ())
    assert run_on(fleet, "find / -maxdepth 2")[0] == 0
    assert run_on(fleet, "pwd")[0] == 0
    assert set() == opened(fleet)
    run_on(fleet, "cat /clusters/controller-2/image/provenance")
    assert {"controller-2"} == opened(fleet)


def test_what_can_not_be_read_is_told_and_the_rest_is_shown(parent: Path) -> None:
    """With status 1, in each command that asks for it; it is tried again each time."""
    bad = parent / "zombie"
    (bad / "__cluster_metadata-0").mkdir(parents=True)
    fleet = open_fleet(directories(parent))
    reason = f"{bad}/__cluster_metadata-0: no segment or checkpoint there"

    status, out, err = run_on(fleet, "cat /clusters/*/image/features/metadataVersion")
    assert (1, "4.4-IV2\n4.4-IV2\n4.0-IV3\n") == (status, out)
    assert (f"cat: /clusters/zombie: {reason}",) == err
    assert (1, "", (f"ls: /clusters/zombie: {reason}",)) == run_on(fleet, "ls /clusters/zombie")
    status, _, err = run_on(fleet, "cat /clusters/zombie/image/x")
    assert "cat: /clusters/zombie/image/x: the directory of this cluster can't be read" == err[0]
    assert (3, "", (f"log: /clusters/zombie: {reason}",)) == run_on(
        fleet, "log", "/clusters/zombie"
    )
    assert 0 == run_on(fleet, "ls /clusters")[0]

    shutil.rmtree(bad)
    node(parent, "zombie", {0: topics(0)}, None)
    assert (0, "t0\n", ()) == run_on(fleet, "ls /clusters/zombie/image/topics/byName")


def test_a_torn_member_warns_by_its_name(tmp_path: Path) -> None:
    """As far as it was looked at."""
    copy_of("real-44-torn", tmp_path)
    fleet = open_fleet([str(tmp_path / "real-44-torn")])
    assert () == tuple(fleet.warnings)
    run_on(fleet, f"ls /clusters/{SAMPLE_ID}/image")
    (warning,) = fleet.warnings
    assert warning.startswith(f"{SAMPLE_ID}: 00000000000000003389.log, position")


def test_at_is_each_member_at_that_point(parent: Path) -> None:
    """Who does not cover it can't be read; a wrong point is refused at once."""
    fleet = open_fleet(directories(parent)).at("600", record=True)
    status, out, err = run_on(fleet, "cat /clusters/*/image/provenance")

    assert (1, 2) == (status, out.count("offset 600,"))
    (told,) = err
    assert told.startswith("cat: /clusters/controller-2: offset 600 is not covered")
    with pytest.raises(UsageError):
        fleet.at("x")


def test_settings_reach_the_members(parent: Path, tmp_path: Path) -> None:
    """Secrets are shown where that is asked for; a wrong definition is no fault of a directory."""
    command = f"cat /clusters/{OTHER_ID}/image/scram/SCRAM-SHA-256/*"
    assert REDACTED in run_on(open_fleet(directories(parent)), command)[1]
    shown = run_on(open_fleet(directories(parent), show_secrets=True), command)[1]
    assert shown
    assert REDACTED not in shown
    (tmp_path / "X.json").write_text("{")
    with pytest.raises(SchemaError):
        open_fleet(directories(parent), schemas=[tmp_path])


def test_a_cluster_id_chooses_members(parent: Path) -> None:
    """Who does not name its cluster is left out, and that is told."""
    node(parent, "stranger", {0: topics(0)}, None)
    fleet = open_fleet(directories(parent), cluster_id=SAMPLE_ID)

    assert ["controller-1", "controller-2"] == list(fleet.members)
    assert SAMPLE_ID == fleet.cluster_id
    assert "1 of 4 directories do not name their cluster" in fleet.warnings[0]
    with pytest.raises(SourceError, match="no directory belongs to cluster nope"):
        open_fleet(directories(parent), cluster_id="nope")


def test_a_directory_counts_once(parent: Path) -> None:
    """However often it is given, and however it is written."""
    path = str(parent / "staging")
    assert [OTHER_ID] == list(open_fleet([path, f"{path}/", f"file://{path}"]).members)


def test_members_are_closed_where_they_are_many(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least recently used first; what was said of them is kept."""
    monkeypatch.setattr(fleet_module, "KEPT_BYTES", 1)
    fleet = open_fleet(directories(parent))
    before = run_on(fleet, "cat /clusters/*/image/provenance")

    assert {OTHER_ID} == opened(fleet)
    assert before == run_on(fleet, "cat /clusters/*/image/provenance")


def test_refreshed_has_what_was_written_since(tmp_path: Path) -> None:
    """Of opened members; a fleet in which nothing changed is the same one."""
    directory = node(tmp_path, "a", {0: topics(0)}, "idA")
    node(tmp_path, "b", {0: topics(0)}, "idB")
    fleet = open_fleet(directories(tmp_path))
    for _ in range(2):
        assert "t0\n" == run_on(fleet, "ls /clusters/idA/image/topics/byName")[1]
        assert fleet.refreshed() is fleet
    with (directory / "__cluster_metadata-0" / f"{0:020}.log").open("ab") as file:
        file.write(topic_batch(1))
    newer = fleet.refreshed()
    assert "t0\nt1\n" == run_on(newer, "ls /clusters/idA/image/topics/byName")[1]
    assert {"idA"} == opened(newer)


@pytest.mark.slow
def test_rows_are_those_of_the_sources(parent: Path) -> None:
    """In this process and in others, in the order of the names."""
    fleet = open_fleet(directories(parent))
    here, there = fleet.directory_rows(n_workers=1), fleet.directory_rows(n_workers=2)

    assert here == there
    assert ["controller-1", "controller-2", OTHER_ID] == [row["name"] for row in here]
    path = str(parent / "controller-2")
    assert {"name": "controller-2", **fleet_row(path, Reading())} == here[1]
    source = metashell.open(path)
    partitions = source.table("partitions")
    n_offline = sum(leader == -1 for leader in partitions["leader"].to_pylist())
    assert (len(partitions), n_offline) == (here[1]["partitions"], here[1]["offline"])
    assert here[1]["underReplicated"] == sum(
        len(row["isr"]) < len(row["replicas"]) - len(row["adding_replicas"] or ())
        for row in partitions.select(["isr", "replicas", "adding_replicas"]).to_pylist()
    )


def test_rows_can_be_computed_elsewhere(parent: Path) -> None:
    """By whatever calls a function for jobs; a job that is lost is a row with that as its fault."""
    fleet = open_fleet(directories(parent))

    def elsewhere(function: Any, jobs: Any, weights: Any, stop: Any) -> Iterator[tuple[int, Any]]:
        stop()
        assert [member.weight() for member in fleet.members.values()] == weights
        yield 2, None
        yield from ((i, function(*job)) for i, job in enumerate(jobs[:2]))

    wanted = fleet.directory_rows()
    fleet.runner = elsewhere
    *found, lost = fleet.directory_rows()
    assert wanted[:2] == found
    assert (OTHER_ID, OTHER_ID, None) == (lost["name"], lost["clusterId"], lost["brokers"])
    assert "the process that read it died" in str(lost["error"])


def test_a_kind_of_fleet_stays_one(parent: Path) -> None:
    """At another point too, with what it has of its own."""

    class Kind(FleetSource):
        mark: str

    fleet = Kind.over(directories(parent), READ_DEFAULTS)
    assert isinstance(fleet, Kind)
    fleet.mark = "x"
    fleet.runner = lambda *_: iter(())
    assert fleet.root is not fleet.at(600).root
    assert "x" == fleet.at(600).mark
    assert fleet.at(600).runner is fleet.runner


def test_a_row_never_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong: the other rows must not be lost."""
    row = fleet_row(str(tmp_path / "nothing"), Reading())
    assert list(FIELDS) == list(row)
    assert str(row["error"]).endswith("No such file or directory")

    def fail(*_: object, **__: object) -> Iterator[None]:
        raise ZeroDivisionError

    monkeypatch.setattr("metashell.sources.directory.list_metadata_directory", fail)
    row = fleet_row(str(tmp_path), Reading())
    assert str(row["error"]).startswith("internal error: ZeroDivisionError at ")
    assert isinstance(error_of(row), InternalError)


def test_paths_below_a_member_are_those_of_its_source(parent: Path) -> None:
    """A place in a fleet knows the way back."""
    fleet = open_fleet(directories(parent))
    place = resolve(fleet.root, f"clusters/{OTHER_ID}/../controller-1/image/topics")
    assert "/clusters/controller-1/image/topics" == place.encoded()
