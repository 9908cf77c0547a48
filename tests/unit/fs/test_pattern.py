"""Patterns: what they match, quickly, and which of them are refused."""

from __future__ import annotations

import re
from fnmatch import translate
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import UsageError
from metashell.fs.pattern import Pattern, quote
from support.strategies import CHARACTERS


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("", [""], ["a"]),
        ("*", ["", "a", "a\nb"], []),
        ("a?c", ["abc", "a\nc"], ["ac", "abbc"]),
        ("a*c", ["ac", "abc"], ["a", "acd", "ca"]),
        ("aa*aa", ["aaaa"], ["aaa"]),
        ("*b*", ["b", "abc"], ["ac"]),
        ("*a*b*c", ["abc", "xaxbxc"], ["acb", "ab"]),
        ("**", ["", "x"], []),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x", "x"]),
        ("[!a-c]", ["d", "\n"], ["a", "", "dd"]),
        ("[^a]", ["^", "b"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[z-a]", [], ["a", "z", "-"]),
        ("[[:digit:]x]", ["5", "x"], ["a", ":"]),
        ("[\\]]", ["]"], ["\\"]),
        ("[ab", ["[ab"], ["a"]),
        ("{a,bc}d", ["ad", "bcd"], ["bd", "{a,bc}d"]),
        ("{a,b{c,d}}", ["a", "bc", "bd"], ["b", "c"]),
        ("{,x}y", ["y", "xy"], ["x"]),
        ("*{a,ab}*c", ["abc", "xabxc"], ["abb"]),
        ("{abc,b}*cx", ["bcx", "abccx"], ["abcx"]),
        ("*{abc,b}*cx", ["abcx"], []),
        ("{a", ["{a"], ["a"]),
        ("a,b}", ["a,b}"], []),
        ("\\*\\{a,b\\}", ["*{a,b}"], ["xa"]),
        ("a\\", ["a\\"], ["a"]),
        ("(a|b)+.$", ["(a|b)+.$"], ["a"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, matching: list[str], others: list[str]) -> None:
    """Each wildcard, alone and in company."""
    match = Pattern(pattern).match
    assert matching == [name for name in matching + others if match(name)]


@given(st.text("ab*?", max_size=8), st.text("ab\n", max_size=10))
def test_stars_agree_with_a_backtracking_matcher(pattern: str, name: str) -> None:
    """Never going back over a star finds the same as trying everything."""
    expected = re.match(translate(pattern), name) is not None
    assert expected == bool(Pattern(pattern).match(name))


@given(st.text("ab*?{},[]\\!-", max_size=12), st.lists(st.text("ab*{}", max_size=4), max_size=20))
def test_select_gives_what_match_gives(pattern: str, names: list[str]) -> None:
    """Looking only at ranges of sorted names loses none and adds none."""
    compiled = Pattern(pattern)
    names = sorted(set(names))
    expected = [i for i, name in enumerate(names) if compiled.match(name)]
    assert expected == compiled.select(names)


def test_select_looks_at_a_range_only() -> None:
    """Names that do not share the literal beginning are not matched one by one."""
    names = ["".join(letters) for letters in product("abcdefghij", repeat=4)]
    pattern = Pattern("{ab*c,jjj?}")
    seen: list[str] = []
    match = pattern.match

    def watched(name: str) -> object:
        seen.append(name)
        return match(name)

    pattern.match = watched
    found = [names[i] for i in pattern.select(names)]
    assert (20, "abac", "jjjj") == (len(found), found[0], found[-1])
    assert 110 == len(seen)


def test_case_is_ignored_on_demand() -> None:
    """A pattern that ignores case is not narrowed by its beginning."""
    assert [0, 1] == Pattern("AB*", ignore_case=True).select(["ABc", "abC", "b"])


def test_braces_can_be_plain() -> None:
    """Tests of find know no braces."""
    assert Pattern("{a,b}*", braces=False).match("{a,b}x")


@pytest.mark.parametrize("pattern", ["{a,b}" * 30, "{a,{b,c}}" * 20])
def test_braces_that_multiply_are_refused(pattern: str) -> None:
    """Alternatives are counted before they are made."""
    with pytest.raises(UsageError, match="too many alternatives"):
        Pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["{" * 500 + "a,b" + "}" * 500, "[" * 1024, "{" * 1024, "{a}" * 341, "*a" * 500 + "?"],
)
def test_hostile_patterns_end(pattern: str) -> None:
    """A pattern made to take for ever does not."""
    assert not Pattern(pattern).match("a" * 499 + "b" * 2)


def test_an_endless_pattern_is_refused() -> None:
    """The length is capped."""
    with pytest.raises(UsageError, match="longer than"):
        Pattern("*" * 2000)


@given(st.text(CHARACTERS))
def test_a_quoted_name_matches_itself(name: str) -> None:
    """`quote` takes every meaning away."""
    if len(name) < 400:
        assert (name,) == Pattern(quote(name)).literals


def test_prefix_is_what_all_matches_begin_with() -> None:
    """The common beginning of all alternatives."""
    assert ["abc", "ab", ""] == [Pattern(p).prefix for p in ("abc*", "{abc,abd}*", "{a,b}")]
