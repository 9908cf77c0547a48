"""The pager and the editor in front of the explorer."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metashell.tui.screens import export as outside
from support.pilot import Driver, drive


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, empty; and a directory of programs beside it."""
    (tmp_path / "bin").mkdir()
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("VISUAL", raising=False)
    return directory


def install(scratch: Path, name: str, body: str) -> None:
    """Install a program."""
    program = scratch.parent / "bin" / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


@contextmanager
def suspended() -> Iterator[None]:
    """Stand in for a terminal that can be given away."""
    yield


def shown_in(
    monkeypatch: pytest.MonkeyPatch, program: str, *, can_suspend: bool = True
) -> list[str]:
    """Show a text in a program; returns what the user is told."""
    told: list[str] = []

    async def test(driver: Driver) -> None:
        if can_suspend:
            monkeypatch.setattr(driver.app, "suspend", suspended)
        outside.show_in(driver.app, program, "value", "one\x1b[31m\ntwo")
        await driver.settled()
        told.extend(driver.told)

    drive(test)
    return told


def test_pager(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pager gets a private file with the escaped text, which is gone afterwards."""
    seen = scratch.parent / "seen"
    install(scratch, "mine", f'stat -c %a "$2" >{seen}; cat "$2" >>{seen}; echo "$LESS" >>{seen}')
    monkeypatch.setenv("PAGER", "mine -x")
    monkeypatch.delenv("LESS", raising=False)
    assert [] == shown_in(monkeypatch, "pager")
    assert ["600", r"one\x1b[31m", "two", "FRX -+F"] == seen.read_text().splitlines()
    assert [] == list(scratch.iterdir())


def test_editor(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VISUAL is run; that it fails is told."""
    install(scratch, "mine", "exit 3")
    monkeypatch.setenv("VISUAL", "mine")
    assert ["mine ended with status 3"] == shown_in(monkeypatch, "editor")
    assert [] == list(scratch.iterdir())


@pytest.mark.parametrize(("name", "told"), [("INT", []), ("TERM", ["mine was ended by SIGTERM"])])
def test_signals(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: list[str]
) -> None:
    """A signal is named; of ^C, which is the user's own, nothing is told."""
    install(scratch, "mine", f"kill -{name} $$")
    monkeypatch.setenv("PAGER", "mine")
    assert told == shown_in(monkeypatch, "pager")


def test_no_editor(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is not there is told of."""
    monkeypatch.setenv("EDITOR", "absent")
    assert ["no editor: set VISUAL or EDITOR to one that is installed"] == shown_in(
        monkeypatch, "editor"
    )


def test_terminal_that_cannot_be_given_away(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program can't be suspended, that is told and nothing stays behind."""
    install(scratch, "mine", "exit 0")
    monkeypatch.setenv("PAGER", "mine")
    (told,) = shown_in(monkeypatch, "pager", can_suspend=False)
    assert "this terminal can't run another program" in told
    assert [] == list(scratch.iterdir())


@pytest.mark.parametrize("name", ["meta.properties", "__cluster_metadata-0"])
def test_never_in_a_directory_of_kafka(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Where the temporary directory is one of Kafka's, nothing is written."""
    if name == "meta.properties":
        (scratch / name).write_text("")
        directory = scratch
    else:
        directory = scratch / name
        directory.mkdir()
    before = sorted(directory.rglob("*"))
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    install(scratch, "mine", "exit 0")
    monkeypatch.setenv("PAGER", "mine")
    (told,) = shown_in(monkeypatch, "pager")
    assert "set TMPDIR" in told
    assert before == sorted(directory.rglob("*"))


def test_private_file(scratch: Path) -> None:
    """Any text can be written, and only the user can read it."""
    path = outside.write_copy("\udc80漢")
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert r"\udc80漢" + "\n" == path.read_text(encoding="utf-8")
