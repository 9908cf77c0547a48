"""What a command is asked for rows, and where it puts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metashell.commands.framework.command import Context
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed
from metashell.dataclass import dataclass
from metashell.errors import UsageError
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
        """What ages are measured from: the present of a live quorum; None for the last record."""
        from metashell.sources.log_clock import present_ms

        return present_ms(self.source)

    @property
    def exact_image(self) -> Image:
        """The same image made of the log itself: see `Source.full_log`."""
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
