"""Findings about how a broker stopped: what it recovers, and what the controller makes of it.

A running node has no ``.kafka_cleanshutdown``, as if it had been killed.

Source: org.apache.kafka.storage.internals.log.LogManager (loadLogs,
readBrokerEpochFromCleanShutdownFiles), LogLoader.recoverLog,
org.apache.kafka.controller.ReplicationControlManager.handleBrokerShutdown; KIP-966.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.election import elr_enabled, lists_of
from metashell.answers.replica_counts import is_in
from metashell.answers.replica_states import Reason, ReplicaState
from metashell.checks.finding import Finding
from metashell.findings.kind import StopKind
from metashell.findings.known import all_kinds
from metashell.node_files.clean_shutdown import FILE_NAME, read_broker_epoch
from metashell.places.uri import shown
from metashell.schema.sizes import size_text
from metashell.sources.replicas import first_of, log_names, partition_names

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.judgement.evidence import Evidence
    from metashell.node_files.log_directory import LogDirectory

_ALONE: Final = (
    "see that all log directories are there before you start this one: no other broker has the data"
    " of the partitions named"
)


def of_stop(
    evidence: Evidence,
    broker: int,
    directories: Sequence[LogDirectory],
    rows: pa.Table,
    *,
    is_whole: bool,
) -> Iterator[Finding]:
    """Find what follows from the stop of a broker, or from its kill if it still runs.

    Args:
        evidence: Says how it will have stopped, where somebody knows.
        broker: Its id.
        directories: Its log directories.
        rows: Its replicas.
        is_whole: Whether each log directory could be listed.
    """
    may_run = not any(FILE_NAME in directory.files for directory in directories)
    if may_run and evidence.after is StopKind.CLEAN:
        return
    after = StopKind.KILL if may_run and evidence.after is None else None
    n_segments, n_bytes = (
        pc.sum(rows[name], min_count=0).as_py() for name in ("recovery_segments", "recovery_bytes")
    )
    if n_segments:
        n = pc.sum(pc.greater(rows["recovery_segments"], 0)).as_py()
        text = f"{size_text(n_bytes)} in {_counted(n_segments, 'segment')} of {_counted(n, 'log')}"
        text += " are read before the broker works"
        yield Finding("log-recovery", text, subject=f"broker {broker}", count=n, after=after)
    why = _unclean(evidence.image, broker, directories) if is_whole else "a directory can't be read"
    n, alone = _in_sync(evidence.image, broker)
    if why is None or not n or not elr_enabled(evidence.image):
        return
    text, action = f"{why}: the broker leaves the ISR and ELR of {_counted(n, 'partition')}", None
    if len(alone):
        text += f"; no other broker is in them for {len(alone):,} of these: {first_of(alone)}"
        gone = alone.filter(pc.invert(pc.is_in(alone, _served(evidence, rows, directories))))
        if len(gone) < len(alone):
            text += (
                ". It leads these again as their last known leader, with the records of its logs"
            )
        if len(gone):
            rest = "" if len(gone) == len(alone) else f", but not {first_of(gone)}"
            nobody = f"{rest}: the log" if rest else ". Nobody leads them: the log"
            text += f"{nobody} is not where the metadata has it, or its directory goes offline"
        action = _ALONE if len(alone) == n else f"{all_kinds()['unclean-start'].do}. Then {_ALONE}"
    subject = f"broker {broker}"
    yield Finding("unclean-start", text, action, subject=subject, count=n, after=after)


def _served(
    evidence: Evidence, rows: pa.Table, directories: Sequence[LogDirectory]
) -> pa.ChunkedArray:
    """The names of logs that are where the metadata has them, in directories that stay online."""
    failing = [shown(str(one.place)) for one in directories if evidence.logs.fails(one)]
    is_there = pc.and_(
        is_in(rows, ReplicaState.IN_PLACE, ReplicaState.REPLACED),
        pc.invert(pc.is_in(rows["directory"], pa.array(failing, pa.string()))),
    )
    elsewhere = pa.array([Reason.ELSEWHERE, Reason.LOST_DIRECTORY], pa.string())
    some = rows.filter(pc.and_(is_there, pc.invert(pc.is_in(rows["reason"], elsewhere))))
    return log_names(some)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _in_sync(image: Image, broker: int) -> tuple[int, pa.Array]:
    """The partitions whose ISR or ELR has a broker, and the names of those where no other is."""
    lists = [lists_of(image, name, np.arange(len(image.partitions))) for name in ("isr", "elr")]
    brokers = np.concatenate([one.brokers for one in lists])
    row = np.concatenate([one.row for one in lists])
    own = np.unique(row[brokers == broker])
    return len(own), partition_names(image, own[~np.isin(own, row[brokers != broker])])


def _unclean(image: Image, broker: int, directories: Sequence[LogDirectory]) -> str | None:
    """Why the controller takes a start for unclean; None: it does not."""
    brokers = image.brokers
    epochs = brokers.registration.fixed("broker_epoch")[brokers.ids == broker].tolist()
    registered = epochs[0] if epochs else None
    for directory in directories:
        epoch, place = read_broker_epoch(directory.place), shown(str(directory.place))
        if FILE_NAME not in directory.files:
            return f"{place}: there is no {FILE_NAME}"
        if epoch != registered:
            epoch_text = "no broker epoch" if epoch is None else f"broker epoch {epoch}"
            return f"{place}: {FILE_NAME} has {epoch_text}, and the registration {registered}"
    return None
