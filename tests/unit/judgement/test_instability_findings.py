"""What happens too often in an hour, and a rolling restart, which does not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import control_batch
from metashell.judgement.instability_findings import Burst, bursts
from metashell.sources.source import Source
from support.logs import make_directory, record
from support.shell import run_on
from support.small_cluster import TIME, broker

HOUR = 3_600_000
MINUTE = 60_000
TOPIC_ID = bytes([7]) * 16
Row = dict[str, Any]
Event = tuple[int, bytes | tuple[str, Row]]
"""When it came, ms behind `TIME`, and a record or a control message."""


def opened(parent: Path, events: Iterable[Event]) -> Source:
    """A log of events, one an offset."""
    batches = []
    for offset, (at, value) in enumerate(events):
        how: Row = {"base_offset": offset, "timestamp": TIME + at}
        is_record = isinstance(value, bytes)
        batches.append(encode_batch([value], **how) if is_record else control_batch([value], **how))
    return metashell.open(make_directory(parent, (0, b"".join(batches))))


def found(source: Source, options: str = "") -> dict[str, Row]:
    """The findings about instability by their subjects."""
    kinds = "frequent-elections unstable-broker unstable-voter"
    rows: list[Row] = json.loads(run_on(source, f"health {kinds} {options} -o json").out)
    assert len(rows) == len({row["subject"] for row in rows})
    return {row["subject"]: row for row in rows}


def elected(at: int, leader: int = 1, voters: Iterable[int] = (1, 2, 3)) -> Event:
    """A leader begins to lead."""
    listed = [{"voter_id": voter} for voter in voters]
    message = {"leader_id": leader, "voters": listed, "granting_voters": []}
    return at, ("LeaderChangeMessage", message)


def voters(at: int, *ids: int, directory: int = 0) -> Event:
    """A set of voters; the last one has a directory of that number."""
    entries = [
        {
            "voter_id": voter,
            "voter_directory_id": bytes([voter, directory if voter == ids[-1] else 0]) * 8,
            "endpoints": [],
            "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
        }
        for voter in ids
    ]
    return at, ("VotersRecord", {"voters": entries})


def changed(at: int, fenced: int, node: int = 1) -> Event:
    """A broker is fenced (1), unfenced (-1) or neither (0)."""
    fields = {"broker_id": node, "broker_epoch": node, "fenced": fenced}
    return at, record("BrokerRegistrationChangeRecord", **fields)


def partition(at: int, **fields: object) -> Event:
    """A change of the topic's partition."""
    return at, record("PartitionChangeRecord", topic_id=TOPIC_ID, partition_id=0, **fields)


TOPIC: list[Event] = [
    *((0, broker(node)) for node in (1, 2, 3)),
    (0, record("TopicRecord", name="orders", topic_id=TOPIC_ID)),
    (0, record("PartitionRecord", topic_id=TOPIC_ID, partition_id=0, replicas=[1, 2, 3],
               isr=[1, 2, 3], leader=1)),
]  # fmt: skip


def test_windows() -> None:
    """More than so many within less than an hour count, and nothing else does."""

    def of(*times: int, limit: int = 3) -> list[Burst]:
        return bursts(np.zeros(len(times), np.int64), np.array(times, np.int64), limit)

    assert [] == of()
    assert [] == of(1, 2, 3)
    assert [] == of(0, 1, 2, HOUR)
    assert [Burst(0, 4, 4, 0, HOUR - 1)] == of(HOUR - 1, 2, 0, 1)
    # The quiet event between two bursts does not count, nor do times that are none.
    assert [Burst(0, 8, 4, 0, 10 * HOUR + 3)] == of(
        *range(4), 5 * HOUR, *(10 * HOUR + i for i in range(4)), -1, -1, (1 << 63) - 1
    )
    # From the third on an hour has passed at the end.
    minutes = (0, 10, 20, 30, 58, 79, 80)
    assert [Burst(0, 5, 5, 0, 58 * MINUTE)] == of(*(i * MINUTE for i in minutes), limit=4)
    minutes = (*range(0, 120, 15), 46, 47)
    assert [Burst(0, 10, 6, 0, 105 * MINUTE)] == of(*(i * MINUTE for i in minutes))
    assert [Burst(0, 1, 1, 5, 5)] == of(5, limit=0)
    both = bursts(np.array([7, 8, 7, 8, 7]), np.array([1, 1, 2, 2, 3]), 1)
    assert [(7, 3), (8, 2)] == [(burst.node, burst.n) for burst in both]


def test_elections(tmp_path: Path) -> None:
    """As many as voters are a rolling restart, one more is not."""
    five = (1, 2, 3, 4, 5)
    log = [elected(i * MINUTE, i % 3, five) for i in range(6)]
    rows = found(opened(tmp_path, log))
    assert rows.keys() == {"the quorum"}
    assert rows["the quorum"]["count"] == 6
    assert "6 times in 5 min, the last at 2026-09-21T14:18:20Z" in rows["the quorum"]["explanation"]
    for n, few in enumerate(([elected(i) for i in range(3)], log[:5])):
        parent = tmp_path / str(n)
        parent.mkdir()
        assert {} == found(opened(parent, few))


def test_a_rolling_restart_is_silent(tmp_path: Path) -> None:
    """Each node stops, registers, leaves the ISR, and the leader moves away and comes back."""
    log = list(TOPIC)
    for i, node in enumerate((1, 2, 3)):
        at = i * 5 * MINUTE
        left = [n for n in (1, 2, 3) if n != node]
        log += [
            elected(at, left[0]),
            partition(at, isr=left, leader=left[0]),
            (at, record("BrokerRegistrationChangeRecord", broker_id=node, broker_epoch=node,
                        in_controlled_shutdown=1)),
            changed(at + 1, 1, node),
            (at + MINUTE, broker(node, fenced=True)),
            changed(at + MINUTE, -1, node),
            partition(at + MINUTE, isr=[1, 2, 3]),
            partition(at + 2 * MINUTE, leader=1),
        ]  # fmt: skip
    assert {} == found(opened(tmp_path, log))


def test_brokers_that_register_and_are_fenced(tmp_path: Path) -> None:
    """A record that fences a fenced broker again is no fencing; --per-hour sets the number."""
    log: list[Event] = [(0, broker(1)), (0, broker(2)), (0, broker(3))]
    log += [(i * MINUTE, broker(1)) for i in range(1, 4)]
    log += [changed(i, way, 2) for i, way in enumerate([1, -1, 1, -1, 1, -1, 1])]
    log += [changed(i, way, 3) for i, way in enumerate([1, 1, 1, 1, -1, 1, 0, 1])]
    source = opened(tmp_path, log)
    rows = found(source)
    assert rows.keys() == {"broker 1", "broker 2"}
    assert "registered 4 times in 3 min" in rows["broker 1"]["explanation"]
    assert "was fenced 4 times in 0 s" in rows["broker 2"]["explanation"]
    assert {} == found(source, "--per-hour 4")
    assert {"broker 1", "broker 2", "broker 3"} == found(source, "--per-hour 1").keys()


def test_partitions(tmp_path: Path) -> None:
    """The broker that leaves an ISR is named, and once; leaderships count where nothing else does.

    An ISR that names a broker twice, and a list of nobody, are read.
    """
    log = list(TOPIC)
    for i in range(4):
        log += [partition(i * MINUTE, isr=[1, 3, 3]), partition(i * MINUTE, isr=[1, 3, 2])]
    log.append(partition(9 * MINUTE, isr=[]))
    rows = found(opened(tmp_path, log))
    assert rows.keys() == {"broker 2"}
    assert "left ISRs 5 times in 9 min" in rows["broker 2"]["explanation"]
    log = [*TOPIC, *(partition(i * MINUTE, leader=(2, 1)[i % 2]) for i in range(8))]
    (tmp_path / "leaders").mkdir()
    rows = found(opened(tmp_path / "leaders", log))
    assert rows.keys() == {"broker 1", "broker 2"}
    assert "lost leaderships 4 times in 6 min" in rows["broker 1"]["explanation"]
    # Whoever leads for a broker that comes and goes is not told.
    log += [changed(i, way) for i, way in enumerate([1, -1, 1, -1, 1, -1, 1])]
    (tmp_path / "fenced").mkdir()
    assert {"broker 1"} == found(opened(tmp_path / "fenced", log)).keys()


def test_voters(tmp_path: Path) -> None:
    """A voter that is removed and added; one that is there all the time is not told."""
    log = [voters(i * MINUTE, *((1, 2, 3) if i % 2 else (1, 2))) for i in range(5)]
    rows = found(opened(tmp_path, log))
    assert rows.keys() == {"voter 3"}
    assert "joined or left 4 times in 3 min" in rows["voter 3"]["explanation"]
    (tmp_path / "replaced").mkdir()
    replaced = [voters(i * MINUTE, 1, 2, directory=i) for i in range(3)]
    rows = found(opened(tmp_path / "replaced", replaced))
    assert ({"voter 2"}, 4) == (rows.keys(), rows["voter 2"]["count"])
