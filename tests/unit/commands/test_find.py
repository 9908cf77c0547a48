"""find: tests, actions, and that grids change nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.commands.framework.command_line import quote_words
from support.tree import Session, Spec, session

SPEC: Spec = {
    "image": {
        "topics": {
            "a": {"0": "", "1": "", "id": ""},
            "a-b": {"0": "", "id": ""},
            "n/m": {"0": "", "x y": ""},
            "Z": {},
        },
        "version": "",
    },
    "local": {"deep": {"er": {"id": ""}}},
}
ALL = [
    "/",
    "/image",
    "/image/topics",
    "/image/topics/Z",
    "/image/topics/a",
    "/image/topics/a/0",
    "/image/topics/a/1",
    "/image/topics/a/id",
    "/image/topics/a-b",
    "/image/topics/a-b/0",
    "/image/topics/a-b/id",
    "/image/topics/n/m",
    "/image/topics/n/m/0",
    "/image/topics/n/m/x y",
    "/image/version",
    "/local",
    "/local/deep",
    "/local/deep/er",
    "/local/deep/er/id",
]
T = "/image/topics"


@pytest.fixture(params=["nodes", "grids", "terminal"])
def shell(request: pytest.FixtureRequest) -> Session:
    """A session; its kind must not matter to find."""
    return session(SPEC, grids=request.param != "nodes", terminal=request.param == "terminal")


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("/", ALL),
        ("/ -true", ALL),
        ("/ -false", []),
        ("/local/deep", ["/local/deep", "/local/deep/er", "/local/deep/er/id"]),
        ("/local/deep/ -maxdepth 1", ["/local/deep/", "/local/deep/er"]),
        ("image/version local/deep/e*", ["image/version", "local/deep/er", "local/deep/er/id"]),
        ("-maxdepth 1", [".", "./image", "./local"]),
        ("/ -name id", [f"{T}/a/id", f"{T}/a-b/id", "/local/deep/er/id"]),
        ("/ -name 'a*'", [f"{T}/a", f"{T}/a-b"]),
        ("/ -iname z", [f"{T}/Z"]),
        ("/ -name '[0-9]' -type f", [f"{T}/a/0", f"{T}/a/1", f"{T}/a-b/0", f"{T}/n/m/0"]),
        ("/ -name n/m", [f"{T}/n/m"]),
        ("/ -name /", ["/"]),
        ("/image/ -name image", ["/image/"]),
        ("/ -type d -name '*e*'", ["/image", "/local/deep", "/local/deep/er"]),
        ("/ -type d,f", ALL),
        (f"/ -path '{T}/a*'", [path for path in ALL if path.startswith(f"{T}/a")]),
        ("/ -path '*/topics/*/0'", [f"{T}/a/0", f"{T}/a-b/0", f"{T}/n/m/0"]),
        ("/ -path '/image*m/0'", [f"{T}/n/m/0"]),
        ("/ -path /image/topics/n/m/0", [f"{T}/n/m/0"]),
        ("/ -path '*-b/i*'", [f"{T}/a-b/id"]),
        ("/ -path '*/m/x y'", [f"{T}/n/m/x y"]),
        ("/ -ipath '*/A-B/I*'", [f"{T}/a-b/id"]),
        ("/ -regex '.*s/a-b/?i?d?'", [f"{T}/a-b", f"{T}/a-b/id"]),
        ("/ -iregex '.*S/A-B.*' -type d", [f"{T}/a-b"]),
        ("/ -path '*/a-b' -prune -o -name 0 -print", [f"{T}/a/0", f"{T}/n/m/0"]),
        ("/ -ipath '*/TOPICS'", [T]),
        ("/ -regex '.*/[0-9]'", [f"{T}/a/0", f"{T}/a/1", f"{T}/a-b/0", f"{T}/n/m/0"]),
        ("/ -regex topics", []),
        ("/ -iregex '/IMAGE/V.*'", ["/image/version"]),
        ("/ -mindepth 4 -type f", [p for p in ALL[5:] if p.endswith(("0", "1", "id", "y"))]),
        ("/ -mindepth 3 -maxdepth 3 -type d", [p for p in ALL if p.startswith(f"{T}/")
         and p.count("/") - p.count("n/m") == 3] + ["/local/deep/er"]),
        ("/ -maxdepth 3 -name '*d*'", ["/local/deep"]),
        ("/ ! -path '*/topics*'", [p for p in ALL if "topics" not in p]),
        ("/ ! -name id ! -type d", [p for p in ALL if p.endswith(("/0", "/1", " y", "version"))]),
        ("/ -not -not -name version", ["/image/version"]),
        ("/ -name version -o -name er", ["/image/version", "/local/deep/er"]),
        ("/ ( -name 0 -or -name id ) -and -path '*/a/*'", [f"{T}/a/0", f"{T}/a/id"]),
        ("/ -name 1 -print -o -name er -print", [f"{T}/a/1", "/local/deep/er"]),
        ("/ -name 1 -o -name er -print", ["/local/deep/er"]),
        ("/ -name 1 -print -print", [f"{T}/a/1", f"{T}/a/1"]),
        ("/ -name 0 -print -quit", [f"{T}/a/0"]),
        ("/ -name a -print -quit", [f"{T}/a"]),
        ("/ -type d -name 'a*' -print -o -name 1 -quit", [f"{T}/a"]),
        ("/ / -name 0 -print -quit", [f"{T}/a/0"]),
        ("/ -name topics -prune -o -type f -print", ["/image/version", "/local/deep/er/id"]),
        ("/ -name 'a*' -prune -o -name 0 -print", [f"{T}/n/m/0"]),
        ("/ -name 'a*' -prune", [f"{T}/a", f"{T}/a-b"]),
        ("--encode /image/topics -name 'n*'", [f"{T}/n%2Fm"]),
        ("/image/topics/n%2Fm --encode -type f", [f"{T}/n%2Fm/0", f"{T}/n%2Fm/x%20y"]),
        ("/ --encode -path '*/n%2Fm/*'", [f"{T}/n%2Fm/0", f"{T}/n%2Fm/x%20y"]),
    ],
)  # fmt: skip
def test_what_is_found(shell: Session, words: str, lines: list[str]) -> None:
    """Starts as given, tests from left to right, in the order of the names."""
    assert lines == shell.output(f"find {words}").splitlines()


def test_zero_bytes_instead_of_newlines(shell: Session) -> None:
    """`-print0` ends each path with a zero byte."""
    assert "\0".join(ALL) + "\0" == shell.output("find / -print0")
    assert f"{T}/a/1\0" == shell.output("find / -name 1 -print0")


def test_parentheses_have_a_limit(shell: Session) -> None:
    """Nothing is searched."""
    assert (2, "") == (shell.run("find / " + "( " * 500), shell.out.text)
    assert shell.warnings[0].startswith("find: more than 100 parentheses within each other")


def test_long_expressions_do_not_recurse(shell: Session) -> None:
    """Thousands of tests in a row are fine."""
    many = " -o ".join(["-name no"] * 3000)
    assert "/image/version\n" == shell.output(f"find / {many} -o -name version")
    assert "/image/version\n" == shell.output("find / " + "! " * 3000 + "-name version")


def test_a_start_that_is_missing_does_not_stop_the_rest(shell: Session) -> None:
    """It is reported and the code is 1."""
    assert 1 == shell.run("find /no /image/version")
    assert (["find: /no: No such file or directory"], "/image/version\n") == (
        shell.warnings,
        shell.out.text,
    )


def test_a_terminal_sees_no_control_characters() -> None:
    """Paths are tested as they are and shown escaped."""
    spec: Spec = {"t": {"\x1b": {"\n": ""}, "b": {"\u202e": ""}}}
    for grids in (False, True):
        shell = session(spec, grids=grids, terminal=True)
        lines = ["/", "/t", "/t/\\x1b", "/t/\\x1b/\\n", "/t/b", "/t/b/\\u202e"]
        assert lines == shell.output("find /").splitlines()
        assert lines[-1:] == shell.output("find / -path '*/b/*'").splitlines()
        assert lines[3:4] == shell.output("find / -name '?' -path '*\x1b/*'").splitlines()


def test_encoded_paths_can_be_given_back() -> None:
    """Each line of `find --encode` is a word that leads to its node."""
    names = ["a b", "'", '"', "*", "{x,y}", "\\", "a/b", "", "..", "\n", "|", "%41", "a%2Fb", "-x"]
    spec: Spec = {"d": {name: name for name in names}, "g": {name: {name: name} for name in names}}
    for grids in (False, True):
        shell = session(spec, grids=grids)
        for line in shell.output("find --encode / -type f").splitlines():
            name = shell.output(f"cat {line}")[:-1]
            assert name in names
            assert line == shell.output(f"find --encode {quote_words([line])}")[:-1]


NAMES = st.text("ab/", max_size=2)
LEAVES = st.dictionaries(NAMES, st.just(""), max_size=3)
TREES = st.dictionaries(NAMES, st.dictionaries(NAMES, LEAVES, max_size=4), max_size=3)
TESTS = st.sampled_from(
    ["-name a", "-name 'a*'", "-iname '*B'", "-path '/a*'", "-path '*/a'", "-path '/a/b*'",
     "-path '*/b/*'", "-ipath '*A/B*'", "-regex '.*a/.?'", "-iregex '.*B/A.*'",
     "-type d", "-type f", "-true", "-false"]
)  # fmt: skip
ACTIONS = st.sampled_from(["-print", "-print0", "-prune", "-quit"])
EXPRESSIONS = st.recursive(
    TESTS | ACTIONS,
    lambda below: st.one_of(
        st.lists(below, min_size=2, max_size=3).map(lambda parts: f"( {' '.join(parts)} )"),
        st.lists(below, min_size=2, max_size=3).map(lambda parts: f"( {' -o '.join(parts)} )"),
        below.map(lambda part: f"! {part}"),
    ),
    max_leaves=8,
)
DEPTHS = st.sampled_from(["", "-maxdepth 2", "-mindepth 2", "-maxdepth 1", "-mindepth 3"])


@given(TREES, DEPTHS, EXPRESSIONS, st.booleans())
def test_a_grid_is_searched_as_nodes_are(
    spec: Spec, depths: str, expression: str, encode: bool
) -> None:
    """Whatever the expression, both trees give the same output."""
    line = f"find / {depths} {'--encode' if encode else ''} {expression}"
    assert session(spec).output(line) == session(spec, grids=True).output(line)
