"""Lines of several commands, files behind ``>``, pipes, and scripts inside of scripts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import metashell
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.sources.source import Source
from support.fixtures import SAMPLE
from support.shell import Captured, Ran, run_on


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """A copy of the bundled directory, seen from another directory."""
    shutil.copytree(SAMPLE, tmp_path / "kafka")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    source = metashell.open(tmp_path / "kafka")
    yield source
    source.close()


def run(source: Source, line: str, *, runs_programs: bool = True) -> Ran:
    """Run a line as the shell does."""
    out, warned = Captured(), list[str]()
    context = Context(
        source.root,
        out,
        warned.append,
        source=source,
        interactive=True,
        runs_programs=runs_programs,
    )
    status = run_line(context, line)
    return Ran(status, "".join(out.parts), tuple(warned))


def test_several_commands(sample: Source) -> None:
    """The status is that of the last one that ran, and decides what && and || do."""
    assert Ran(0, "/image\n", ()) == run(sample, "cd /image; pwd")
    assert Ran(0, "/\n/\n", ()) == run(sample, "pwd && pwd || pwd")
    ran = run(sample, "cat /nope && pwd || cd /image; pwd")
    assert (0, "/image\n") == (ran.status, ran.out)
    assert 1 == run(sample, "pwd; cat /nope").status
    assert 3 == run(sample, "exit 3; pwd").status
    assert "" == run(sample, "exit; pwd").out


def test_nothing_runs_of_a_line_that_is_wrong(sample: Source) -> None:
    """A mistake at its end is found before its beginning runs."""
    ran = run(sample, "pwd; ls |")
    assert (2, "") == (ran.status, ran.out)
    assert ("no program after |", "  hint: such as `ls | less`") == ran.err


def test_into_a_file(sample: Source) -> None:
    """It gets what a pipe gets; >> keeps what is there."""
    assert Ran(0, "", ()) == run(sample, "ls /image/cluster > 'a file'")
    assert run_on(sample, "ls /image/cluster").out == Path("a file").read_text()
    assert Ran(0, "", ()) == run(sample, "pwd >> 'a file'")
    assert Path("a file").read_text().endswith("\n/\n")
    assert 0 == run(sample, "pwd>'a file'").status
    assert "/\n" == Path("a file").read_text()
    assert 1 == run(sample, "cat /nope > empty").status
    assert "" == Path("empty").read_text()


def test_the_name_of_a_file_chooses_the_form(sample: Source) -> None:
    """Of rows, unless another form is asked for; also of a command with a text of its own."""
    for line, form in (("topics", "csv"), ("topics", "json"), ("health", "tsv")):
        run(sample, f"{line} > a.{form}")
        assert run_on(sample, f"{line} -o {form}").out == Path(f"a.{form}").read_text()
    run(sample, "topics -o yaml > a.csv")
    assert run_on(sample, "topics -o yaml").out == Path("a.csv").read_text()
    run(sample, "pwd > a.csv")
    assert "/\n" == Path("a.csv").read_text()


def test_a_refused_command_keeps_the_file(sample: Source) -> None:
    """A typing mistake costs no file."""
    Path("kept").write_text("kept")
    assert 2 == run(sample, "lss > kept").status
    assert 2 == run(sample, "ls --nope > kept").status
    assert "kept" == Path("kept").read_text()


def test_never_into_a_directory_of_kafkas(sample: Source, tmp_path: Path) -> None:
    """Not by a link or a detour either, and nothing of it runs."""
    kafka = tmp_path / "kafka"
    before = sorted(map(str, kafka.rglob("*")))
    log = next(kafka.rglob("*.log"))
    bytes_before = log.read_bytes()
    os.symlink(kafka, "link")
    os.symlink(log, "log")
    for target in (f"{kafka}/new", "link/new", "../kafka/new", "log", str(log)):
        ran = run(sample, f"pwd > {target}")
        assert (1, "") == (ran.status, ran.out)
        assert "a Kafka directory" in ran.err[0]
    assert before == sorted(map(str, kafka.rglob("*")))
    assert bytes_before == log.read_bytes()


def test_files_that_can_not_be_written(sample: Source) -> None:
    """It is said why."""
    assert ("no/file", 1) == (
        run(sample, "pwd > no/file").err[1][-7:],
        run(sample, "pwd > no/a").status,
    )
    Path("directory").mkdir()
    assert "directory: Is a directory" == run(sample, "pwd > directory").err[0]
    if os.path.exists("/dev/full"):
        ran = run(sample, "ls /image > /dev/full")
        assert (1, ("metashell: /dev/full: No space left on device",)) == (ran.status, ran.err)


def test_secrets_in_files(sample: Source) -> None:
    """They are redacted as everywhere; with --show-secrets the file is the owner's alone."""
    run(sample, "cat /image/scram/*/* > scram")
    assert "[redacted]" in Path("scram").read_text()
    shown = metashell.open(SAMPLE, show_secrets=True)
    assert 0 == run(shown, "cat /image/scram/*/* > shown").status
    assert "[redacted]" not in Path("shown").read_text()
    assert 0o600 == Path("shown").stat().st_mode & 0o777
    shown.close()


def test_pipes(sample: Source, capfd: pytest.CaptureFixture[str]) -> None:
    """Programs get the output where the terminal is ours to hand on, and are refused elsewhere."""
    assert 0 == run(sample, "ls /image/cluster | tr a-z A-Z").status
    assert "BROKERS\nCONTROLLERS\n" == capfd.readouterr().out
    assert 0 == run(sample, "!echo ${X:-hi}").status
    assert "hi\n" == capfd.readouterr().out
    assert 3 == run(sample, "pwd | exit 3").status
    ran = run(sample, "ls | wc; partitions --offline")
    assert 127 == ran.status
    assert "  hint: the system shell runs everything after |, also partitions" == ran.err[-1]
    for line in ("ls | wc", "!ls"):
        refused = run(sample, line, runs_programs=False)
        assert (2, "") == (refused.status, refused.out)
        assert "system programs run only in the shell and in scripts" in refused.err[0]


def test_source(sample: Source) -> None:
    """A script runs as if typed: what it changes stays, and a failure ends it with its place."""
    Path("s").write_text("# look\ncd \\\n /image\npwd; ls cluster > in-script\n\ncat nope\npwd\n")
    ran = run(sample, "source s; pwd")
    assert "/image\n/image\n" == ran.out
    assert ("s:6: cat: nope: No such file or directory",) == ran.err
    assert "brokers\ncontrollers\n" == Path("in-script").read_text()
    Path("e").write_text("exit 4\npwd\n")
    assert (4, "") == ((ran := run(sample, ". e; pwd")).status, ran.out)
    Path("me").write_text("source me\n")
    ran = run(sample, "source me")
    assert 1 == ran.status
    assert "more than 10 scripts" in ran.err[0]
    assert 2 == run(sample, "source nope").status


def test_names_of_other_shells(sample: Source) -> None:
    """``ll``, ``?``, ``cls`` and options that people type by habit."""
    assert run_on(sample, "ls -l /image").out == run(sample, "ll /image").out
    assert run_on(sample, "help").out == run(sample, "?").out
    assert run_on(sample, "ls /image").out == run(sample, "ls -ahS /image").out
    assert Ran(0, "", ()) == run(sample, "cls")
