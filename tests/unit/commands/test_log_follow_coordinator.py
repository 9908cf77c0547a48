"""``log --follow`` of a coordinator's log: every record once, as a broker writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kraftgen.batch import Record, encode_batch
from metashell.commands.framework.command import Context
from metashell.commands.framework.run import run_line
from metashell.commands.log import run as log_follow
from metashell.read_settings import READ_DEFAULTS
from metashell.sources.coordinator import open_coordinator
from support.shell import Captured

STEP = Callable[[], object]


def commit(offset: int, group: str = "g", n: int = 1) -> bytes:
    """A batch of commits."""
    key = b"\0\1" + len(group).to_bytes(2, "big") + group.encode() + b"\0\1t" + bytes(4)
    value = b"\0\3" + bytes(8) + b"\xff" * 4 + bytes(2) + bytes(8)
    return encode_batch([Record(key=key, value=value)] * n, base_offset=offset)


def followed(
    directory: Path, line: str, steps: list[STEP], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[int], list[str]]:
    """Offsets that are printed while things happen, then ^C; and what is warned of."""
    left = list(steps)

    def wait(*_: object) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    monkeypatch.setattr(log_follow, "wait_for_news", wait)
    source = open_coordinator(str(directory), READ_DEFAULTS, None, is_file=False)
    assert source is not None
    out, warnings = Captured(), list[str]()
    context = Context(root=source.root, out=out, warn=warnings.append, source=source)
    with suppress(KeyboardInterrupt):
        run_line(context, f"log --json --follow {line}")
    return [json.loads(text)["offset"] for text in "".join(out.parts).splitlines()], warnings


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A partition with three commits in two segments."""
    path = tmp_path / "__consumer_offsets-3"
    path.mkdir()
    (path / f"{0:020d}.log").write_bytes(commit(0, n=2))
    (path / f"{2:020d}.log").write_bytes(commit(2))
    return path


def append(path: Path, data: bytes) -> STEP:
    """A step: the broker writes."""

    def step() -> None:
        with path.open("ab") as file:
            file.write(data)

    return step


def test_what_is_appended_comes_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind what was there: whole batches, also those that were cut off at first."""
    last, batch = directory / f"{2:020d}.log", commit(4)
    steps = [
        append(last, commit(3)),
        append(last, batch[:30]),
        append(last, batch[30:]),
        append(directory / f"{5:020d}.log", commit(5, n=2)),
    ]
    found, warnings = followed(directory, "", steps, monkeypatch)
    assert ([0, 1, 2, 3, 4, 5, 6], []) == (found, warnings)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--tail 1", [2, 3, 4, 5]),
        ("--tail 0", [3, 4, 5]),
        ("--group h", [4]),
        ("--limit 4", [0, 1, 2, 3]),
        ("--offset ..3", [0, 1, 2, 3]),
        ("--offset 4..4", [4]),
    ],
)
def test_what_is_asked_for(
    directory: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: list[int]
) -> None:
    """Conditions hold for what comes, too."""
    last = directory / f"{2:020d}.log"
    steps = [append(last, commit(3)), append(last, commit(4, "h")), append(last, commit(5))]
    found, _ = followed(directory, line, steps, monkeypatch)
    assert expected == found


def test_segments_that_are_cleaned_do_not_come_again(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compaction writes a segment anew, with fewer records."""
    first, last = directory / f"{0:020d}.log", directory / f"{2:020d}.log"
    steps: list[STEP] = [
        lambda: first.write_bytes(commit(1)),
        append(last, commit(3)),
        lambda: first.write_bytes(b""),
        append(last, commit(4)),
    ]
    found, warnings = followed(directory, "", steps, monkeypatch)
    assert ([0, 1, 2, 3, 4], []) == (found, warnings)
