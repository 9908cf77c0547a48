"""Walks: order, limits, and that a grid gives what a walk gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.fs.path import encode_name
from metashell.fs.walk import GridVisit, Visit, paths, walk
from support.tree import Spec, tree

SPEC: Spec = {
    "a": {"0": "", "1": "", "id": ""},
    "a-b": {"0": ""},
    "a/b": {},
    "b": {"0": "", "1": "", "id": ""},
}
LINES = ["/", "/a", "/a/0", "/a/1", "/a/id", "/a-b", "/a-b/0", "/a/b"]
LINES += ["/b", "/b/0", "/b/1", "/b/id"]
NAMES = st.text("ab/-", max_size=3)
SPECS = st.recursive(
    st.dictionaries(NAMES, st.just(""), max_size=4),
    lambda below: st.dictionaries(NAMES, below, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("grids", [False, True])
def test_paths_come_depth_first_by_component(grids: bool) -> None:
    """`a-b` comes after all of `a`, whatever the joined strings say."""
    assert LINES == "".join(paths(tree(SPEC, grids=grids), "/")).splitlines()


@given(SPECS, st.sampled_from(["/", ".", "/x/", "x"]), st.sampled_from(["\n", "\0"]))
def test_a_grid_is_walked_as_nodes_are(spec: Spec, start: str, end: str) -> None:
    """Both trees have the same paths, names encoded or not."""
    for write in (None, encode_name):
        plain, grid = (
            "".join(paths(tree(spec, grids=grids), start, end=end, write_name=write))
            for grids in (False, True)
        )
        assert plain == grid


def test_pieces_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text comes in pieces of many lines, none of them split."""
    monkeypatch.setattr("metashell.fs.walk.CHUNK_PATHS", 4)
    for grids in (False, True):
        pieces = list(paths(tree(SPEC, grids=grids), "/"))
        assert 1 < len(pieces) < len(LINES)
        assert all(piece.endswith("\n") for piece in pieces)


def nodes(visits: Iterator[Visit | GridVisit]) -> Iterator[Visit]:
    """The visits of a walk over a tree without grids."""
    for visit in visits:
        assert isinstance(visit, Visit)
        yield visit


def test_a_walk_stops_where_it_is_told() -> None:
    """Depth, pruning and the caller's own bound each keep it from going below."""
    root = tree({"x": SPEC, "y": {"z": {"q": ""}}})
    assert ["/", "/x", "/y"] == [visit.path for visit in nodes(walk(root, "/", max_depth=1))]
    seen = []
    for visit in nodes(walk(root, "/", enters=lambda base: base != "/y/")):
        visit.pruned = visit.path == "/x"
        seen.append((visit.path, visit.name, visit.depth, visit.is_dir))
    assert [("/", "/", 0, True), ("/x", "x", 1, True), ("/y", "y", 1, True)] == seen


def test_a_grid_is_one_visit() -> None:
    """The directory is visited, then everything below it at once."""
    first, second, whole = walk(tree({"t": SPEC}, grids=True), "/")
    assert isinstance(first, Visit)
    assert isinstance(second, Visit)
    assert isinstance(whole, GridVisit)
    assert ("/t", "/t/", 1) == (second.path, whole.base, whole.depth)


def test_a_listed_child_that_is_not_there_is_still_listed() -> None:
    """Its path is given, and nothing below it."""
    assert "/\n/gone\n/x\n" == "".join(paths(tree({"gone": None, "x": ""}), "/"))


def test_a_deep_tree_does_not_recurse() -> None:
    """Five thousand levels are walked."""
    spec: Spec = {}
    for _ in range(5000):
        spec = {"d": spec}
    assert 5001 == sum(1 for _ in walk(tree(spec), "/"))
