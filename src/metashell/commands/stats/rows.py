"""``stats`` as rows: the columns of each section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.commands.rows.columns import AnswerTable, Column, integer, text, time_at

_RECORDS: Final = (integer("records", "How many records."), integer("bytes", "Bytes of them."))
_CHANGES: Final = (
    integer("leader_changes", "Records that changed the leader."),
    integer("isr_changes", "Records that changed the ISR."),
)
_COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "totals": (
        integer("segments", "How many segments there are."),
        integer("checkpoints", "How many checkpoints."),
        *_RECORDS,
        integer("first_offset", "First offset that is counted; every section counts the same."),
        integer("last_offset", "Last offset that is counted."),
        integer("batches", "How many batches."),
        integer("no_op_records", "Of the records, NoOps."),
        integer("no_op_bytes", "Bytes of these.", shown=False),
        integer("records_between_checkpoints", "On average; null: fewer than two.", shown=False),
        integer("ms_between_checkpoints", "Their distance in time, likewise.", shown=False),
    ),
    "files": (
        text("file", "The file's name."),
        text("kind", "segment or checkpoint."),
        integer("bytes", "Its size."),
        integer("batches", "How many batches."),
        integer("records", "How many records."),
        integer("first_offset", "Offset of the first record; null for a checkpoint.", shown=False),
        integer("last_offset", "Of the last one; of a checkpoint, the last that it includes."),
        integer("first_epoch", "Leader epoch of the first record.", shown=False),
        integer("last_epoch", "Of the last one.", shown=False),
        time_at("first_time", "Time of the first record.", shown=False),
        time_at("last_time", "Of the last one; of a checkpoint, of the last that it includes."),
        integer("faults", "How many faults it has."),
    ),
    "types": (text("type", "The records' type."), *_RECORDS),
    "hours": (text("hour", "The hour, such as 2026-09-21T14Z."), *_RECORDS),
    "partitions": (
        text("topic", "The topic's name, or its id where nothing names it."),
        integer("partition", "The partition's id."),
        text("topic_id", "The topic's id.", shown=False),
        *_RECORDS,
        *_CHANGES,
    ),
    "brokers": (integer("broker", "The broker's id."), *_RECORDS, *_CHANGES),
    "batches": (
        text("file", "The file that it is in."),
        integer("pos", "Its byte position there."),
        integer("offset", "Its first offset."),
        integer("bytes", "Its size."),
        integer("records", "How many records."),
    ),
    "timeline": (
        integer("begin", "Where the part begins: ms since the epoch, or an offset.", shown=False),
        integer("first_offset", "Of its first batch; null where there is none."),
        integer("last_offset", "Of its last batch."),
        time_at("first_time", "Time of its first batch.", shown=False),
        time_at("last_time", "Of its last one."),
        integer("records", "How many records."),
        integer("topics", "Of them, about topics and partitions."),
        integer("nodes", "About brokers and controllers."),
        integer("configs", "ConfigRecords."),
        integer("security", "About ACLs, SCRAM credentials, delegation tokens, client quotas."),
        integer("quorum", "Control records, features, and what keeps the cluster itself going."),
        integer("other", "Of types that Kafka does not have."),
        integer("no_ops", "NoOps."),
        integer("elections", "Elections of a controller."),
        integer("faults", "Faults of batches."),
    ),
}

TABLES: Final = tuple(
    AnswerTable("" if name == "totals" else f"--section {name}", columns)
    for name, columns in _COLUMNS.items()
)
"""In the order of the sections."""
