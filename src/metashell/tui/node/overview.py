"""Sums up a cluster at its root: one line for each fact, from the answers of commands. No widget.

Slow facts come later: lines are given out when they become known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.health.paragraphs import HealthVerdict
from metashell.commands.health.rows import told_count
from metashell.commands.shared.status import LEADER_UNKNOWN, leader_words
from metashell.findings.kind import SEVERITIES
from metashell.fs.escape import escape
from metashell.tui.node.value import ValueLine
from metashell.tui.view_state import CommandAnswer, ViewState

if TYPE_CHECKING:
    from metashell.quorum.description import LiveStatus

Ask = Callable[..., CommandAnswer]
_FACTS: Final = ("cluster", "metadata", "quorum", "brokers", "topics", "partitions", "health")
_KEY: Final = 12
_WAITING: Final = "…"
_SYMBOLS: Final = dict(zip(SEVERITIES, ("●", "▲", "·"), strict=True))
_TABLE: Final = ("-o", "table", "--columns")
_KEYS_TO_KNOW: Final = (
    ("2 3 4 5", "records, health, quorum, brokers"),
    ("[ ] E", "back and forth in time, and to the end"),
    (":", "a command, such as partitions --offline"),
    ("?", "help; ctrl+p finds every action"),
)


def overview(view_state: ViewState, ask: Ask) -> Iterator[Sequence[ValueLine]]:
    """All lines, again and again, each time with more that is known.

    Args:
        view_state: The cluster alone.
        ask: Runs a command on it.
    """
    facts = dict.fromkeys(_FACTS, _WAITING)
    facts["metadata"] = _metadata(view_state)
    yield _lines(facts, ())
    answer, in_words = ask("quorum", *_TABLE, "all"), ask("quorum")
    facts["cluster"], facts["quorum"] = _quorum(answer, in_words, _followed(view_state))
    yield _lines(facts, ())
    facts["brokers"] = _brokers(ask("brokers", *_TABLE, "state").table)
    yield _lines(facts, ())
    facts["topics"], facts["partitions"] = _topics(
        ask("topics", *_TABLE, "partitions,offline,under_replicated").table
    )
    yield _lines(facts, ())
    health = ask("health", "--summary", "-o", "table")
    facts["health"], kinds = _health(health)
    yield _lines(facts, kinds)


def _lines(facts: dict[str, str], kinds: Sequence[str]) -> Sequence[ValueLine]:
    lines = [_line(key, value) for key, value in facts.items()]
    lines += [ValueLine(text, indent=4) for text in kinds]
    return [*lines, ValueLine(""), *(_line(key, what) for key, what in _KEYS_TO_KNOW)]


def _line(key: str, value: str) -> ValueLine:
    text = escape(value)
    return ValueLine(f"{key:<{_KEY}}{text}", key=len(key), indent=_KEY)


def _metadata(view_state: ViewState) -> str:
    assert view_state.cluster is not None
    status = view_state.cluster.status()
    parts = [status.metadata_version or "no metadata.version"]
    if status.offset is not None:
        parts.append(f"offset {status.offset}, epoch {status.epoch}")
    return ", ".join(parts)


def _followed(view_state: ViewState) -> LiveStatus | None:
    """How a quorum is followed whose newest state is shown; None for others."""
    cluster = view_state.cluster
    if cluster is None or cluster.live is None or cluster.moment_offset is not None:
        return None
    return cluster.live.status()


def _quorum(
    answer: CommandAnswer, in_words: CommandAnswer, live: LiveStatus | None
) -> tuple[str, str]:
    """(id of the cluster, how its quorum is)."""
    cluster = "unknown"
    for said in in_words.text.splitlines():
        name, _, value = said.partition(":")
        if name == "ClusterId":
            cluster = value.strip()
    if answer.table is None:
        return cluster, "unknown"
    names = answer.table.column("status").to_pylist()
    ids = answer.table.column("id").to_pylist()
    leaders = [str(i) for i, status in zip(ids, names, strict=True) if status == "Leader"]
    n_voters = sum(status != "Observer" for status in names)
    return cluster, f"{_count(n_voters, 'voter')}, {_leader(leaders, live)}"


def _leader(leaders: Sequence[str], live: LiveStatus | None) -> str:
    told = ", ".join(leaders) or None
    if live is None:
        return leader_words(told) if told else LEADER_UNKNOWN
    return leader_words(live.leader_now, told if live.leader_id is None else live.leader_id)


def _topics(table: pa.Table | None) -> tuple[str, str]:
    """(topics, partitions)."""
    if table is None:
        return "unknown", "unknown"
    parts = [f"{_sum(table, 'partitions'):,}"]
    offline, under = _sum(table, "offline"), _sum(table, "under_replicated")
    parts += [f"{offline:,} offline"] if offline else []
    parts += [f"{under:,} under-replicated"] if under else []
    return f"{len(table):,}", ", ".join(parts)


def _brokers(table: pa.Table | None) -> str:
    if table is None:
        return "unknown"
    states = table.column("state").to_pylist()
    parts = [f"{len(states):,}"]
    for state in sorted({state for state in states if state is not None}):
        if state != "active":
            parts.append(f"{states.count(state):,} {state}")
    return ", ".join(parts)


def _health(answer: CommandAnswer) -> tuple[str, Sequence[str]]:
    table = answer.table
    if table is None or not len(table):
        verdicts = (v.nothing for v in answer.verdicts if isinstance(v, HealthVerdict))
        return next(verdicts, "the overview is not available"), ()
    rows = table.to_pylist()
    told = []
    for level in SEVERITIES:
        of_level = [row for row in rows if row["severity"] == level]
        found = [f"{escape(row['code'])} {told_count(row):,}" for row in of_level]
        told += [f"  {_SYMBOLS[level]} {', '.join(found)}"] if found else []
    return f"{rows[0]['severity']}: press 3 to see what to do", told


def _sum(table: pa.Table, name: str) -> int:
    return pc.sum(table.column(name)).as_py() or 0


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"
