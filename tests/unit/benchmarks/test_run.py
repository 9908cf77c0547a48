"""The benchmarks: every figure can be measured, and a wrong answer is noticed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import figures
import metashell
import run
from directories import SMOKE, Directories
from kraftgen.cluster import ClusterSpec, write_cluster
from measure import Measurement, Output, WrongOutputError, run_often
from oracle import partition_text

DOCS = Path(__file__).parents[3] / "docs" / "benchmarks.md"


def test_names_are_distinct() -> None:
    """A figure is chosen by its name."""
    names = [figure.name for figure in figures.FIGURES]
    assert sorted(set(names)) == sorted(names)


def test_every_figure_is_documented() -> None:
    """docs/benchmarks.md has a row for each, and no other."""
    rows = re.findall(r"^\| `([a-z-]+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
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


@pytest.mark.slow
def test_everything_is_right_at_a_tiny_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run that `make bench-smoke` does."""
    assert 0 == run.main(["--smoke", "--json", "--directory", str(tmp_path)])
    report = json.loads(capsys.readouterr().out)
    assert [f.name for f in figures.FIGURES] == [f["name"] for f in report["figures"]]
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
