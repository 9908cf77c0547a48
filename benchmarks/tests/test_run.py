"""The benchmarks: every figure can be measured, and a wrong answer is noticed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import children
import figures
import folds
import metashell
import processes
import run
from directories import LOG_DIR, SMOKE, Directories
from kraftgen.cluster import ClusterSpec, write_cluster
from measure import Measurement, Output, WrongOutputError, run_often
from oracle import partition_text
from support.waiting import wait_until

pytestmark = pytest.mark.meta

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def test_names_are_distinct() -> None:
    """A figure is chosen by its name."""
    names = [figure.name for figure in figures.FIGURES]
    assert sorted(set(names)) == sorted(names)


def test_every_figure_is_documented() -> None:
    """docs/benchmarks.md has a row for each, and no other."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert [figure.name for figure in figures.FIGURES] == rows


def test_targets_are_documented() -> None:
    """The targets in docs/benchmarks.md are those of the program."""
    text = DOCS.read_text(encoding="utf-8")
    for figure in figures.FIGURES:
        assert f"| `{figure.name}` | {figure.what} | {figure.target} |" in text


@pytest.mark.parametrize(
    ("patterns", "count"),
    [([], len(figures.FIGURES)), (["help"], 1), (["decode-*"], 2), (["help", "nothing"], 1)],
)
def test_figures_are_chosen_by_patterns(patterns: list[str], count: int) -> None:
    """As a shell matches names; none means all."""
    assert count == len(run.choose(patterns))


def test_an_unknown_figure_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """And names the list."""
    assert 2 == run.main(["--only", "nothing"])
    assert "no figure is called nothing; see --list\n" == capsys.readouterr().err


def test_a_report_has_each_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, with what each took; `make bench-smoke` measures all of them."""
    cheap = [f.name for f in figures.FIGURES if not re.match(r"spark-|(shell-)?ask-", f.name)]
    names = cheap[::24]
    chosen = [word for name in names for word in ("--only", name)]
    assert 0 == run.main(["--smoke", "--json", "--directory", str(tmp_path), *chosen])
    report = json.loads(capsys.readouterr().out)
    assert names == [f["name"] for f in report["figures"]]
    assert all(f["wall_s"] and f["peak_rss_bytes"] for f in report["figures"])


def test_one_figure_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """A row with its target."""
    assert 0 == run.main(["--smoke", "--only", "python"])
    table = capsys.readouterr().out
    assert "| `python` | a Python that does nothing | - | " in table


def test_a_wrong_answer_fails_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The others are still measured and printed."""

    def wrong(_: Directories, runs: int) -> Measurement:
        raise WrongOutputError(f"{runs} run")

    bad = figures.Figure("bad", "a wrong answer", "-", "s", wrong)
    good = figures.Figure("python", "nothing", "-", "s", figures.bare_python)
    monkeypatch.setattr(run, "FIGURES", (bad, good))
    assert 1 == run.main(["--smoke", "--directory", str(tmp_path)])
    captured = capsys.readouterr()
    assert captured.err.endswith("wrong output: bad: 1 run\n")
    assert "| `python` |" in captured.out


def test_what_can_not_be_measured_here_is_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A line says why, and nothing is wrong."""
    reason = {"skipped": "Spark can't be used: there is no Java here"}
    monkeypatch.setattr(folds, "report", lambda script, argv: reason)
    common = ["--smoke", "--directory", str(tmp_path)]
    assert 0 == run.main([*common, "--only", "spark-fold-*"])
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if line.startswith("skipped: ")]
    assert [f"skipped: spark-fold-{n}: {reason['skipped']}" for n in (1, 2)] == told


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Directories:
    """Directories that are made once for all tests."""
    return Directories(tmp_path_factory.mktemp("made"), SMOKE)


@pytest.mark.parametrize(
    "wrong",
    [{"topics": 41}, {"partitions": 0}, {"brokers": 1}, {"acls": 1}],
    ids=lambda rows: next(iter(rows)),
)
def test_a_wrong_number_of_rows_is_noticed(wrong: dict[str, int], made: Directories) -> None:
    """Of any table, whichever engine counted them."""
    clusters = made.incident()
    right = {c.log_dir: children.table_rows(c.checkpoint) for c in clusters}
    counts = {str(log_dir / LOG_DIR): rows for log_dir, rows in right.items()}
    folds._check(clusters, counts, made)
    first = next(iter(counts))
    with pytest.raises(WrongOutputError, match="are right"):
        folds._check(clusters, {**counts, first: {**counts[first], **wrong}}, made)
    with pytest.raises(WrongOutputError, match="1 directories are folded"):
        folds._check(clusters, {first: counts[first]}, made)


def looked(peaks: processes.Peaks) -> int:
    """The largest peak as of now."""
    peaks.look()
    return peaks.any_process


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_processes_are_watched_with_their_children() -> None:
    """The peak is that of the largest, here of a grandchild, which is none of Spark's workers."""
    with processes.watched() as peaks:
        inner = "print('up', flush=True); held = bytearray(200_000_000); input()"
        outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
        child = subprocess.Popen(
            [sys.executable, "-c", outer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with child:
            assert child.stdout is not None
            assert child.stdin is not None
            assert "up\n" == child.stdout.readline()
            wait_until(lambda: looked(peaks) > 200_000_000, "the peak is not seen")
            assert len(processes.descendants()) >= 2
            child.stdin.close()
    # A session that other tests share may have workers of its own, which hold less.
    assert peaks.python_worker < peaks.any_process
    assert processes.user_seconds() > 0


def test_memory_has_a_unit() -> None:
    """A figure of memory shows the peak."""
    figure = figures.Figure("memory", "what", "-", "MB", figures.bare_python)
    assert "12 MB" == figure.result(Measurement(wall_s=[1.0], peak_rss_bytes=12_345_678))


def test_a_failing_program_is_a_wrong_answer() -> None:
    """Its exit status is told."""
    with pytest.raises(WrongOutputError, match="exit status 3"):
        run_often([sys.executable, "-c", "raise SystemExit(3)"], 1)


def test_output_is_counted_and_its_beginning_kept() -> None:
    """Whatever its size."""
    output, measurement = run_often([sys.executable, "-c", "print('x' * 99999)"], 2)
    assert Output(size=100_000, n_lines=1, head=b"x" * 65_536) == output
    assert 2 == len(measurement.wall_s) == len(measurement.user_s)


def test_directories_are_made_once(tmp_path: Path) -> None:
    """And the one without changes shares the checkpoint's bytes."""
    directories = Directories(tmp_path, SMOKE)
    first = directories.whole().checkpoint.stat()
    again = Directories(tmp_path, SMOKE)
    assert first.st_ino == again.changed().checkpoint.stat().st_ino
    assert [] == list(again.whole().log_dir.glob("*/*.log"))
    assert [] == list(tmp_path.glob("*.part"))


def test_the_oracle_and_the_product_agree(tmp_path: Path) -> None:
    """On every partition of a small cluster with many changes."""
    written = write_cluster(tmp_path / "made", ClusterSpec(topics=3, partitions=4, changes=300))
    source = metashell.open(tmp_path / "made")
    assert written.segment is not None
    files = [written.checkpoint, written.segment]
    for topic in source.ls("/image/topics/byName"):
        place = f"/image/topics/byName/{topic}"
        for partition in range(4):
            assert partition_text(files, topic, partition) == source.cat(f"{place}/{partition}")
