"""Outputs of the commands on many directories, compared with those that were approved.

``METASHELL_UPDATE_SNAPSHOTS=1`` writes those that differ into tests/data/approved anew: one file a
directory, which ``xzcat`` shows. Read ``git diff`` of the texts that it prints before you commit.
"""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
import lzma
import os
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from metashell.commands import all_names, get
from metashell.commands.framework.options import Option
from metashell.errors import MetashellError
from metashell.sources.fleet.source import FleetSource
from metashell.sources.source import Source
from support.approved_lines import LINES
from support.approved_places import PLACES
from support.fixtures import DATA
from support.shell import run_on
from support.snapshots import is_updating
from support.terminals import see

FOLDER: Final = DATA / "approved"
NOW_S: Final = 1_795_500_000.0
HEAD, TAIL, WIDEST = 24, 8, 400
MOST_BYTES: Final = 1_500_000
LONG: Final = 120
"""Characters of the path of the current directory."""
Texts = dict[str, dict[str, str]]


def cases() -> Iterator[Any]:
    """Each directory with each of its groups; `make test` runs a group on one directory."""
    seen = set()
    for place, wanted in PLACES.items():
        for group in wanted.groups:
            marks = [pytest.mark.slow] if group in seen else []
            yield pytest.param(place, group, marks=marks)
            seen.add(group)


CASES: Final = list(cases())


@cache
def approved(place: str) -> Texts:
    """The approved texts of a directory by group and line."""
    return read_texts(place)


def read_texts(place: str) -> Texts:
    """Read them."""
    path = FOLDER / f"{place}.json.xz"
    texts: Texts = json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {}
    return texts


def approve(place: str, group: str, texts: dict[str, str]) -> None:
    """Write the texts of a group."""
    FOLDER.mkdir(exist_ok=True)
    lock = os.open(FOLDER, os.O_RDONLY)  # Other processes write other groups.
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = {**read_texts(place), group: texts}
        kept = {name: kept[name] for name in PLACES[place].groups if name in kept}
        data = json.dumps(kept, indent=0).encode()
        packed = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
        (FOLDER / f"{place}.json.xz").write_bytes(packed)
    finally:
        os.close(lock)


def anywhere(text: str, parent: Path) -> str:
    """A text without the path of this run, nor the room that a column needs for it."""
    if str(parent) not in text:
        return text
    return re.sub(" {3,}", "  ", text.replace(str(parent), "~"))


def shortened(text: str) -> str:
    """Head and tail of a long text with a digest of all."""
    lines = text.split("\n")
    shown = lines
    if len(lines) > HEAD + TAIL + 1:
        shown = [*lines[:HEAD], "…", *lines[-TAIL:]]
    shown = [line if len(line) <= WIDEST else f"{line[:WIDEST]}…" for line in shown]
    if shown == lines:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return "\n".join([*shown, f"{len(lines)} lines, {len(text)} characters, {digest}", ""])


def told(source: Source | FleetSource, line: str, parent: Path) -> str:
    """The status of a line, and what it wrote."""
    at_width = re.match(r"@(\d+) ", line)
    if at_width:
        seen = see(source, line[at_width.end() :], int(at_width[1]))
        status, out, err = seen.status, seen.text, seen.err
    else:
        ran = run_on(source, line)
        status, out, err = ran.status, ran.out, ran.err
    diagnostics = "".join(f"! {said}\n" for said in err)
    out, diagnostics = (shortened(anywhere(text, parent)) for text in (out, diagnostics))
    return f"{out}{diagnostics}= {status}\n"


def outputs(place: str, group: str, parent: Path) -> dict[str, str]:
    """What each line of a group gives; the one text of what can't be opened is why."""
    try:
        opened = PLACES[place].open(parent)
    except MetashellError as error:
        return {"open": f"{type(error).__name__}: {anywhere(str(error), parent)}"}
    with closing(opened):
        return {line: told(opened, line, parent) for line in LINES[group]}


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, at a time that stands still.

    Its path is of one length in every run: lines that hold it wrap alike.
    """
    made = tmp_path / "p".ljust(LONG - len(f"{tmp_path}/"), "-")
    made.mkdir()
    monkeypatch.chdir(made)
    monkeypatch.setattr(time, "time", lambda: NOW_S)
    return made


@pytest.mark.cases(len(CASES))
@pytest.mark.parametrize(("place", "group"), CASES)
def test_outputs_are_those_approved(place: str, group: str, parent: Path) -> None:
    """Each line's status, output and diagnostics."""
    texts = outputs(place, group, parent)
    if is_updating():
        approve(place, group, texts)
        return
    expected = approved(place).get(group, {})
    differing = [
        part
        for line in {**expected, **texts}
        for part in difflib.unified_diff(
            expected.get(line, "").split("\n"),
            texts.get(line, "").split("\n"),
            f"approved: {line}",
            f"now: {line}",
            lineterm="",
        )
    ]
    assert not differing, "\n".join(
        [*differing[:200], "METASHELL_UPDATE_SNAPSHOTS=1 pytest tests/approved approves this"]
    )


def test_nothing_else_is_kept() -> None:
    """Every text belongs to a case, and all of them are small."""
    files = sorted(FOLDER.iterdir())
    assert sorted(f"{place}.json.xz" for place in PLACES) == [file.name for file in files]
    for place, wanted in PLACES.items():
        assert set(wanted.groups) == set(approved(place))
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


UNUSED: Final = {"watch": "waits", "at": "changes the state of a shell"}
"""Commands of whose options no line is run, and why."""


@cache
def words_of(name: str) -> frozenset[str]:
    """All words of the lines of a command."""
    found: set[str] = set()
    for line in (re.sub(r"^@\d+ ", "", line) for lines in LINES.values() for line in lines):
        with suppress(ValueError):  # A line of wrong usage.
            words = shlex.split(line)
            found.update(words[1:] if words[0] == name else ())
    return frozenset(found)


def is_used(name: str, option: Option) -> bool:
    """Whether a line of a command has an option, alone or among others of a letter."""
    for flag in option.flags:
        letters = re.compile(f"-[A-Za-z1]*{re.escape(flag[1:])}[A-Za-z0-9]*")
        for word in words_of(name):
            if word == flag or word.startswith(f"{flag}="):
                return True
            if len(flag) == 2 and name != "find" and letters.fullmatch(word):
                return True
    return False


def test_votes_of_a_file(parent: Path) -> None:
    """A file alone has no files of a node beside it: it is told as a copy without them."""
    with closing(PLACES["segment"].open(parent)) as source:
        assert run_on(source, "fleet --votes -o jsonl").status in (0, 1)


def test_every_option_is_used() -> None:
    """By a line of each command that has one of its own, by any where commands share it."""
    users: dict[Option, list[str]] = {}
    for name in all_names():
        for option in get(name).manual.options:
            users.setdefault(option, []).append(name)
    unused = [
        (name, option.flags)
        for option, names in users.items()
        for name in names[:1]
        if not any(is_used(name, option) for name in names) and name not in UNUSED
    ]
    assert [] == unused
