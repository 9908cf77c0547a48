"""Findings about the replicas on a broker's disks: what becomes of them at its next start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.replica_counts import STRAY_STATES, is_in
from metashell.answers.replica_states import Reason, ReplicaState
from metashell.checks.finding import Finding
from metashell.findings.kind import FindingKind, Need
from metashell.findings.known import all_kinds
from metashell.schema.sizes import size_text
from metashell.sources.replicas import log_directories_here, replicas_table

if TYPE_CHECKING:
    from metashell.judgement.evidence import Evidence

_COLUMNS: Final = frozenset({"broker", "topic", "partition", "state", "reason", "name", "bytes"})
_NAMED: Final = 3
"""So many logs are named; `replicas` has all."""


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what becomes of the replicas of the brokers whose log directories are here."""
    source = evidence.source
    if source.of_coordinator is not None or source.moment_offset is not None:
        return
    # A directory of the metadata log alone is a copy, unless a configuration names it.
    if not source.log_places or not (source.has_logs or source.settings.config):
        return
    rows = replicas_table(
        source,
        log_directories_here(source, evidence),
        evidence,
        columns=_COLUMNS,
        looks_in=Need.DISKS not in evidence.lacks(),
        poll=evidence.stop,
    )
    wanted = {kind.code for kind in kinds}
    for broker in pc.unique(rows["broker"]).drop_null().to_pylist():
        some = rows.filter(pc.equal(rows["broker"], broker))
        found = _of_broker(f"broker {broker}", some)
        yield from (finding for finding in found if finding.code in wanted)


def _of_broker(broker: str, rows: pa.Table) -> Iterator[Finding]:
    missing = rows.filter(is_in(rows, ReplicaState.MISSING))
    for code, reason, text in (
        ("replica-lost", Reason.LOST, "lost if the broker starts"),
        ("replica-leads-empty", Reason.LEADS, "lost if the broker starts before the others"),
        ("replica-missing", Reason.CREATED, "on no disk of the broker"),
    ):
        some = missing.filter(pc.equal(missing["reason"], reason))
        yield from _told(code, broker, some, text, _set_aside(some, rows))
    for code, state, text in (
        ("becomes-stray", ReplicaState.BECOMES_STRAY, "set aside at the next start"),
        ("stray-left", ReplicaState.STRAY, "stray"),
        ("ghost-replica", ReplicaState.GHOST, "of another topic's name"),
    ):
        some = rows.filter(is_in(rows, state))
        yield from _told(code, broker, some, text, _reasons(some))
    for code, reason, text in (
        ("future-promoted", Reason.PROMOTED, "replaced by their future logs at the next start"),
        ("future-log", Reason.COPIED, "on the way to another log directory"),
        ("replica-elsewhere", Reason.ELSEWHERE, "in another directory than the metadata has"),
    ):
        some = rows.filter(pc.fill_null(pc.equal(rows["reason"], reason), False))
        yield from _told(code, broker, some, text, "")


def _told(code: str, broker: str, rows: pa.Table, text: str, more: str) -> Iterator[Finding]:
    """The finding of a kind about rows, where there are any."""
    n = len(rows)
    if not n:
        return
    kind, n_bytes = all_kinds()[code], pc.sum(rows["bytes"]).as_py()
    noun = kind.counts if n > 1 else {"directories": "directory"}.get(kind.counts, kind.counts[:-1])
    names = _logs(rows).slice(0, _NAMED).to_pylist() + [f"{n - _NAMED:,} more"] * (n > _NAMED)
    size = "" if n_bytes is None else f" ({size_text(n_bytes)})"
    message = f"{n:,} {noun}{size} {'is' if n == 1 else 'are'} {text}: {', '.join(names)}{more}"
    yield Finding(code, message, subject=broker, count=n)


def _logs(rows: pa.Table) -> pa.ChunkedArray:
    """The names of logs, such as ``orders-3``."""
    numbers = rows["partition"].cast(pa.string())
    return pc.binary_join_element_wise(rows["topic"], numbers, "-")


def _reasons(rows: pa.Table) -> str:
    """The reasons of strays, the most frequent first."""
    found = pc.value_counts(rows["reason"].filter(is_in(rows, ReplicaState.BECOMES_STRAY)))
    order = sorted(found.to_pylist(), key=lambda one: -int(one["counts"]))
    return "".join(f"; {one['counts']:,} because {one['values']}" for one in order)


def _set_aside(missing: pa.Table, rows: pa.Table) -> str:
    """The words where logs of the missing replicas' names become stray, or are."""
    strays = rows.filter(is_in(rows, *STRAY_STATES))
    n = pc.sum(pc.is_in(_logs(missing), pc.unique(_logs(strays)))).as_py()
    return f"; {n:,} with a log of this name that is set aside" if n else ""
