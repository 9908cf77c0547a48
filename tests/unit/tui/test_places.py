"""Back, forward, bookmarks; and paths as they are typed."""

from __future__ import annotations

import pytest

import metashell
from metashell.errors import NotCoveredError, PathError
from metashell.fs.node import FixedDirectory, TextLeaf
from metashell.tui.remembered import Places, VisitedNode, VisitedView
from metashell.tui.screens.typed_path import PathTarget, follow, propose
from metashell.tui.tree.listing import ChangedNodes
from metashell.tui.view_state import ViewState, directory_at, view_state_at, view_state_of
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


def _hostile() -> ViewState:
    source: object = _Source()
    return ViewState(opened=source)  # type: ignore[arg-type]


def test_proposals_are_names_and_no_shell_words() -> None:
    """A proposal is the line as it is typed, without quotes; what can't be typed is encoded."""
    view_state = _hostile()
    texts = [proposal.text for proposal in propose(view_state, "/", "/")]
    assert texts == ["/a b/", "/a%2Fb/", "/n@5"]
    assert [proposal.text for proposal in propose(view_state, "/a b/i", "/")] == ["/a b/it's"]
    assert [proposal.text for proposal in propose(view_state, "/a%2Fb/", "/")] == ["/a%2Fb/[x]"]
    assert [proposal.text for proposal in propose(view_state, "i", "/a b")] == ["it's"]
    assert propose(view_state, "/zz/", "/") == []


def test_a_line_leads_somewhere() -> None:
    """A path, a relative one, or one with an offset; a name that looks like that is that name."""
    view_state = _hostile()
    assert follow(view_state, "/a b/it's", "/") == PathTarget("/a b/it's")
    assert follow(view_state, "it's", "/a b") == PathTarget("/a b/it's")
    assert follow(view_state, "/a b/", "/") == PathTarget("/a b")
    assert follow(view_state, "/n@5", "/") == PathTarget("/n@5")
    with pytest.raises(PathError):
        follow(view_state, "/gone", "/")
    assert directory_at(view_state, "/a b/it's") == "/a b"
    assert directory_at(view_state, "/zz/y") == "/"


def test_a_line_with_an_offset_leads_to_what_is_there() -> None:
    """What is there at the offset, or now; else the path or the offset is told to be wrong."""
    view_state = view_state_of(metashell.open(DEMO), "/")
    removed, topics = "/image/topics/byName/legacy-exports", "/image/topics"
    assert follow(view_state, f"{removed}@1400", "/") == PathTarget(removed, 1400)
    assert follow(view_state, "topics@0", "/image") == PathTarget(topics, 0)
    for path, offset in ((removed, 1500), ("/image/nope", 1500)):
        with pytest.raises(PathError, match=f"{path}: No such .*, here or at offset {offset}"):
            follow(view_state, f"{path}@{offset}", "/")
    for path in (topics, "/image/nope"):
        with pytest.raises(NotCoveredError, match="offset 9999 is not covered"):
            follow(view_state, f"{path}@9999", "/")


def test_changes_since_the_previous_stop() -> None:
    """What a record between both stops touched is marked, in either direction."""
    newest = view_state_of(metashell.open(SAMPLE), "/")
    names = newest.root.names()
    assert ChangedNodes(newest).of((), names) == [False] * len(names)
    earlier = view_state_at(newest, 3398)
    back = ChangedNodes(earlier)
    assert back.of((), ["image", "local"]) == [True, False]
    later = view_state_at(earlier, None)
    there = ChangedNodes(later)
    assert there.of((), ["image", "local"]) == [True, False]
    topics = ("image", "topics", "byName")
    directory = later.root.child("image")
    assert directory is not None
    marked = there.of(("image",), ["topics", "scram", "provenance"])
    assert True in marked
    assert there.of((*topics, "no such topic"), ["0"]) == [True]
