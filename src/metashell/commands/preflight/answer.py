"""The answer of ``preflight``: a verdict for people, and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from metashell.checks.finding import Finding
from metashell.commands.framework.command import Context
from metashell.commands.framework.options import Parsed, one_of
from metashell.commands.health.paragraphs import Paragraph, wrapped
from metashell.commands.health.rows import next_command
from metashell.commands.preflight.columns import NODES
from metashell.commands.preflight.command import AFTER, SOFTWARE, SUMMARY, PreflightCommand
from metashell.commands.rows.output import write_rows
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.rows.stream import table_of_mappings
from metashell.commands.shared.against_option import AGAINST, open_against
from metashell.commands.shared.severities import write_paragraphs
from metashell.errors import ExitCode, NoLeaderError
from metashell.findings.kind import AtStart, StopKind
from metashell.fs.escape import escape
from metashell.judgement.start import Start, StartOptions, start_of, weight
from metashell.schema.timestamps import iso_time
from metashell.sources.starting import StartingNode, nodes_of, nodes_to_start

_MOST: Final = 3


def add_rows(query: RowsQuery) -> None:
    """Add a row for each event, or for each node."""
    is_summary = SUMMARY.flags[0] in query.parsed.switches
    for start in _starts(query.context, query.parsed):
        query.add(
            [_of_node(start)] if is_summary else [_row(start, event) for event in start.events]
        )
        if not start.is_clear:
            query.status = ExitCode.FAILED


def write_verdicts(command: PreflightCommand, context: Context, parsed: Parsed) -> int:
    """Write the verdict of one node with its reasons, or a table of several nodes."""
    starts = list(_starts(context, parsed))
    status = ExitCode.OK if all(start.is_clear for start in starts) else ExitCode.FAILED
    if len(starts) == 1 and SUMMARY.flags[0] not in parsed.switches:
        write_paragraphs(context, _lines(starts[0], context.out.width))
        return status
    write_rows(
        context,
        table_of_mappings(NODES, [_of_node(start) for start in starts]),
        command.shape_of(parsed, NODES),
    )
    return status


def _starts(context: Context, parsed: Parsed) -> Iterator[Start]:
    """The starts of the nodes that are open here, or that the command line chose."""
    values, against = parsed.values, parsed.values.get(AGAINST.flags[0])
    after = values.get(AFTER.flags[0])
    asked = StartOptions(
        after=None if after is None else StopKind(one_of(AFTER.flags[0], after, tuple(StopKind))),
        software=values.get(SOFTWARE.flags[0]),
    )
    for node in _nodes(context):
        for note in (*node.notes, *filter(None, [node.unread])):
            _warn(context, note)
        if against is not None and asked.against is None and asked.lost is None:
            try:
                asked.against = open_against(against, node.source)
            except NoLeaderError as error:
                asked.lost = error
        start = start_of(node, replace(asked, warn=lambda text: _warn(context, text)))
        yield replace(start, events=[_with_against(event, against) for event in start.events])


def _with_against(event: Finding, against: str | None) -> Finding:
    """A finding whose next command compares with what it was found against."""
    words = (event.kind.see or "").split() if event.command is None else event.command
    if against is None or not words or words[0] != "replicas":
        return event
    return replace(event, command=(*words, AGAINST.flags[0], against))


def _warn(context: Context, text: str) -> None:
    context.warn(escape(f"preflight: {text}"))


def _nodes(context: Context) -> Iterator[StartingNode]:
    if context.to_open is not None:
        yield from nodes_to_start(context.to_open)
    else:
        yield from nodes_of(context.fleet or context.needs_source())


# Rows.


def _of_node(start: Start) -> RowMapping:
    by_weight = sorted(start.events, key=weight)
    first = _message(by_weight[0]) if by_weight else None
    return {
        "node": start.node,
        "roles": start.roles or None,
        "verdict": start.verdict,
        "reason": first,
        "refuses": start.count(AtStart.REFUSES),
        "offline": start.count(AtStart.OFFLINE),
        "loses": start.count(AtStart.LOSES),
        "changes": start.count(AtStart.CHANGES),
        "as_of_offset": start.offset,
        "as_of_time": start.time_ms,
        "directory": start.directory,
    }


def _row(start: Start, event: Finding) -> RowMapping:
    return {
        "node": start.node,
        "effect": event.effect,
        "code": event.code,
        "directory": event.directory,
        "count": event.count,
        "after": event.after,
        "message": event.meaning,
        "kafka": event.kafka,
        "action": event.what_to_do,
        "subject": event.subject or event.file,
        "severity": event.severity.value,
        "command": next_command(event),
    }


# Words.


def _lines(start: Start, width: int) -> Iterator[str]:
    name = f"node {start.node}" if start.node.isdigit() else start.node
    roles = f" ({start.roles})" if start.roles else ""
    yield f"{name}{roles} {start.verdict}"
    when = "" if start.time_ms is None else f", {iso_time(start.time_ms)}"
    at = f"offset {start.offset}{when}, {start.of}"
    if start.offset is None:
        at = start.of
    if not start.is_compared:
        at += "; replicas, software and voters are not compared"
    yield from wrapped("as of", at, width)
    for (_, _), events in groupby(start.events, key=lambda e: (e.code, e.effect)):
        yield from _paragraph(list(events)).lines(width)
    if start.n_later:
        n, many = start.n_later, "s" * (start.n_later > 1)
        later = f"{n} finding{many} that come{'' if many else 's'} later"
        yield f"Not told: {later}. Run preflight again then."


def _paragraph(events: Sequence[Finding]) -> Paragraph:
    first = events[0]
    kind = first.kind
    messages = list(dict.fromkeys(_message(event) for event in events[:_MOST]))
    n_more = len(events) - len(events[:_MOST])
    kafka = [line for e in events[:_MOST] if e.kafka for line in e.kafka.splitlines()]
    see = next_command(first)
    return Paragraph(
        severity=kind.severity,
        label=_label(first),
        codes=(kind.code,),
        n_told=1,
        headline=messages[0],
        more=(*messages[1:], *([f"{n_more:,} more of this kind"] if n_more else [])),
        kafka=tuple(f'"{text}"' for text in dict.fromkeys(kafka)),
        do=tuple(dict.fromkeys(event.do for event in events[:_MOST])),
        beware=() if first.avoid is None else (first.avoid,),
        comes_first=kind.comes_first,
        see=() if see is None else (see,),
    )


def _label(event: Finding) -> str:
    """The word before a paragraph: the effect; of what has none, how bad it is."""
    effect = event.effect or AtStart.NOTES
    return event.severity.value if effect is AtStart.NOTES else effect.value


def _message(event: Finding) -> str:
    after = (
        ""
        if event.after is None
        else f"after a {'kill' if event.after is StopKind.KILL else 'clean stop'}: "
    )
    file = event.file
    name = "" if file is None or event.meaning.startswith(file) or event.directory else f"{file}: "
    return f"{after}{name}{event.meaning}"
