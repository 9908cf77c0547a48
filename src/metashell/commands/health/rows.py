"""The rows of ``health``: findings with the node to look at and the command that goes on.

Texts of a million rows are made by whole columns; only unusual names are written one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.checks.finding import Finding
from metashell.commands.framework.command_line import quote_words
from metashell.commands.health.columns import CLUSTERS, COLUMNS, SUMMARY, UNREAD
from metashell.commands.rows.cell_text import plain_texts
from metashell.commands.rows.columns import CLUSTER
from metashell.commands.rows.stream import cells, table_of_values
from metashell.commands.shared.resources import CONFIG_TYPES, resource_word
from metashell.findings.kind import SEVERITIES, FindingKind
from metashell.findings.known import all_kinds
from metashell.fs.path import encode_name
from metashell.fs.pattern import quote as as_pattern
from metashell.schema.arena import I64

if TYPE_CHECKING:
    from metashell.judgement.image_findings import Findings

_SHARED: Final = frozenset({"severity", "code", "why", "partitions", "explanation", "action"})
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
_SINCE: Final = frozenset({"since_offset", "since_time", "since_before"})
_UNREGISTER: Final = 'kafka-cluster.sh unregister --bootstrap-server "$BOOTSTRAP_SERVER" --id '
_WITH_CONFIGS: Final = frozenset(CONFIG_TYPES.values())


def of_finding(finding: Finding) -> tuple[int, pa.Table]:
    """One row, and where it stands among the others."""
    kind = finding.kind
    file = "the log" if finding.file is None else f"file {finding.file}"
    row: dict[str, object] = {
        "severity": kind.severity.value,
        "code": kind.code,
        "subject": finding.subject or file,
        "count": finding.count,
        "since_time": finding.since_time_ms,
        "why": None,
        "causes": [],
        "command": next_command(finding),
        "partitions": None,
        "since_offset": finding.offset,
        "since_before": None,
        "path": finding.path,
        "explanation": finding.meaning,
        "action": finding.what_to_do,
    }
    return _rank(kind), pa.table(
        {name: pa.array([row[name]], kind) for name, kind in TYPES.items()}
    )


def next_command(finding: Finding) -> str | None:
    """The command that goes on from a finding; None for none."""
    words = finding.command
    return finding.kind.see if words is None else quote_words(words) or None


def of_findings(findings: Findings, columns: Collection[str] | None) -> tuple[int, pa.Table]:
    """Rows, a row for each subject, and where they stand among the others; those columns."""
    kind, n = findings.kind, len(findings.names)
    places = pa.array(np.zeros(n, dtype=np.int32))

    def same(text: str) -> Callable[[], pa.Array]:
        return lambda: pa.DictionaryArray.from_arrays(places, pa.array([text], pa.string()))

    def nulls() -> pa.Array:
        return pa.nulls(n, pa.string())

    writer = _Writer(findings)
    shows_since = columns is None or not _SINCE.isdisjoint(columns)
    since = findings.since() if shows_since else {}
    makers: dict[str, Callable[[], pa.Array]] = {
        "severity": same(kind.severity.value),
        "code": same(kind.code),
        "subject": writer.subjects,
        "count": lambda: findings.counts,
        "partitions": lambda: (findings.partitions or nulls)().dictionary_encode(),
        "since_time": lambda: since["since_time"],
        "why": lambda: (findings.why or writer.details_or_null)().dictionary_encode(),
        "causes": findings.causes or (lambda: pa.array([[]] * n, TYPES["causes"])),
        "command": writer.commands,
        "since_offset": lambda: since["since_offset"],
        "since_before": lambda: since.get("since_before", pa.nulls(n, TYPES["since_before"])),
        "path": writer.paths,
        "explanation": writer.explanations if findings.details else same(kind.meaning),
        "action": writer.actions if kind.do_for_none else same(kind.action),
    }
    made = {
        name: makers[name]() if columns is None or name in columns else pa.nulls(n, TYPES[name])
        for name in TYPES
    }
    return _rank(kind), pa.table(made)


def _rank(kind: FindingKind) -> int:
    return list(all_kinds()).index(kind.code)


def in_order(parts: Iterable[tuple[int, pa.Table]]) -> pa.Table:
    """All rows, the worst first. Nothing of the parts is kept here, which may be all there is."""
    return grouped(_joined_rows(parts))


def _joined_rows(parts: Iterable[tuple[int, pa.Table]]) -> pa.Table:
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
    effects, causes = cause_links(rows)
    if not len(effects):
        return rows
    at, first = np.unique(effects, return_index=True)
    head = np.arange(n)
    head[at] = causes[first]
    best = np.arange(n)
    np.minimum.at(best, head, np.arange(n))
    severity = pc.index_in(plain_texts(rows.column("severity")), pa.array(SEVERITIES)).to_numpy()
    is_head = head == np.arange(n)
    level = np.where(is_head, severity[best], severity)
    order = pa.array(np.lexsort((np.arange(n), ~is_head, best[head], level)))
    columns, schema = rows.columns, rows.schema
    # Column by column: there may be 100 MB of rows, and nobody else has them.
    del rows
    return pa.table([_in_order(columns.pop(0), order) for _ in schema.names], schema)


def cause_links(rows: pa.Table) -> tuple[I64, I64]:
    """The rows that follow from others, ascending, and the rows that these are: int64[m] each.

    Args:
        rows: With dictionaries in one piece; of several clusters with the column ``cluster``.
    """
    lists = rows.column("causes").combine_chunks()
    parents = pc.list_parent_indices(lists).to_numpy()
    if not len(parents):
        return parents, parents
    wanted = pc.list_flatten(lists)
    # Few kinds are causes: to name all rows, and to look among them, took as much as the rows.
    kinds = pc.unique(pc.replace_substring_regex(pc.unique(wanted), " .*", ""))
    may_be = np.flatnonzero(pc.is_in(plain_texts(rows.column("code")), kinds))
    causes = rows.take(pa.array(may_be))
    names = pc.binary_join_element_wise(
        plain_texts(causes.column("code")), causes.column("subject"), " "
    )
    if CLUSTER.name in rows.column_names:
        names = pc.binary_join_element_wise(causes.column(CLUSTER.name), names, "/")
        clusters = rows.column(CLUSTER.name).take(pa.array(parents))
        wanted = pc.binary_join_element_wise(clusters, wanted, "/")
    found = pc.fill_null(pc.index_in(wanted, _flat(names)), -1).to_numpy()
    known = found >= 0
    return parents[known], may_be[found[known]]


def _in_order(column: pa.ChunkedArray, order: pa.Array) -> pa.Array:
    """The texts at each place; `take` on a column in pieces would hold another copy."""
    flat = _flat(column)
    del column
    return flat.take(order)


def _flat(texts: pa.ChunkedArray | pa.Array) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def worst_first(rows: pa.Table) -> pa.Table:
    """Rows of several clusters, the worst first and else as they are."""
    kinds = pc.index_in(plain_texts(rows.column("code")), pa.array(list(all_kinds())))
    return rows.take(pa.array(np.argsort(kinds.to_numpy(), kind="stable")))


def worst_clusters_first(clusters: pa.Table) -> pa.Table:
    """Rows with the columns of `CLUSTERS`, the worst first and else as they are."""
    order = (UNREAD, *SEVERITIES)
    ranks = pc.index_in(clusters.column("severity"), pa.array(order))
    keys = [pc.fill_null(ranks, len(order)).to_numpy()]
    keys += [-clusters.column(f"{severity}_kinds").to_numpy() for severity in SEVERITIES]
    return clusters.take(pa.array(np.lexsort(keys[::-1])))


def cluster_of(rows: pa.Table) -> pa.Table:
    """One row for all of a cluster's: with the columns of `CLUSTERS`."""
    kinds = summary_of(rows).to_pylist()
    severities = [kind["severity"] for kind in kinds]
    row = {
        "severity": next(iter(severities), None),
        **{f"{severity}_kinds": severities.count(severity) for severity in SEVERITIES},
        "findings": [f"{kind['code']} {told_count(kind):,}" for kind in kinds],
    }
    return table_of_values(CLUSTERS, {name: [value] for name, value in row.items()})


def cluster_unread(reason: str) -> pa.Table:
    """One row for a directory that can't be read: with the columns of `CLUSTERS`."""
    row = {"severity": UNREAD, **{f"{severity}_kinds": 0 for severity in SEVERITIES}}
    row["findings"] = [reason]
    return table_of_values(CLUSTERS, {name: [value] for name, value in row.items()})


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
        .group_by(["severity", "code"], use_threads=False)
        .aggregate(
            [
                ("subject", "count", pc.CountOptions(mode="all")),
                ("count", "sum"),
                ("since_time", "min", whole),
                ("explanation", "first"),
                ("explanation", "count_distinct"),
                ("action", "first"),
                ("action", "count_distinct"),
            ]
        )
    )
    names = {
        "severity": "severity",
        "code": "code",
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
    # Texts about one subject do not hold for the others.
    of_kinds = [all_kinds()[code] for code in columns["code"].to_pylist()]
    for name, texts_of_kinds in (
        ("explanation", _strings(kind.meaning for kind in of_kinds)),
        ("action", _strings(kind.action for kind in of_kinds)),
    ):
        differ = pc.greater(found.column(f"{name}_count_distinct"), 1)
        same = pc.coalesce(texts_of_kinds, columns[name])
        columns[name] = pc.if_else(differ, same, columns[name])
    return worst_first(pa.table(columns))


def told_count(kind: Mapping[str, Any]) -> int:
    """The number that is told behind the name of a kind: of brokers, whose replicas it counts.

    Args:
        kind: A row with the columns of `SUMMARY_TYPES`.
    """
    n: int = kind["subjects" if all_kinds()[kind["code"]].counts == "replicas" else "count"]
    return n


class _Writer:
    """Texts about the subjects of findings."""

    def __init__(self, findings: Findings) -> None:
        self.of, self.names, self.parts = findings.of, findings.names, findings.parts
        self.kind, self.details, self.counts = findings.kind, findings.details, findings.counts
        self.explains = findings.explains

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
        see = self.kind.see or ""
        if self.kind.code == "ghost-registration":
            see = f"{_UNREGISTER}{{subject}}" if self.of == "broker" else "nodes --controllers"
        before, subject, _ = see.partition("{subject}")
        if not subject:
            return pa.repeat(pa.scalar(see or None, pa.string()), len(self.names))
        if self.of == "topic":
            return _joined(f"{before}--topic ", self._quoted())
        if self.of == "partition":
            return _joined(before, self._quoted(), "-", self.parts)
        if self.of == "config":
            named = self._configs()
            return _strings(_config_command(before, kind, name) for kind, name in named)
        return _joined(before, self.names)

    def details_or_null(self) -> pa.Array:
        """The details of each subject."""
        return _strings(self.details) if self.details else pa.nulls(len(self.names), pa.string())

    def explanations(self) -> pa.Array:
        """The meaning of the kind, and the details of each subject."""
        meaning = self.kind.meaning
        return pa.array(
            [
                d if self.explains else meaning if d is None else f"{d}: {meaning}"
                for d in self.details
            ],
            TYPES["explanation"],
        )

    def actions(self) -> pa.Array:
        """The advice for each subject, which depends on its count."""
        texts = pc.if_else(pc.equal(self.counts, 0), self.kind.do_for_none, self.kind.action)
        return texts.cast(TYPES["action"])

    def _encoded(self) -> pa.Array:
        return _mapped(self.names, encode_name)

    def _quoted(self) -> pa.Array:
        return _mapped(self.names, lambda name: quote_words([as_pattern(name)]))


def _config_command(before: str, kind: str, name: str) -> str:
    if before.endswith("/"):
        return before + quote_words([encode_name(f"{kind}:{name}")])
    if kind not in _WITH_CONFIGS:
        return before.strip()
    resource = f"{resource_word(kind)}:{name or 'default'}"
    return f"{before}--resource {quote_words([resource])}"


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
