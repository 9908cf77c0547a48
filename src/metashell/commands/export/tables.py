"""Tables as files: Parquet, Arrow IPC, CSV and JSON lines, some ten thousand rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.commands.export.destination import STDOUT, ExportPlace, Sink
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.output import WRITERS as ROW_WRITERS
from metashell.commands.shared.unread import status_after
from metashell.commands.sql.cells import as_cells, empty_cells
from metashell.errors import ExitCode, MetashellError, UsageError
from metashell.fs.escape import escape
from metashell.log.unread import Unread, UnreadReport
from metashell.spelling import did_you_mean, near_names
from metashell.sql.tables import find_name, image_names, read_table, table_info

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context
    from metashell.sources.source import Source

_CHUNK_ROWS: Final = 1 << 16
_COMPRESSION: Final = "zstd"


def table_names(source: Source, words: Sequence[str]) -> list[str]:
    """Tables as they are called, each once.

    Raises:
        UsageError: There is no such table.
    """
    found: dict[str, None] = {}
    for word in words:
        name = find_table(source, word)
        if name is None:
            raise _unknown(source, word)
        found[name] = None
    return list(found)


def is_table(source: Source, word: str) -> bool:
    """Whether there is such a table."""
    return find_table(source, word) is not None


def find_table(source: Source, word: str) -> str | None:
    """A table's own name, whatever the case; None where there is none."""
    found = find_name(source.registry, word)
    more = source.coordinator_tables if found is None else None
    return found if more is None else more.find(word)


def _unknown(source: Source, word: str) -> UsageError:
    more = source.coordinator_tables
    if more is None:
        from metashell.sources.coordinator_tables import CoordinatorTables

        if CoordinatorTables(source.settings.schemas).find(word) is not None:
            return UsageError(
                f"{word}: no such table here: it is made of a broker's logs",
                hint="`metashell -d DIR` opens a broker's log directory",
            )
    listed = (*image_names(), *(() if more is None else more.states))
    known = (*listed, *source.registry.by_name, *(() if more is None else more.messages))
    hint = did_you_mean(near_names(word, known, 1)) or f"tables are {', '.join(listed)}"
    return UsageError(f"{word}: no such table", hint=f"{hint}; a record type is one too")


def export_tables(
    context: Context, place: ExportPlace, names: Sequence[str], form: str, to: str | None
) -> int:
    """Write tables, each as a file where there are several or a directory is named.

    Returns:
        The exit code: FAILED where not all of them could be read.

    Raises:
        UsageError: Several can't go to one file.
        MetashellError: It can't be written.
    """
    if to is None or to == STDOUT:
        if len(names) > 1:
            raise UsageError("several tables need a directory", hint="--to DIR")
        if context.out.is_terminal and form in BINARY:
            raise UsageError(f"{form} is not for a terminal", hint="--to FILE, or csv or jsonl")
        return _export(context, place, names[0], form, to)
    if len(names) == 1 and not to.endswith("/") and not os.path.isdir(to):
        return _export(context, place, names[0], form, to)
    files = [os.path.join(to, f"{_file_name(name)}.{form}") for name in names]
    place.check_directory(to)
    if os.path.isdir(to):
        for file in files:
            place.check(file)
    with place.directory(to):
        status, said = int(ExitCode.OK), set[str]()
        for name, file in zip(names, files, strict=True):
            status = _export(context, place, name, form, file, said) or status
    return status


def _file_name(name: str) -> str:
    if "/" in name or name.startswith("."):
        raise MetashellError(f"{escape(name)}: not a name for a file", hint="--to FILE gives one")
    return name


def _export(
    context: Context,
    place: ExportPlace,
    name: str,
    form: str,
    to: str | None,
    said: set[str] | None = None,
) -> int:
    unread = Unread()
    with place.open(to) as sink:
        schema, batches = _rows(context, place.source, name, unread)
        WRITERS[form](sink, schema, batches)
    # Tables of one log remark the same.
    said = set() if said is None else said
    unread.remarks[:] = [remark for remark in unread.remarks if remark not in said]
    said.update(unread.remarks)
    return status_after(context, "export", unread)


def _rows(
    context: Context, source: Source, name: str, unread: Unread
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    def poll() -> None:
        stop_if_cancelled(context)

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, _CHUNK_ROWS):
                poll()
                yield batch.slice(start, _CHUNK_ROWS)

    more = source.coordinator_tables
    if name in source.tables and (more is None or name not in more.states):
        table = source.table(name)
        return table.schema, cut(iter(table.to_batches()))
    schema = table_info(source.registry, name, more).schema
    report = UnreadReport(unread)
    rows = read_table(
        source, more, lambda: source.image, name, schema.names, poll, unread.add, report
    )
    return schema, cut(iter(rows.to_batches()) if isinstance(rows, pa.Table) else rows)


# Formats.


def _parquet(sink: Sink, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    from pyarrow.parquet import ParquetWriter

    with ParquetWriter(sink.binary(), schema, compression=_COMPRESSION) as writer:
        for batch in batches:
            writer.write_batch(batch, row_group_size=_CHUNK_ROWS)


def _arrow(sink: Sink, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    with pa.ipc.new_file(sink.binary(), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _csv(sink: Sink, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    write = ROW_WRITERS["csv"]
    for piece in write(empty_cells(schema, schema.names)):
        sink.text(piece)
    for batch in batches:
        pieces = write(as_cells(batch, schema.names))
        next(pieces)  # The columns' names, once more.
        for piece in pieces:
            sink.text(piece)


def _jsonl(sink: Sink, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    for batch in batches:
        for piece in ROW_WRITERS["jsonl"](as_cells(batch, schema.names)):
            sink.text(piece)


WRITERS: Final[dict[str, Callable[[Sink, pa.Schema, Iterator[pa.RecordBatch]], None]]] = {
    "parquet": _parquet,
    "arrow": _arrow,
    "csv": _csv,
    "jsonl": _jsonl,
}
BINARY: Final = frozenset({"parquet", "arrow"})
