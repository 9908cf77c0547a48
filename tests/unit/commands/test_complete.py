"""Completion: proposals, and that taking one gives a line that means it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from metashell.commands.framework.command_line import split
from metashell.commands.framework.completion import LIMIT, complete_line
from metashell.fs.path import resolve
from support.tree import MemoryDirectory, Session, Spec, session

SPEC: Spec = {
    "image": {
        "topics": {"alpha": {"0": ""}, "al pha": {"0": ""}, "a/b": {"0": ""}, "-x": {}},
        "it's": "",
        "version": "",
        "user(*)": "",
    },
    "local": {},
}


@pytest.fixture
def shell() -> Session:
    """A session over the tree."""
    return session(SPEC)


def taken(shell: Session, line: str) -> list[str]:
    """The lines that taking each proposal gives."""
    return [
        line[: len(line) + completion.start] + completion.text
        for completion in complete_line(shell.context, line)
    ]


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("h", ["health", "help", "history"]),
        (
            "ls -",
            [
                *("ls -1", "ls -d", "ls -l", "ls -t", "ls -r", "ls -R", "ls -a"),
                *("ls -h", "ls -S", "ls -o", "ls --output"),
                *("ls --json", "ls --columns", "ls --sort", "ls --limit", "ls -n"),
                *("ls --verbose", "ls -v", "ls --count", "ls --to", "ls --exit-code"),
                "ls --schema",
            ],
        ),
        ("ls i", ["ls image/"]),
        ("ls /", ["ls /image/", "ls /local/"]),
        ("ls /nothing/", []),
        ("nothing /", []),
        ("cat /image/v", ["cat /image/version"]),
        ("cat /image/u", ["cat /image/user(\\*)"]),
        ("cat '/image/it", ["cat '/image/it'\\''s'"]),
        ("cat /image/'it", ["cat /image/'it'\\''s'"]),
        ('cat "/image/i', ['cat "/image/it\'s"']),
        ("cat /image/it", ["cat /image/it\\'s"]),
        ("ls /image/topics/al", ["ls /image/topics/al\\ pha/", "ls /image/topics/alpha/"]),
        ("ls '/image/topics/al", ["ls '/image/topics/al pha/", "ls '/image/topics/alpha/"]),
        ("ls /image/topics/al\\ ", ["ls /image/topics/al\\ pha/"]),
        ("ls /image/topics/al\\ pha/", ["ls /image/topics/al\\ pha/0"]),
        ("ls /image/topics/a%2F", ["ls /image/topics/a%2Fb/"]),
        ("ls /image/topics/a%2Fb/", ["ls /image/topics/a%2Fb/0"]),
        ("ls /image/topics/a%", ["ls /image/topics/a%2Fb/"]),
        ("ls /IMA", ["ls /image/"]),
        ("ls /image/VER", ["ls /image/version"]),
        ("cd /image/", ["cd /image/topics/"]),
        ("cd / ", []),
        ("man ca", ["man can-upgrade", "man cat"]),
        ("help pw", ["help pwd"]),
        ("find /im", ["find /image/"]),
        ("find / -ty", ["find / -type"]),
        ("find / -type ", ["find / -type d", "find / -type f"]),
        ("find / -name ", []),
        ("find / -type d ", []),
        ("ls -- -", []),
        ("pwd ", []),
        ("exit ", []),
        ("history ", []),
    ],
)
def test_lines_that_are_proposed(shell: Session, line: str, lines: list[str]) -> None:
    """Commands, options, values and paths, quoted as the line is."""
    assert lines == taken(shell, line)


def test_relative_paths_start_at_the_current_directory(shell: Session) -> None:
    """A name that looks like an option gets its `./`."""
    shell.context.cwd = "/image/topics"
    assert ["ls ./-x/", "ls a%2Fb/"] == taken(shell, "ls ")[:2]
    assert ["cat ../version"] == taken(shell, "cat ../v")


def test_the_cursor_may_stand_within_the_line(shell: Session) -> None:
    """What follows the cursor does not count."""
    completions = complete_line(shell.context, "ls /image/ver /local", 13)
    assert ["version"] == [completion.text for completion in completions]


def test_menus_show_no_control_characters() -> None:
    """The display is escaped, the text encoded."""
    shell = session({"a\x1b\n": "", "b": {}})
    found = complete_line(shell.context, "cat ")
    assert [("a%1B%0A", "a\\x1b\\n"), ("b/", "b/")] == [(c.text, c.display) for c in found]


def test_every_proposal_means_its_node() -> None:
    """Whatever the name and the quote, the finished word resolves to the node."""
    names = [
        "a b",
        "'",
        '"',
        "*",
        "{x}",
        "\\",
        "a/b",
        "",
        "..",
        "\n",
        "|",
        "%41",
        "a%2Fb",
        "é",
        "-",
    ]
    for opening in ("", "'", '"'):
        shell = session({"d": dict.fromkeys(names, "")})
        found = [split(line)[1] for line in taken(shell, f"cat {opening}/d/")]
        assert sorted(names) == sorted(
            resolve(shell.context.root, word).names()[-1] for word in found
        )


class _Unlisted(Sequence[str]):
    """Names of which the number alone is known."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: Any) -> Any:
        raise AssertionError("the names are listed")


class Huge(MemoryDirectory):
    """A directory whose names must not be listed."""

    def names(self) -> Sequence[str]:
        return _Unlisted()

    def names_from(self, prefix: str, limit: int) -> list[str]:
        return [f"{prefix}{i}" for i in range(limit)] if prefix.startswith("t") else []

    def last_from(self, prefix: str) -> str:
        return f"{prefix}9999999"

    def child(self, name: str) -> None:
        return None


def test_a_huge_directory_is_not_searched() -> None:
    """Proposals come from `names_from`, a bounded number of them."""
    shell = session(Huge({}, grids=False))
    assert LIMIT == len(complete_line(shell.context, "cat /t1"))
    assert [] == complete_line(shell.context, "cat /x")
