"""Asking clusters for rows: one after the other here, or those of a fleet many at a time elsewhere.

Elsewhere are other processes of this machine or Spark's executors, as for all rows of a fleet; what
a question and its answer hold must therefore be picklable. Nobody can tell from the rows, warnings
and status where they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metashell.commands.framework.cluster import context_of, member_at, warn_of
from metashell.commands.framework.command import Context, Nowhere
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.columns import CLUSTER
from metashell.commands.rows.query import HISTORY, RowMapping, RowsQuery
from metashell.commands.rows.stream import chunks, table_of_mappings
from metashell.commands.shared.assume_option import ASSUME, assumptions_of
from metashell.dataclass import dataclass
from metashell.errors import UsageError
from metashell.redact import Redaction
from metashell.sources.engine import core_count
from metashell.sources.fleet.member import error_fields, error_of, why

if TYPE_CHECKING:
    from metashell.commands.rows.command import RowsCommand
    from metashell.sources.fleet.member import FleetMember
    from metashell.sources.fleet.reading import Reading
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source


@dataclass(frozen=True, slots=True)
class Answered:
    """One cluster's answer."""

    cluster: str | None
    """Its name in the fleet; None without one."""
    table: pa.Table
    status: int
    verdict: Iterable[str]
    """`RowsQuery.verdict` of the cluster; picklable."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to clusters that another process answers."""

    command: RowsCommand
    parsed: Parsed
    columns: frozenset[str] | None


def answers(
    context: Context, command: RowsCommand, parsed: Parsed, columns: frozenset[str] | None
) -> Iterator[Answered]:
    """Ask the source, or of a fleet the cluster of the current directory, else each in its order.

    One that can't be read has no answer, and is told of by who runs commands on fleets.

    Raises:
        UsageError: No source is open, or the words are wrong.
        MetashellError: The source has no answer; of a fleet that costs its own rows alone.
    """
    if ASSUME.flags[0] in parsed.values:
        assumptions_of(parsed)
    fleet = context.fleet
    if fleet is not None:
        yield from _of_fleet(context, fleet, Question(command, parsed, columns))
        return
    yield _ask(context, Question(command, parsed, columns), None)


def with_cluster(answered: Answered) -> pa.Table:
    """The rows, of a fleet with the name of their cluster in front."""
    table = answered.table
    if answered.cluster is None:
        return table
    names = pa.repeat(pa.scalar(answered.cluster, pa.string()), len(table))
    return table.add_column(0, CLUSTER.name, names)


def _of_fleet(context: Context, fleet: FleetSource, question: Question) -> Iterator[Answered]:
    here = member_at(fleet, context.cwd)
    members = [here] if here is not None else list(fleet.members.values())
    elsewhere: frozenset[str] = frozenset()
    delegated: Iterator[dict[str, Any]] = iter(())
    if here is None:
        closed = [member for member in members if member.opened is None]
        if fleet.is_for_others(closed, keeps=context.interactive):
            elsewhere = frozenset(member.name for member in closed)
            delegated = _delegated(context, fleet, closed, question)
    for member in members:
        stop_if_cancelled(context)
        row = next(delegated) if member.name in elsewhere else None
        try:
            if row is None:
                yield _ask(context_of(context, member), question, member.name)
            else:
                yield _answered(context, member, question, row)
        except UsageError:
            raise
        except Exception as error:  # whatever is wrong with one is no reason to lose the others
            fleet.failed(member, why(error))


def _ask(context: Context, question: Question, cluster: str | None) -> Answered:
    """Ask the source of a context."""
    command = question.command

    def warn(text: str) -> None:
        warn_of(context, command, cluster, text)

    table, query = _answer(replace(context, warn=warn), question, warn)
    return Answered(cluster, table, query.status, query.verdict)


def _answer(
    context: Context, question: Question, warn: Callable[[str], None]
) -> tuple[pa.Table, RowsQuery]:
    """All rows together, with at least one column, and the query that they answer."""
    command, looked_at = question.command, question.columns
    columns = command.columns_of(question.parsed)
    some = [c for c in columns if looked_at is None or c.name in looked_at] or columns[:1]
    tables: list[pa.Table] = []

    def add(rows: pa.Table | Iterable[RowMapping]) -> None:
        if isinstance(rows, pa.Table):
            tables.append(rows)
        else:
            tables.extend(table_of_mappings(some, chunk) for chunk in chunks(rows))

    query = RowsQuery(
        context=context,
        parsed=question.parsed,
        add=add,
        warn=warn,
        columns=looked_at,
        has_history=HISTORY in command.manual.options,
    )
    command.answer(query)
    for remark in query.remarks:
        warn(remark)
    if not tables:
        return table_of_mappings(some, []), query
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables), query


# Elsewhere.


def _delegated(
    context: Context, fleet: FleetSource, members: Sequence[FleetMember], question: Question
) -> Iterator[dict[str, Any]]:
    """Have members asked by others: what `answer_row` tells of each, in order, as they come.

    Raises:
        UsageError: The words are wrong; nobody is waited for any more.
    """
    job = replace(question, parsed=_without_secrets(question.parsed, fleet))

    def check(row: dict[str, Any]) -> None:
        if row.get("usage") is not None:
            message, hint = row["usage"]
            raise UsageError(message, hint=hint)

    return fleet.compute(
        answer_row,
        answer_row_of,
        lambda _: (job,),
        members=members,
        n_workers=core_count(),
        stop=lambda: stop_if_cancelled(context),
        check=check,
    )


def _without_secrets(parsed: Parsed, fleet: FleetSource) -> Parsed:
    """The words without what a node's configuration file holds and nobody is to see."""
    if ASSUME.flags[0] not in parsed.values:
        return parsed
    assumed = assumptions_of(parsed)
    redaction = Redaction(fleet.settings.show_secrets)
    settings = {
        key: redaction.config_value("BROKER", key, value) for key, value in assumed.settings.items()
    }
    shown = copy(parsed)
    shown.read = {ASSUME.flags[0]: replace(assumed, settings=settings)}
    return shown


def _answered(
    context: Context, member: FleetMember, question: Question, row: dict[str, Any]
) -> Answered:
    """An answer from elsewhere, with all that it would have left behind here.

    Raises:
        SourceError: There is none.
    """
    if row["error"] is None:
        member.was_read(row["notes"], row["stopped_by"])
    for text in row.get("warnings") or ():
        warn_of(context, question.command, member.name, text)
    error = error_of(row)
    if error is not None:
        raise error
    with pa.ipc.open_stream(row["table"]) as stream:
        return Answered(member.name, stream.read_all(), row["status"], row["verdict"])


def answer_row(place: str, reading: Reading, question: Question) -> dict[str, Any]:
    """A directory's answer; ``error`` is the reason where there is none, and this never raises."""
    try:
        return {**answer_row_of(reading.open(place), question), "error": None}
    except UsageError as error:
        return {"usage": (error.message, error.hint), "error": error.message}
    except Exception as error:  # whatever is wrong with one is no reason to lose the others
        return error_fields(error)


def answer_row_of(source: Source, question: Question) -> dict[str, Any]:
    """The answer of an opened source.

    Raises:
        MetashellError: It has no answer.
    """
    warnings: list[str] = []
    context = Context(root=source.root, out=Nowhere(), warn=warnings.append, source=source)
    table, query = _answer(context, question, warnings.append)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return {
        "table": sink.getvalue().to_pybytes(),
        "status": int(query.status),
        "verdict": query.verdict,
        "warnings": warnings,
        "notes": tuple(source.warnings),
        "stopped_by": source.stopped_by,
    }
