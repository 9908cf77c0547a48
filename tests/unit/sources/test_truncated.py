"""A directory whose log gets shorter, or is written anew, while a session looks at it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import metashell
from kraftgen.files import segment_name
from metashell.commands.framework.command import Context
from metashell.commands.framework.session_place import follow
from metashell.sources.source import Source
from support.logs import make_directory, topic_batch
from support.shell import Captured


def written(*records: tuple[int, int]) -> bytes:
    """A batch for each offset and leader epoch."""
    return b"".join(topic_batch(offset, leader_epoch=epoch) for offset, epoch in records)


OPENED = written((0, 1), (1, 1), (2, 2))
TOLD = "metashell: the log was truncated from offset 2, epoch 2, to offset 1, epoch 1"


def context_on(source: Source) -> tuple[Context, list[str]]:
    """A session, and what it warns of."""
    warnings: list[str] = []
    return Context(root=source.root, out=Captured(), warn=warnings.append, source=source), warnings


def by_rename(path: Path, data: bytes) -> None:
    """Rename a file over another."""
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize("write", [Path.write_bytes, by_rename])
@pytest.mark.parametrize(
    ("now", "end", "told"),
    [
        (written((0, 1), (1, 1)), 1, [TOLD]),
        (written((0, 1), (1, 1), (2, 3)), 2, [TOLD]),
        (written((0, 1), (1, 1), (2, 3), (3, 3)), 3, [TOLD]),
        (OPENED + written((3, 2)), 2, []),
        (OPENED, 2, []),
    ],
    ids=["shorter", "same size", "longer", "grown", "same"],
)
def test_a_session_goes_on_with_what_is_there(
    write: Callable[[Path, bytes], object],
    now: bytes,
    end: int,
    told: list[str],
    tmp_path: Path,
) -> None:
    """It keeps a state that its log only grew from, and reads what was truncated again."""
    directory = make_directory(tmp_path, (0, OPENED))
    context, warnings = context_on(metashell.open(directory, engine="local"))
    write(directory / segment_name(0), now)
    for _ in range(2):
        follow(context)
    assert context.source is not None
    assert (end, told) == (context.source.status().offset, warnings)


@pytest.mark.parametrize(
    ("now", "end"),
    [(OPENED + written((3, 2)), 3), (OPENED, 2)],
    ids=["whole", "cut off"],
)
def test_a_torn_tail_is_shown_until_it_is_gone(now: bytes, end: int, tmp_path: Path) -> None:
    """The batch came whole, or the node that starts again cut it off."""
    torn = (OPENED + written((3, 2)))[:-5]
    directory = make_directory(tmp_path, (0, torn))
    context, warnings = context_on(metashell.open(directory, engine="local"))
    assert context.source is not None
    assert ("torn tail",) == context.source.status().notes
    (directory / segment_name(0)).write_bytes(now)
    follow(context)
    status = context.source.status()
    assert (end, (), []) == (status.offset, status.notes, warnings)


def test_an_earlier_state_stays(tmp_path: Path) -> None:
    """Whoever looks at an offset goes on looking at it."""
    directory = make_directory(tmp_path, (0, OPENED))
    context, warnings = context_on(metashell.open(directory, engine="local").at(1))
    before = context.source
    (directory / segment_name(0)).write_bytes(written((0, 1)))
    follow(context)
    assert (before, []) == (context.source, warnings)
