"""Paths: components, names that can't be typed, and errors that name what was typed."""

from __future__ import annotations

import pytest

from metashell.errors import NoSuchPathError, NotADirectoryPathError
from metashell.fs.path import (
    NodePlace,
    decode_name,
    encode_name,
    encode_path,
    join,
    normalise,
    resolve,
)
from support.tree import tree

ODD = ["a/b", "", ".", "..", "a%2Fb", "%", "100%25", "a b", "x\n\u202e", "*", "\\", "é/ü"]
ROOT = tree({"d": {name: f"text of {name}" for name in ODD}, "leaf": "x", "e": {"f": {}}})


def names(path: str, cwd: str = "/") -> tuple[str, ...]:
    """Real names of what a path resolves to."""
    return resolve(ROOT, path, cwd).names()


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("/", "/d", ()),
        ("//e///f//", "/", ("e", "f")),
        ("f", "/e", ("e", "f")),
        (".", "/e", ("e",)),
        ("../../..", "/e/f", ()),
        ("./f/../f/.", "/e", ("e", "f")),
    ],
)
def test_dots_and_slashes(path: str, cwd: str, expected: tuple[str, ...]) -> None:
    """Dots, repeated slashes and relative paths mean what they mean everywhere."""
    assert expected == names(path, cwd)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("a%2Fb", "a%2Fb"),
        ("%61%2fb", "a/b"),
        ("%00", ""),
        ("%2E", "."),
        ("%2E%2e", ".."),
        ("%", "%"),
        ("100%25", "100%25"),
        ("%C3%A9%2F%C3%BC", "é/ü"),
        ("é%2Fü", "é/ü"),
    ],
)
def test_a_name_as_typed_wins_over_a_decoded_one(typed: str, name: str) -> None:
    """A component is decoded only where no child has the name as typed."""
    assert ("d", name) == names(f"/d/{typed}")


@pytest.mark.parametrize("quoting", [False, True])
@pytest.mark.parametrize("name", ODD)
def test_an_encoded_name_leads_back(name: str, quoting: bool) -> None:
    """Whatever its siblings are called, the encoded form of a name finds that name."""
    directory = resolve(ROOT, "/d").node
    assert not directory.is_dir or ("d", name) == names(
        "/d/" + encode_name(name, directory, quoting=quoting)  # type: ignore[arg-type]
    )


def test_plain_names_are_left_alone() -> None:
    """Only what can't be typed is encoded; a command line's own characters only on demand."""
    assert "user(é)" == encode_name("user(é)", quoting=True)
    assert "a b*" == encode_name("a b*")
    assert "a%20b%2A" == encode_name("a b*", quoting=True)
    assert "/a%2Fb/%00/%2E%2E" == encode_path(["a/b", "", ".."])


def test_what_is_not_utf8_is_not_decoded() -> None:
    """Percent signs that decode to no text stay as they are."""
    assert "%ff" == decode_name("%ff")


@pytest.mark.parametrize("path", ["/no", "no/x", "/d/no", "/e/f/g/h", "/no/../e"])
def test_missing_paths_are_named_as_typed(path: str) -> None:
    """The error says what was typed, not what it was made into."""
    with pytest.raises(NoSuchPathError) as error:
        resolve(ROOT, path)
    assert f"{path}: No such file or directory" == error.value.message


@pytest.mark.parametrize("path", ["/leaf/x", "/leaf/", "/leaf/..", "/leaf/."])
def test_a_leaf_is_no_directory(path: str) -> None:
    """A path that goes on after a leaf is refused, even by dots."""
    with pytest.raises(NotADirectoryPathError, match="Not a directory"):
        resolve(ROOT, path)


def test_an_empty_path_names_nothing() -> None:
    """The empty word is no path."""
    with pytest.raises(NoSuchPathError, match="''"):
        resolve(ROOT, "")


def test_normalise_looks_nothing_up() -> None:
    """Relative paths are joined and dots taken out without a tree."""
    assert ["/a/c", "/", "/x"] == [
        normalise("../c", "/a/b"),
        normalise("../../.."),
        normalise("//x/.", "/a"),
    ]


def test_join_adds_one_slash() -> None:
    """A path that ends in a slash gets no second one."""
    assert ["/a", "a/b", "a/b"] == [join("/", "a"), join("a", "b"), join("a/", "b")]


def test_a_very_deep_path_is_followed() -> None:
    """Depth is bounded by memory alone."""
    place = NodePlace(tree({}))
    for _ in range(20_000):
        place = NodePlace(place.node, "x", place)
    assert 40_000 == len(place.encoded())
