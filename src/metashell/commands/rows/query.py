"""The options that every command with rows has, and what such a command is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Option, Parsed
from metashell.dataclass import dataclass
from metashell.errors import ExitCode, UsageError
from metashell.read_settings import OLDER_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

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

FILE_FORMS: Final = ("json", "jsonl", "csv", "tsv", "yaml")
"""The forms that the ending of a file's name chooses."""

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
FORM_FLAGS: Final = (OUTPUT.flags[0], _JSON)
SORT_FLAG: Final = "--sort"
COLUMNS_FLAG: Final = "--columns"
COUNT: Final = "--count"
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
SCHEMA: Final = Option(
    ("--schema",),
    "Print the JSON Schema of a row of -o json instead. It needs no source.",
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
    Option((COUNT,), "Print the number of rows instead."),
    TO,
    Option(
        (_EXIT_CODE,),
        "Exit with 1 if there is any row, or if the answer is not complete; else with 0.",
    ),
    SCHEMA,
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
