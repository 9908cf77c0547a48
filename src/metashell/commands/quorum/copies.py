"""``quorum --copies``: which disk to trust after a quorum was lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.quorum.columns import COPIES, STARTS, TABLES, VERDICTS
from metashell.commands.quorum.steps import steps
from metashell.commands.rows.drawn_table import Table, write_table
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.rows.stream import cells
from metashell.commands.shared.wrapped import sentence_lines
from metashell.errors import ExitCode, UsageError
from metashell.fs.escape import escape
from metashell.judgement.commitment import Certainty, JudgedRange
from metashell.judgement.copies_rows import (
    copy_rows,
    counts_of,
    examine_fleet,
    start_rows,
    verdict_rows,
)
from metashell.judgement.lost_quorum import LostQuorum, LostTail, examine
from metashell.judgement.quorum_words import headline, needed_disks, one_of, sets_text, spoken
from metashell.sources.fleet.naming import unique_names
from metashell.sources.fleet.rows import cluster_id_of

_COLUMNS: Final = {table.asked_by: table.columns for table in TABLES}
_WORDS: Final = {
    "topics": "topic", "partitions": "partition", "configs": "config", "acls": "ACL",
    "credentials": "credential", "quotas": "quota", "other": "other thing",
}  # fmt: skip
_MEANING: Final = {
    Certainty.PROVED: "committed, whatever is on disks that are not here",
    Certainty.SAFE: "whoever wins a vote of these voters has them",
    Certainty.OPEN: "who wins decides",
}


def answer(query: RowsQuery) -> None:
    """Rows of copies, of sets of voters, or of verdicts."""
    found = _examined(query.context)
    (flag,) = query.parsed.switches & _ROWS.keys()
    nothing = dict.fromkeys(column.name for column in _COLUMNS[flag])
    query.add([{**nothing, **row} for row in _ROWS[flag](found)])
    query.status = _status(found)
    query.remarks += [*found.doubts, *found.notes, headline(found)]


def write_text(context: Context) -> int:
    """The answer, then what it comes from, then what to do; returns the exit status."""
    found = _examined(context)
    _write(context, _answer(found))
    _heading(context, "Copies")
    write_table(context, _table(list(copy_rows(found)), context))
    _heading(context, "Records")
    _write(context, _verdict_lines(found))
    if found.starts:
        _heading(context, "If they are started")
        _write(context, _start_lines(found))
    cautions = [*found.doubts, *found.notes]
    if cautions:
        _heading(context, "Not sure, or in the way")
        _write(context, (f"- {text}" for text in cautions))
    _heading(context, "What to do")
    _write(context, steps(found))
    return _status(found)


def _status(found: LostQuorum) -> int:
    is_sure = found.winners and not found.doubts and not found.too_old
    return ExitCode.OK if is_sure else ExitCode.FAILED


def _examined(context: Context) -> LostQuorum:
    """Judge all directories that are open.

    Raises:
        SourceError: They can't be judged together.
        UsageError: The ends of the logs are not read.
    """
    opened, fleet = context.opened, context.fleet
    if opened is not None and opened.settings.committed_only:
        raise UsageError(
            "a vote compares the ends of whole logs", hint="leave out --committed-only"
        )

    def stop() -> None:
        stop_if_cancelled(context)

    if fleet is not None:
        return examine_fleet(fleet, stop)
    source = context.needs_source()
    (name,) = unique_names([(source.path, cluster_id_of(source))])
    return examine({name: source.newest}, stop)


# Words.


def _answer(found: LostQuorum) -> Iterator[str]:
    """The first lines."""
    yield _sentence(headline(found))
    starting = {log.name for log in found.chosen[0]} if found.winners else found.left_out
    told = {*starting} & {*found.flaws, *found.left_out}
    doubts = [doubt for doubt in found.doubts if doubt.copy not in told]
    if doubts:
        more = f" ({len(doubts) - 1} more below)" if len(doubts) > 1 else ""
        yield f"Not sure: {doubts[0]}{more}."
    missing = found.missing
    if not found.winners:
        if (needed := needed_disks(found)) is not None:
            yield f"Bring back {needed}."
        if found.left_out:
            mend = "Mend" if needed is None else "Or mend"
            yield f"{mend} what is here and left out: {', '.join(found.left_out)}. See below."
        if found.here and len(found.voters) > 1:
            of_voters = [copy.log for copy in found.copies if copy.log.node_id in found.voters]
            last = max(of_voters, key=lambda log: log.end)
            yield f"Keep all disks. Of these, the log of voter {last.node_id} ends last."
        return
    if found.too_old:
        yield (
            "A copy is damaged, or older than its node left it: find the directories that were used"
            " last."
        )
        return
    for log in found.chosen[0]:
        if log.name in found.flaws:
            yield f"First see to voter {log.node_id}: {found.flaws[log.name]}."
    losses = found.losses[found.best[0].name]
    if not losses:
        they = "They have" if len(found.best) > 1 else "It has"
        yield f"{they} every record that another copy here has."
    for loss in losses:
        they = "They lack" if len(found.best) > 1 else "It lacks"
        behind = "" if found.is_whole(loss.copy) else ", behind damage"
        yield f"{they} what only {loss.copy} has{behind}: {_loss_text(loss)}."
        yield from _other_choice(found, loss)
    if missing and found.is_sound:
        yield (
            f"{'Voter' if len(missing) == 1 else 'Voters'} {spoken(missing)}"
            f" {'has' if len(missing) == 1 else 'have'} no copy here. Records that only"
            f" {'its log' if len(missing) == 1 else 'their logs'} had were acknowledged to nobody."
        )
    if not found.is_sound:
        yield (
            "Acknowledged changes can be lost: a majority without the damaged log is not here."
            f"{f' Find the directory of voter {one_of(missing)} first.' if missing else ''}"
        )
        return
    yield (
        "If each directory is as its node left it, no acknowledged change is lost: a leader"
        " acknowledges what a majority of all voters has."
    )


def _other_choice(found: LostQuorum, loss: LostTail) -> Iterator[str]:
    """The sets that keep records of a voter that is left for last, and the risk of starting it."""
    keeping = [
        [log.node_id for log in running]
        for running, won in found.starts
        if loss.copy in {log.name for log in won}
    ]
    if keeping and loss.may_be_committed and loss.copy in found.troubles:
        sets = sets_text([ids for ids in keeping if len(ids) == len(keeping[0])])
        (node,) = found.nodes([loss.copy])
        yield (
            f"They may be acknowledged. To keep them, start {sets} instead: then voter {node} may"
            f" vote twice in an epoch ({found.troubles[loss.copy]})."
        )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _loss_text(loss: LostTail) -> str:
    n = loss.end - loss.first
    where = f"offset{'s' * (n > 1)} {_span(loss.first, loss.end)}"
    if loss.changes is None:
        told = "its files do not tell which changes"
    else:
        counts = counts_of(loss.changes)
        told = ", ".join(
            f"{count} {_plural(_WORDS[word], count)}" for word, count in counts.items() if count
        )
    told = told or "no change of metadata"
    committed = "" if loss.may_be_committed else ", acknowledged to nobody"
    return f"{where} ({told}{committed})"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _span(first: int, end: int) -> str:
    return str(first) if end == first + 1 else f"{first}-{end - 1}"


def _verdict_lines(found: LostQuorum) -> Iterator[str]:
    """A line for each range."""
    ranges = found.commitment.ranges
    spans = [_span(r.first, r.end) for r in ranges]
    width = max(map(len, spans), default=0)
    for span, judged in zip(spans, ranges, strict=True):
        on = [
            f"{where} {', '.join(map(str, found.nodes(names)))}"
            for where, names in (("on", judged.holders), ("behind damage on", judged.damaged))
            if names
        ]
        yield f"{span:<{width}}  {judged.verdict:<6}  {' and '.join(on)}: {_why(judged)}"


def _why(judged: JudgedRange) -> str:
    if not judged.holders:
        return "a start cuts them off"
    if judged.verdict is Certainty.OPEN and not judged.may_be_committed:
        return "acknowledged to nobody; who wins decides"
    return _MEANING[judged.verdict]


def _start_lines(found: LostQuorum) -> Iterator[str]:
    """A line for each that can win: with which sets, and what is lost then."""
    for log in found.winners:
        sets = [[v.node_id for v in running] for running, won in found.starts if log in won]
        text = sets_text([ids for ids in sets if len(ids) == len(sets[0])])
        losses = "; ".join(f"{_loss_text(loss)} of {loss.copy}" for loss in found.losses[log.name])
        yield f"Voter {log.node_id} can lead {text}. Lost then: {losses or 'nothing'}."


# Output.


def _write(context: Context, lines: Iterable[str]) -> None:
    width = context.out.width
    for line in lines:
        text = escape(line)
        # A command stays on one line, so that it can be copied.
        is_wrapped = context.out.is_terminal and not text.startswith(" ")
        parts = sentence_lines(text, width) if is_wrapped else [text]
        context.out.write("".join(f"{part}\n" for part in parts))


def _heading(context: Context, text: str) -> None:
    context.out.write(f"\n{text}\n")


def _table(rows: Sequence[RowMapping], context: Context) -> Table:
    columns = [
        (column, cells(column.kind, [row[column.name] for row in rows]), column.name.upper())
        for column in _COLUMNS[COPIES]
        if column.shown
    ]
    return Table.of_columns(columns, short=context.out.is_terminal)


_ROWS: Final = {COPIES: copy_rows, STARTS: start_rows, VERDICTS: verdict_rows}
