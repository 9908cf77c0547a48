"""The answer of ``health``: its findings in order, in words and as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from metashell.checks.finding import Finding
from metashell.commands.framework.cluster import member_at
from metashell.commands.framework.command import Context, TableOutput, VerdictOutput
from metashell.commands.framework.options import Parsed
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.health.columns import CLUSTERS_FLAG, SUMMARY_FLAG
from metashell.commands.health.paragraphs import (
    NEEDED,
    CountOfCauses,
    HealthVerdict,
    Paragraph,
    paragraphs,
)
from metashell.commands.health.rows import (
    cluster_of,
    cluster_unread,
    grouped,
    in_order,
    of_finding,
    of_findings,
    summary_of,
    worst_clusters_first,
    worst_first,
)
from metashell.commands.nodes import ghost_after
from metashell.commands.quorum.report import voters_now
from metashell.commands.rows.cell_text import plain_texts
from metashell.commands.rows.columns import CLUSTER, Column
from metashell.commands.rows.fleet import Answered, answers, with_cluster
from metashell.commands.rows.output import write_rows
from metashell.commands.rows.query import VERBOSE, RowsQuery, form_of, status_after
from metashell.commands.rows.stream import table_of_values
from metashell.commands.shared.assume_option import assumptions_of
from metashell.commands.shared.severities import severities_of, write_paragraphs
from metashell.errors import ExitCode, NoLeaderError, UnknownNameError, UsageError
from metashell.findings.kind import Need, Severity
from metashell.findings.kinds.instability import MOST_PER_HOUR
from metashell.findings.known import all_kinds
from metashell.judgement.evidence import Evidence, find
from metashell.judgement.quorum_findings import of_lost
from metashell.schema.timestamps import iso_time
from metashell.spelling import did_you_mean, near_names

if TYPE_CHECKING:
    from metashell.commands.health.command import HealthCommand

_SUMMED = frozenset({SUMMARY_FLAG, CLUSTERS_FLAG})
"""Options that sum findings up."""
_ROWS_ALONE = frozenset({"--detail"}) | _SUMMED
"""Options that ask for rows without words."""


def write_findings(command: HealthCommand, context: Context, parsed: Parsed) -> int:
    """Write words for people, rows where they are asked for; returns the exit status."""
    check_words(parsed)
    columns = command.columns_of(parsed)
    if context.fleet is not None:
        columns = (CLUSTER, *columns)
    shape = command.shape_of(parsed, columns)
    is_for_people = shape.form == "table" and not shape.count
    is_for_rows = bool(command.asking(parsed)) or not _ROWS_ALONE.isdisjoint(parsed.switches)
    in_words = is_for_people and not is_for_rows
    verdict_out = context.out if isinstance(context.out, VerdictOutput) else None
    with_rows = not in_words or bool(_chosen(parsed)) or VERBOSE.flags[0] in parsed.switches
    looked_at = shape.looked_at() if with_rows else frozenset[str]()
    if in_words or (verdict_out is not None and is_for_people):
        looked_at |= NEEDED
    tables, status = [], int(ExitCode.OK)
    everybody = answers(context, command, parsed, looked_at)
    for answered in chain(_of_copies(context, parsed), everybody):
        prefix = "" if answered.cluster is None else f"{answered.cluster}: "
        verdict = answered.verdict
        if in_words and isinstance(verdict, HealthVerdict):
            lines = verdict.lines(context.out.width - len(prefix))
            write_paragraphs(context, lines, prefix)
        if verdict_out is not None and is_for_people:
            verdict_out.take_verdict(verdict)
        tables.append(with_cluster(answered))
        status = max(status, answered.status)
    if CLUSTERS_FLAG in parsed.switches and context.fleet is not None:
        for name, error in context.fleet.failures().items():
            unread = Answered(name, cluster_unread(error.message), ExitCode.FAILED, ())
            tables.append(with_cluster(unread))
    table = _of_all(tables, columns, is_sorted=bool(shape.sort))
    n_rows = len(table)
    if with_rows and (n_rows or not in_words):
        if in_words:
            context.out.write("\n")
        n_rows = write_rows(context, table, shape)
    elif isinstance(context.out, TableOutput):
        context.out.take(table.select(list(shape.columns)))
    return status_after(parsed, n_rows, status)


def _of_copies(context: Context, parsed: Parsed) -> Iterator[Answered]:
    """How the copies of each cluster of a fleet agree, where one does not, by the cluster's id."""
    fleet, kinds = context.fleet, all_kinds()
    asked = [] if _subjects(parsed) else _asked(parsed)
    codes = [code for code in asked if kinds[code].needs is Need.COPIES]
    if fleet is None or not codes or member_at(fleet, context.cwd) is not None:
        return
    from metashell.judgement.copies_findings import find_in

    found: dict[str, list[Finding]] = {}
    for cluster, finding in find_in(fleet, codes, partial(stop_if_cancelled, context)):
        found.setdefault(cluster, []).append(finding)
    for cluster, findings in found.items():
        rows = in_order(map(of_finding, findings))
        worst = {finding.severity for finding in findings}
        status = ExitCode.FAILED if Severity.CRITICAL in worst else ExitCode.OK
        verdict = HealthVerdict(paragraphs=tuple(paragraphs(rows, "", codes)), nothing="", as_of="")
        yield Answered(cluster, _summed(parsed, rows), status, verdict)


def answer(query: RowsQuery) -> None:
    """Add the findings asked for."""
    codes = _asked(query.parsed)
    switches = query.parsed.switches
    columns = query.columns
    count: CountOfCauses | None = None
    subjects = _subjects(query.parsed)
    is_for_people = form_of(query.parsed) == "table"
    tells = is_for_people and (columns is None or columns >= NEEDED)
    if not _SUMMED.isdisjoint(switches) and not tells and not subjects:
        columns = frozenset({"severity", "code", "count", "since_time", "explanation", "action"})
    elif columns is not None:
        columns |= {"severity", "code", "subject", "count", "causes"}
    # Words name a cause that is of another kind, or less severe, than what is asked for.
    causes = {code for code, kind in all_kinds().items() if kind.cause} if tells else set()
    if query.context.lost is not None:
        parts = [of_finding(_of_lost(query, query.context.lost, codes))]
        unseen: list[str] = [Need.IMAGE.value]
    else:
        evidence = _evidence(query)
        count = evidence.image_findings.count_following if tells and not subjects else None
        parts = [
            of_finding(found) if isinstance(found, Finding) else of_findings(found, columns)
            for found in find(evidence, causes.union(codes))
        ]
        unseen = list(evidence.unseen())
        # Without words the facts about all partitions are freed before the rows are sorted.
        del evidence
    # Handed over, so that what is sorted takes the place of what was not.
    rows = in_order(parts.pop(0) for _ in range(len(parts)))
    if subjects:
        rows = _about(rows, subjects, with_causes=tells)
    if tells:
        query.verdict = _verdict(query, unseen, partial(paragraphs, rows, asked=codes, count=count))
        if not causes.issubset(codes):
            rows = rows.filter(pc.is_in(plain_texts(rows.column("code")), pa.array(codes)))
    if subjects and tells:
        rows = _about(rows, subjects, with_causes=False)
    if Severity.CRITICAL.value in pc.unique(plain_texts(rows.column("severity"))).to_pylist():
        query.status = ExitCode.FAILED
    query.add(_summed(query.parsed, rows))


def _summed(parsed: Parsed, rows: pa.Table) -> pa.Table:
    """The rows, or those of their kinds, or the one of the cluster."""
    if SUMMARY_FLAG in parsed.switches:
        return summary_of(rows)
    return cluster_of(rows) if CLUSTERS_FLAG in parsed.switches else rows


def check_words(parsed: Parsed) -> None:
    """See that the words are kinds, things and a severity.

    Raises:
        UsageError: One is not.
    """
    if parsed.switches >= _SUMMED:
        raise UsageError(f"{SUMMARY_FLAG} and {CLUSTERS_FLAG} exclude each other")
    severities_of(parsed)
    kinds = all_kinds()
    for word in parsed.arguments:
        if ":" not in word and word not in kinds:
            hint = did_you_mean(near_names(word, kinds, 1)) or "`help findings` lists the kinds"
            raise UnknownNameError(f"{word}: no such kind of finding", hint=hint)


def _chosen(parsed: Parsed) -> frozenset[str] | None:
    """The kinds asked for; None for all."""
    return frozenset(word for word in parsed.arguments if ":" not in word) or None


def _subjects(parsed: Parsed) -> list[str]:
    """The things asked about, such as ``topic orders``; none for all."""
    pairs = (word.partition(":") for word in parsed.arguments if ":" in word)
    return [f"{kind.casefold()} {name}" for kind, _, name in pairs]


def _about(rows: pa.Table, subjects: Sequence[str], *, with_causes: bool) -> pa.Table:
    """The rows about some things, and those that these follow from."""
    wanted = pc.is_in(rows.column("subject"), pa.array(subjects))
    if not with_causes:
        return rows.filter(wanted)
    causes = pc.unique(pc.list_flatten(rows.filter(wanted).column("causes")))
    names = pc.binary_join_element_wise(
        plain_texts(rows.column("code")), rows.column("subject"), " "
    )
    return rows.filter(pc.or_(wanted, pc.is_in(names, causes)))


def _evidence(query: RowsQuery) -> Evidence:
    return Evidence(
        source=query.source,
        image=query.image,
        assumptions=assumptions_of(query.parsed),
        voters=voters_now(query),
        ghost_after_ms=ghost_after(query.parsed),
        most_per_hour=query.parsed.count("--per-hour") or MOST_PER_HOUR,
        now_ms=query.now_ms,
        detail="--detail" in query.parsed.switches,
        is_deep="--deep" in query.parsed.switches,
        warn=query.warn,
        stop=partial(stop_if_cancelled, query.context),
    )


def _asked(parsed: Parsed) -> list[str]:
    """The kinds that are asked for, by code and severity."""
    chosen, severities = _chosen(parsed), severities_of(parsed)
    return [
        code
        for code, kind in all_kinds().items()
        if (chosen is None or code in chosen) and kind.severity.value in severities
    ]


def _of_lost(query: RowsQuery, error: NoLeaderError, asked: Sequence[str]) -> Finding:
    """The finding about a quorum of which no leader answers.

    Raises:
        NoLeaderError: Something else is asked for.
    """
    finding = of_lost(error)
    if finding.code not in asked:
        raise error
    query.remarks += [error.message, *([] if error.hint is None else [error.hint])]
    query.remarks.append("the quorum alone was judged: no metadata could be fetched")
    return finding


def _verdict(
    query: RowsQuery, unseen: Sequence[str], tell: Callable[[str], Sequence[Paragraph]]
) -> HealthVerdict:
    as_of, day, looked_at = "no metadata", "", ""
    if query.context.lost is None:
        # The image that is open alone: the words say what was looked at.
        image = query.image
        last = image.provenance
        time = iso_time(last.timestamp_ms) if last.timestamp_ms >= 0 else "no known time"
        as_of, day = f"offset {last.offset}, {time}", time.partition("T")[0]
        n = len(image.partitions), len(image.brokers.ids)
        looked_at = f": {n[0]:,} partition{'s' * (n[0] != 1)}, {n[1]:,} broker{'s' * (n[1] != 1)}"
    is_all = len(_asked(query.parsed)) == len(all_kinds())
    return HealthVerdict(
        paragraphs=tuple(tell(day)),
        nothing=("nothing is wrong" if is_all else "no finding of these kinds")
        + (f" with {', '.join(subjects)}" if (subjects := _subjects(query.parsed)) else looked_at),
        as_of=as_of,
        not_looked_at=tuple(unseen),
    )


def _of_all(tables: Sequence[pa.Table], columns: Sequence[Column], *, is_sorted: bool) -> pa.Table:
    """The rows of all clusters, the worst first."""
    if not tables:
        return table_of_values(columns, {})
    if len(tables) == 1:
        return tables[0]
    table = pa.concat_tables(tables)
    if is_sorted:
        return table
    if "code" not in table.column_names:
        return worst_clusters_first(table)
    table = worst_first(table)
    return grouped(table) if "causes" in table.column_names else table
