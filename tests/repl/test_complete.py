"""Completion of a line, as prompt_toolkit gets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import fragment_list_to_text

from metashell.commands.framework.command import Context
from metashell.fs.node import Directory
from metashell.repl.complete import LineCompleter
from support.tiny_shell import directory, tree


class Discard:
    """An output that nobody looks at."""

    is_terminal = False
    width = 80

    def write(self, text: str) -> None:
        """Drop it."""

    def flush(self) -> None:
        """Nothing is held."""


def complete(line: str, root: Directory | None = None, cwd: str = "/") -> list[str]:
    """Return the lines that the proposals lead to."""
    context = Context(root=root or tree(), out=Discard(), warn=lambda _: None, cwd=cwd)
    completer = LineCompleter(lambda: context)
    document = Document(line, len(line))
    return [
        line[: len(line) + item.start_position] + item.text
        for item in completer.get_completions(document, CompleteEvent())
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fi", ["find "]),
        ("  ca", ["  can-upgrade ", "  cat "]),
        ("zz", []),
        ("zz /im", []),
        ("ls /im", ["ls /image/"]),
        (
            "ls /image/topics/byName/ba",
            ["ls /image/topics/byName/bar/", "ls /image/topics/byName/baz/"],
        ),
        ("cat /image/features/m", ["cat /image/features/metadataVersion "]),
        ("ls '/im", ["ls '/image/"]),
        ("# ls /im", []),
    ],
)
def test_complete(line: str, expected: list[str]) -> None:
    """Commands come first, then paths."""
    assert expected == complete(line)


def test_all_commands() -> None:
    """An empty line offers every command."""
    assert {"cat ", "cd ", "exit ", "find ", "help ", "ls ", "man ", "tree "} <= set(complete(""))


def test_options() -> None:
    """A dash offers the command's options."""
    assert any(line.startswith("tree -L") for line in complete("tree -"))


def test_relative_path() -> None:
    """A path without a slash is looked up where the shell stands."""
    assert ["ls topics/"] == complete("ls to", cwd="/image")


def test_million_children() -> None:
    """A directory of a million children is not listed for one word."""
    assert ["cat /many/n-0999999 "] == complete("cat /many/n-0999999")


def test_menu_is_escaped() -> None:
    """A hostile name neither steers the terminal from the menu nor from the line."""
    context = Context(root=tree(), out=Discard(), warn=lambda _: None)
    line = "cat /hostile/"
    items = list(LineCompleter(lambda: context).get_completions(Document(line), CompleteEvent()))
    assert 1 == len(items)
    for text in (items[0].text, fragment_list_to_text(items[0].display)):
        assert not {"\x1b", "\u202e"} & set(text)


def test_broken_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that fails proposes nothing."""
    monkeypatch.delenv("METASHELL_DEBUG", raising=False)

    class Broken(Directory):
        def names(self) -> list[str]:
            raise ZeroDivisionError

        def child(self, name: str) -> None:
            raise ZeroDivisionError

    assert [] == complete("ls /x/", directory({"x": Broken()}))


def test_programs_behind_a_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's shell is offered its programs, then file names."""
    (tmp_path / "frobnicate").write_text("#!/bin/sh\n")
    (tmp_path / "frobnicate").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert ["ls | frobnicate"] == complete("ls | frob")
    assert ["!frobnicate"] == complete("!frob")
    assert ["ls | cat | frobnicate"] == complete("ls | cat | frob")
    assert ["ls | tee frobnicate"] == complete("ls | tee frob")
