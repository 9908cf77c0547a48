"""Commands that have rows: which are asked for, in what form and order, and of which clusters.

Such a command declares its columns and gives rows to a query, as Arrow tables or as mappings; all
else is decided here. Some have a text of their own and write rows where they are asked to.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metashell.commands.framework.command import (
    IMAGE_IMPORTS,
    Command,
    Completion,
    Context,
    Manual,
)
from metashell.commands.framework.options import Option, Parsed, parse_options
from metashell.commands.rows.columns import CLUSTER, AnswerTable, Column, complete_columns
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.read_settings import OLDER_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.rows.output import Shape
    from metashell.image.image import Image
    from metashell.sources.older import DatedImage
    from metashell.sources.source import Source

RowMapping: TypeAlias = Mapping[str, Any]
"""A row: values by the name of their column; None, or nothing at all, where nothing is known."""

PIECE_ROWS: Final = 1 << 13
"""Rows that are made together where they are written as they are made."""

_WIDE: Final = "wide"
METRICS: Final = "prometheus"
FORMATS: Final = (
    *("table", _WIDE, "json", "jsonl", "csv", "tsv", "yaml", "markdown", "name"),
    METRICS,
)
"""The values of ``-o``."""

_FORMS: Final = "table, wide (all columns), json, jsonl, csv, tsv, yaml or markdown"
_OTHERS: Final = "name writes names alone, and prometheus writes metrics."
OUTPUT: Final = Option(
    ("-o", "--output"),
    f"Write rows as {_FORMS}. Without it as table. {_OTHERS}",
    "FORMAT",
    FORMATS,
)
OUTPUT_INSTEAD: Final = OUTPUT._replace(
    help=f"Write rows with the columns below, as {_FORMS}. {_OTHERS} The options that follow ask "
    "for rows too, as a table without -o.",
)
_JSON: Final = "--json"
SORT_FLAG: Final = "--sort"
COLUMNS_FLAG: Final = "--columns"
_EXIT_CODE: Final = "--exit-code"
LIMIT: Final = Option(
    ("--limit", "-n"), "Show the first N rows only; -5 is short for --limit 5.", "N"
)
VERBOSE: Final = Option(
    ("--verbose", "-v"),
    "In a terminal's table, show times with their date, every state and each partition, and tell "
    "below it what a - means.",
)
TO: Final = Option(
    ("--to",),
    "Write the answer to a file, which appears whole or not at all. An older file is replaced.",
    "FILE",
)
ROW_OPTIONS: Final = (
    OUTPUT,
    Option((_JSON,), "The same as -o json."),
    Option(
        (COLUMNS_FLAG,),
        "Show these columns in this order, separated by commas. `all` stands for every one.",
        "NAMES",
    ),
    Option(
        (SORT_FLAG,),
        "Sort by these columns, separated by commas. A - before the name sorts descending. Nulls "
        "come last.",
        "NAMES",
    ),
    LIMIT,
    VERBOSE,
    Option(("--count",), "Print the number of rows instead."),
    TO,
    Option(
        (_EXIT_CODE,),
        "Exit with 1 if there is any row, or if the answer is not complete; else with 0.",
    ),
)
"""Options of every command that has rows."""

HISTORY: Final = Option(
    ("--history",),
    "Read all files before the newest checkpoint, to tell older times. Up to "
    f"{OLDER_BYTES >> 20} MB of them are read without this option.",
)


def _unknown() -> str:
    return ""


@dataclass(slots=True, kw_only=True)
class RowsQuery:
    """A command's words, of one source, and where its rows go."""

    context: Context
    """Where it is asked; of a fleet that is asked cluster by cluster, the one of this cluster."""
    parsed: Parsed
    """The command's words."""
    add: Callable[[pa.Table | Iterable[RowMapping]], None]
    """Takes rows: all at once or some at a time."""
    warn: Callable[[str], None]
    """Report a diagnostic; the command's name is put in front."""
    columns: frozenset[str] | None = None
    """Columns that will be looked at; rows may leave out others. A table has one at least. None:
    all."""
    limit: int | None = None
    """So many of the first rows are enough; None: all are wanted, or they are sorted."""
    streams: bool = False
    """Whether rows are written as soon as they are there; then `PIECE_ROWS` of them are enough."""
    status: int = 0
    """Set to 1 where something asked for was not there."""
    since: str = ""
    """The column that says since when the rows are what was asked for; empty for none."""
    cause: Callable[[], str] = _unknown
    """Tells why they are, such as ``broker 104 is fenced``; empty where that is not known. Asked
    only where a sentence about all rows is wanted.
    """
    verdict: Iterable[str] = ()
    """Lines that people are told before the rows: a tuple, or data that is also its lines."""
    remarks: list[str] = field(default_factory=list)
    """Diagnostics that come after the rows."""
    has_history: bool = False
    """Whether `HISTORY` is an option of the command."""

    def __post_init__(self) -> None:
        """Look at the tables that are added for times that are not known."""
        take = self.add

        def add(rows: pa.Table | Iterable[RowMapping]) -> None:
            if self.has_history and hasattr(rows, "column_names"):
                self._hint_at_history(rows)
            take(rows)

        self.add = add

    @property
    def source(self) -> Source:
        """The source.

        Raises:
            UsageError: None is open.
        """
        if self.context.source is None:
            raise UsageError("no source given", hint="`metashell -d DIR` opens a metadata log")
        return self.context.source

    @property
    def image(self) -> Image:
        """The image, folded from the oldest state in the directory where the older files are small.

        With ``--history`` it is so however large they are. See `metashell.sources.older`.
        """
        if HISTORY.flags[0] in self.parsed.switches:
            return self.source.full_log.history_image
        return self._dated.image

    @property
    def _dated(self) -> DatedImage:
        """The image of the rows, and why they do not know more times."""
        from metashell.sources.older import DatedImage
        from metashell.sources.source import Source

        source = self.source
        if self.context.reads_older:
            return source.dated_image
        known = Source.dated_image.known(source) or source.undated_image
        return known or DatedImage(source.image)

    @property
    def now_ms(self) -> int | None:
        """The present that ages are measured from, of a live quorum; None for the last record."""
        from metashell.sources.log_clock import present_ms

        return present_ms(self.source)

    @property
    def exact_image(self) -> Image:
        """The image at the same offset, made of the log itself: see `Source.full_log`."""
        image = self.image
        return self.source.full_log.image if image is self.source.image else image

    def _hint_at_history(self, table: pa.Table) -> None:
        """Remark that older files tell the times that rows lack, where they were not read."""
        if self.context.source is None or HISTORY.flags[0] in self.parsed.switches:
            return
        hint = self._dated.hint
        times = [name for name in table.column_names if name.endswith("_time")]
        is_looked_at = self.columns is None or not self.columns.isdisjoint(times)
        if hint is None or hint in self.remarks or not is_looked_at:
            return
        if any(table.column(name).null_count for name in times):
            self.remarks.append(hint)


def form_of(parsed: Parsed) -> str:
    """The form that rows are asked for in, one of `FORMATS`; a wide table is a table.

    Raises:
        UsageError: It is none.
    """
    short = "json" if _JSON in parsed.switches else None
    form = parsed.values.get(OUTPUT.flags[0], short or FORMATS[0])
    if form not in FORMATS:
        raise UsageError(f"-o {form}: not one of {', '.join(FORMATS)}")
    if short not in (None, form):
        raise UsageError(f"-o {form} and {_JSON} exclude each other", hint=f"{_JSON} is -o json")
    return FORMATS[0] if form == _WIDE else form


def is_wide(parsed: Parsed) -> bool:
    """Whether a table is asked for with all columns, whole."""
    return parsed.values.get(OUTPUT.flags[0]) == _WIDE


def limit_of(parsed: Parsed) -> int | None:
    """How many rows are asked for; None for all.

    Raises:
        UsageError: It is no number.
    """
    return parsed.count(LIMIT.flags[0])


def status_after(parsed: Parsed, n_rows: int, otherwise: int = ExitCode.OK) -> int:
    """The exit status after so many rows: the command's own; with ``--exit-code`` rows count."""
    return max(otherwise, ExitCode.FAILED if _EXIT_CODE in parsed.switches and n_rows else 0)


class RowsCommand(Command):
    """A command that has rows."""

    tables: tuple[AnswerTable, ...]
    """The first is the one that comes unasked."""
    noun: tuple[str, str] = ("row", "rows")
    """The name of a row, and of several of them."""
    argument_phrase = ""
    """A phrase about each row for the command's arguments, see `Option.phrase`."""
    counted_by = ""
    """The column whose values a sentence about many rows counts; its name is their noun."""
    of_each_cluster = False
    """Whether each cluster of a fleet is asked for itself; its name stands before its rows."""
    has_text = False
    """Whether it has a text of its own, and writes rows only where their options are given."""
    text_options: tuple[str, ...] = ()
    """Options that shape this text alone."""
    own_options: frozenset[str] = frozenset()
    """Options of rows that it has in a sense of its own, which ask for none."""
    imports: Sequence[str] = (*IMAGE_IMPORTS, "metashell.commands.rows.stream")
    """Modules to import early; by default only the image's for a command with its own text."""

    def __init_subclass__(cls) -> None:
        """Put the options and columns of rows into the manual."""
        super().__init_subclass__()
        if cls.has_text and "imports" not in cls.__dict__:
            cls.imports = IMAGE_IMPORTS
        if "manual" in cls.__dict__:
            cls.manual = manual_with_rows(
                cls.manual, cls.tables, has_text=cls.has_text, own_options=cls.own_options
            )

    @abstractmethod
    def answer(self, query: RowsQuery) -> None:
        """Add the rows to the query, with the columns of `columns_of`.

        Raises:
            UsageError: The arguments are wrong.
            MetashellError: There is no answer.
        """

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Write its own text where it has one; returns the exit status."""
        raise NotImplementedError

    def _write_texts(self, context: Context, parsed: Parsed) -> int:
        """Write the text; of a fleet that of each cluster below its name, if each is asked."""
        from metashell.commands.framework.cluster import contexts_of

        if context.fleet is None or not self.of_each_cluster:
            return self.write_text(context, parsed)
        status = 0
        for name, own in contexts_of(context):
            context.out.write(escape(f"{name}:") + "\n")
            status = max(status, self.write_text(own, parsed))
        return status

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The columns of an answer to these words.

        Raises:
            UsageError: There are none like that.
        """
        return self.tables[0].columns

    def parse(self, args: Sequence[str]) -> Parsed:
        """Sort its words out."""
        return parse_options(self, args)

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Write what is asked for."""
        parsed = self.parse(args)
        path = parsed.values.pop(TO.flags[0], None) if TO in self.manual.options else None
        if path is not None:
            return self._run_to(path, context, parsed)
        return self.run_parsed(context, parsed)

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Run with parsed words."""
        if self.has_text and not self.asking(parsed):
            return self._write_texts(context, parsed)
        return self.write_rows(context, parsed)

    def _run_to(self, path: str, context: Context, parsed: Parsed) -> int:
        from metashell.commands.rows.to_file import written_to

        with written_to(context, path):
            return self.run_parsed(context, parsed)

    def asking(self, parsed: Parsed) -> list[str]:
        """Options that ask for rows, of those given."""
        given = {*parsed.switches, *parsed.values}
        return [
            option.flags[0]
            for option in ROW_OPTIONS
            if option.flags[0] in given and not self.own_options.issuperset(option.flags)
        ]

    def shape_of(self, parsed: Parsed, columns: Sequence[Column]) -> Shape:
        """How rows are to be written.

        Raises:
            UsageError: An option does not go with rows, or a format or a column is unknown.
        """
        given = {*parsed.switches, *parsed.values}
        for flag in self.text_options:
            if flag in given:
                raise UsageError(
                    f"{self.asking(parsed)[0]} and {flag} exclude each other",
                    hint="rows with -o json have stable names of columns",
                )
        from metashell.commands.rows.output import Shape

        shape = Shape.of(parsed, columns, self.own_options)
        if shape.form != METRICS:
            return shape
        own = self.columns_of(parsed)
        of = next((one for one in self.tables if one.columns == own), self.tables[0])
        if not of.measures or shape.count:
            raise UsageError(
                f"{self.name}: -o {METRICS}: this answer has no metrics",
                hint="health, brokers, quorum, offsets --lag and fleet have some",
            )
        return shape.as_metrics(self.name, of.labels, of.measures)

    def write_rows(self, context: Context, parsed: Parsed) -> int:
        """Write rows; returns the exit status."""
        from metashell.commands.rows.answering import write_answer

        return write_answer(self, context, parsed)

    def nothing(self, parsed: Parsed) -> str:
        """Say that an answer has no rows."""
        from metashell.commands.rows.answering import nothing

        return nothing(self, parsed)

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose columns where they are asked for, else as every command does."""
        found = self.complete_row_columns(context, args, word)
        return super().complete(context, args, word) if found is None else found

    def complete_row_columns(
        self, context: Context, args: Sequence[str], word: str
    ) -> list[Completion] | None:
        """Columns that may stand there; None where no columns are asked for."""
        last = args[-1] if args else ""
        is_row_sort = last == SORT_FLAG and (
            SORT_FLAG not in self.own_options or not set(OUTPUT.flags).isdisjoint(args)
        )
        if last != COLUMNS_FLAG and not is_row_sort:
            return None
        try:
            columns = self.columns_of(self.parse(args[:-1]))
        except UsageError:
            columns = self.tables[0].columns
        if self.of_each_cluster and context.fleet is not None:
            columns = (CLUSTER, *columns)
        return complete_columns(columns, word, descending=last == SORT_FLAG)


def manual_with_rows(
    manual: Manual,
    tables: Sequence[AnswerTable],
    *,
    has_text: bool = False,
    own_options: frozenset[str] = frozenset(),
) -> Manual:
    """A manual with the options and columns of rows; arguments as of `RowsCommand`."""
    first, *others = tables
    options = []
    for option in (OUTPUT_INSTEAD if has_text else OUTPUT, *ROW_OPTIONS[1:]):
        flags = tuple(flag for flag in option.flags if flag not in own_options)
        if flags:
            options.append(option._replace(flags=flags))
    return replace(
        manual,
        options=(*manual.options, *options),
        columns=first.documented,
        other_columns=tuple((table.asked_by, table.documented) for table in others),
    )
