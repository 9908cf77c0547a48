"""The lines of a lazily opened tree, against a plain flattening of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.fs.node import Directory, Node, TextLeaf
from metashell.tui.tree.listing import list_directory, list_tree, with_text
from metashell.tui.tree.outline import EMPTY, LOADING, ROOT, FetchedNames, NodeKey, Outline

NAMES = ("", "a", "aa", "b", "ü", "[b]", "0", "10", "9")
Tree = dict[str, Any]


class Made(Directory):
    """A directory made of dicts, which counts what is asked of it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.n_children = 0

    def names(self) -> Sequence[str]:
        """The names."""
        return sorted(self.tree)

    def child(self, name: str) -> Node | None:
        """The child."""
        self.n_children += 1
        below = self.tree.get(name, ...)
        if below is ...:
            return None
        return Made(below) if isinstance(below, dict) else TextLeaf("x")


class Counted(Sequence[str]):
    """Many names, none of which is made before it is asked for."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.n_asked = 0

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: Any) -> Any:
        self.n_asked += 1
        return f"topic-{i:08}"


class Many(Directory):
    """A directory of very many directories."""

    def __init__(self, names: Counted) -> None:
        self._names = names
        self.n_children = 0

    def names(self) -> Sequence[str]:
        """The names."""
        return self._names

    def child(self, name: str) -> Node | None:
        """Any child."""
        self.n_children += 1
        return Made({"0": None, "1": None})


def trees(depth: int = 3) -> st.SearchStrategy[Tree]:
    """Small trees."""
    below = st.none() if depth == 0 else st.none() | trees(depth - 1)
    return st.dictionaries(st.sampled_from(NAMES), below, max_size=4)


def found(tree: Tree, key: NodeKey) -> Tree | None:
    """The directory at a key."""
    here: Any = tree
    for name in key:
        here = here.get(name) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else None


def listing(tree: Tree, text: str = "") -> FetchedNames:
    """The listing of a directory."""
    return list_directory(Made(tree), text, lambda: False)


def in_order(here: Tree) -> list[str]:
    """Names by code point; numbers by their value where one comes first."""
    names = sorted(here)
    if len(names) > 1 and names[0].isdecimal():
        names.sort(key=lambda name: (not name.isdecimal(), len(name) * name.isdecimal(), name))
    return names


def flat(tree: Tree, wanted: dict[NodeKey, str]) -> list[tuple[Any, ...]]:
    """All lines, the plain way: (key, name, depth, is_dir, is_open, lasts, note)."""

    def below(key: NodeKey, here: Tree, lasts: tuple[bool, ...]) -> list[tuple[Any, ...]]:
        text = wanted.get(key, "")
        names = [name for name in in_order(here) if text.casefold() in name.casefold()]
        if not names:
            note = f"(nothing with {text})" if text else EMPTY
            return [(key, "", len(lasts) + 1, False, False, (*lasts, True), note)]
        rows = []
        for name in names:
            own, flags = (*key, name), (*lasts, name == names[-1])
            is_dir = isinstance(here[name], dict)
            is_open = is_dir and own in wanted
            rows.append((own, name, len(own), is_dir, is_open, flags, ""))
            if is_open:
                rows += below(own, here[name], flags)
        return rows

    return [(ROOT, "", 0, True, True, (), ""), *below(ROOT, tree, ())]


def lines(outline: Outline) -> list[tuple[Any, ...]]:
    """All lines of an outline, in the same form."""
    out = []
    for i in range(outline.n_lines):
        line = outline.line(i)
        out.append(
            (line.key, line.name, line.depth, line.is_dir, line.is_open, line.lasts, line.note)
        )
    return out


@given(st.data())
def test_is_the_plain_flattening(data: st.DataObject) -> None:
    """Whatever is opened, closed, filtered and replaced, the lines are those of the plain way."""
    tree = data.draw(trees())
    outline = Outline(listing(tree))
    wanted: dict[NodeKey, str] = {ROOT: ""}
    for _ in range(data.draw(st.integers(1, 12))):
        plain = flat(tree, wanted)
        key = data.draw(st.sampled_from([row[0] for row in plain if row[3]]))
        step = data.draw(st.sampled_from(("open", "open", "close", "narrow", "retarget")))
        here = found(tree, key)
        assert here is not None
        if step == "open" and key not in wanted:
            wanted[key] = ""
            assert outline.open(key)
            assert outline.line(outline.nearest(key) + 1).note == LOADING
            assert outline.open(key, listing(here))
        elif step == "close" and key:
            wanted = {k: text for k, text in wanted.items() if k[: len(key)] != key}
            outline.close(key)
        elif step == "narrow" and key in wanted:
            text = data.draw(st.sampled_from(("", "a", "A", "zz")))
            wanted[key] = outline.wanted[key] = text
            assert outline.unlisted() == [key] * (outline.listing(key).text != text)
            assert outline.open(key, listing(here, text))
            assert not outline.unlisted()
        elif step == "retarget":
            tree = data.draw(trees())
            seen = list_tree(Made(tree), "/", outline.wanted, (), lambda: False)
            outline.retarget(seen.listings)
        assert wanted == outline.wanted
        plain = flat(tree, wanted)
        assert lines(outline) == plain
        for i, row in enumerate(plain):
            if not row[-1]:
                assert outline.line_of(row[0]) == i


def test_what_went_comes_back() -> None:
    """A directory that is not there for a while is open again when it is back."""
    tree: Tree = {"a": {"b": {"c": None}}, "z": None}
    outline = Outline(listing(tree))
    outline.open(("a",), listing(tree["a"]))
    outline.open(("a", "b"), listing(tree["a"]["b"]))
    before = lines(outline)
    outline.retarget({ROOT: listing({"z": None})})
    assert [row[1] for row in lines(outline)] == ["", "z"]
    seen = list_tree(Made(tree), "/", outline.wanted, (), lambda: False)
    outline.retarget(seen.listings)
    assert lines(outline) == before


def test_names_that_come_again() -> None:
    """What is open in a directory stays open; one in another directory is not meant."""
    tree: Tree = {"a": {"a": {"x": None}, "b": {"c": {"y": None}}}}
    outline = Outline(listing(tree))
    for key in (("a",), ("a", "b"), ("a", "b", "c"), ("a", "a"), ("a", "b"), ("a",)):
        outline.open(key, listing(found(tree, key) or {}))
    assert lines(outline) == flat(tree, outline.wanted)
    assert ["", "a", "a", "x", "b", "c", "y"] == [row[1] for row in lines(outline)]


def test_nothing_below_a_closed_directory() -> None:
    """What lies in a directory that is not open has no line, and the nearest line is above it."""
    outline = Outline(listing({"a": {"b": {}}, "c": None}))
    assert not outline.open(("a", "b"))
    assert outline.line_of(("a", "b")) is None
    assert outline.line_of(("x",)) is None
    assert outline.nearest(("a", "b", "c")) == 1
    with pytest.raises(IndexError):
        outline.line(3)


def test_a_million_names_cost_nothing() -> None:
    """Opening, drawing and closing among a million names look at a few of them."""
    names = Counted(1_000_000)
    many = Many(names)
    outline = Outline(listing({"topics": {}}))
    outline.open(("topics",), list_directory(many, "", lambda: False))
    assert many.n_children <= 64
    key = ("topics", "topic-00500000")
    outline.open(key, listing({"0": None, "1": None}))
    assert outline.n_lines == 1_000_000 + 2 + 2
    names.n_asked = many.n_children = 0
    top = outline.line_of(key)
    assert top == 500_002
    assert [outline.line(i).name for i in range(top, top + 4)] == [
        "topic-00500000", "0", "1", "topic-00500001",
    ]  # fmt: skip
    for i in range(900_000, 900_050):
        outline.line(i)
    outline.close(key)
    assert outline.n_lines == 1_000_002
    assert outline.first_like(("topics",), "topic-0099") == "topic-00990000"
    assert outline.first_like(("topics",), "Topic") is None
    assert many.n_children <= 52
    assert names.n_asked < 500


def test_look_follows_a_path() -> None:
    """A path opens what lies on the way; what is not there is told."""
    tree: Tree = {"a/b": {"": {"x": None}}, "c": None}
    root = Made(tree)
    seen = list_tree(root, "/a%2Fb/%00/x", {ROOT: ""}, (), lambda: False)
    assert (seen.key, seen.missing) == (("a/b", "", "x"), ())
    assert set(seen.listings) == {ROOT, ("a/b",), ("a/b", "")}
    seen = list_tree(root, "/a%2Fb/y%2Fz/w", {ROOT: ""}, seen.listings, lambda: False)
    assert (seen.key, seen.missing) == (("a/b",), ("y/z", "w"))
    assert not seen.listings
    seen = list_tree(root, "/c/d", {ROOT: ""}, (), lambda: False)
    assert (seen.key, seen.missing) == (("c",), ("d",))


def test_paths_lead_back() -> None:
    """The path of a node is one that leads to it."""
    tree: Tree = {"a/b": {"..": {"x y": None}}, "a%2Fb": None}
    wanted = dict.fromkeys((ROOT, ("a/b",), ("a/b", "..")), "")
    seen = list_tree(Made(tree), "/", wanted, (), lambda: False)
    outline = Outline(seen.listings[ROOT])
    outline.wanted = wanted
    outline.retarget(seen.listings)
    for key in (("a/b", "..", "x y"), ("a%2Fb",), ("a/b",)):
        path = outline.path_of(key)
        assert list_tree(Made(tree), path, {ROOT: ""}, (), lambda: False).key == key


def test_cancelled_work_ends() -> None:
    """Work that nobody wants any more ends."""
    with pytest.raises(KeyboardInterrupt):
        list_tree(Made({}), "/", {ROOT: ""}, (), lambda: True)
    with pytest.raises(KeyboardInterrupt):
        with_text(["a"], "a", lambda: True)
