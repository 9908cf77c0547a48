"""The questions of programs and notebooks to a source or a fleet: nodes by path, rows of commands.

Commands stand above sources: the module that runs them is imported when rows are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape as escape_html
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import IsADirectoryPathError, NotADirectoryPathError
from metashell.fs.escape import escape
from metashell.fs.node import Directory, JsonValue
from metashell.fs.path import resolve
from metashell.fs.walk import paths

if TYPE_CHECKING:
    import pyarrow as pa

_COMMANDS: Final = "metashell.commands.rows.from_python"


class Questions(ABC):
    """A source or a fleet, as Python asks it."""

    @property
    @abstractmethod
    def root(self) -> Directory:
        """The root of the file system."""

    @property
    @abstractmethod
    def warnings(self) -> Sequence[str]:
        """Sentences that the user should read."""

    @abstractmethod
    def _facts(self) -> Iterable[tuple[str, object]]:
        """A few facts for a notebook, each with its name; None: unknown."""

    # Nodes.

    def ls(self, path: str = "/") -> list[str]:
        """Child names of a directory.

        Raises:
            PathError: Nothing is there, or a leaf.
        """
        node = resolve(self.root, path).node
        if not isinstance(node, Directory):
            raise NotADirectoryPathError(path)
        return list(node.names())

    def cat(self, path: str) -> str:
        """Text of a leaf.

        Raises:
            PathError: Nothing is there, or a directory.
        """
        text: str = self._leaf(path).text()
        return text

    def value(self, path: str) -> JsonValue:
        """Structured value of a leaf; errors as `cat`."""
        value: JsonValue = self._leaf(path).value()
        return value

    def find(self, path: str = "/", **tests: object) -> list[str]:
        """Paths of a node and all below it, depth first, or those that pass the tests of `find`.

        Raises:
            PathError: Nothing is there.
            UsageError: There is no such test.
        """
        node = resolve(self.root, path).node
        if tests:
            found: list[str] = self.rows("find", path, columns="path", **tests)["path"].to_pylist()
            return found
        # A lone surrogate ends each path: no name that was decoded from UTF-8 holds one.
        return "".join(paths(node, path, end="\udfff")).split("\udfff")[:-1]

    def _leaf(self, path: str) -> Any:
        node = resolve(self.root, path).node
        if isinstance(node, Directory):
            raise IsADirectoryPathError(path)
        return node

    # Rows.

    def rows(self, command: str, /, *arguments: object, **options: object) -> pa.Table:
        """The rows of a command, with the columns and values of ``-o json``, typed.

        Each sentence that the command line prints on standard error is a `MetashellWarning`, also
        those about what could not be read.

        Args:
            command: The command's name, such as ``partitions``.
            arguments: Its arguments. Paths begin at the root.
            options: Its options. ``_`` stands for each dash, and one may be added at the end, as in
                ``with_``. A switch is True or False, several values are a list, and None leaves an
                option out.

        Raises:
            UnknownNameError: There is no such command, option or column.
            UsageError: A value is wrong.
            MetashellError: There is no answer.
        """
        table: pa.Table = import_module(_COMMANDS).rows_of(self, command, arguments, options)
        return table

    def changes(self, *paths: object, **options: object) -> pa.Table:
        """Every record that changed these nodes: the rows of the command `changes`."""
        return self.rows("changes", *paths, **options)

    def diff(self, *points: object, **options: object) -> pa.Table:
        """The nodes that differ between two points: the rows of the command `diff`."""
        return self.rows("diff", *points, **options)

    def findings(self, *codes: object, **options: object) -> pa.Table:
        """The findings, the worst first: the rows of the command `health`."""
        return self.rows("health", *codes, **options)

    def sql(self, statement: str, **options: object) -> pa.Table:
        """The answer to an SQL statement; of several, the last one's."""
        return self.rows("sql", statement, **options)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th>{_html(name)}</th><td>{_html(value)}</td></tr>"
            for name, value in self._facts()
            if value is not None
        )
        return f"<table>{cells}</table>"


def _html(value: object) -> str:
    return escape_html(escape(str(value)))
