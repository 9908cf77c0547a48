"""The view of brokers: load as bars, registrations, and what a loss would mean."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import metashell
from kraftgen.batch import encode_batch
from metashell.sources.source import Source
from metashell.tui.session import ExplorerSession
from metashell.tui.view_state import view_state_of
from metashell.tui.views.broker_text import about_broker, load_of
from metashell.tui.views.brokers import BrokersView
from support.fixtures import fixture
from support.fleets import backups
from support.logs import make_directory, record
from support.pilot import Driver, drive, session_on
from support.small_cluster import TIME, broker

HOSTILE = "[bold]r[/]\x1b[31m\n\u202e"


def view_of(driver: Driver) -> BrokersView:
    """The view, which is seen."""
    view = driver.view
    assert isinstance(view, BrokersView)
    return view


def column(driver: Driver, name: str) -> list[object]:
    """A column of the table that is seen, in the order shown."""
    shown = view_of(driver).table.shown
    assert shown is not None
    found: list[object] = shown[name].to_pylist()
    return found


def partition(i: int, topic: bytes, *replicas: int) -> bytes:
    """A partition, led by its first replica."""
    return record(
        "PartitionRecord",
        partition_id=i,
        topic_id=topic,
        replicas=list(replicas),
        isr=list(replicas),
        leader=replicas[0],
    )


def racked() -> list[bytes]:
    """Three brokers in two racks, one name of which means harm, and five partitions."""
    topic = bytes([7]) * 16
    return [
        broker(1, rack="east"),
        broker(2, rack="east"),
        broker(3, rack=HOSTILE),
        record("TopicRecord", name="or ders", topic_id=topic),
        partition(0, topic, 1, 2),
        partition(1, topic, 1, 3),
        partition(2, topic, 1),
        partition(3, topic, 2, 3),
        partition(4, topic, 1, 9),
    ]


def small(values: Callable[[], Sequence[bytes]] = racked) -> ExplorerSession:
    """A session on a small log, a record an offset."""

    def open_it() -> Source:
        batches = [
            encode_batch([value], base_offset=i, timestamp=TIME) for i, value in enumerate(values())
        ]
        parent = Path(tempfile.mkdtemp())
        return metashell.open(make_directory(parent, (0, b"".join(batches))))

    return session_on(open_it)


def test_says_how_a_column_is_sorted_by() -> None:
    """The key bar says that `s` sorts by a column, and its tooltip and help which one that is."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        assert "s Sort by column" in driver.screen().splitlines()[-1]
        _, binding, _, tooltip = driver.app.screen.active_bindings["s"]
        assert "left and right choose" in (tooltip or binding.tooltip)
        assert "`←` `→` choose a column" in view_of(driver).table.HELP

    drive(test, small(), size=(120, 40))


def test_one_partition_is_listed_in_the_singular() -> None:
    """The title counts what fails."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        view = view_of(driver)
        await driver.press("w")
        await driver.until(lambda: view.listed is not None, "not listed")
        title = driver.screen().splitlines()[1]
        assert " without broker 1: 1 more partition offline or under min ISR" == title

    drive(test, small(lambda: racked()[:4] + racked()[6:7]))


def test_sorts_by_the_number_of_a_bar() -> None:
    """A bar stands for its number, which is what is exported too."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        await driver.press("down", "right", "right", "right", "right", "s")
        assert view_of(driver).table.sorted_by == ("leaders", True)
        assert column(driver, "broker") == [1, 2, 3, 9]
        await driver.press("s")
        assert column(driver, "leaders") == [0, 0, 1, 4]
        row = view_of(driver).table.row
        assert row is not None
        assert row["broker"] == 2
        (name, taken), *_ = view_of(driver).tables()
        assert name == "brokers"
        assert not [n for n in taken.column_names if n.endswith("_bar")]
        assert taken["leaders"].to_pylist() == [0, 0, 1, 4]

    drive(test, small())


def test_brokers_of_a_fleets_cluster(tmp_path: Path) -> None:
    """Outside of all clusters there is nothing to count; inside there are its brokers alone.

    Who comes back to a cluster is among them again.
    """
    paths = [str(path) for path in sorted(backups(tmp_path / "fleet").iterdir())]

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        assert "go into one of /clusters" in driver.screen()
        for place in ("/clusters/controller-2", "/", "/clusters/controller-2"):
            driver.app.moved_to(place)
            await driver.settled()
        assert column(driver, "broker") == [101, 102]
        await driver.press("enter")
        assert driver.app.path == "/clusters/controller-2/image/cluster/brokers/101"

    from metashell.sources.opening import open_fleet

    drive(test, session_on(lambda: open_fleet(paths)))  # type: ignore[arg-type,return-value]


def test_of_a_real_cluster_with_a_broker_down() -> None:
    """What the loss of another broker would take is counted as the command counts it."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        view = view_of(driver)
        await driver.until(lambda: view.loss is not None, "not worked out")
        assert view.loss is not None
        await driver.press("w")
        assert len(column(driver, "topic")) == view.loss.offline + view.loss.under > 0

    drive(test, session_on(fixture("real-44-broker-down").directory))


def test_cordoned_directories_are_named_where_there_are_any(tmp_path: Path) -> None:
    """An empty list is no directory, nor is one that was not told; nothing else is left blank."""
    ids = [bytes([i]) * 16 for i in (1, 2)]
    values = [
        broker(1, log_dirs=ids, cordoned_log_dirs=ids[:1]),
        broker(2, log_dirs=ids[:1], cordoned_log_dirs=[]),
        broker(3, log_dirs=[], cordoned_log_dirs=None),
    ]
    batches = [encode_batch([value], base_offset=i) for i, value in enumerate(values)]
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))
    load = load_of(view_state_of(source, "/"), lambda: False)
    one, two = load.nodes["directories"][0].as_py()
    told = [about_broker(load, i) for i in (1, 2, 3)]
    assert f"directories {one}, {two} · cordoned {one}" in told[0]
    assert f"directories {one}" in told[1]
    assert "directories -" in told[2]
    assert not [line for lines in told for line in lines if line.endswith(" ")]
