"""A program for the terminal tests: the REPL over a small tree in memory."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence

from metashell.errors import DecodeError
from metashell.fs.node import Directory, FixedDirectory, Node, TextLeaf
from metashell.repl import ShellSession, SourceStatus, run

WORKING = "working on it"
"""Said by the leaf that never ends, once it is asked."""


class Numbered(Directory):
    """Very many children: ``n-0000000``, ..., none of them held."""

    def __init__(self, n_children: int) -> None:
        self._range = range(n_children)

    def names(self) -> Sequence[str]:
        return _Names(self._range)

    def child(self, name: str) -> Node | None:
        digits = name.removeprefix("n-")
        if len(digits) == 7 and digits.isdecimal() and int(digits) in self._range:
            return TextLeaf(f"value {digits}")
        return None


class _Names(Sequence[str]):
    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:  # type: ignore[override]
        if isinstance(index, slice):
            return [f"n-{number:07}" for number in self._numbers[index]]
        return f"n-{self._numbers[index]:07}"


class Endless(Directory):
    """A directory within a directory within a directory..."""

    def names(self) -> Sequence[str]:
        return ["deeper", "leaf"]

    def child(self, name: str) -> Node | None:
        return {"deeper": Endless(), "leaf": TextLeaf("here")}.get(name)


def never() -> str:
    """Say that work has begun, and never end it."""
    sys.stderr.write(f"{WORKING}\n")
    sys.stderr.flush()
    threading.Event().wait()
    return ""


def broken() -> str:
    """Fail in a way that no command expects."""
    raise ZeroDivisionError("a defect of ours")


def bottomless() -> str:
    """Call itself."""
    return bottomless()


def unreadable() -> str:
    """Fail as a node does whose bytes are damaged."""
    raise DecodeError("torn in the middle")


def directory(children: Mapping[str, object]) -> Directory:
    """Make a directory from nested dicts; a string or a function is a leaf's text."""

    def maker(value: object) -> Callable[[], Node]:
        if isinstance(value, Directory):
            return lambda: value
        if isinstance(value, dict):
            return lambda: directory(value)
        return lambda: TextLeaf(value)  # type: ignore[arg-type]

    return FixedDirectory({name: maker(value) for name, value in children.items()})


def tree() -> Directory:
    """The tree that the terminal tests walk."""
    return directory(
        {
            "image": {
                "features": {"metadataVersion": "4.4-IV2"},
                "topics": {"byName": {name: {"0": f"{name} 0"} for name in ("bar", "baz", "foo")}},
            },
            "many": Numbered(1_000_000),
            "hundred": Numbered(100),
            "endless": Endless(),
            "never": never,
            "broken": broken,
            "bottomless": bottomless,
            "unreadable": unreadable,
            "hostile": {"\x1b[31mred\u202eder": "a\x1b]0;title\x07b"},
        }
    )


def status() -> SourceStatus:
    """A status with everything in it."""
    return SourceStatus(
        offset=264,
        epoch=3,
        timestamp_ms=1_790_000_049_411,
        metadata_version="4.4-IV2",
        notes=("torn tail\x1b[31m",),
    )


if __name__ == "__main__":
    raise SystemExit(run(ShellSession(root=tree(), source_name="tiny", status=status)))
