"""Rows of a fleet that other processes make: those that this one makes, with all around them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from metashell.commands.framework.cluster import run_on_fleet
from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.run import run_line
from metashell.commands.rows.columns import integer, one_table
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.errors import MetashellError, SourceError
from metashell.sources.fleet import source as fleet_source
from metashell.sources.fleet.source import FleetSource
from metashell.sources.opening import open_fleet
from support.fixtures import fixture
from support.fleets import backups
from support.questions import ROWS
from support.shell import Captured, Ran, run

ELSEWHERE = [
    *(
        line
        for line in ROWS
        if line.split()[0] in ("can-upgrade", "who-can", "config", "topics", "health")
    ),
    "partitions --offline",
    "partitions --summary topic -o json",
    "partitions nowhere 'orders'",
    "partitions o*",
    "brokers --count",
    "tokens -o json",
    "nodes --columns all --sort -id",
    "find /",
    "find / -name 'o*' -type d",
    "find /clusters/*/image/features /clusters/s*/image/cluster /nowhere -maxdepth 1 -print0",
    "find /clusters /clusters/*/image/topics -name byName -prune -o -maxdepth 3 -print",
    "find / -type f -count",
    "find . -maxdepth 3 -path '*/image/*' -printf '%d %P\\n'",
]


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three directories, one with a torn tail, and one that can't be read."""
    parent = backups(tmp_path_factory.mktemp("fleet") / "all")
    shutil.copytree(fixture("real-44-torn").directory, parent / "torn")
    (parent / "empty" / "__cluster_metadata-0").mkdir(parents=True)
    return parent


def fleet_of(parent: Path, **how: bool) -> FleetSource:
    """The directories of a directory."""
    return open_fleet(sorted(map(str, parent.iterdir())), **how)  # type: ignore[arg-type]


def ask(fleet: FleetSource, line: str, cwd: str = "/") -> tuple[Ran, list[str]]:
    """What a line does, and what the front end then tells of the directories."""
    ran = run(fleet.root, line, cwd=cwd, source=fleet)
    return ran, list(fleet.warnings)


@pytest.fixture
def many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every directory is worth another process."""
    monkeypatch.setattr(fleet_source, "_FEW_BYTES", 1)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 2)


class Here:
    """Runs the function of each job in this process, and counts."""

    def __init__(self) -> None:
        self.places: list[object] = []

    def __call__(
        self,
        function: object,
        jobs: Sequence[tuple[object, ...]],
        weights: Sequence[int],
        stop: object,
    ) -> Iterator[tuple[int, object]]:
        """As a fleet's runner."""
        import pickle

        assert len(jobs) == len(weights)
        for i, job in enumerate(jobs):
            self.places.append(job[0])
            # By way of bytes, as between processes.
            loaded, arguments = pickle.loads(pickle.dumps((function, job)))
            yield i, pickle.loads(pickle.dumps(loaded(*arguments)))


@pytest.fixture(scope="module")
def opened(parent: Path) -> FleetSource:
    """A fleet whose directories this process has opened."""
    fleet = fleet_of(parent)
    ask(fleet, "brokers")
    return fleet


@pytest.mark.cases(9)
@pytest.mark.parametrize("line", ELSEWHERE)
def test_rows_are_the_same_elsewhere(line: str, parent: Path, opened: FleetSource) -> None:
    """With their order, warnings and status; nothing is opened here."""
    fleet = fleet_of(parent)
    fleet.runner = runner = Here()  # type: ignore[assignment]
    assert ask(opened, line) == ask(fleet, line)
    # What tells how copies of one cluster agree is asked for by itself.
    assert len(fleet.members) == len(set(runner.places))
    assert line.startswith("health") or len(fleet.members) == len(runner.places)
    assert all(member.opened is None for member in fleet.members.values())


@pytest.mark.parametrize(
    "line",
    [
        "fleet -o csv",
        "fleet -o json",
        "topics orders -o jsonl",
        "topics orders -o tsv",
        "can-upgrade 3.9 -o csv",
        "can-upgrade 3.9",
    ],
)
def test_rows_are_written_in_their_turn_as_they_come(line: str, parent: Path) -> None:
    """A cluster that is answered before its turn waits for it, and no other does."""
    fleet = fleet_of(parent)
    out, written = Captured(), list[str]()

    def runner(function: object, jobs: Sequence[Any], *others: Any) -> Iterator[object]:
        written.append("")
        for i in (1, 0, *range(2, len(jobs))):
            yield from ((i, row) for _, row in Here()(function, jobs[i : i + 1], others[0][:1], 0))
            written.append("".join(out.parts))

    fleet.runner = runner  # type: ignore[assignment]
    context = Context(root=fleet.root, fleet=fleet, out=out, warn=lambda _: None)
    run_line(context, line)
    first, second, *_ = fleet.members
    before, none, both, *later = written
    assert before == none == ""
    assert first in both
    assert second in both
    assert both != later[-1]
    assert "".join(out.parts).startswith(later[-1])


@pytest.mark.long
@pytest.mark.usefixtures("many_bytes")
def test_processes(parent: Path) -> None:
    """One that can't be read costs its own rows, a diagnostic and the status."""
    fleet = fleet_of(parent)
    ran, warnings = ask(fleet, "partitions nowhere orders -o json")
    assert all(member.opened is None for member in fleet.members.values())
    assert 1 == ran.status
    assert any("/clusters/empty: " in text for text in ran.err)
    assert "partitions: controller-1: nowhere: no such topic or partition" in ran.err
    assert any(text.startswith("torn: ") for text in warnings)
    small = fleet_of(parent)
    small.is_for_others = lambda *_, **__: False  # type: ignore[method-assign]
    assert (ran, warnings) == ask(small, "partitions nowhere orders -o json")


@pytest.mark.parametrize(
    "line", ["find / -name byName -quit", "find /clusters/t*/image /clusters -name topics -quit"]
)
def test_a_search_that_ends(line: str, parent: Path) -> None:
    """What comes behind its end is not told, nor what is wrong there."""
    fleet, here = fleet_of(parent), fleet_of(parent)
    fleet.runner = Here()  # type: ignore[assignment]
    here.is_for_others = lambda *_, **__: False  # type: ignore[method-assign]
    assert ask(here, line) == ask(fleet, line)


def test_a_search_reads_the_directories_that_its_starts_name(parent: Path) -> None:
    """The others are not even opened elsewhere."""
    fleet = fleet_of(parent)
    fleet.runner = runner = Here()  # type: ignore[assignment]
    ran, _ = ask(
        fleet, "find features /clusters/torn/image/features", "/clusters/controller-1/image"
    )
    assert 0 == ran.status
    assert {"controller-1", "torn"} == {Path(str(place)).name for place in runner.places}
    again, _ = ask(fleet_of(parent), "find features", "/clusters/controller-1/image")
    assert ran.out.startswith(again.out)


@pytest.mark.usefixtures("many_bytes")
def test_a_process_that_dies_at_a_search(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its directory is named, and nothing below it."""
    monkeypatch.setattr(
        "metashell.sources.fleet.pool.run_all",
        lambda function, jobs, n_workers, *, stop: ((i, None) for i in range(len(jobs))),
    )
    fleet = fleet_of(parent)
    ran, _ = ask(fleet, "find / -type d")
    places = [f"/clusters/{name}" for name in fleet.members]
    assert ["/", "/clusters", *places] == ran.out.splitlines()
    assert all("the process that read it died" in line for line in ran.err)
    assert (1, len(places)) == (ran.status, len(ran.err))


def test_a_moment_is_that_of_each(parent: Path) -> None:
    """Also who does not reach back so far is told of in the same words."""
    line = "partitions --columns topic,leader,since_offset -o csv"
    fleet = fleet_of(parent).at("700")
    fleet.runner = Here()  # type: ignore[assignment]
    found = ask(fleet, line)
    assert ask(fleet_of(parent).at("700"), line) == found
    assert ask(fleet_of(parent), line) != found
    assert len(found[0].err) > 1


def test_a_strict_replay_is_told_of(parent: Path, tmp_path: Path) -> None:
    """The front end makes the status of it."""
    for name in ("one", "two"):
        shutil.copytree(fixture("quirks/undecodable-records").directory, tmp_path / name)
    fleet, here = fleet_of(tmp_path, strict=True), fleet_of(tmp_path, strict=True)
    fleet.runner = Here()  # type: ignore[assignment]
    assert ask(here, "brokers -o json") == ask(fleet, "brokers -o json")
    assert str(here.stopped_by) == str(fleet.stopped_by)
    assert fleet.stopped_by is not None


def test_what_is_open_is_asked_here(parent: Path) -> None:
    """As is the cluster of the current directory; another moment of it counts."""
    fleet = fleet_of(parent)
    fleet.runner = runner = Here()  # type: ignore[assignment]
    member = fleet.members["controller-1"]
    member.show(member.source().at("2000"))
    ran, _ = ask(fleet, "topics -o json")
    assert member.path not in runner.places
    assert len(fleet.members) - 1 == len(runner.places)
    alone, _ = ask(fleet, "topics -o json", "/clusters/controller-1")
    assert alone.out[1:-2].strip() in ran.out
    assert len(fleet.members) - 1 == len(runner.places)


def test_who_reads(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is read here, and in a shell all that can stay open."""
    fleet = fleet_of(parent)
    members = list(fleet.members.values())
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 4)
    assert not fleet.is_for_others(members, keeps=False)
    monkeypatch.setattr(fleet_source, "_FEW_BYTES", 1)
    assert fleet.is_for_others(members, keeps=False)
    assert not fleet.is_for_others(members, keeps=True)
    monkeypatch.setattr(fleet_source, "KEPT_BYTES", 1)
    assert fleet.is_for_others(members, keeps=True)
    assert not fleet.is_for_others(members[:1], keeps=False)
    monkeypatch.setattr("metashell.sources.fleet.source.core_count", lambda: 1)
    assert not fleet.is_for_others(members, keeps=False)


@pytest.mark.long
@pytest.mark.usefixtures("many_bytes")
@pytest.mark.parametrize(
    "line", ["partitions --leader x", "config a b c d", "who-can READ", "topics --assume /nowhere"]
)
def test_wrong_words_are_told_once(line: str, parent: Path) -> None:
    """In the words of a single cluster."""
    fleet = fleet_of(parent)
    ran, _ = ask(fleet, line)
    alone, _ = ask(fleet, line, "/clusters/controller-1")
    assert (alone.status, "", alone.err) == (ran.status, ran.out, ran.err[: len(alone.err)])
    assert ran.status in (2, 3)


@pytest.mark.usefixtures("many_bytes")
def test_interrupt(parent: Path) -> None:
    """Nobody is waited for."""
    fleet = fleet_of(parent)
    context = Context(
        root=fleet.root,
        fleet=fleet,
        out=Captured(),
        warn=lambda _: None,
        cancelled=lambda: True,
    )
    with pytest.raises(KeyboardInterrupt):
        run_line(context, "partitions --offline")


def test_assumptions_go_along_without_secrets(parent: Path, tmp_path: Path) -> None:
    """They are read once, for they may come from a pipe."""
    file = tmp_path / "server.properties"
    file.write_text("min.insync.replicas=3\nssl.keystore.password=hunter2\nfoo=hunter2\n")
    line = f"partitions --assume {file} --columns topic,min_isr,min_isr_source -o csv"
    fleet = fleet_of(parent)
    sent: list[bytes] = []

    class Watched(Here):
        def __call__(self, function: object, jobs: object, weights: object, stop: object) -> object:
            import pickle

            sent.append(pickle.dumps(jobs))
            file.unlink()
            return super().__call__(function, jobs, weights, stop)  # type: ignore[arg-type]

    wanted = ask(fleet_of(parent), line)
    fleet.runner = Watched()  # type: ignore[assignment]
    assert wanted == ask(fleet, line)
    assert ",3,STATIC_BROKER_CONFIG" in wanted[0].out
    assert b"min.insync.replicas" in sent[0]
    assert b"hunter2" not in sent[0]


class Picky(RowsCommand):
    """Has no answer for one cluster."""

    name = "picky"
    summary = "Answer."
    of_each_cluster = True
    tables = one_table(integer("n", "Of a test."))
    manual = Manual("picky", "Answers.")
    error: Exception = MetashellError("none to be had")

    def answer(self, query: RowsQuery) -> None:
        """A number."""
        if query.source.node_id == 2:
            raise self.error
        query.add([{"n": query.source.node_id}])


@pytest.mark.parametrize("line", ["topics nowhere --count", "partitions --leader 77"])
def test_no_answer_at_all_is_no_good_news(line: str, parent: Path) -> None:
    """Nothing is printed of a name that no cluster has, and no sentence calls that no partition."""
    ran, _ = ask(fleet_of(parent), line)
    assert (1, "") == (ran.status, ran.out)
    assert [] == [text for text in ran.err if "no partition is" in text]


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_no_answer_costs_its_own_rows(is_elsewhere: bool, parent: Path) -> None:
    """As a directory does that can't be read."""
    fleet = fleet_of(parent)
    if is_elsewhere:
        fleet.runner = Here()  # type: ignore[assignment]
    out = Captured()
    context = Context(root=fleet.root, fleet=fleet, out=out, warn=lambda _: None)
    assert 0 == Picky().run(context, ["-o", "csv"])
    assert "controller-1,1\n" in "".join(out.parts)
    failures = fleet.failures()
    assert "none to be had" == failures.pop("controller-2").message
    assert ["empty"] == list(failures)


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_bug_costs_its_own_rows_and_is_the_status(
    is_elsewhere: bool, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer of the others has it; what it quotes is not shown."""
    monkeypatch.delenv("METASHELL_DEBUG", raising=False)
    monkeypatch.setattr(Picky, "error", KeyError("s3cr3t"))
    fleet = fleet_of(parent)
    if is_elsewhere:
        fleet.runner = Here()  # type: ignore[assignment]
    out, told = Captured(), list[str]()
    context = Context(root=fleet.root, fleet=fleet, out=out, warn=told.append)
    assert 70 == run_on_fleet(context, Picky(), ["-o", "csv"])
    assert "controller-1,1\n" in "".join(out.parts)
    (line,) = (line for line in told if "controller-2" in line)
    assert line.startswith("picky: /clusters/controller-2: internal error: KeyError")
    assert "s3cr3t" not in "".join(told)


def test_members_are_closed_after_their_answer(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers hold none of them."""
    monkeypatch.setattr(fleet_source, "KEPT_BYTES", 1)
    fleet = fleet_of(parent)
    ran, warnings = ask(fleet, "partitions --offline -o json")
    assert 1 == sum(member.opened is not None for member in fleet.members.values())
    assert any(text.startswith("torn: ") for text in warnings)
    assert ran.out
    with pytest.raises(SourceError):
        fleet.members["empty"].source()
