"""Which table describes a directory, and where its rows lead."""

from __future__ import annotations

import pytest

import metashell
from metashell.fs.path import NodePlace, resolve
from metashell.sources.source import Source
from metashell.tui.node.described import description_of, path_below
from metashell.tui.view_state import ask, view_state_of
from support.pilot import SAMPLE


@pytest.fixture(scope="module")
def source() -> Source:
    """The sample."""
    return metashell.open(SAMPLE)


@pytest.mark.parametrize(
    ("path", "title", "below"),
    [
        ("/image/topics", "Topics", "/image/topics/byName/"),
        ("/image/topics/byName", "Topics", "/image/topics/byName/"),
        ("/image/topics/byId", "Topics", "/image/topics/byId/"),
        ("/image/topics/byName/orders", "Partitions", "/image/topics/byName/orders/"),
        ("/image/topics/byId/Npg8fPVqRu2chOcifeCMKA", "Partitions", "/image/topics/byId/Npg8fPV"),
        ("/image/cluster", "Nodes", "/image/cluster/"),
        ("/image/cluster/brokers", "Brokers", "/image/cluster/brokers/"),
        ("/image/cluster/controllers", "Controllers", "/image/cluster/controllers/"),
        ("/image/configs", "Configs", "/image/configs/"),
        ("/image/acls", "ACLs", "/image/acls/byId/"),
        ("/image/acls/byId", "ACLs", "/image/acls/byId/"),
        ("/image/clientQuotas", "Quotas", "/image/clientQuotas/"),
        ("/image/scram", "Users", "/image/scram/SCRAM-SHA-"),
        ("/image/delegationToken", "Tokens", "/image/delegationToken/"),
        ("/quorum", "Quorum", "/quorum/voters/"),
        ("/quorum/voters", "Quorum", "/quorum/voters/"),
        ("/log", "Files", "/log/0"),
    ],
)
def test_every_row_leads_to_its_node(source: Source, path: str, title: str, below: str) -> None:
    """The command answers, has the columns that are shown, and each row is about a node."""
    place = resolve(source.root, path)
    described = description_of(place.names(), place)
    assert described is not None
    assert title == described.title
    answer = ask(view_state_of(source, "/"), described.words)
    assert 0 == answer.status
    table = answer.table
    assert table is not None
    assert len(table) > 0
    assert set(described.first) <= set(table.column_names)
    root = NodePlace(source.root)
    for row in table.to_pylist():
        names = described.names(row)
        if names is None:
            continue
        target = path_below(root, described.base, names)
        assert target is not None
        assert target.startswith(below)
        assert len(described.base) + len(names) == len(resolve(source.root, target).names())


@pytest.mark.parametrize("path", ["/", "/image", "/image/features", "/log/faults", "/bootstrap"])
def test_plain_directories(source: Source, path: str) -> None:
    """Others are described by their children."""
    place = resolve(source.root, path)
    assert description_of(place.names(), place) is None


def test_fleet(source: Source) -> None:
    """Outside of the clusters of a fleet only their list is described."""
    place = NodePlace(source.root)
    described = description_of(("clusters",), place, in_fleet=True)
    assert described is not None
    assert ("c",) == described.names({"cluster": "c"})
    assert description_of(("image", "topics"), place, in_fleet=True) is None
