"""Back, forward, bookmarks; and paths as they are typed."""

from __future__ import annotations

import pytest

import metashell
from metashell.errors import NotCoveredError, PathError
from metashell.fs.node import FixedDirectory, TextLeaf
from metashell.tui.asking.typed_path import PathTarget, directory_at, follow, propose
from metashell.tui.places import Places, VisitedNode, VisitedView
from metashell.tui.scene import Scene, scene_at, scene_of
from metashell.tui.tree.listing import ChangedNodes
from support.fixtures import DEMO
from support.pilot import SAMPLE


def test_back_and_forward() -> None:
    """Back goes to what was left, forward to what back left, and a visit forgets the latter."""
    places = Places()
    a, b = VisitedView(VisitedNode("/a"), "fleet"), VisitedView(VisitedNode("/b", 7), "explorer")
    c = VisitedView(VisitedNode("/b", 7), "fleet")
    places.visit(a)
    places.visit(b)
    assert places.back(c) == b
    assert places.back(b) == a
    assert places.back(a) is None
    assert places.forward(a) == b
    places.visit(b)
    assert places.forward(c) is None


def test_recent_places() -> None:
    """Recent places are those left, the newest first, each once and at most so many."""
    places = Places()
    for name in "abacd":
        places.visit(VisitedView(VisitedNode(f"/{name}"), "explorer"))
    places.visit(VisitedView(VisitedNode("/d"), "fleet"))
    assert [place.path for place in places.recent()] == ["/d", "/c", "/a", "/b"]
    assert len(places.recent(2)) == 2


def test_bookmarks_are_toggled() -> None:
    """The same node at another offset is another bookmark."""
    places = Places()
    assert places.toggle_bookmark(VisitedNode("/a"))
    assert places.toggle_bookmark(VisitedNode("/a", 3))
    assert not places.toggle_bookmark(VisitedNode("/a"))
    assert places.bookmarks == [VisitedNode("/a", 3)]


class _Source:
    """As much of a source as paths need."""

    root = FixedDirectory(
        {
            "a b": lambda: FixedDirectory({"it's": lambda: TextLeaf("x")}),
            "a/b": lambda: FixedDirectory({"[x]": lambda: TextLeaf("x")}),
            "n@5": lambda: TextLeaf("x"),
        }
    )


def _hostile() -> Scene:
    source: object = _Source()
    return Scene(opened=source)  # type: ignore[arg-type]


def test_proposals_are_names_and_no_shell_words() -> None:
    """A proposal is the line as it is typed, without quotes; what can't be typed is encoded."""
    scene = _hostile()
    texts = [proposal.text for proposal in propose(scene, "/", "/")]
    assert texts == ["/a b/", "/a%2Fb/", "/n@5"]
    assert [proposal.text for proposal in propose(scene, "/a b/i", "/")] == ["/a b/it's"]
    assert [proposal.text for proposal in propose(scene, "/a%2Fb/", "/")] == ["/a%2Fb/[x]"]
    assert [proposal.text for proposal in propose(scene, "i", "/a b")] == ["it's"]
    assert propose(scene, "/zz/", "/") == []


def test_a_line_leads_somewhere() -> None:
    """A path, a relative one, or one with an offset; a name that looks like that is that name."""
    scene = _hostile()
    assert follow(scene, "/a b/it's", "/") == PathTarget("/a b/it's")
    assert follow(scene, "it's", "/a b") == PathTarget("/a b/it's")
    assert follow(scene, "/a b/", "/") == PathTarget("/a b")
    assert follow(scene, "/n@5", "/") == PathTarget("/n@5")
    with pytest.raises(PathError):
        follow(scene, "/gone", "/")
    assert directory_at(scene, "/a b/it's") == "/a b"
    assert directory_at(scene, "/zz/y") == "/"


def test_a_line_with_an_offset_leads_to_what_is_there() -> None:
    """What is there at the offset, or now; else the path or the offset is told to be wrong."""
    scene = scene_of(metashell.open(DEMO), "/")
    removed, topics = "/image/topics/byName/legacy-exports", "/image/topics"
    assert follow(scene, f"{removed}@1400", "/") == PathTarget(removed, 1400)
    assert follow(scene, "topics@0", "/image") == PathTarget(topics, 0)
    for path, offset in ((removed, 1500), ("/image/nope", 1500)):
        with pytest.raises(PathError, match=f"{path}: No such .*, here or at offset {offset}"):
            follow(scene, f"{path}@{offset}", "/")
    for path in (topics, "/image/nope"):
        with pytest.raises(NotCoveredError, match="offset 9999 is not covered"):
            follow(scene, f"{path}@9999", "/")


def test_changes_since_the_previous_stop() -> None:
    """What a record between both stops touched is marked, in either direction."""
    newest = scene_of(metashell.open(SAMPLE), "/")
    names = newest.root.names()
    assert ChangedNodes(newest).of((), names) == [False] * len(names)
    earlier = scene_at(newest, 3398)
    back = ChangedNodes(earlier)
    assert back.of((), ["image", "local"]) == [True, False]
    later = scene_at(earlier, None)
    there = ChangedNodes(later)
    assert there.of((), ["image", "local"]) == [True, False]
    topics = ("image", "topics", "byName")
    directory = later.root.child("image")
    assert directory is not None
    marked = there.of(("image",), ["topics", "scram", "provenance"])
    assert True in marked
    assert there.of((*topics, "no such topic"), ["0"]) == [True]
