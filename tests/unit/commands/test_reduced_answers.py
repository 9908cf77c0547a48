"""What is asked of a reduced log, or of what the cache keeps of it, is answered as of the log."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from random import Random

import pytest

import metashell
from metashell.log.changed import list_directory
from metashell.log.splits import Plan, plan_splits
from metashell.read_settings import ReadSettings
from metashell.records.records import Records
from metashell.reduced.table import FileFacts, records_of
from metashell.sources.cached import open_cached_source
from metashell.sources.reduced import ReducedSource
from metashell.sources.source import Source
from support.cached import HIDDEN, keep
from support.fixtures import fixture
from support.logs import record
from support.questions import ROWS, SQL, TABLES, WALKS
from support.reduced import facts_of, reduced_tables
from support.shell import run_on
from support.small_cluster import broker, cluster, config

DIRECTORIES = (
    "all-records-findable-dir",
    "quota-defaults",
    "real-40-static",
    "real-44-broker-down",
    "real-44-trimmed",
)
"""With records of every type, settings of many kinds, a quorum of each sort, and lost records."""


class Cut:
    """A log cut at random into stretches, some of them reduced together.

    Args:
        whole: The log's source.
        plan: The directory's files.
    """

    def __init__(self, whole: Source, plan: Plan) -> None:
        self.plan, self.registry = plan, whole.registry
        self.files: list[FileFacts] = facts_of(whole.log.loaded)
        self._whole = whole

    @cached_property
    def records(self) -> Records:
        """What is left."""
        loaded = self._whole.log.loaded
        tables = reduced_tables(loaded, self.registry, Random(7), 3, HIDDEN)
        return records_of(tables, self.files, self.registry)


def reduced(place: str) -> Source:
    """The source of a log that was reduced elsewhere."""
    cut = Cut(metashell.open(place, engine="local"), plan_splits(place))
    return ReducedSource(
        cut.plan,
        lambda: cut,
        ReadSettings(),
        directory=place,
        open_full_log=lambda: metashell.open(place, engine="local"),
    )


def kept(place: str) -> Source:
    """The source of what the cache keeps."""
    assert keep(place)
    source = open_cached_source(list_directory(place), ReadSettings())
    assert isinstance(source, ReducedSource)
    return source


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.slow
@pytest.mark.cases(1)
@pytest.mark.parametrize("name", DIRECTORIES)
def test_answers_are_those_of_the_log(name: str) -> None:
    """Rows, walks, exports and SQL, each with what it says on the side and its status."""
    place = str(fixture(name).input)
    whole, others = metashell.open(place, engine="local"), (reduced(place), kept(place))
    for line in (*ROWS, *WALKS, *TABLES, *SQL):
        wanted = run_on(whole, line)
        for source in others:
            assert wanted == run_on(source, line), line


@pytest.mark.parametrize("how", [reduced, kept])
def test_each_value_of_min_isr_counts(how: Callable[[str], Source]) -> None:
    """A partition with one replica is under min ISR since the default rose first, to 3."""
    values = [config(4, "", "min.insync.replicas", value) for value in ("1", "3", "2", "2", "4")]
    topic = record("TopicRecord", name="orders", topic_id=bytes(15) + b"1")
    one = record("PartitionRecord", topic_id=bytes(15) + b"1", replicas=[1], isr=[1], leader=1)
    with cluster(broker(1), topic, one, *values) as source:
        line = "partitions --under-min-isr --columns since_offset -o csv"
        assert run_on(source, line).out == "since_offset\n4\n"
        place = source.path
        assert run_on(how(place), line).out == "since_offset\n4\n"


@pytest.mark.long
@pytest.mark.parametrize("how", [reduced, kept])
def test_what_needs_no_log_opens_none(how: Callable[[str], Source]) -> None:
    """Bytes of records are all that only the log has."""
    source = how(str(fixture("real-44-broker-down").input))
    needs = {"topics -o json", "topics --config cleanup.policy=compact -o json"}
    for line in ROWS:
        if line not in needs and "--history" not in line:
            assert run_on(source, line).status in (0, 1), line
    assert "full_log" not in source.__dict__
    assert run_on(source, "topics -o json").out
    assert "full_log" in source.__dict__
