"""Leaving out paths by a literal leaves out none that would have matched."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.commands.find.literal import Needle, required_literal
from metashell.fs.pattern import Pattern

REGEXES = st.text(alphabet="ab/.*+?{1,2}()[]^$|\\d-", max_size=12)
STRINGS = st.text(alphabet="aAb/12.-(]K\u212a", max_size=8)


@pytest.mark.parametrize(
    ("regex", "literal"),
    [
        (".*/topics/.*", "/topics/"),
        ("orders", "orders"),
        (r".*/a\.b-[0-9]+", "/a.b-"),
        (r"/x(yyyyyy)?/z", "/x"),
        ("ab*cd+e{2}f", "a"),
        ("a[bcdef]]g", "]g"),
        (r"\d\d/topic\d", "/topic"),
        (r"\x41bcdef", ""),
        ("one|two", ""),
        ("(?i)one", ""),
        ("", ""),
    ],
)
def test_required_literal(regex: str, literal: str) -> None:
    """The longest run that is always there; what is not plain has none."""
    assert literal == required_literal(regex)


@given(REGEXES, STRINGS)
def test_a_match_holds_the_literal_of_its_regex(regex: str, text: str) -> None:
    """Whatever the expression, and whatever the case where that is ignored."""
    for flags in (re.DOTALL, re.DOTALL | re.IGNORECASE):
        try:
            with warnings.catch_warnings(action="ignore"):
                compiled = re.compile(regex, flags)
        except (re.error, OverflowError):
            return
        needle = Needle.of(required_literal(regex), ignore_case=bool(flags & re.IGNORECASE))
        assert not compiled.fullmatch(text) or needle.may_be_in(text)


@given(st.text(alphabet="ab/*?[]{,}\\K", max_size=10), STRINGS)
def test_a_match_holds_the_literal_of_its_pattern(source: str, text: str) -> None:
    """Likewise of wildcards, with and without braces."""
    for braces in (False, True):
        for ignore_case in (False, True):
            pattern = Pattern(source, braces=braces, ignore_case=ignore_case)
            needle = Needle.of(pattern.longest_literal, ignore_case=ignore_case)
            assert not pattern.match(text) or needle.may_be_in(text)


NAMES = st.text(alphabet="abAé/\n", max_size=4)


@given(
    st.text(alphabet="abA/\n", max_size=5),
    st.booleans(),
    st.sampled_from(["/", "/b/", "/aé/"]),
    st.lists(NAMES, max_size=6),
    st.lists(st.lists(NAMES, max_size=3), min_size=1, max_size=3),
    st.data(),
)
def test_candidates(
    text: str,
    ignore_case: bool,
    base: str,
    names: list[str],
    shapes: list[list[str]],
    data: st.DataObject,
) -> None:
    """Every directory stays that has the literal in its path or in one of its leaves'."""
    shape_of = [data.draw(st.integers(0, len(shapes) - 1)) for _ in names]
    needle = Needle.of(text, ignore_case=ignore_case)
    found = set(needle.candidates(base, names, shape_of, shapes, range(len(names))))
    for i, name in enumerate(names):
        path = f"{base}{name}"
        paths = [path, *(f"{path}/{leaf}" for leaf in shapes[shape_of[i]])]
        assert i in found or not any(map(needle.may_be_in, paths))


def test_candidates_are_few() -> None:
    """What can't hold the literal is left out."""
    names = [f"t{i}" for i in range(2000)]
    shapes = [("0", "id"), ("0", "1", "id")]
    shape_of = [i % 2 for i in range(2000)]

    def count(text: str) -> int:
        return len(list(Needle.of(text).candidates("/b/", names, shape_of, shapes, range(2000))))

    assert [1, 0, 1000, 2000] == [count("/t77/"), count("nothing"), count("/1"), count("/id")]
