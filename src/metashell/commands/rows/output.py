"""Writing rows: which columns, in what order, and in which form.

A table for people is drawn by `metashell.commands.rows.drawn_table`. Everything goes out some ten
thousand rows at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.framework.command import Context, RowsOutput, TableOutput
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.cell_text import (
    is_json,
    is_list,
    json_texts,
    plain,
    plain_column,
    plain_texts,
    replaced,
)
from metashell.commands.rows.columns import BEFORES, CLUSTER, IDENTIFYING, Column
from metashell.commands.rows.drawn_table import Table, write_table
from metashell.commands.rows.metrics import Metrics, metrics_text
from metashell.commands.rows.query import COUNT, LIMIT, METRICS, VERBOSE, form_of, is_wide, limit_of
from metashell.commands.rows.yaml_text import yaml_text
from metashell.dataclass import dataclass
from metashell.errors import UnknownNameError, UsageError
from metashell.fs.escape import escape
from metashell.schema.dump import text_to_json, to_json
from metashell.spelling import did_you_mean, near_names

_CHUNK_ROWS: Final = 1 << 15
_NAMED_ONCE: Final = ("csv", "tsv", "markdown")
"""Forms that begin with the names of the columns."""
_NAME: Final = "name"
_FOR_PEOPLE: Final = ("table", "markdown")
"""Forms that leave out some columns."""
_WHOLE: Final = ("table", METRICS)
"""Forms that need all rows."""
_SURROGATE: Final = "\\ud"
_IN_TSV: Final = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
_IN_MARKDOWN: Final = (
    *(("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;")),
    *(("\r", " "), ("\n", "<br>")),
)
_ODD_IN_CSV: Final = '[",\r\n]|^$|^ | $'


@dataclass(frozen=True, slots=True)
class Shape:
    """How rows are to be written."""

    form: str
    """One of `FORMATS`."""
    columns: tuple[str, ...]
    """Names of the columns, in order."""
    sort: tuple[tuple[str, bool], ...]
    """(column, whether descending)."""
    count: bool
    """Whether only their number is written."""
    limit: int | None = None
    """How many rows are written; None for all."""
    declared: tuple[Column, ...] = ()
    """All columns of the answer."""
    named: tuple[str, ...] = ()
    """The columns that the user named; a terminal shows all of them."""
    verbose: bool = False
    """Whether a terminal's table has whole times and lists."""
    metrics: Metrics | None = None
    """The metrics, where rows are written as such."""

    @classmethod
    def of(
        cls, parsed: Parsed, columns: Sequence[Column], own_options: frozenset[str] = frozenset()
    ) -> Shape:
        """The shape that a command's words ask for; `own_options` as of `RowsCommand`.

        Raises:
            UsageError: A format or a column is unknown.
        """
        form = form_of(parsed)
        names = [column.name for column in columns]
        given = _names(parsed.values.get("--columns"), "--columns")
        is_for_people = form in _FOR_PEOPLE and not is_wide(parsed)
        chosen = given or [c.name for c in columns if c.shown or not is_for_people]
        if form == _NAME and not given:
            own = takewhile(lambda column: column.priority == IDENTIFYING, columns)
            chosen = [column.name for column in own] or chosen[:1]
        chosen = [one for name in chosen for one in (names if name == "all" else [name])]
        for name in chosen:
            _known("--columns", name, names)
        sort = []
        for word in _names(parsed.values.get("--sort"), "--sort"):
            name = word.removeprefix("-")
            _known("--sort", name, names)
            sort.append((name, word.startswith("-")))
        return cls(
            form,
            tuple(dict.fromkeys(chosen)),
            tuple(sort),
            COUNT in parsed.switches,
            limit=None if LIMIT.long in own_options else limit_of(parsed),
            declared=tuple(columns),
            named=tuple(chosen) if given or is_wide(parsed) else (),
            verbose=VERBOSE.flags[0] in parsed.switches or is_wide(parsed),
        )

    def as_metrics(self, command: str, labels: tuple[str, ...], measures: tuple[str, ...]) -> Shape:
        """The shape of metrics: labels, and the measures among the columns that were chosen."""
        labels = (*([CLUSTER.name] if CLUSTER in self.declared else []), *labels)
        chosen = tuple(name for name in measures if name in self.columns)
        metrics = Metrics(command=command, labels=labels, measures=chosen)
        return replace(self, columns=(*labels, *chosen), sort=(), metrics=metrics)

    @property
    def is_whole(self) -> bool:
        """Whether the form needs all rows before it can be written."""
        return self.form in _WHOLE

    def looked_at(self) -> frozenset[str]:
        """The columns that are written or sorted by."""
        if self.count:
            return frozenset()
        befores = [BEFORES[name] for name in self.columns if name in BEFORES]
        shown = befores if self.form == "table" else []
        return frozenset([*self.columns, *(name for name, _ in self.sort), *shown])


def _names(value: str | None, flag: str) -> list[str]:
    if value is None:
        return []
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise UsageError(f"{flag} {value}: names separated by commas are wanted")
    return names


def _known(flag: str, name: str, names: Sequence[str]) -> None:
    if name in names:
        return
    hint = did_you_mean(near_names(name, names, 1)) or f"the columns are {', '.join(names)}"
    raise UnknownNameError(f"{flag}: there is no column {name}", hint=hint)


class PieceWriter:
    """Writes the rows of tables, which have the same columns, as one table for programs.

    Args:
        context: Where to.
        shape: The columns and the form asked for; see `fits`.
    """

    def __init__(self, context: Context, shape: Shape) -> None:
        self._context, self._shape = context, shape
        self._taker = context.out if isinstance(context.out, RowsOutput) else None
        self._taken: list[pa.Table] = []
        self.n_rows = 0
        """How many rows were written."""

    @staticmethod
    def fits(shape: Shape) -> bool:
        """Whether rows can be written before the last one is known."""
        return not (shape.is_whole or shape.sort or shape.count)

    def write(self, table: pa.Table) -> None:
        """Write some rows."""
        is_first = not self.n_rows
        self.n_rows += len(table)
        if self._taker is not None:
            self._taken.append(plain(table.select(list(self._shape.columns))))
        elif len(table):
            for text in self._pieces(table.select(list(self._shape.columns)), is_first=is_first):
                stop_if_cancelled(self._context)
                self._context.write(text)

    def close(self, empty: pa.Table) -> None:
        """Write what must stand at the end.

        Args:
            empty: A table with the columns, whose form is written where there were no rows.
        """
        if self._taker is not None:
            none = plain(empty.select(list(self._shape.columns)))
            self._taker.take_rows(pa.concat_tables(self._taken) if self.n_rows else none)
        elif not self.n_rows:
            for text in WRITERS[self._shape.form](empty.select(list(self._shape.columns))):
                self._context.write(text)
        elif self._shape.form == "json":
            self._context.write("\n]\n")

    def _pieces(self, table: pa.Table, *, is_first: bool) -> Iterator[str]:
        form = self._shape.form
        if form == "json":
            # The objects of JSON lines, in which no line ends.
            between = "[\n" if is_first else ",\n"
            for text in WRITERS["jsonl"](table):
                yield between + text.rstrip("\n").replace("\n", ",\n")
                between = ",\n"
            return
        pieces = WRITERS[form](table)
        if form in _NAMED_ONCE and not is_first:
            next(pieces)
        yield from pieces


def write_rows(context: Context, table: pa.Table, shape: Shape, lead: str = "") -> int:
    """Write a table.

    Args:
        context: Where to.
        table: Has a column for each that the shape names; see `cell_text` for their types.
        shape: The columns and the form asked for.
        lead: A sentence about all rows, for more of them than a screen has; empty for none.

    Returns:
        The number of rows.
    """
    if shape.sort:
        table = sort_rows(table, shape.sort)
    if shape.limit is not None:
        table = table.slice(0, shape.limit)
    n_rows = len(table)
    if shape.count:
        context.out.write(f"{n_rows}\n")
        return n_rows
    befores = {
        name: table.column(BEFORES[name])
        for name in shape.columns
        if BEFORES.get(name) in table.column_names
    }
    table = table.select(list(shape.columns))
    if shape.form == "table" and isinstance(context.out, TableOutput):
        context.out.take(with_colours(table, shape.declared))
        return n_rows
    table = plain(table)
    if shape.metrics is not None:
        for text in metrics_text(table, shape.declared, shape.metrics):
            context.out.write(text)
    elif shape.form != "table":
        writer = PieceWriter(context, shape)
        writer.write(table)
        writer.close(table)
    elif n_rows or not context.out.is_terminal:
        _write_table(context, table, befores, shape, lead)
    return n_rows


def _write_table(
    context: Context,
    table: pa.Table,
    befores: Mapping[str, pa.ChunkedArray],
    shape: Shape,
    lead: str,
) -> None:
    """Write a table for people; to a terminal not even a head where there are no rows."""
    drawn = Table.of(
        table,
        {column.name: column for column in shape.declared},
        befores,
        short=context.out.is_terminal and not shape.verbose,
        whole_lists=bool(shape.named),
        named=[*shape.named, *(name for name, _ in shape.sort)],
    )
    lead = escape(lead)
    if lead:
        context.out.write(f"{lead}\n\n")
    # The beginning is out of sight by then.
    notes = (f"{lead}; -n 20 shows the first 20",) if lead else ()
    write_table(context, drawn, notes=notes, explains=shape.verbose)


def sort_rows(table: pa.Table, keys: Sequence[tuple[str, bool]]) -> pa.Table:
    """Rows in another order, equal ones as they were; nulls last; lists and JSON as texts."""
    by = {}
    for i, (name, _) in enumerate(keys):
        column = plain_column(table.column(name))
        as_text = is_list(column.type) or is_json(column.type)
        by[f"{i}"] = plain_texts(column) if as_text else column
    # Arrow's sort is stable, and puts nulls last by default.
    order = [(f"{i}", "descending" if down else "ascending") for i, (_, down) in enumerate(keys)]
    return table.take(pc.sort_indices(pa.table(by), sort_keys=order))


# For programs.


def _chunks(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, len(table), _CHUNK_ROWS):
        yield table.slice(start, _CHUNK_ROWS)


def _json_objects(table: pa.Table) -> pa.Array:
    """A JSON object for each row."""
    pieces: list[object] = []
    for i, name in enumerate(table.column_names):
        pieces += [f"{', ' if i else ''}{text_to_json(name)}: ", json_texts(table.column(i))]
    return pc.binary_join_element_wise("{", *pieces, "}", "")


def _jsonl(table: pa.Table) -> Iterator[str]:
    for chunk in _chunks(table):
        yield "\n".join(_json_objects(chunk).to_pylist()) + "\n"


def _json(table: pa.Table) -> Iterator[str]:
    yield "["
    between = "\n"
    for chunk in _chunks(table):
        yield between + ",\n".join(_json_objects(chunk).to_pylist())
        between = ",\n"
    yield "\n]\n" if len(table) else "]\n"


def _csv(table: pa.Table) -> Iterator[str]:
    """RFC 4180, but with line feeds alone, as programs here expect them."""
    names = pa.table({name: [name] for name in table.column_names})
    for chunk in (names, *_chunks(table)):
        cells = [_csv_texts(column) for column in _plain(chunk).columns]
        if len(cells) == 1:
            # Readers take an empty line for no row at all.
            cells = [pc.if_else(pc.equal(cells[0], ""), '""', cells[0])]
        lines = pc.binary_join_element_wise(*cells, ",")
        yield "\n".join(lines.to_pylist()) + "\n"


def _csv_texts(column: pa.ChunkedArray) -> pa.Array:
    """Cells in quotes where they need them; null is nothing, an empty text is ``""``."""
    odd = pc.match_substring_regex(column, _ODD_IN_CSV)
    texts = column
    if pc.any(odd, min_count=0).as_py():
        doubled = pc.replace_substring(column, '"', '""')
        texts = pc.if_else(odd, pc.binary_join_element_wise('"', doubled, '"', ""), column)
    return pc.fill_null(texts, "")


def _tsv(table: pa.Table) -> Iterator[str]:
    r"""Tabs between; a tab, line end or backslash in a cell is written ``\t \n \r \\``."""
    yield "\t".join(table.column_names) + "\n"
    for chunk in _chunks(table):
        cells = [_tsv_texts(column) for column in _plain(chunk).columns]
        lines = pc.binary_join_element_wise(*cells, "\t")
        yield "\n".join(lines.to_pylist()) + "\n"


def _tsv_texts(column: pa.ChunkedArray) -> pa.Array:
    return replaced(pc.fill_null(column, ""), _IN_TSV)


def _markdown(table: pa.Table) -> Iterator[str]:
    r"""A table of GitHub's Markdown: numbers to the right, ``|`` in a cell as ``\|``."""
    marks = ["---:" if _is_number(column.type) else "---" for column in table.columns]
    yield f"| {' | '.join(table.column_names)} |\n| {' | '.join(marks)} |\n"
    for chunk in _chunks(table):
        cells = [_markdown_texts(column) for column in _plain(chunk).columns]
        lines = pc.binary_join_element_wise(*cells, " | ")
        yield "".join(f"| {line} |\n" for line in lines.to_pylist())


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _markdown_texts(column: pa.ChunkedArray) -> pa.Array:
    return replaced(pc.fill_null(column, ""), _IN_MARKDOWN)


def _names_alone(table: pa.Table) -> Iterator[str]:
    """A line for each row: its name, such as ``orders-3``, or the columns that were named."""
    for chunk in _chunks(table):
        cells = [_tsv_texts(column) for column in _plain(chunk).columns]
        yield "\n".join(pc.binary_join_element_wise(*cells, "-").to_pylist()) + "\n"


def _yaml(table: pa.Table) -> Iterator[str]:
    if not len(table):
        yield "[]\n"
    names = table.column_names
    for chunk in _chunks(table):
        columns = [_yaml_values(column) for column in chunk.columns]
        yield yaml_text([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])


def _yaml_values(column: pa.ChunkedArray) -> list[object]:
    if is_json(column.type):
        return [_json_value(text) for text in plain_texts(column).to_pylist()]
    is_time = pa.types.is_timestamp(column.type)
    values: list[object] = (plain_texts(column) if is_time else column).to_pylist()
    return values


def _json_value(text: str | None) -> object:
    """The value of a JSON text; the text itself where YAML can't hold it: a lone surrogate."""
    if text is None:
        return None
    value: object = json.loads(text)
    if _SURROGATE in text.casefold():
        try:
            to_json(value).encode()
        except UnicodeEncodeError:
            return text
    return value


def _plain(table: pa.Table) -> pa.Table:
    return pa.table(
        {name: plain_texts(table.column(i)) for i, name in enumerate(table.column_names)}
    )


WRITERS: Final[Mapping[str, Callable[[pa.Table], Iterator[str]]]] = {
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "tsv": _tsv,
    "yaml": _yaml,
    "markdown": _markdown,
    _NAME: _names_alone,
}
"""The formats for programs: pieces of text that together are the table."""
