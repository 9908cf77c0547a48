"""The rows of ``health``: problems with the node to look at and the command that goes on.

Texts of a million rows are made by whole columns; only unusual names are written one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.problem_kinds import KINDS, LEVELS, Level, ProblemKind
from metashell.commands.framework.command_line import quote_words
from metashell.commands.health.columns import COLUMNS, SUMMARY
from metashell.commands.rows.cell_text import plain_texts
from metashell.commands.rows.columns import CLUSTER
from metashell.commands.rows.stream import cells
from metashell.commands.shared.resources import CONFIG_TYPES, resource_word
from metashell.dataclass import dataclass
from metashell.fs.path import encode_name
from metashell.fs.pattern import quote as as_pattern

if TYPE_CHECKING:
    from metashell.answers.problems import Problem

_SHARED: Final = frozenset({"severity", "problem", "why", "partitions", "explanation", "action"})
"""Columns whose few texts are held once each: in plain they were half of a million rows, and the
explorer measured each of them."""
_SHARED_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
TYPES: Final = {
    column.name: _SHARED_TEXT if column.name in _SHARED else cells(column.kind, ()).type
    for column in COLUMNS
}
"""The columns."""
SUMMARY_TYPES: Final = {column.name: cells(column.kind, ()).type for column in SUMMARY}
"""The columns of a summary."""

_PLAIN: Final = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$"
"""Names that stand for themselves in paths and in command lines."""
_TOPICS: Final = "/image/topics/byName"
_COMMANDS: Final = {
    "offline-partitions": ("partitions", "--offline"),
    "coordinator-offline": ("partitions", "--offline"),
    "under-min-isr": ("partitions", "--under-min-isr"),
    "under-replicated": ("partitions", "--under-replicated"),
    "at-min-isr": ("partitions", "--at-min-isr", "--under-replicated"),
    "unclean-possible": ("partitions", "--under-replicated"),
    "recovering": ("partitions", "--recovering"),
    "elr-in-use": ("partitions", "--elr"),
    "reassigning": ("partitions", "--reassigning"),
    "no-spare-replica": ("partitions", "--at-min-isr"),
    "no-preferred-leader": ("partitions", "--no-preferred-leader"),
    "reassignment-stuck": ("partitions", "--reassigning"),
    "preferred-election-due": ("partitions", "--no-preferred-leader", "--replica"),
    "leftover-throttle": ("config",),
    "lowered-config": ("changes", "/image/configs/"),
    "lost-directory": ("partitions", "--directory", "LOST", "--replica"),
    "offline-directory": ("partitions", "--replica"),
    "unregistered-broker": ("partitions", "--replica"),
    "fenced-broker": ("changes", "/image/cluster/brokers/"),
    "controlled-shutdown": ("partitions", "--leader"),
    "config-of-gone-resource": ("config", "--gone"),
    "unknown-config": ("config", "--unknown"),
}
"""The command that shows the partitions, brokers and configs concerned, up to the subject."""
_SINCE: Final = frozenset({"since_offset", "since_time", "since_before"})
_UNREGISTER: Final = 'kafka-cluster.sh unregister --bootstrap-server "$BOOTSTRAP_SERVER" --id '
_WITH_CONFIGS: Final = frozenset(CONFIG_TYPES.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """A problem that is no image's: of a file, of the log, of the quorum."""

    kind: ProblemKind
    subject: str
    count: int = 1
    path: str | None = None
    command: str | None = None
    since_offset: int | None = None
    since_time_ms: int | None = None
    level: Level | None = None
    """None for the kind's."""
    explanation: str | None = None
    """In place of what the kind means."""
    action: str | None = None
    """In place of the kind's advice."""


def of_single(single: Single) -> tuple[tuple[int, int], pa.Table]:
    """One row, and where it stands among the others."""
    kind = single.kind
    level = single.level or kind.level
    row: dict[str, object] = {
        "severity": level.value,
        "problem": kind.code,
        "subject": single.subject,
        "count": single.count,
        "since_time": single.since_time_ms,
        "why": None,
        "causes": [],
        "command": single.command,
        "partitions": None,
        "since_offset": single.since_offset,
        "since_before": None,
        "path": single.path,
        "explanation": single.explanation or kind.meaning,
        "action": single.action or kind.advice,
    }
    return _rank(level, kind), pa.table(
        {name: pa.array([row[name]], kind) for name, kind in TYPES.items()}
    )


def of_problem(
    problem: Problem, columns: Collection[str] | None
) -> tuple[tuple[int, int], pa.Table]:
    """Rows, a row for each subject, and where they stand among the others; those columns."""
    kind, n = problem.kind, len(problem.names)
    places = pa.array(np.zeros(n, dtype=np.int32))

    def same(text: str) -> Callable[[], pa.Array]:
        return lambda: pa.DictionaryArray.from_arrays(places, pa.array([text], pa.string()))

    def nulls() -> pa.Array:
        return pa.nulls(n, pa.string())

    writer = _Writer(problem)
    shows_since = columns is None or not _SINCE.isdisjoint(columns)
    since = problem.since() if shows_since else {}
    makers: dict[str, Callable[[], pa.Array]] = {
        "severity": same(kind.level.value),
        "problem": same(kind.code),
        "subject": writer.subjects,
        "count": lambda: problem.counts,
        "partitions": lambda: (problem.partitions or nulls)().dictionary_encode(),
        "since_time": lambda: since["since_time"],
        "why": lambda: (problem.why or writer.details_or_null)().dictionary_encode(),
        "causes": problem.causes or (lambda: pa.array([[]] * n, TYPES["causes"])),
        "command": writer.commands,
        "since_offset": lambda: since["since_offset"],
        "since_before": lambda: since.get("since_before", pa.nulls(n, TYPES["since_before"])),
        "path": writer.paths,
        "explanation": writer.explanations if problem.details else same(kind.meaning),
        "action": same(kind.advice),
    }
    made = {
        name: makers[name]() if columns is None or name in columns else pa.nulls(n, TYPES[name])
        for name in TYPES
    }
    return _rank(kind.level, kind), pa.table(made)


def _rank(level: Level, kind: ProblemKind) -> tuple[int, int]:
    code = list(KINDS).index(kind.code) if kind.code in KINDS else len(KINDS)
    return LEVELS.index(level.value), code


def in_order(parts: Iterable[tuple[tuple[int, int], pa.Table]]) -> pa.Table:
    """All rows, the worst first. Nothing of the parts is kept here, which may be all there is."""
    return grouped(_joined_rows(parts))


def _joined_rows(parts: Iterable[tuple[tuple[int, int], pa.Table]]) -> pa.Table:
    tables = [table for _, table in sorted(parts, key=lambda part: part[0])]
    if not tables:
        return pa.table({name: pa.array([], kind) for name, kind in TYPES.items()})
    return pa.concat_tables(tables)


def grouped(rows: pa.Table) -> pa.Table:
    """Rows with what follows from each behind it, the group with the worst row first.

    A less severe row of a group comes behind more severe rows of other groups: no critical row
    stands below notes.

    Args:
        rows: The worst first; of several clusters with the column ``cluster``.
    """
    n = len(rows)
    rows = rows.unify_dictionaries()
    lists = rows.column("causes").combine_chunks()
    parents = pc.list_parent_indices(lists).to_numpy()
    if not len(parents):
        return rows
    at, first = np.unique(parents, return_index=True)
    wanted = pc.list_flatten(lists).take(pa.array(first))
    # Few kinds are causes: to name all rows, and to look among them, took as much as the rows.
    kinds = pc.unique(pc.replace_substring_regex(pc.unique(wanted), " .*", ""))
    may_be = np.flatnonzero(pc.is_in(plain_texts(rows.column("problem")), kinds))
    causes = rows.take(pa.array(may_be))
    names = pc.binary_join_element_wise(
        plain_texts(causes.column("problem")), causes.column("subject"), " "
    )
    if CLUSTER.name in rows.column_names:
        names = pc.binary_join_element_wise(causes.column(CLUSTER.name), names, "/")
        clusters = rows.column(CLUSTER.name).take(pa.array(at))
        wanted = pc.binary_join_element_wise(clusters, wanted, "/")
    found = pc.fill_null(pc.index_in(wanted, _flat(names)), -1).to_numpy()
    head = np.arange(n)
    head[at[found >= 0]] = may_be[found[found >= 0]]
    best = np.arange(n)
    np.minimum.at(best, head, np.arange(n))
    severity = pc.index_in(plain_texts(rows.column("severity")), pa.array(LEVELS)).to_numpy()
    is_head = head == np.arange(n)
    level = np.where(is_head, severity[best], severity)
    order = pa.array(np.lexsort((np.arange(n), ~is_head, best[head], level)))
    columns, schema = rows.columns, rows.schema
    # Column by column: there may be 100 MB of rows, and nobody else has them.
    del rows, causes, lists
    return pa.table([_in_order(columns.pop(0), order) for _ in schema.names], schema)


def _in_order(column: pa.ChunkedArray, order: pa.Array) -> pa.Array:
    """The texts at each place; `take` on a column in pieces would hold another copy."""
    flat = _flat(column)
    del column
    return flat.take(order)


def _flat(texts: pa.ChunkedArray | pa.Array) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def worst_first(rows: pa.Table) -> pa.Table:
    """Rows of several clusters, the worst first and else as they are."""
    severities, problems = (plain_texts(rows.column(name)) for name in ("severity", "problem"))
    ranks = pc.index_in(severities, pa.array(LEVELS))
    kinds = pc.fill_null(pc.index_in(problems, pa.array(list(KINDS))), len(KINDS))
    at = pa.array(range(len(rows)), pa.int64())
    keys = pa.table({"rank": ranks, "kind": kinds, "at": at})
    return rows.take(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]))


def summary_of(rows: pa.Table) -> pa.Table:
    """A row for each kind of the rows, in their order.

    Args:
        rows: With the columns of `TYPES`.

    Returns:
        With the columns of `SUMMARY_TYPES`.
    """
    columns = {name: rows.column(name) for name in ("subject", "count", "since_time")}
    texts = {}
    for name in _SHARED & SUMMARY_TYPES.keys():
        # Arrow groups by numbers, but by no texts that are held once each.
        column = rows.column(name).unify_dictionaries().combine_chunks()
        columns[name], texts[name] = column.indices, column.dictionary
    whole = pc.ScalarAggregateOptions(skip_nulls=False)
    found = (
        pa.table(columns)
        .group_by(["severity", "problem"], use_threads=False)
        .aggregate(
            [
                ("subject", "count", pc.CountOptions(mode="all")),
                ("count", "sum"),
                ("since_time", "min", whole),
                ("explanation", "first"),
                ("explanation", "count_distinct"),
                ("action", "first"),
            ]
        )
    )
    names = {
        "severity": "severity",
        "problem": "problem",
        "subjects": "subject_count",
        "count": "count_sum",
        "since_time": "since_time_min",
        "explanation": "explanation_first",
        "action": "action_first",
    }
    columns = {
        name: texts[name].take(found.column(of)) if name in texts else found.column(of)
        for name, of in names.items()
    }
    columns = {name: column.cast(SUMMARY_TYPES[name]) for name, column in columns.items()}
    # Details of one subject do not hold for the others.
    codes = columns["problem"].to_pylist()
    meanings = _strings(KINDS[code].meaning if code in KINDS else None for code in codes)
    differ = pc.greater(found.column("explanation_count_distinct"), 1)
    columns["explanation"] = pc.if_else(
        differ, pc.coalesce(meanings, columns["explanation"]), columns["explanation"]
    )
    return worst_first(pa.table(columns))


def told_count(kind: Mapping[str, Any]) -> int:
    """The number that is told behind the name of a kind: of brokers, whose replicas it counts.

    Args:
        kind: A row with the columns of `SUMMARY_TYPES`.
    """
    of = KINDS.get(kind["problem"])
    n: int = kind["subjects" if of is not None and of.counts == "replicas" else "count"]
    return n


def next_command(code: str, name: str) -> str:
    """The command that shows the broker or the partitions that a problem is about.

    Args:
        code: The problem.
        name: The broker's id.
    """
    return _before_name(_COMMANDS[code]) + name


def _before_name(words: Sequence[str]) -> str:
    """A command up to the name that it is about, which may be the end of a path."""
    line = " ".join(words)
    return line if line.endswith("/") else f"{line} "


class _Writer:
    """Texts about the subjects of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.of, self.names, self.parts = problem.of, problem.names, problem.parts
        self.kind, self.details = problem.kind, problem.details
        self.explains = problem.explains

    def subjects(self) -> pa.Array:
        """Such as ``topic orders``."""
        if self.of == "partition":
            return _joined("partition ", self.names, "-", self.parts)
        if self.of == "config":
            named = self._configs()
            return _strings(
                f"{resource_word(kind) if kind in _WITH_CONFIGS else kind} {name}"
                if name
                else "all brokers"
                for kind, name in named
            )
        return _joined(f"{self.of} ", self.names)

    def _configs(self) -> Iterator[tuple[str, str]]:
        """Type and name of the resource of each config."""
        assert self.parts is not None
        return zip(self.parts.to_pylist(), self.names.to_pylist(), strict=True)

    def paths(self) -> pa.Array:
        """The node of each."""
        if self.of == "topic":
            return _joined(f"{_TOPICS}/", self._encoded())
        if self.of == "partition":
            return _joined(f"{_TOPICS}/", self._encoded(), "/", self.parts)
        if self.of == "config":
            named = self._configs()
            return _strings(
                "/image/configs/" + encode_name(f"{kind}:{name}" if name else kind)
                for kind, name in named
            )
        if self.kind.code == "unregistered-broker":
            return pa.repeat(pa.scalar("/image/cluster/brokers"), len(self.names))
        if self.kind.code == "unregistered-voter":
            return _joined("/quorum/voters/", self.names)
        return _joined(f"/image/cluster/{self.of}s/", self.names)

    def commands(self) -> pa.Array:
        """The command to run next for each subject."""
        code = self.kind.code
        if code == "ghost-registration" and self.of == "broker":
            return _joined(_UNREGISTER, self.names)
        words = _COMMANDS.get(code)
        if words is None:
            options = "--columns id,role,release" if code == "older-release" else "--controllers"
            return pa.repeat(pa.scalar(f"nodes {options}"), len(self.names))
        line = " ".join(words)
        if self.of == "topic":
            return _joined(f"{line} --topic ", self._quoted())
        if self.of == "partition":
            return _joined(f"{line} ", self._quoted(), "-", self.parts)
        if self.of == "config":
            named = self._configs()
            return _strings(_config_command(words, kind, name) for kind, name in named)
        return _joined(_before_name(words), self.names)

    def details_or_null(self) -> pa.Array:
        """The details of each subject."""
        return _strings(self.details) if self.details else pa.nulls(len(self.names), pa.string())

    def explanations(self) -> pa.Array:
        """The meaning of the problem, and the details of each subject."""
        meaning = self.kind.meaning
        return pa.array(
            [
                d if self.explains else meaning if d is None else f"{d}: {meaning}"
                for d in self.details
            ],
            TYPES["explanation"],
        )

    def _encoded(self) -> pa.Array:
        return _mapped(self.names, encode_name)

    def _quoted(self) -> pa.Array:
        return _mapped(self.names, lambda name: quote_words([as_pattern(name)]))


def _config_command(words: Sequence[str], kind: str, name: str) -> str:
    if words[-1] == "/image/configs/":
        return quote_words([*words[:-1], words[-1] + encode_name(f"{kind}:{name}")])
    if kind not in _WITH_CONFIGS:
        return " ".join(words)
    resource = f"{resource_word(kind)}:{name or 'default'}"
    return quote_words([*words, "--resource", resource])


def _joined(*pieces: str | pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, "")


def _strings(texts: Iterable[str | None]) -> pa.Array:
    return pa.array(list(texts), pa.string())


def _mapped(texts: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """Texts, unusual ones changed."""
    is_plain = pc.match_substring_regex(texts, _PLAIN)
    if pc.all(is_plain, min_count=0).as_py():
        return texts
    pairs = zip(texts.to_pylist(), is_plain.to_pylist(), strict=True)
    return _strings(text if plain else change(text) for text, plain in pairs)
