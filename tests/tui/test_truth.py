"""What the explorer shows is what the one-shot commands say, at the same offset."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import metashell
from metashell.commands.rows.output import WRITERS as ROW_WRITERS
from metashell.sources.source import Source
from metashell.tui.node.node_detail import DetailMode
from metashell.tui.node.pane import NodePane
from metashell.tui.views.explorer import ExplorerView
from metashell.tui.views.records import RecordsView
from support.fixtures import fixture
from support.pilot import SAMPLE, WIDE, Driver, drive, session_on
from support.shell import run_on

_LEARNT = ("created_", "changed_", "history_", "registered_", "set_", "since_")
"""How columns begin that tell where something was made."""
N_EACH = 4
"""Topics, brokers and so on that are looked at."""
LEAVES = ("/image/provenance", "/image/features/metadataVersion", "/log/directory/epoch")
TABLES = (
    ("/image/topics/byName", "topics"),
    ("/image/cluster", "nodes"),
    ("/image/cluster/brokers", "brokers"),
    ("/image/configs", "config"),
    ("/image/acls", "acls"),
)
PLACES = [("sample", 3398), ("sample", None), ("real-44-broker-down", None), ("real-44-admin", 400)]


def opened(name: str, offset: int | None) -> Source:
    """A source, apart from the one that is explored."""
    source = metashell.open(directory(name))
    return source if offset is None else source.at(offset)


def directory(name: str) -> Path:
    """Where it is."""
    return SAMPLE if name == "sample" else fixture(name).directory


def said(source: Source, line: str) -> str:
    """What a command writes in a pipe."""
    ran = run_on(source, line)
    assert ran.status == 0, (line, ran.err)
    return ran.out


def as_json(table: pa.Table) -> list[dict[str, object]]:
    """Rows as commands write them."""
    rows: list[dict[str, object]] = json.loads("".join(ROW_WRITERS["json"](table)))
    return rows


def known_of(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Rows without what depends on the checkpoint that a state was made from.

    Who has looked at the whole log before knows more of how nodes came about.
    """
    return [
        {key: value for key, value in row.items() if not key.startswith(_LEARNT)} for row in rows
    ]


async def pane_at(driver: Driver, path: str, mode: DetailMode) -> NodePane:
    """Go to a node, and look at it in a way."""
    driver.app.go(path)
    await driver.settled()
    view = driver.view
    assert isinstance(view, ExplorerView)
    view.pane.look(mode)
    await driver.settled()
    assert (view.pane.shown_path, view.pane.mode) == (path, mode)
    return view.pane


def leaves(source: Source) -> list[str]:
    """Some leaves of each kind."""
    found = [path for path in LEAVES if run_on(source, f"stat {path}").status == 0]
    for parent, inner in (
        ("/image/topics/byName", "/0"),
        ("/image/topics/byName", "/id"),
        ("/image/cluster/brokers", ""),
    ):
        found += [f"{parent}/{name}{inner}" for name in source.ls(parent)[:N_EACH]]
    return found


@pytest.mark.cases(1)
@pytest.mark.parametrize(("name", "offset"), PLACES)
def test_nodes(name: str, offset: int | None) -> None:
    """Kafka's text, the value and the history of leaves."""
    source = opened(name, offset)

    async def test(driver: Driver) -> None:
        if offset is not None:
            driver.app.travel(offset)
            await driver.settled()
        paths = leaves(source)
        assert len(paths) > N_EACH
        for path in paths:
            pane = await pane_at(driver, path, DetailMode.TEXT)
            found = pane.copyable()
            assert found is not None
            assert found[1].rstrip("\n") == said(source, f"cat {path}").rstrip("\n"), path
            assert source.find(path)
        for path in [p for p in paths if p.startswith("/image")][::3]:
            pane = await pane_at(driver, path, DetailMode.HISTORY)
            (_, table), *_ = pane.tables()
            newest = source.newest
            rows = json.loads(said(newest, f"changes -o json --columns all {path}"))
            # What a checkpoint holds has no offset.
            assert Counter(table["offset"].to_pylist()) == Counter(row["offset"] for row in rows)

    drive(test, session_on(directory(name)), size=WIDE)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("name", "offset"), PLACES)
def test_tables(name: str, offset: int | None) -> None:
    """Directories that a command describes."""
    source = opened(name, offset)

    async def test(driver: Driver) -> None:
        if offset is not None:
            driver.app.travel(offset)
            await driver.settled()
        topics = [f"/image/topics/byName/{topic}" for topic in source.ls("/image/topics/byName")]
        tables = [*TABLES, *((path, f"partitions {path[21:]}") for path in topics[:N_EACH])]
        for path, line in tables:
            pane = await pane_at(driver, path, DetailMode.TABLE)
            look = pane._detail
            assert look is not None
            assert look.table is not None
            expected = json.loads(said(source, f"{line} -o json --columns all"))
            shown = known_of(as_json(look.table))
            for row, other in zip(shown, known_of(expected), strict=True):
                assert {k: (v, other[k]) for k, v in row.items() if v != other[k]} == {}, path

    drive(test, session_on(directory(name)), size=WIDE)


def test_records() -> None:
    """The details of a record are the line of `log`."""
    source = opened("sample", None)

    async def test(driver: Driver) -> None:
        await driver.look("records")
        view = driver.view
        assert isinstance(view, RecordsView)
        for keys in (["end"], ["up"], ["pageup"], ["home"], ["down", "down"]):
            await driver.press(*keys)
            detail = view.detail
            assert detail is not None
            line = said(source, f"log --json --all --offset {detail.offset}")
            assert detail.json.strip() == line.strip()

    drive(test, session_on(), size=WIDE)
