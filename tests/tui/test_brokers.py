"""The view of brokers: load as bars, registrations, and what a loss would mean."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from textual.widgets import Static

import metashell
from kraftgen.batch import encode_batch
from metashell.commands.brokers import loss_text
from metashell.sources.source import Source
from metashell.tui.session import ExplorerSession
from metashell.tui.view_state import ViewState, ask
from metashell.tui.views.brokers import BrokersView, even_shares, heading
from support.fixtures import DEMO, fixture
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
        assert "s Sort" in driver.screen().splitlines()[-1]
        _, binding, _, tooltip = driver.app.screen.active_bindings["s"]
        assert "left and right choose" in (tooltip or binding.tooltip)

    drive(test, small(), size=(120, 40))


def test_one_partition_is_listed_in_the_singular() -> None:
    """A sentence above the rows says what fails without the broker, as `brokers --without` does."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        view = view_of(driver)
        await driver.press("w")
        await driver.until(lambda: view.opened is not None, "not listed")
        verdict, title = driver.screen().splitlines()[1:3]
        assert verdict == " broker 1 must not stop: 1 more partition offline"
        assert title.startswith("╭─ without 1: 1 partition ─")

    drive(test, small(lambda: racked()[:4] + racked()[6:7]))


def test_a_verdict_is_whole_on_a_narrow_screen() -> None:
    """It goes on in a second line, and the footer has the key."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        await driver.press("down")
        assert " w Without " in driver.screen().splitlines()[-1]
        await driver.press("w")
        await driver.until(lambda: view_of(driver).opened is not None, "not listed")
        verdict = " ".join(line.strip() for line in driver.screen().splitlines()[1:3])
        assert verdict.endswith("2 more partitions offline, 10 more partitions under min ISR")

    drive(test, session_on(DEMO), size=(60, 20))


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
        assert "which directory? 6 shows all of them" in driver.screen()
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
        await driver.until(lambda: "w lists them" in driver.screen(), "not worked out")
        told, *_ = str(driver.view.query_one("#brokers-detail", Static).content).splitlines()
        numbers = [int(n) for n in re.findall(r"(\d+) (?:more )?partition", told)]
        await driver.press("w")
        assert len(column(driver, "topic")) == sum(numbers) > 0

    drive(test, session_on(fixture("real-44-broker-down").directory))


def test_the_registration_stands_below(tmp_path: Path) -> None:
    """Directories and cordoned ones are told where there are any; an empty list is none."""
    ids = [bytes([i]) * 16 for i in (1, 2)]
    values = [
        broker(1, log_dirs=ids, cordoned_log_dirs=ids[:1]),
        broker(2, log_dirs=ids[:1], cordoned_log_dirs=[]),
        broker(3, log_dirs=[], cordoned_log_dirs=None),
    ]
    batches = [encode_batch([value], base_offset=i) for i, value in enumerate(values)]
    directory = make_directory(tmp_path, (0, b"".join(batches)))

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        told = []
        for _ in values:
            told.append(str(view_of(driver).query_one("#brokers-detail", Static).content))
            await driver.press("down")
        assert ["directories" in text for text in told] == [True, True, False]
        assert ["cordoned" in text for text in told] == [True, False, False]
        assert all("release " in text for text in told)

    drive(test, session_on(lambda: metashell.open(directory)))


def test_even_shares() -> None:
    """All is shared by weight; who has none gets none."""
    assert even_shares([6, 2, 1], [1, 1, 0]) == [4.5, 4.5, None]
    assert even_shares([9, 0], [2, 1]) == [6, 3]
    assert even_shares([1, 2], [0, 0]) == [None, None]
    assert even_shares([], []) == []


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ((), "no more partitions fail without broker 7"),
        ((("offline", False, 1),), "broker 7 must not stop: 1 more partition offline"),
        (
            (("under-min-isr", True, 3),),
            "no more partitions fail without broker 7: 3 partitions under min ISR already",
        ),
        (
            (("offline", False, 3), ("offline", True, 1), ("under-min-isr", False, 5)),
            "broker 7 must not stop: 3 more partitions offline, 1 partition offline already, "
            "5 more partitions under min ISR",
        ),
    ],
)
def test_loss(rows: Sequence[tuple[str, bool, int]], text: str) -> None:
    """What would fail without the broker, and what does so already."""
    results = [result for result, _, n in rows for _ in range(n)]
    already = [is_now for _, is_now, n in rows for _ in range(n)]
    table = pa.table(
        {"result": pa.array(results, pa.string()), "already": pa.array(already, pa.bool_())}
    )
    assert loss_text("broker", ["7"], table) == text


_IT_ALONE = "3 partitions wait for it: do not wipe or unregister it"
_ONE_OF_THEM = "3 partitions wait for broker 104: do not wipe or unregister it"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("104", ["broker 104 is down already", _IT_ALONE]),
        ("105", ["broker 105 is down already", "no partition waits for it"]),
        ("104,105", ["brokers 104, 105 are down already", _ONE_OF_THEM]),
        (
            "101,104",
            [
                "brokers 101, 104 must not stop: 1 more partition offline, "
                "3 partitions offline already",
                _ONE_OF_THEM,
            ],
        ),
    ],
)
def test_a_broker_that_is_down_does_not_stop(names: str, told: list[str]) -> None:
    """Its disk may hold the only copies of partitions, so nothing says that it is not needed."""
    with metashell.open(DEMO) as source:
        view_state = ViewState(opened=source, cluster=source)
        (verdict,) = ask(view_state, ["brokers", "-o", "table", "--without", names]).verdicts
    assert [*verdict] == told


def test_many_brokers_are_counted() -> None:
    """A line does not grow with the rack."""
    none = pa.table({"result": pa.array([], pa.string()), "already": pa.array([], pa.bool_())})
    assert loss_text("broker", ["3", "7"], none) == "no more partitions fail without brokers 3, 7"
    racks = [*map(str, range(100))]
    assert loss_text("rack", racks, none) == "no more partitions fail without 100 racks"


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["active", "active"], "2 brokers · 2 active · 6 leaders, 9 replicas · │ even share"),
        (
            ["active", "fenced", "not-registered"],
            "3 brokers · 1 active, 1 fenced, 1 not-registered · │ even: 6 leaders / 1, "
            "9 replicas / 2",
        ),
    ],
)
def test_heading_says_who_shares(states: list[str], expected: str) -> None:
    """Active brokers share the leaders, registered ones the replicas; told where they differ."""
    n = len(states)
    brokers = pa.table(
        {"state": states, "leaders": [6, *[0] * (n - 1)], "replicas": [9, *[0] * (n - 1)]}
    )
    assert expected == heading(brokers)
