"""What the view of a fleet says, and watching it be computed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from metashell.commands.fleet.answer import rows_table
from metashell.commands.rows.cell_colours import CellColour, colours_of
from metashell.sources.fleet.member import FleetRow
from metashell.sources.opening import open_fleet
from metashell.tui.views.fleet import behind, differences, fleet_table, heading, watched
from support.fleets import backups


def verified(**verdicts: str) -> pa.Table:
    """Rows of ``fleet --verify``."""
    n = len(verdicts)
    nothing = {name: pa.nulls(n, pa.string()) for name in ("checksum", "error")}
    numbers = ("offset", "diverged_at", "epoch", "other_epoch")
    nothing |= {name: pa.nulls(n, pa.int64()) for name in numbers}
    return pa.table({"cluster": [*verdicts], "verdict": [*verdicts.values()], **nothing})


def test_differences() -> None:
    """Only what more than half have is usual; who says nothing is not unlike the others."""
    assert differences(["a", "a", "b", None]) == [False, False, True, False]
    assert differences(["a", "b"]) == [False, False]
    assert differences([None, None]) == [False, False]
    assert differences([]) == []


def test_behind() -> None:
    """Only copies of one cluster are compared, and a later epoch goes before a longer log."""
    ends = [("x", 2, 7), ("x", 2, 5), ("x", 1, 9), ("x", None, None), ("y", 1, 3), (None, 1, 3)]
    rows: list[FleetRow] = [
        {"name": str(n), "clusterId": cluster, "logEpoch": epoch, "logEndOffset": end}
        for n, (cluster, epoch, end) in enumerate(ends)
    ]
    assert behind(rows_table(rows)) == [0, 2, None, None, None, None]


def test_rows_come_one_by_one(tmp_path: Path) -> None:
    """A fleet that is watched tells of bytes and rows, and answers what it always does."""
    fleet = open_fleet([str(path) for path in sorted(backups(tmp_path / "fleet").iterdir())])
    told: list[tuple[int, int]] = []
    came: list[FleetRow] = []

    def take(rows: Sequence[FleetRow]) -> None:
        came.extend(rows)

    watching = watched(fleet, lambda done, whole: told.append((done, whole)), take)
    assert watching.directory_rows() == fleet.directory_rows()
    assert len(told) == 3
    assert told[-1][0] == told[-1][1]
    assert fleet.progress is None
    assert {row["name"] for row in came} <= set(fleet.members)


def test_states_in_words() -> None:
    """Each directory says the worst of it, the worst comes first, and what it has unlike others."""
    usual: FleetRow = {"clusterId": "x", "metadataVersion": "4.0", "error": None, "faults": 0}
    rows: list[FleetRow] = [
        {"name": "a", **usual},
        {"name": "b", **usual, "faults": 2},
        {"name": "c", "clusterId": "x", "metadataVersion": "3.9", "error": "no log there"},
        {"name": "d", "clusterId": "x", "error": None},
        {"name": "e", **usual, "offline": 3, "faults": 1},
        {"name": "f", **usual, "offline": 234, "partitions": 234, "fenced": 3},
        {"name": "g", **usual, "underReplicated": 1, "fenced": 1},
        {"name": "h", **usual, "fenced": 1},
        {"name": "i", **usual, "underMinIsr": 1},
    ]
    table = fleet_table(rows_table(rows), {"d"}, verified(a="equal"))
    assert ["c", "f", "e", "b", "i", "g", "h", "a", "d"] == table["cluster"].to_pylist()
    assert [
        "unreadable",
        "offline-partitions",
        "offline-partitions",
        "faults",
        "under-min-isr",
        "under-replicated",
        "fenced-broker",
        "ok",
        "not read yet",
    ] == table["state"].to_pylist()
    assert ["metadata_version", *[""] * 8] == table["differs_in"].to_pylist()
    assert [*[None] * 7, "equal", None] == table["verdict"].to_pylist()
    assert colours_of(table.schema.field("offline"))[CellColour.RED]
    assert colours_of(table.schema.field("state"))[CellColour.YELLOW]
    assert heading(table) == (
        "9 directories · 1 unreadable · 2 with offline-partitions · 1 with faults · "
        "1 with under-min-isr · 1 with under-replicated · 1 with fenced-broker · 1 ok · "
        "1 not read yet · 1 cluster"
    )


def test_some_come_before_none() -> None:
    """Of two that are offline alike, the one with a fault is worse, whatever their names."""
    usual: FleetRow = {"clusterId": "x", "error": None, "offline": 1}
    rows: list[FleetRow] = [
        {"name": "a", **usual, "faults": 0},
        {"name": "b", **usual},
        {"name": "c", **usual, "faults": 1},
    ]
    assert ["c", "a", "b"] == fleet_table(rows_table(rows), ())["cluster"].to_pylist()


def test_copies_that_do_not_agree_are_not_ok() -> None:
    """They are counted by their verdict, and stand before what is less bad than that."""
    usual: FleetRow = {"clusterId": "x", "metadataVersion": "4.0", "error": None, "faults": 0}
    rows: list[FleetRow] = [
        {"name": "a", **usual},
        {"name": "b", **usual, "fenced": 1},
        {"name": "c", **usual},
        {"name": "d", **usual, "underReplicated": 1},
        {"name": "e", **usual, "offline": 1},
    ]
    verdicts = verified(a="equal", b="equal", c="differs", d="diverged", e="diverged")
    table = fleet_table(rows_table(rows), (), verdicts)
    assert ["e", "d", "c", "b", "a"] == table["cluster"].to_pylist()
    assert [
        "offline-partitions",
        "diverged",
        "differs",
        "fenced-broker",
        "ok",
    ] == table["state"].to_pylist()
    assert heading(table) == (
        "5 directories · 1 with offline-partitions · 1 diverged · 1 differs · "
        "1 with fenced-broker · 1 ok · 1 cluster"
    )
    assert "diverged" in colours_of(table.schema.field("verdict"))[CellColour.RED]
