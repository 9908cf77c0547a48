"""Globs over trees: which paths, in which order, and what is not opened."""

from __future__ import annotations

import pytest

from metashell.errors import NoSuchPathError, NotADirectoryPathError
from metashell.fs.glob import expand
from support.tree import MemoryDirectory, Spec, tree

SPEC: Spec = {
    "image": {
        "topics": {
            "a": {"0": "", "id": "", "name": ""},
            "a-b": {"0": "", "1": "", "id": ""},
            "a/b": {"0": ""},
            "b": {"id": ""},
            "[x]": {"0": ""},
        },
        "version": "1",
        "user(a\\(b\\))": {"k": "v"},
    },
    "local": {},
}


@pytest.fixture(params=[False, True], ids=["nodes", "grids"])
def root(request: pytest.FixtureRequest) -> MemoryDirectory:
    """The tree, with and without grids."""
    return tree(SPEC, grids=request.param)


@pytest.mark.parametrize(
    ("typed", "cwd", "paths"),
    [
        ("/image/topics/a*", "/", ["/image/topics/a", "/image/topics/a-b", "/image/topics/a/b"]),
        ("/*/topics/*/id", "/", [f"/image/topics/{t}/id" for t in ("a", "a-b", "b")]),
        ("*/version", "/", ["image/version"]),
        ("*", "/image/topics/a", ["0", "id", "name"]),
        ("../{b,a}/[!0]*", "/image/topics/a", ["../a/id", "../a/name", "../b/id"]),
        ("./b/?d", "/image/topics", ["./b/id"]),
        ("*/", "/image", ["topics/", "user(a\\(b\\))/"]),
        ("//image//v*", "/", ["/image/version"]),
        ("*/a%2Fb/0", "/image", ["topics/a%2Fb/0"]),
        ("{a%2Fb,b}/*", "/image/topics", ["a%2Fb/0", "b/id"]),
        ("[x]", "/image/topics", ["[x]"]),
        ("user(a\\(b\\))/k", "/image", ["user(a\\(b\\))/k"]),
        ("topics/*/..", "/image", [f"topics/{t}/.." for t in ("[x]", "a", "a-b", "a/b", "b")]),
        ("/image/topics/b", "/", ["/image/topics/b"]),
    ],
)
def test_paths_that_match(root: MemoryDirectory, typed: str, cwd: str, paths: list[str]) -> None:
    """Matches come sorted by component, written as typed where there is no wildcard."""
    assert paths == [match.path for match in expand(root, typed, cwd=cwd)]


def test_a_match_knows_its_place(root: MemoryDirectory) -> None:
    """The names on the way are the real ones."""
    match = next(expand(root, "/im*/topics/a%2Fb/*"))
    assert ("image", "topics", "a/b", "0") == match.place.names()


@pytest.mark.parametrize(
    "typed",
    ["/no*", "/image/*/nothing", "/image/version/*", "/{x,y}", "*/*/*/*/*"],
)
def test_nothing_matches(root: MemoryDirectory, typed: str) -> None:
    """A pattern without a match is an error that shows the pattern."""
    with pytest.raises(NoSuchPathError) as error:
        list(expand(root, typed))
    assert f"{typed}: No such file or directory" == error.value.message


def test_quoted_wildcards_are_literal(root: MemoryDirectory) -> None:
    """A backslash in the pattern's form takes a wildcard's meaning away."""
    with pytest.raises(NoSuchPathError):
        list(expand(root, "/image/t*", "/image/t\\*"))


def test_a_path_without_wildcards_is_a_lookup(root: MemoryDirectory) -> None:
    """Its errors are those of a lookup."""
    with pytest.raises(NotADirectoryPathError):
        list(expand(root, "/image/version/x"))


def test_literals_do_not_list_a_directory() -> None:
    """Alternatives without a wildcard are looked up, not searched for."""
    root = tree(SPEC)
    assert ["/image"] == [match.path for match in expand(root, "/{image,none}")]
    assert ["image", "none"] == root.opened


def test_a_grid_opens_only_what_fits() -> None:
    """Children whose leaves can't match are not made."""
    root = tree(SPEC, grids=True)
    topics = root.child("image").child("topics")  # type: ignore[union-attr]
    assert ["/image/topics/a/name"] == [m.path for m in expand(root, "/image/topics/*/na*")]
    assert ["a"] == topics.opened  # type: ignore[union-attr]
