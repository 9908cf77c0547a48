"""Files that the explorer writes: tables and pictures, never over others nor among Kafka's."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from textual.widgets import Input

from metashell.commands.export.destination import ExportPlace
from metashell.commands.framework.command import Context
from metashell.errors import MetashellError
from metashell.sources.opening import open_fleet
from metashell.tui.screens.command import CommandScreen
from metashell.tui.screens.completing import CompletingInput
from metashell.tui.screens.export import FORMATS, ExportScreen, _place, write_content
from metashell.tui.screens.find import FindScreen
from support.fleets import backups
from support.pilot import SAMPLE, Driver, drive, session_on

ROWS = pa.table({"topic": ["a", "[b]x[/]\n\x1b[2J", ""], "partitions": [1, None, 3]})


async def opened(driver: Driver, monkeypatch: pytest.MonkeyPatch, where: Path) -> ExportScreen:
    """The screen, in a directory, for a view with a table."""
    monkeypatch.chdir(where)
    tables = lambda _: [("topics", ROWS), ("other [b]", ROWS.slice(0, 1))]  # noqa: E731
    monkeypatch.setattr(type(driver.view), "tables", tables)
    await driver.press("x")
    screen = driver.app.screen
    assert isinstance(screen, ExportScreen)
    return screen


def test_writes_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The table at hand is written under the name that is made up, which is told."""

    async def test(driver: Driver) -> None:
        await opened(driver, monkeypatch, tmp_path)
        assert driver.one(Input).value == "topics.csv"
        await driver.press("enter")
        with (tmp_path / "topics.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["topic", "partitions"]
        assert rows[2] == ["[b]x[/]\n\x1b[2J", ""]
        assert any("3 rows written" in text for text in driver.told)
        assert not isinstance(driver.app.screen, ExportScreen)

    drive(test)


def test_writes_over_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file that is there stays, until enter is pressed again."""
    file = tmp_path / "topics.csv"
    file.write_text("mine")

    async def test(driver: Driver) -> None:
        screen = await opened(driver, monkeypatch, tmp_path)
        await driver.press("enter")
        assert file.read_text() == "mine"
        assert "exists already" in driver.screen()
        assert driver.app.screen is screen
        await driver.press("enter")
        assert file.read_text().startswith("topic,")

    drive(test)


def test_name_follows_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`tab` takes the next table under its name, and the ending of a name is the format."""

    async def test(driver: Driver) -> None:
        await opened(driver, monkeypatch, tmp_path)
        await driver.press("tab")
        assert driver.one(Input).value == "other-b.csv"
        assert "other [b]: 1 row as" in driver.screen()
        driver.one(Input).value = "mine.jsonl"
        await driver.press("enter")
        assert (tmp_path / "mine.jsonl").read_text().startswith("{")

    drive(test)


def test_refuses_kafkas_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is written where Kafka writes."""
    kafkas = tmp_path / "__cluster_metadata-0"
    kafkas.mkdir()

    async def test(driver: Driver) -> None:
        await opened(driver, monkeypatch, kafkas)
        await driver.press("enter")
        assert "a Kafka directory" in " ".join(driver.screen().split())
        assert not list(kafkas.iterdir())

    drive(test)


def test_export_is_offered_where_it_can_be() -> None:
    """A leaf has no rows, its history has."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName/orders/0")
        await driver.settled()
        assert "Export" not in driver.screen()
        await driver.press("x")
        assert driver.told == ["x (Export) is not available here: ? lists the keys"]
        await driver.press("h")
        assert "Export" in driver.screen()
        await driver.press("x")
        assert isinstance(driver.app.screen, ExportScreen)

    drive(test)


def test_rows_of_a_command_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As they are filtered, under the command's name; the rows are there again behind it."""
    monkeypatch.chdir(tmp_path)

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        line = driver.app.screen
        assert isinstance(line, CommandScreen)
        line.run("topics --columns topic,partitions")
        await driver.settled()
        rows = driver.view
        rows.filter_by("topic-000")
        await driver.settled()
        await driver.press("x")
        assert isinstance(driver.app.screen, ExportScreen)
        assert driver.one(Input).value == "topics.csv"
        await driver.press("enter")
        assert driver.view is rows
        written = (tmp_path / "topics.csv").read_text().splitlines()
        assert written[0] == "topic,partitions"
        assert [line.partition(",")[0] for line in written[1:]] == ["topic-000"]

    drive(test)


def test_what_was_found_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The paths, a row each."""
    monkeypatch.chdir(tmp_path)

    async def test(driver: Driver) -> None:
        await driver.press("f")
        found = driver.app.screen
        assert isinstance(found, FindScreen)
        driver.one(CompletingInput).value = "topic-000"
        await driver.until(lambda: len(found.results.paths) == 2, "nothing is found")
        await driver.settled()
        await driver.press("down", "x")
        assert isinstance(driver.app.screen, ExportScreen)
        await driver.press("enter")
        assert driver.app.screen is found
        written = (tmp_path / "find.csv").read_text().splitlines()
        assert written == ["path", *found.results.paths]

    drive(test)


def test_writes_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where to is asked for first; the made-up name tells what is shown."""
    monkeypatch.chdir(tmp_path)

    async def test(driver: Driver) -> None:
        await driver.press("f2")
        name = f"metashell-test-explorer-{driver.view_state.source.status().offset}.svg"
        assert driver.one(Input).value == name
        assert f"in {tmp_path}" in " ".join(driver.screen().split())
        assert not list(tmp_path.iterdir())
        await driver.press("enter")
        assert [path.name for path in tmp_path.iterdir()] == [name]
        text = (tmp_path / name).read_text()
        assert text.startswith("<svg")
        assert "Explorer" in text

    drive(test)


def _read(path: Path, form: str) -> Any:
    if form == "parquet":
        return pa.parquet.read_table(path).to_pylist()
    if form == "arrow":
        return pa.ipc.open_file(path).read_all().to_pylist()
    return path.read_text()


@pytest.mark.cases(3)
@pytest.mark.parametrize("form", FORMATS)
def test_formats(form: str, tmp_path: Path) -> None:
    """Each format holds every row; JSON is text in those of columns."""
    found: list[ExportPlace] = []

    async def test(driver: Driver) -> None:
        found.append(_place(driver.view_state, lambda: False))

    drive(test)
    table = pa.table({"n": [1, 2], "value": pa.array(['{"a": 1}', None], pa.json_(pa.utf8()))})
    path = tmp_path / f"rows.{form}"
    write_content(found[0], table, form, str(path))
    rows = _read(path, form)
    if form in ("parquet", "arrow"):
        assert rows == [{"n": 1, "value": '{"a": 1}'}, {"n": 2, "value": None}]
    elif form == "jsonl":
        assert json.loads(rows.splitlines()[0]) == {"n": 1, "value": {"a": 1}}
    else:
        assert "1" in rows
        assert "a" in rows


def test_nothing_is_left_of_what_is_cancelled(tmp_path: Path) -> None:
    """An export that is not wanted any more leaves no file."""
    found: list[Context] = []

    async def test(driver: Driver) -> None:
        found.append(_place(driver.view_state, lambda: True).context)

    drive(test)
    place = ExportPlace(found[0], False)
    for form in FORMATS:
        with pytest.raises(KeyboardInterrupt):
            write_content(place, ROWS, form, str(tmp_path / "x"))
    assert not list(tmp_path.iterdir())
    with pytest.raises(MetashellError, match="odt"):
        write_content(place, ROWS, "odt", str(tmp_path / "x"))
    assert SAMPLE.is_dir()


def test_odd_names_of_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`-` is a file, and what can't be one is refused in a sentence."""
    monkeypatch.chdir(tmp_path)

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName")
        await driver.settled()
        for name in ("a\x00b", "\ud800"):
            await driver.press("x")
            driver.one(Input).value = name
            await driver.press("enter")
            assert "can't be the name of a file" in driver.screen()
            await driver.press("escape")
        await driver.press("x")
        driver.one(Input).value = "-"
        await driver.press("enter")
        assert (tmp_path / "-").stat().st_size > 100

    drive(test)


def test_picture_of_a_fleet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no cluster is at hand, and none can be read, the rules are those of all."""
    paths = [str(path) for path in sorted(backups(tmp_path / "fleet").iterdir())]
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)

    async def test(driver: Driver) -> None:
        await driver.press("f2", "enter")
        assert [path.suffix for path in there.iterdir()] == [".svg"]
        monkeypatch.chdir(paths[0])
        await driver.press("f2", "enter")
        assert "a Kafka directory" in " ".join(driver.screen().split())

    drive(test, session_on(lambda: open_fleet(paths)))  # type: ignore[arg-type,return-value]
