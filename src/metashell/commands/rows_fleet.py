"""Asking clusters for rows: one after the other here, or those of a fleet many at a time elsewhere.

Elsewhere are other processes of this machine or Spark's executors, as for all rows of a fleet; what
a question and its answer hold must therefore be picklable. Nobody can tell from the rows, warnings
and status where they were made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from metashell.commands.assuming import ASSUME, assumptions_of
from metashell.commands.base import Context
from metashell.commands.options import Parsed
from metashell.commands.rows import Asked, RowsCommand
from metashell.commands.targets import stop_if_cancelled
from metashell.errors import MetashellError, SourceError, UsageError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.fleet import FleetSource, Member
    from metashell.fleet.reading import Reading
    from metashell.source import Source


@dataclass(frozen=True, slots=True)
class Answered:
    """What one cluster answered."""

    cluster: str | None
    """Its name in the fleet; None without one."""
    table: pa.Table
    status: int
    verdict: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What clusters are asked elsewhere."""

    command: RowsCommand
    parsed: Parsed
    wanted: frozenset[str] | None


def answers(
    context: Context, command: RowsCommand, parsed: Parsed, wanted: frozenset[str] | None
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
        yield from _of_fleet(context, fleet, Question(command, parsed, wanted))
        return
    if context.source is None:
        raise UsageError("no source given", hint="`metashell -d DIR` opens a metadata log")
    yield _ask(context, context.source, Question(command, parsed, wanted), None)


def _of_fleet(context: Context, fleet: FleetSource, question: Question) -> Iterator[Answered]:
    from metashell.commands.cluster import member_at

    here = member_at(fleet, context.cwd)
    members = [here] if here is not None else list(fleet.members.values())
    told: dict[str, dict[str, Any]] = {}
    if here is None:
        closed = [member for member in members if member.opened is None]
        if fleet.is_for_others(closed, keeps=context.interactive):
            told = _elsewhere(context, fleet, closed, question)
    for member in members:
        stop_if_cancelled(context)
        try:
            if member.name in told:
                yield _answered(context, member, question, told.pop(member.name))
            else:
                yield _ask(context, member.source(), question, member.name)
        except UsageError:
            raise
        except MetashellError as error:
            fleet.failed(member, error.message)


def _ask(context: Context, source: Source, question: Question, cluster: str | None) -> Answered:
    """Ask a cluster here."""
    command = question.command

    def warn(text: str) -> None:
        _warn(context, command, cluster, text)

    asked = Asked(source, question.parsed, warn, context.cancelled, wanted=question.wanted)
    table = command.answer(asked)
    return Answered(cluster, table, asked.status, asked.verdict)


def _warn(context: Context, command: RowsCommand, cluster: str | None, text: str) -> None:
    whose = "" if cluster is None else f"{cluster}: "
    context.warn(escape(f"{command.name}: {whose}{text}"))


# Elsewhere.


def _elsewhere(
    context: Context, fleet: FleetSource, members: Sequence[Member], question: Question
) -> dict[str, dict[str, Any]]:
    """Have members asked by others: what `answer_row` tells, by name.

    Raises:
        UsageError: The words are wrong; nobody is waited for any more.
    """
    from metashell.engine import core_count

    job = replace(question, parsed=_without_secrets(question.parsed, fleet))

    def check(row: dict[str, Any]) -> None:
        if row.get("usage") is not None:
            message, hint = row["usage"]
            raise UsageError(message, hint=hint)

    rows: list[dict[str, Any]] = fleet.compute(
        answer_row,
        answer_row_of,
        lambda _: (job,),
        members=members,
        n_workers=core_count(),
        stop=lambda: stop_if_cancelled(context),
        check=check,
    )
    return {row["name"]: row for row in rows}


def _without_secrets(parsed: Parsed, fleet: FleetSource) -> Parsed:
    """The words without what a node's configuration file holds and nobody is to see."""
    from metashell.redact import Redaction

    if ASSUME.flags[0] not in parsed.values:
        return parsed
    assumed = assumptions_of(parsed)
    redaction = Redaction(fleet.settings.show_secrets)
    settings = {
        key: redaction.config_value("BROKER", key, value) for key, value in assumed.settings.items()
    }
    return replace(parsed, read={ASSUME.flags[0]: replace(assumed, settings=settings)})


def _answered(
    context: Context, member: Member, question: Question, row: dict[str, Any]
) -> Answered:
    """An answer from elsewhere, with all that it would have left behind here.

    Raises:
        SourceError: There is none.
    """
    import pyarrow as pa

    if row["error"] is None:
        member.was_read(row["notes"], row["stopped_by"])
    for text in row.get("warnings") or ():
        _warn(context, question.command, member.name, text)
    if row["error"] is not None:
        raise SourceError(row["error"])
    with pa.ipc.open_stream(row["table"]) as stream:
        return Answered(member.name, stream.read_all(), row["status"], row["verdict"])


def answer_row(place: str, reading: Reading, question: Question) -> dict[str, Any]:
    """What a directory answers; ``error`` is why it does not, and this never raises."""
    from metashell.fleet.rows import why

    try:
        return {**answer_row_of(reading.open(place), question), "error": None}
    except UsageError as error:
        return {"usage": (error.message, error.hint), "error": error.message}
    except Exception as error:  # whatever is wrong with one is no reason to lose the others
        return {"error": why(error)}


def answer_row_of(source: Source, question: Question) -> dict[str, Any]:
    """The same of an opened source.

    Raises:
        MetashellError: It has no answer.
    """
    import pyarrow as pa

    warnings: list[str] = []
    asked = Asked(source, question.parsed, warnings.append, lambda: False, wanted=question.wanted)
    table = question.command.answer(asked)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return {
        "table": sink.getvalue().to_pybytes(),
        "status": int(asked.status),
        "verdict": asked.verdict,
        "warnings": warnings,
        "notes": tuple(source.warnings),
        "stopped_by": source.stopped_by,
    }
