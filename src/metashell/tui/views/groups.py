"""Groups and transactions: what needs attention first; a group's members, offsets and commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.content import Content

from metashell.errors import MetashellError
from metashell.fs.pattern import quote
from metashell.tui.text import error_message, lines
from metashell.tui.views.answer import COPY_COMMAND, REFRESH, AnswerView
from metashell.tui.views.group_rows import (
    GROUP_COLUMNS,
    Extra,
    find_commits,
    group_title,
    groups_heading,
    groups_shown,
    of_group,
    transactions_shown,
)
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

if TYPE_CHECKING:
    from metashell.tui.jobs import Job

_TRANSACTIONS: Final = (
    "transactional_id", "state", "partitions", "started_time", "producer_id", "producer_epoch",
    "coordinator", "last_update_time", "timeout_ms", "partition",
)  # fmt: skip
"""Columns of transactions that cost nothing more."""
_HANGING: Final = (
    "topic", "partition", "hanging", "last_time", "transactional_id", "producer_id",
    "producer_epoch",
)  # fmt: skip
_OFFSETS: Final = (
    "topic", "partition", "offset", "lag", "log_end_offset", "committed_time", "pending",
    "metadata",
)  # fmt: skip
_MEMBERS: Final = ("member", "client", "host", "epoch", "assigned", "instance")
_MORE: Final = {
    "offsets": ("groups", "offsets", "--lag"),
    "stalled": ("groups", "offsets", "--stalled"),
    "hanging": ("transactions", "transactions", "--hanging"),
}
"""By its name in `Extra`, the coordinators' log that an answer needs, and the command."""
_NO_LAG_EARLIER: Final = "lag and hanging transactions: at the end of the log only"


class GroupsView(AnswerView[ViewAnswer]):
    """The view of groups."""

    HELP = (
        "# Groups\n"
        "The groups in this broker's logs; those that need attention come first.\n\n"
        "- `stalled`: the group has members, and an offset stands still while its partition's log "
        "goes on\n"
        "- `rebalancing`: members do not have their partitions yet\n"
        "- `pending`: an open transaction commits offsets of the group\n"
        "- `left behind`: a group without members, behind the end of a log\n\n"
        "`lag` counts records behind the ends of the logs in this directory. Lag, stalled offsets "
        "and hanging transactions are filled in as they are found; `escape` stops that. A hanging "
        "transaction has no coordinator that will end it: consumers that read committed data "
        "wait. Of the others, open ones come first, the oldest first.\n\n"
        "Outside of a fleet's clusters: the groups of all of them, without their lag.\n\n"
        "- `enter` opens a group: its offsets, their history, and its members. Elsewhere it opens "
        "the node; `h` there shows each commit\n"
        "- `tab` goes to the next table, `backspace` back to all groups\n"
        "- `i` copies the command that ends a hanging transaction; metashell never runs it\n"
        "- `r` reads the logs again\n\n"
        "In the history of an offset time goes to the right, the highest offset is highest. `x` "
        "stands for a removed offset. Compaction removes older commits."
    )
    ASKS = "reading groups and transactions"
    TABLES = ("groups", "hanging", "transactions", "offsets", "members")
    BINDINGS: ClassVar = [COPY_COMMAND, REFRESH]
    DEFAULT_CSS = """
    GroupsView #groups-hanging { height: auto; max-height: 20%; }
    GroupsView #groups-transactions { height: 25%; }
    GroupsView #groups-members { height: auto; max-height: 35%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.extra: Extra = {}
        """Tables known from the logs of partitions; each stays until it is known anew."""

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """Groups and transactions, and how to find what the logs of partitions tell.

        Outside of a fleet's clusters: the groups of all clusters, without what partitions tell.
        """
        if question.view_state.is_all_of_fleet:
            found = groups_shown(question.rows("groups"), {})
            return ViewAnswer(
                title=f"all clusters · {groups_heading(found.table)}", notes=found.warnings,
                rows={"groups": replace(found, first=("cluster", *GROUP_COLUMNS))},
            )  # fmt: skip
        here = _logs_here(question)
        groups = question.rows("groups", key="group") if "groups" in here else None
        transactions = None
        if "transactions" in here:
            columns = ",".join(_TRANSACTIONS)
            transactions = question.rows("transactions", columns=columns, first=_TRANSACTIONS[:7])
        if not question.view_state.is_newest:
            return answer_of(groups, transactions, {}, (_NO_LAG_EARLIER,))
        answer = answer_of(groups, transactions, self.extra)

        def came(extra: Extra, told: tuple[str, ...]) -> None:
            self.extra = extra
            self.show(answer_of(groups, transactions, extra, told))

        def more(job: Job) -> ViewAnswer:
            extra, told = find_extra(ViewQuestion(question.view_state, job), self.extra, came)
            return answer_of(groups, transactions, extra, told)

        return replace(answer, more=more, more_title="looking at the logs of partitions")

    def forget(self) -> None:
        """Forget what the logs of another broker told."""
        self.extra = {}
        super().forget()

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Open the group, or go to the node of the row."""
        if name != "groups" or "cluster" in row:
            super().choose(name, row)
            return
        self.open(f"opening {row['group']}", lambda asked: find_group(asked, row, self.extra))

    def slow_detail(self, name: str, row: Mapping[str, Any]) -> Callable[[Job], Content] | None:
        """The history of an offset."""
        if name != "offsets" or self.view_state is None or self.view_state.cluster is None:
            return None
        source, width = self.view_state.cluster, max(self.size.width - 2, 1)
        of = (row["group"], row["topic"], row["partition"])

        def work(job: Job) -> Content:
            commits = find_commits(source, *of, job.cancelled)
            told = f"{of[1]}-{of[2]}: {commits.text()}"
            drawn = commits.drawn(width)
            return lines(f"{drawn}\n{told}" if drawn else told)

        return work


def _logs_here(question: ViewQuestion) -> Mapping[str, object]:
    assert question.view_state.cluster is not None
    return question.view_state.cluster.coordinator_directories


def answer_of(
    groups: ViewRows | None,
    transactions: ViewRows | None,
    extra: Extra,
    told: tuple[str, ...] = (),
) -> ViewAnswer:
    """The content of the view, with what is known from the logs of partitions."""
    rows, title = {}, "no partition of __consumer_offsets is here"
    if groups is not None:
        rows["groups"] = groups_shown(groups, extra)
        title = groups_heading(rows["groups"].table)
    hanging = extra.get("hanging")
    if hanging is not None and len(hanging):
        n = len(hanging)
        heading = f"{n:,} hanging transaction{'s' * (n != 1)}"
        rows["hanging"] = ViewRows(table=hanging, first=_HANGING, heading=heading)
    if transactions is not None:
        rows["transactions"] = transactions_shown(transactions)
    warnings = [told for found in (groups, transactions) if found for told in found.warnings]
    return ViewAnswer(title=title, notes=tuple(dict.fromkeys((*warnings, *told))), rows=rows)


def find_extra(
    question: ViewQuestion, known: Extra, tell: Callable[[Extra, tuple[str, ...]], object]
) -> tuple[Extra, tuple[str, ...]]:
    """Lag, offsets that stand still and hanging transactions, if their logs are here.

    Args:
        question: The view state, in a job.
        known: The tables known before; each stays until it is known anew.
        tell: Takes the tables known so far, and why others are not, in the thread that draws.

    Returns:
        All tables, and why some are not known.
    """
    here, told = _logs_here(question), tuple[str, ...]()
    for name, (log, *words) in _MORE.items():
        if log not in here:
            continue
        try:
            known = {**known, name: question.rows(*words).table}
        except MetashellError as error:
            told = tuple(dict.fromkeys((*told, error_message(error))))
            known = {**known, name: None}
        question.job.tell(partial(tell, known, told))
    return known, told


def find_group(question: ViewQuestion, row: Mapping[str, Any], extra: Extra) -> ViewAnswer:
    """Members and offsets of a group.

    Args:
        question: The view state, in a job.
        row: The group's row among all groups.
        extra: The tables known from the logs of partitions.

    Raises:
        MetashellError: A log can't be read.
        KeyboardInterrupt: It was cancelled.
    """
    group, offsets, notes = row["group"], extra.get("offsets"), tuple[str, ...]()
    if offsets is None or not question.view_state.is_newest:
        asked = question.rows("offsets", "--", quote(group))
        offsets, warnings = asked.table, asked.warnings
        notes = tuple(told for told in warnings if "partitions of " not in told)
    offsets = of_group(offsets, group)
    members = of_group(question.rows("members", "--", quote(group)).table, group)
    rows = {"offsets": ViewRows(table=offsets, first=_OFFSETS)}
    if len(members):
        rows["members"] = ViewRows(table=members, first=_MEMBERS, heading="Members")
    return ViewAnswer(title=group_title(row, members, offsets), notes=notes, rows=rows)
