"""The answer of a command in rows: asks for it, writes it, and says in a sentence how it is.

Sentences about an answer as a whole: that it has no rows, or what many rows say together.

They are made of what a command declares: its noun, and the phrases of its options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.framework.command import (
    Canvas,
    Context,
    PagedOutput,
    TableOutput,
    VerdictOutput,
)
from metashell.commands.rows.cell_text import newest_day, short_times
from metashell.commands.rows.columns import CLUSTER, DISK_BYTES, Column
from metashell.commands.rows.query import HISTORY, ROW_OPTIONS, RowsQuery, form_of, status_after
from metashell.commands.rows.stream import RowWriter
from metashell.commands.shared.assume_option import ASSUME
from metashell.commands.shared.wrapped import sentence_lines
from metashell.errors import ExitCode
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from metashell.commands.framework.options import Parsed
    from metashell.commands.rows.command import RowsCommand
    from metashell.commands.rows.output import Shape

_CHOOSES_NOTHING: Final = (ASSUME, HISTORY)
_OF: Final = "of "
"""A phrase that begins so stands behind the noun."""
_HEAD_AND_PROMPT: Final = 2


def nothing(command: RowsCommand, parsed: Parsed) -> str:
    """That there are no rows, such as ``no partition of orders is offline``."""
    noun, _ = command.noun
    behind, conditions = _phrases(command, parsed)
    wanted = _unphrased(command, parsed)
    if wanted and not (behind or conditions):
        return f"no {noun} matches {' '.join(wanted)}"
    if not conditions:
        return f"there is no {noun}{behind}"
    return f"no {noun}{behind} is {' and '.join(conditions)}"


def is_for_screen(context: Context, shape: Shape, n_rows: int) -> bool:
    """Whether rows are more than a terminal's screen, which no pager shows piece by piece."""
    out = context.out
    if shape.form != "table" or shape.count or shape.limit is not None:
        return False
    if isinstance(out, TableOutput) or not out.is_terminal or not isinstance(out, Canvas):
        return False
    has_pager = isinstance(out, PagedOutput) and out.has_pager
    return not has_pager and n_rows + _HEAD_AND_PROMPT > out.height


def summary(command: RowsCommand, parsed: Parsed, table: pa.Table, query: RowsQuery | None) -> str:
    """Such as ``234 partitions of 59 topics are offline, since 08:28:53; cause: ...``.

    Args:
        command: Whose rows they are.
        parsed: Its words.
        table: All rows, with the columns asked for.
        query: The query; None for several clusters.
    """
    singular, plural = command.noun
    n = len(table)
    text = f"{n:,} {singular if n == 1 else plural}"
    if command.counted_by in table.column_names:
        n_others = pc.count_distinct(table.column(command.counted_by)).as_py()
        if n_others < n:
            text += f" of {n_others:,} {command.counted_by}{'' if n_others == 1 else 's'}"
    behind, conditions = _phrases(command, parsed)
    text += behind
    if conditions:
        text += f" {'is' if n == 1 else 'are'} {' and '.join(conditions)}"
        text += "" if query is None else _since(query.since, table)
    cause = "" if query is None else query.cause()
    return f"{text}; cause: {cause}" if cause else text


def _phrases(command: RowsCommand, parsed: Parsed) -> tuple[str, list[str]]:
    """The phrases behind the noun, and those about the rows."""
    found = []
    if parsed.arguments and command.argument_phrase:
        # The partitions of a topic are numbers behind its name.
        words = re.sub(r", (?=[0-9]+(,|$))", " ", ", ".join(parsed.arguments))
        found.append(command.argument_phrase.format(words))
    for option in command.manual.options:
        flag = option.flags[0]
        if option.phrase and (flag in parsed.switches or flag in parsed.values):
            found.append(option.phrase.format(parsed.values.get(flag, "")))
    behind = "".join(f" {phrase}" for phrase in found if phrase.startswith(_OF))
    return behind, [phrase for phrase in found if not phrase.startswith(_OF)]


def _unphrased(command: RowsCommand, parsed: Parsed) -> list[str]:
    """Words that may choose rows, and say nothing of them in a phrase."""
    others = {option.flags[0] for option in (*_CHOOSES_NOTHING, *ROW_OPTIONS)}
    words = [] if command.argument_phrase else list(parsed.arguments)
    for option in command.manual.options:
        flag = option.flags[0]
        if flag in others or option.phrase:
            continue
        if flag in parsed.switches:
            words.append(flag)
        elif flag in parsed.values:
            words += [flag, parsed.values[flag]]
    return words


def _since(name: str, table: pa.Table) -> str:
    """Since when, where every row says so."""
    if name not in table.column_names or table.column(name).null_count:
        return ""
    ends = pc.min_max(table.column(name)).as_py()
    both = pa.table({"at": pa.array([ends["min"], ends["max"]], table.column(name).type)})
    day = newest_day(both)
    if day is None:
        return ""
    first, last = short_times(both.column("at"), day)[0].to_pylist()
    return f", since {first}" if first == last else f", since {first} (the last since {last})"


def _columns_here(
    columns: tuple[Column, ...], context: Context, parsed: Parsed
) -> tuple[Column, ...]:
    """The columns that a source has: people see bytes on disks only where disks are open."""
    is_named = DISK_BYTES.name in " ".join(parsed.values.values())
    if DISK_BYTES not in columns or is_named or form_of(parsed) != "table":
        return columns
    if context.source is not None and context.source.has_logs:
        return columns
    return tuple(column for column in columns if column is not DISK_BYTES)


def _write_verdict(context: Context, verdict: Iterable[str]) -> None:
    """Write the sentences of a verdict and an empty line."""
    said = (sentence_lines(escape(line), context.out.width) for line in (*verdict, ""))
    context.out.write("".join(f"{line}\n" for lines in said for line in lines))


def write_answer(command: RowsCommand, context: Context, parsed: Parsed) -> int:
    """Write the rows that a command's words ask for; returns the exit status."""
    columns = _columns_here(command.columns_of(parsed), context, parsed)
    asks_clusters = command.of_each_cluster and context.fleet is not None
    if asks_clusters:
        columns = (CLUSTER, *columns)
    shape = command.shape_of(parsed, columns)
    writer = RowWriter(context, columns, shape)
    remarks: list[str] = []
    query: RowsQuery | None = None
    verdict = list[str]()
    if asks_clusters:
        from metashell.commands.rows.fleet import answers, with_cluster

        statuses = []
        for answered in answers(context, command, parsed, writer.looked_at):
            writer.add(with_cluster(answered))
            statuses.append(answered.status)
            # That of several clusters is in their rows.
            verdict = [*answered.verdict] if len(statuses) == 1 else []
        if not statuses:
            # Each cluster's reason is told by who runs commands on fleets: no rows are no answer.
            return ExitCode.FAILED
        status = max(statuses)
    else:
        query = RowsQuery(
            context=context,
            parsed=parsed,
            add=writer.add,
            warn=lambda text: context.warn(escape(f"{command.name}: {text}")),
            columns=shape.looked_at(),
            limit=None if shape.sort else shape.limit,
            streams=writer.streams,
            has_history=HISTORY in command.manual.options,
        )
        command.answer(query)
        status, remarks, verdict = query.status, query.remarks, [*query.verdict]
    takes_table = isinstance(context.out, TableOutput)
    if shape.form != "table" or shape.count:
        verdict.clear()
    if verdict and isinstance(context.out, VerdictOutput):
        context.out.take_verdict(verdict)

    def lead(table: pa.Table) -> str:
        if verdict and context.out.is_terminal and not takes_table and len(table):
            _write_verdict(context, verdict)
        is_long = is_for_screen(context, shape, len(table))
        return summary(command, parsed, table, query) if is_long else ""

    n_rows = writer.close(
        lead,
        is_told=status != ExitCode.OK and not takes_table,
    )
    context.n_rows = None if shape.count else n_rows
    is_empty_table = shape.form == "table" and not (n_rows or shape.count)
    if is_empty_table and not (status or remarks or takes_table):
        context.warn(escape(f"{command.name}: {command.nothing(parsed)}"))
    for remark in remarks:
        context.warn(escape(f"{command.name}: {remark}"))
    return status_after(parsed, n_rows, status)
