"""What is measured against now on a live quorum, and against the last record elsewhere."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import encode_batch
from metashell.sources.source import Source
from support.live import Cluster
from support.logs import make_directory, record
from support.shell import run_on
from support.small_cluster import broker, level

NOW = int(time.time() * 1000)
HOUR = 3_600_000


def old_log() -> bytes:
    """Two hours ago the last record was written: a fenced broker, and a token of an hour."""
    token = {
        "owner": "User:a",
        "requester": "User:a",
        "token_id": "t",
        "issue_timestamp": NOW - 2 * HOUR,
        "max_timestamp": NOW + 9 * HOUR,
        "expiration_timestamp": NOW - HOUR,
    }
    values = [
        level("metadata.version", 25),
        broker(1, fenced=True),
        record("DelegationTokenRecord", **token),
    ]
    return encode_batch(values, leader_epoch=1, timestamp=NOW - 2 * HOUR)


def rows(source: Source, line: str) -> list[dict[str, Any]]:
    """Rows of a command."""
    found: list[dict[str, Any]] = json.loads(run_on(source, f"{line} -o json --columns all").out)
    return found


@pytest.mark.parametrize("is_live", [True, False])
def test_ghosts_and_tokens(is_live: bool, tmp_path: Path) -> None:
    """The broker is a ghost and the token expired by now, and neither at the last record."""
    source: Source
    if is_live:
        source = Cluster(old_log()).source()
    else:
        source = metashell.open(make_directory(tmp_path, (0, old_log())))
    assert is_live == (rows(source, "nodes --brokers")[0]["ghost"] is not None)
    assert is_live == rows(source, "tokens")[0]["expired"]
    problems = [row["code"] for row in rows(source, "health ghost-registration fenced-broker")]
    assert ["ghost-registration" if is_live else "fenced-broker"] == problems
    age = run_on(source, "stats --section files").out.splitlines()[-1]
    assert ("2h " if is_live else "  0s  ") in age


def test_an_earlier_state_of_a_quorum() -> None:
    """It is measured against its own last record."""
    source = Cluster(old_log(), encode_batch([record("NoOpRecord")], base_offset=3)).source()
    assert rows(source.at(2), "nodes --brokers")[0]["ghost"] is None
    assert not rows(source.at(2), "tokens")[0]["expired"]
