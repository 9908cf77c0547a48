"""The definition of a command, and the context that it runs in.

A command is a value: a name, a manual, a parser of its own options, `run` and `complete`. It writes
data to `Context.out` and diagnostics through `Context.warn`; it never prints, never asks, never
exits the process, and knows no front end. One-shot, the REPL and the explorer call the same
commands with contexts of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args, runtime_checkable

from metashell.commands.framework.aliases import NO_HABITS, Habits
from metashell.commands.framework.options import Option
from metashell.dataclass import dataclass
from metashell.errors import NoLeaderError, UsageError
from metashell.fs.escape import for_terminal
from metashell.fs.node import Directory

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.request import OpenRequest
    from metashell.sources.source import Source

Group = Literal["look", "what is wrong", "history", "access", "groups", "whole cluster", "shell"]
"""The groups of commands."""
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
"""The groups in the order in which ``help`` shows them."""


IMAGE_IMPORTS: Final = ("numpy", "metashell.image.image", "metashell.schema.native")
"""Modules of which an image is made."""


class Output(Protocol):
    """Where data goes."""

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it: columns, colour and escaping of control characters."""

    @property
    def width(self) -> int:
        """Columns of the terminal at this moment; 80 where there is none."""

    def write(self, text: str) -> None:
        """Write text; a terminal escapes what steers it (`metashell.fs.escape.for_terminal`).

        Raises BrokenPipeError where the reader is gone.
        """

    def flush(self) -> None:
        """Let the reader have what was written; raises as `write`."""


@runtime_checkable
class Canvas(Output, Protocol):
    """A terminal's output that can be drawn over."""

    @property
    def height(self) -> int:
        """Rows of the terminal at this moment."""

    def paint(self, text: str) -> None:
        """Write text with the sequences that steer the terminal, at once and past any pager.

        Whatever comes from a cluster must have been escaped.
        """


@runtime_checkable
class PagedOutput(Output, Protocol):
    """A terminal's output that a pager may show."""

    @property
    def has_pager(self) -> bool:
        """Whether what is longer than the screen goes to a pager."""


@runtime_checkable
class TableOutput(Output, Protocol):
    """An output that takes a table for people as it is, and shows it in a way of its own."""

    def take(self, table: pa.Table) -> None:
        """Take the rows in the order asked for, with the columns asked for."""


@runtime_checkable
class RowsOutput(Output, Protocol):
    """An output that takes rows for programs as a table, in place of a format's text."""

    def take_rows(self, table: pa.Table) -> None:
        """Take all rows of an answer."""


@runtime_checkable
class VerdictOutput(TableOutput, Protocol):
    """One that also takes what is said before the rows, as data beside its text."""

    def take_verdict(self, verdict: Iterable[str]) -> None:
        """Take the verdict on one cluster; iterating gives its lines."""


@dataclass(frozen=True, slots=True)
class Nowhere:
    """The output of what writes nothing, such as completion."""

    is_terminal: bool = False
    width: int = 80

    def write(self, text: str) -> None:
        """Drop it."""

    def flush(self) -> None:
        """Nothing is held back."""


class LineMode(Protocol):
    """A reader of a shell's lines in place of commands, until it ends itself."""

    @property
    def prompt(self) -> str:
        """The prompt before the next line."""

    def run(self, context: Context, line: str) -> int:
        """Take a line, run what is complete, and return the exit code; errors as a command's.

        Sets `Context.mode` to None to end itself.
        """

    def give_up(self) -> None:
        """Forget a statement that is not complete yet: ^C."""

    def complete(self, context: Context, line: str) -> list[Completion]:
        """Propose what may stand at the end of a line."""

    def highlight(self, line: str) -> list[tuple[str, str]]:
        """Split a line into (kind, text), kinds as those of command lines."""


@dataclass(slots=True)
class Context:
    """Everything that a running command can reach."""

    root: Directory
    """The root of the file system."""
    out: Output
    warn: Callable[[str], None]
    """Report a diagnostic line on stderr, such as ``cat: /x: No such file or directory``."""
    cwd: str = "/"
    """The current directory: absolute, normalised. `cd` changes it."""
    previous_cwd: str | None = None
    """Where ``cd -`` goes; None before the first `cd`."""
    interactive: bool = False
    """True in a REPL (``cd``, ``exit`` and ``history`` make sense there)."""
    refuses_names: bool = False
    """Whether a name that names nothing is an error, as a program expects; people get the rest."""
    runs_programs: bool = False
    """Whether ``|`` and ``!`` start programs of the system: the terminal is ours to hand on."""
    history: Sequence[str] = ()
    """Lines entered before, oldest first."""
    exit_requested: bool = False
    """Set by `exit`; the front end then leaves."""
    exit_status: int | None = None
    """The status that `exit` was given; None where that is the front end's choice."""
    cancelled: Callable[[], bool] = field(default=lambda: False)
    """Polled in long loops by front ends that can't interrupt a thread."""
    source: Source | None = None
    """The opened source behind `root`; None where there is only a tree, or a fleet. See
    `needs_source`.
    """
    fleet: FleetSource | None = None
    """The fleet behind `root`, where several directories were opened; then there is no `source`."""
    habits: Habits = NO_HABITS
    """Aliases and default options of commands."""
    reads_older: bool = True
    """Whether rows wait for small older files, which tell times. Without it they are there at once,
    with the times that are known."""

    lost: NoLeaderError | None = None
    """Why there is no source: no leader of the quorum answers. Few commands know what to say."""
    to_open: OpenRequest | None = None
    """The source that the user chose, for a command that `opens` it itself."""
    mode: LineMode | None = None
    """The reader of a shell's lines in place of commands; None for none."""
    kept: dict[str, Any] = field(default_factory=dict)
    """Data that commands keep from one run to the next, by their names."""
    n_rows: int | None = None
    """Rows that the last command printed; None where it printed something else."""
    n_lines: int = 0
    """Lines that the file behind the last ``>`` got."""

    def write(self, text: str) -> None:
        """Write data, for a terminal with what steers it escaped; see `for_terminal`."""
        self.out.write(for_terminal(text) if self.out.is_terminal else text)

    def needs_source(self) -> Source:
        """The source, for commands that look behind the tree.

        Raises:
            UsageError: There is none, or a fleet, of which it takes one cluster.
        """
        if self.fleet is not None:
            from metashell.commands.framework.cluster import which_cluster_error

            raise which_cluster_error(self.fleet)
        if self.source is None:
            raise UsageError("no source given", hint="`metashell -d DIR` opens a metadata log")
        return self.source.full_log

    def needs_metadata(self) -> Source:
        """The source, for commands that take its log for a metadata log.

        Raises:
            UsageError: No source is open; see `needs_source`.
            SourceError: It has coordinators' logs alone.
        """
        source = self.needs_source()
        if not source.capabilities.has_image:
            _ = source.image  # which says why there is none
        return source

    @property
    def opened(self) -> Source | FleetSource | None:
        """The opened source or fleet."""
        return self.source or self.fleet

    def show(self, opened: Source | FleetSource) -> None:
        """Stand on what was opened, or on another state of it."""
        from metashell.sources.source import Source

        self.source = self.fleet = None
        if isinstance(opened, Source):
            self.source = opened
        else:
            self.fleet = opened
        self.root = opened.root


@dataclass(frozen=True, slots=True)
class Manual:
    """A command's page, rendered by ``man`` and into docs/."""

    synopsis: str
    """Such as ``ls [-1dR] [PATH...]``."""
    description: str = ""
    """Paragraphs separated by blank lines; by default those of the command's docstring."""
    options: tuple[Option, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    """(command line that works on the demo directory, what it does); each is run by a test."""
    columns: tuple[tuple[str, str], ...] = ()
    """(name, meaning) of the columns of a command that has rows."""
    other_columns: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """The columns of the command's other tables, each behind the words that ask for the table."""
    constants: tuple[tuple[str, str], ...] = ()
    """Words of the docstring, each with what the manual has in its place."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One proposal for the word under the cursor."""

    text: str
    """The replacement for the word, quoted for the line."""
    start: int
    """Where the replacement begins, as a (non-positive) distance from the cursor."""
    display: str
    """The text in the menu: the last component, with ``/`` after a directory."""
    meta: str = ""
    """A short remark beside it."""


class Command(ABC):
    """One command of the shell.

    The docstring of a command is its manual: a summary of one line, then paragraphs.
    """

    name: str
    """The name of its module."""
    summary: str
    """One line for ``help``."""
    group: Group
    """The group in which ``help`` lists it."""
    manual: Manual
    takes_paths: bool = False
    """Whether its arguments are paths of the tree."""
    one_cluster: bool = False
    """True where it looks behind the tree at one cluster; of a fleet it is then given that one."""
    judges_lost_quorum: bool = False
    """True where it says what is wrong with a quorum of which no leader answers: `Context.lost`."""
    opens: bool = False
    """True where it opens what the command line chooses: also directories that cannot be opened."""
    shell_only: bool = False
    """True where the command means nothing outside a REPL."""
    imports: Sequence[str] = IMAGE_IMPORTS
    """Modules that it imports to look at the image: they can be imported while files are read."""

    def __init_subclass__(cls) -> None:
        """Name the command as its module is called, and read its docstring."""
        super().__init_subclass__()
        own = cls.__dict__
        if "name" not in own:
            cls.name = cls.__module__.split(".")[2].replace("_", "-")
        if "manual" in own:
            text = cls.__doc__ or ""
            for word, value in cls.manual.constants:
                text = text.replace(word, value)
            summary, *paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
            cls.summary = own.get("summary", summary)
            if not cls.manual.description:
                cls.manual = replace(cls.manual, description="\n\n".join(paragraphs))

    def asks_each(self, args: Sequence[str]) -> bool:
        """Whether these words ask each cluster of a fleet where none is chosen: `one_cluster`."""
        return False

    @abstractmethod
    def run(self, context: Context, args: Sequence[str]) -> int:
        """Run with the words after the command's name.

        Returns:
            0, or 1 where something asked for was not there; what could be done was done.

        Raises:
            UsageError: The arguments are wrong.
            MetashellError: Nothing could be done.
        """

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose values for `word`, the (unquoted) last word, given the words before it.

        Behind an option these are its values, after a ``-`` options, and otherwise arguments.
        """
        from metashell.commands.framework.completion import complete_option

        found = complete_option(self.manual.options, context, args, word)
        return self.propose(context, args, word) if found is None else found

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose arguments: by default paths, where the command `takes_paths`."""
        from metashell.commands.framework.completion import complete_paths

        return complete_paths(context, word) if self.takes_paths else []
