"""The work that an engine that holds the log, such as Spark, does in this process's place."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Protocol

import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.log.unread import Unread


@dataclass(frozen=True, slots=True)
class Result:
    """Rows that come as they are read."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    """To be read once."""
    is_answer: bool
    """False where the rows only say how many were changed."""
    unread: Unread = field(default_factory=Unread)
    """Data that could not be read for the rows that came by now."""


class DelegatedSearch(Protocol):
    """A search that others do."""

    @property
    def matched(self) -> Container[int]:
        """Once all was told: which of the starts there are."""

    @property
    def missing(self) -> Iterable[str]:
        """Once all was told: nodes that can't be looked at, each with why."""

    @property
    def pieces(self) -> Callable[[], Iterator[Any]]:
        """Gives the parts of the answer, for a search of a fleet that this is a part of."""

    def __iter__(self) -> Iterator[str]:
        """The printed lines, in order."""


class StatementRunner(Protocol):
    """Runs SQL statements over tables."""

    def run(self, statement: str, cancelled: Callable[[], bool]) -> Result:
        """Run a statement; errors as `metashell.sql.duck.Database.run`."""


class Delegate(Protocol):
    """An engine that holds the log."""

    def search(self, args: Sequence[str], cwd: str, *, escapes: bool) -> DelegatedSearch | None:
        """Do what `find` does; None where that is not for them.

        Args:
            args: The words behind ``find``.
            cwd: The current directory.
            escapes: Whether what is printed is for a terminal.
        """

    def statements(self, cwd: str) -> StatementRunner | None:
        """Run SQL on the tables of a directory; None where that is not for them."""


class ClosedDelegate(Delegate, Protocol):
    """An engine that holds the log until it is closed."""

    def close(self) -> None:
        """End what they run."""
