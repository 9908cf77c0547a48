"""``quorum --copies``: which disk to trust after a quorum was lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.quorum.columns import COPIES, STARTS, TABLES, VERDICTS
from metashell.commands.rows.drawn_table import Table, write_table
from metashell.commands.rows.query import FORMATS, RowMapping, RowsQuery, form_of
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
from metashell.judgement.log_copies import misnamed
from metashell.judgement.lost_quorum import LostQuorum, LostTail, examine
from metashell.judgement.quorum_words import (
    headline,
    needed_disks,
    one_of,
    sets_text,
    spoken,
    who_is_behind,
)
from metashell.quorum.description import majority_of
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
    found = examined(query.context)
    (flag,) = query.parsed.switches & _ROWS.keys()
    nothing = dict.fromkeys(column.name for column in _COLUMNS[flag])
    query.add([{**nothing, **row} for row in _ROWS[flag](found)])
    query.status = _status(found)
    query.remarks += [*found.doubts, *found.notes]
    if form_of(query.parsed) == FORMATS[0]:
        query.verdict = ("if the quorum is lost:", headline(found), *who_is_behind(found))
    else:
        query.remarks.append(headline(found))


def write_text(context: Context) -> int:
    """The answer, then what it comes from, then what to do; returns the exit status."""
    found = examined(context)
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


def examined(context: Context) -> LostQuorum:
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
    excluded = {*starting} & {*found.flaws, *found.left_out}
    doubts = [doubt for doubt in found.doubts if doubt.copy not in excluded]
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
        changes = "its files do not tell which changes"
    else:
        counts = counts_of(loss.changes)
        changes = ", ".join(
            f"{count} {_plural(_WORDS[word], count)}" for word, count in counts.items() if count
        )
    changes = changes or "no change of metadata"
    committed = "" if loss.may_be_committed else ", acknowledged to nobody"
    return f"{where} ({changes}{committed})"


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


_STATUS: Final = "kafka-metadata-quorum.sh --bootstrap-controller {} describe --status"


def steps(found: LostQuorum) -> Iterator[str]:
    """Lines with the steps, numbered, each with its command on a line, and what no step can do."""
    todo = [
        "\n".join(
            [
                "Ask each voter once more. If one names a leader, the quorum is not lost: do"
                " nothing of this.",
                *_asked(found),
            ]
        ),
        f"With all voters stopped, copy every directory away. Format none: {_formatted(found)}.",
        *_mending(found),
        *(_starting(found) if found.winners and not found.too_old else _searching(found)),
    ]
    for number, text in enumerate(todo, 1):
        sentence, *commands = text.split("\n")
        yield f"{number}. {sentence}"
        yield from (f"   {command}" for command in commands)
    if not found.voters:
        return
    n = len(found.voters)
    fewer = f"a leader with fewer than {majority_of(n)} of {n} voters, " if n > 1 else ""
    yield (
        f"No supported way in 4.4: {fewer}a leader that no vote elects, other voters while nobody"
        " leads, a broker's log in a voter's place."
    )


def _formatted(found: LostQuorum) -> str:
    """The harm of formatting a voter."""
    if any(found.voters.values()):
        return "a formatted voter has no log, and no vote"
    static = "with static voters " if found.voters else "in a static quorum "
    return (
        f"a formatted voter has no log; {static}it votes all the same, and committed records can be"
        " lost"
    )


def _mending(found: LostQuorum) -> Iterator[str]:
    """The steps that make copies count which are here."""
    for name, directory in misnamed(found.copies).items():
        copy = next(copy for copy in found.copies if copy.name == name)
        only = "" if copy.log.directory_id is None else "If it was never formatted anew: "
        put = f"{only}put directory.id={directory} into meta.properties of {name}"
        yield f"{put[0].upper()}{put[1:]}, and ask again before you start anything."


def _asked(found: LostQuorum) -> list[str]:
    """A command for each voter that the log has an address of."""
    voters = [node for node in found.voters if found.endpoints(node)]
    return [_STATUS.format(_address(found, [node])) for node in sorted(voters) or [-1]]


def _address(found: LostQuorum, nodes: Iterable[int]) -> str:
    """An address of one of some voters, as their log has it."""
    known = (endpoint for node in nodes for endpoint in found.endpoints(node))
    return next(known, "LISTENER://HOST:PORT").partition("://")[2]


def _searching(found: LostQuorum) -> Iterator[str]:
    """The steps where nothing can be started."""
    if found.too_old:
        yield "Find the directories that the nodes used last: a backup is not one of them."
    elif (needed := needed_disks(found)) is not None:
        yield f"Bring back {needed}, with its own meta.properties and quorum-state."
    yield "Ask again with all directories: `quorum --copies`."


def _before_start(found: LostQuorum) -> Iterator[str]:
    """The steps that come before a start of voters that have a flaw."""
    if found.missing and not found.is_sound:
        yield (
            f"Look for the directory of {one_of(found.missing)}, and ask again with it: without it"
            " acknowledged changes can be lost."
        )
    for log in found.chosen[0]:
        if log.name in found.troubles:
            yield (
                f"Before you start {log.node_id}: {found.troubles[log.name]}. Run `check` there."
                " The node does not start with a file that it can't use, and without the file it"
                " may vote twice in an epoch."
            )
        elif log.name in found.flaws:
            yield (
                f"Before you start {log.node_id}: {found.flaws[log.name]}. Run `check` there. A"
                " start deletes what it cuts off: see that the copy of its directory is whole."
            )


def _starting(found: LostQuorum) -> Iterator[str]:
    """The steps to a leader."""
    running = found.chosen[0]
    nodes = sorted(log.node_id for log in running)
    flaws = {node: why for name, why in found.flaws.items() for node in found.nodes([name])}
    yield from _before_start(found)
    addresses = {node: found.endpoints(node) for node in nodes}
    yield (
        f"Start {spoken(nodes)}, {'each ' * (len(nodes) > 1)}on its own directory with its own"
        " node.id and directory.id, and no other voter."
    )
    known = "; ".join(f"{node} at {' '.join(of)}" for node, of in addresses.items() if of)
    who = "Each must" if len(nodes) > 1 else "It must"
    if any(found.voters.values()):
        yield (
            f"{who} listen where the log says: {known}. Votes go there, whatever"
            " controller.quorum.voters says. If a listener moved, put it back first: it can move"
            " once there is a leader."
        )
    else:
        yield (
            f"{who} listen where controller.quorum.voters of the others says. Votes go there."
            f" {f'Registered: {known}.' if known else ''}".rstrip()
        )
    winners = [log.node_id for log in found.best if log.node_id in nodes]
    yield f"Wait until {one_of(winners)} leads.\n{_STATUS.format(_address(found, nodes))}"
    others = [node for node in found.here if node not in nodes and node not in flaws]
    if others:
        yield (
            f"Then start {spoken(others)}: a follower takes over the leader's log, and cuts off"
            " what the leader has not."
        )
    for node in sorted(flaws.keys() & set(found.here) - set(nodes)):
        yield (
            f"Start {node} last, while all others follow one leader: {flaws[node]}. `check`"
            " there says what to do with the file."
        )
    missing = found.missing
    if missing and not found.is_sound:
        yield (
            f"If the directory of {one_of(missing)} is found later, copy it away before you start"
            " that node: it may have acknowledged changes that the leader lacks."
        )
    elif missing:
        yield (
            f"If the directory of {one_of(missing)} is found as its node left it, start that node"
            " then, in the same way."
        )
