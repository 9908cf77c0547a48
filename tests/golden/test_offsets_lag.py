"""Lag is what kafka-consumer-groups told of a real cluster."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from metashell.answers.coordinator_tables import GROUP
from metashell.answers.offsets import offsets_table, with_lag
from metashell.image.coordinators.group_log import GroupLog
from metashell.node_files.checkpoint_file import TopicPartition
from metashell.node_files.log_directory import read_log_directory
from metashell.read_settings import READ_DEFAULTS
from metashell.sources.coordinator_logs import NodeCoordinatorLogs
from metashell.sources.partition_logs import PartitionLogs
from support.coordinators import AllRead
from support.fixtures import fixture_dir


def _told() -> dict[tuple[str, str, int], tuple[int | None, ...]]:
    """Offset, log end and lag, by group, topic and partition."""
    path = fixture_dir("node-44") / "captured" / "kafka-consumer-groups-offsets.txt"
    found: dict[tuple[str, str, int], tuple[int | None, ...]] = {}
    for line in path.read_text().splitlines():
        words = line.split()
        if len(words) >= 9 and words[2].isdigit():
            numbers = tuple(None if word == "-" else int(word) for word in words[3:6])
            found[words[0], words[1], int(words[2])] = numbers
    return found


def _ends(logs: PartitionLogs, topic: str, partition: int) -> tuple[int | None, int | None]:
    place = TopicPartition(topic, partition)
    if place not in logs:
        return None, None
    return logs.tail(place).end().end_offset, logs.high_watermarks(AllRead()).get(place)


def test_lag() -> None:
    """Of every group whose coordinator's partition and topics' partitions a broker has."""
    told, compared = _told(), 0
    for broker in ("broker101", "broker102", "broker103"):
        places = [fixture_dir("node-44") / broker / name for name in ("d1", "d2")]
        directories = [read_log_directory(str(place)) for place in places]
        logs = PartitionLogs(directories)
        coordinator = NodeCoordinatorLogs(GROUP.log, directories, READ_DEFAULTS)
        tables = [
            with_lag(
                offsets_table(GroupLog(coordinator.read(each).records, each.number)),
                partial(_ends, logs),
            )
            for each in coordinator.partitions
        ]
        for row in pa.concat_tables(tables).to_pylist():
            if row["offset"] is None or row["log_end_offset"] is None:
                continue
            numbers = told.get((row["group"], row["topic"], row["partition"]))
            if numbers is not None and None not in numbers:
                compared += 1
                assert numbers == (row["offset"], row["log_end_offset"], row["lag"])
                assert row["high_watermark"] == row["log_end_offset"]
    assert compared > 100
