"""A directory whose log gets shorter, or is written anew, while a session looks at it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import metashell
from kraftgen.files import segment_name
from metashell.commands.framework.command import Context
from metashell.commands.shared.session_place import follow
from metashell.log.changed import list_directory
from metashell.log.splits import plan_splits
from metashell.read_settings import READ_DEFAULTS
from metashell.reduced.log import Reducing, reduce_directory
from metashell.sources.cached import open_cached_source
from metashell.sources.source import Source
from metashell.spark_backend.opening import DelegatedSource
from metashell.spark_backend.session import Engine, SparkSettings
from support.cached import append, keep
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


def read_here(directory: Path) -> Source:
    """A directory whose files are read by this process."""
    return metashell.open(directory, engine="local")


def from_the_cache(directory: Path) -> Source:
    """One of which all is in the cache."""
    assert keep(directory)
    source = open_cached_source(list_directory(str(directory)), READ_DEFAULTS)
    assert source is not None
    return source


def from_the_cache_and_behind(directory: Path) -> Source:
    """One of which the cache has the first batch."""
    path = directory / segment_name(0)
    whole = path.read_bytes()
    path.write_bytes(written((0, 1)))
    assert keep(directory)
    append(path, whole[path.stat().st_size :])
    source = open_cached_source(list_directory(str(directory)), READ_DEFAULTS)
    assert source is not None
    assert source.status().offset is not None
    return source


class FakeEngine(Engine):
    """Reduces as Spark does, without Spark."""

    def __init__(self, directory: Path) -> None:
        super().__init__(SparkSettings(), None, lambda: None)
        self._place = str(directory)

    def run(self, job: Callable[[Any], Any]) -> Any:
        plan = plan_splits(self._place, split_bytes=1)
        how = Reducing.of_plan(plan)
        return reduce_directory(plan, how), how


def by_spark(directory: Path, *, use_cache: bool = True) -> Source:
    """One that Spark reduced."""
    source = DelegatedSource(
        FakeEngine(directory), str(directory), READ_DEFAULTS, use_cache=use_cache
    )
    assert source.status().offset is not None
    return source


OPENERS: tuple[Callable[[Path], Source], ...] = (
    read_here,
    from_the_cache,
    from_the_cache_and_behind,
    by_spark,
    partial(by_spark, use_cache=False),
)
each_kind = pytest.mark.parametrize(
    "open_it", OPENERS, ids=["here", "cache", "cache and behind", "spark", "spark without cache"]
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))


def by_rename(path: Path, data: bytes) -> None:
    """Rename a file over another."""
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").replace(path)


@each_kind
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
    open_it: Callable[[Path], Source],
    write: Callable[[Path, bytes], object],
    now: bytes,
    end: int,
    told: list[str],
    tmp_path: Path,
) -> None:
    """It keeps a state that its log only grew from, and reads what was truncated again."""
    directory = make_directory(tmp_path, (0, OPENED))
    context, warnings = context_on(open_it(directory))
    write(directory / segment_name(0), now)
    for _ in range(2):
        follow(context)
    assert context.source is not None
    assert (end, told) == (context.source.status().offset, warnings)


@each_kind
@pytest.mark.parametrize(
    ("now", "end"),
    [(OPENED + written((3, 2)), 3), (OPENED, 2)],
    ids=["whole", "cut off"],
)
def test_a_torn_tail_is_shown_until_it_is_gone(
    open_it: Callable[[Path], Source], now: bytes, end: int, tmp_path: Path
) -> None:
    """The batch came whole, or the node that starts again cut it off."""
    torn = (OPENED + written((3, 2)))[:-5]
    directory = make_directory(tmp_path, (0, torn))
    context, warnings = context_on(open_it(directory))
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


def test_several_segments(tmp_path: Path) -> None:
    """What goes back behind the last segment is told by the batches of the one before."""
    first, last = written((0, 1), (1, 1)), written((2, 2))
    for name, open_it in enumerate(OPENERS[:2] + OPENERS[3:]):
        parent = tmp_path / str(name)
        parent.mkdir()
        directory = make_directory(parent, (0, first), (2, last))
        context, warnings = context_on(open_it(directory))
        (directory / segment_name(2)).unlink()
        (directory / segment_name(0)).write_bytes(written((0, 1), (1, 3), (2, 3)))
        follow(context)
        assert context.source is not None
        assert 2 == context.source.status().offset
        assert [TOLD.replace("offset 1", "offset 0")] == warnings


def test_the_log_that_was_opened_later(tmp_path: Path) -> None:
    """Of a session on a reduced log it may have had more: what is gone of that is told."""
    directory = make_directory(tmp_path, (0, written((0, 1))))
    context, warnings = context_on(from_the_cache(directory))
    (directory / segment_name(0)).write_bytes(OPENED)
    follow(context)
    assert context.source is not None
    assert 2 == context.source.full_log.status().offset
    (directory / segment_name(0)).write_bytes(written((0, 1), (1, 1)))
    follow(context)
    assert ([TOLD], 1) == (warnings, context.source.status().offset)


@pytest.mark.parametrize("read", ["", "AAAA", "%", 5])
def test_an_entry_that_does_not_tell_what_was_read(read: object, tmp_path: Path) -> None:
    """Nothing is told of what is gone then; what is there is shown."""
    directory = make_directory(tmp_path, (0, OPENED))
    assert keep(directory)
    (path,) = (tmp_path / "cache").rglob("manifest.json")
    manifest = json.loads(path.read_text())
    manifest["files"][0]["facts"]["read"] = read
    path.write_text(json.dumps(manifest))
    source = open_cached_source(list_directory(str(directory)), READ_DEFAULTS)
    assert source is not None
    (directory / segment_name(0)).write_bytes(written((0, 1)))
    context, warnings = context_on(source)
    follow(context)
    assert context.source is not None
    assert ([], 0) == (warnings, context.source.status().offset)
