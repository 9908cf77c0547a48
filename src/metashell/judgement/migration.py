"""Findings about a migration from ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from metashell.answers.migration import ids_text, migration_of
from metashell.answers.row_times import when
from metashell.checks.finding import Finding
from metashell.findings.kind import FindingKind
from metashell.findings.kinds.migration import FINALIZE, RESTART
from metashell.judgement.evidence import Evidence


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find a migration that has not ended, or that has ended with ZooKeeper brokers left."""
    image = evidence.image
    found = migration_of(image)
    if not found.is_open and not found.brokers:
        return
    code = "migration-unfinished" if found.is_open else "migration-ended-early"
    verb = "is" if len(found.brokers) == 1 else "are"
    message = (
        f"the migration from ZooKeeper is in state {found.text}: it waits for {found.waits_for}"
        if found.is_open
        else f"the migration from ZooKeeper has ended ({found.text}), and"
        f" {ids_text('broker', found.brokers)} {verb} still in ZooKeeper mode: controllers tell"
        " them nothing new any more"
    )
    action = None
    if found.is_open and found.has_begun:
        action = RESTART if found.brokers else FINALIZE
    since = when(image, "since", np.array([-1 if found.row is None else found.row]))
    yield Finding(
        code,
        message,
        action,
        subject="the migration",
        count=max(len(found.brokers), 1),
        path="/image/cluster/brokers",
        offset=since["since_offset"][0].as_py(),
        since_time_ms=since["since_time"].cast("int64")[0].as_py(),
    )
