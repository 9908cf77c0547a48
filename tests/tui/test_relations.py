"""The neighbours of a node, walked as a small tree."""

from __future__ import annotations

import pytest

import metashell
from metashell.fs.path import resolve
from metashell.tui.screens.relations import relations_of
from metashell.tui.view_state import ViewState
from support.fixtures import DEMO, fixture

ORDERS = "/image/topics/byName/orders"


@pytest.mark.parametrize(
    ("path", "groups"),
    [
        (ORDERS, ["topic", "configs", "partitions", "brokers", "ACLs", "quotas", "records"]),
        (f"{ORDERS}/0", ["topic", "configs", "brokers", "ACLs", "quotas", "records"]),
        ("/image/configs/TOPIC:orders", ["configs", "topic", "brokers", "records"]),
        ("/image/configs/BROKER:101", ["configs", "broker", "records"]),
        ("/image/cluster/brokers/101", ["configs", "partitions", "topics", "records"]),
        ("/image/acls/byId/29kxD1wLT82JZKvafQAfgQ", ["topics", "ACLs", "quotas"]),
        ("/image/clientQuotas/user(analytics)", ["ACLs", "quotas"]),
    ],
)
def test_neighbours(path: str, groups: list[str]) -> None:
    """Each kind of node has its groups, and every path in them is there."""
    source = metashell.open(DEMO)
    found = relations_of(ViewState(opened=source, cluster=source), path)
    assert found is not None
    assert groups == [group.name for group in found.groups]
    nodes = [node for group in found.groups for node in (group, *group.children)]
    for node in nodes:
        if node.path is not None:
            resolve(source.root, node.path)
    assert any(group.children for group in found.groups)


def test_none() -> None:
    """A node of another kind has none, nor has one that is not there."""
    source = metashell.open(DEMO)
    view_state = ViewState(opened=source, cluster=source)
    for path in ("/", "/image/topics", "/image/topics/byName/nowhere"):
        assert relations_of(view_state, path) is None


def test_acls_have_their_pattern_type() -> None:
    """An ACL about a prefix is told from one about a name, in the words of `acls`."""
    source = metashell.open(DEMO)
    view_state = ViewState(opened=source, cluster=source)
    found = relations_of(view_state, "/image/scram/SCRAM-SHA-512/payments")
    assert found is not None
    told = [child.told for child in found.groups[0].children]
    assert "TOPIC:payments PREFIXED WRITE ALLOW" in told
    assert len(told) == len({*told}) == 10


def test_fenced_brokers_are_named() -> None:
    """A broker that is fenced says so before what it leads and follows; so does the group."""
    source = metashell.open(fixture("real-44-broker-down").input)
    found = relations_of(ViewState(opened=source, cluster=source), ORDERS)
    assert found is not None
    (group,) = (group for group in found.groups if group.name == "brokers")
    assert "3, 1 fenced" == group.told
    told = {child.name: child.told for child in group.children}
    assert "fenced, follows p0 p1 p2 p3 p4" == told["103"]
    assert not told["101"].startswith("fenced")
